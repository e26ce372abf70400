//! Ruby: bundler, in the version that wrote the lock file.

use super::caches;
use super::recipe::Recipe;
use crate::setup::pins::version;
use crate::setup::project::Project;

/// The user's gems may not be writable for everyone. The setting outlives the step, which a variable would not;
/// a repo that has its own in `.bundle/config` wins.
const PATH: &str = "bundle config set --global path \"$HOME/.bundle/gems\"";

pub(super) fn read(project: &Project<'_>) -> Option<Recipe> {
    if !project.has("Gemfile") {
        return None;
    }
    project.remember(&[".bundle/config"]);
    // A gem names its dependencies there; looking at the files makes them part of the key.
    project.ending(".gemspec").for_each(drop);
    let lock = project.text("Gemfile.lock");
    let prelude = lock.as_deref().and_then(bundled_with).map(|version| bundler(&version)).unwrap_or_default();
    let prepared = |command: &str| format!("{prelude}{PATH} && {command}");
    let unlocked = prepared("bundle install");
    Some(Recipe {
        name: "ruby",
        evidence: if lock.is_some() { "Gemfile.lock" } else { "Gemfile" }.to_owned(),
        needs: "bundle",
        install: match lock {
            Some(_) => vec![prepared("BUNDLE_FROZEN=true bundle install"), unlocked],
            None => vec![unlocked],
        },
        verify: vec!["BUNDLE_FROZEN=true bundle check".to_owned()],
        runtimes: vec!["ruby"],
        caches: vec![caches::BUNDLER],
        ..Recipe::default()
    })
}

/// `BUNDLED WITH`, which is followed by the version.
fn bundled_with(lock: &str) -> Option<String> {
    let mut lines = lock.lines().skip_while(|line| line.trim() != "BUNDLED WITH");
    let version = version::exact(lines.nth(1)?.trim())?;
    // Rubies of today cannot run the first bundler.
    (!version.starts_with("0.") && !version.starts_with("1.")).then_some(version)
}

/// Newer bundlers get the other version themselves. Older ones give up, so it is there before they look.
fn bundler(version: &str) -> String {
    let get = format!("gem install --no-document --conservative bundler:{version}");
    format!("{{ {get} || {get} --user-install || true; }} && ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::project::testing::Repo;

    fn of(files: &[(&str, &str)]) -> Recipe {
        read(&Project::new(&Repo::of(files).files(), "")).unwrap()
    }

    #[test]
    fn the_lock_is_kept_by_the_bundler_that_wrote_it() {
        let recipe = of(&[("Gemfile", ""), ("Gemfile.lock", "GEM\n\nBUNDLED WITH\n   2.4.10\n")]);
        let strict = &recipe.install[0];
        assert!(strict.starts_with("{ gem install --no-document --conservative bundler:2.4.10 || "), "{strict}");
        assert!(strict.ends_with("&& BUNDLE_FROZEN=true bundle install"), "{strict}");
        assert!(recipe.install[1].ends_with("&& bundle install"));
    }

    #[test]
    fn a_version_that_is_none_or_too_old_is_not_asked_for() {
        for version in ["2.4; id", "$(id)", "1.17.3", ""] {
            let recipe = of(&[("Gemfile", ""), ("Gemfile.lock", &format!("BUNDLED WITH\n   {version}\n"))]);
            assert!(recipe.install[0].starts_with("bundle config"), "{version}");
        }
        assert_eq!(of(&[("Gemfile", "")]).install.len(), 1);
    }
}

//! Rust: fetches what the lock file names. Building is left to the command: a build depends on its flags.

use super::caches;
use super::recipe::Recipe;
use crate::setup::project::Project;

pub(super) fn read(project: &Project<'_>) -> Option<Recipe> {
    if !project.has("Cargo.toml") {
        return None;
    }
    project.remember(&[".cargo/config.toml", ".cargo/config"]);
    let locked = project.has("Cargo.lock");
    let unlocked = "cargo fetch".to_owned();
    Some(Recipe {
        name: "rust",
        evidence: if locked { "Cargo.lock" } else { "Cargo.toml" }.to_owned(),
        needs: "cargo",
        install: if locked { vec!["cargo fetch --locked".to_owned(), unlocked] } else { vec![unlocked] },
        verify: vec!["cargo metadata --offline --locked --format-version 1 >/dev/null".to_owned()],
        env: vec![("CARGO_TERM_PROGRESS_WHEN", "never")],
        runtimes: vec!["rust"],
        caches: vec![caches::CARGO],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::project::testing::Repo;

    #[test]
    fn the_lock_is_kept_where_there_is_one() {
        let of = |files: &[(&str, &str)]| read(&Project::new(&Repo::of(files).files(), ""));
        let recipe = of(&[("Cargo.toml", ""), ("Cargo.lock", "")]).unwrap();
        assert_eq!(recipe.install, ["cargo fetch --locked", "cargo fetch"]);
        assert_eq!(of(&[("Cargo.toml", "")]).unwrap().install, ["cargo fetch"]);
        assert!(of(&[("Cargo.lock", "")]).is_none());
    }
}

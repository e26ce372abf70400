//! PHP: composer, which never updates here.

use super::caches;
use super::recipe::Recipe;
use crate::setup::project::Project;
use crate::setup::quote::quote;

pub(super) fn read(project: &Project<'_>) -> Option<Recipe> {
    let manifest = project.json("composer.json")?;
    project.remember(&["auth.json"]);
    let locked = project.has("composer.lock");
    let vendor = match manifest.pointer("/config/vendor-dir").and_then(|dir| dir.as_str()) {
        Some(dir) => dir.trim_end_matches('/'),
        None => "vendor",
    };
    let load = quote(&format!("require {};", literal(&format!("{vendor}/autoload.php"))));
    Some(Recipe {
        name: "php",
        evidence: if locked { "composer.lock" } else { "composer.json" }.to_owned(),
        needs: "composer",
        install: vec![
            "composer install --no-interaction --no-progress".to_owned(),
            // Scripts of frameworks want a configuration that is not in the repo.
            "composer install --no-interaction --no-progress --no-scripts".to_owned(),
        ],
        verify: vec![format!("composer check-platform-reqs --no-interaction --quiet && php -r {load}")],
        env: vec![("COMPOSER_NO_INTERACTION", "1"), ("COMPOSER_ALLOW_SUPERUSER", "1"), ("COMPOSER_NO_AUDIT", "1")],
        runtimes: vec!["php"],
        caches: vec![caches::COMPOSER],
    })
}

/// A text in PHP's single quotes, which know two escapes.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::project::testing::Repo;

    fn of(manifest: &str) -> Recipe {
        read(&Project::new(&Repo::of(&[("composer.json", manifest)]).files(), "")).unwrap()
    }

    #[test]
    fn nothing_is_ever_updated() {
        assert!(of("{}").install.iter().all(|command| command.starts_with("composer install --no-interaction")));
    }

    #[test]
    fn the_autoloader_is_loaded_from_where_it_is() {
        assert!(of("{}").verify[0].ends_with(r"php -r 'require '\''vendor/autoload.php'\'';'"));
        let hostile = of(r#"{"config": {"vendor-dir": "a'; system('id'); '"}}"#);
        assert!(hostile.verify[0].contains(r"a\'\''; system(\'\''id\'\'');"), "{}", hostile.verify[0]);
    }
}

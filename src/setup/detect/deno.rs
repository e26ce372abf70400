//! Deno: what the manifest imports, into its cache.

use super::caches;
use super::recipe::Recipe;
use crate::setup::project::Project;

pub(super) fn read(project: &Project<'_>) -> Option<Recipe> {
    let manifest = project.first(&["deno.json", "deno.jsonc"]);
    let locked = project.has("deno.lock");
    let evidence = if locked { "deno.lock" } else { manifest? };
    let unlocked = "deno install".to_owned();
    Some(Recipe {
        name: "deno",
        evidence: evidence.to_owned(),
        needs: "deno",
        install: if locked { vec!["deno install --frozen".to_owned(), unlocked] } else { vec![unlocked] },
        verify: vec!["deno install --cached-only".to_owned()],
        env: vec![("DENO_NO_PROMPT", "1"), ("DENO_NO_UPDATE_CHECK", "1")],
        runtimes: vec!["deno"],
        caches: vec![caches::DENO],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::project::testing::Repo;

    #[test]
    fn the_lock_is_kept_where_there_is_one() {
        let of = |files: &[(&str, &str)]| read(&Project::new(&Repo::of(files).files(), ""));
        assert_eq!(of(&[("deno.lock", "{}")]).unwrap().install, ["deno install --frozen", "deno install"]);
        assert_eq!(of(&[("deno.jsonc", "{}")]).unwrap().install, ["deno install"]);
        assert!(of(&[("main.ts", "")]).is_none());
    }
}

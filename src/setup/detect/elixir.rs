//! Elixir: mix, with the archives that it needs to get anything at all.

use super::caches;
use super::recipe::Recipe;
use crate::setup::project::Project;

const TOOLS: &str = "mix local.hex --force --if-missing && mix local.rebar --force --if-missing";

pub(super) fn read(project: &Project<'_>) -> Option<Recipe> {
    if !project.has("mix.exs") {
        return None;
    }
    let locked = project.has("mix.lock");
    let unlocked = format!("{TOOLS} && mix deps.get");
    Some(Recipe {
        name: "elixir",
        evidence: if locked { "mix.lock" } else { "mix.exs" }.to_owned(),
        needs: "mix",
        install: if locked { vec![format!("{unlocked} --check-locked"), unlocked] } else { vec![unlocked] },
        verify: vec!["HEX_OFFLINE=1 mix deps.get --check-locked".to_owned()],
        runtimes: vec!["elixir"],
        caches: vec![caches::HEX],
        ..Recipe::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::project::testing::Repo;

    #[test]
    fn the_lock_is_checked_where_there_is_one() {
        let of = |files: &[(&str, &str)]| read(&Project::new(&Repo::of(files).files(), "")).unwrap();
        assert!(of(&[("mix.exs", ""), ("mix.lock", "")]).install[0].ends_with("mix deps.get --check-locked"));
        assert!(of(&[("mix.exs", "")]).install[0].ends_with("&& mix deps.get"));
    }
}

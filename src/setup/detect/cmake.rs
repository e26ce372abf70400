//! CMake: configured only, beside the sources.

use super::recipe::Recipe;
use crate::setup::project::Project;

pub(super) fn read(project: &Project<'_>) -> Option<Recipe> {
    if !project.has("CMakeLists.txt") {
        return None;
    }
    if let Some(file) = project.first(&["pyproject.toml", "setup.py", "binding.gyp"]) {
        // It is then one step of another build, which sets what it needs.
        project.notice(format!("`CMakeLists.txt` is left to the build of `{file}`"));
        return None;
    }
    project.remember(&["CMakePresets.json"]);
    // A directory that the host configured has the host's paths in it.
    let dir = if project.has_dir("build") || project.holds("build") { "build-cowbox" } else { "build" };
    Some(Recipe {
        name: "cmake",
        evidence: "CMakeLists.txt".to_owned(),
        needs: "cmake",
        install: vec![format!("rm -rf {dir} && cmake -S . -B {dir} -DCMAKE_EXPORT_COMPILE_COMMANDS=ON")],
        verify: vec![format!("test -f {dir}/CMakeCache.txt && cmake --build {dir} --target help >/dev/null")],
        runtimes: vec!["cpp"],
        ..Recipe::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::project::testing::Repo;

    fn of(files: &[(&str, &str)]) -> Option<Recipe> {
        read(&Project::new(&Repo::of(files).files(), ""))
    }

    #[test]
    fn a_build_directory_of_the_host_is_left_alone() {
        assert!(of(&[("CMakeLists.txt", "")]).unwrap().install[0].contains(" -B build "));
        let kept = of(&[("CMakeLists.txt", ""), ("build/CMakeCache.txt", "")]).unwrap();
        assert!(kept.install[0].starts_with("rm -rf build-cowbox && "));
    }

    #[test]
    fn it_is_not_configured_where_another_build_does_it() {
        assert!(of(&[("CMakeLists.txt", ""), ("pyproject.toml", "")]).is_none());
    }
}

//! Gradle, by the repo's wrapper if it has one. It has no command that only downloads, so the tests are compiled.

use super::caches;
use super::maven::wrapper;
use super::recipe::Recipe;
use crate::setup::project::Project;

const BUILD: [&str; 4] = ["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"];

pub(super) fn read(project: &Project<'_>) -> Option<Recipe> {
    let wrapper = wrapper(project, "gradlew");
    let evidence = project.first(&BUILD).or(wrapper.as_ref().map(|_| "gradlew"))?;
    // A project that moves from one to the other has both, and maven's part is then the older one.
    if project.holds("pom.xml") && wrapper.is_none() {
        return None;
    }
    project.remember(&BUILD);
    project.remember(&[
        "gradle.properties",
        "gradle.lockfile",
        "gradle/libs.versions.toml",
        "gradle/wrapper/gradle-wrapper.properties",
    ]);
    let needs = if wrapper.is_some() { "java" } else { "gradle" };
    let run = wrapper.unwrap_or("gradle".to_owned());
    Some(Recipe {
        name: "gradle",
        evidence: evidence.to_owned(),
        needs,
        install: ["testClasses", "dependencies"]
            .map(|task| format!("{run} --no-daemon --console=plain -q {task}"))
            .into(),
        // To ask for help alone needs nothing of what was downloaded; it is for builds that have no such task.
        verify: ["testClasses", "help"]
            .map(|task| format!("{run} --no-daemon --console=plain --offline -q {task} >/dev/null"))
            .into(),
        runtimes: vec!["java"],
        caches: vec![caches::GRADLE],
        ..Recipe::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::project::testing::Repo;

    #[test]
    fn the_wrapper_or_the_program_is_used() {
        let of = |files: &[(&str, &str)]| read(&Project::new(&Repo::of(files).files(), ""));
        let recipe = of(&[("build.gradle.kts", ""), ("gradlew", "")]).unwrap();
        assert_eq!(recipe.install[0], "sh ./gradlew --no-daemon --console=plain -q testClasses");
        assert_eq!(recipe.verify[0], "sh ./gradlew --no-daemon --console=plain --offline -q testClasses >/dev/null");
        assert_eq!((recipe.evidence.as_str(), recipe.needs), ("build.gradle.kts", "java"));
        assert_eq!(of(&[("settings.gradle", "")]).unwrap().needs, "gradle");
        assert!(of(&[("gradle.properties", "")]).is_none());
    }
}

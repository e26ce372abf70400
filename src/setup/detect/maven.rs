//! Maven, by the repo's wrapper if it has one.

use super::caches;
use super::recipe::Recipe;
use crate::setup::project::Project;

/// Looks for one method in every test. No other way gets what runs the tests, which depends on what they are, and
/// without it there are no tests offline.
const NO_TESTS: &str = "test '-Dtest=*#noSuchTest' -DfailIfNoTests=false -Dsurefire.failIfNoSpecifiedTests=false";
/// Modules whose files are part of the key.
const MOST_MODULES: usize = 100;

pub(super) fn read(project: &Project<'_>) -> Option<Recipe> {
    let text = project.text("pom.xml")?;
    project.remember(&[
        ".mvn/maven.config",
        ".mvn/extensions.xml",
        ".mvn/settings.xml",
        ".mvn/wrapper/maven-wrapper.properties",
    ]);
    for module in modules(&text).take(MOST_MODULES) {
        project.has(&format!("{module}/pom.xml"));
    }
    let (run, needs) = match wrapper(project, "mvnw") {
        Some(run) => (run, "java"),
        None => ("mvn".to_owned(), "mvn"),
    };
    let tests = format!("{run} -q -B {NO_TESTS}");
    let compile = "-q -B -DskipTests test-compile";
    Some(Recipe {
        name: "maven",
        evidence: "pom.xml".to_owned(),
        needs,
        install: vec![
            // Modules that need each other are beyond the first command.
            format!("{run} -q -B dependency:go-offline && {tests}"),
            tests,
            format!("{run} {compile}"),
        ],
        // To validate alone would need nothing of what was downloaded.
        verify: vec![format!("{run} -o {compile}")],
        runtimes: vec!["java"],
        caches: vec![caches::MAVEN],
        ..Recipe::default()
    })
}

/// A wrapper script, executable or not.
pub(super) fn wrapper(project: &Project<'_>, name: &str) -> Option<String> {
    let call = if project.is_executable(name) { format!("./{name}") } else { format!("sh ./{name}") };
    project.has(name).then_some(call)
}

/// `<module>name</module>`
fn modules(text: &str) -> impl Iterator<Item = &str> {
    text.split("<module>").skip(1).filter_map(|rest| rest.split_once("</module>")).map(|(name, _)| name.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::project::testing::Repo;

    #[test]
    fn the_wrapper_is_used_even_if_it_is_not_executable() {
        let of = |files: &[(&str, &str)]| read(&Project::new(&Repo::of(files).files(), "")).unwrap();
        let recipe = of(&[("pom.xml", ""), ("mvnw", "")]);
        assert_eq!((recipe.verify[0].as_str(), recipe.needs), ("sh ./mvnw -o -q -B -DskipTests test-compile", "java"));
        let recipe = of(&[("pom.xml", "")]);
        assert_eq!((recipe.verify[0].as_str(), recipe.needs), ("mvn -o -q -B -DskipTests test-compile", "mvn"));
    }

    #[test]
    fn the_files_of_modules_are_inputs() {
        let pom = "<modules><module>a</module>\n<module> b </module><module>../c</module><module>";
        let repo = Repo::of(&[("pom.xml", pom), ("a/pom.xml", ""), ("b/pom.xml", "")]);
        let files = repo.files();
        let project = Project::new(&files, "");
        read(&project).unwrap();
        assert_eq!(project.into_found().0.len(), 3);
    }
}

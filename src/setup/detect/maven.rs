//! Maven, by the repo's wrapper if it has one.

use super::caches;
use super::recipe::Recipe;
use crate::setup::project::Project;

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
    Some(Recipe {
        name: "maven",
        evidence: "pom.xml".to_owned(),
        needs,
        install: vec![
            // What the first does not see are plugins that plugins load, and modules that need each other.
            format!("{run} -q -B dependency:go-offline && {run} -q -B -DskipTests test-compile"),
            format!("{run} -q -B -DskipTests test-compile"),
        ],
        verify: vec![format!("{run} -o -q -B validate")],
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
        assert_eq!((recipe.verify[0].as_str(), recipe.needs), ("sh ./mvnw -o -q -B validate", "java"));
        let recipe = of(&[("pom.xml", "")]);
        assert_eq!((recipe.verify[0].as_str(), recipe.needs), ("mvn -o -q -B validate", "mvn"));
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

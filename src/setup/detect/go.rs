//! Go: downloads modules, unless the repo carries them.

use super::caches;
use super::recipe::Recipe;
use crate::setup::project::Project;
use crate::setup::quote::join;

/// Modules of one workspace that are looked at.
const MOST_MODULES: usize = 100;

pub(super) fn read(project: &Project<'_>) -> Option<Recipe> {
    let evidence = project.first(&["go.work", "go.mod"])?;
    let is_workspace = evidence == "go.work";
    project.remember(&["go.mod", "go.sum", "go.work.sum"]);
    let vendored = project.has("vendor/modules.txt");
    let mut patterns = vec!["./...".to_owned()];
    if is_workspace {
        let modules = used(&project.text("go.work").unwrap_or_default());
        for module in &modules {
            let dir = module.trim_start_matches("./");
            project.remember(&[&format!("{dir}/go.mod"), &format!("{dir}/go.sum")]);
        }
        patterns = modules.iter().map(|module| format!("{module}/...")).collect();
    }
    let patterns = join(patterns.iter().map(String::as_str));
    let mut verify = vec![format!("go list -deps {patterns} >/dev/null")];
    if !vendored {
        // A package in the repo may be broken, which is no fault of the environment.
        verify.push("go list -m all >/dev/null".to_owned());
    }
    Some(Recipe {
        name: "go",
        evidence: evidence.to_owned(),
        needs: "go",
        // Directories that cannot be written to could not be cleared away later.
        install: if vendored { Vec::new() } else { vec!["go mod download -modcacherw".to_owned()] },
        verify: verify.into_iter().map(|command| format!("GOPROXY=off {command}")).collect(),
        runtimes: vec!["go"],
        caches: if vendored { Vec::new() } else { vec![caches::GO] },
        ..Recipe::default()
    })
}

/// Directories that a workspace uses, in both forms of `use`.
fn used(text: &str) -> Vec<String> {
    let mut in_block = false;
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let path = match line.strip_prefix("use") {
            Some(rest) if rest.trim() == "(" => {
                in_block = true;
                continue;
            }
            Some(rest) if rest.starts_with([' ', '\t', '"']) => rest.trim(),
            _ if line == ")" => {
                in_block = false;
                continue;
            }
            _ if in_block => line,
            _ => continue,
        };
        let path = path.trim_matches(['"', '`']);
        let inside = path == "." || path.strip_prefix("./").is_some_and(|rest| !rest.split('/').any(|p| p == ".."));
        if inside && found.len() < MOST_MODULES {
            found.push(path.trim_end_matches('/').to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::project::testing::Repo;

    fn of(files: &[(&str, &str)]) -> Option<Recipe> {
        read(&Project::new(&Repo::of(files).files(), ""))
    }

    #[test]
    fn modules_in_the_repo_are_not_downloaded_again_but_still_checked() {
        assert_eq!(of(&[("go.mod", "")]).unwrap().install, ["go mod download -modcacherw"]);
        let vendored = of(&[("go.mod", ""), ("vendor/modules.txt", "")]).unwrap();
        assert!(vendored.install.is_empty() && vendored.caches.is_empty());
        assert_eq!(vendored.verify, ["GOPROXY=off go list -deps ./... >/dev/null"]);
    }

    #[test]
    fn a_workspace_is_checked_module_by_module() {
        let work = "go 1.21\nuse (\n\t./a // x\n\t./b c\n\t../out\n\t./x/../..\n)\nuse \"./d\"\nuse .\n";
        let recipe = of(&[("go.work", work), ("a/go.mod", ""), ("go.mod", "")]).unwrap();
        assert_eq!(recipe.evidence, "go.work");
        assert_eq!(recipe.verify[0], "GOPROXY=off go list -deps ./a/... './b c/...' ./d/... ./... >/dev/null");
    }
}

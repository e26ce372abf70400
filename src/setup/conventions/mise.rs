//! mise: brings the tools that the repo names, and runs its task `setup` if there is one.

use super::Candidate;
use crate::setup::project::{Project, toml_at};

/// Files of mise itself, strongest first.
pub(crate) const FILES: [&str; 3] = ["mise.toml", ".mise.toml", ".config/mise.toml"];
/// The file of asdf, which mise reads too.
pub(crate) const ASDF: &str = ".tool-versions";

pub(super) fn read(project: &Project<'_>) -> Option<Candidate> {
    let file = project.first(&FILES).or_else(|| project.first(&[ASDF]))?;
    project.remember(&["mise.lock", ASDF]);
    let mut commands = vec!["mise install --yes".to_owned()];
    let mut has_task = false;
    if file != ASDF {
        // Its hooks and templates run programs, which is why mise asks. Here they run in the sandbox.
        commands.insert(0, format!("mise trust --yes {file}"));
        let is_task = |file: &str| project.toml(file).is_some_and(|t| toml_at(&t, &["tasks", "setup"]).is_some());
        has_task = FILES.iter().any(|file| is_task(file));
    }
    if has_task {
        commands.push("mise run --yes setup".to_owned());
    }
    Some(Candidate {
        file: file.to_owned(),
        commands,
        needs: Some("mise"),
        env: &[("MISE_YES", "1")],
        then_detect: !has_task,
        ..Candidate::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::project::testing::Repo;

    fn of(files: &[(&str, &str)]) -> Candidate {
        read(&Project::new(&Repo::of(files).files(), "")).unwrap()
    }

    #[test]
    fn tools_alone_leave_the_installation_to_detection() {
        let found = of(&[(".config/mise.toml", "[tools]\nnode = '20'")]);
        assert_eq!(found.commands, ["mise trust --yes .config/mise.toml", "mise install --yes"]);
        assert!(found.then_detect);
        assert_eq!(of(&[(".tool-versions", "nodejs 20")]).commands, ["mise install --yes"]);
    }

    #[test]
    fn a_setup_task_is_run_after_the_tools_are_there() {
        for text in ["[tasks.setup]\nrun = 'x'", "[tasks]\nsetup = 'x'"] {
            let found = of(&[("mise.toml", text)]);
            assert_eq!(found.commands.last().unwrap(), "mise run --yes setup");
            assert!(!found.then_detect);
        }
    }
}

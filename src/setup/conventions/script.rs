//! Scripts: run as their first line says, whether or not somebody remembered to make them executable.

use super::Candidate;
use crate::setup::project::Project;
use crate::setup::quote::join;

/// Newer `bin/setup` files end in a running server unless they are told not to.
const NO_SERVER: &str = "--skip-server";
/// What the kernel reads of a first line.
const LONGEST_LINE: usize = 255;

pub(super) fn read(project: &Project<'_>, file: &str) -> Option<Candidate> {
    let text = project.text(file)?;
    let script = format!("./{file}");
    let interpreter = shebang(&text);
    let mut words: Vec<&str> = match &interpreter {
        _ if project.is_executable(file) => Vec::new(),
        Some((program, argument)) => std::iter::once(*program).chain(*argument).collect(),
        None => vec!["sh"],
    };
    words.push(&script);
    if file == "bin/setup" && text.contains(NO_SERVER) {
        words.push(NO_SERVER);
    }
    Some(Candidate { file: file.to_owned(), commands: vec![join(words)], ..Candidate::default() })
}

/// Program and argument of `#! program argument`: as for the kernel, the argument is one word.
fn shebang(text: &str) -> Option<(&str, Option<&str>)> {
    let line = text.strip_prefix("#!")?.lines().next()?.trim();
    if line.len() > LONGEST_LINE || line.contains('\0') {
        return None;
    }
    match line.split_once([' ', '\t']) {
        Some((program, argument)) => Some((program, Some(argument.trim_start()))),
        None if line.is_empty() => None,
        None => Some((line, None)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::setup::project::testing::Repo;

    fn command(file: &str, text: &str, mode: u32) -> String {
        let repo = Repo::of(&[(file, text)]);
        fs::set_permissions(repo.path().join(file), fs::Permissions::from_mode(mode)).unwrap();
        read(&Project::new(&repo.files(), ""), file).unwrap().command()
    }

    #[test]
    fn an_executable_script_is_just_run() {
        assert_eq!(command("setup.sh", "#!/bin/bash\n", 0o755), "./setup.sh");
        assert_eq!(command("setup.sh", "echo", 0o755), "./setup.sh");
    }

    #[test]
    fn a_script_that_is_not_executable_is_run_by_its_interpreter_else_by_sh() {
        assert_eq!(command("setup.sh", "#!/bin/bash -eu \nx", 0o644), "/bin/bash -eu ./setup.sh");
        assert_eq!(command("setup.sh", "#! /usr/bin/env -S bash -e\n", 0o644), "/usr/bin/env '-S bash -e' ./setup.sh");
        assert_eq!(command("setup.sh", "echo\n#!/bin/bash", 0o644), "sh ./setup.sh");
        assert_eq!(command("setup.sh", "#!\n", 0o644), "sh ./setup.sh");
        assert_eq!(command("setup.sh", "#!/bin/sh;id $(id)\n", 0o644), "'/bin/sh;id' '$(id)' ./setup.sh");
    }

    #[test]
    fn only_a_script_that_knows_the_word_is_told_to_start_no_server() {
        assert_eq!(command("bin/setup", "unless ARGV.include?(\"--skip-server\")", 0o755), "./bin/setup --skip-server");
        assert_eq!(command("bin/setup", "exec \"bin/dev\"", 0o755), "./bin/setup");
    }

    #[test]
    fn a_directory_or_a_link_out_of_the_repo_is_no_script() {
        let repo = Repo::of(&[("script/setup/readme", "")]);
        std::os::unix::fs::symlink("/bin/true", repo.path().join("setup.sh")).unwrap();
        let files = repo.files();
        let project = Project::new(&files, "");
        assert!(read(&project, "script/setup").is_none() && read(&project, "setup.sh").is_none());
    }
}

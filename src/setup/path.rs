//! PATH of the command: what the setup installed is found by its name, as after an activation.

use std::path::{Path, PathBuf};

use super::make::{Maker, QUESTION};
use super::plan::Step;
use super::room::Room;
use crate::error::Result;

/// Where installers put programs, below the home.
const OF_HOME: [&str; 2] = [".local/bin", ".cargo/bin"];
/// Where a Python project has its own.
const OF_VENV: &str = ".venv/bin";
/// Before the answers, for an image may have its shell say other things.
const MARK: &str = "cowbox-path:";

/// What the sandbox says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Programs {
    /// Its own PATH.
    pub path: Option<String>,
    /// Directories of the home that are there and not in it.
    pub of_home: Vec<String>,
}

/// Asks the sandbox after the last step.
pub fn ask(maker: &Maker<'_>, room: &mut Room<'_>) -> Result<Programs> {
    let dirs = OF_HOME.map(|dir| format!("\"$HOME/{dir}\"")).join(" ");
    let script = format!(
        "printf '{MARK}%s\\n' \"$PATH\"; for d in {dirs}; do [ -d \"$d\" ] && printf '{MARK}%s\\n' \"$d\"; done; :"
    );
    maker.ask(room, &script, Some(QUESTION)).map(|answer| parse(&answer))
}

fn parse(answer: &str) -> Programs {
    let mut lines = answer.lines().filter_map(|line| line.strip_prefix(MARK)).map(str::to_owned);
    let path = lines.next();
    let known = |dir: &String| path.iter().flat_map(|path| path.split(':')).any(|known| known == dir);
    let of_home = lines.filter(|dir| !known(dir)).collect();
    Programs { path, of_home }
}

/// The environment of the Python project that the steps made; of several projects none is the right one.
pub fn of_venv(layer: &Path, steps: &[&Step], workspace: &Path) -> Option<String> {
    let mut dirs: Vec<PathBuf> = steps.iter().filter_map(|step| step.dir.clone()).chain([PathBuf::new()]).collect();
    dirs.iter_mut().for_each(|dir| *dir = dir.components().filter(|part| part.as_os_str() != ".").collect());
    dirs.sort();
    dirs.dedup();
    dirs.retain(|dir| layer.join(dir).join(OF_VENV).is_dir());
    match dirs.as_slice() {
        [only] => Some(workspace.join(only).join(OF_VENV).to_str()?.to_owned()),
        _ => None,
    }
}

/// A PATH with directories before all others.
pub fn with(dirs: &[String], path: &str) -> String {
    let all = dirs.iter().map(String::as_str).chain([path].into_iter().filter(|path| !path.is_empty()));
    all.collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;
    use crate::setup::plan::{Hook, StepCommand};

    fn step(dir: &str) -> Step {
        Step {
            hook: Hook::Install,
            origin: "uv.lock".into(),
            parallel_group: None,
            command: StepCommand::Shell("true".into()),
            name: None,
            fallbacks: Vec::new(),
            env: BTreeMap::new(),
            dir: Some(dir.into()),
            needs: None,
        }
    }

    #[test]
    fn what_is_in_the_path_already_is_not_added() {
        let said = "motd\ncowbox-path:/home/a/.local/bin:/bin\ncowbox-path:/home/a/.local/bin\ncowbox-path:/home/a/.cargo/bin\n";
        let found = parse(said);
        assert_eq!(found.path.as_deref(), Some("/home/a/.local/bin:/bin"));
        assert_eq!(found.of_home, ["/home/a/.cargo/bin"]);
        assert_eq!(parse(""), Programs::default());
    }

    #[test]
    fn the_only_environment_of_python_counts_and_one_of_several_does_not() {
        let layer = tempfile::tempdir().unwrap();
        let of = |steps: &[&Step]| of_venv(layer.path(), steps, Path::new("/workspace"));
        let (root, a, b) = (step("."), step("a"), step("b"));
        assert_eq!(of(&[&root, &a]), None);
        fs::create_dir_all(layer.path().join("a/.venv/bin")).unwrap();
        assert_eq!(of(&[&root, &a, &b]).as_deref(), Some("/workspace/a/.venv/bin"));
        assert_eq!(of(&[&root]), None);
        fs::create_dir_all(layer.path().join("b/.venv/bin")).unwrap();
        assert_eq!(of(&[&a, &b]), None);
        fs::create_dir_all(layer.path().join(".venv/bin")).unwrap();
        assert_eq!(of(&[]).as_deref(), Some("/workspace/.venv/bin"));
    }

    #[test]
    fn directories_go_before_the_rest() {
        assert_eq!(with(&["/a".into(), "/b".into()], "/bin"), "/a:/b:/bin");
        assert_eq!(with(&["/a".into()], ""), "/a");
    }
}

//! The task of a run, frozen: what it was, and the files that it named, so that the run can be done again from its own
//! directory alone.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::halt::Halt;
use super::source::{Patch, url};
use super::spec::{self, Compat, Task};
use crate::error::{Error, Result, show};
use crate::policy::mounts::{self, Access};

/// Larger than any patch that a person reads.
const LARGEST: u64 = 64 << 20;
/// What the frozen task is called.
const NAME: &str = "task.json";
/// Where files lie that it named.
const INPUTS: &str = "inputs";

/// A task whose paths are absolute, or lie beside it.
#[derive(Clone, Debug)]
pub struct Frozen {
    /// The task.
    pub task: Task,
    /// What its relative paths are relative to.
    dir: PathBuf,
}

/// Whether the frozen task of a run can have this path for a file that it named. It leads nowhere else.
pub fn is_input(run: &Path, path: &Path) -> bool {
    let whole = Path::new("task").join(path);
    path.parent() == Some(Path::new(INPUTS))
        && path.components().all(|part| matches!(part, Component::Normal(_)))
        && !whole.ancestors().any(|part| run.join(part).is_symlink())
}

impl Frozen {
    /// Freezes a task below `run`; `from` is what its paths are relative to. What the task was is on record also where
    /// a file is missing that it names.
    pub fn new(task: &Task, from: &Path, run: &Path) -> Result<Self> {
        let dir = run.join("task");
        let mut frozen = Self { task: task.clone(), dir };
        let mut missing = Ok(());
        let mut copied = 0;
        let mut copy = |dir: &Path, path: &mut PathBuf| -> Result<()> {
            let source = from.join(&*path);
            copied += 1;
            let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let name = if path.starts_with(INPUTS) { called(&name) } else { &name };
            let copy = PathBuf::from(format!("{INPUTS}/{copied:02}-{name}"));
            fs::create_dir_all(dir.join(INPUTS)).map_err(|e| Error::io("create", &dir.join(INPUTS), e))?;
            copy_file(&source, &dir.join(&copy))?;
            *path = copy;
            Ok(())
        };
        let mut keep = |dir: &Path, path: &mut PathBuf| {
            if let Err(error) = copy(dir, path) {
                *path = from.join(&*path);
                missing = std::mem::replace(&mut missing, Ok(())).and(Err(error));
            }
        };
        for patch in &mut frozen.task.repo.patches {
            keep(&frozen.dir, patch);
        }
        for fix in &mut frozen.task.setup.compat {
            if let Compat::Own(own) = fix
                && let Some(patch) = &mut own.patch
            {
                keep(&frozen.dir, patch);
            }
        }
        // For readers: what is built has its directory for a context, and whoever repeats the run takes the image.
        if let Some(mut containerfile) = frozen.task.environment.containerfile.clone() {
            keep(&frozen.dir, &mut containerfile);
        }
        let absolute = |path: &Path| {
            let path = from.join(path);
            path.canonicalize().or_else(|_| std::path::absolute(&path)).unwrap_or(path)
        };
        frozen.task.repo.path = frozen.task.repo.path.as_deref().map(absolute);
        frozen.task.environment.containerfile = frozen.task.environment.containerfile.as_deref().map(absolute);
        for mount in &mut frozen.task.environment.mounts {
            if let Ok(read) = mounts::parse(mount.as_ref()) {
                let access = if read.access == Access::Cow { "cow" } else { "ro" };
                let source = absolute(&read.source);
                match source.to_str() {
                    Some(source) => *mount = format!("{source}:{}:{access}", read.target.display()),
                    None => {
                        let why = format!("{} cannot be mounted: its name is not UTF-8", show(&source));
                        let error = Error::new(why).hint("give it another name, or a link with one");
                        missing = missing.and(Err(error));
                    }
                }
            }
        }
        frozen.write()?;
        missing.map(|()| frozen)
    }

    /// Writes it down, without a password: whoever repeats it takes the code from the mirror, or has one.
    fn write(&self) -> Result<()> {
        let path = self.dir.join(NAME);
        let mut task = self.task.clone();
        task.repo.url = task.repo.url.as_deref().map(url::plain);
        let text = serde_json::to_vec_pretty(&task).map_err(|e| Error::new(format!("cannot write JSON: {e}")))?;
        fs::write(&path, text).map_err(|e| Error::io("write", &path, e))
    }

    /// The task of a run.
    pub fn read(run: &Path) -> Result<Task> {
        spec::read(&run.join("task").join(NAME))
    }

    /// Where a file lies that the task names.
    pub fn path(&self, path: &Path) -> PathBuf {
        self.dir.join(path)
    }

    /// Its patches for the code.
    pub fn patches(&self) -> Result<Vec<Patch>, Halt> {
        self.task.repo.patches.iter().map(|path| self.patch(path)).collect()
    }

    /// A patch by the path that the task has for it.
    pub fn patch(&self, path: &Path) -> Result<Patch, Halt> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = called(&name).to_owned();
        let from = self.path(path);
        let content = fs::read(&from).map_err(|e| Error::io("read", &from, e))?;
        Ok(Patch { name, content })
    }
}

/// As the task called it, before it was copied.
fn called(name: &str) -> &str {
    name.split_once('-').map_or(name, |(_, rest)| rest)
}

fn copy_file(from: &Path, to: &Path) -> Result<()> {
    let failed = |e: std::io::Error| Error::io("read", from, e);
    let meta = fs::metadata(from).map_err(failed)?;
    if !meta.is_file() || meta.len() > LARGEST {
        return Err(Error::new(format!("{} is no file, or larger than {} MiB", show(from), LARGEST >> 20))
            .hint("patches and Containerfiles are files of text"));
    }
    fs::copy(from, to).map(drop).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frozen_task_needs_nothing_of_where_it_came_from() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (from, run) = (root.join("tasks"), root.join("run"));
        fs::create_dir_all(from.join("code")).unwrap();
        fs::create_dir_all(run.join("task")).unwrap();
        fs::write(from.join("a.patch"), "A").unwrap();
        fs::write(from.join("b.patch"), "B").unwrap();
        fs::write(from.join("code/C"), "FROM x").unwrap();
        let text = r#"{"id": "t", "repo": {"path": "code", "ref": "main", "patches": ["a.patch"]},
            "environment": {"mounts": ["code:/data:cow"], "containerfile": "code/C"},
            "setup": {"compat": [{"name": "own", "patch": "b.patch"}]}, "run": {"command": "true"}}"#;
        fs::write(from.join("t.json"), text).unwrap();
        let task = spec::read(&from.join("t.json")).unwrap();
        let frozen = Frozen::new(&task, &from, &run).unwrap();
        fs::remove_file(from.join("a.patch")).unwrap();
        assert_eq!(frozen.patches().unwrap(), [Patch { name: "a.patch".into(), content: b"A".into() }]);
        let again = Frozen::read(&run).unwrap();
        assert_eq!(again, frozen.task);
        assert_eq!(again.repo.path, Some(from.join("code")));
        assert_eq!(again.environment.mounts, [format!("{}:/data:cow", from.join("code").display())]);
        assert_eq!(fs::read(run.join("task/inputs/02-b.patch")).unwrap(), b"B");
        assert_eq!(fs::read(run.join("task/inputs/03-C")).unwrap(), b"FROM x");
        assert_eq!(again.environment.containerfile, Some(from.join("code/C")));
        let again_in = root.join("again");
        fs::create_dir_all(again_in.join("task")).unwrap();
        let once_more = Frozen::new(&again, &run.join("task"), &again_in).unwrap();
        assert_eq!(once_more.task, again, "a run that repeats it is the same task");
        let secret = Some("https://me:secret@host.example/x".to_owned());
        let repo = spec::Repo { url: secret.clone(), path: None, patches: Vec::new(), ..task.repo.clone() };
        let with_password = Task { repo, setup: Default::default(), ..task.clone() };
        assert_eq!(Frozen::new(&with_password, &from, &run).unwrap().task.repo.url, secret);
        assert!(!fs::read_to_string(run.join("task/task.json")).unwrap().contains("secret"));
        let missing = Task { repo: spec::Repo { patches: vec!["no.patch".into()], ..task.repo.clone() }, ..task };
        let bare = root.join("bare");
        fs::create_dir_all(bare.join("task")).unwrap();
        assert!(Frozen::new(&missing, &from, &bare).unwrap_err().message().contains("no.patch"));
        assert_eq!(Frozen::read(&bare).unwrap().id, "t", "what it was is on record");
    }
}

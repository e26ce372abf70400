//! One bare repository for every url: what was fetched once is there for all tasks.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::git::{Configuration, git_with};
use super::{Host, git, url};
use crate::error::{Error, show};
use crate::task::cached;
use crate::task::halt::Halt;

/// The mirror of one url or directory, locked while it is held.
#[derive(Debug)]
pub struct Mirror {
    dir: PathBuf,
    from: String,
    is_local: bool,
    _lock: File,
}

/// Objects are looked at before they are taken. Old tools wrote some that are odd and harmless, and well-known code has
/// them.
pub(super) const CHECKED: [&str; 4] = [
    "transfer.fsckObjects=true",
    "fetch.fsck.badTimezone=ignore",
    "fetch.fsck.missingSpaceBeforeDate=ignore",
    "fetch.fsck.zeroPaddedFilemode=ignore",
];

/// What is wanted of it.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// A commit by its id.
    Commit(&'a str),
    /// A branch or tag, as it is now.
    Reference(&'a str),
}

impl Mirror {
    /// Opens or makes it, and waits for whoever else has it.
    pub fn open(cache: &Path, from: &str, is_local: bool, host: &mut dyn Host) -> Result<Self, Halt> {
        let mirrors = cache.join("mirrors");
        // Who asks does not change what is there, and a record knows the url without its password.
        let hash = Sha256::digest(url::plain(from).as_bytes());
        let name: String = hash[..12].iter().map(|b| format!("{b:02x}")).collect();
        let dir = mirrors.join(format!("{name}.git"));
        fs::create_dir_all(&dir).map_err(|e| Error::io("create", &dir, e))?;
        let path = mirrors.join(format!("{name}.lock"));
        let lock = File::options().create(true).write(true).truncate(false).open(&path);
        let lock = lock.map_err(|e| Error::io("open", &path, e))?;
        host.lock(&lock)?;
        cached::touch(&dir);
        if !dir.join("HEAD").is_file() {
            host.run(git_with(&dir, Configuration::None, ["init", "--quiet", "--bare"]), "make a mirror")?;
        }
        Ok(Self { dir, from: from.to_owned(), is_local, _lock: lock })
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether it mirrors a directory of this host.
    pub fn is_local(&self) -> bool {
        self.is_local
    }

    /// What it mirrors.
    pub fn from(&self) -> &str {
        &self.from
    }

    /// Whether a commit is there already: then nobody has to be asked.
    pub fn has(&self, commit: &str) -> bool {
        let object = format!("{commit}^{{commit}}");
        let mut command = git_with(&self.dir, Configuration::None, ["cat-file", "-e", &object]);
        command.env("GIT_NO_LAZY_FETCH", "1").stderr(std::process::Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// Fetches what is not there.
    pub fn fetch(&self, wanted: Wanted<'_>, host: &mut dyn Host) -> Result<(), Halt> {
        if let Wanted::Commit(commit) = wanted
            && self.has(commit)
        {
            return Ok(());
        }
        let doing = format!("fetch {}", url::shown(&self.from));
        let all = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
        host.fill(&self.dir, self.fetching(&all), &doing)?;
        // A commit that no branch leads to: servers may give it by its name.
        if let Wanted::Commit(commit) = wanted
            && !self.has(commit)
        {
            let keep = format!("{commit}:refs/cowbox/{commit}");
            let fetched = host.fill(&self.dir, self.fetching(&[&keep]), &format!("fetch commit {commit}"));
            return fetched.map_err(|halt| match halt {
                Halt::Over(outcome, _) => {
                    Halt::Over(outcome, format!("there is no commit {commit} in {}", url::shown(&self.from)))
                }
                other => other,
            });
        }
        Ok(())
    }

    fn fetching(&self, what: &[&str]) -> std::process::Command {
        let mut command = git(&self.dir, Configuration::Users);
        for setting in CHECKED {
            command.args(["-c", setting]);
        }
        command.args(["fetch", "--quiet", "--no-tags", "--prune", "--force"]);
        command.args(["--no-recurse-submodules", "--no-write-fetch-head", "--", &self.from]).args(what);
        command
    }

    /// The id of a commit, and of its tree.
    pub fn resolve(&self, wanted: Wanted<'_>, host: &mut dyn Host) -> Result<(String, String), Halt> {
        let names = match wanted {
            Wanted::Commit(commit) => vec![commit.to_owned()],
            Wanted::Reference(name) if name.starts_with("refs/") => vec![name.to_owned()],
            Wanted::Reference(name) => vec![format!("refs/heads/{name}"), format!("refs/tags/{name}")],
        };
        for name in &names {
            let (commit, tree) = (format!("{name}^{{commit}}"), format!("{name}^{{tree}}"));
            let words = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
            let mut ask = |object: &str| {
                let mut command = git_with(&self.dir, Configuration::None, words);
                command.arg(object);
                host.run(command, "look a name up").map(|said| String::from_utf8_lossy(&said).trim().to_owned())
            };
            match (ask(&commit), ask(&tree)) {
                (Ok(commit), Ok(tree)) => return Ok((commit, tree)),
                (Err(Halt::Stopped), _) | (_, Err(Halt::Stopped)) => return Err(Halt::Stopped),
                _ => {}
            }
        }
        let what = match wanted {
            Wanted::Commit(commit) => format!("commit {commit}"),
            Wanted::Reference(name) => format!("branch or tag {name}"),
        };
        Err(Halt::infra(format!("there is no {what} in {}", show(Path::new(&url::shown(&self.from))))))
    }
}

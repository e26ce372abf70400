//! Submodules of a commit that is laid out. What names them is the code's: neither does it choose programs of the host,
//! nor repositories that lie there.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use super::git::{Configuration, git, git_with};
use super::mirror::{CHECKED, Mirror};
use super::{Host, url};
use crate::error::show;
use crate::task::halt::Halt;

/// Deeper than anybody nests them.
const DEEPEST: usize = 20;
/// What programs a filter may name.
const OF_A_FILTER: [&str; 4] = ["clean=", "smudge=", "process=", "required=false"];

/// Lays them out, with those that they have themselves.
pub(super) fn lay_out(root: &Path, mirror: &Mirror, host: &mut dyn Host) -> Result<(), Halt> {
    let update = Update { settings: settings(root, mirror, host)? };
    let own = match mirror.is_local() {
        true => Some(git_dir(Path::new(mirror.from()), host)?),
        false => None,
    };
    update.level(root, own.as_deref(), 0, host)
}

/// They are fetched, and servers need what the user has configured for them. The filters in there are for the user's own
/// code: here they are none.
fn settings(root: &Path, mirror: &Mirror, host: &mut dyn Host) -> Result<Vec<OsString>, Halt> {
    let words = ["config", "-z", "--name-only", "--list"];
    let names = host.run(git_with(root, Configuration::Users, words), "look for filters")?;
    let mut settings: Vec<OsString> = CHECKED.iter().map(OsString::from).collect();
    for name in names.split(|b| *b == 0).filter(|name| name.starts_with(b"filter.")) {
        let Some(end) = name.iter().rposition(|b| *b == b'.') else { continue };
        if name.contains(&b'=') {
            let why = format!(
                "the filter {} has a name that cannot be switched off",
                show(Path::new(OsStr::from_bytes(name)))
            );
            return Err(Halt::infra(why));
        }
        for setting in OF_A_FILTER {
            settings.push(OsString::from_vec([&name[..=end], setting.as_bytes()].concat()));
        }
    }
    settings.extend(url::setting(mirror.from()).map(OsString::from));
    settings.sort();
    settings.dedup();
    Ok(settings)
}

/// Where the repository of a directory is.
fn git_dir(from: &Path, host: &mut dyn Host) -> Result<PathBuf, Halt> {
    let words = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
    let said = host.run(git_with(from, Configuration::None, words), "find the repository")?;
    Ok(OsStr::from_bytes(said.strip_suffix(b"\n").unwrap_or(&said)).into())
}

struct Update {
    settings: Vec<OsString>,
}

impl Update {
    /// Those that `root` names itself; `own` is the repository that it came from, where that is on this host.
    fn level(&self, root: &Path, own: Option<&Path>, depth: usize, host: &mut dyn Host) -> Result<(), Halt> {
        if depth > DEEPEST {
            return Err(Halt::infra(format!("submodules are more than {DEEPEST} deep")));
        }
        let Some(own) = own else {
            let mut all = self.git(root, None);
            all.arg("--recursive");
            return host.fill(root, all, "check submodules out");
        };
        for (name, path) in named(root, host)? {
            let repository = own.join("modules").join(&name);
            let is_there = is_plain(&name) && repository.join("HEAD").is_file();
            let doing = format!("check submodule {} out", show(&name));
            let mut update = self.git(root, is_there.then_some((name.as_path(), repository.as_path())));
            if !is_there {
                // From a server. What lies on this host somewhere else was not offered by anybody.
                update.arg("--recursive");
            }
            update.arg("--").arg(&path);
            host.fill(root, update, &doing).map_err(|halt| match halt {
                Halt::Over(outcome, why) if !is_there => {
                    let why = format!("{why}; `git submodule update --init` in the code makes it part of that");
                    Halt::Over(outcome, why)
                }
                other => other,
            })?;
            if is_there {
                self.level(&root.join(&path), Some(&repository), depth + 1, host)?;
            }
        }
        Ok(())
    }

    /// `submodule update`; from a repository on this host, if one is given for a name.
    fn git(&self, root: &Path, from: Option<(&Path, &Path)>) -> Command {
        let mut command = git(root, Configuration::Users);
        command.env("GIT_LITERAL_PATHSPECS", "1");
        for setting in &self.settings {
            command.arg("-c").arg(setting);
        }
        if let Some((name, repository)) = from {
            let setting = [b"submodule.", bytes(name), b".url=", bytes(repository)].concat();
            command.args(["-c", "protocol.file.allow=always", "-c"]).arg(OsString::from_vec(setting));
        }
        command.args(["submodule", "--quiet", "update", "--init", "--checkout"]);
        command
    }
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// Whether it leads down, and is nothing else for git where a setting is read.
fn is_plain(path: &Path) -> bool {
    let good = path.components().all(|part| matches!(part, Component::Normal(_)));
    good && !path.as_os_str().is_empty() && !bytes(path).iter().any(|b| matches!(b, b'=' | b'\n'))
}

/// Names and paths of what `.gitmodules` lists and the commit has.
fn named(root: &Path, host: &mut dyn Host) -> Result<Vec<(PathBuf, PathBuf)>, Halt> {
    let file = root.join(".gitmodules");
    if !file.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
        return Ok(Vec::new());
    }
    let words = ["config", "-z", "--file", ".gitmodules", "--no-includes", "--get-regexp", "^submodule\\..*\\.path$"];
    let said = host.run(git_with(root, Configuration::None, words), "read .gitmodules")?;
    let mut found = Vec::new();
    for entry in said.split(|b| *b == 0).filter(|entry| !entry.is_empty()) {
        let Some(at) = entry.iter().position(|b| *b == b'\n') else { continue };
        let name = entry[..at].strip_prefix(b"submodule.").and_then(|name| name.strip_suffix(b".path"));
        let (Some(name), path) = (name, Path::new(OsStr::from_bytes(&entry[at + 1..]))) else { continue };
        let words = ["ls-files", "-z", "--stage", "--"];
        let mut ask = git_with(root, Configuration::None, words);
        ask.env("GIT_LITERAL_PATHSPECS", "1").arg(path);
        // Listed, but not there: git leaves it out as well.
        if is_plain(path) && host.run(ask, "look for a submodule")?.starts_with(b"160000 ") {
            found.push((PathBuf::from(OsStr::from_bytes(name)), path.to_path_buf()));
        }
    }
    Ok(found)
}

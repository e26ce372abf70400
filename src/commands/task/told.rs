//! What the process of a stage tells the run: through memory and files of the run's own, which the sandbox never sees.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Kind};
use crate::paths::BytePath;
use crate::session::Session;
use crate::setup::make::StepEnded;
use crate::task::halt::Halt;
use crate::task::out;

/// Larger than any note that was written here.
const LARGEST_NOTE: u64 = 64 << 10;

/// What came of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Told {
    /// The session, if there is one.
    pub session: Option<String>,
    /// Kind, version, and whether it runs without root.
    pub engine: Option<(String, String, bool)>,
    /// Name and id of the image.
    pub image: Option<(String, String)>,
    /// The prepared environment.
    pub setup_key: Option<String>,
    /// The command.
    pub cmd: Vec<String>,
    /// Where it ran.
    pub cwd: String,
    /// Names of its variables.
    pub env: Vec<String>,
    /// Its exit code.
    pub code: Option<u8>,
    /// When it began.
    pub started: String,
    /// How long it took.
    pub duration_ms: u64,
    /// Whether its time was up.
    pub timed_out: bool,
    /// Whether it did not end by itself, for that or any other reason.
    pub interrupted: bool,
    /// Whether it got as far as to a sandbox over what the stages before left.
    pub opened: bool,
    /// Where the setup makes what it makes, while it does.
    pub making: Option<BytePath>,
    /// The container of the setup.
    pub container: Option<String>,
    /// The network interfaces that the sandbox of the setup has.
    pub interfaces: Option<Vec<String>>,
    /// What somebody should know.
    pub notices: Vec<String>,
    /// Steps of the setup that were run, in order.
    pub steps: Vec<ToldStep>,
    /// What went wrong before it could run, and whether somebody wanted an end.
    pub error: Option<(String, bool)>,
    /// Whether the host's disk is to blame for that.
    pub of_host: bool,
}

/// A step of the setup.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ToldStep {
    /// What ran.
    pub cmd: Vec<String>,
    /// Where.
    pub cwd: String,
    /// Names of its variables.
    pub env: Vec<String>,
    /// Its exit code.
    pub code: u8,
    /// How long it took.
    pub duration_ms: u64,
    /// When it began.
    pub started: String,
}

impl From<&StepEnded> for ToldStep {
    fn from(step: &StepEnded) -> Self {
        Self {
            cmd: step.command.clone(),
            cwd: step.dir.to_string_lossy().into_owned(),
            env: step.env.clone(),
            code: step.code,
            duration_ms: step.took.as_millis().try_into().unwrap_or(u64::MAX),
            started: humantime::format_rfc3339_millis(step.ended - step.took).to_string(),
        }
    }
}

impl Told {
    /// What to tell of a failure.
    pub fn failure(error: &Error) -> Self {
        let hint = error.hints().first().map(|hint| format!(" ({hint})")).unwrap_or_default();
        let said = (format!("{}{hint}", error.message()), error.kind() == Kind::Interrupted);
        Self { error: Some(said), of_host: error.is_of_host(), ..Self::default() }
    }

    /// What to tell while there is nothing to tell yet, should it be the last word.
    pub fn unfinished() -> Self {
        Self { error: Some(("the process of the stage died".to_owned(), false)), ..Self::default() }
    }

    /// Writes it, whole: somebody may be reading.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let beside = path.with_extension("new");
        fs::write(&beside, serde_json::to_vec(self)?)?;
        fs::rename(&beside, path)
    }

    /// Reads it; a process that said nothing was cut off.
    pub fn read(path: &Path) -> Result<Self, Halt> {
        let text = fs::read(path).map_err(|_| Self::died())?;
        serde_json::from_slice(&text).map_err(|e| Halt::infra(e.to_string()))
    }

    /// What comes of a process that said nothing.
    pub fn died() -> Halt {
        Halt::infra("the process of the stage died")
    }

    /// Itself, unless something went wrong.
    pub fn good(self) -> Result<Self, Halt> {
        match self.error {
            Some((_, true)) => Err(Halt::Stopped),
            Some((why, false)) => Err(Halt::infra(why)),
            None => Ok(self),
        }
    }
}

/// A sandbox that runs, for whoever watches it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Note {
    /// Its session.
    pub session: String,
    /// Where that lies.
    pub dir: BytePath,
    /// Its container.
    pub container: Option<String>,
    /// Its first process, seen from the host.
    pub init: Option<i32>,
    /// Its network interfaces, where they can be seen at once.
    pub interfaces: Option<Vec<String>>,
    /// What its control group says, by the name of the limit.
    pub limits: BTreeMap<String, String>,
}

impl Note {
    /// Of a session whose sandbox has just been made; `has_limits`: those are wanted.
    pub fn of(session: &Session, has_limits: bool) -> Self {
        let run = session.record.incarnation.as_ref();
        let init = run.and_then(|run| run.init.as_ref()).map(|init| init.pid);
        Self {
            session: session.record.id.to_string(),
            dir: session.dir().into(),
            container: run.and_then(|run| run.container.clone()),
            init,
            interfaces: init.and_then(interfaces),
            limits: init.filter(|_| has_limits).map(limits).unwrap_or_default(),
        }
    }

    /// Writes it, whole.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let beside = path.with_extension("new");
        fs::write(&beside, serde_json::to_vec(self)?)?;
        fs::rename(&beside, path)
    }

    /// Reads it, if it is there.
    pub fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&out::read(path, LARGEST_NOTE).ok()?).ok()
    }
}

/// Names of the network interfaces that a process of the host has, loopback and all.
pub fn interfaces(pid: i32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/net/dev")).ok()?;
    let mut names: Vec<String> =
        text.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect();
    names.sort();
    Some(names)
}

/// The limits of the control groups that a process of the host is in, as the kernel has them.
pub fn limits(pid: i32) -> BTreeMap<String, String> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    limits_in(Path::new("/sys/fs/cgroup"), &text)
}

fn limits_in(root: &Path, groups: &str) -> BTreeMap<String, String> {
    // The limit, its file in the one hierarchy, and its controller and file where every controller has its own.
    const FILES: [(&str, &str, &str, &str); 3] = [
        ("memory", "memory.max", "memory", "memory.limit_in_bytes"),
        ("pids", "pids.max", "pids", "pids.max"),
        ("cpus", "cpu.max", "cpu", "cpu.cfs_quota_us"),
    ];
    let mut found = BTreeMap::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let group = group.trim_start_matches('/');
        for (name, one, controller, own) in FILES {
            let path = match controllers {
                "" => root.join(group).join(one),
                all if all.split(',').any(|c| c == controller) => root.join(controller).join(group).join(own),
                _ => continue,
            };
            if let Ok(value) = fs::read_to_string(path) {
                found.insert(name.to_owned(), value.trim().to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_a_small_file_or_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.note");
        let note = r#"{"session": "x", "dir": "/", "container": null, "init": null, "interfaces": null, "limits": {}}"#;
        let large = note.to_owned() + &" ".repeat(LARGEST_NOTE as usize);
        for (text, is_one) in [(note, true), (large.as_str(), false)] {
            fs::write(&path, text).unwrap();
            assert_eq!(Note::read(&path).is_some(), is_one);
        }
        fs::remove_file(&path).unwrap();
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(Note::read(&path).is_none(), "nobody waits for somebody to write to it");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert!(Note::read(&path).is_none());
    }

    #[test]
    fn limits_are_read_where_the_kernel_has_them() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("a/b/memory.max", "1048576\n");
        write("a/b/cpu.max", "150000 100000\n");
        write("pids/x/pids.max", "max\n");
        let found = limits_in(dir.path(), "4:pids:/x\n3:cpu,cpuacct:/gone\n0::/a/b\nodd\n");
        let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, [("cpus", "150000 100000"), ("memory", "1048576"), ("pids", "max")]);
    }
}

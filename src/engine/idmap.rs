//! Id maps of user namespaces: one's own id, and the sub-ids of `/etc/subuid` where `newuidmap` is there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

use crate::error::{Error, Result, reason};

/// `count` ids from `inside` on are those from `outside` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First id in the namespace.
    pub inside: u32,
    /// First id outside.
    pub outside: u32,
    /// How many.
    pub count: u32,
}

/// The maps of one user namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdMap {
    users: Vec<Extent>,
    groups: Vec<Extent>,
    writer: Writer,
}

/// Who may write the maps.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Writer {
    /// We are root: any map.
    Privileged,
    /// The setuid helpers `newuidmap` and `newgidmap`.
    Helpers(PathBuf, PathBuf),
    /// Nobody: a single id is what the kernel allows without help.
    Single,
}

impl IdMap {
    /// Every id looks the same inside as outside.
    pub fn same() -> Self {
        Self::with(|id| id, true)
    }

    /// The same for one's own id alone, which takes no helpers. Root has all of them for nothing.
    pub fn own() -> Self {
        Self::with(|id| id, false)
    }

    /// The caller is root inside; the sub-ids follow from 1.
    pub fn as_root() -> Self {
        Self::with(|_| 0, true)
    }

    /// Whether more than one id is mapped.
    pub fn has_range(&self) -> bool {
        self.users.iter().map(|e| u64::from(e.count)).sum::<u64>() > 1
    }

    fn with(inside: impl Fn(u32) -> u32, sub_ids: bool) -> Self {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        if uid == 0 && is_privileged() && inside(uid) == uid {
            let (users, groups) = (own_map("uid_map"), own_map("gid_map"));
            return Self { users, groups, writer: Writer::Privileged };
        }
        if sub_ids && let Some((newuidmap, newgidmap)) = helpers() {
            let names = user_name(uid);
            let (users, groups) = (subids("/etc/subuid", &names), subids("/etc/subgid", &names));
            if !users.is_empty() && !groups.is_empty() {
                return Self {
                    users: around(inside(uid), uid, &users),
                    groups: around(inside(gid), gid, &groups),
                    writer: Writer::Helpers(newuidmap, newgidmap),
                };
            }
        }
        let one = |id: u32| vec![Extent { inside: inside(id), outside: id, count: 1 }];
        Self { users: one(uid), groups: one(gid), writer: Writer::Single }
    }

    /// The same, with the caller's own id alone.
    pub fn single(&self) -> Self {
        let own =
            |extents: &[Extent], id: u32| extents.iter().copied().filter(|e| e.outside == id && e.count == 1).collect();
        Self {
            users: own(&self.users, rustix::process::geteuid().as_raw()),
            groups: own(&self.groups, rustix::process::getegid().as_raw()),
            writer: Writer::Single,
        }
    }

    /// Writes the maps of the namespace that `pid` is in.
    pub fn write(&self, pid: Pid) -> Result<()> {
        self.begin(pid)?.finish()
    }

    /// Begins to write them: helpers take a millisecond or two, in which there is other work to do.
    pub fn begin(&self, pid: Pid) -> Result<Writing> {
        let pid = pid.as_raw_pid();
        let put = |file: &str, text: &str| {
            let path = format!("/proc/{pid}/{file}");
            fs::write(&path, text).map_err(|e| Error::new(format!("cannot write {path}: {}", reason(&e))))
        };
        match &self.writer {
            Writer::Privileged => {
                put("uid_map", &lines(&self.users))?;
                put("gid_map", &lines(&self.groups))?;
            }
            Writer::Single => {
                // Without this the kernel refuses a group map of an unprivileged process.
                put("setgroups", "deny")?;
                put("uid_map", &lines(&self.users))?;
                put("gid_map", &lines(&self.groups))?;
            }
            Writer::Helpers(newuidmap, newgidmap) => {
                let users = spawn(newuidmap, pid, &self.users)?;
                let groups = spawn(newgidmap, pid, &self.groups)?;
                return Ok(Writing(vec![(users, newuidmap.clone()), (groups, newgidmap.clone())]));
            }
        }
        Ok(Writing(Vec::new()))
    }
}

/// Maps that are being written by helpers.
#[derive(Debug)]
pub struct Writing(Vec<(Child, PathBuf)>);

impl Writing {
    /// Waits until they are.
    pub fn finish(self) -> Result<()> {
        let done: Vec<Result<()>> = self.0.into_iter().map(|(child, helper)| finish(child, &helper)).collect();
        done.into_iter().collect()
    }
}

fn lines(extents: &[Extent]) -> String {
    extents.iter().map(|e| format!("{} {} {}\n", e.inside, e.outside, e.count)).collect()
}

fn spawn(helper: &Path, pid: i32, extents: &[Extent]) -> Result<Child> {
    let mut command = Command::new(helper);
    command.arg(pid.to_string());
    for e in extents {
        command.args([e.inside.to_string(), e.outside.to_string(), e.count.to_string()]);
    }
    command
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| Error::new(format!("cannot run {}: {}", helper.display(), reason(&e))))
}

fn finish(child: Child, helper: &Path) -> Result<()> {
    let output = child
        .wait_with_output()
        .map_err(|e| Error::new(format!("cannot wait for {}: {}", helper.display(), reason(&e))))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error::new(format!("{} failed: {}", helper.display(), said.trim())))
}

/// Puts `id` at `inside` and fills the ids around it with the ranges, lowest first.
fn around(inside: u32, id: u32, ranges: &[(u32, u32)]) -> Vec<Extent> {
    let mut extents = vec![Extent { inside, outside: id, count: 1 }];
    let mut next: u32 = 0;
    for (start, count) in ranges {
        let (mut outside, mut left) = (*start, *count);
        while left > 0 {
            if next == inside {
                next += 1;
            }
            let room = if next < inside { inside - next } else { u32::MAX - next };
            let take = left.min(room);
            if take == 0 {
                break;
            }
            extents.push(Extent { inside: next, outside, count: take });
            next += take;
            outside += take;
            left -= take;
        }
    }
    extents
}

/// Ranges of a subid file for a user, by name or by number.
fn subids(file: &str, names: &[String]) -> Vec<(u32, u32)> {
    fs::read_to_string(file).map(|text| parse_subids(&text, names)).unwrap_or_default()
}

fn parse_subids(text: &str, names: &[String]) -> Vec<(u32, u32)> {
    let range = |line: &str| -> Option<(u32, u32)> {
        let mut fields = line.trim().split(':');
        let owner = fields.next()?;
        let (start, count): (u32, u32) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        (names.iter().any(|n| n == owner) && count > 0 && start.checked_add(count).is_some()).then_some((start, count))
    };
    text.lines().filter_map(range).collect()
}

/// What a subid file may call the user.
fn user_name(uid: u32) -> Vec<String> {
    let mut names = vec![uid.to_string()];
    names.extend(crate::engine::passwd::by_uid(uid).map(|entry| entry.name));
    names
}

fn helpers() -> Option<(PathBuf, PathBuf)> {
    let find = |name: &str| {
        ["/usr/bin", "/usr/sbin", "/bin", "/usr/local/bin", "/run/wrappers/bin"]
            .iter()
            .map(|dir| Path::new(dir).join(name))
            .find(|path| path.exists())
    };
    Some((find("newuidmap")?, find("newgidmap")?))
}

/// Every id that exists in our own namespace, as it is.
fn own_map(file: &str) -> Vec<Extent> {
    let text = fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default();
    let extent = |line: &str| -> Option<Extent> {
        let mut fields = line.split_ascii_whitespace();
        let inside = fields.next()?.parse().ok()?;
        let count = fields.nth(1)?.parse().ok()?;
        Some(Extent { inside, outside: inside, count })
    };
    text.lines().filter_map(extent).collect()
}

fn is_privileged() -> bool {
    use rustix::thread::{CapabilitySet, capabilities};
    let needed = CapabilitySet::SETUID | CapabilitySet::SETGID;
    capabilities(None).is_ok_and(|sets| sets.effective.contains(needed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(extents: &[Extent]) -> String {
        lines(extents).trim().replace('\n', ", ")
    }

    #[test]
    fn the_ranges_fill_the_ids_around_ones_own() {
        assert_eq!(text(&around(1000, 1000, &[(100_000, 65536)])), "1000 1000 1, 0 100000 1000, 1001 101000 64536");
        assert_eq!(text(&around(0, 1000, &[(100_000, 65536)])), "0 1000 1, 1 100000 65536");
        assert_eq!(
            text(&around(200_000, 200_000, &[(100_000, 10), (500, 5)])),
            "200000 200000 1, 0 100000 10, 10 500 5"
        );
    }

    #[test]
    fn only_the_users_own_lines_count_and_bad_ones_do_not() {
        let file = "alice:100000:65536\nbob:200000:10\n1000:300000:5\nalice:4294967295:9\nalice:x:1\nalice\n";
        let names = ["1000".to_owned(), "alice".to_owned()];
        assert_eq!(parse_subids(file, &names), [(100_000, 65536), (300_000, 5)]);
    }
}

//! Unix sockets of the host in the file system: doors to daemons that a read-only mount does not close.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Places that a sandbox has of its own.
const PRIVATE: [&str; 6] = ["/tmp", "/run", "/var/run", "/dev", "/proc", "/var/tmp"];

/// Every socket that has a name a sandbox could find.
pub fn listening() -> Vec<PathBuf> {
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let mut found: Vec<PathBuf> = Vec::new();
    for (inode, name) in table.lines().skip(1).filter_map(entry) {
        match name {
            // Bound in the directory where its daemon stood: ask where that is.
            name if !name.starts_with(['/', '@']) => found.extend(owner_dir(inode).map(|dir| dir.join(name))),
            name if name.starts_with('/') => found.push(name.into()),
            _ => {}
        }
    }
    found.retain(|path| !PRIVATE.iter().any(|dir| path.starts_with(dir)));
    found.sort();
    found.dedup();
    // Daemons also bind under one name and rename it when they listen: then it is one of its neighbours.
    let renamed: Vec<PathBuf> = found.iter().filter(|path| !path.exists()).flat_map(|path| neighbours(path)).collect();
    found.extend(renamed);
    found.sort();
    found.dedup();
    found
}

/// The sockets in the directory of one that is not there any more.
fn neighbours(path: &Path) -> Vec<PathBuf> {
    let entries = path.parent().and_then(|dir| fs::read_dir(dir).ok()).into_iter().flatten().flatten();
    let sockets = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket()));
    sockets.map(|entry| entry.path()).collect()
}

/// Inode and name: seven fields, then the rest of the line, which may hold blanks.
fn entry(line: &str) -> Option<(&str, &str)> {
    let mut rest = line;
    let mut inode = "";
    for _ in 0..7 {
        let (field, after) = rest.trim_start().split_once(' ')?;
        (inode, rest) = (field, after);
    }
    (!rest.is_empty()).then_some((inode, rest))
}

/// Where a process that holds the socket stands. Only our own can be looked into; those of others
/// are doors that their file modes have to keep.
fn owner_dir(inode: &str) -> Option<PathBuf> {
    let wanted = format!("socket:[{inode}]");
    let holds = |process: &Path| {
        let fds = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        fds.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|target| target == Path::new(&wanted))
    };
    let processes = fs::read_dir("/proc").ok()?.flatten().map(|entry| entry.path());
    let owner = processes.filter(|p| p.join("fd").exists()).find(|process| holds(process))?;
    fs::read_link(owner.join("cwd")).ok()
}

#[cfg(test)]
mod tests {
    use super::entry;

    #[test]
    fn a_name_is_the_rest_of_the_line() {
        let line = "ffff8a: 00000002 00000000 00010000 0001 01 12345 /home/u/my agent.sock";
        assert_eq!(entry(line), Some(("12345", "/home/u/my agent.sock")));
        assert_eq!(entry("ffff8a: 00000002 00000000 00010000 0001 01 12345 agent.sock"), Some(("12345", "agent.sock")));
        assert_eq!(entry("ffff8a: 00000002 00000000 00000000 0001 03 12345"), None);
    }
}

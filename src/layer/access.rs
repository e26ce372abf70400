//! Getting at layers whose files belong to other ids, or that their owner may not read.
//!
//! A sandbox with sub-ids leaves files of ids that only exist in a user namespace, and a mode 000
//! file is closed even to its owner. Inside a user namespace of our own, with the same ids mapped,
//! both are readable. Files that a docker container wrote as root must be given to the user first,
//! by the daemon (see `engine::docker`).

use std::io;
use std::sync::OnceLock;

use rustix::process::{WaitOptions, waitpid};
use rustix::thread::UnshareFlags;

use crate::engine::idmap::IdMap;
use crate::error::{Error, Result};
use crate::sys::process::{Side, exit_now, fork_into, unshare};

/// Does `work` in a child that has gained access, so that this process stays what it was.
pub fn in_child(work: impl FnOnce() -> io::Result<()>) -> Result<()> {
    let failed = |e: io::Error| Error::new(format!("cannot start a helper process: {}", crate::error::reason(&e)));
    match fork_into(UnshareFlags::empty()).map_err(failed)? {
        Side::Child => {
            let done = gain().is_ok() && work().is_ok();
            exit_now(i32::from(!done))
        }
        Side::Parent(child) => match waitpid(Some(child), WaitOptions::empty()) {
            Ok(Some((_, status))) if status.exit_status() == Some(0) => Ok(()),
            _ => Err(Error::new("files of other ids stayed closed, even in a user namespace")
                .hint("`cowbox doctor` tells how to allow user namespaces")),
        },
    }
}

/// Who this process was before it entered a namespace. Who one is belongs to the process, and so does this.
static USER: OnceLock<u32> = OnceLock::new();

/// The user's id as the host knows it: outside of the namespace that cowbox was started in, if it was started
/// in one (`unshare -r`), and also after [`gain`].
pub fn user() -> u32 {
    *USER.get_or_init(|| {
        let own = rustix::process::geteuid().as_raw();
        let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        outside(&map, own).unwrap_or(own)
    })
}

/// Lines of a map are `INSIDE OUTSIDE COUNT`.
fn outside(map: &str, id: u32) -> Option<u32> {
    map.lines().find_map(|line| {
        let mut numbers = line.split_ascii_whitespace().map(str::parse::<u32>);
        let (inside, outside, count) = (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
        let offset = id.checked_sub(inside).filter(|offset| *offset < count)?;
        outside.checked_add(offset)
    })
}

/// Moves this process into a user namespace where it is root over its own files and its sub-ids.
/// Root already is.
pub fn gain() -> Result<()> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let map = IdMap::as_root();
    // To be asked while it can still be told.
    let _ = user();
    let refused = |e: std::io::Error| {
        Error::new(format!(
            "some files of the session belong to other ids, and a user namespace to read them is refused: {}",
            crate::error::reason(&e)
        ))
        .hint("`cowbox doctor` tells how to allow user namespaces")
    };
    let target = rustix::process::getpid();
    let (ready, go) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|e| refused(e.into()))?;
    // The maps must be written from outside of the new namespace.
    match fork_into(UnshareFlags::empty()).map_err(refused)? {
        Side::Child => {
            drop(go);
            let mut byte = [0u8; 1];
            let done = rustix::io::read(&ready, &mut byte) == Ok(1) && map.write(target).is_ok();
            exit_now(i32::from(!done))
        }
        Side::Parent(child) => {
            unshare(UnshareFlags::NEWUSER).map_err(refused)?;
            rustix::io::write(&go, b"g").map_err(|e| refused(e.into()))?;
            let ended = waitpid(Some(child), WaitOptions::empty()).map_err(|e| refused(e.into()))?;
            match ended {
                Some((_, status)) if status.exit_status() == Some(0) => Ok(()),
                _ => Err(refused(std::io::Error::other("the id maps could not be written"))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_told_by_the_map_of_its_namespace() {
        assert_eq!(outside("         0          0 4294967295\n", 1000), Some(1000));
        assert_eq!(outside("0 1001 1\n", 0), Some(1001));
        assert_eq!(outside("0 1001 1\n1 100000 65536\n", 5), Some(100_004));
        assert_eq!(outside("0 1001 1\n", 7), None);
        assert_eq!(outside("nonsense", 0), None);
    }
}

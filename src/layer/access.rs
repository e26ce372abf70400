//! Getting at layers whose files belong to other ids, or that their owner may not read.
//!
//! A sandbox with sub-ids leaves files of ids that only exist in a user namespace, and a mode 000
//! file is closed even to its owner. Inside a user namespace of our own, with the same ids mapped,
//! both are readable. Files that a docker container wrote as root must be given to the user first,
//! by the daemon (see `engine::docker`).

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::OnceLock;

use rustix::process::{WaitOptions, waitpid};
use rustix::thread::UnshareFlags;

use crate::engine::idmap::IdMap;
use crate::error::{Error, Kind, Result, reason};
use crate::sys::process::{Side, exit_now, fork_into, unshare};

/// Does `work` in a child that has gained access, so that this process stays what it was.
pub fn in_child(work: impl FnOnce() -> io::Result<()>) -> Result<()> {
    apart(|| {
        gain()?;
        work().map_err(|e| {
            Error::new(format!(
                "some files belong to other user ids and cannot be read, even in a user namespace: {}",
                reason(&e)
            ))
            .hint("`cowbox doctor` tells how to allow user namespaces")
        })
    })
}

/// Does `work` in a child, so that this process stays what it was even if `work` gains access.
pub fn apart(work: impl FnOnce() -> Result<()>) -> Result<()> {
    let failed = |e: io::Error| Error::new(format!("cannot start a helper process: {}", reason(&e)));
    let (heard, say) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|e| failed(e.into()))?;
    match fork_into(UnshareFlags::empty()).map_err(failed)? {
        Side::Child => {
            drop(heard);
            let Err(error) = work() else { exit_now(0) };
            let words: Vec<&str> =
                std::iter::once(error.message()).chain(error.hints().iter().map(String::as_str)).collect();
            let _ = File::from(say).write_all(words.join("\0").as_bytes());
            exit_now(i32::from(error.exit_code()))
        }
        Side::Parent(child) => {
            drop(say);
            let mut said = Vec::new();
            let _ = File::from(heard).read_to_end(&mut said);
            let ended = waitpid(Some(child), WaitOptions::empty()).map_err(|e| failed(e.into()))?;
            let code = ended.and_then(|(_, status)| status.exit_status());
            if code == Some(0) {
                return Ok(());
            }
            let said = String::from_utf8_lossy(&said);
            let mut words = said.split('\0').filter(|text| !text.is_empty());
            let kinds = [Kind::Conflict, Kind::Consent];
            let kind = kinds.into_iter().find(|kind| code == Some(i32::from(kind.exit_code()))).unwrap_or(Kind::Failed);
            let error = Error::of(kind, words.next().unwrap_or("a helper process was ended"));
            Err(words.fold(error, |error, hint| error.hint(hint)))
        }
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
            "some files of the session belong to other user ids, and the user namespace to read them in is refused: {}",
            reason(&e)
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

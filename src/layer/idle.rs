//! Whether nobody is left who could write into a session's layer.
//!
//! That its processes are gone does not prove it: one of them may have handed a descriptor to another sandbox, and such
//! a descriptor keeps the whole overlay. Only the kernel knows, and tells by refusing a second overlay.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{FsOpenFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsopen};
use rustix::process::{WaitOptions, waitpid};
use rustix::thread::UnshareFlags;

use crate::sys::process::{Side, exit_now, fork_into};

/// Whether no overlay has the upper layer of a session over `repo`. Where that cannot be asked: false.
pub fn is_idle(session_dir: &Path, repo: &Path) -> bool {
    match fork_into(UnshareFlags::NEWUSER | UnshareFlags::NEWNS) {
        Ok(Side::Child) => exit_now(i32::from(mount(session_dir, repo).is_err())),
        Ok(Side::Parent(child)) => {
            let ended = waitpid(Some(child), WaitOptions::empty());
            matches!(ended, Ok(Some((_, status))) if status.exit_status() == Some(0))
        }
        Err(_) => false,
    }
}

/// Makes an overlay that is seen nowhere, and goes with this process.
fn mount(session_dir: &Path, repo: &Path) -> io::Result<()> {
    let open = |path: &Path| openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let (lower, upper, work) = (open(repo)?, open(&session_dir.join("upper"))?, open(&session_dir.join("work"))?);
    let name = |fd: &OwnedFd| format!("/proc/self/fd/{}", fd.as_raw_fd());
    let fs = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(fs.as_fd(), "lowerdir", name(&lower))?;
    fsconfig_set_string(fs.as_fd(), "upperdir", name(&upper))?;
    fsconfig_set_string(fs.as_fd(), "workdir", name(&work))?;
    fsconfig_set_flag(fs.as_fd(), "userxattr")?;
    // Without it a layer in use is no more than a warning in the kernel's log.
    fsconfig_set_string(fs.as_fd(), "index", "on")?;
    // Else its end would sync the whole file system.
    fsconfig_set_flag(fs.as_fd(), "volatile")?;
    Ok(fsconfig_create(fs.as_fd())?)
}

//! `mount_setattr(2)`, which rustix lacks; the other mount calls are safe in rustix.

use std::ffi::CStr;
use std::io;

/// Attributes of a mount.
pub const READ_ONLY: u64 = nix::libc::MOUNT_ATTR_RDONLY;
/// Set-user-id bits mean nothing.
pub const NO_SUID: u64 = nix::libc::MOUNT_ATTR_NOSUID;
/// Device nodes do not open.
pub const NO_DEV: u64 = nix::libc::MOUNT_ATTR_NODEV;

/// Sets attributes on the mount at `path`, and on all below it if `recursive`.
pub fn set_attributes(path: &CStr, attributes: u64, recursive: bool) -> io::Result<()> {
    let attr = nix::libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = if recursive { nix::libc::AT_RECURSIVE } else { 0 };
    // SAFETY: `path` is NUL-terminated and `attr` has the size that is passed.
    let done = unsafe {
        nix::libc::syscall(
            nix::libc::SYS_mount_setattr,
            nix::libc::AT_FDCWD,
            path.as_ptr(),
            flags as nix::libc::c_uint,
            &raw const attr,
            size_of::<nix::libc::mount_attr>(),
        )
    };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

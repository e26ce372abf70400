//! Landlock's scope for abstract unix sockets (Linux 6.12): without a network namespace of its own,
//! a sandbox could else reach the desktop bus or an X server that listens on an abstract name.

use std::io;

#[repr(C)]
struct RulesetAttr {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

const SCOPE_ABSTRACT_UNIX_SOCKET: u64 = 1;
/// The first ABI that knows scopes.
const SCOPE_ABI: i64 = 6;

/// The kernel's Landlock ABI, 0 if it has none.
pub fn abi() -> i64 {
    // SAFETY: with a null pointer and the version flag the kernel only answers its version.
    let abi = unsafe { nix::libc::syscall(nix::libc::SYS_landlock_create_ruleset, 0usize, 0usize, 1u32) };
    abi.max(0)
}

/// Whether this kernel can close abstract sockets.
pub fn can_scope() -> bool {
    abi() >= SCOPE_ABI
}

/// Closes abstract sockets of processes outside of the sandbox. Needs `no_new_privs`.
pub fn scope_abstract_sockets() -> io::Result<()> {
    let attr = RulesetAttr { handled_access_fs: 0, handled_access_net: 0, scoped: SCOPE_ABSTRACT_UNIX_SOCKET };
    // SAFETY: `attr` outlives the call and has the size that is passed.
    let fd = unsafe {
        nix::libc::syscall(nix::libc::SYS_landlock_create_ruleset, &raw const attr, size_of::<RulesetAttr>(), 0u32)
    };
    if fd == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made by the kernel and is ours.
    let done = unsafe { nix::libc::syscall(nix::libc::SYS_landlock_restrict_self, fd, 0u32) };
    let result = if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) };
    // SAFETY: as above; closed once.
    unsafe { nix::libc::close(fd as i32) };
    result
}

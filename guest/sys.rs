//! The system calls, by their numbers.

use core::arch::asm;

use crate::text::CStr;

#[cfg(target_arch = "x86_64")]
pub mod nr {
    pub const READ: usize = 0;
    pub const WRITE: usize = 1;
    pub const CLOSE: usize = 3;
    pub const LSEEK: usize = 8;
    pub const RT_SIGACTION: usize = 13;
    pub const RT_SIGPROCMASK: usize = 14;
    pub const IOCTL: usize = 16;
    pub const PRCTL: usize = 157;
    pub const CHDIR: usize = 80;
    pub const EXECVE: usize = 59;
    pub const EXIT_GROUP: usize = 231;
    pub const WAIT4: usize = 61;
    pub const KILL: usize = 62;
    pub const GETDENTS64: usize = 217;
    pub const OPENAT: usize = 257;
    pub const FCHOWNAT: usize = 260;
    pub const FSTATAT: usize = 262;
    /// Where `struct stat` has the owner; the group follows.
    pub const STAT_UID: usize = 28;
    pub const MKDIRAT: usize = 258;
    pub const FCHMODAT: usize = 268;
    pub const UNLINKAT: usize = 263;
    pub const RT_SIGTIMEDWAIT: usize = 128;
    pub const CLONE: usize = 56;
    pub const O_DIRECTORY: usize = 0o200000;
    pub const O_NOFOLLOW: usize = 0o400000;
}

#[cfg(target_arch = "aarch64")]
pub mod nr {
    pub const READ: usize = 63;
    pub const WRITE: usize = 64;
    pub const CLOSE: usize = 57;
    pub const LSEEK: usize = 62;
    pub const RT_SIGACTION: usize = 134;
    pub const RT_SIGPROCMASK: usize = 135;
    pub const IOCTL: usize = 29;
    pub const PRCTL: usize = 167;
    pub const CHDIR: usize = 49;
    pub const EXECVE: usize = 221;
    pub const EXIT_GROUP: usize = 94;
    pub const WAIT4: usize = 260;
    pub const KILL: usize = 129;
    pub const GETDENTS64: usize = 61;
    pub const OPENAT: usize = 56;
    pub const FCHOWNAT: usize = 54;
    pub const FSTATAT: usize = 79;
    /// Where `struct stat` has the owner; the group follows.
    pub const STAT_UID: usize = 24;
    pub const MKDIRAT: usize = 34;
    pub const FCHMODAT: usize = 53;
    pub const UNLINKAT: usize = 35;
    pub const RT_SIGTIMEDWAIT: usize = 137;
    pub const CLONE: usize = 220;
    pub const O_DIRECTORY: usize = 0o40000;
    pub const O_NOFOLLOW: usize = 0o100000;
}

pub const AT_FDCWD: usize = -100isize as usize;
pub const AT_SYMLINK_NOFOLLOW: usize = 0x100;
pub const AT_REMOVEDIR: usize = 0x200;
pub const O_CLOEXEC: usize = 0o2000000;
pub const SIGCHLD: usize = 17;
pub const SIGKILL: usize = 9;
pub const ENOENT: isize = 2;
pub const EINTR: isize = 4;
pub const ENOEXEC: isize = 8;
pub const EACCES: isize = 13;
pub const ENOTDIR: isize = 20;

#[cfg(target_arch = "x86_64")]
unsafe fn sys6(n: usize, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
    let ret: isize;
    // SAFETY: a plain system call; the callers pass pointers that stay valid during it.
    unsafe {
        asm!("syscall", inlateout("rax") n => ret, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
             in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _);
    }
    ret
}

#[cfg(target_arch = "aarch64")]
unsafe fn sys6(n: usize, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
    let ret: isize;
    // SAFETY: a plain system call; the callers pass pointers that stay valid during it.
    unsafe {
        asm!("svc 0", in("x8") n, inlateout("x0") a => ret, in("x1") b, in("x2") c, in("x3") d,
             in("x4") e, in("x5") f);
    }
    ret
}

pub fn sys(n: usize, a: usize, b: usize, c: usize, d: usize, e: usize) -> isize {
    // SAFETY: see the callers: every pointer given here outlives the call.
    unsafe { sys6(n, a, b, c, d, e, 0) }
}

pub fn exit(code: i32) -> ! {
    sys(nr::EXIT_GROUP, code as usize, 0, 0, 0, 0);
    loop {}
}

pub fn open(at: usize, name: CStr, flags: usize) -> isize {
    sys(nr::OPENAT, at, name as usize, flags | O_CLOEXEC, 0, 0)
}

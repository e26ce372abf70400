//! The static helper that cowbox mounts read-only into containers at `/.cowbox/guest`.
//!
//! - `guest init DIR ROWS COLUMNS TOKEN CMD ARG…`: pid 1. Starts CMD in DIR on a terminal of that size (0:
//!   leave it), passes signals on, reaps orphans, exits as CMD did. Engines' own inits lose the
//!   difference between "not found" (127) and "not executable" (126), and engines themselves create
//!   a missing DIR, or start with a terminal of no size.
//! - `guest kill TOKEN SIGNAL`: sends a signal to the `guest init` with that token: no engine passes
//!   signals on to a command of `exec`.
//! - `guest give UID GID DIR`: hands every entry below DIR to UID:GID without following a link, so
//!   that a docker user can read and delete what root wrote in the sandbox.
//! - `guest cat FILE`: prints a file of the image, which need not have a `cat`.
//! - `guest probe DIR`: for `doctor`: reads `DIR/lower`, writes `DIR/probe`, removes `DIR/lower`.
//!
//! No libc and no std: it has to run in an image that holds nothing at all.

#![no_std]
#![no_main]

use core::arch::asm;
use core::ptr;

#[cfg(target_arch = "x86_64")]
mod nr {
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
    pub const UNLINKAT: usize = 263;
    pub const RT_SIGTIMEDWAIT: usize = 128;
    pub const CLONE: usize = 56;
    pub const O_DIRECTORY: usize = 0o200000;
    pub const O_NOFOLLOW: usize = 0o400000;
}

#[cfg(target_arch = "aarch64")]
mod nr {
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
    pub const UNLINKAT: usize = 35;
    pub const RT_SIGTIMEDWAIT: usize = 137;
    pub const CLONE: usize = 220;
    pub const O_DIRECTORY: usize = 0o40000;
    pub const O_NOFOLLOW: usize = 0o100000;
}

const AT_FDCWD: usize = -100isize as usize;
const AT_SYMLINK_NOFOLLOW: usize = 0x100;
const O_CLOEXEC: usize = 0o2000000;
const SIGCHLD: usize = 17;
const SIGKILL: usize = 9;
const SIG_SETMASK: usize = 2;
const SI_KERNEL: i32 = 0x80;
const ENOENT: isize = 2;
const EINTR: isize = 4;
const ENOEXEC: isize = 8;
const EACCES: isize = 13;
const ENOTDIR: isize = 20;

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

fn sys(n: usize, a: usize, b: usize, c: usize, d: usize, e: usize) -> isize {
    // SAFETY: see the callers: every pointer given here outlives the call.
    unsafe { sys6(n, a, b, c, d, e, 0) }
}

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".globl _start", "_start:", "xor ebp, ebp", "mov rdi, rsp", "and rsp, -16", "call {main}", "ud2",
    main = sym start
);

#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(".globl _start", "_start:", "mov x29, #0", "mov x0, sp", "bl {main}", "brk #1", main = sym start);

/// A C string of the process arguments or environment.
type CStr = *const u8;

extern "C" fn start(stack: *const usize) -> ! {
    // SAFETY: the kernel puts argc, argv…, NULL, envp…, NULL on the stack of a new process.
    let (argc, argv, envp) = unsafe {
        let argc = *stack;
        (argc, stack.add(1).cast::<CStr>(), stack.add(argc + 2).cast::<CStr>())
    };
    // SAFETY: index below argc, or the terminating NULL.
    let arg = |i: usize| unsafe { *argv.add(if i < argc { i } else { argc }) };
    let verb = arg(1);
    let code = if is(verb, b"init") && argc > 6 {
        set_size(number(arg(3)), number(arg(4)));
        if sys(nr::CHDIR, arg(2) as usize, 0, 0, 0, 0) == 0 {
            // SAFETY: argv has more than six entries and ends with NULL.
            init(unsafe { argv.add(6) }, envp)
        } else {
            say(&[b"cowbox: error: the working directory "]);
            say_name(arg(2));
            say(&[b" does not exist in the sandbox\n"]);
            125
        }
    } else if is(verb, b"kill") && argc == 4 {
        kill(arg(2), number(arg(3)))
    } else if is(verb, b"give") && argc == 5 {
        give(arg(4), number(arg(2)), number(arg(3)))
    } else if is(verb, b"cat") && argc == 3 {
        cat(arg(2))
    } else if is(verb, b"probe") && argc == 3 {
        probe(arg(2))
    } else {
        125
    };
    exit(code)
}

fn exit(code: i32) -> ! {
    sys(nr::EXIT_GROUP, code as usize, 0, 0, 0, 0);
    loop {}
}

// ── init ────────────────────────────────────────────────────────────────────────────────────────

/// A terminal without a size confuses every full-screen program.
fn set_size(rows: usize, columns: usize) {
    const TIOCSWINSZ: usize = 0x5414;
    if rows > 0 && columns > 0 {
        let size = [rows as u16, columns as u16, 0, 0];
        sys(nr::IOCTL, 0, TIOCSWINSZ, size.as_ptr() as usize, 0, 0);
    }
}

fn init(argv: *const CStr, envp: *const CStr) -> i32 {
    let all = !0u64;
    let mut before = 0u64;
    sys(nr::RT_SIGPROCMASK, SIG_SETMASK, &raw const all as usize, &raw mut before as usize, 8, 0);
    let child = sys(nr::CLONE, SIGCHLD, 0, 0, 0, 0);
    if child < 0 {
        say(&[b"cowbox: error: cannot start a process in the sandbox\n"]);
        return 125;
    }
    if child == 0 {
        // Killed as a whole: an `exec` has no namespace that would take the command along.
        const PR_SET_PDEATHSIG: usize = 1;
        sys(nr::PRCTL, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        let none = 0u64;
        sys(nr::RT_SIGPROCMASK, SIG_SETMASK, &raw const none as usize, 0, 8, 0);
        exit(exec(argv, envp));
    }
    loop {
        let mut info = [0i32; 32];
        let signal = sys(nr::RT_SIGTIMEDWAIT, &raw const all as usize, info.as_mut_ptr() as usize, 0, 8, 0);
        if signal as usize == SIGCHLD {
            if let Some(code) = reap(child) {
                return code;
            }
        } else if signal > 0 && info[2] != SI_KERNEL {
            // What the terminal sends, it sends to the whole group: passing it on would double it.
            sys(nr::KILL, child as usize, signal as usize, 0, 0, 0);
        }
    }
}

/// Reaps whatever has ended; the exit code once it is `child` itself.
fn reap(child: isize) -> Option<i32> {
    loop {
        let mut status = 0i32;
        let pid = sys(nr::WAIT4, usize::MAX, &raw mut status as usize, 1, 0, 0);
        if pid == child {
            let signal = status & 0x7f;
            return Some(if signal == 0 { (status >> 8) & 0xff } else { 128 + signal });
        }
        if pid <= 0 && pid != -EINTR {
            return None;
        }
    }
}

/// `execvp`: 127 not found, 126 found and not executable. Returns only on failure.
fn exec(argv: *const CStr, envp: *const CStr) -> i32 {
    reset_signals();
    // SAFETY: the caller guarantees at least one argument.
    let name = unsafe { *argv };
    let mut error = ENOENT;
    if len(name) > 0 && contains(name, b'/') {
        error = -run(name, argv, envp);
    } else if len(name) > 0 {
        let path = lookup(envp, b"PATH=").unwrap_or(c"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".as_ptr().cast());
        let mut rest = path;
        let mut buffer = [0u8; 4097];
        loop {
            let dir = until(rest, b':');
            if let Some(file) = join(&mut buffer, rest, dir, name) {
                let tried = -run(file, argv, envp);
                // Found but forbidden beats not found, as in a shell.
                if tried != ENOENT && tried != ENOTDIR && error == ENOENT {
                    error = tried;
                }
            }
            // SAFETY: `dir` bytes were read before the end of the string.
            rest = unsafe { rest.add(dir) };
            if byte(rest) == 0 {
                break;
            }
            // SAFETY: the byte here is the colon.
            rest = unsafe { rest.add(1) };
        }
    }
    let (code, why): (i32, &[u8]) = match error {
        ENOENT | ENOTDIR => (127, b"not found"),
        EACCES => (126, b"not executable"),
        _ => (126, b"cannot be executed"),
    };
    say(&[b"cowbox: error: "]);
    say_name(name);
    say(&[b": ", why, b" in the sandbox\n"]);
    code
}

/// One `execve`; a file without a known format is a shell script, as for every `execvp`.
fn run(file: CStr, argv: *const CStr, envp: *const CStr) -> isize {
    let error = sys(nr::EXECVE, file as usize, argv as usize, envp as usize, 0, 0);
    if error == -ENOEXEC {
        let sh: CStr = c"/bin/sh".as_ptr().cast();
        let mut list: [CStr; 512] = [ptr::null(); 512];
        list[0] = sh;
        list[1] = file;
        for i in 1..510 {
            // SAFETY: stops at the NULL that ends argv.
            let arg = unsafe { *argv.add(i) };
            list[i + 1] = arg;
            if arg.is_null() {
                break;
            }
        }
        sys(nr::EXECVE, sh as usize, list.as_ptr() as usize, envp as usize, 0, 0);
        return error;
    }
    // A file that is there but whose interpreter is not gives ENOENT: it was found all the same.
    if error == -ENOENT && open(AT_FDCWD, file, 0) >= 0 {
        return -EACCES;
    }
    error
}

/// Engines may hand over ignored signals; a command expects the defaults.
fn reset_signals() {
    let default = [0usize; 4];
    for signal in 1..32usize {
        if signal != SIGKILL && signal != 19 {
            sys(nr::RT_SIGACTION, signal, default.as_ptr() as usize, 0, 8, 0);
        }
    }
}

// ── kill ────────────────────────────────────────────────────────────────────────────────────────

/// Looks for the token in the command lines below `/proc`.
fn kill(token: CStr, signal: usize) -> i32 {
    let proc = open(AT_FDCWD, c"/proc".as_ptr().cast(), nr::O_DIRECTORY);
    let mut found = 1;
    if proc < 0 {
        return found;
    }
    let mut buffer = [0u8; 8192];
    loop {
        let got = sys(nr::GETDENTS64, proc as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0);
        if got <= 0 {
            return found;
        }
        let mut at = 0usize;
        while at < got as usize {
            let size = usize::from(buffer[at + 16]) | usize::from(buffer[at + 17]) << 8;
            let entry: CStr = &raw const buffer[at + 19];
            if byte(entry).is_ascii_digit() && has_token(proc as usize, entry, token) {
                found = sys(nr::KILL, number(entry), signal, 0, 0, 0) as i32;
            }
            at += size;
        }
    }
}

/// Whether the sixth word of that process is the token, and the second is `init`.
fn has_token(proc: usize, pid: CStr, token: CStr) -> bool {
    let mut path = [0u8; 4097];
    let Some(path) = join(&mut path, pid, len(pid), c"cmdline".as_ptr().cast()) else { return false };
    let file = open(proc, path, 0);
    if file < 0 {
        return false;
    }
    let mut line = [0u8; 4096];
    let got = sys(nr::READ, file as usize, line.as_mut_ptr() as usize, line.len() - 1, 0, 0);
    sys(nr::CLOSE, file as usize, 0, 0, 0, 0);
    let (mut at, mut word) = (0usize, 0usize);
    while (at as isize) < got {
        let start: CStr = &raw const line[at];
        let wrong = word == 1 && !is(start, b"init");
        if wrong || word == 5 {
            return !wrong && same(start, token);
        }
        at += len(start) + 1;
        word += 1;
    }
    false
}

// ── give ────────────────────────────────────────────────────────────────────────────────────────

/// How deep a tree may be; each level costs eight bytes.
const DEEPEST: usize = 1 << 17;

/// Where we were in each directory above.
static mut PLACES: [u64; DEEPEST] = [0; DEEPEST];

/// Walks down and back up through `..`, with one descriptor however deep it goes. Nobody moves
/// anything meanwhile: the session has stopped.
fn give(root: CStr, uid: usize, gid: usize) -> i32 {
    let mut failed = 0;
    let mut chown = |at: usize, name: CStr| {
        failed |= i32::from(sys(nr::FCHOWNAT, at, name as usize, uid, gid, AT_SYMLINK_NOFOLLOW) != 0);
    };
    chown(AT_FDCWD, root);
    let mut dir = open(AT_FDCWD, root, nr::O_DIRECTORY | nr::O_NOFOLLOW);
    let mut depth = 0;
    let mut buffer = [0u8; 8192];
    while dir >= 0 {
        let mut below = -1;
        let got = sys(nr::GETDENTS64, dir as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0);
        let mut at = 0usize;
        while (at as isize) < got && below < 0 {
            let size = usize::from(buffer[at + 16]) | usize::from(buffer[at + 17]) << 8;
            let entry: CStr = &raw const buffer[at + 19];
            if !is(entry, b".") && !is(entry, b"..") {
                chown(dir as usize, entry);
                below = open(dir as usize, entry, nr::O_DIRECTORY | nr::O_NOFOLLOW);
            }
            if below >= 0 {
                let mut next = [0u8; 8];
                next.copy_from_slice(&buffer[at + 8..at + 16]);
                // SAFETY: one thread, and `depth` is checked below.
                unsafe { PLACES[depth] = u64::from_le_bytes(next) };
            }
            at += size;
        }
        if below >= 0 {
            depth += 1;
            if depth == DEEPEST {
                return 1;
            }
            sys(nr::CLOSE, dir as usize, 0, 0, 0, 0);
            dir = below;
        } else if got <= 0 {
            if depth == 0 {
                break;
            }
            depth -= 1;
            let up = open(dir as usize, c"..".as_ptr().cast(), nr::O_DIRECTORY);
            sys(nr::CLOSE, dir as usize, 0, 0, 0, 0);
            dir = up;
            // SAFETY: one thread, and this level was written on the way down.
            let place = unsafe { PLACES[depth] };
            sys(nr::LSEEK, dir as usize, place as usize, 0, 0, 0);
        }
    }
    failed | i32::from(dir < 0)
}

// ── cat ─────────────────────────────────────────────────────────────────────────────────────────

fn cat(file: CStr) -> i32 {
    let file = open(AT_FDCWD, file, 0);
    if file < 0 {
        return 1;
    }
    let mut buffer = [0u8; 8192];
    loop {
        let got = sys(nr::READ, file as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0);
        if got <= 0 {
            return i32::from(got < 0);
        }
        let mut at = 0usize;
        while at < got as usize {
            let put = sys(nr::WRITE, 1, buffer.as_ptr() as usize + at, got as usize - at, 0, 0);
            if put <= 0 {
                return 1;
            }
            at += put as usize;
        }
    }
}

// ── probe ───────────────────────────────────────────────────────────────────────────────────────

fn probe(dir: CStr) -> i32 {
    let dir = open(AT_FDCWD, dir, nr::O_DIRECTORY);
    if dir < 0 {
        return 10;
    }
    let lower = open(dir as usize, c"lower".as_ptr().cast(), 0);
    let mut first = [0u8; 1];
    if lower < 0 || sys(nr::READ, lower as usize, first.as_mut_ptr() as usize, 1, 0, 0) != 1 {
        return 11;
    }
    let (create, mode) = (0o101, 0o644);
    let file = sys(nr::OPENAT, dir as usize, c"probe".as_ptr() as usize, create | O_CLOEXEC, mode, 0);
    if file < 0 || sys(nr::WRITE, file as usize, b"x".as_ptr() as usize, 1, 0, 0) != 1 {
        return 12;
    }
    if sys(nr::UNLINKAT, dir as usize, c"lower".as_ptr() as usize, 0, 0, 0) != 0 {
        return 13;
    }
    0
}

// ── strings ─────────────────────────────────────────────────────────────────────────────────────

fn open(at: usize, name: CStr, flags: usize) -> isize {
    sys(nr::OPENAT, at, name as usize, flags | O_CLOEXEC, 0, 0)
}

fn byte(s: CStr) -> u8 {
    // SAFETY: callers never go past the terminating NUL.
    unsafe { *s }
}

fn until(s: CStr, end: u8) -> usize {
    let mut n = 0;
    // SAFETY: stops at the terminating NUL.
    while unsafe { *s.add(n) } != 0 && unsafe { *s.add(n) } != end {
        n += 1;
    }
    n
}

fn len(s: CStr) -> usize {
    until(s, 0)
}

fn contains(s: CStr, c: u8) -> bool {
    until(s, c) != len(s)
}

fn is(s: CStr, text: &[u8]) -> bool {
    !s.is_null() && len(s) == text.len() && starts(s, text)
}

fn same(a: CStr, b: CStr) -> bool {
    let n = len(a);
    // SAFETY: both strings have n bytes, as was just measured.
    n == len(b) && (0..n).all(|i| unsafe { *a.add(i) == *b.add(i) })
}

fn starts(s: CStr, text: &[u8]) -> bool {
    // SAFETY: a NUL in `s` differs from every byte of `text`, so the walk stops there.
    text.iter().enumerate().all(|(i, c)| unsafe { *s.add(i) } == *c)
}

fn lookup(envp: *const CStr, key: &[u8]) -> Option<CStr> {
    let mut i = 0;
    loop {
        // SAFETY: stops at the NULL that ends envp.
        let entry = unsafe { *envp.add(i) };
        if entry.is_null() {
            return None;
        }
        if starts(entry, key) {
            // SAFETY: the entry is at least as long as its key.
            return Some(unsafe { entry.add(key.len()) });
        }
        i += 1;
    }
}

fn join(buffer: &mut [u8; 4097], dir: CStr, dir_len: usize, name: CStr) -> Option<CStr> {
    let name_len = len(name);
    if dir_len + name_len + 3 > buffer.len() {
        return None;
    }
    let mut at = 0;
    let mut push = |c: u8| {
        buffer[at] = c;
        at += 1;
    };
    if dir_len == 0 {
        push(b'.');
    }
    // SAFETY: both lengths were measured on these strings.
    (0..dir_len).for_each(|i| push(unsafe { *dir.add(i) }));
    push(b'/');
    // SAFETY: as above.
    (0..name_len).for_each(|i| push(unsafe { *name.add(i) }));
    push(0);
    Some(buffer.as_ptr())
}

fn number(s: CStr) -> usize {
    let mut value = 0usize;
    // SAFETY: stays below the length.
    (0..len(s)).for_each(|i| value = value * 10 + usize::from(unsafe { *s.add(i) } - b'0'));
    value
}

fn say(parts: &[&[u8]]) {
    for part in parts {
        sys(nr::WRITE, 2, part.as_ptr() as usize, part.len(), 0, 0);
    }
}

/// The name may hold anything; only printable ASCII reaches the terminal.
fn say_name(name: CStr) {
    for i in 0..len(name).min(200) {
        // SAFETY: stays below the length.
        let c = unsafe { *name.add(i) };
        let shown = [if (0x20..0x7f).contains(&c) { c } else { b'?' }];
        say(&[&shown]);
    }
}

// ── what the compiler expects to find in a libc ─────────────────────────────────────────────────

#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, value: i32, n: usize) -> *mut u8 {
    for i in 0..n {
        // SAFETY: the caller owns n bytes; volatile keeps this loop from becoming a call of itself.
        unsafe { ptr::write_volatile(to.add(i), value as u8) };
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
    for i in 0..n {
        // SAFETY: the caller owns n bytes on both sides; volatile as in memset.
        unsafe { ptr::write_volatile(to.add(i), *from.add(i)) };
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    for i in 0..n {
        // SAFETY: the caller owns n bytes on both sides.
        let (x, y) = unsafe { (ptr::read_volatile(a.add(i)), ptr::read_volatile(b.add(i))) };
        if x != y {
            return i32::from(x) - i32::from(y);
        }
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn strlen(s: *const u8) -> usize {
    let mut n = 0;
    // SAFETY: the caller's string ends with NUL; volatile as in memset.
    while unsafe { ptr::read_volatile(s.add(n)) } != 0 {
        n += 1;
    }
    n
}

/// Referenced by the precompiled `core`; never called, for panics end the process.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    exit(125)
}

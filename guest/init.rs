//! `guest init`: pid 1 of a container, or of one command of `exec`.

use core::ptr;

use crate::sys::{AT_FDCWD, EACCES, EINTR, ENOENT, ENOEXEC, ENOTDIR, SIGCHLD, SIGKILL, exit, nr, open, sys};
use crate::text::{CStr, byte, contains, join, len, lookup, say, say_name, until};

const SIG_SETMASK: usize = 2;
const SI_KERNEL: i32 = 0x80;

/// A terminal without a size confuses every full-screen program.
pub fn set_size(rows: usize, columns: usize) {
    const TIOCSWINSZ: usize = 0x5414;
    if rows > 0 && columns > 0 {
        let size = [rows as u16, columns as u16, 0, 0];
        sys(nr::IOCTL, 0, TIOCSWINSZ, size.as_ptr() as usize, 0, 0);
    }
}

pub fn init(argv: *const CStr, envp: *const CStr) -> i32 {
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

/// Waits for a signal that never comes; any other ends it by default.
pub fn hold() -> ! {
    let none = 0u64;
    loop {
        sys(nr::RT_SIGTIMEDWAIT, &raw const none as usize, 0, 0, 8, 0);
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
        let path = lookup(envp, b"PATH=")
            .unwrap_or(c"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".as_ptr().cast());
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

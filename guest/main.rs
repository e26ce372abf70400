//! The static helper that cowbox mounts read-only into containers at `/.cowbox/guest`.
//!
//! - `guest init DIR ROWS COLUMNS TOKEN CMD ARG…`: pid 1. Starts CMD in DIR on a terminal of that size (0:
//!   leave it), passes signals on, reaps orphans, exits as CMD did. Engines' own inits lose the
//!   difference between "not found" (127) and "not executable" (126), and engines themselves create
//!   a missing DIR, or start with a terminal of no size.
//! - `guest mode MODE DIR …`: gives DIR that mode (a decimal number), then goes on with the next verb. podman gives
//!   the root of a volume the mode of the image's directory under it.
//! - `guest tell WORD …`: says WORD, the names of the network interfaces and the limits on stderr, then goes on with
//!   the next verb. What is said before the command runs, the command did not say.
//! - `guest kill TOKEN SIGNAL`: sends a signal to the `guest init` with that token: no engine passes
//!   signals on to a command of `exec`.
//! - `guest give UID GID DIR`: hands every entry below DIR to UID:GID without following a link, so
//!   that a docker user can read and delete what root wrote in the sandbox.
//! - `guest hold`: does nothing until it is ended: keeps a sandbox alive while others work in it.
//! - `guest cat FILE`: prints a file of the image, which need not have a `cat`.
//! - `guest probe DIR`: for `doctor`: reads `DIR/lower`, writes `DIR/probe`, removes `DIR/lower`,
//!   replaces the directory `DIR/replaced` by a new one.
//!
//! No libc and no std: it has to run in an image that holds nothing at all.

#![no_std]
#![no_main]

mod files;
mod give;
mod init;
mod kill;
mod no_libc;
mod sys;
mod tell;
mod text;

use files::{cat, probe};
use give::give;
use init::{init, set_size};
use kill::kill;
use sys::{AT_FDCWD, exit, nr, sys};
use tell::tell;
use text::{CStr, is, number, say, say_name};

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".globl _start", "_start:", "xor ebp, ebp", "mov rdi, rsp", "and rsp, -16", "call {main}", "ud2",
    main = sym start
);

#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(".globl _start", "_start:", "mov x29, #0", "mov x0, sp", "bl {main}", "brk #1", main = sym start);

extern "C" fn start(stack: *const usize) -> ! {
    // SAFETY: the kernel puts argc, argv…, NULL, envp…, NULL on the stack of a new process.
    let (argc, argv, envp) = unsafe {
        let argc = *stack;
        (argc, stack.add(1).cast::<CStr>(), stack.add(argc + 2).cast::<CStr>())
    };
    let (mut argc, mut argv) = (argc, argv);
    // SAFETY: argv has at least four entries, and then the terminating NULL.
    while argc > 4 && is(unsafe { *argv.add(1) }, b"mode") {
        // SAFETY: as above.
        let (mode, dir) = unsafe { (number(*argv.add(2)), *argv.add(3)) };
        if sys(nr::FCHMODAT, AT_FDCWD, dir as usize, mode as usize, 0, 0) != 0 {
            say(&[b"cowbox: error: the looks of "]);
            say_name(dir);
            say(&[b" cannot be restored in the sandbox\n"]);
            exit(125)
        }
        argc -= 3;
        // SAFETY: three entries less are left, as was counted.
        argv = unsafe { argv.add(3) };
    }
    // SAFETY: argv has at least three entries, and then the terminating NULL.
    if argc > 3 && is(unsafe { *argv.add(1) }, b"tell") {
        // SAFETY: as above.
        tell(unsafe { *argv.add(2) });
        argc -= 2;
        // SAFETY: two entries less are left, as was counted.
        argv = unsafe { argv.add(2) };
    }
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
    } else if is(verb, b"hold") && argc == 2 {
        init::hold()
    } else if is(verb, b"cat") && argc == 3 {
        cat(arg(2))
    } else if is(verb, b"probe") && argc == 3 {
        probe(arg(2))
    } else {
        125
    };
    exit(code)
}

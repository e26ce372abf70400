//! `guest kill`: a signal for the command of an `exec`.

use crate::sys::{AT_FDCWD, nr, open, sys};
use crate::text::{CStr, byte, is, join, len, number, same};

/// Looks for the token in the command lines below `/proc`.
pub fn kill(token: CStr, signal: usize) -> i32 {
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

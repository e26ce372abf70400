//! `guest cat` and `guest probe`.

use crate::sys::{AT_FDCWD, AT_REMOVEDIR, O_CLOEXEC, nr, open, sys};
use crate::text::CStr;

pub fn cat(file: CStr) -> i32 {
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

pub fn probe(dir: CStr) -> i32 {
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
    let replaced = c"replaced".as_ptr() as usize;
    if sys(nr::UNLINKAT, dir as usize, replaced, AT_REMOVEDIR, 0, 0) != 0
        || sys(nr::MKDIRAT, dir as usize, replaced, 0o755, 0, 0) != 0
    {
        return 14;
    }
    0
}

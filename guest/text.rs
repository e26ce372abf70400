//! C strings, and words for a person.

use crate::sys::{nr, sys};

/// A C string of the process arguments or environment.
pub type CStr = *const u8;

pub fn byte(s: CStr) -> u8 {
    // SAFETY: callers never go past the terminating NUL.
    unsafe { *s }
}

pub fn until(s: CStr, end: u8) -> usize {
    let mut n = 0;
    // SAFETY: stops at the terminating NUL.
    while unsafe { *s.add(n) } != 0 && unsafe { *s.add(n) } != end {
        n += 1;
    }
    n
}

pub fn len(s: CStr) -> usize {
    until(s, 0)
}

pub fn contains(s: CStr, c: u8) -> bool {
    until(s, c) != len(s)
}

pub fn is(s: CStr, text: &[u8]) -> bool {
    !s.is_null() && len(s) == text.len() && starts(s, text)
}

pub fn same(a: CStr, b: CStr) -> bool {
    let n = len(a);
    // SAFETY: both strings have n bytes, as was just measured.
    n == len(b) && (0..n).all(|i| unsafe { *a.add(i) == *b.add(i) })
}

fn starts(s: CStr, text: &[u8]) -> bool {
    // SAFETY: a NUL in `s` differs from every byte of `text`, so the walk stops there.
    text.iter().enumerate().all(|(i, c)| unsafe { *s.add(i) } == *c)
}

pub fn lookup(envp: *const CStr, key: &[u8]) -> Option<CStr> {
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

pub fn join(buffer: &mut [u8; 4097], dir: CStr, dir_len: usize, name: CStr) -> Option<CStr> {
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

pub fn number(s: CStr) -> usize {
    let mut value = 0usize;
    // SAFETY: stays below the length.
    (0..len(s)).for_each(|i| value = value * 10 + usize::from(unsafe { *s.add(i) } - b'0'));
    value
}

pub fn say(parts: &[&[u8]]) {
    for part in parts {
        sys(nr::WRITE, 2, part.as_ptr() as usize, part.len(), 0, 0);
    }
}

/// The name may hold anything; only printable ASCII reaches the terminal.
pub fn say_name(name: CStr) {
    for i in 0..len(name).min(200) {
        // SAFETY: stays below the length.
        let c = unsafe { *name.add(i) };
        let shown = [if (0x20..0x7f).contains(&c) { c } else { b'?' }];
        say(&[&shown]);
    }
}

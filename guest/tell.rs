//! `guest tell`: which network and which limits there are, before the command can say anything.

use crate::sys::{AT_FDCWD, nr, open, sys};
use crate::text::{CStr, len};

/// Long enough for any container's list.
const MOST: usize = 4096;

/// The limits, each with where its container finds it: in the one hierarchy, else in that of its own controller.
const LIMITS: [(&[u8], &core::ffi::CStr, &core::ffi::CStr); 3] = [
    (b" memory=", c"/sys/fs/cgroup/memory.max", c"/sys/fs/cgroup/memory/memory.limit_in_bytes"),
    (b" pids=", c"/sys/fs/cgroup/pids.max", c"/sys/fs/cgroup/pids/pids.max"),
    (b" cpus=", c"/sys/fs/cgroup/cpu.max", c"/sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
];

/// One line on stderr: the word, then the names of the network interfaces, `?` if they cannot be read; then `;` and the
/// limits that can be.
pub fn tell(word: CStr) {
    let mut line = Line { text: [0; MOST], length: 0 };
    line.add(b"cowbox tell ");
    // SAFETY: the length was just measured.
    (0..len(word).min(100)).for_each(|i| line.add(&[unsafe { *word.add(i) }]));
    let mut list = [0u8; MOST];
    match read(c"/proc/self/net/dev".as_ptr().cast(), &mut list) {
        Some(length) => names(&list[..length], &mut line),
        None => line.add(b" ?"),
    }
    line.add(b" ;");
    let is_root = is_root_of_hierarchy(&mut list);
    for (name, one, own) in LIMITS {
        let one = is_root.then(|| read(one.as_ptr().cast(), &mut list)).flatten();
        let found = one.or_else(|| read(own.as_ptr().cast(), &mut list));
        if let Some(length) = found.filter(|length| *length > 0) {
            line.add(name);
            // Of the processors there are two numbers.
            list[..length].trim_ascii().iter().for_each(|c| line.add(&[if *c == b' ' { b'/' } else { *c }]));
        }
    }
    line.end();
    // In one piece: nothing can come between.
    sys(nr::WRITE, 2, line.text.as_ptr() as usize, line.length, 0, 0);
}

/// Whether what is at the top of the one hierarchy is our own group, not that of whoever the engine runs in.
fn is_root_of_hierarchy(list: &mut [u8]) -> bool {
    let Some(length) = read(c"/proc/self/cgroup".as_ptr().cast(), list) else { return false };
    list[..length].split(|c| *c == b'\n').all(|row| !row.starts_with(b"0::") || row == b"0::/")
}

/// The kernel's table has two lines of heading, then `  name: numbers`.
fn names(list: &[u8], line: &mut Line) {
    for row in list.split(|c| *c == b'\n').skip(2) {
        let mut parts = row.split(|c| *c == b':');
        if let (Some(name), Some(_)) = (parts.next(), parts.next()) {
            line.add(b" ");
            line.add(name.trim_ascii());
        }
    }
}

fn read(path: CStr, into: &mut [u8]) -> Option<usize> {
    let file = open(AT_FDCWD, path, 0);
    if file < 0 {
        return None;
    }
    let mut length = 0;
    while length < into.len() {
        let (at, room) = (into.as_mut_ptr() as usize + length, into.len() - length);
        let got = sys(nr::READ, file as usize, at, room, 0, 0);
        if got <= 0 {
            break;
        }
        length += got as usize;
    }
    sys(nr::CLOSE, file as usize, 0, 0, 0, 0);
    Some(length)
}

/// A line that cannot grow past its end.
struct Line {
    text: [u8; MOST],
    length: usize,
}

impl Line {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.length + 1 < MOST {
                self.text[self.length] = *byte;
                self.length += 1;
            }
        }
    }

    /// There is always room for the last one.
    fn end(&mut self) {
        self.text[self.length] = b'\n';
        self.length += 1;
    }
}

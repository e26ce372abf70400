//! Mount points below a directory, from `/proc/self/mountinfo`.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Mount points strictly below `root`.
pub fn below(root: &Path) -> Result<Vec<PathBuf>> {
    let path = Path::new("/proc/self/mountinfo");
    // It has no size: without room to begin with it would be read in a dozen pieces.
    let mut text = Vec::with_capacity(16 << 10);
    File::open(path).and_then(|mut file| file.read_to_end(&mut text)).map_err(|e| Error::io("read", path, e))?;
    Ok(parse(&text).into_iter().filter(|at| at.starts_with(root) && at != root).collect())
}

/// Mount points in the order of the kernel. Field five, with octal escapes.
pub fn parse(text: &[u8]) -> Vec<PathBuf> {
    text.split(|b| *b == b'\n').filter_map(|line| line.split(|b| *b == b' ').nth(4)).map(unescape).collect()
}

fn unescape(field: &[u8]) -> PathBuf {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, tail)) = rest.split_first() {
        let octal = tail.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if *first == b'\\' => {
                out.push(byte);
                rest = &tail[3..];
            }
            _ => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    PathBuf::from(OsString::from_vec(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_names_are_read_as_bytes() {
        let text = b"27 1 254:0 / / rw - ext4 /dev/vda rw\n28 27 0:25 / /a\\040b\\134c\\012d rw - tmpfs t rw\n";
        assert_eq!(parse(text), [PathBuf::from("/"), PathBuf::from("/a b\\c\nd")]);
    }
}

//! The changed files as two directories, `a` and `b`, for tools that compare directories.
//!
//! They are for looking at: whatever could act on a terminal is escaped in names and contents, a link is a file that says
//! where it leads, and what is no text is told by its size and hash.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::changes::contents::{Content, Contents};
use crate::changes::{Change, Meta};
use crate::diff::lines::is_binary;
use crate::diff::{Failed, quote};
use crate::layer::entry::Kind;
use crate::ui::sanitize;

/// Longer names are shortened: escaped, they may be too long for any file system.
const LONGEST: usize = 200;

/// Names of the two directories: the host's side and the session's.
pub const NAMES: [&str; 2] = ["a", "b"];

/// Writes both sides of the changes below `dir`, which is ours alone and empty.
pub fn write<'a>(
    changes: impl IntoIterator<Item = &'a Change>,
    contents: &dyn Contents,
    dir: &Path,
) -> Result<(), Failed> {
    for name in NAMES {
        fs::create_dir(dir.join(name))?;
    }
    for change in changes {
        let has_content = |meta: &Meta| matches!(meta.kind, Kind::File | Kind::Symlink);
        if let Some(meta) = change.old.filter(has_content)
            && let Some(content) = contents.host_side(change)?
        {
            side(&dir.join(NAMES[0]), change.from.as_ref().unwrap_or(&change.path), meta, &content)?;
        }
        if let Some(meta) = change.new.filter(has_content)
            && let Some(content) = contents.session_side(change)?
        {
            side(&dir.join(NAMES[1]), &change.path, meta, &content)?;
        }
    }
    Ok(())
}

fn side(root: &Path, path: &Path, meta: Meta, content: &Content) -> io::Result<()> {
    let path = root.join(escaped(path));
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut file = io::BufWriter::new(File::create_new(path)?);
    match content.bytes() {
        Some(target) if meta.kind == Kind::Symlink => writeln!(file, "link to {}", sanitize::bytes(target))?,
        Some(bytes) if is_binary(bytes) => {
            let hash: String = Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect();
            writeln!(file, "binary, {} bytes, sha256 {hash}", bytes.len())?;
        }
        Some(bytes) => {
            for line in bytes.split_inclusive(|b| *b == b'\n') {
                let text = line.strip_suffix(b"\n");
                file.write_all(sanitize::line(text.unwrap_or(line)).as_bytes())?;
                file.write_all(if text.is_some() { b"\n" } else { b"" })?;
            }
        }
        None => writeln!(file, "too large to be shown, {} bytes", meta.size)?,
    }
    file.flush()
}

/// A path with names that cannot act, and no two the same.
fn escaped(path: &Path) -> PathBuf {
    path.components().map(|part| name(part.as_os_str().as_bytes())).collect()
}

fn name(bytes: &[u8]) -> String {
    let quoted = quote::name(bytes);
    // Only names with a quote or a backslash get any, and then every one is escaped.
    let name = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(&quoted);
    match name.char_indices().map(|(at, _)| at).find(|at| *at >= LONGEST - 20) {
        Some(cut) if name.len() > LONGEST => {
            let hash: String = Sha256::digest(bytes).iter().take(8).map(|b| format!("{b:02x}")).collect();
            format!("{}~{hash}", &name[..cut])
        }
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::double::{Node, Tree, Trees};

    #[test]
    fn both_sides_are_there_and_nothing_in_them_acts() {
        let file = |content: &str| Node::File(0o644, content.into());
        let trees = Trees {
            old: Tree::from([("sub/x".into(), file("one\n")), ("gone".into(), file("g"))]),
            new: Tree::from([
                ("sub/x".into(), file("two\x1b[31m\n")),
                ("e\u{1b}\u{202e}".into(), file("\0")),
                ("link".into(), Node::Link(b"/etc/pass\x1bwd".into())),
            ]),
        };
        let dir = tempfile::tempdir().unwrap();
        write(&trees.changes(&[]), &trees, dir.path()).unwrap();
        let read = |path: &str| fs::read_to_string(dir.path().join(path)).unwrap();
        assert_eq!((read("a/sub/x"), read("b/sub/x")), ("one\n".into(), "two\\u{1b}[31m\n".into()));
        assert_eq!(read("a/gone"), "g");
        assert_eq!(read("b/link"), "link to /etc/pass\\u{1b}wd\n");
        assert!(dir.path().join("b/link").symlink_metadata().unwrap().is_file());
        assert!(read("b/e\\033\\342\\200\\256").starts_with("binary, 1 bytes, sha256 6e34"));
        assert!(!dir.path().join("b/gone").exists() && !dir.path().join("a/link").exists());
    }

    #[test]
    fn no_two_names_become_the_same() {
        let long = [&[0x1b; 250][..], b"a"].concat();
        let other = [&[0x1b; 250][..], b"b"].concat();
        let names: [&[u8]; 7] = [b"\x1b", b"\\033", b"\"", b"\\\"", b"plain", &long, &other];
        let mut shown: Vec<String> = names.iter().map(|bytes| name(bytes)).collect();
        assert!(shown.iter().all(|name| name.len() <= LONGEST + 20 && !name.contains('/')));
        shown.sort();
        shown.dedup();
        assert_eq!(shown.len(), names.len());
    }
}

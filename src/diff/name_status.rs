//! `A  path`, one a line, renames as `R  old -> new`; with `-z` exact and ended by NUL.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::quote;
use crate::changes::Change;

/// One change a line, names quoted as git does it.
pub fn lines<'a>(changes: impl IntoIterator<Item = &'a Change>, out: &mut dyn Write) -> io::Result<()> {
    for change in changes {
        let letter = change.kind.letter();
        match &change.from {
            Some(from) => writeln!(out, "{letter}  {} -> {}", in_rename(from), in_rename(&change.path))?,
            None => writeln!(out, "{letter}  {}", quote::path(&change.path))?,
        }
    }
    Ok(())
}

/// Letter, NUL, name, NUL; a rename has its old name before the new one.
pub fn nul<'a>(changes: impl IntoIterator<Item = &'a Change>, out: &mut dyn Write) -> io::Result<()> {
    for change in changes {
        write!(out, "{}\0", change.kind.letter())?;
        for name in change.from.iter().chain([&change.path]) {
            out.write_all(name.as_os_str().as_bytes())?;
            out.write_all(b"\0")?;
        }
    }
    Ok(())
}

/// A name that holds the arrow itself is quoted, so that there is only one way to read the line.
fn in_rename(path: &Path) -> String {
    let name = path.as_os_str().as_bytes();
    if name.windows(4).any(|w| w == b" -> ") { quote::always(name) } else { quote::name(name) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::double::{added, renamed};

    #[test]
    fn a_rename_has_both_names() {
        let changes = [added("new", "x"), renamed("old", "a -> b")];
        let mut out = Vec::new();
        lines(&changes, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "A  new\nR  old -> \"a -> b\"\n");
        let mut out = Vec::new();
        nul(&changes, &mut out).unwrap();
        assert_eq!(out, b"A\0new\0R\0old\0a -> b\0");
    }
}

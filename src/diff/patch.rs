//! The change set as a patch that `git apply` takes. git knows files and links, and of a mode only
//! whether it may be executed: what cannot be said in a patch is counted.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::colour::Painter;
use super::lines::{LineDiff, is_binary};
use super::omitted::{Counter, Omitted};
use super::{Failed, Style, binary, hunks, quote};
use crate::changes::contents::{Content, Contents};
use crate::changes::{Change, ChangeKind, Meta};
use crate::layer::entry::Kind;

/// One side of an entry.
struct Side<'a> {
    path: &'a Path,
    mode: u32,
    content: Content,
}

/// Writes the changes one by one, sorted by path; holds one file's two sides at a time.
pub fn write<'a>(
    changes: impl IntoIterator<Item = &'a Change>,
    contents: &dyn Contents,
    style: Style,
    out: &mut dyn Write,
) -> Result<Omitted, Failed> {
    let mut patch = Patch { painter: Painter::new(out, style), counter: Counter::default() };
    for change in changes {
        patch.counter.count(change);
        patch.change(change, contents)?;
    }
    Ok(patch.counter.done())
}

struct Patch<'w> {
    painter: Painter<'w>,
    counter: Counter,
}

impl Patch<'_> {
    fn change(&mut self, change: &Change, contents: &dyn Contents) -> Result<(), Failed> {
        let old_path = change.from.as_deref().unwrap_or(&change.path);
        let (old_mode, new_mode) = (git_mode(change.old), git_mode(change.new));
        // Their content is the same by definition: it need not be read.
        if matches!(change.kind, ChangeKind::ModeChanged | ChangeKind::Renamed) && !change.merged {
            let side = |path, mode| Side { path, mode, content: Content::Large };
            if let (Some(old), Some(new)) = (old_mode, new_mode) {
                return self.looks(&side(old_path, old), &side(&change.path, new), true);
            }
        }
        let side = |path, mode: Option<u32>, content: Option<Content>| {
            mode.zip(content).map(|(mode, content)| Side { path, mode, content })
        };
        let old = match old_mode {
            Some(_) => side(old_path, old_mode, contents.host_side(change)?),
            None => None,
        };
        let new = match new_mode {
            Some(_) => side(&change.path, new_mode, contents.session_side(change)?),
            None => None,
        };
        match (old, new) {
            // A file and a link have nothing in common: the one goes, the other comes.
            (Some(old), Some(new)) if old.mode >> 12 != new.mode >> 12 => {
                self.entry(Some(&old), None)?;
                self.entry(None, Some(&new))
            }
            (Some(old), Some(new)) if old.content != Content::Large && old.content == new.content => {
                if (old.path, old.mode) == (new.path, new.mode)
                    && change.old.map(|m| m.mode) == change.new.map(|m| m.mode)
                {
                    self.counter.omitted.attributes += 1;
                }
                self.looks(&old, &new, true)
            }
            (None, None) => Ok(()),
            (old, new) => self.entry(old.as_ref(), new.as_ref()),
        }
    }

    /// An entry whose two sides differ in content.
    fn entry(&mut self, old: Option<&Side<'_>>, new: Option<&Side<'_>>) -> Result<(), Failed> {
        match (old, new) {
            (Some(old), Some(new)) => self.looks(old, new, false)?,
            (None, Some(new)) => {
                self.names(new.path, new.path)?;
                self.painter.header(&format!("new file mode {:o}", new.mode))?;
            }
            (Some(old), None) => {
                self.names(old.path, old.path)?;
                self.painter.header(&format!("deleted file mode {:o}", old.mode))?;
            }
            (None, None) => return Ok(()),
        }
        let label = |prefix, side: Option<&Side<'_>>| {
            side.map_or_else(|| "/dev/null".to_owned(), |side| quote::prefixed(prefix, side.path))
        };
        let (a, b) = (label("a/", old), label("b/", new));
        let (Some(before), Some(after)) = (bytes_of(old), bytes_of(new)) else {
            self.counter.omitted.large += 1;
            return Ok(self.painter.header(&format!("Binary files {a} and {b} differ"))?);
        };
        let id =
            |side: Option<&Side<'_>>, bytes| side.map_or_else(|| binary::NO_ID.to_owned(), |_| binary::blob_id(bytes));
        let (old_id, new_id) = (id(old, before), id(new, after));
        let mode = match (old, new) {
            (Some(old), Some(new)) if old.mode == new.mode => format!(" {:o}", new.mode),
            _ => String::new(),
        };
        let is_binary = is_binary(before) || is_binary(after);
        if is_binary && self.painter.style().escape {
            // Pages of base 85 would tell a person nothing, and hide what comes after.
            self.painter.header(&format!("index {}..{}{mode}", &old_id[..7], &new_id[..7]))?;
            return Ok(self.painter.header(&format!("Binary files {a} and {b} differ"))?);
        }
        if is_binary {
            self.painter.header(&format!("index {old_id}..{new_id}{mode}"))?;
            self.painter.header("GIT binary patch")?;
            binary::literal(after, self.painter.plain())?;
            return Ok(binary::literal(before, self.painter.plain())?);
        }
        self.painter.header(&format!("index {}..{}{mode}", &old_id[..7], &new_id[..7]))?;
        if before.is_empty() && after.is_empty() {
            return Ok(());
        }
        // A tab ends a name that has blanks: `patch` would stop at the first of them.
        let tab = |side: Option<&Side<'_>>| if side.is_some_and(|s| has_blank(s.path)) { "\t" } else { "" };
        self.painter.header(&format!("--- {a}{}", tab(old)))?;
        self.painter.header(&format!("+++ {b}{}", tab(new)))?;
        Ok(hunks::write(&LineDiff::of(before, after), &mut self.painter)?)
    }

    /// What changed about an entry besides its content. Nothing at all is written if nothing did and
    /// the content is the same.
    fn looks(&mut self, old: &Side<'_>, new: &Side<'_>, same_content: bool) -> Result<(), Failed> {
        if same_content && (old.path, old.mode) == (new.path, new.mode) {
            return Ok(());
        }
        self.names(old.path, new.path)?;
        if old.mode != new.mode {
            self.painter.header(&format!("old mode {:o}", old.mode))?;
            self.painter.header(&format!("new mode {:o}", new.mode))?;
        }
        if old.path != new.path {
            if same_content {
                self.painter.header("similarity index 100%")?;
            }
            self.painter.header(&format!("rename from {}", quote::path(old.path)))?;
            self.painter.header(&format!("rename to {}", quote::path(new.path)))?;
        }
        Ok(())
    }

    /// Where a name has blanks only quotes tell where it ends; git leaves them out, and `patch` fails then.
    fn names(&mut self, old: &Path, new: &Path) -> Result<(), Failed> {
        let quoted = |prefix: &str, path: &Path| match has_blank(path) {
            true => quote::always(&[prefix.as_bytes(), path.as_os_str().as_bytes()].concat()),
            false => quote::prefixed(prefix, path),
        };
        let line = format!("diff --git {} {}", quoted("a/", old), quoted("b/", new));
        Ok(self.painter.header(&line)?)
    }
}

/// What git records of a file or link; nothing for the rest.
fn git_mode(meta: Option<Meta>) -> Option<u32> {
    match meta?.kind {
        Kind::File if meta?.mode & 0o100 != 0 => Some(0o100_755),
        Kind::File => Some(0o100_644),
        Kind::Symlink => Some(0o120_000),
        _ => None,
    }
}

/// The bytes of a side, none if there is no such side; `None` if they are not held.
fn bytes_of<'a>(side: Option<&'a Side<'_>>) -> Option<&'a [u8]> {
    side.map_or(Some(&[]), |side| side.content.bytes())
}

fn has_blank(path: &Path) -> bool {
    path.as_os_str().as_bytes().contains(&b' ')
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::diff::double::{Node, Tree, Trees};

    fn file(mode: u32, content: &str) -> Node {
        Node::File(mode, content.into())
    }

    fn tree<const N: usize>(nodes: [(&str, Node); N]) -> Tree {
        nodes.into_iter().map(|(path, node)| (path.into(), node)).collect()
    }

    fn shown(trees: &Trees, renames: &[(PathBuf, PathBuf)], style: Style) -> (String, Omitted) {
        let mut out = Vec::new();
        let omitted = write(&trees.changes(renames), trees, style, &mut out).unwrap();
        (String::from_utf8(out).unwrap(), omitted)
    }

    #[test]
    fn it_is_what_git_writes() {
        let trees = Trees {
            old: tree([("a", file(0o644, "1\n2\n3")), ("gone", file(0o644, "")), ("old", file(0o644, "x"))]),
            new: tree([("a", file(0o755, "1\n2\n4\n")), ("link", Node::Link(b"a".into())), ("new", file(0o644, "x"))]),
        };
        let (text, omitted) = shown(&trees, &[("old".into(), "new".into())], Style::default());
        insta::assert_snapshot!(text, @r"
        diff --git a/a b/a
        old mode 100644
        new mode 100755
        index 5f5fbe7..e8a01cd
        --- a/a
        +++ b/a
        @@ -1,3 +1,3 @@
         1
         2
        -3
        \ No newline at end of file
        +4
        diff --git a/gone b/gone
        deleted file mode 100644
        index e69de29..0000000
        diff --git a/link b/link
        new file mode 120000
        index 0000000..2e65efe
        --- /dev/null
        +++ b/link
        @@ -0,0 +1 @@
        +a
        \ No newline at end of file
        diff --git a/old b/new
        similarity index 100%
        rename from old
        rename to new
        ");
        assert_eq!(omitted, Omitted::default());
    }

    #[test]
    fn what_git_has_no_words_for_is_counted() {
        let dir = Node::Dir;
        let trees = Trees {
            old: tree([
                ("bits", file(0o644, "x\n")),
                ("dir", dir(0o755)),
                ("gone", dir(0o755)),
                ("gone/x", file(0o644, "y")),
            ]),
            new: tree([
                ("bits", file(0o600, "x\n")),
                ("dir", dir(0o700)),
                ("full", dir(0o755)),
                ("full/empty", dir(0o755)),
                ("full/file", file(0o644, "")),
            ]),
        };
        let (text, omitted) = shown(&trees, &[], Style::default());
        assert!(!text.contains("bits") && !text.contains("dir"), "{text}");
        assert_eq!(omitted, Omitted { directories: 2, modes: 1, ..Omitted::default() });
        assert_eq!(omitted.to_string(), "2 directories, 1 change of permission bits");
    }

    #[test]
    fn nothing_acts_on_the_terminal_of_a_person() {
        let evil = "\x1b]0;x\x07\u{202e}\u{200b}\r";
        let trees = Trees {
            old: tree([("text", file(0o644, &format!("{evil}\n{evil}1 same same\n")))]),
            new: tree([
                ("binary", file(0o644, &format!("\0{evil}"))),
                ("link", Node::Link(evil.into())),
                (evil, file(0o644, "")),
                ("text", file(0o644, &format!("{evil}\n{evil}2 same same\n"))),
            ]),
        };
        for style in [Style::new(false, true), Style::new(true, true), Style::new(true, false)] {
            let (text, _) = shown(&trees, &[], style);
            let ours = text.replace("\x1b[m", "");
            let ours =
                ["1", "36", "31", "32", "7", "27"].iter().fold(ours, |text, n| text.replace(&format!("\x1b[{n}m"), ""));
            let bad = |c: char| c != '\n' && crate::ui::sanitize::is_dangerous(c);
            assert!(!ours.contains(bad), "{ours:?}");
            assert!(ours.contains("Binary files /dev/null and b/binary differ"));
        }
    }
}

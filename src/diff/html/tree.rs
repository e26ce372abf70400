//! The files as a tree. A folder that holds nothing but another folder shares its line.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::file::letter;
use super::{Entry, escape, page};

/// Folders inside of each other that are drawn as such; below, paths are written out. Browsers give up somewhere.
const DEEPEST: usize = 40;

/// Writes the tree of entries, which are sorted by path.
pub fn write(entries: &[Entry<'_>], out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"<nav aria-label=\"Files\">\n<ul>\n")?;
    level(entries, 0, 0, out)?;
    out.write_all(b"</ul>\n</nav>\n")
}

/// One folder: everything in it, whose paths share the first `above` parts.
fn level(entries: &[Entry<'_>], above: usize, depth: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut rest = entries;
    while let Some(first) = rest.first() {
        let name = part(first, above);
        let same = rest.iter().take_while(|entry| part(entry, above) == name).count();
        let (group, others) = rest.split_at(same);
        rest = others;
        let (files, inside): (&[Entry<'_>], &[Entry<'_>]) = match group.split_first() {
            _ if depth >= DEEPEST => (group, &[]),
            // A folder whose own mode changed, or one that was a file, comes before what is in it.
            Some((first, _)) if first.change.path.components().count() == above + 1 => group.split_at(1),
            _ => (&[], group),
        };
        files.iter().try_for_each(|entry| leaf(entry, above, out))?;
        if let (Some(first), Some(last)) = (inside.first(), inside.last()) {
            let shared = shared_folders(&first.change.path, &last.change.path).max(above + 1);
            let folder = escape::path(&between(&first.change.path, above, shared));
            writeln!(out, "<li><details open><summary>{folder}/</summary><ul>")?;
            level(inside, shared, depth + 1, out)?;
            out.write_all(b"</ul></details></li>\n")?;
        }
    }
    Ok(())
}

fn leaf(entry: &Entry<'_>, above: usize, out: &mut dyn Write) -> io::Result<()> {
    let path = &entry.change.path;
    let name = escape::path(&between(path, above, path.components().count()));
    write!(out, "<li><a href=\"#f{}\">", entry.number)?;
    letter(entry.change.kind, out)?;
    write!(out, " <span class=\"name\">{name}</span> ")?;
    if let Some(tier) = entry.tier() {
        write!(out, "<span class=\"flag {}\" title=\"look at this first\">!</span> ", page::class(tier))?;
    }
    out.write_all(b"<span class=\"n\">")?;
    page::counts(entry.details.insertions, entry.details.deletions, out)?;
    out.write_all(b"</span></a></li>\n")
}

fn part<'a>(entry: &Entry<'a>, at: usize) -> &'a OsStr {
    entry.change.path.components().nth(at).map_or(OsStr::from_bytes(b"."), |part| part.as_os_str())
}

/// How many folders both lie in. Sorted, all that is between the two lies there too.
fn shared_folders(a: &Path, b: &Path) -> usize {
    let shared = a.components().zip(b.components()).take_while(|(x, y)| x == y).count();
    let folders = |path: &Path| path.components().count().saturating_sub(1);
    shared.min(folders(a)).min(folders(b))
}

fn between(path: &Path, from: usize, to: usize) -> std::path::PathBuf {
    path.components().skip(from).take(to.saturating_sub(from)).collect()
}

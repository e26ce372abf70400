//! `--stat`: one line a file with a bar, as git draws it. What deserves a second look comes first.

use std::io::{self, Write};

use super::Style;
use super::colour::Painter;
use super::columns::{Columns, name};
use crate::changes::details::Details;
use crate::changes::risk::Tier;
use crate::changes::{Change, ChangeKind};
use crate::layer::entry::Kind;
use crate::ui::sanitize;

/// Width where there is no terminal.
pub const WIDTH: usize = 80;

/// How many changes are not listed, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Ignored by the host's git.
    pub ignored: usize,
    /// Inside a gitdir.
    pub vcs: usize,
}

/// One line.
struct Row<'a> {
    name: String,
    change: &'a Change,
    details: &'a Details,
}

/// Writes the table for a terminal of `width` columns. Directories that are new or gone are shown by
/// what is in them.
pub fn write(
    changes: &[(&Change, Details)],
    left_out: LeftOut,
    width: usize,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut rows: Vec<Row<'_>> = changes
        .iter()
        .filter(|(change, details)| !details.risks.is_empty() || is_listed(change))
        .map(|(change, details)| Row { name: name(change), change, details })
        .collect();
    // Stable: within one tier the order of the paths stays.
    rows.sort_by_key(|row| std::cmp::Reverse(row.tier()));
    let columns = Columns::of(
        rows.iter().map(|row| (row.name.as_str(), row.total())),
        rows.iter().any(|row| row.details.binary),
        width,
    );
    let mut painter = Painter::new(out, style);
    for row in &rows {
        row.write(&columns, &mut painter)?;
    }
    writeln!(out, " {}", summary(&rows))?;
    match left_out.to_string() {
        text if text.is_empty() => Ok(()),
        text => writeln!(out, " {text}"),
    }
}

impl std::fmt::Display for LeftOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = [(self.ignored, "ignored"), (self.vcs, "inside .git")];
        let said: Vec<String> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        if said.is_empty() { Ok(()) } else { write!(f, "not listed: {}", said.join(", ")) }
    }
}

/// Whether it has a line of its own: directories that are new or gone are shown by what is in them.
pub fn is_listed(change: &Change) -> bool {
    let dir = |meta: &crate::changes::Meta| meta.kind == Kind::Dir;
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => !(dir(old) && dir(new)) || old.mode != new.mode,
        (side, None) | (None, side) => !side.as_ref().is_some_and(dir),
    }
}

impl Row<'_> {
    fn tier(&self) -> Option<Tier> {
        self.details.risks.iter().map(|risk| risk.tier).max()
    }

    fn total(&self) -> u64 {
        self.details.insertions + self.details.deletions
    }

    /// What is said instead of a bar.
    fn note(&self) -> Option<String> {
        let (old, new) = (self.change.old, self.change.new);
        if let Some(special) = [new, old].into_iter().flatten().find(|meta| meta.kind.is_special()) {
            return Some(format!("special: {}", format!("{:?}", special.kind).to_lowercase()));
        }
        if let (ChangeKind::ModeChanged, Some(old), Some(new)) = (self.change.kind, old, new) {
            return Some(format!("mode change {:04o} -> {:04o}", old.mode, new.mode));
        }
        let size = |side: Option<crate::changes::Meta>| side.map_or(0, |meta| meta.size);
        match self.details.binary {
            true if self.change.kind == ChangeKind::Renamed => Some("Bin".to_owned()),
            true => Some(format!("Bin {} -> {} bytes", size(old), size(new))),
            false => None,
        }
    }

    fn write(&self, columns: &Columns, painter: &mut Painter<'_>) -> io::Result<()> {
        let (name, padding) = columns.fit(&self.name);
        write!(painter.plain(), " {name}{:padding$} | ", "")?;
        match self.note() {
            Some(note) => write!(painter.plain(), "{note:>width$}", width = columns.number)?,
            None => {
                let (plus, minus) = columns.bar(self.details.insertions, self.details.deletions);
                let blank = if self.total() > 0 { " " } else { "" };
                write!(painter.plain(), "{:>width$}{blank}", self.total(), width = columns.number)?;
                painter.painted("32", &"+".repeat(plus))?;
                painter.painted("31", &"-".repeat(minus))?;
            }
        }
        writeln!(painter.plain())?;
        for risk in &self.details.risks {
            let (label, code) = match risk.tier {
                Tier::Blocked => ("blocked", "1;31"),
                Tier::Consent => ("needs consent", "31"),
                Tier::Notice => ("notice", "33"),
            };
            painter.plain().write_all(b"   ")?;
            painter.painted(code, &format!("{label} [{}]", risk.code))?;
            writeln!(painter.plain(), " {}", sanitize::text(&risk.reason))?;
        }
        Ok(())
    }
}

fn summary(rows: &[Row<'_>]) -> String {
    let many = |n: u64, one: &str, more: &str| format!("{n} {}", if n == 1 { one } else { more });
    let insertions: u64 = rows.iter().map(|row| row.details.insertions).sum();
    let deletions: u64 = rows.iter().map(|row| row.details.deletions).sum();
    let mut text = many(rows.len() as u64, "file changed", "files changed");
    if rows.is_empty() {
        return text;
    }
    if insertions > 0 || deletions == 0 {
        text += &format!(", {}", many(insertions, "insertion(+)", "insertions(+)"));
    }
    if deletions > 0 || insertions == 0 {
        text += &format!(", {}", many(deletions, "deletion(-)", "deletions(-)"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::risk::Risk;
    use crate::diff::double::{Node, Trees, added, renamed};

    fn shown(changes: &[(&Change, Details)], left_out: LeftOut, style: Style) -> String {
        let mut out = Vec::new();
        write(changes, left_out, WIDTH, style, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn counted(insertions: u64, deletions: u64) -> Details {
        Details { insertions, deletions, ..Details::default() }
    }

    #[test]
    fn it_looks_like_that_of_git() {
        let (a, b) = (added("src/a.rs", ""), added("b \u{1b}", ""));
        let mut binary = added("logo.png", "");
        binary.new.as_mut().unwrap().size = 20;
        let moved = renamed("src/old/x.rs", "src/new/x.rs");
        let rows = [
            (&a, counted(5, 1)),
            (&b, counted(0, 0)),
            (&binary, Details { binary: true, ..Details::default() }),
            (&moved, counted(0, 0)),
        ];
        insta::assert_snapshot!(shown(&rows, LeftOut { ignored: 3, vcs: 1 }, Style::default()), @r#"
         src/a.rs              |   6 +++++-
         "b \033"              |   0
         logo.png              | Bin 0 -> 20 bytes
         src/{old => new}/x.rs |   0
         4 files changed, 5 insertions(+), 1 deletion(-)
         not listed: 3 ignored, 1 inside .git
        "#);
    }

    #[test]
    fn modes_are_told_and_directories_are_shown_by_what_is_in_them() {
        let node = |mode| Node::File(mode, Vec::new());
        let trees = Trees {
            old: [("sub".into(), Node::Dir(0o755)), ("x".into(), node(0o644))].into(),
            new: [("new".into(), Node::Dir(0o755)), ("sub".into(), Node::Dir(0o700)), ("x".into(), node(0o755))].into(),
        };
        let changes = trees.changes(&[]);
        let rows: Vec<_> = changes.iter().map(|c| (c, Details::default())).collect();
        insta::assert_snapshot!(shown(&rows, LeftOut::default(), Style::default()), @r"
         sub | mode change 0755 -> 0700
         x   | mode change 0644 -> 0755
         2 files changed, 0 insertions(+), 0 deletions(-)
        ");
    }

    #[test]
    fn what_deserves_a_look_comes_first_and_is_escaped() {
        let risk = |tier, reason: &str| vec![Risk { code: "test", tier, reason: reason.to_owned() }];
        let (a, b, c) = (added("a", ""), added("b", ""), added("c", ""));
        let rows = [
            (&a, counted(1, 0)),
            (&b, Details { risks: risk(Tier::Notice, "why\u{1b}[2J"), ..counted(2, 0) }),
            (&c, Details { risks: risk(Tier::Consent, "because"), ..counted(1, 0) }),
        ];
        insta::assert_snapshot!(shown(&rows, LeftOut::default(), Style::default()), @r"
         c | 1 +
           needs consent [test] because
         b | 2 ++
           notice [test] why\u{1b}[2J
         a | 1 +
         3 files changed, 4 insertions(+)
        ");
        assert!(shown(&rows, LeftOut::default(), Style::new(true, true)).contains("\x1b[32m++\x1b[m\n"));
    }
}

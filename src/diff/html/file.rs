//! One change: its name, why to look at it, what happened, its lines.

use std::io::Write;

use super::{Entry, escape, page, rows};
use crate::changes::ChangeKind;
use crate::changes::contents::Contents;
use crate::changes::risk::Tier;
use crate::diff::body::Body;
use crate::diff::lines::LineDiff;
use crate::diff::{Failed, facts};
use crate::layer::entry::Kind;

/// Writes it, unfolded if `open`.
pub fn write(entry: &Entry<'_>, open: bool, contents: &dyn Contents, out: &mut dyn Write) -> Result<(), Failed> {
    let (change, details) = (entry.change, entry.details);
    let open = if open { " open" } else { "" };
    write!(out, "<details class=\"file\" id=\"f{}\"{open}><summary>", entry.number)?;
    letter(change.kind, out)?;
    write!(out, " <span class=\"path\">{}</span> <span class=\"n\">", escape::path(&change.path))?;
    page::counts(details.insertions, details.deletions, out)?;
    out.write_all(b"</span></summary>\n")?;
    for risk in &details.risks {
        let words = match risk.tier {
            Tier::Blocked => "never applied",
            Tier::Consent => "needs consent",
            Tier::Notice => "notice",
        };
        let (class, reason) = (page::class(risk.tier), escape::text(&risk.reason));
        writeln!(out, "<p class=\"risk {class}\"><b>{words}</b> <code>{}</code> {reason}</p>", risk.code)?;
    }
    let facts: Vec<String> = facts::of(change).iter().map(escape::text).collect();
    if !facts.is_empty() {
        writeln!(out, "<p class=\"facts\">{}</p>", facts.join(" · "))?;
    }
    // The target of a link has no lines, so none without an end.
    let is_link = change.new.or(change.old).is_some_and(|meta| meta.kind == Kind::Symlink);
    match Body::of(change, contents)? {
        Body::Texts(pairs) => {
            for (old, new) in &pairs {
                rows::write(&LineDiff::of(old, new), !is_link, out)?;
            }
        }
        Body::Binary => writeln!(out, "<p class=\"facts\">{}</p>", escape::text(facts::binary(change)))?,
        Body::Nothing if change.kind == ChangeKind::Modified => {
            out.write_all(b"<p class=\"facts\">only attributes changed</p>\n")?;
        }
        Body::Nothing => {}
    }
    Ok(out.write_all(b"</details>\n")?)
}

/// The letter of a change, with its meaning for who asks.
pub fn letter(kind: ChangeKind, out: &mut dyn Write) -> std::io::Result<()> {
    let word = match kind {
        ChangeKind::Added => "added",
        ChangeKind::Modified => "modified",
        ChangeKind::ModeChanged => "mode changed",
        ChangeKind::Deleted => "deleted",
        ChangeKind::TypeChanged => "type changed",
        ChangeKind::Renamed => "renamed",
    };
    let letter = kind.letter();
    write!(out, "<abbr class=\"k {letter}\" title=\"{word}\">{letter}</abbr>")
}

//! How the rows look.

use console::truncate_str;

use super::items::{Amount, Item};
use super::text::Sign;
use super::tree::{Row, Tree};
use crate::changes::risk::Tier;
use crate::changes::{Change, Meta};
use crate::error::show;
use crate::layer::entry::Kind;
use crate::policy::limits::show_size;
use crate::ui::sanitize;

/// Of a longer line only the beginning is looked at: no screen is wider.
const LONGEST: usize = 2000;

/// What the keys do.
pub const KEYS: &str = "space choose · arrows move, fold · a all · enter apply · q back · ? help";

/// The same at length.
pub const HELP: &[&str] = &[
    "space        choose, or no longer",
    "up, k        one up            down, j      one down",
    "page up      a page up         page down    a page down",
    "home, g      to the top        end, G       to the end",
    "right, l     unfold            left, h      fold, or go to the folder",
    "a            choose all that is not flagged, or nothing",
    "enter        apply what is chosen; the rest stays in the session",
    "q, escape    go back, and apply nothing",
    "",
    "[x] chosen   [~] in part   [ ] not chosen   [-] cannot be applied   ! flagged, choose it by itself",
];

/// One row, cut to `columns`.
pub fn row(tree: &Tree<'_>, row: Row, is_current: bool, columns: usize, color: bool) -> String {
    let mark = if is_current { '>' } else { ' ' };
    let indent = "  ".repeat(tree.indent(row));
    let chosen = match tree.amount(row) {
        None => "   ",
        Some(Amount::Nothing) => "[ ]",
        Some(Amount::Some) => "[~]",
        Some(Amount::All) => "[x]",
        Some(Amount::Fixed) => "[-]",
    };
    let fold = match tree.is_open(row) {
        Some(true) => "v ",
        Some(false) => "> ",
        None => "",
    };
    let (text, code) = words(tree, row);
    let line = format!("{mark}{indent}{chosen} {fold}{text}");
    let line = truncate_str(&line, columns.saturating_sub(1), "");
    match (is_current, color && !code.is_empty()) {
        (true, _) => format!("\x1b[7m{line}\x1b[0m"),
        (false, true) => format!("\x1b[{code}m{line}\x1b[0m"),
        (false, false) => line.into_owned(),
    }
}

/// What a row says, and its colour.
fn words(tree: &Tree<'_>, row: Row) -> (String, &'static str) {
    match row {
        Row::Folder(node) => (format!("{}/", name(tree.folder(node))), "1"),
        Row::Item(_, item) => {
            let item = &tree.items.list[item];
            (item_words(item), if item.details.risks.is_empty() { "" } else { "33" })
        }
        Row::Mode(_, item) => {
            let change = tree.items.list[item].change;
            let mode = |meta: Option<Meta>| meta.map_or(0, |meta| meta.mode);
            (format!("mode {:04o} -> {:04o}", mode(change.old), mode(change.new)), "36")
        }
        Row::Hunk(_, item, hunk) => {
            let place = tree.items.list[item].text.as_ref().and_then(|text| text.hunks.get(hunk));
            (place.map_or(String::new(), |hunk| hunk.place.clone()), "36")
        }
        Row::Line(_, item, hunk, line) => {
            let text = tree.items.list[item].text.as_ref();
            let found = text.and_then(|text| Some((text, text.hunks.get(hunk)?.lines.get(line)?)));
            let Some((text, line)) = found else { return (String::new(), "") };
            let (sign, code) = match line.sign {
                Sign::Same => (' ', ""),
                Sign::Gone => ('-', "31"),
                Sign::New => ('+', "32"),
            };
            (format!("{sign}{}", line_words(text.line(line))), code)
        }
    }
}

/// A line of a file: escaped, without its newline, tabs as blanks.
fn line_words(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    sanitize::line(&line[..line.len().min(LONGEST)]).replace('\t', "    ")
}

/// `M main.rs  1.2k  +3 -1  ! build-entry: …`
fn item_words(item: &Item<'_>) -> String {
    let mut words = format!("{} {}", item.change.kind.letter(), name(&item.change.path));
    if let Some(from) = &item.change.from {
        words = format!("{words} (was {})", show(from));
    }
    words.push_str(&format!("  {}", amount_words(item)));
    if let Some(label) = label(item) {
        words.push_str(&format!("  {label}"));
    }
    words
}

/// Size and lines, or what it is if it has none.
pub fn amount_words(item: &Item<'_>) -> String {
    let Change { old, new, .. } = item.change;
    let details = &item.details;
    let what = match (old, new) {
        (_, Some(new)) if new.kind == Kind::File => show_size(new.size),
        (_, Some(new)) if new.kind == Kind::Symlink => "link".to_owned(),
        (_, Some(new)) if new.kind == Kind::Dir => "directory".to_owned(),
        (Some(old), None) if old.kind == Kind::Dir => "directory".to_owned(),
        (Some(old), None) => show_size(old.size),
        _ => "special file".to_owned(),
    };
    let mode = match (old, new) {
        (Some(old), Some(new)) if old.kind == new.kind && old.mode != new.mode && new.kind != Kind::Symlink => {
            format!(" mode {:04o} -> {:04o}", old.mode, new.mode)
        }
        _ => String::new(),
    };
    let lines = match (details.binary, details.insertions, details.deletions) {
        (true, ..) => " binary".to_owned(),
        (_, 0, 0) => String::new(),
        (_, plus, minus) => format!(" +{plus} -{minus}"),
    };
    format!("{what}{lines}{mode}")
}

/// Why it deserves a second look, or cannot be applied.
pub fn label(item: &Item<'_>) -> Option<String> {
    let mut risks: Vec<_> = item.details.risks.iter().collect();
    risks.sort_by_key(|risk| std::cmp::Reverse(risk.tier));
    let first = risks.first().map(|risk| {
        let more = if risks.len() > 1 { format!(" (and {} more)", risks.len() - 1) } else { String::new() };
        format!("! {}: {}{more}", risk.code, sanitize::text(&risk.reason))
    });
    match (item.fixed, first) {
        (Some(why), Some(first)) if item.details.risks.iter().any(|risk| risk.tier == Tier::Blocked) => {
            Some(format!("{first} ({why})"))
        }
        (Some(why), _) => Some(format!("! {why}")),
        (None, first) => first,
    }
}

/// The last part of a path, escaped.
fn name(path: &std::path::Path) -> String {
    path.file_name().map_or_else(|| show(path), |name| sanitize::bytes(name.as_encoded_bytes()))
}

//! Settings of one line each (`.npmrc`, `.gitmodules`, `.env`) as the same flat keys that documents have.

use super::doc::Unparsed;
use super::key::Key;
use super::keys::Keys;
use super::rule::Sides;

const LARGEST: usize = 1 << 20;

/// How the lines are read.
type Reader = fn(&str) -> Keys;

/// Both sides. What is not UTF-8 is replaced: keys that matter are ASCII.
pub(super) fn both(sides: &Sides<'_>, read: Reader) -> Result<(Keys, Keys), Unparsed> {
    let side = |bytes: Option<&[u8]>| {
        let bytes = bytes.unwrap_or_default();
        if bytes.len() > LARGEST { Err(Unparsed::Large) } else { Ok(read(&String::from_utf8_lossy(bytes))) }
    };
    Ok((side(sides.old).unwrap_or_default(), side(sides.new)?))
}

/// `key = value` below `[section "name"]`, as git and npm write them. Keys are in lower case, as git compares them.
pub(super) fn ini(text: &str) -> Keys {
    let mut keys = Keys::default();
    let mut section = String::new();
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let (name, after) = header(rest);
            section = name.trim().to_lowercase();
            // Git also takes a setting on the line of its header.
            line = after.trim();
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let key = key.trim().trim_end_matches("[]").to_lowercase();
        let key = if section.is_empty() { Key::of(&[&key]) } else { Key::of(&[&section, &key]) };
        keys.put(key, value.trim().to_owned());
    }
    keys
}

/// Splits after the bracket that closes a header; one in quotes does not.
fn header(text: &str) -> (&str, &str) {
    let mut quoted = false;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return (&text[..at], &text[at + 1..]),
            _ => {}
        }
    }
    (text, "")
}

/// Whether a shell that reads the file takes all of it for the value: after a blank, or a sign of the shell's, comes
/// a command. A comment may follow.
fn is_one_word(value: &str) -> bool {
    let rest = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => match value[1..].split_once(quote) {
            Some((_, rest)) => rest,
            // It goes on in the next line.
            None => return false,
        },
        _ => value,
    };
    let word = rest.find([' ', '\t']).map_or(rest, |end| &rest[..end]);
    let after = rest[word.len()..].trim_start();
    !word.contains([';', '&', '|', '<', '>', '(', ')', '"', '\'']) && (after.is_empty() || after.starts_with('#'))
}

/// `export KEY=value`. What is no assignment, or has a command in its value, is the key `line N`.
pub(super) fn env(text: &str) -> Keys {
    let mut keys = Keys::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let number = || Key::of(&[&format!("line {}", index + 1)]);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let assignment = line.strip_prefix("export ").unwrap_or(line).split_once('=');
        let plain = |key: &str| key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'));
        match assignment {
            Some((key, value)) if plain(key.trim()) => {
                if value.contains("$(") || value.contains('`') || !is_one_word(value.trim()) {
                    keys.put(number(), line.to_owned());
                }
                keys.put(Key::of(&[key.trim()]), value.trim().to_owned());
            }
            _ => keys.put(number(), line.to_owned()),
        }
    }
    keys
}

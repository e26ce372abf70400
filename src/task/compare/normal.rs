//! Output without what varies from run to run: times, durations, addresses, ids, names of temporary files. What counts
//! something stays: `3 passed` is not `2 passed`.

use super::{names, times};

/// What stands for a duration. Where it may be missing altogether, it is left out.
const DURATION: &str = "<duration>";
/// Marks before a test that has ended: how long it took is told only of slow ones.
const MARKS: [char; 8] = ['✓', '✔', '√', '✗', '✖', '✕', '✘', '×'];

/// A place in a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<'a> {
    /// What comes before it.
    pub before: &'a str,
    /// What follows.
    pub rest: &'a str,
}

/// Something that varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// How many bytes before it stay: the name of a value.
    pub keep: usize,
    /// How many bytes it has.
    pub size: usize,
    /// What stands for it.
    pub word: &'static str,
}

impl Found {
    pub(super) fn new(size: usize, word: &'static str) -> Self {
        Self { keep: 0, size, word }
    }

    pub(super) fn duration(size: usize) -> Self {
        Self::new(size, DURATION)
    }
}

/// The text with those replaced.
pub fn normalised(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.split_inclusive('\n').for_each(|line| out.push_str(&normal_line(line)));
    out
}

fn normal_line(line: &str) -> String {
    let line = &without_colours(line);
    let mut out = String::with_capacity(line.len());
    let (mut at, mut has_duration) = (0, false);
    while let Some(letter) = line[at..].chars().next() {
        let (before, rest) = line.split_at(at);
        let starts_a_word = !before.ends_with(is_word);
        let Some(found) = starts_a_word.then(|| find(At { before, rest })).flatten() else {
            out.push(letter);
            at += letter.len_utf8();
            continue;
        };
        out.push_str(&rest[..found.keep]);
        at += found.keep + found.size;
        if found.word == DURATION {
            has_duration = true;
            align(&mut out);
        } else if found.word == names::RUN {
            // Wherever it is kept.
            let path = names::path_start(&out);
            out.truncate(if out[path..].starts_with('/') { path } else { out.len() });
        }
        out.push_str(found.word);
    }
    if has_duration { without_padding(&out) } else { out }
}

/// What of the beginning varies.
fn find(at: At<'_>) -> Option<Found> {
    type Try = fn(At<'_>) -> Option<Found>;
    let tries: [Try; 15] = [
        names::temporary,
        names::address,
        names::run,
        names::id,
        names::build,
        names::prepared,
        names::port,
        names::thread,
        times::keyed,
        times::moment,
        times::written_date,
        times::clock,
        times::rate,
        times::duration,
        times::cached,
    ];
    tries.into_iter().find_map(|attempt| attempt(at))
}

/// Programs colour their output if they are told to, also where nobody sees it: that would hide where words begin.
fn without_colours(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| ('@'..='~').contains(&c));
        out.push_str(end.map_or("", |at| &part[at + 1..]));
    }
    out
}

/// Numbers are aligned by blanks before them, and `< 1 ms` is one of them.
fn align(out: &mut String) {
    let text = out.strip_suffix("< ").unwrap_or(out).trim_end_matches(' ');
    let blanks = usize::from(!text.is_empty() && out[text.len()..].starts_with(' '));
    out.truncate(text.len() + blanks);
}

/// A line with a duration, without what depends on how long that is, or on whether it is told.
fn without_padding(line: &str) -> String {
    let text = line.trim_end();
    let end = &line[text.len()..];
    let text = match text.strip_suffix(DURATION).filter(|_| text.trim_start().starts_with(MARKS)) {
        Some(text) => text,
        None => text.strip_suffix("(<duration>)").unwrap_or(text),
    };
    let mut out = String::with_capacity(line.len());
    for letter in text.trim_end().chars() {
        if !(letter == '=' && out.ends_with("==")) {
            out.push(letter);
        }
    }
    out + end
}

/// How many bytes at the beginning `fits` takes.
pub(super) fn span(text: &str, fits: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|b| fits(*b)).count()
}

pub(super) fn digits(text: &str) -> usize {
    span(text, |b| b.is_ascii_digit())
}

/// Whether a letter can be part of a word.
pub(super) fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Whether text goes on with the same word.
pub(super) fn goes_on(text: &str) -> bool {
    text.starts_with(is_word)
}

#[cfg(test)]
#[path = "normal_tests.rs"]
mod tests;

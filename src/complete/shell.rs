//! What differs between shells: how they split a line, and what they take for an answer.

use std::ffi::OsString;

use clap::ValueEnum;

use super::line::Line;
use super::{Answer, Kind};
use crate::ui::sanitize;

/// A shell that there is a script for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// bash, from 4.4 on
    Bash,
    /// zsh
    Zsh,
    /// fish, from 3.1 on
    Fish,
}

impl Shell {
    /// By its name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::from_str(name, false).ok()
    }

    /// The words as cowbox would get them. A name that is not text cannot be told from others; its line is given up.
    pub fn words(self, words: &[OsString]) -> Vec<String> {
        let words = words.iter().map(|word| word.to_string_lossy().into_owned());
        match self {
            Shell::Zsh => words.collect(),
            Shell::Fish => words.map(|word| unquote(&word)).collect(),
            Shell::Bash => joined(words.map(|word| unquote(&word))),
        }
    }

    /// The answer: what kind it is, then one candidate a line.
    pub fn write(self, answer: &Answer, line: &Line<'_>) -> String {
        let kind = match answer.kind {
            Kind::Words => "words",
            Kind::Paths => "paths",
            Kind::Files => "files",
            Kind::Dirs => "dirs",
            Kind::Command => "command",
        };
        let mut out = format!("{kind}\n");
        for candidate in &answer.candidates {
            // Names come from the sandbox: one that breaks the line, or hides something in it, is not offered.
            if candidate.value.chars().any(sanitize::is_dangerous) {
                continue;
            }
            let value = match self {
                // bash replaces only what stands after the last of its own word breaks.
                Shell::Bash => {
                    let start = line.current.rfind([':', '=']).map_or(0, |at| at + 1);
                    candidate.value.get(start..).unwrap_or_default().to_owned()
                }
                Shell::Zsh | Shell::Fish => format!("{}{}", line.option, candidate.value),
            };
            out.push_str(&format!("{value}\t{}\n", sanitize::text(&candidate.about)));
        }
        out
    }
}

/// bash takes words apart at `=` and `:`; what belongs together is put together again.
fn joined(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut open = false;
    for word in words {
        let is_break = matches!(word.as_str(), "=" | ":");
        let fits = out.len() > 1 && (word != "=" || out.last().is_some_and(|last| last.starts_with("--")));
        match out.last_mut() {
            Some(last) if fits && (open || is_break) => last.push_str(&word),
            _ => out.push(word),
        }
        open = is_break && fits;
    }
    out
}

/// Takes quotes and backslashes out, as a shell does; an open quote is fine.
fn unquote(word: &str) -> String {
    let mut out = String::new();
    let mut quote = None;
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None | Some('"'), '\\') => out.extend(chars.next()),
            (_, c) => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_bash_is_put_together_again() {
        let words = |words: &[&str]| Shell::Bash.words(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(words(&["cowbox", "run", "--engine", "=", "po"]), ["cowbox", "run", "--engine=po"]);
        assert_eq!(words(&["cowbox", "run", "--engine", "="]), ["cowbox", "run", "--engine="]);
        assert_eq!(words(&["cowbox", "diff", "--", "a", ":", "b"]), ["cowbox", "diff", "--", "a:b"]);
        assert_eq!(words(&["cowbox", "diff", "--", r"my\ fi"]), ["cowbox", "diff", "--", "my fi"]);
        assert_eq!(words(&["cowbox", "diff", "--", "'my fi"]), ["cowbox", "diff", "--", "my fi"]);
    }
}

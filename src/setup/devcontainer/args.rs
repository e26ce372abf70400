//! Raw arguments for an engine, taken apart so that each can be judged alone.
//!
//! What is passed on is put together again as one word (`--flag=value`): an argument that swallows
//! the next one would swallow one of ours.

use super::substitute::Values;
use crate::error::{Error, Result};
use crate::ui::sanitize;

/// One option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    /// Its place in the list.
    pub(super) place: usize,
    /// `--env`, `-e`; none for a word that is no option.
    pub(super) flag: Option<String>,
    pub(super) value: Option<String>,
    /// For a person and a consent: secrets stay tokens.
    pub(super) shown: String,
}

impl Argument {
    /// As one word.
    pub(super) fn word(&self) -> String {
        match (&self.flag, &self.value) {
            (Some(flag), Some(value)) => format!("{flag}={value}"),
            (flag, value) => flag.as_ref().or(value.as_ref()).cloned().unwrap_or_default(),
        }
    }
}

/// A word with its tokens replaced, and as a person may see it.
struct Word {
    text: String,
    shown: String,
}

/// Takes a list apart. `switches` are the options without a value; every other one has one.
pub(super) fn take_apart(key: &str, raw: &[String], switches: &[&str], values: &Values<'_>) -> Result<Vec<Argument>> {
    let word = |raw: &String| Ok(Word { text: values.text(raw)?, shown: values.shown(raw)? });
    let words = raw.iter().map(word).collect::<Result<Vec<Word>>>()?;
    let mut rest = words.iter().enumerate();
    let mut found = Vec::new();
    while let Some((place, word)) = rest.next() {
        let plain = Argument { place, flag: None, value: None, shown: word.shown.clone() };
        for option in options(&word.text, switches) {
            let argument = match option {
                Part::Plain => Argument { value: Some(word.text.clone()), ..plain.clone() },
                Part::Whole(flag, value) => Argument { flag: Some(flag), value, ..plain.clone() },
                Part::Open(flag) => {
                    let (_, next) = rest.next().ok_or_else(|| {
                        Error::new(format!("`{key}[{place}]`: `{}` has no value", sanitize::text(&word.shown)))
                    })?;
                    let shown = format!("{}={}", word.shown, next.shown);
                    Argument { flag: Some(flag), value: Some(next.text.clone()), shown, ..plain.clone() }
                }
            };
            found.push(argument);
        }
    }
    Ok(found)
}

enum Part {
    /// No option.
    Plain,
    /// An option with all that belongs to it.
    Whole(String, Option<String>),
    /// An option whose value is the next word.
    Open(String),
}

/// The options in one word.
fn options(word: &str, switches: &[&str]) -> Vec<Part> {
    if !word.starts_with('-') || word == "-" || word == "--" {
        return vec![Part::Plain];
    }
    if word.starts_with("--") {
        return vec![match word.split_once('=') {
            Some((flag, value)) => Part::Whole(flag.to_owned(), Some(value.to_owned())),
            None if switches.contains(&word) => Part::Whole(word.to_owned(), None),
            None => Part::Open(word.to_owned()),
        }];
    }
    // Short ones may be written together; the first that takes a value takes the rest.
    let mut found = Vec::new();
    for (at, letter) in word.char_indices().skip(1) {
        let flag = format!("-{letter}");
        let rest = &word[at + letter.len_utf8()..];
        if !rest.starts_with('=') && switches.contains(&flag.as_str()) {
            found.push(Part::Whole(flag, None));
            continue;
        }
        let value = rest.strip_prefix('=').unwrap_or(rest);
        found.push(if rest.is_empty() { Part::Open(flag) } else { Part::Whole(flag, Some(value.to_owned())) });
        break;
    }
    found
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    use super::*;

    fn words(raw: &[&str]) -> Result<Vec<String>> {
        let env = BTreeMap::new();
        let values = Values {
            env: &env,
            secrets: BTreeMap::from([("T".to_owned(), "s3cret".to_owned())]),
            local_folder: "/r".into(),
            container_folder: None,
            id: String::new(),
            withheld: RefCell::default(),
        };
        let raw: Vec<String> = raw.iter().map(|word| (*word).to_owned()).collect();
        let found = take_apart("runArgs", &raw, &["--init", "-i", "-t"], &values)?;
        assert!(found.iter().all(|argument| !argument.shown.contains("s3cret")));
        Ok(found.iter().map(Argument::word).collect())
    }

    #[test]
    fn both_spellings_are_the_same() {
        assert_eq!(words(&["--env", "A=B", "--init", "--env=A=B"]).unwrap(), ["--env=A=B", "--init", "--env=A=B"]);
        assert_eq!(words(&["-e", "A=B", "-eA=B", "-e=A=B"]).unwrap(), ["-e=A=B"; 3]);
        assert_eq!(words(&["-it", "-itv", "/a:/b"]).unwrap(), ["-i", "-t", "-i", "-t", "-v=/a:/b"]);
    }

    #[test]
    fn an_option_takes_what_follows_whatever_it_looks_like() {
        assert_eq!(words(&["--label", "--privileged", "x"]).unwrap(), ["--label=--privileged", "x"]);
        assert!(words(&["--label"]).unwrap_err().message().contains("`runArgs[0]`: `--label` has no value"));
        assert!(words(&["-v"]).is_err());
    }

    #[test]
    fn words_that_are_no_options_are_kept_apart() {
        assert_eq!(words(&["", "-", "--", "image"]).unwrap(), ["", "-", "--", "image"]);
    }

    #[test]
    fn secrets_are_passed_on_and_not_shown() {
        assert_eq!(
            words(&["--x=${env:T}", "-e", "A=${env:T}", "-vé${env:T}", "--${env:T}=1"]).unwrap(),
            ["--x=s3cret", "-e=A=s3cret", "-v=és3cret", "--s3cret=1"]
        );
    }
}

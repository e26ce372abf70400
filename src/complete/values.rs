//! The candidates for each place of a line.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Arg, ValueHint};

use super::line::{Line, Place};
use super::sessions::{self, Wanted};
use super::{Answer, Candidate, Kind, paths};
use crate::changes::risk::{CODES, Tier};
use crate::profile;
use crate::settings::{Config, Places};

/// A question.
pub struct Asked<'a> {
    /// The line.
    pub line: &'a Line<'a>,
    /// When the answer must be there.
    pub deadline: Instant,
}

impl Asked<'_> {
    /// Where the verb would work.
    pub fn directory(&self) -> Option<PathBuf> {
        let here = std::env::current_dir().ok()?;
        Some(here.join(self.line.value("directory").unwrap_or_default()))
    }
}

/// What can stand where the cursor is.
pub fn answer(asked: &Asked<'_>) -> Answer {
    let line = asked.line;
    let mut answer = match line.place {
        Place::Verb => words(verbs(line)),
        Place::Option => words(options(line)),
        Place::Value(arg) => of_arg(arg, asked),
        Place::Beyond => Answer::of(Kind::Files),
    };
    answer.candidates.retain(|candidate| candidate.value.starts_with(&line.current));
    answer
}

fn words(candidates: Vec<Candidate>) -> Answer {
    Answer { kind: Kind::Words, candidates }
}

fn candidate(value: impl Into<String>, about: impl ToString) -> Candidate {
    Candidate { value: value.into(), about: about.to_string() }
}

fn verbs(line: &Line<'_>) -> Vec<Candidate> {
    let shown = line.command.get_subcommands().filter(|verb| !verb.is_hide_set());
    shown.map(|verb| candidate(verb.get_name(), verb.get_about().cloned().unwrap_or_default())).collect()
}

fn options(line: &Line<'_>) -> Vec<Candidate> {
    let free = line.command.get_arguments().filter(|arg| !arg.is_hide_set() && line.is_free(arg));
    let name = |arg: &Arg| match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => Some(format!("--{long}")),
        (None, Some(short)) => Some(format!("-{short}")),
        (None, None) => None,
    };
    free.filter_map(|arg| Some(candidate(name(arg)?, arg.get_help().cloned().unwrap_or_default()))).collect()
}

fn of_arg(arg: &Arg, asked: &Asked<'_>) -> Answer {
    match (arg.get_id().as_str(), asked.line.command.get_name()) {
        ("session", "exec" | "shell" | "stop") => words(sessions::names(asked, Wanted::Live)),
        ("session", _) => words(sessions::names(asked, Wanted::Any)),
        ("resume", _) => words(sessions::names(asked, Wanted::Stopped)),
        ("profile", _) => words(profiles()),
        ("allow", _) => words(risks(&asked.line.current)),
        ("setup", "run" | "prepare") => {
            words(vec![candidate("auto", "by what the repository says"), candidate("none", "not at all")])
        }
        ("paths", _) => Answer { kind: Kind::Paths, candidates: paths::changed(asked) },
        ("command", _) => Answer::of(Kind::Command),
        ("directory" | "dir" | "out" | "batch", _) => Answer::of(Kind::Dirs),
        _ => possible(arg),
    }
}

/// Built-in ones and those of the user's file, if that can be read.
fn profiles() -> Vec<Candidate> {
    let text = Places::find().ok().and_then(|places| std::fs::read_to_string(places.config).ok());
    let config: Config = text.and_then(|text| toml::from_str(&text).ok()).unwrap_or_default();
    let known =
        profile::names(&config.profiles).into_iter().filter_map(|name| profile::find(&name, &config.profiles).ok());
    let none = candidate(profile::NONE, "a shell, whatever the default is");
    known.map(|profile| candidate(profile.name, profile.about)).chain([none]).collect()
}

/// What clap knows of the values, or that they are files.
fn possible(arg: &Arg) -> Answer {
    let values = arg.get_possible_values();
    if values.is_empty() {
        return match arg.get_value_hint() {
            ValueHint::AnyPath | ValueHint::FilePath => Answer::of(Kind::Files),
            _ => Answer::of(Kind::Words),
        };
    }
    let shown = values.iter().filter(|value| !value.is_hide_set());
    words(shown.map(|value| candidate(value.get_name(), value.get_help().cloned().unwrap_or_default())).collect())
}

/// Codes that can be allowed, each once; what stands before the last comma stays.
fn risks(current: &str) -> Vec<Candidate> {
    let before = current.rfind(',').map_or("", |at| &current[..=at]);
    let given: Vec<&str> = before.split(',').collect();
    let codes = CODES.iter().filter(|(code, tier, _)| *tier == Tier::Consent && !given.contains(code));
    let codes = codes.map(|(code, _, about)| candidate(format!("{before}{code}"), about));
    codes.chain(before.is_empty().then(|| candidate("all", "every one that can be allowed"))).collect()
}

/// `dir/na` as the directory that was typed and the beginning of a name.
pub fn split(current: &str) -> (&str, &Path) {
    let at = current.rfind('/').map_or(0, |at| at + 1);
    (&current[..at], Path::new(&current[..at]))
}

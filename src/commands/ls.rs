//! `cowbox ls`: the sessions of this repository.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Serialize;

use super::context::Context;
use super::heal::Word;
use super::show::{Summary, age, command};
use crate::cli::LsArgs;
use crate::error::Result;
use crate::policy::limits::show_size;
use crate::session::store::Entry;
use crate::session::{Session, State};
use crate::ui::{Ui, sanitize};

/// Columns of a command where there is no terminal, and the least where there is.
const COMMAND: usize = 60;
const LEAST: usize = 16;

#[derive(Serialize)]
struct Listing {
    schema: u32,
    sessions: Vec<Summary>,
}

/// Runs the verb.
pub fn ls(args: LsArgs, ui: &Ui) -> Result<u8> {
    let context = Context::new(ui)?;
    let root = if args.all { None } else { Some(context.repo()?.root) };
    let mut found: Vec<Session> = Vec::new();
    let mut elsewhere = 0;
    for entry in context.store.newest_first()? {
        match entry {
            Entry::Good(session) if session.record.state == State::Discarded => {}
            Entry::Good(session) if root.as_ref().is_some_and(|root| session.record.repo.0 != *root) => elsewhere += 1,
            Entry::Good(mut session) => {
                // One session that cannot be mended must not hide the others.
                if let Err(error) = context.reconcile(&mut session) {
                    ui.warn(error.message());
                }
                found.push(*session);
            }
            Entry::Broken(_, error) => ui.warn(error.message()),
        }
    }
    let repos: BTreeSet<PathBuf> = found.iter().map(|session| session.record.repo.0.clone()).collect();
    for repo in repos {
        if let Err(error) = context.heal(&repo, Word::Ask) {
            ui.warn(error.message());
        }
    }
    if args.json {
        ui.json(&Listing { schema: 1, sessions: found.iter().map(Summary::of).collect() })?;
        return Ok(0);
    }
    if found.is_empty() {
        ui.say(&nothing(args.all, elsewhere));
        return Ok(0);
    }
    ui.data(table(&found, args.all, ui.width()).as_bytes())?;
    Ok(0)
}

/// What to do where there is nothing to list.
fn nothing(all: bool, elsewhere: usize) -> String {
    match elsewhere {
        _ if all => "no sessions; start one with `cowbox run`".to_owned(),
        0 => "no sessions of this repository; start one with `cowbox run`".to_owned(),
        n => format!(
            "no sessions of this repository; start one with `cowbox run`, or see {n} of others with `cowbox ls --all`"
        ),
    }
}

fn table(sessions: &[Session], with_repo: bool, width: Option<usize>) -> String {
    let head = ["NAME", "AGE", "STATE", "ENGINE", "FILES", "LINES", "SIZE"];
    let mut rows: Vec<Vec<String>> = vec![head.map(str::to_owned).to_vec()];
    rows.extend(sessions.iter().map(facts));
    if with_repo {
        rows[0].push("REPO".to_owned());
        for (row, session) in rows[1..].iter_mut().zip(sessions) {
            row.push(sanitize::path(&session.record.repo.0));
        }
    }
    let columns = rows[0].len();
    let longest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(longest).collect();
    // The command comes last and gets what is left.
    let taken: usize = widths.iter().map(|width| width + 2).sum();
    let room = width.map_or(COMMAND, |width| width.saturating_sub(taken).max(LEAST));
    let commands = sessions.iter().map(|session| cut(&command(session), room));
    let last = std::iter::once("COMMAND".to_owned()).chain(commands);
    let line = |(row, last): (&Vec<String>, String)| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}  "));
        format!("{}{last}\n", cells.collect::<String>())
    };
    rows.iter().zip(last).map(line).collect()
}

fn facts(session: &Session) -> Vec<String> {
    let record = &session.record;
    let tally = session.tally();
    let applied = || record.history.last().is_some_and(|last| last.event.starts_with("applied"));
    let unknown = if tally.is_none() && applied() { "applied" } else { "-" };
    vec![
        record.name.clone(),
        age(record.created),
        record.state.to_string(),
        record.engine.kind.to_string(),
        tally.map_or_else(|| "-".to_owned(), |tally| tally.files.to_string()),
        tally.and_then(|tally| tally.lines()).unwrap_or_else(|| unknown.to_owned()),
        tally.map_or_else(|| "-".to_owned(), |tally| show_size(tally.bytes)),
    ]
}

fn cut(text: &str, room: usize) -> String {
    match text.char_indices().nth(room) {
        Some(_) => text.chars().take(room - 1).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_cut_where_it_can_be_seen() {
        assert_eq!(cut("make test", 9), "make test");
        assert_eq!(cut("make tests", 9), "make tes…");
        assert_eq!(cut("日本語x", 3), "日本…");
    }

    #[test]
    fn an_empty_list_says_what_to_do_next() {
        assert!(nothing(true, 0).ends_with("`cowbox run`"));
        assert!(nothing(false, 0).ends_with("`cowbox run`"));
        assert!(nothing(false, 2).ends_with("see 2 of others with `cowbox ls --all`"));
    }
}

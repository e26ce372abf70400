//! `cowbox ls`: the sessions of this repository.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Serialize;

use super::context::Context;
use super::heal::Word;
use super::show::{Summary, age};
use crate::cli::LsArgs;
use crate::error::Result;
use crate::session::store::Entry;
use crate::session::{Session, State};
use crate::ui::{Ui, sanitize};

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
    for entry in context.store.newest_first()? {
        match entry {
            Entry::Good(mut session) => {
                let here = root.as_ref().is_none_or(|root| session.record.repo.0 == *root);
                if here && session.record.state != State::Discarded {
                    // One session that cannot be mended must not hide the others.
                    if let Err(error) = context.reconcile(&mut session) {
                        ui.warn(error.message());
                    }
                    found.push(*session);
                }
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
        ui.say(if args.all {
            "no sessions; start one with `cowbox run`"
        } else {
            "no sessions of this repository; start one with `cowbox run`, or see all with `cowbox ls --all`"
        });
        return Ok(0);
    }
    ui.data(table(&found, args.all).as_bytes())?;
    Ok(0)
}

fn table(sessions: &[Session], with_repo: bool) -> String {
    let mut rows: Vec<Vec<String>> = vec![["NAME", "STATE", "ENGINE", "AGE", "COMMAND"].map(str::to_owned).to_vec()];
    for session in sessions {
        let record = &session.record;
        let command = if record.command.is_empty() { "(shell)".to_owned() } else { record.command.join(" ") };
        let command: String = sanitize::text(&command).chars().take(60).collect();
        rows.push(vec![
            record.name.clone(),
            record.state.to_string(),
            record.engine.kind.to_string(),
            age(record.created),
            command,
        ]);
    }
    if with_repo {
        rows[0].push("REPO".to_owned());
        for (row, session) in rows[1..].iter_mut().zip(sessions) {
            row.push(sanitize::path(&session.record.repo.0));
        }
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

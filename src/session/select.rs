//! From what the user typed to one session.

use std::path::Path;

use super::store::Entry;
use super::{Session, State, Store};
use crate::error::{Error, Result};
use crate::near;
use crate::ui::Ui;

/// The session that `wanted` names: a name, an id or a unique prefix; left out, the latest of `repo`.
pub fn find(store: &Store, wanted: Option<&str>, repo: &Path, ui: &Ui) -> Result<Session> {
    match wanted {
        Some(text) => by_text(store, text),
        None => latest(store, repo, ui),
    }
}

fn latest(store: &Store, repo: &Path, ui: &Ui) -> Result<Session> {
    for entry in store.newest_first()? {
        match entry {
            Entry::Good(session) if session.record.repo.0 == repo && session.record.state != State::Discarded => {
                return Ok(*session);
            }
            Entry::Good(_) => {}
            // It may have been the latest of this repo: say that it was passed over.
            Entry::Broken(_, error) => ui.warn(error.message()),
        }
    }
    Err(Error::new("there is no session of this repository")
        .hint("start one with `cowbox run`, or see those of other repositories with `cowbox ls --all`"))
}

fn by_text(store: &Store, text: &str) -> Result<Session> {
    let upper = text.to_ascii_uppercase();
    let mut near: Vec<Session> = Vec::new();
    let mut exact: Vec<Session> = Vec::new();
    for entry in store.newest_first()? {
        match entry {
            Entry::Good(session) => {
                let record = &session.record;
                if record.id.as_str() == upper {
                    return Ok(*session);
                }
                if record.name == text {
                    exact.push(*session);
                } else if record.name.starts_with(text) || record.id.as_str().starts_with(&upper) {
                    near.push(*session);
                }
            }
            Entry::Broken(id, error) if !text.is_empty() && id.as_str().starts_with(&upper) => return Err(error),
            Entry::Broken(..) => {}
        }
    }
    if text.is_empty() {
        return Err(Error::new("the session's name is empty").hint("`cowbox ls --all` lists them"));
    }
    // A name may have been used again after a discard: the one that still lives is meant.
    for found in [&mut exact, &mut near] {
        if found.len() > 1 {
            found.retain(|s| s.record.state != State::Discarded);
        }
    }
    let mut found = if exact.is_empty() { near } else { exact };
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(unknown(store, text)),
        _ => {
            let names: Vec<String> =
                found.iter().take(8).map(|s| format!("{} ({})", s.record.name, s.record.id)).collect();
            Err(Error::new(format!(
                "`{}` is the beginning of several sessions: {}",
                crate::ui::sanitize::text(text),
                names.join(", ")
            ))
            .hint("type more of the name or of the id"))
        }
    }
}

fn unknown(store: &Store, text: &str) -> Error {
    let error = Error::new(format!("there is no session `{}`", crate::ui::sanitize::text(text)));
    let names = store.newest_first().into_iter().flatten().filter_map(|entry| match entry {
        Entry::Good(session) if session.record.state != State::Discarded => Some(session.record.name),
        _ => None,
    });
    let names: Vec<String> = names.take(200).collect();
    match near::closest(text, names.iter().map(String::as_str)) {
        Some(name) => error.hint(format!("did you mean `{name}`?")),
        None => error.hint("`cowbox ls --all` lists them"),
    }
}

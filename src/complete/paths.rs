//! Paths that a session changed: one directory of its upper layer, which is hostile. What was only copied up is offered
//! too; telling it apart would cost more than a key press may.

use std::time::Instant;

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags, openat, openat2};

use super::Candidate;
use super::sessions;
use super::values::{Asked, split};
use crate::paths::by_words;
use crate::repo::Repo;

/// More than anybody reads.
const MOST: usize = 1000;
/// So many are read even on a slow machine.
const ALWAYS: usize = 200;

/// Names below the directory that was typed, relative to where the user stands.
pub fn changed(asked: &Asked<'_>) -> Vec<Candidate> {
    list(asked).unwrap_or_default()
}

fn list(asked: &Asked<'_>) -> Option<Vec<Candidate>> {
    let repo = Repo::find(&asked.directory()?).ok()?;
    let upper = sessions::upper(asked, &repo)?;
    let (typed, below) = split(&asked.line.current);
    let place = by_words(&repo.subdir.join(below));
    let root = openat(CWD, &upper, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let place = if place.as_os_str().is_empty() { ".".into() } else { place };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = openat2(&root, &place, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS).ok()?;
    let mut found = Vec::new();
    for (number, entry) in Dir::new(fd).ok()?.flatten().enumerate() {
        if number > MOST || (number > ALWAYS && Instant::now() > asked.deadline) {
            break;
        }
        let Ok(name) = entry.file_name().to_str() else { continue };
        if matches!(name, "." | ".." | ".git") {
            continue;
        }
        let (slash, about) = match entry.file_type() {
            FileType::Directory => ("/", "directory"),
            FileType::CharacterDevice => ("", "deleted"),
            _ => ("", "changed"),
        };
        found.push(Candidate { value: format!("{typed}{name}{slash}"), about: about.to_owned() });
    }
    found.sort_by(|a, b| a.value.cmp(&b.value));
    Some(found)
}

//! What the new branches are called.

use crate::error::{Error, Kind, Result, show};
use crate::git::Id;
use crate::git::commits::Tip;
use crate::git::place::GitPlace;
use crate::git::refname::is_branch;
use crate::git::refs::Refs;
use crate::git::view::View;
use crate::ui::sanitize;

const HEADS: &[u8] = b"refs/heads/";

/// A branch to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// Without `refs/heads/`.
    pub(super) branch: Vec<u8>,
    /// Its commit.
    pub(super) id: Id,
}

impl Named {
    /// The full name.
    pub(super) fn full(&self) -> Vec<u8> {
        [HEADS, &self.branch].concat()
    }
}

/// Refuses what git would not take for a branch.
pub(super) fn check(branch: &str) -> Result<()> {
    if is_branch(branch.as_bytes()) {
        return Ok(());
    }
    let shown = sanitize::text(branch);
    Err(Error::of(Kind::Usage, format!("`{shown}` is not a name that git accepts for a branch"))
        .hint("name one with `--commits=BRANCH`"))
}

/// A name for each tip: BRANCH for HEAD, or for the only one, and `BRANCH-<name>` for the others.
pub(super) fn assign(tips: &[Tip], branch: &str) -> Result<Vec<Named>> {
    let name = |tip: &Tip| match &tip.branch {
        Some(own) if !tip.head && tips.len() > 1 => {
            [branch.as_bytes(), b"-", own.strip_prefix(HEADS).unwrap_or(own)].concat()
        }
        _ => branch.as_bytes().to_vec(),
    };
    let named: Vec<Named> = tips.iter().map(|tip| Named { branch: name(tip), id: tip.id }).collect();
    match named.iter().find(|named| !is_branch(&named.branch)) {
        Some(bad) => {
            Err(Error::new(format!("`{}` is not a name that git accepts for a branch", sanitize::bytes(&bad.branch))))
        }
        None => Ok(named),
    }
}

/// Refuses names that the host has, or that stand in the way of one it has.
pub(super) fn check_free(place: &GitPlace, branches: &[Named]) -> Result<()> {
    let refs = Refs::new(View::host(&place.host), &place.worktree, place.format()?);
    let place = if place.repo.as_os_str().is_empty() { String::new() } else { format!(" in {}", show(&place.repo)) };
    let taken = |name: &[u8]| {
        let name = sanitize::bytes(name.strip_prefix(HEADS).unwrap_or(name));
        Error::new(format!("the branch `{name}` exists already{place}, and is never overwritten"))
            .hint("choose another with `--commits=BRANCH`, or delete that one")
    };
    let head = refs.head()?.branch;
    for full in branches.iter().map(Named::full) {
        // The branch that is checked out and has no commit yet is taken too: making it would make all
        // files of the working tree look deleted.
        if refs.exists(&full)? || head.as_ref() == Some(&full) {
            return Err(taken(&full));
        }
        let above = full.iter().enumerate().filter(|(at, b)| **b == b'/' && *at > HEADS.len());
        for name in above.filter_map(|(at, _)| full.get(..at)) {
            if refs.exists(name)? {
                return Err(taken(name));
            }
        }
        if let Some(text) = std::str::from_utf8(&full).ok()
            && let Some((below, _)) = refs.below(text)?.first_key_value()
        {
            return Err(taken(below));
        }
    }
    Ok(())
}

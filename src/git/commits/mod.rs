//! Commits that a session made: reachable from its HEAD and branches, and not the host's.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::git::Id;
use crate::git::object::Objects;
use crate::git::place::GitPlace;
use crate::git::reach::Reach;
use crate::git::refs::Refs;
use crate::git::tree::CommitData;
use crate::git::view::View;

/// As many are listed.
pub const LISTED: usize = 1000;
/// Branches of one session that are looked at.
const TIPS: usize = 1000;
/// Names that one walk may meet: a commit can claim any number of parents.
const SEEN: usize = 200_000;

/// One commit of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its name.
    pub id: String,
    /// First paragraph of its message. From the session: escape it before it is shown.
    pub subject: String,
    /// The ref from which it was found: `refs/heads/x`, or `HEAD`. From the session too.
    pub refname: String,
    /// Which repository: empty for the main one, else the submodule's path.
    pub repo: PathBuf,
}

/// The commits of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commits {
    /// Newest first, the main repository's before those of submodules.
    pub commits: Vec<Commit>,
    /// There are more, or some that cannot be read.
    pub truncated: bool,
}

/// A branch of a session, or its HEAD, with commits that no ref of the host leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tip {
    /// Full name of the branch; `None` for a HEAD that is on none.
    pub branch: Option<Vec<u8>>,
    /// The session's HEAD is here.
    pub head: bool,
    /// The commit.
    pub id: Id,
}

/// What a walk from the tips met.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    /// HEAD first, then branches by name; each commit once.
    pub tips: Vec<Tip>,
    /// New commits, newest first.
    pub commits: Vec<Commit>,
    /// Commits of the host on which the new ones stand.
    pub boundary: Vec<Id>,
    /// There are more, or some that cannot be read.
    pub truncated: bool,
}

/// The commits of the session at `session_dir` over the repo at `root`, with those of its submodules.
pub fn list(root: &Path, session_dir: &Path) -> Result<Commits> {
    let Some(main) = GitPlace::find(root, session_dir) else { return Ok(Commits::default()) };
    let mut all = Commits::default();
    for place in [main.clone()].into_iter().chain(main.submodules(root, session_dir)?) {
        let left = LISTED - all.commits.len();
        let walk = walk(&place, left)?;
        all.truncated |= walk.truncated;
        all.commits.extend(walk.commits);
    }
    Ok(all)
}

/// Walks one repository of a session; gives `most` commits at most.
pub fn walk(place: &GitPlace, most: usize) -> Result<Walk> {
    let view = place.view()?;
    let failed = |e| Error::io("read", &place.upper, e);
    // Without new objects there is no new commit: the usual case costs one look.
    let Some(written) = view.session_dir(Path::new("objects")).map_err(failed)? else { return Ok(Walk::default()) };
    let hash = place.format()?;
    let known = Refs::new(View::host(&place.host), &place.worktree, hash);
    let points = known.below("refs")?.into_values().chain(known.head()?.id).collect();
    let mut own = Objects::new(hash);
    own.add_session(written);
    let mut walker = Walker {
        host: Reach::new(Objects::of_host(&place.dirs())?, points),
        own,
        walk: Walk::default(),
        seen: HashSet::new(),
        heap: BinaryHeap::new(),
    };
    walker.find_tips(&Refs::new(view, &place.worktree, hash))?;
    walker.run(&place.repo, most)?;
    Ok(walker.walk)
}

struct Walker {
    host: Reach,
    /// What the session wrote: nothing else can be new.
    own: Objects,
    walk: Walk,
    seen: HashSet<Id>,
    heap: BinaryHeap<Waiting>,
}

/// Ordered by time, then by when it was met.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    time: i64,
    met: Reverse<usize>,
    tip: usize,
    id: Id,
    subject: String,
    parents: Vec<Id>,
}

impl Walker {
    fn find_tips(&mut self, session: &Refs) -> Result<()> {
        let head = session.head()?;
        let mut tips: Vec<Tip> = head.id.map(|id| Tip { branch: head.branch, head: true, id }).into_iter().collect();
        let mut met: HashSet<Id> = tips.iter().map(|tip| tip.id).collect();
        for (name, id) in session.below("refs/heads")? {
            if met.insert(id) {
                tips.push(Tip { branch: Some(name), head: false, id });
            }
        }
        for tip in tips {
            if self.is_known(&tip.id)? {
                continue;
            }
            if self.walk.tips.len() >= TIPS {
                self.walk.truncated = true;
                break;
            }
            if self.meet(tip.id, self.walk.tips.len()) {
                self.walk.tips.push(tip);
            }
        }
        Ok(())
    }

    /// Whether the host has a commit. One that the session wrote too is the host's only if a ref says so.
    fn is_known(&mut self, id: &Id) -> Result<bool> {
        if self.own.contains(id).unwrap_or(false) { self.host.has(id) } else { self.host.has_object(id) }
    }

    /// Puts a commit in line; false if it cannot be read.
    fn meet(&mut self, id: Id, tip: usize) -> bool {
        // Whatever is wrong with an object of the session is the session's matter: said, not failed on.
        let read = self.own.commit(&id).ok().flatten();
        let Some(CommitData { parents, time, subject, .. }) = read else {
            self.walk.truncated = true;
            return false;
        };
        self.seen.insert(id);
        self.heap.push(Waiting { time, met: Reverse(self.seen.len()), tip, id, subject, parents });
        true
    }

    fn run(&mut self, repo: &Path, most: usize) -> Result<()> {
        while let Some(next) = self.heap.pop() {
            if self.walk.commits.len() >= most || self.seen.len() > SEEN {
                self.walk.truncated = true;
                break;
            }
            let branch = self.walk.tips.get(next.tip).and_then(|tip| tip.branch.as_deref()).unwrap_or(b"HEAD");
            self.walk.commits.push(Commit {
                id: next.id.to_string(),
                subject: next.subject,
                refname: String::from_utf8_lossy(branch).into_owned(),
                repo: repo.to_path_buf(),
            });
            for parent in next.parents {
                if self.seen.len() > SEEN || self.seen.contains(&parent) {
                    continue;
                }
                if self.is_known(&parent)? {
                    self.seen.insert(parent);
                    self.walk.boundary.push(parent);
                } else if !self.meet(parent, next.tip) {
                    self.seen.insert(parent);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! Whether a commit belongs to the host: its objects are there, and one of its refs leads to it.
//!
//! Objects alone do not tell: an import that failed, or a branch that was deleted since, leaves them.

use std::collections::{BinaryHeap, HashSet};

use super::Id;
use super::object::{Kind, Objects};
use super::tree::{CommitData, LARGEST_COMMIT};
use crate::error::Result;

/// Clocks differ: this much older than what is looked for is walked too.
const SLOP: i64 = 2 * 24 * 60 * 60;
/// Beyond this the objects must do as an answer.
const MOST: usize = 50_000;
/// A tag of a tag.
const DEEPEST: usize = 5;

/// The commits that the host's refs lead to, walked as far as the questions need.
pub(super) struct Reach {
    objects: Objects,
    /// Not read yet: most questions are about one of these.
    tips: Vec<Id>,
    seen: HashSet<Id>,
    heap: BinaryHeap<(i64, Id)>,
}

impl Reach {
    /// `tips` are what the refs point to.
    pub(super) fn new(objects: Objects, tips: Vec<Id>) -> Self {
        Self { objects, seen: tips.iter().copied().collect(), tips, heap: BinaryHeap::new() }
    }

    /// Whether the host has the object at all.
    pub(super) fn has_object(&self, id: &Id) -> Result<bool> {
        self.objects.contains(id)
    }

    /// Whether the host has this commit on one of its refs.
    pub(super) fn has(&mut self, id: &Id) -> Result<bool> {
        if self.seen.contains(id) {
            return Ok(true);
        }
        if !self.objects.contains(id)? {
            return Ok(false);
        }
        let Some(wanted) = self.objects.commit(id)? else { return Ok(true) };
        for tip in std::mem::take(&mut self.tips).into_iter().take(MOST) {
            self.meet(tip);
        }
        while self.heap.peek().is_some_and(|(time, _)| *time >= wanted.time.saturating_sub(SLOP)) {
            if self.seen.contains(id) || self.seen.len() > MOST {
                return Ok(true);
            }
            let Some((_, next)) = self.heap.pop() else { break };
            let parents = self.objects.commit(&next)?.map(|commit| commit.parents).unwrap_or_default();
            for parent in parents {
                if self.seen.insert(parent) {
                    self.meet(parent);
                }
            }
        }
        Ok(self.seen.contains(id))
    }

    /// Puts a commit, or the commit of a tag, in line. What cannot be read leads nowhere.
    fn meet(&mut self, mut id: Id) {
        for _ in 0..DEEPEST {
            let Ok(Some(object)) = self.objects.read(&id, LARGEST_COMMIT) else { return };
            match object.kind {
                Kind::Commit => {
                    if let Some(commit) = CommitData::parse(&object.data, self.objects.hash()) {
                        self.seen.insert(id);
                        self.heap.push((commit.time, id));
                    }
                    return;
                }
                Kind::Tag => {
                    let line = object.data.split(|b| *b == b'\n').next().unwrap_or_default();
                    let Some(next) = line.strip_prefix(b"object ").and_then(Id::from_hex) else { return };
                    id = next;
                }
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::TestRepo;
    use crate::git::{GitDirs, Hash};

    #[test]
    fn what_no_ref_leads_to_is_not_the_hosts() {
        let repo = TestRepo::new();
        let id = |text: String| Id::from_hex(text.as_bytes()).unwrap();
        let first = id(repo.commit("one"));
        for n in 0..5 {
            repo.commit(&n.to_string());
        }
        let tip = id(repo.git(&["rev-parse", "HEAD"]));
        repo.git(&["checkout", "-q", "--detach"]);
        let lost = id(repo.commit("lost"));
        let tagged = id(repo.commit("tagged"));
        repo.git(&["tag", "-a", "-m", "x", "v1"]);
        let tag = id(repo.git(&["rev-parse", "v1"]));
        let of = |tips: Vec<Id>| Reach::new(Objects::of_host(&GitDirs::of(&repo.root()).unwrap()).unwrap(), tips);
        let mut main = of(vec![tip]);
        assert!(main.has(&tip).unwrap() && main.has(&first).unwrap());
        assert!(!main.has(&lost).unwrap() && !main.has(&tagged).unwrap());
        assert!(of(vec![tip, tag]).has(&lost).unwrap());
        assert!(!of(vec![tip]).has(&Hash::Sha1.of(b"", b"nothing")).unwrap());
    }
}

//! The changes to choose from, and what is chosen of each.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use super::text::Text;
use crate::apply::picks::{Part, Pick, Picks};
use crate::changes::contents::{Content, Contents};
use crate::changes::details::Details;
use crate::changes::read::Unreadable;
use crate::changes::risk::Tier;
use crate::changes::{Change, ChangeKind, ChangeSet, Meta};
use crate::layer::entry::Kind;

/// Nobody chooses among more lines than these, and each of them costs memory: a hostile file may be all newlines.
const MOST_LINES: u64 = 200_000;

/// What is chosen of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// Nothing.
    Nothing,
    /// All of it.
    All,
    /// Some of its lines, each by its number.
    Some(Vec<bool>),
}

/// How much of several things is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Nothing.
    Nothing,
    /// Some.
    Some,
    /// All.
    All,
    /// None of them can be.
    Fixed,
}

impl Amount {
    /// Of `chosen` among `all`.
    pub fn of(chosen: usize, all: usize) -> Self {
        match chosen {
            _ if all == 0 => Amount::Fixed,
            0 => Amount::Nothing,
            n if n == all => Amount::All,
            _ => Amount::Some,
        }
    }
}

/// One change to choose.
#[derive(Debug)]
pub struct Item<'a> {
    /// The change.
    pub change: &'a Change,
    /// Its lines and risks.
    pub details: Details,
    /// Why it cannot be chosen.
    pub fixed: Option<&'static str>,
    /// Whether its lines can be chosen one by one.
    pub has_lines: bool,
    /// What is chosen.
    pub chosen: Chosen,
    /// Its lines, while they are shown.
    pub text: Option<Text>,
}

impl Item<'_> {
    /// Whether its permission bits change beside its lines: then they are the first thing to choose.
    pub fn has_mode(&self) -> bool {
        let mode = |meta: Option<Meta>| meta.map(|meta| meta.mode);
        self.has_lines && self.change.old.is_some() && mode(self.change.old) != mode(self.change.new)
    }

    /// The numbers of the lines of a hunk among all that can be chosen.
    pub fn numbers(&self, hunk: &super::text::Hunk) -> Range<usize> {
        let (first, numbers) = (usize::from(self.has_mode()), hunk.numbers());
        numbers.start + first..numbers.end + first
    }

    /// How much of it is chosen.
    pub fn amount(&self) -> Amount {
        match &self.chosen {
            _ if self.fixed.is_some() => Amount::Fixed,
            Chosen::Nothing => Amount::Nothing,
            Chosen::All => Amount::All,
            Chosen::Some(lines) => Amount::of(lines.iter().filter(|chosen| **chosen).count(), lines.len()),
        }
    }

    /// How much of some lines is chosen.
    pub fn amount_of(&self, numbers: Range<usize>) -> Amount {
        match &self.chosen {
            Chosen::Some(lines) => {
                let lines = lines.get(numbers).unwrap_or_default();
                Amount::of(lines.iter().filter(|chosen| **chosen).count(), lines.len())
            }
            _ => self.amount(),
        }
    }

    /// Chooses all of it, or nothing.
    pub fn choose(&mut self, all: bool) {
        if self.fixed.is_none() {
            self.chosen = if all { Chosen::All } else { Chosen::Nothing };
        }
    }

    /// Chooses some lines, or not. They have been read.
    pub fn choose_lines(&mut self, numbers: Range<usize>, wanted: bool) {
        let Some(text) = self.text.as_ref().filter(|_| self.fixed.is_none()) else { return };
        let count = text.count + usize::from(self.has_mode());
        let mut lines = match std::mem::replace(&mut self.chosen, Chosen::Nothing) {
            Chosen::Some(lines) => lines,
            all => vec![all == Chosen::All; count],
        };
        if let Some(lines) = lines.get_mut(numbers) {
            lines.fill(wanted);
        }
        self.chosen = match lines.iter().filter(|chosen| **chosen).count() {
            0 => Chosen::Nothing,
            n if n == lines.len() => Chosen::All,
            _ => Chosen::Some(lines),
        };
    }

    /// Reads its lines, if it has any and they are not there yet.
    pub fn read(&mut self, contents: &dyn Contents) -> Result<(), Unreadable> {
        if self.text.is_some() || !self.has_lines {
            return Ok(());
        }
        let bytes = |content: Option<Content>| match content {
            None => Some(Vec::new()),
            Some(Content::Bytes(bytes)) => Some(bytes),
            Some(Content::Large) => None,
        };
        let old = if self.change.old.is_some() { contents.host_side(self.change)? } else { None };
        let new = contents.session_side(self.change)?;
        match (bytes(old), bytes(new)) {
            (Some(old), Some(new)) => self.text = Some(Text::of(old, new)),
            _ => self.has_lines = false,
        }
        if self.text.as_ref().is_none_or(|text| text.count == 0) {
            // Nothing but its attributes, or an empty file.
            self.has_lines = false;
            self.text = None;
        }
        Ok(())
    }

    fn pick(&self) -> Option<Pick> {
        match (&self.chosen, &self.text) {
            _ if self.fixed.is_some() => None,
            (Chosen::Nothing, _) => None,
            (Chosen::All, _) => Some(Pick::Whole),
            (Chosen::Some(lines), Some(text)) => {
                let first = usize::from(self.has_mode());
                let takes_mode = first == 0 || lines.first() == Some(&true);
                let side = if takes_mode { self.change.new } else { self.change.old };
                Some(Pick::Part(Part {
                    bytes: text.with(|number| lines.get(number + first) == Some(&true)).into(),
                    mode: side.map_or(0o644, |meta| meta.mode & 0o777),
                    host: self.change.host,
                    session: self.change.session,
                }))
            }
            (Chosen::Some(_), None) => None,
        }
    }
}

/// All of them, and what comes along with them.
#[derive(Debug)]
pub struct Items<'a> {
    /// In the order of their paths.
    pub list: Vec<Item<'a>>,
    /// Directories that come or go with what is in them, and what goes with a directory.
    along: Vec<&'a Change>,
    set: &'a ChangeSet,
}

impl<'a> Items<'a> {
    /// Of the changes that a person is shown, in the order of their paths. What is flagged is not chosen at first.
    pub fn of(set: &'a ChangeSet, shown: &[(&'a Change, Details)]) -> Self {
        let above: HashSet<&Path> = shown.iter().flat_map(|(change, _)| change.path.ancestors().skip(1)).collect();
        let was_dir = |change: &Change| change.old.is_some_and(|old| old.kind == Kind::Dir);
        let is_dir = |change: &Change| change.new.is_some_and(|new| new.kind == Kind::Dir);
        let replaced: HashSet<&Path> = shown
            .iter()
            .filter(|(change, _)| change.kind == ChangeKind::TypeChanged && was_dir(change))
            .map(|(change, _)| change.path.as_path())
            .collect();
        let linked: HashSet<&Path> = set.links.iter().flat_map(|group| &group.names).map(|n| n.as_path()).collect();
        let comes_along = |change: &Change| {
            let folder = above.contains(change.path.as_path())
                && (is_dir(change) && !was_dir(change) || was_dir(change) && change.new.is_none());
            folder || (change.new.is_none() && change.path.ancestors().skip(1).any(|above| replaced.contains(above)))
        };
        let (mut list, mut along) = (Vec::new(), Vec::new());
        for (change, details) in shown {
            let consent = details.risks.iter().any(|risk| risk.tier >= Tier::Consent);
            if comes_along(change) {
                // A folder that must be said yes to on its own is left to `--allow`.
                along.extend((!consent).then_some(*change));
                continue;
            }
            let fixed = why_fixed(change, details);
            let chosen = if fixed.is_none() && details.risks.is_empty() { Chosen::All } else { Chosen::Nothing };
            let has_lines = fixed.is_none() && has_lines(change, details) && !linked.contains(change.path.as_path());
            list.push(Item { change, details: details.clone(), fixed, has_lines, chosen, text: None });
        }
        Self { list, along, set }
    }

    /// How many are chosen, in whole or in part.
    pub fn chosen(&self) -> usize {
        self.list.iter().filter(|item| matches!(item.amount(), Amount::All | Amount::Some)).count()
    }

    /// What lands.
    pub fn picks(&self) -> Picks {
        let mut picks = Picks::default();
        picks.0.extend(self.list.iter().filter_map(|item| Some((item.change.path.clone(), item.pick()?))));
        let whole = |path: &Path| (path.to_path_buf(), Pick::Whole);
        let taken: HashSet<&Path> =
            self.list.iter().map(|item| item.change.path.as_path()).filter(|path| picks.has(path)).collect();
        let is_along: HashSet<&Path> = self.along.iter().map(|change| change.path.as_path()).collect();
        // Folders in which something stays.
        let stays: HashSet<&Path> = self
            .set
            .visible()
            .map(|change| change.path.as_path())
            .filter(|path| !taken.contains(path) && !is_along.contains(path))
            .flat_map(|path| path.ancestors().skip(1))
            .collect();
        let holds: HashSet<&Path> = taken.iter().flat_map(|path| path.ancestors().skip(1)).collect();
        for change in &self.along {
            let path = change.path.as_path();
            let goes = match change.new {
                Some(_) => holds.contains(path),
                None if path.ancestors().skip(1).any(|above| taken.contains(above)) => true,
                None => !stays.contains(path) && holds.contains(path),
            };
            picks.0.extend(goes.then(|| whole(path)));
        }
        picks
    }
}

fn why_fixed(change: &Change, details: &Details) -> Option<&'static str> {
    if details.risks.iter().any(|risk| risk.tier == Tier::Blocked) {
        return Some("never applied");
    }
    change.conflict.map(|_| "in conflict with the host: `cowbox apply --conflict` decides")
}

/// Whether its lines can land one by one: a text that the host has left alone. What is merged lands as a whole.
fn has_lines(change: &Change, details: &Details) -> bool {
    let is_file = |meta: Option<Meta>| meta.is_some_and(|meta| meta.kind == Kind::File);
    matches!(change.kind, ChangeKind::Added | ChangeKind::Modified)
        && is_file(change.new)
        && (change.old.is_none() || is_file(change.old))
        && change.host.is_some() == change.old.is_some()
        && !details.binary
        && !change.merged
        && (1..=MOST_LINES).contains(&(details.insertions + details.deletions))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::details;
    use crate::diff::double::{Node, Tree, Trees};
    use crate::layer::entry::Identity;

    fn file(content: &str) -> Node {
        Node::File(0o644, content.into())
    }

    fn trees<const A: usize, const B: usize>(old: [(&str, Node); A], new: [(&str, Node); B]) -> Trees {
        let tree =
            |nodes: Vec<(&str, Node)>| nodes.into_iter().map(|(path, node)| (path.into(), node)).collect::<Tree>();
        Trees { old: tree(old.into()), new: tree(new.into()) }
    }

    fn changes(trees: &Trees) -> ChangeSet {
        let mut changes = trees.changes(&[]);
        for change in &mut changes {
            change.host = change.old.map(|_| Identity { inode: 1, size: 0, mode: 0, mtime: 0, ctime: 0 });
        }
        ChangeSet { changes, links: Vec::new() }
    }

    /// What is picked after `choose` had its way with everything.
    fn picked(trees: &Trees, choose: impl Fn(&mut Item<'_>)) -> Vec<String> {
        let set = changes(trees);
        let shown: Vec<_> = set.changes.iter().map(|change| (change, details::of(change, trees).unwrap())).collect();
        let mut items = Items::of(&set, &shown);
        for item in &mut items.list {
            item.read(trees).unwrap();
            choose(item);
        }
        items
            .picks()
            .0
            .into_iter()
            .map(|(path, pick)| match pick {
                Pick::Whole => path.display().to_string(),
                Pick::Part(part) => format!("{}: {:?}", path.display(), String::from_utf8_lossy(&part.bytes)),
            })
            .collect()
    }

    #[test]
    fn folders_come_with_what_is_in_them_and_go_with_the_last_of_it() {
        let dir = || Node::Dir(0o755);
        let trees = trees(
            [("gone", dir()), ("gone/a", file("a\n")), ("gone/b", file("b\n"))],
            [("empty", dir()), ("new", dir()), ("new/x", file("x\n")), ("new/y", file("y\n"))],
        );
        let only = |names: &'static [&'static str]| {
            move |item: &mut Item<'_>| item.choose(names.iter().any(|name| item.change.path == Path::new(name)))
        };
        assert_eq!(picked(&trees, only(&[])), Vec::<String>::new());
        assert_eq!(picked(&trees, only(&["new/y"])), ["new", "new/y"]);
        assert_eq!(picked(&trees, only(&["gone/a"])), ["gone/a"]);
        assert_eq!(picked(&trees, only(&["gone/a", "gone/b"])), ["gone", "gone/a", "gone/b"]);
        assert_eq!(picked(&trees, only(&["empty"])), ["empty"]);
    }

    #[test]
    fn what_goes_with_a_replaced_folder_is_no_choice_of_its_own() {
        let trees = trees([("x", Node::Dir(0o755)), ("x/a", file("a\n"))], [("x", file("now a file\n"))]);
        assert_eq!(picked(&trees, |item| item.choose(true)), ["x", "x/a"]);
        assert_eq!(picked(&trees, |item| item.choose(false)), Vec::<String>::new());
    }

    #[test]
    fn lines_that_are_all_chosen_are_the_whole_and_none_is_nothing() {
        let trees = trees([("f", file("1\n2\n"))], [("f", file("1\nzwei\n"))]);
        assert_eq!(picked(&trees, |item| item.choose_lines(0..1, false)), [r#"f: "1\n2\nzwei\n""#]);
        assert_eq!(picked(&trees, |item| item.choose_lines(0..2, false)), Vec::<String>::new());
        let twice = |item: &mut Item<'_>| {
            item.choose_lines(0..1, false);
            item.choose_lines(0..1, true);
        };
        assert_eq!(picked(&trees, twice), ["f"]);
    }

    #[test]
    fn what_has_no_lines_is_whole_or_nothing() {
        let trees = trees(
            [("binary", file("\0a")), ("mode", file("x\n")), ("gone", file("x\n")), ("type", file("x"))],
            [("binary", file("\0b")), ("mode", Node::File(0o755, "x\n".into())), ("type", Node::Link(b"x".into()))],
        );
        let set = changes(&trees);
        let shown: Vec<_> = set.changes.iter().map(|change| (change, details::of(change, &trees).unwrap())).collect();
        let items = Items::of(&set, &shown);
        assert_eq!(items.list.iter().filter(|item| item.has_lines).count(), 0);
        assert_eq!(items.list.len(), 4);
    }
}

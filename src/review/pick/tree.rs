//! Items in their folders, and the rows that are shown of them.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::Depth;
use super::items::{Amount, Item, Items};
use crate::changes::contents::Contents;
use crate::changes::read::Unreadable;

/// As much text is held at once; files that were unfolded before are folded then.
const MOST_HELD: usize = 64 << 20;

/// A folder, or an item in it.
#[derive(Debug)]
struct Node {
    what: What,
    depth: usize,
    /// Where the next one is that is not below it.
    end: usize,
    open: bool,
}

#[derive(Debug)]
enum What {
    /// With the items below it.
    Folder(PathBuf, Range<usize>),
    Item(usize),
}

/// One line of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// A folder, by its node.
    Folder(usize),
    /// An item, by its node and number.
    Item(usize, usize),
    /// The permission bits of an item.
    Mode(usize, usize),
    /// A hunk of an item.
    Hunk(usize, usize, usize),
    /// A line of a hunk of an item.
    Line(usize, usize, usize, usize),
}

/// All of it.
pub struct Tree<'a> {
    /// The changes.
    pub items: Items<'a>,
    nodes: Vec<Node>,
    depth: Depth,
    /// What is shown now.
    pub rows: Vec<Row>,
}

impl<'a> Tree<'a> {
    /// Everything folded but the folders.
    pub fn new(items: Items<'a>, depth: Depth) -> Self {
        let nodes = nodes(&items.list);
        let mut tree = Self { items, nodes, depth, rows: Vec::new() };
        tree.lay_out();
        tree
    }

    fn lay_out(&mut self) {
        self.rows.clear();
        let mut at = 0;
        while let Some(node) = self.nodes.get(at) {
            let item = match &node.what {
                What::Folder(..) => {
                    self.rows.push(Row::Folder(at));
                    at = if node.open { at + 1 } else { node.end };
                    continue;
                }
                What::Item(item) => *item,
            };
            self.rows.push(Row::Item(at, item));
            if let Some(text) = self.items.list[item].text.as_ref().filter(|_| node.open) {
                if self.items.list[item].has_mode() {
                    self.rows.push(Row::Mode(at, item));
                }
                for (number, hunk) in text.hunks.iter().enumerate() {
                    self.rows.push(Row::Hunk(at, item, number));
                    self.rows.extend((0..hunk.lines.len()).map(|line| Row::Line(at, item, number, line)));
                }
            }
            at += 1;
        }
    }

    /// The folder of a row.
    pub fn folder(&self, node: usize) -> &Path {
        match &self.nodes[node].what {
            What::Folder(path, _) => path,
            What::Item(item) => &self.items.list[*item].change.path,
        }
    }

    /// How far a row is from the left.
    pub fn indent(&self, row: Row) -> usize {
        match row {
            Row::Folder(node) | Row::Item(node, _) => self.nodes[node].depth,
            Row::Mode(node, _) | Row::Hunk(node, ..) => self.nodes[node].depth + 1,
            Row::Line(node, ..) => self.nodes[node].depth + 2,
        }
    }

    /// Whether it is unfolded; `None`: it has nothing to unfold.
    pub fn is_open(&self, row: Row) -> Option<bool> {
        match row {
            Row::Folder(node) => Some(self.nodes[node].open),
            Row::Item(node, item) => {
                (self.depth == Depth::Lines && self.items.list[item].has_lines).then_some(self.nodes[node].open)
            }
            _ => None,
        }
    }

    /// How much of it is chosen; `None`: it is nothing to choose.
    pub fn amount(&self, row: Row) -> Option<Amount> {
        Some(match row {
            Row::Folder(node) => {
                let What::Folder(_, items) = &self.nodes[node].what else { return None };
                let amounts = self.items.list[items.clone()].iter().map(Item::amount);
                let free: Vec<Amount> = amounts.filter(|amount| *amount != Amount::Fixed).collect();
                let all = free.iter().filter(|amount| **amount == Amount::All).count();
                match free.contains(&Amount::Some) {
                    true => Amount::Some,
                    false => Amount::of(all, free.len()),
                }
            }
            Row::Item(_, item) => self.items.list[item].amount(),
            _ => self.items.list[self.item(row)?].amount_of(self.numbers(row)?),
        })
    }

    fn item(&self, row: Row) -> Option<usize> {
        match row {
            Row::Folder(_) => None,
            Row::Item(_, item) | Row::Mode(_, item) | Row::Hunk(_, item, _) | Row::Line(_, item, ..) => Some(item),
        }
    }

    /// The lines that a row stands for, by number.
    fn numbers(&self, row: Row) -> Option<Range<usize>> {
        let item = &self.items.list[self.item(row)?];
        match row {
            Row::Mode(..) => Some(0..1),
            Row::Hunk(_, _, hunk) => Some(item.numbers(item.text.as_ref()?.hunks.get(hunk)?)),
            Row::Line(_, _, hunk, line) => {
                let number = item.text.as_ref()?.hunks.get(hunk)?.lines.get(line)?.number?;
                let number = number as usize + usize::from(item.has_mode());
                Some(number..number + 1)
            }
            _ => None,
        }
    }

    /// Chooses what a row stands for, or no longer.
    pub fn toggle(&mut self, row: Row) {
        match row {
            Row::Folder(node) => {
                if let What::Folder(_, items) = &self.nodes[node].what {
                    self.toggle_items(items.clone());
                }
            }
            Row::Item(_, item) => {
                let item = &mut self.items.list[item];
                item.choose(item.amount() != Amount::All);
            }
            _ => {
                if let (Some(item), Some(numbers)) = (self.item(row), self.numbers(row)) {
                    let item = &mut self.items.list[item];
                    let wanted = item.amount_of(numbers.clone()) != Amount::All;
                    item.choose_lines(numbers, wanted);
                }
            }
        }
    }

    /// Chooses everything, or nothing at all.
    pub fn toggle_all(&mut self) {
        self.toggle_items(0..self.items.list.len());
    }

    /// What is flagged must be chosen by itself.
    fn toggle_items(&mut self, items: Range<usize>) {
        let plain = |item: &Item<'_>| item.details.risks.is_empty() && item.fixed.is_none();
        let items = &mut self.items.list[items];
        let wanted = items.iter().any(|item| plain(item) && item.amount() != Amount::All);
        for item in items.iter_mut().filter(|item| !wanted || plain(item)) {
            item.choose(wanted);
        }
    }

    /// Unfolds or folds a row. A line folds its item. Gives the row to go on from.
    pub fn fold(&mut self, row: usize, open: bool, contents: &dyn Contents) -> Result<usize, Unreadable> {
        let Some(what) = self.rows.get(row).copied() else { return Ok(row) };
        let (Row::Folder(node) | Row::Item(node, _) | Row::Mode(node, _) | Row::Hunk(node, ..) | Row::Line(node, ..)) =
            what;
        let is_own = matches!(what, Row::Folder(_) | Row::Item(..));
        if open && is_own && self.is_open(what) == Some(false) {
            if let Row::Item(_, item) = what {
                self.items.list[item].read(contents)?;
                self.make_room(item);
            }
            self.nodes[node].open = true;
        } else if !open && (!is_own || self.is_open(what) == Some(true)) {
            self.nodes[node].open = false;
        } else if !open {
            return Ok(self.parent(row));
        }
        self.lay_out();
        let same = |row: &Row| matches!(row, Row::Folder(n) | Row::Item(n, _) if *n == node);
        Ok(self.rows.iter().position(same).unwrap_or(0))
    }

    /// The folder that holds a row.
    fn parent(&self, row: usize) -> usize {
        let indent = self.indent(self.rows[row]);
        let above = self.rows[..row].iter().rposition(|above| self.indent(*above) < indent);
        above.unwrap_or(row)
    }

    /// Lets go of texts of which no single line is chosen, if too much is held.
    fn make_room(&mut self, but: usize) {
        let held: usize = self.items.list.iter().filter_map(|item| Some(item.text.as_ref()?.held())).sum();
        if held <= MOST_HELD {
            return;
        }
        for node in &mut self.nodes {
            let What::Item(number) = node.what else { continue };
            let item = &mut self.items.list[number];
            if number != but && item.amount() != Amount::Some {
                item.text = None;
                node.open = false;
            }
        }
    }
}

/// Folders before what is in them. Items are in the order of their paths' bytes, so those of a folder lie together.
fn nodes(items: &[Item<'_>]) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut above: Vec<usize> = Vec::new();
    for (number, item) in items.iter().enumerate() {
        let folder = item.change.path.parent().unwrap_or(Path::new(""));
        while let Some(last) = above.last().copied() {
            let What::Folder(path, _) = &nodes[last].what else { break };
            if folder.starts_with(path) {
                break;
            }
            close(&mut nodes, last, number);
            above.pop();
        }
        let depth = above.len();
        let missing = folder.ancestors().take(folder.iter().count().saturating_sub(depth)).collect::<Vec<_>>();
        for path in missing.into_iter().rev() {
            let what = What::Folder(path.to_path_buf(), number..number);
            nodes.push(Node { what, depth: above.len(), end: 0, open: true });
            above.push(nodes.len() - 1);
        }
        let end = nodes.len() + 1;
        nodes.push(Node { what: What::Item(number), depth: above.len(), end, open: false });
    }
    for last in above.into_iter().rev() {
        close(&mut nodes, last, items.len());
    }
    nodes
}

fn close(nodes: &mut [Node], folder: usize, next_item: usize) {
    let end = nodes.len();
    nodes[folder].end = end;
    if let What::Folder(_, items) = &mut nodes[folder].what {
        items.end = next_item;
    }
}

//! The full-screen picker: moving about, choosing, folding.

use std::io;

use console::truncate_str;

use super::items::Items;
use super::tree::{Row, Tree};
use super::view::{self, HELP, KEYS};
use super::{Depth, Ended};
use crate::changes::contents::Contents;
use crate::changes::read::Unreadable;
use crate::ui::key::Key;
use crate::ui::tty::{Event, Extent, Tty};

/// So few files are shown with their lines at once.
const FEW: usize = 3;

/// What is on the screen.
struct Picker<'a> {
    tree: Tree<'a>,
    /// The row of the cursor.
    at: usize,
    /// The first row that is shown.
    top: usize,
    help: bool,
    color: bool,
    title: String,
}

/// Lets a person choose. The items are given back as they were left.
pub fn run<'a>(
    items: Items<'a>,
    depth: Depth,
    title: &str,
    contents: &dyn Contents,
    color: bool,
) -> Result<(Items<'a>, Ended), Unreadable> {
    let few = depth == Depth::Lines && items.list.len() <= FEW;
    let tree = Tree::new(items, depth);
    let mut picker = Picker { tree, at: 0, top: 0, help: false, color, title: title.to_owned() };
    if few {
        picker.unfold_all(contents)?;
    }
    let ended = match Tty::open(Extent::Screen) {
        Ok(mut tty) => picker.talk(&mut tty, contents)?,
        Err(_) => Ended::Gone,
    };
    Ok((picker.tree.items, ended))
}

impl Picker<'_> {
    fn unfold_all(&mut self, contents: &dyn Contents) -> Result<(), Unreadable> {
        let mut row = 0;
        while row < self.tree.rows.len() {
            if matches!(self.tree.rows[row], Row::Item(..)) {
                self.tree.fold(row, true, contents)?;
            }
            row += 1;
        }
        Ok(())
    }

    fn talk(&mut self, tty: &mut Tty, contents: &dyn Contents) -> Result<Ended, Unreadable> {
        loop {
            let (rows, columns) = tty.size();
            if self.draw(tty, rows, columns).is_err() {
                return Ok(Ended::Gone);
            }
            let key = match tty.event() {
                Event::Gone => return Ok(Ended::Gone),
                Event::Redraw => continue,
                Event::Key(key) => key,
            };
            if self.help {
                self.help = false;
                continue;
            }
            match key {
                Key::Interrupt | Key::Escape | Key::Char('q') => return Ok(Ended::Left),
                Key::Enter => return Ok(Ended::Chosen),
                Key::Char('?') => self.help = true,
                _ => self.press(key, rows, contents)?,
            }
        }
    }

    fn press(&mut self, key: Key, rows: usize, contents: &dyn Contents) -> Result<(), Unreadable> {
        let last = self.tree.rows.len().saturating_sub(1);
        let page = rows.saturating_sub(3).max(1);
        match key {
            Key::Up | Key::Char('k') => self.at = self.at.saturating_sub(1),
            Key::Down | Key::Char('j') => self.at = (self.at + 1).min(last),
            Key::PageUp => self.at = self.at.saturating_sub(page),
            Key::PageDown => self.at = (self.at + page).min(last),
            Key::Home | Key::Char('g') => self.at = 0,
            Key::End | Key::Char('G') => self.at = last,
            Key::Char(' ') => {
                if let Some(row) = self.tree.rows.get(self.at).copied() {
                    self.tree.toggle(row);
                }
            }
            Key::Char('a') => self.tree.toggle_all(),
            Key::Right | Key::Char('l') => self.at = self.tree.fold(self.at, true, contents)?,
            Key::Left | Key::Char('h') => self.at = self.tree.fold(self.at, false, contents)?,
            _ => {}
        }
        Ok(())
    }

    fn draw(&mut self, tty: &Tty, rows: usize, columns: usize) -> io::Result<()> {
        let room = rows.saturating_sub(3).max(1);
        // No rows are missed above while there is room below.
        let last = self.tree.rows.len().saturating_sub(room);
        self.top = self.top.min(self.at).min(last).max((self.at + 1).saturating_sub(room));
        let cut = |text: &str| truncate_str(text, columns.saturating_sub(1), "").into_owned();
        let mut lines = vec![cut(&self.head())];
        if self.help {
            lines.extend(HELP.iter().take(room).map(|line| cut(line)));
        } else {
            let shown = self.tree.rows.iter().enumerate().skip(self.top).take(room);
            lines.extend(shown.map(|(at, row)| view::row(&self.tree, *row, at == self.at, columns, self.color)));
        }
        lines.resize(room + 1, String::new());
        lines.push(cut(&self.reason()));
        lines.push(cut(KEYS));
        lines.truncate(rows);
        let mut frame = String::from("\x1b[H");
        for (number, line) in lines.iter().enumerate() {
            frame.push_str(if number == 0 { "" } else { "\n" });
            frame.push_str(line);
            frame.push_str("\x1b[K");
        }
        frame.push_str("\x1b[J");
        tty.write(&frame)
    }

    fn head(&self) -> String {
        let items = &self.tree.items;
        let flagged = items.list.iter().filter(|item| !item.details.risks.is_empty()).count();
        let flagged = if flagged > 0 { format!(" · {flagged} flagged") } else { String::new() };
        format!("{} · {} of {} chosen{flagged}", self.title, items.chosen(), items.list.len())
    }

    /// All that is said against the change under the cursor: its row may be too short for it.
    fn reason(&self) -> String {
        match self.tree.rows.get(self.at) {
            Some(Row::Item(_, item)) => view::label(&self.tree.items.list[*item]).unwrap_or_default(),
            _ => String::new(),
        }
    }
}

//! The picker for dumb terminals and for ears: one question after the other, answered with a letter and Enter.

use std::ops::Range;

use super::items::{Amount, Item, Items};
use super::text::{Hunk, Sign, Text};
use super::view;
use super::{Depth, Ended};
use crate::changes::contents::Contents;
use crate::changes::read::Unreadable;
use crate::error::show;
use crate::ui::answers::Answers;
use crate::ui::{Ui, sanitize};

const HELP: &str = "\
y - apply this
n - leave this in the session
q - leave this and all that follows
a - apply this and all that follows in this file
d - leave this and all that follows in this file
s - split this into smaller parts
? - say this again
";

/// What goes on after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    Yes,
    No,
    Rest(bool),
    Quit,
    Split,
}

/// Asks for each item in turn.
pub fn run(items: &mut Items<'_>, depth: Depth, contents: &dyn Contents, ui: &Ui) -> Result<Ended, Unreadable> {
    let Ok(answers) = Answers::new() else { return Ok(Ended::Gone) };
    let mut talk = Talk { answers, ui };
    items.list.iter_mut().for_each(|item| item.choose(false));
    for item in &mut items.list {
        if depth == Depth::Lines {
            item.read(contents)?;
        }
        match talk.item(item) {
            Some(true) => {}
            Some(false) => return Ok(Ended::Chosen),
            None => return Ok(Ended::Gone),
        }
    }
    Ok(Ended::Chosen)
}

/// Lines by their numbers, and whether they are wanted.
type Wish = (Range<usize>, bool);

struct Talk<'u> {
    answers: Answers,
    ui: &'u Ui,
}

impl Talk<'_> {
    /// `Some(false)`: no more of it. `None`: broken off.
    fn item(&mut self, item: &mut Item<'_>) -> Option<bool> {
        let path = show(&item.change.path);
        self.ui.show(&format!("{} {path}{}\n", item.change.kind.letter(), about(item)));
        if item.fixed.is_some() {
            return Some(true);
        }
        let Some(text) = item.text.take() else {
            let reply = self.ask(&format!("Apply this {}", what(item)), false)?;
            item.choose(matches!(reply, Reply::Yes | Reply::Rest(true)));
            return Some(reply != Reply::Quit);
        };
        let goes_on = self.hunks(item, &text);
        // Choosing has numbered the lines by it.
        item.text = Some(text);
        let (chosen, goes_on) = goes_on?;
        for (numbers, wanted) in chosen {
            item.choose_lines(numbers, wanted);
        }
        if item.amount() != Amount::Some {
            item.text = None;
        }
        Some(goes_on)
    }

    /// The answers for every part of a file, and whether there will be more.
    fn hunks(&mut self, item: &Item<'_>, text: &Text) -> Option<(Vec<Wish>, bool)> {
        let mut chosen = Vec::new();
        let mut all = None;
        if item.has_mode() {
            match self.ask("Apply this change of permission bits", false)? {
                Reply::Quit => return Some((chosen, false)),
                Reply::Rest(wanted) => {
                    chosen.push((0..1, wanted));
                    all = Some(wanted);
                }
                reply => chosen.push((0..1, reply == Reply::Yes)),
            }
        }
        let mut left: Vec<Hunk> = text.hunks.iter().rev().cloned().collect();
        let mut count = left.len();
        while let Some(hunk) = left.pop() {
            let numbers = item.numbers(&hunk);
            if let Some(wanted) = all {
                chosen.push((numbers, wanted));
                continue;
            }
            self.show(&hunk, text);
            let parts = hunk.split();
            let question = format!("({}/{count}) Apply this hunk", count - left.len());
            match self.ask(&question, parts.len() > 1)? {
                Reply::Quit => return Some((chosen, false)),
                Reply::Split => {
                    count += parts.len() - 1;
                    left.extend(parts.into_iter().rev());
                }
                Reply::Rest(wanted) => {
                    chosen.push((numbers, wanted));
                    all = Some(wanted);
                }
                reply => chosen.push((numbers, reply == Reply::Yes)),
            }
        }
        Some((chosen, true))
    }

    fn show(&self, hunk: &Hunk, text: &Text) {
        let color = self.ui.talk_color();
        let paint = |code: &str, line: String| match color && !code.is_empty() {
            true => format!("\x1b[{code}m{line}\x1b[0m\n"),
            false => format!("{line}\n"),
        };
        let mut out = paint("36", hunk.place.clone());
        for line in &hunk.lines {
            let (sign, code) = match line.sign {
                Sign::Same => (' ', ""),
                Sign::Gone => ('-', "31"),
                Sign::New => ('+', "32"),
            };
            let bytes = text.line(line);
            let whole = bytes.strip_suffix(b"\n");
            out.push_str(&paint(code, format!("{sign}{}", sanitize::line(whole.unwrap_or(bytes)))));
            if whole.is_none() {
                out.push_str("\\ No newline at end of file\n");
            }
        }
        self.ui.show(&out);
    }

    fn ask(&mut self, question: &str, splits: bool) -> Option<Reply> {
        let letters = if splits { "y,n,q,a,d,s,?" } else { "y,n,q,a,d,?" };
        loop {
            self.ui.show(&format!("{question} [{letters}]? "));
            let Some(line) = self.answers.line() else {
                self.ui.show("\n");
                return None;
            };
            match line.as_str() {
                "y" => return Some(Reply::Yes),
                "n" => return Some(Reply::No),
                "q" => return Some(Reply::Quit),
                "a" => return Some(Reply::Rest(true)),
                "d" => return Some(Reply::Rest(false)),
                "s" if splits => return Some(Reply::Split),
                "s" => self.ui.show("this cannot be split\n"),
                _ => self.ui.show(HELP),
            }
        }
    }
}

/// What is to be known of an item before the question.
fn about(item: &Item<'_>) -> String {
    let words = view::amount_words(item);
    let from = item.change.from.as_ref().map(|from| format!(" (was {})", show(from))).unwrap_or_default();
    match view::label(item) {
        Some(label) => format!("{from} ({words})\n{label}"),
        None => format!("{from} ({words})"),
    }
}

fn what(item: &Item<'_>) -> &'static str {
    use crate::changes::ChangeKind::{Added, Deleted, ModeChanged, Modified, Renamed, TypeChanged};
    match item.change.kind {
        Added => "addition",
        Deleted => "deletion",
        ModeChanged => "change of permission bits",
        Renamed => "rename",
        TypeChanged => "change of type",
        Modified => "change",
    }
}

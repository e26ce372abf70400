//! One question with a few answers: a key for each, or arrows and Enter.

use std::fmt::Write;

use console::truncate_str;

use crate::ui::Ui;
use crate::ui::answers::Answers;
use crate::ui::key::Key;
use crate::ui::tty::{Event, Extent, Tty};

/// One answer.
#[derive(Clone, Copy, Debug)]
pub struct Choice<T> {
    /// Its key.
    pub key: char,
    /// What it does, in a few words.
    pub words: &'static str,
    /// What it stands for.
    pub answer: T,
}

/// Asks. `None`: Ctrl-C, or nobody is there any more.
pub fn ask<T: Copy>(ui: &Ui, title: &str, choices: &[Choice<T>], start: usize) -> Option<T> {
    if !ui.can_draw() {
        return ask_plainly(ui, title, choices);
    }
    let mut tty = Tty::open(Extent::Lines).ok()?;
    let mut at = start;
    let mut drawn = 0;
    let answer = loop {
        let menu = draw(title, choices, at, drawn, tty.size().1, ui.talk_color());
        drawn = choices.len() + 1;
        if tty.write(&menu).is_err() {
            break None;
        }
        match tty.event() {
            Event::Gone | Event::Key(Key::Interrupt) => break None,
            Event::Key(Key::Up) => at = (at + choices.len() - 1) % choices.len(),
            Event::Key(Key::Down) => at = (at + 1) % choices.len(),
            Event::Key(Key::Home) => at = 0,
            Event::Key(Key::End) => at = choices.len() - 1,
            Event::Key(Key::Enter) => break Some(at),
            Event::Key(Key::Char(key)) => {
                if let Some(found) = choices.iter().position(|choice| choice.key == key.to_ascii_lowercase()) {
                    break Some(found);
                }
            }
            Event::Key(_) | Event::Redraw => {}
        }
    };
    // Of the menu only the answer stays.
    let words = answer.map_or("", |at| choices[at].words);
    let _ = tty.write(&format!("\r\x1b[{drawn}A\x1b[J{title} {words}\n"));
    answer.map(|at| choices[at].answer)
}

/// The menu, over the `drawn` lines of the one before.
fn draw<T>(title: &str, choices: &[Choice<T>], at: usize, drawn: usize, columns: usize, color: bool) -> String {
    let mut out = String::from("\r");
    if drawn > 0 {
        let _ = write!(out, "\x1b[{drawn}A");
    }
    // One column less: a full line would break.
    let cut = |line: &str| truncate_str(line, columns.saturating_sub(1), "").into_owned();
    let _ = writeln!(out, "\x1b[J{}", cut(title));
    for (number, choice) in choices.iter().enumerate() {
        let line = cut(&format!("{} {}  {}", if number == at { '>' } else { ' ' }, choice.key, choice.words));
        let _ = match number == at && color {
            true => writeln!(out, "\x1b[1m{line}\x1b[0m"),
            false => writeln!(out, "{line}"),
        };
    }
    out
}

/// The same for a terminal that cannot be drawn on.
fn ask_plainly<T: Copy>(ui: &Ui, title: &str, choices: &[Choice<T>]) -> Option<T> {
    let mut answers = Answers::new().ok()?;
    let list: Vec<String> = choices.iter().map(|choice| format!("{} = {}", choice.key, choice.words)).collect();
    loop {
        ui.show(&format!("{title} {}\n> ", list.join(", ")));
        let Some(line) = answers.line() else {
            ui.show("\n");
            return None;
        };
        let said = line.to_lowercase();
        let meant = |choice: &&Choice<T>| !said.is_empty() && (said == choice.key.to_string() || said == choice.words);
        if let Some(choice) = choices.iter().find(meant) {
            return Some(choice.answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_window_cuts_and_never_breaks_a_line() {
        let choices =
            [Choice { key: 'a', words: "apply all", answer: () }, Choice { key: 'k', words: "keep", answer: () }];
        insta::assert_snapshot!(draw("What now?", &choices, 1, 0, 80, false).trim_start().replace('\x1b', "^"), @r"
        ^[JWhat now?
          a  apply all
        > k  keep
        ");
        let narrow = draw("What now?", &choices, 0, 3, 8, false);
        assert!(narrow.starts_with("\r\x1b[3A\x1b[J"));
        assert!(narrow.lines().skip(1).all(|line| line.chars().count() < 8), "{narrow:?}");
    }
}

//! Yes-or-no questions that leave the terminal as it was.

use dialoguer::theme::{SimpleTheme, Theme};

use super::key::Key;
use super::tty::{Event, Extent, Tty};
use crate::error::{Error, Kind, Result};

/// Asks; `Ok(false)` for no, an `Interrupted` error for Ctrl-C or if nobody is there any more. Keys are read by
/// [`Tty`]: dialoguer would die of Ctrl-C with the cursor hidden.
pub fn confirm(question: &str) -> Result<bool> {
    let answer = if super::can_draw() { ask(question, Extent::Lines) } else { ask(question, Extent::Plain) };
    answer.ok_or_else(|| Error::of(Kind::Interrupted, "interrupted, nothing was done"))
}

fn ask(question: &str, extent: Extent) -> Option<bool> {
    let mut prompt = String::new();
    SimpleTheme.format_confirm_prompt(&mut prompt, question, Some(false)).ok()?;
    let mut tty = Tty::open(extent).ok()?;
    let again = if extent == Extent::Plain { "\n" } else { "\r\x1b[2K" };
    tty.write(&prompt).ok()?;
    let answer = loop {
        match tty.event() {
            Event::Key(Key::Char('y' | 'Y')) => break Some(true),
            Event::Key(Key::Char('n' | 'N') | Key::Enter | Key::Escape) => break Some(false),
            Event::Key(Key::Interrupt) | Event::Gone => break None,
            Event::Redraw => tty.write(&format!("{again}{prompt}")).ok()?,
            Event::Key(_) => {}
        }
    };
    let mut said = String::new();
    SimpleTheme.format_confirm_prompt_selection(&mut said, question, answer).ok()?;
    let _ = tty.write(&format!("{again}{said}\n"));
    answer
}

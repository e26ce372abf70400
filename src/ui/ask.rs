//! Yes-or-no questions that leave the terminal as it was.

use console::Term;
use dialoguer::Confirm;

use crate::error::{Error, Kind, Result};

/// dialoguer hides the cursor and leaves it hidden on Ctrl-C: showing it again is our job.
struct CursorGuard(Term);

impl Drop for CursorGuard {
    fn drop(&mut self) {
        let _ = self.0.show_cursor();
    }
}

/// Asks; `Ok(false)` for no, an `Interrupted` error for Ctrl-C or end of input.
pub fn confirm(question: &str) -> Result<bool> {
    let term = Term::stderr();
    let _guard = CursorGuard(term.clone());
    Confirm::new()
        .with_prompt(question)
        .default(false)
        .interact_on(&term)
        .map_err(|_| Error::of(Kind::Interrupted, "interrupted, nothing was done"))
}

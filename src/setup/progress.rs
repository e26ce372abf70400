//! Telling a person how the setup goes: one live line on a terminal, plain lines elsewhere.

use std::time::{Duration, Instant};

use super::room::{Ended, Watcher};
use crate::ui::{Ui, sanitize};

/// What is shown of a step that failed.
const LINES: usize = 20;

/// Steps that run at the same time, while they do.
pub struct Progress<'a> {
    ui: &'a Ui,
    names: Vec<String>,
    /// `2/5`
    place: String,
    started: Instant,
    shown: Option<u64>,
}

impl<'a> Progress<'a> {
    /// For these steps; `place` says where in the row they stand.
    pub fn new(ui: &'a Ui, names: Vec<String>, place: String) -> Self {
        let progress = Self { ui, names, place, started: Instant::now(), shown: None };
        if !ui.is_live() {
            ui.say(&format!("setup {}: {}", progress.place, progress.names.join(", ")));
        }
        progress
    }

    /// What is left on the screen when they have ended well.
    pub fn done(&self) {
        self.ui.clear_live();
        let took = short(self.started.elapsed());
        if self.ui.is_live() {
            self.ui.say(&format!("setup {}: {} · {took}", self.place, self.names.join(", ")));
        } else {
            self.ui.detail(&format!("setup {}: done in {took}", self.place));
        }
    }

    /// The end of what a step printed, before it failed.
    pub fn failed(&self, ended: &Ended) {
        self.ui.clear_live();
        if self.ui.is_verbose() {
            return; // It has been shown already.
        }
        let lines = sanitize::output(&ended.tail);
        for line in &lines[lines.len().saturating_sub(LINES)..] {
            self.ui.quote(line);
        }
    }
}

impl Watcher for Progress<'_> {
    fn tick(&mut self) {
        let seconds = self.started.elapsed().as_secs();
        if self.ui.is_live() && self.shown != Some(seconds) {
            self.shown = Some(seconds);
            let names = self.names.join(", ");
            self.ui.live(&format!("setup {}: {names} · {}", self.place, short(self.started.elapsed())));
        }
    }

    fn output(&mut self, _job: usize, bytes: &[u8]) {
        if self.ui.is_verbose() {
            sanitize::output(bytes).iter().for_each(|line| self.ui.quote(line));
        }
    }
}

/// `3.2 s`, `2 min 5 s`
pub fn short(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        10..60 => format!("{} s", time.as_secs()),
        more => format!("{} min {} s", more / 60, more % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        let all = [(900, "0.9 s"), (12_500, "12 s"), (125_000, "2 min 5 s")];
        for (millis, text) in all {
            assert_eq!(short(Duration::from_millis(millis)), text);
        }
    }
}

//! A batch on the screen: one line for all, one for every run that goes on. Elsewhere a line for each that has ended.

use std::time::{Duration, Instant};

use crate::task::report::{Entry, seconds};
use crate::ui::Ui;

/// How often it is drawn.
const REDRAW: Duration = Duration::from_millis(200);

/// What is drawn.
pub struct Table<'a> {
    ui: &'a Ui,
    live: bool,
    total: usize,
    passed: usize,
    failed: usize,
    began: Instant,
    drawn: usize,
    last: Option<Instant>,
}

impl<'a> Table<'a> {
    /// For so many runs.
    pub fn new(ui: &'a Ui, total: usize) -> Self {
        Self { ui, live: ui.is_live(), total, passed: 0, failed: 0, began: Instant::now(), drawn: 0, last: None }
    }

    /// A run has ended.
    pub fn ended(&mut self, entry: &Entry, line: &str) {
        if entry.outcome.is_good() {
            self.passed += 1;
        } else {
            self.failed += 1;
        }
        self.last = None;
        // On the screen the table tells, and the summary in the end.
        if !self.live {
            self.ui.say(line);
        }
    }

    /// Draws those that go on: task, stage, since when.
    pub fn draw<'r>(&mut self, running: impl Iterator<Item = (&'r str, &'r str, Instant)>) {
        if !self.live || self.last.is_some_and(|last| last.elapsed() < REDRAW) {
            return;
        }
        let rows: Vec<(&str, &str, Instant)> = running.collect();
        let width = self.ui.talk_width().saturating_sub(1);
        let mut lines = vec![format!(
            "{} running · {} passed · {} failed · {} left · {}",
            rows.len(),
            self.passed,
            self.failed,
            self.total.saturating_sub(self.passed + self.failed + rows.len()),
            seconds(millis(self.began))
        )];
        lines.extend(
            rows.iter().map(|(task, stage, began)| format!("  {:>8}  {stage:<9} {task}", seconds(millis(*began)))),
        );
        self.clear();
        let text: String = lines.iter().map(|line| line.chars().take(width).collect::<String>() + "\n").collect();
        self.ui.show(&text);
        self.drawn = lines.len();
        self.last = Some(Instant::now());
    }

    /// Takes it off the screen, before anything else is said. A terminal may have shown what was typed behind it.
    pub fn clear(&mut self) {
        if self.drawn > 0 {
            self.ui.show(&format!("\r\x1b[{}A\x1b[J", self.drawn));
            self.drawn = 0;
            self.last = None;
        }
    }
}

fn millis(began: Instant) -> u64 {
    crate::task::desk::millis(began)
}

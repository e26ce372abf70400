//! The review: what changed at a glance, one question, and every way to answer it.

mod choices;
mod ends;
mod hunks;
mod plain;
mod question;

use crate::common::{Sandbox, Terminal};

/// The screen as a person sees it, with what differs from run to run replaced.
macro_rules! screen {
    ($terminal:expr, @$expected:literal) => {{
        let terminal = &$terminal;
        let mut settings = terminal.settings();
        // An empty screen is high.
        settings.add_filter(r"\n{3,}", "\n\n");
        settings.bind(|| {
            insta::allow_duplicates! { insta::assert_snapshot!(terminal.still().text(), @$expected) }
        });
    }};
}
use screen;

/// A run that ends with the question.
fn run(sandbox: &Sandbox, script: &str) -> Terminal {
    let terminal = sandbox.shell(&["--name", "it"], script).env("TERM", "xterm").terminal(40, 100);
    terminal.until("the question", |screen| screen.text().ends_with("d  discard"));
    terminal
}

/// Lines `1` to `30`, with some of them changed.
fn numbers(changed: &[(u32, &str)]) -> String {
    let line = |n: u32| match changed.iter().find(|(line, _)| *line == n) {
        Some((_, text)) => format!("{text}\n"),
        None => format!("{n}\n"),
    };
    (1..=30).map(line).collect()
}

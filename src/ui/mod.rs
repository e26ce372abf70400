//! The one place that writes to the terminal: data on stdout, talk on stderr.

pub mod answers;
pub mod ask;
pub mod key;
pub mod sanitize;
pub mod tty;

use std::fs::File;
use std::io::{self, IsTerminal, Write};

use crate::cli::{ColorChoice, GlobalArgs};
use crate::diff::Style;
use crate::error::{Error, Result};

/// Prefix of every line of ours: the command's own output may surround it.
const NAME: &str = "cowbox: ";

/// Where and how cowbox talks.
#[derive(Debug)]
pub struct Ui {
    quiet: bool,
    verbose: u8,
    no_input: bool,
    color: bool,
    data_color: bool,
    /// Where talk goes instead of stderr.
    talk: Option<File>,
}

impl Ui {
    /// Decides colour and verbosity once.
    pub fn new(global: &GlobalArgs) -> Self {
        let color = |auto: bool| match global.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => auto,
        };
        let data_terminal = io::stdout().is_terminal();
        Self {
            quiet: global.quiet,
            verbose: global.verbose,
            no_input: global.no_input,
            color: color(auto_color(io::stderr().is_terminal())),
            // A variable that forces colours must not spoil a patch for the program that reads it.
            data_color: color(data_terminal && auto_color(data_terminal)),
            talk: None,
        }
    }

    /// The same, with its talk in a file.
    pub fn talking_to(self, talk: File) -> Self {
        Self { talk: Some(talk), ..self }
    }

    /// A closed stderr must not end a run that is otherwise fine.
    fn write(&self, text: &str) {
        let _ = match &self.talk {
            Some(talk) => (&*talk).write_all(text.as_bytes()),
            None => {
                let mut out = io::stderr().lock();
                out.write_all(text.as_bytes()).and_then(|()| out.flush())
            }
        };
    }

    /// Says something that matters to a person, unless `-q`.
    pub fn say(&self, text: &str) {
        if !self.quiet {
            self.line(text);
        }
    }

    /// Says something that only helps when looking for a problem (`-v`).
    pub fn detail(&self, text: &str) {
        if self.is_verbose() {
            self.line(text);
        }
    }

    /// Says something that must not be missed; `-q` does not hide it.
    pub fn warn(&self, text: &str) {
        let label = self.paint("33", "warning:");
        self.line(&format!("{label} {text}"));
    }

    /// Shows a line that somebody else wrote; the caller has escaped it.
    pub fn quote(&self, text: &str) {
        self.line(&format!("  | {text}"));
    }

    /// Whether a line can be written over and over: stderr is a terminal that can, and nobody asked for quiet.
    pub fn is_live(&self) -> bool {
        can_draw() && !self.quiet && self.verbose == 0 && io::stderr().is_terminal()
    }

    /// Writes a line that the next one takes the place of.
    pub fn live(&self, text: &str) {
        let width = rustix::termios::tcgetwinsize(io::stderr()).map_or(80, |size| usize::from(size.ws_col).max(20));
        let text: String = format!("{NAME}{text}").chars().take(width - 1).collect();
        let _ = write!(io::stderr().lock(), "\r\x1b[2K{text}");
    }

    /// Takes it away.
    pub fn clear_live(&self) {
        if self.is_live() {
            let _ = write!(io::stderr().lock(), "\r\x1b[2K");
        }
    }

    /// Whether `-v` was given.
    pub fn is_verbose(&self) -> bool {
        self.verbose > 0
    }

    /// Prints a failure and its next steps.
    pub fn error(&self, error: &Error) {
        let label = self.paint("31", "error:");
        self.line(&format!("{label} {}", one_line(error.message())));
        for hint in error.hints() {
            let label = self.paint("36", "hint:");
            self.line(&format!("{label} {hint}"));
        }
    }

    /// Writes data to stdout. A reader that went away is not a failure.
    pub fn data(&self, bytes: &[u8]) -> Result<()> {
        let mut out = io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
                Err(Error::new(format!("cannot write to stdout: {}", crate::error::reason(&e))))
            }
            _ => Ok(()),
        }
    }

    /// Writes one JSON document to stdout.
    pub fn json(&self, value: &impl serde::Serialize) -> Result<()> {
        let mut text = serde_json::to_vec_pretty(value).map_err(|e| Error::new(format!("cannot write JSON: {e}")))?;
        text.push(b'\n');
        self.data(sanitize::json(&String::from_utf8_lossy(&text)).as_bytes())
    }

    /// Whether a question can be asked: both ends are a terminal, and `--no-input` was not given.
    pub fn can_ask(&self) -> bool {
        !self.no_input && io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Whether stderr can be drawn on, instead of written line by line.
    pub fn can_draw(&self) -> bool {
        can_draw()
    }

    /// Columns of the terminal that stderr is.
    pub fn talk_width(&self) -> usize {
        let size = rustix::termios::tcgetwinsize(io::stderr());
        size.ok().map(|size| usize::from(size.ws_col)).filter(|n| *n > 0).unwrap_or(80)
    }

    /// Whether talk may have colours.
    pub fn talk_color(&self) -> bool {
        self.color
    }

    /// Shows something that belongs to a question, as it is: what came from a session has been escaped.
    pub fn show(&self, text: &str) {
        self.write(text);
    }

    /// How data of a session is written to stdout.
    pub fn style(&self) -> Style {
        Style::new(self.data_color, io::stdout().is_terminal())
    }

    /// Whether stdout may go through a pager: a person is there, can press keys, and did not ask for quiet.
    pub fn may_page(&self) -> bool {
        can_draw() && !self.quiet && !self.no_input && io::stdout().is_terminal()
    }

    /// Columns of the terminal that stdout is.
    pub fn width(&self) -> Option<usize> {
        rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col)).filter(|n| *n > 0)
    }

    /// Whether `-q` was given.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn line(&self, text: &str) {
        self.write(&format!("{NAME}{text}\n"));
    }
}

/// Whether a terminal of ours can do more than show one line after the other.
fn can_draw() -> bool {
    std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// `NO_COLOR` wins, then the FORCE variables, then whether the stream is a terminal that can.
fn auto_color(terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty() && v != "0");
    if std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty()) {
        return false;
    }
    if set("CLICOLOR_FORCE") || set("FORCE_COLOR") {
        return true;
    }
    terminal && std::env::var_os("TERM").is_some_and(|t| t != "dumb")
}

/// Errors of an engine may span lines: one line is what we promise.
fn one_line(text: &str) -> String {
    text.split('\n').map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("; ")
}

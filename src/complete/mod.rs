//! What may come next on a command line. Shells ask at every press of a key: the answer reads cowbox's own records and
//! one directory of a layer, calls no engine, says nothing when something is wrong, and is given within a few milliseconds.

mod line;
mod paths;
mod script;
mod sessions;
mod shell;
mod values;

use std::ffi::OsString;
use std::io::Write;
use std::time::{Duration, Instant};

pub use script::script;
pub use shell::Shell;

use line::Line;
use values::Asked;

/// The word by which the scripts ask; no verb for people.
pub const VERB: &str = "__complete";

/// What is not found by then is left out.
const TIME: Duration = Duration::from_millis(12);

/// How a shell treats the candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Words, as they are.
    Words,
    /// Paths of the session; those that end in `/` go on.
    Paths,
    /// The shell itself knows: files.
    Files,
    /// The shell itself knows: directories.
    Dirs,
    /// The shell itself knows: a command.
    Command,
}

/// One candidate with a word about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What would stand there.
    pub value: String,
    /// For shells that show it.
    pub about: String,
}

/// All of them.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// How to treat them.
    pub kind: Kind,
    /// Those that begin with what was typed.
    pub candidates: Vec<Candidate>,
}

impl Answer {
    fn of(kind: Kind) -> Self {
        Self { kind, candidates: Vec::new() }
    }
}

/// Answers `__complete SHELL WORD…`: the words up to the cursor, the last one being typed.
pub fn run(args: &[OsString]) {
    let deadline = Instant::now() + TIME;
    let Some((shell, words)) = args.split_first() else { return };
    let Some(shell) = shell.to_str().and_then(Shell::parse) else { return };
    let words = shell.words(words);
    let mut command = crate::cli::command();
    command.build();
    let Some(line) = Line::read(&command, &words) else { return };
    let answer = values::answer(&Asked { line: &line, deadline });
    let _ = std::io::stdout().lock().write_all(shell.write(&answer, &line).as_bytes());
}

//! What went wrong, why, and what to do next. The kind decides the exit code.

use std::fmt;
use std::io;
use std::path::Path;

use rustix::io::Errno;

use crate::ui::sanitize;

/// Result of everything that a verb calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The exit codes of the design, each by its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The verb failed.
    Failed,
    /// The command line is wrong.
    Usage,
    /// Refused because of conflicts with the host.
    Conflict,
    /// Refused because consent is missing.
    Consent,
    /// `--timeout` ran out.
    Timeout,
    /// cowbox or the engine failed before the command started.
    NotStarted,
    /// The command exists and cannot be executed.
    NotExecutable,
    /// The command was not found.
    NotFound,
    /// The user interrupted a prompt.
    Interrupted,
}

impl Kind {
    /// The exit code of the process for this kind.
    pub fn exit_code(self) -> u8 {
        match self {
            Kind::Failed => 1,
            Kind::Usage => 2,
            Kind::Conflict => 3,
            Kind::Consent => 4,
            Kind::Timeout => 124,
            Kind::NotStarted => 125,
            Kind::NotExecutable => 126,
            Kind::NotFound => 127,
            Kind::Interrupted => 130,
        }
    }
}

/// One failure: what happened, with the next steps kept apart from it.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    message: String,
    hints: Vec<String>,
    of_host: bool,
}

impl Error {
    /// A plain failure.
    pub fn new(message: impl Into<String>) -> Self {
        Self::of(Kind::Failed, message)
    }

    /// A failure of a certain kind.
    pub fn of(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new(), of_host: false }
    }

    /// An I/O failure that names what was tried on which path.
    pub fn io(doing: &str, path: &Path, source: impl Into<io::Error>) -> Self {
        let source: io::Error = source.into();
        let error = Self::new(format!("cannot {doing} {}: {}", show(path), reason(&source))).because_of(&source);
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                error.hint("free some space (`cowbox gc`) or move the state with COWBOX_STATE_DIR")
            }
            _ => error,
        }
    }

    /// Adds the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Keeps in mind what it came from.
    #[must_use]
    pub fn because_of(mut self, source: &io::Error) -> Self {
        let code = source.raw_os_error().map(Errno::from_raw_os_error);
        self.of_host = matches!(code, Some(Errno::NOSPC | Errno::DQUOT | Errno::IO | Errno::ROFS));
        self
    }

    /// Whether the host's disk is at fault, whatever anybody put there.
    pub fn is_of_host(&self) -> bool {
        self.of_host
    }

    /// Puts what was being done in front of the message.
    #[must_use]
    pub fn context(mut self, doing: impl fmt::Display) -> Self {
        self.message = format!("{doing}: {}", self.message);
        self
    }

    /// The same failure, of another kind.
    #[must_use]
    pub fn with_kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// For `run`, `exec`, `shell`: a plain failure or a wrong usage means that nothing was started.
    #[must_use]
    pub fn before_start(self) -> Self {
        match self.kind {
            Kind::Failed | Kind::Usage => self.with_kind(Kind::NotStarted),
            _ => self,
        }
    }

    /// What kind of failure this is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        self.kind.exit_code()
    }

    /// What happened, in one line.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do next.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// A path for messages: escaped, so that no name can act on the terminal.
pub fn show(path: &Path) -> String {
    sanitize::path(path)
}

/// The operating system's words without Rust's ` (os error N)`.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

//! Why a run goes no further.

use std::io;

use super::outcome::Outcome;
use crate::error::{Error, Kind, reason};

/// The reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The run is over, with this outcome.
    Over(Outcome, String),
    /// cowbox was asked to stop: the run does not count, and can be done again.
    Stopped,
}

impl Halt {
    /// The task could not be tried.
    pub fn infra(why: impl Into<String>) -> Self {
        Halt::Over(Outcome::InfraError, why.into())
    }

    /// A stage took too long.
    pub fn timeout(why: impl Into<String>) -> Self {
        Halt::Over(Outcome::Timeout, why.into())
    }
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        match error.kind() {
            Kind::Interrupted => Halt::Stopped,
            _ => Halt::infra(error.message()),
        }
    }
}

impl From<io::Error> for Halt {
    fn from(error: io::Error) -> Self {
        Halt::infra(reason(&error))
    }
}

//! How a task ended, in one word.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::spec::Expect;

/// The word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// What was expected came.
    Passed,
    /// It did not.
    Failed,
    /// The command failed, as the task says it must.
    ExpectedFailure,
    /// The command succeeded where the task says that it must fail.
    UnexpectedPass,
    /// A stage took longer than it may.
    Timeout,
    /// The task could not be tried: no code, no environment, no engine.
    InfraError,
}

impl Outcome {
    /// All of them, the good ones first.
    pub const ALL: [Outcome; 6] = [
        Outcome::Passed,
        Outcome::ExpectedFailure,
        Outcome::Failed,
        Outcome::UnexpectedPass,
        Outcome::Timeout,
        Outcome::InfraError,
    ];

    /// Whether all is as it should be.
    pub fn is_good(self) -> bool {
        matches!(self, Outcome::Passed | Outcome::ExpectedFailure)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Passed => "passed",
            Outcome::Failed => "failed",
            Outcome::ExpectedFailure => "expected-failure",
            Outcome::UnexpectedPass => "unexpected-pass",
            Outcome::Timeout => "timeout",
            Outcome::InfraError => "infra-error",
        })
    }
}

/// What the exit code of the command means, and why if it is not good. Files and tests are looked at apart.
/// A command that is not there, or that nobody can execute, says nothing about the code, and so do shells for one.
pub fn of_exit(code: u8, expect: &Expect) -> (Outcome, Option<String>) {
    if matches!(code, 126 | 127) && expect.exit != Some(code) {
        return (Outcome::InfraError, Some(format!("the command could not be run: it ended with {code}")));
    }
    if expect.fail {
        return match code {
            0 => (Outcome::UnexpectedPass, Some("the command succeeded, and must fail".to_owned())),
            _ => (Outcome::ExpectedFailure, None),
        };
    }
    let wanted = expect.exit.unwrap_or(0);
    if code == wanted {
        return (Outcome::Passed, None);
    }
    (Outcome::Failed, Some(format!("the command ended with {code} instead of {wanted}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_judged_by_what_is_expected() {
        let expect = |exit: Option<u8>, fail: bool| Expect { exit, fail, ..Expect::default() };
        let word = |code: u8, exit: Option<u8>, fail: bool| of_exit(code, &expect(exit, fail)).0;
        assert_eq!(word(0, None, false), Outcome::Passed);
        assert_eq!(word(1, None, false), Outcome::Failed);
        assert_eq!(word(3, Some(3), false), Outcome::Passed);
        assert_eq!(word(0, Some(3), false), Outcome::Failed);
        assert_eq!(word(1, None, true), Outcome::ExpectedFailure);
        assert_eq!(word(0, None, true), Outcome::UnexpectedPass);
        for code in [126, 127] {
            assert_eq!(word(code, None, false), Outcome::InfraError);
            assert_eq!(word(code, None, true), Outcome::InfraError);
            assert_eq!(word(code, Some(3), false), Outcome::InfraError);
            assert_eq!(word(code, Some(code), false), Outcome::Passed);
        }
    }

    #[test]
    fn a_word_is_written_as_it_is_shown() {
        for outcome in Outcome::ALL {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.to_string());
        }
    }
}

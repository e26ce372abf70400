//! The state machine: what may follow what, and which verb helps where something is refused.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Its directory exists.
    Created,
    /// Its environment is being prepared.
    Preparing,
    /// Preparing failed.
    Failed,
    /// Prepared, not started.
    Ready,
    /// A command runs in it.
    Running,
    /// No command runs; its changes are kept.
    Stopped,
    /// Its changes are thrown away.
    Discarded,
}

/// What a verb wants to do with a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// `exec`, `shell`
    Enter,
    /// `stop`
    Stop,
    /// `run --resume`
    Resume,
    /// `diff`
    Read,
    /// `apply`
    Apply,
    /// `undo`
    Undo,
    /// `discard`
    Discard,
}

impl State {
    /// Every state, in the order of a life.
    pub const ALL: [State; 7] = [
        State::Created,
        State::Preparing,
        State::Failed,
        State::Ready,
        State::Running,
        State::Stopped,
        State::Discarded,
    ];

    /// Whether `next` may follow.
    pub fn may_become(self, next: State) -> bool {
        use State::{Created, Discarded, Failed, Preparing, Ready, Running, Stopped};
        matches!(
            (self, next),
            (Created, Preparing)
                | (Preparing, Ready | Failed)
                | (Ready, Running)
                | (Running, Stopped)
                | (Stopped, Running | Discarded)
                | (Failed, Discarded)
        )
    }

    /// Refuses an action that this state does not allow, and names the verb that would help.
    pub fn allow(self, action: Action, name: &str) -> Result<()> {
        use State::{Discarded, Failed, Running, Stopped};
        let allowed = match action {
            Action::Enter => matches!(self, Running | Failed),
            Action::Stop => self == Running,
            Action::Resume | Action::Apply | Action::Undo => self == Stopped,
            Action::Read => matches!(self, Running | Stopped),
            Action::Discard => matches!(self, Stopped | Failed),
        };
        if allowed {
            return Ok(());
        }
        let refused = Error::new(format!("session {name} is {self}, it cannot be {}", action.done()));
        Err(match (self, action) {
            (Stopped, Action::Enter) => refused.hint(format!("go on in it with `cowbox run --resume {name}`")),
            (Stopped, _) => refused.hint(format!("look at its changes with `cowbox diff {name}`")),
            (Running, _) => refused.hint(format!("stop it first with `cowbox stop {name}`")),
            (Discarded, _) => refused.hint("its changes are gone; start a new one with `cowbox run`"),
            (Failed, _) => refused.hint(format!(
                "its setup failed: `cowbox shell {name}` looks at it, `cowbox discard {name}` removes it"
            )),
            _ => refused.hint("wait until it is ready; `cowbox show` tells"),
        })
    }
}

impl Action {
    fn done(self) -> &'static str {
        match self {
            Action::Enter => "entered",
            Action::Stop => "stopped",
            Action::Resume => "resumed",
            Action::Read => "read",
            Action::Apply => "applied",
            Action::Undo => "undone",
            Action::Discard => "discarded",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Created => "created",
            State::Preparing => "preparing",
            State::Failed => "failed",
            State::Ready => "ready",
            State::Running => "running",
            State::Stopped => "stopped",
            State::Discarded => "discarded",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_transitions_of_the_design_exist() {
        let mut seen = Vec::new();
        for from in State::ALL {
            for to in State::ALL {
                if from.may_become(to) {
                    seen.push(format!("{from}→{to}"));
                }
            }
        }
        let wanted = "created→preparing preparing→failed preparing→ready failed→discarded ready→running \
                      running→stopped stopped→running stopped→discarded";
        assert_eq!(seen.join(" "), wanted);
    }

    #[test]
    fn every_refusal_names_the_state_and_a_next_step() {
        for state in State::ALL {
            for action in [
                Action::Enter,
                Action::Stop,
                Action::Resume,
                Action::Read,
                Action::Apply,
                Action::Undo,
                Action::Discard,
            ] {
                if let Err(error) = state.allow(action, "api-7k3q") {
                    assert!(error.message().contains(&state.to_string()), "{error}");
                    assert!(!error.hints().is_empty(), "{error}");
                }
            }
        }
    }
}

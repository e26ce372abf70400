//! `session.json`: everything about a session that must outlive the process.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::liveness::ProcessId;
use super::{SessionId, State};
use crate::engine::EngineRecord;
use crate::error::{Error, Result};
use crate::layer::Encoding;
use crate::paths::BytePath;
use crate::policy::Network;
use crate::policy::limits::Limits;
use crate::policy::mounts::Access;

/// Number of the record's format. A newer one is refused.
pub const FORMAT: u32 = 1;

/// One session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Format number.
    pub format: u32,
    /// ULID.
    pub id: SessionId,
    /// Short name.
    pub name: String,
    /// Where it stands.
    pub state: State,
    /// Canonical path of the repo.
    pub repo: BytePath,
    /// Milliseconds since 1970.
    pub created: u64,
    /// What runs it.
    pub engine: EngineRecord,
    /// How whiteouts and opaque marks are written in its upper.
    pub encoding: Encoding,
    /// The last command, for people.
    pub command: Vec<String>,
    /// What the sandbox may do, so that a resumed session is the same.
    pub policy: PolicyRecord,
    /// The prepared environment that it stands on.
    #[serde(default)]
    pub setup: Option<SetupRecord>,
    /// Layers between that and the repo, the topmost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<BytePath>,
    /// The run of a task that it belongs to, which throws it away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The last time that a command ran in it.
    pub incarnation: Option<Incarnation>,
    /// What was done with it, oldest first.
    pub history: Vec<HistoryEntry>,
}

/// A prepared environment, as a session uses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupRecord {
    /// Its key.
    pub key: String,
    /// The layer over the repo.
    pub layer: Option<BytePath>,
    /// The layer over the home (native).
    pub home: Option<BytePath>,
    /// The image that it was made from, as the user knows it.
    #[serde(default)]
    pub image: Option<String>,
    /// It failed: what there is of it belongs to this session alone, and goes with it.
    #[serde(default)]
    pub failed: bool,
}

/// The policy as decided. Variables by name only: values may be secrets.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PolicyRecord {
    /// Image of podman or docker.
    pub image: Option<String>,
    /// Network.
    pub network: Option<Network>,
    /// Limits.
    pub limits: Limits,
    /// `--user`
    pub user: Option<String>,
    /// `--runtime`
    pub runtime: Option<String>,
    /// `--profile`
    #[serde(default)]
    pub profile: Option<String>,
    /// Where the repo stands inside; `None`: at the usual place.
    #[serde(default)]
    pub workspace: Option<BytePath>,
    /// Directory inside.
    pub workdir: BytePath,
    /// `--mount`
    pub mounts: Vec<MountRecord>,
    /// Names of the variables.
    pub env: Vec<String>,
}

/// One mount of the user's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MountRecord {
    /// Host path.
    pub source: BytePath,
    /// Path inside.
    pub target: BytePath,
    /// How.
    pub access: Access,
}

/// One run of the sandbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Incarnation {
    /// Name of the container; `None` for native.
    pub container: Option<String>,
    /// The cowbox process that supervises it.
    pub runner: ProcessId,
    /// The sandbox's pid 1 as the host sees it (native).
    pub init: Option<ProcessId>,
    /// Milliseconds since 1970.
    pub started: u64,
    /// The same on the clock of files, in nanoseconds: what the host changed later has a later ctime.
    #[serde(default)]
    pub stamp: Option<i64>,
    /// The commit that was checked out then.
    #[serde(default)]
    pub head: Option<String>,
    /// The inode of the repo's root then.
    #[serde(default)]
    pub root: Option<u64>,
    /// When it ended, if it was seen to end.
    pub ended: Option<u64>,
    /// Exit code; `None` while it runs or when the runner died.
    pub exit: Option<i32>,
}

impl Incarnation {
    /// One that this process starts just now, and that is compared with nothing later.
    pub fn begun(container: Option<String>, init: Option<ProcessId>) -> Self {
        Self {
            container,
            runner: ProcessId::current(),
            init,
            started: now(),
            stamp: None,
            head: None,
            root: None,
            ended: None,
            exit: None,
        }
    }
}

/// Something that was done with a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// Milliseconds since 1970.
    pub time: u64,
    /// What.
    pub event: String,
    /// Of an apply or an undo: its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<String>,
}

impl HistoryEntry {
    /// Something that was done just now.
    pub fn now(event: impl Into<String>) -> Self {
        Self { time: now(), event: event.into(), transaction: None }
    }
}

impl Record {
    /// Notes an apply or an undo. What was noted before it was cut off is not noted again.
    pub fn note_transaction(&mut self, id: &str, event: String) {
        if !self.history.iter().any(|entry| entry.transaction.as_deref() == Some(id)) {
            self.history.push(HistoryEntry { transaction: Some(id.to_owned()), ..HistoryEntry::now(event) });
        }
    }

    /// Where the repo stands inside.
    pub fn workspace(&self) -> PathBuf {
        match &self.policy.workspace {
            Some(workspace) => workspace.0.clone(),
            None if self.engine.kind == crate::engine::Kind::Native => self.repo.0.clone(),
            None => PathBuf::from("/workspace"),
        }
    }

    /// Reads a record; `what` names it in errors.
    pub fn parse(text: &[u8], what: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let corrupt = |e: serde_json::Error| {
            Error::new(format!("the record of session {what} cannot be read: {e}"))
                .hint("its changes are still in `upper/` beside it; `cowbox gc --force` removes the session")
        };
        let head: Head = serde_json::from_slice(text).map_err(corrupt)?;
        if head.format > FORMAT {
            return Err(Error::new(format!(
                "session {what} was written by a newer cowbox (format {}, this one knows {FORMAT})",
                head.format
            ))
            .hint("update cowbox"));
        }
        serde_json::from_slice(text).map_err(corrupt)
    }

    /// Moves to another state, refusing what the state machine does not have.
    pub fn advance(&mut self, next: State) -> Result<()> {
        if !self.state.may_become(next) {
            return Err(Error::new(format!("session {} is {}, it cannot become {next}", self.name, self.state)));
        }
        self.state = next;
        self.history.push(HistoryEntry::now(next.to_string()));
        Ok(())
    }

    /// Exit code of the last command.
    pub fn exit(&self) -> Option<i32> {
        self.incarnation.as_ref().and_then(|i| i.exit)
    }

    /// Start of the last run on the clock of files.
    pub fn stamp(&self) -> Option<i64> {
        self.incarnation.as_ref().and_then(|i| i.stamp)
    }
}

/// Milliseconds since 1970.
pub fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64)
}

/// RFC 3339 of a record's time.
pub fn rfc3339(millis: u64) -> String {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(millis);
    humantime::format_rfc3339_millis(time).to_string()
}

//! What the user allows, and the account of everything that was not done.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::setup::files::RepoFiles;
use crate::setup::plan::{Ignored, Refused, SetupPlan};
use crate::ui::sanitize;

/// What a config calls itself in messages and steps.
pub(super) const CONFIG: &str = "devcontainer.json";

/// What is known of the host, and what the user allows.
pub struct Host<'a> {
    /// The repo.
    pub files: &'a RepoFiles,
    /// The host's environment.
    pub env: &'a BTreeMap<String, String>,
    /// Variables that the user passes in by name: the only ones that `secrets` can name.
    pub passed: &'a BTreeMap<String, String>,
    /// Says how many processors there are. Few repos want to know, and it takes half a dozen files.
    pub cpus: fn() -> Option<u64>,
    /// Says how many bytes of memory.
    pub memory: fn() -> Option<u64>,
    /// Whether the user said yes to something.
    pub consent: &'a dyn Fn(&Refused) -> bool,
}

impl Host<'_> {
    /// Whether the user said yes to this.
    pub fn consents(&self, asked: &Refused) -> bool {
        (self.consent)(asked)
    }
}

impl fmt::Debug for Host<'_> {
    /// Without the environment: its values are nobody's business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("repo", &self.files.root()).finish_non_exhaustive()
    }
}

/// Collects what is refused, ignored and worth a notice.
pub(super) struct Ledger<'a> {
    host: &'a Host<'a>,
    refused: Vec<Refused>,
    ignored: Vec<Ignored>,
    notices: Vec<String>,
}

impl<'a> Ledger<'a> {
    pub(super) fn new(host: &'a Host<'a>) -> Self {
        Self { host, refused: Vec::new(), ignored: Vec::new(), notices: Vec::new() }
    }

    /// The repo.
    pub(super) fn files(&self) -> &RepoFiles {
        self.host.files
    }

    /// Whether the user allows `asked`; if not, it is on the list. `from` says who asks.
    pub(super) fn ask(&mut self, from: &str, key: &str, reason: &str, asked: &Value) -> bool {
        let who = who(from);
        // Where in a list it stands does not change what is asked for.
        let what = key.split('[').next().unwrap_or(key);
        let asked = sanitize::json(&asked.to_string());
        let refused =
            Refused { key: key.to_owned(), reason: format!("{who}{reason}"), consent: format!("{who}{what}: {asked}") };
        let yes = self.host.consents(&refused);
        if !yes {
            self.refused.push(refused);
        }
        yes
    }

    pub(super) fn ignore(&mut self, from: &str, key: &str, reason: impl fmt::Display) {
        self.ignored.push(Ignored { key: key.to_owned(), reason: format!("{}{reason}", who(from)) });
    }

    pub(super) fn notice(&mut self, text: impl Into<String>) {
        self.notices.push(text.into());
    }

    /// Puts everything into the plan.
    pub(super) fn close(self, plan: &mut SetupPlan) {
        plan.refused = self.refused;
        plan.ignored = self.ignored;
        plan.notices = self.notices;
    }
}

/// Only others than the config need naming.
fn who(from: &str) -> String {
    if from == CONFIG { String::new() } else { format!("{from}: ") }
}

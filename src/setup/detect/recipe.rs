//! What one ecosystem says about one directory, and how that becomes steps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::caches::PackageCache;
use crate::error::show;
use crate::setup::plan::{Hook, Step, StepCommand};
use crate::setup::project::Project;

/// Commands are for `/bin/sh`, run in the project's directory, with nobody there to answer.
#[derive(Debug, Default)]
pub(super) struct Recipe {
    /// `python`, `node`, …
    pub(super) name: &'static str,
    /// The file that gave it away, in the project's directory.
    pub(super) evidence: String,
    /// The program that all of it rests on.
    pub(super) needs: &'static str,
    /// The command that leaves tracked files alone, then what to try when it fails; empty: nothing to install.
    pub(super) install: Vec<String>,
    /// The check, then weaker ones.
    pub(super) verify: Vec<String>,
    /// Variables of both.
    pub(super) env: Vec<(&'static str, &'static str)>,
    /// What must be in the image.
    pub(super) runtimes: Vec<&'static str>,
    /// Where downloads are kept.
    pub(super) caches: Vec<PackageCache>,
}

impl Recipe {
    /// The steps: install, then verify.
    pub(super) fn steps(&self, project: &Project<'_>) -> Vec<Step> {
        let hooks = [(Hook::Install, &self.install), (Hook::Verify, &self.verify)];
        hooks.into_iter().filter_map(|(hook, commands)| self.step(hook, commands, project)).collect()
    }

    fn step(&self, hook: Hook, commands: &[String], project: &Project<'_>) -> Option<Step> {
        let mut commands = commands.iter().cloned().map(StepCommand::Shell);
        // Many tools ask questions or draw pictures unless they believe that this is a machine.
        let mut env = BTreeMap::from([("CI".to_owned(), "1".to_owned())]);
        env.extend(self.env.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
        Some(Step {
            hook,
            origin: show(&project.path(&self.evidence)),
            parallel_group: None,
            command: commands.next()?,
            name: Some(self.name.to_owned()),
            fallbacks: commands.collect(),
            env,
            dir: Some(if project.dir() == Path::new("") { PathBuf::from(".") } else { project.dir().to_path_buf() }),
            needs: Some(self.needs.to_owned()),
        })
    }
}

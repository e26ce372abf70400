//! Scripts and targets that repos have for "get it ready", by convention. The strongest one is taken.

mod cursor;
mod justfile;
mod makefile;
pub(crate) mod mise;
mod script;

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::detect;
use super::files::RepoFiles;
use super::plan::{Hook, Ignored, Step, StepCommand};
use super::project::Project;
use crate::error::Result;

/// The convention that was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What to run, in order.
    pub steps: Vec<Step>,
    /// Files that decide what it does: the scripts, and the manifests and lock files of the repo.
    pub inputs: Vec<PathBuf>,
    /// The file that was found.
    pub config_file: PathBuf,
    /// A program that must be there.
    pub needs: Option<String>,
    /// It only brings tools along: what detection finds is still to be installed after it.
    pub then_detect: bool,
    /// What the file says and is not done.
    pub ignored: Vec<Ignored>,
    /// What else was found, strongest first.
    pub others: Vec<Other>,
}

/// A convention that was found and not chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// The file.
    pub file: PathBuf,
    /// What `--setup` would have to be given for it.
    pub command: String,
}

/// One convention that a repo follows.
#[derive(Debug, Default)]
struct Candidate {
    file: String,
    commands: Vec<String>,
    needs: Option<&'static str>,
    env: &'static [(&'static str, &'static str)],
    then_detect: bool,
    ignored: Vec<Ignored>,
}

impl Candidate {
    fn command(&self) -> String {
        self.commands.join(" && ")
    }

    fn steps(&self) -> Vec<Step> {
        let step = |command: &String| Step {
            hook: Hook::Setup,
            origin: self.file.clone(),
            parallel_group: None,
            command: StepCommand::Shell(command.clone()),
            name: None,
            fallbacks: Vec::new(),
            env: self.env.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            dir: Some(PathBuf::from(".")),
            needs: self.needs.map(str::to_owned),
        };
        self.commands.iter().map(step).collect()
    }
}

type Reader = fn(&Project<'_>) -> Result<Option<Candidate>>;

/// Strongest first. Bootstrap comes before setup: it brings dependencies and leaves databases alone.
const READERS: &[Reader] = &[
    |project| Ok(script::read(project, ".openhands/setup.sh")),
    cursor::read,
    |project| Ok(script::read(project, "script/bootstrap")),
    |project| Ok(script::read(project, "script/setup")),
    |project| Ok(script::read(project, "bin/setup")),
    |project| Ok(script::read(project, "setup.sh")),
    |project| Ok(makefile::read(project)),
    |project| Ok(justfile::read(project)),
    |project| Ok(mise::read(project)),
];

/// Looks for conventions in the root of a repo. A file that would be chosen and is broken is an error.
pub fn find(files: &RepoFiles) -> Result<Option<Found>> {
    let project = Project::new(files, "");
    let mut candidates = Vec::new();
    for reader in READERS {
        match reader(&project) {
            Ok(candidate) => candidates.extend(candidate),
            Err(e) if candidates.is_empty() => return Err(e),
            // What is not going to be used may be broken.
            Err(_) => {}
        }
    }
    let mut candidates = candidates.into_iter();
    let Some(chosen) = candidates.next() else { return Ok(None) };
    let others = candidates.map(|other| Other { command: other.command(), file: PathBuf::from(other.file) }).collect();
    // Scripts call each other, and install what manifests and lock files name.
    let (mut inputs, _) = project.into_found();
    inputs.extend(detect::detect(files).inputs);
    Ok(Some(found(chosen, inputs, others)))
}

fn found(chosen: Candidate, inputs: BTreeSet<PathBuf>, others: Vec<Other>) -> Found {
    Found {
        steps: chosen.steps(),
        inputs: inputs.into_iter().collect(),
        config_file: PathBuf::from(chosen.file),
        needs: chosen.needs.map(str::to_owned),
        then_detect: chosen.then_detect,
        ignored: chosen.ignored,
        others,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::setup::project::testing::Repo;

    fn shells(found: &Found) -> Vec<String> {
        let shell = |step: &Step| match &step.command {
            StepCommand::Shell(text) => text.clone(),
            StepCommand::Argv(words) => panic!("{words:?}"),
        };
        found.steps.iter().map(shell).collect()
    }

    #[test]
    fn a_repo_without_any_has_none() {
        assert_eq!(find(&Repo::of(&[("README.md", "# setup")]).files()).unwrap(), None);
    }

    #[test]
    fn the_strongest_is_chosen_and_the_others_are_named() {
        let all = [
            (".openhands/setup.sh", "echo 1"),
            (".cursor/environment.json", "{\"install\": \"npm ci\"}"),
            ("script/bootstrap", "#!/bin/sh\n"),
            ("script/setup", "#!/bin/sh\n"),
            ("bin/setup", "#!/usr/bin/env ruby\nARGV.include?(\"--skip-server\")\n"),
            ("setup.sh", "true"),
            ("Makefile", "setup:\n\ttrue\n"),
            ("justfile", "setup:\n  true\n"),
            ("mise.toml", "[tasks.setup]\nrun = 'x'\n"),
        ];
        let order = [
            "sh ./.openhands/setup.sh",
            "npm ci",
            "/bin/sh ./script/bootstrap",
            "/bin/sh ./script/setup",
            "/usr/bin/env ruby ./bin/setup --skip-server",
            "sh ./setup.sh",
            "make setup",
            "just setup",
            "mise trust --yes mise.toml && mise install --yes && mise run --yes setup",
        ];
        for first in 0..all.len() {
            let found = find(&Repo::of(&all[first..]).files()).unwrap().unwrap();
            assert_eq!(shells(&found).join(" && "), order[first]);
            assert_eq!(found.config_file, Path::new(all[first].0));
            assert_eq!(found.others.iter().map(|o| o.command.as_str()).collect::<Vec<_>>(), order[first + 1..]);
            assert!(found.steps.iter().all(|step| step.hook == Hook::Setup && step.dir == Some(".".into())));
        }
    }

    #[test]
    fn the_key_covers_scripts_that_may_be_called_and_lock_files() {
        let repo = Repo::of(&[
            ("script/setup", "script/bootstrap"),
            ("script/bootstrap", "npm ci"),
            ("package.json", "{}"),
            ("package-lock.json", "{}"),
            ("README.md", ""),
        ]);
        let inputs = find(&repo.files()).unwrap().unwrap().inputs;
        let expected = ["package-lock.json", "package.json", "script/bootstrap", "script/setup"];
        assert_eq!(inputs, expected.map(PathBuf::from));
    }

    #[test]
    fn a_broken_file_is_an_error_only_where_it_would_be_used() {
        let broken = (".cursor/environment.json", "{\n  \"install\": oops\n}");
        let error = find(&Repo::of(&[broken, ("setup.sh", "")]).files()).unwrap_err();
        assert!(error.message().starts_with("`.cursor/environment.json`: ") && error.message().contains("line 2"));
        assert!(find(&Repo::of(&[broken, (".openhands/setup.sh", "")]).files()).unwrap().is_some());
    }
}

//! Making an environment: the steps of a plan, once, in a sandbox of their own.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::plan::{Hook, Step, StepCommand};
use super::progress::{Progress, short};
use super::quote;
use super::redact::Redactor;
use super::room::{Ended, Job, Room, Silent, Watcher};
use crate::error::{Error, Kind, Result, show};
use crate::policy::environment::Environment;
use crate::session::record::Incarnation;
use crate::ui::{Ui, sanitize};

/// The exit code of engines that could not run something.
const ENGINE_FAILED: u8 = 125;
/// How long a question to the sandbox may take.
pub const QUESTION: Duration = Duration::from_secs(60);

/// A step that has ended, for who keeps a record.
#[derive(Clone, Debug)]
pub struct StepEnded {
    /// What ran, without secrets.
    pub command: Vec<String>,
    /// Where, inside.
    pub dir: PathBuf,
    /// Names of its variables.
    pub env: Vec<String>,
    /// Its exit code.
    pub code: u8,
    /// How long it took.
    pub took: Duration,
    /// When it ended.
    pub ended: SystemTime,
}

/// What somebody who keeps a record is told.
#[derive(Clone, Debug)]
pub enum Happened {
    /// Something is being made in this directory.
    Began(PathBuf),
    /// Its sandbox is there.
    Opened(Option<Incarnation>),
    /// A step printed something, on either stream; secrets are out of it.
    Printed(Vec<u8>),
    /// A step has ended.
    Ended(StepEnded),
}

/// Somebody who keeps a record.
pub type Observer<'a> = &'a dyn Fn(Happened);

/// Runs steps in a room.
pub struct Maker<'a> {
    /// Where it talks.
    pub ui: &'a Ui,
    /// User inside.
    pub user: Option<&'a str>,
    /// Variables of every step.
    pub env: &'a Environment,
    /// Where the repo's root stands inside.
    pub mount: &'a Path,
    /// Where steps start.
    pub folder: &'a Path,
    /// What nobody may see.
    pub secrets: &'a Redactor,
    /// Where logs go, one a step.
    pub logs: &'a Path,
    /// Where they are after a failure.
    pub kept_logs: &'a Path,
    /// Told of every step that has ended.
    pub observer: Option<Observer<'a>>,
}

/// Shows what happens, and tells whoever keeps a record.
struct Heard<'a, 'p> {
    progress: &'a mut Progress<'p>,
    observer: Option<Observer<'a>>,
}

impl Watcher for Heard<'_, '_> {
    fn tick(&mut self) {
        self.progress.tick();
    }

    fn output(&mut self, job: usize, bytes: &[u8]) {
        self.progress.output(job, bytes);
        if let Some(observer) = self.observer {
            observer(Happened::Printed(bytes.to_vec()));
        }
    }

    fn ended(&mut self, job: usize, ended: &Ended) {
        self.progress.ended(job, ended);
    }
}

impl Maker<'_> {
    /// Runs them in order, those of one group together. What fails ends it.
    pub fn run(&self, room: &mut Room<'_>, steps: &[&Step]) -> Result<()> {
        let missing = self.missing(room, steps)?;
        let steps: Vec<&Step> = steps.iter().copied().filter(|step| !self.is_left_out(step, &missing)).collect();
        let groups: Vec<&[&Step]> = steps
            .chunk_by(|a, b| a.parallel_group.is_some() && a.hook == b.hook && a.parallel_group == b.parallel_group)
            .collect();
        for (number, group) in groups.iter().enumerate() {
            let place = format!("{}/{}", number + 1, groups.len());
            self.run_group(room, group, &place, number + 1)?;
        }
        Ok(())
    }

    /// Programs that steps need and that are not there: one question for all.
    fn missing(&self, room: &mut Room<'_>, steps: &[&Step]) -> Result<BTreeSet<String>> {
        let needed: BTreeSet<String> = steps.iter().filter_map(|step| step.needs.clone()).collect();
        if needed.is_empty() {
            return Ok(needed);
        }
        let words: Vec<String> = needed.iter().map(|program| quote::quote(program)).collect();
        let script = format!("for p in {}; do command -v \"$p\" >/dev/null && echo \"$p\"; done; :", words.join(" "));
        let here = self.ask(room, &script, Some(QUESTION))?;
        let here: BTreeSet<&str> = here.lines().collect();
        Ok(needed.iter().filter(|program| !here.contains(program.as_str())).cloned().collect())
    }

    /// What a short script prints inside.
    pub fn ask(&self, room: &mut Room<'_>, script: &str, limit: Option<Duration>) -> Result<String> {
        let command = argv(&StepCommand::Shell(script.to_owned()));
        let log = self.logs.join("questions.log");
        let job = Job {
            command: &command,
            env: self.env,
            user: self.user,
            workdir: self.mount,
            log,
            secrets: self.secrets,
            limit,
        };
        let ended = room.run(&[job], &mut Silent)?;
        // No answer is not an empty one: steps would be left out, and what is missing kept as ready.
        if ended.iter().any(|ended| ended.timed_out || ended.code == ENGINE_FAILED) {
            return Err(Error::of(Kind::NotStarted, "the sandbox of the setup does not answer")
                .hint("the machine may be busy: try again; `cowbox doctor` checks the engine"));
        }
        let answer = ended.first().map(|ended| String::from_utf8_lossy(&ended.tail).into_owned());
        Ok(answer.unwrap_or_default())
    }

    fn is_left_out(&self, step: &Step, missing: &BTreeSet<String>) -> bool {
        let Some(program) = step.needs.as_ref().filter(|program| missing.contains(*program)) else { return false };
        if step.hook != Hook::Verify {
            let (origin, program) = (sanitize::text(&step.origin), sanitize::text(program));
            self.ui.warn(&format!("setup for {origin} is left out: there is no `{program}` in the sandbox"));
        }
        true
    }

    fn run_group(&self, room: &mut Room<'_>, group: &[&Step], place: &str, number: usize) -> Result<()> {
        let mut left: Vec<(&Step, usize)> = group.iter().map(|step| (*step, 0)).collect();
        // Each round is one way to do it: the strict one first, then what the step has to fall back to.
        while !left.is_empty() {
            let names = left.iter().map(|(step, way)| self.name(step, *way)).collect();
            let mut progress = Progress::new(self.ui, names, place.to_owned());
            let ended = self.round(room, &left, number, &mut progress)?;
            let failed: Vec<(&Step, usize, &Ended)> = left
                .iter()
                .zip(&ended)
                .filter(|(_, ended)| ended.code != 0)
                .map(|((step, way), ended)| (*step, *way, ended))
                .collect();
            if failed.is_empty() {
                progress.done();
                return Ok(());
            }
            left = Vec::new();
            for (step, way, ended) in failed {
                if way >= step.fallbacks.len() {
                    progress.failed(ended);
                    return Err(self.failure(step, way, ended, number));
                }
                self.ui.clear_live();
                let (was, next) = (self.name(step, way), self.name(step, way + 1));
                self.ui.warn(&format!("`{was}` failed with {}; trying `{next}`", ended.code));
                left.push((step, way + 1));
            }
        }
        Ok(())
    }

    fn round(
        &self,
        room: &mut Room<'_>,
        left: &[(&Step, usize)],
        number: usize,
        progress: &mut Progress<'_>,
    ) -> Result<Vec<Ended>> {
        let commands: Vec<Vec<OsString>> = left.iter().map(|(step, way)| argv(way_of(step, *way))).collect();
        let envs: Vec<Environment> = left.iter().map(|(step, _)| self.env_of(step)).collect();
        let dirs: Vec<PathBuf> = left.iter().map(|(step, _)| self.dir_of(step)).collect();
        let jobs = left.iter().enumerate().map(|(n, (step, _))| Job {
            command: &commands[n],
            env: &envs[n],
            user: self.user,
            workdir: &dirs[n],
            log: self.logs.join(log_name(step, number)),
            secrets: self.secrets,
            limit: None,
        });
        let mut heard = Heard { progress, observer: self.observer };
        let ended = room.run(&jobs.collect::<Vec<_>>(), &mut heard)?;
        if let Some(observer) = self.observer {
            for (n, ended) in ended.iter().enumerate() {
                let words = commands[n].iter().map(|word| self.secrets.text(&word.to_string_lossy())).collect();
                let (dir, env) = (dirs[n].clone(), envs[n].names());
                let (code, took) = (ended.code, ended.took);
                let step = StepEnded { command: words, dir, env, code, took, ended: SystemTime::now() };
                observer(Happened::Ended(step));
            }
        }
        Ok(ended)
    }

    /// What a step is called: its command, in one line.
    fn name(&self, step: &Step, way: usize) -> String {
        let text = match way_of(step, way) {
            StepCommand::Shell(text) => self.secrets.text(text),
            StepCommand::Argv(words) => self.secrets.text(&words.join(" ")),
        };
        let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let short: String = line.chars().take(60).collect();
        let more = if short.len() < text.trim().len() { " …" } else { "" };
        format!("{}{more}", sanitize::text(&short))
    }

    fn env_of(&self, step: &Step) -> Environment {
        let mut env = self.env.clone();
        step.env.iter().for_each(|(name, value)| env.set(name, value));
        env
    }

    fn dir_of(&self, step: &Step) -> PathBuf {
        step.dir.as_ref().map_or_else(|| self.folder.to_path_buf(), |dir| self.mount.join(dir))
    }

    fn failure(&self, step: &Step, way: usize, ended: &Ended, number: usize) -> Error {
        let what = self.name(step, way);
        let why = match ended.code {
            126 => ": a program cannot be executed in the sandbox",
            127 => ": a program was not found in the sandbox",
            _ => "",
        };
        let (code, took, origin) = (ended.code, short(ended.took), sanitize::text(&step.origin));
        Error::of(
            Kind::NotStarted,
            format!("setup step `{what}` of {origin} failed with exit code {code} after {took}{why}"),
        )
        .hint(format!("its whole output is in {}", show(&self.kept_logs.join(log_name(step, number)))))
        .hint("`--setup none` runs without it, `--setup COMMAND` with another")
    }
}

fn way_of(step: &Step, way: usize) -> &StepCommand {
    way.checked_sub(1).and_then(|fallback| step.fallbacks.get(fallback)).unwrap_or(&step.command)
}

/// `02-install-node.log`
fn log_name(step: &Step, number: usize) -> String {
    let hook = format!("{:?}", step.hook).to_lowercase();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = step.name.iter().flat_map(|name| name.chars()).map(plain).take(40).collect();
    let name = if name.is_empty() { hook } else { format!("{hook}-{name}") };
    format!("{number:02}-{name}.log")
}

/// A command as it is executed.
pub fn argv(command: &StepCommand) -> Vec<OsString> {
    match command {
        StepCommand::Shell(text) => ["/bin/sh", "-c", text].map(Into::into).to_vec(),
        StepCommand::Argv(words) => words.iter().map(Into::into).collect(),
    }
}

/// How long something took so far, in milliseconds.
pub fn millis_since(start: Instant) -> u64 {
    start.elapsed().as_millis().try_into().unwrap_or(u64::MAX)
}

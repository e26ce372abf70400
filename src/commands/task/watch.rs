//! Looks after a sandbox from outside while something runs in it.

use std::io;
use std::path::{Path, PathBuf};

use super::told::{Note, Told, interfaces, limits};
use crate::commands::context::Context;
use crate::engine::{Engine, detect, native};
use crate::error::reason;
use crate::policy::limits::show_size;
use crate::session::SessionId;
use crate::setup::cache::Cache;
use crate::task::meter::Meter;

/// How often somebody asks an engine for the process of a container.
const ASKS: usize = 5;

/// Looks after a sandbox while its command runs.
pub struct Watch<'a> {
    context: &'a Context<'a>,
    note: &'a Path,
    disk: Option<u64>,
    meter: Option<Meter>,
    asked: usize,
}

impl<'a> Watch<'a> {
    /// Over the sandbox that `note` will tell of.
    pub fn new(context: &'a Context<'a>, note: &'a Path, disk: Option<u64>) -> Self {
        Self { context, note, disk, meter: None, asked: 0 }
    }

    /// Why it must end, if it must.
    pub fn look(&mut self) -> Option<String> {
        let note = Note::read(self.note)?;
        if note.interfaces.is_none() && self.asked < ASKS {
            self.asked += 1;
            self.ask(note.clone());
        }
        let most = self.disk?;
        let meter = self.meter.get_or_insert_with(|| Meter::of(written(&note.dir.0), most));
        why_over(meter, most)
    }

    /// The same when the command has ended: what was written since the last look counts as well.
    pub fn look_at_last(&self) -> Option<String> {
        let (note, most) = (Note::read(self.note)?, self.disk?);
        said(Meter::of(written(&note.dir.0), most).is_over_at_last(), most)
    }

    /// Which interfaces and limits the container has, by its first process.
    fn ask(&self, mut note: Note) {
        let Some(container) = note.container.clone() else { return };
        let engine = engine_of(self.context, &note);
        let pid = engine.and_then(|engine| first_process(engine.as_ref(), &container));
        note.interfaces = pid.and_then(interfaces);
        note.limits = pid.map(limits).unwrap_or_default();
        if note.interfaces.is_some() {
            // Who does not get it does without.
            let _ = note.write(self.note);
        }
    }
}

fn engine_of(context: &Context<'_>, note: &Note) -> Option<Box<dyn Engine>> {
    let session = context.store.read(&SessionId::parse(&note.session)?).ok().flatten()?;
    detect::open(session.record.engine.kind, &context.places, context.ui).ok()
}

/// The first process of a container that runs, seen from the host.
pub fn first_process(engine: &dyn Engine, container: &str) -> Option<i32> {
    let said = engine.client()?.capture(&["container", "inspect", "--format", "{{.State.Pid}}", container]);
    said.ok()?.trim().parse().ok().filter(|pid| *pid > 0)
}

/// The same for a setup: `answer` is where it says what it makes.
pub fn setup(meter: &mut Option<Meter>, most: u64, answer: &Path) -> Option<String> {
    if meter.is_none() {
        let making = Told::read(answer).ok()?.making?;
        *meter = Some(Meter::of(written(&making.0), most));
    }
    why_over(meter.as_mut()?, most)
}

/// Where what is written in a sandbox ends up. Beside it the kernel keeps things that nobody may read.
fn written(dir: &Path) -> Vec<PathBuf> {
    let home = native::home_layer(dir).map(|layer| layer.join("upper"));
    [dir.join("upper")].into_iter().chain(home).collect()
}

/// The same for a setup that is done: what it wrote is kept there.
pub fn prepared(context: &Context<'_>, key: &str, most: u64) -> Option<String> {
    let prepared = Cache::new(&context.places.cache).find(key)?;
    let home = prepared.record.home.as_ref().map(|home| home.0.clone());
    let roots = prepared.layer().into_iter().chain(home).collect();
    said(Meter::of(roots, most).is_over_at_last(), most)
}

fn why_over(meter: &mut Meter, most: u64) -> Option<String> {
    said(meter.is_over(), most)
}

fn said(over: io::Result<bool>, most: u64) -> Option<String> {
    match over {
        Ok(false) => None,
        Ok(true) => Some(format!("more than {} were written to the workspace", show_size(most))),
        Err(e) => Some(format!("what was written to the workspace cannot be measured: {}", reason(&e))),
    }
}

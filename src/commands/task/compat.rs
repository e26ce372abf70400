//! The stage of fixes: each changes the code in its turn, and what they change are layers of their own.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Instant;

use super::gather::{self, Asked, Gathered};
use super::job::Job;
use super::stages::{Ran, Stages};
use crate::error::{Error, reason};
use crate::task::compat;
use crate::task::compat::layer;
use crate::task::compat::tree::Over;
use crate::task::halt::Halt;
use crate::task::outcome::Outcome;
use crate::task::source::Patch;
use crate::task::spec::{Command, Compat, Fix};
use crate::task::stage::{Reach, Stage};

impl Stages<'_> {
    /// Makes the fixes that the task names, in order.
    pub fn compat(&mut self) -> Result<(), Halt> {
        let frozen = self.subject.frozen.clone();
        if frozen.task.setup.compat.is_empty() {
            return Ok(());
        }
        let environment = &frozen.task.environment;
        let time = environment.timeout.setup.0;
        self.desk.begin(Stage::Compat, Some(Reach::Sandbox(environment.network.setup)), Some(time))?;
        let mut over = self.over()?;
        for (number, fix) in frozen.task.setup.compat.iter().enumerate() {
            match fix {
                Compat::Named(fix) => self.named(*fix, &mut over)?,
                Compat::Own(own) => match (&own.patch, &own.script) {
                    (Some(patch), _) => {
                        let patch = Patch { name: own.name.clone(), ..frozen.patch(patch)? };
                        let scratch = self.desk.dir.join("work/patch");
                        compat::patch::apply(&patch, &mut over, &scratch, self.desk)?;
                    }
                    (None, Some(script)) => {
                        self.keep(&over)?;
                        self.script(number, &own.name, script)?;
                        over = self.over()?;
                    }
                    (None, None) => {}
                },
            }
        }
        self.keep(&over)?;
        self.show()
    }

    /// The code as it is by now.
    fn over(&self) -> Result<Over, Halt> {
        Over::new(&self.subject.below, &self.subject.root)
            .map_err(|e| Halt::infra(format!("cannot read the code: {}", reason(&e))))
    }

    /// One of cowbox's own.
    fn named(&mut self, fix: Fix, over: &mut Over) -> Result<(), Halt> {
        over.until = self.desk.left().map(|left| Instant::now() + left);
        let fixed = compat::apply(fix, over).map_err(|e| match e.kind() {
            ErrorKind::TimedOut => self.desk.too_long(),
            _ => Halt::infra(format!("{fix}: {}", reason(&e))),
        })?;
        self.desk.notice(&format!("{fix}: {} files", fixed.files.len()))?;
        over.changed.extend(fixed.files.into_iter().map(|(path, text)| (path, Some(text.into_bytes()))));
        self.subject.env.extend(fixed.env);
        Ok(())
    }

    /// A script of the task's: in a sandbox, whose layer becomes one of the fixes.
    fn script(&mut self, number: usize, name: &str, script: &str) -> Result<(), Halt> {
        let environment = &self.subject.frozen.task.environment;
        let job = Job {
            command: Some(Command::Shell(script.to_owned())),
            env: BTreeMap::new(),
            network: environment.network.setup,
            timeout: environment.timeout.setup.0,
            session: None,
            prepared: false,
            agent: false,
            compared: true,
            asked: Some(Asked { changes: Some("compat"), layer: true, ..Asked::default() }),
        };
        let ran = self.within(&format!("compat-{number}"), &job).map_err(|(halt, _)| halt)?;
        if ran.code != 0 {
            return Err(Halt::Over(Outcome::InfraError, format!("the fix {name} ended with {}", ran.code)));
        }
        let layer = self.layer_of(&ran)?;
        self.discard(&ran.session)?;
        self.subject.below.splice(0..0, layer);
        Ok(())
    }

    /// The layer of a session, moved to where fixes are kept; `None` if it is empty.
    fn layer_of(&mut self, ran: &Ran) -> Result<Option<PathBuf>, Halt> {
        let (context, id) = (self.context, &ran.session);
        let gathered = ran.gathered.clone().unwrap_or_default();
        if gathered.changes.is_none() || gathered.error.is_some() {
            return Err(Halt::infra(gathered.error.unwrap_or_else(|| "the fix took too long".to_owned())));
        }
        let Some(hash) = gathered.layer else { return Ok(None) };
        let upper = super::inside::session(context, id)?.upper();
        let place = layer::place(&context.places.cache, &hash)?;
        let moved = if place.is_dir() { Ok(()) } else { layer::keep(&upper, &place) };
        moved.map_err(|e| Error::io("move", &upper, e).hint("state and cache must be on one file system"))?;
        Ok(Some(place))
    }

    /// Makes a layer of what was changed by now.
    fn keep(&mut self, over: &Over) -> Result<(), Halt> {
        let layer = layer::write(over, &self.context.places.cache)
            .map_err(|e| Halt::infra(format!("cannot write the fixes: {}", reason(&e))))?;
        self.subject.below.splice(0..0, layer);
        Ok(())
    }

    /// What all of them changed, for the record.
    fn show(&mut self) -> Result<(), Halt> {
        if self.subject.below.is_empty() {
            return Ok(());
        }
        let (below, root, dir) = (self.subject.below.clone(), self.subject.root.clone(), self.desk.dir.clone());
        let gathered = self.apart(|| match gather::fixes(&below, &root, &dir) {
            Ok(changes) => Gathered { changes: Some(changes), ..Gathered::default() },
            Err(error) => Gathered { error: Some(error.message().to_owned()), ..Gathered::default() },
        })?;
        self.desk.record.changes.extend(gathered.changes);
        gathered.error.map_or(Ok(()), |why| Err(Halt::infra(why)))
    }
}

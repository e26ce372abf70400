//! Who waits for the sandbox of a stage: a process of its own, which can be ended whatever it does and may take rights
//! that others must not have; or this one, where nothing of that can happen and a process would be most of the cost.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use super::answer::Answer;
use super::gather::{Asked, Gathered};
use super::job::{Call, Job};
use super::spare;
use super::stages::{GRACE, Stages, fork};
use super::told::Told;
use super::watch::Watch;
use crate::session::SessionId;
use crate::session::store::NewSession;
use crate::task::child::End;
use crate::task::halt::Halt;
use crate::task::spec::Task;

/// How much later than its runs a batch may learn that all is to stop.
const MOMENT: Duration = Duration::from_millis(500);

/// How a command ends that hangup, interrupt, quit or terminate ended.
const SIGNALLED: [u8; 4] = [129, 130, 131, 143];

/// A stage that has been waited for.
pub(super) struct Waited {
    /// How the waiting ended.
    pub end: End,
    /// What came of the command.
    pub told: Result<Told, Halt>,
    /// What was wanted of it, unless there was no time for that.
    pub gathered: Option<Gathered>,
}

/// A command on its way.
pub(super) struct Start<'a> {
    pub job: &'a Job,
    /// Told of its sandbox as soon as there is one.
    pub note: &'a Path,
    pub stdin: File,
    /// Where its session may begin.
    pub room: Option<NewSession>,
}

impl Stages<'_> {
    /// Runs it to its end.
    pub(super) fn wait(&mut self, start: Start<'_>, watch: &mut Watch<'_>) -> Result<Waited, Halt> {
        // What an agent left may take any time to get ready again, and whoever reads events may keep us waiting.
        let is_quick = self.subject.stands_on_nothing() && start.job.session.is_none() && !self.desk.streams();
        if is_quick { self.wait_here(start, watch) } else { self.wait_apart(start, watch) }
    }

    fn wait_apart(&mut self, start: Start<'_>, watch: &mut Watch<'_>) -> Result<Waited, Halt> {
        let Start { job, note, stdin, mut room } = start;
        let (subject, run) = (self.subject.clone(), self.desk.dir.clone());
        let (answer, gathered) = (Answer::new()?, Answer::new()?);
        // Nobody else can know it before the sandbox has said it.
        let word = SessionId::new().to_string();
        self.desk.listen_for(&word);
        let roomed = room.as_ref().map(|room| room.dir().to_path_buf());
        let child = fork(Some(stdin), || {
            let call = Call { job, note, word: Some(&word) };
            let told = subject.run(call, room.take(), None).unwrap_or_else(|error| Told::failure(&error));
            let failed = answer.give(&told).is_err();
            // Here, for there is a process already that nobody needs for anything else.
            let id = told.session.as_deref().and_then(SessionId::parse).filter(|_| !told.interrupted);
            if let (Some(id), Some(asked)) = (id, &job.asked) {
                let _ = gathered.give(&subject.gather(&id, asked, &asked.place(&run)));
            }
            u8::from(failed)
        })?;
        // It is the child's from here on, whatever becomes of that.
        if let Some(room) = room {
            room.leave();
        }
        let end = self.desk.attend(child, GRACE, None, Some(&mut || watch.look()))?;
        if let Some(dir) = roomed.filter(|_| !note.exists()) {
            // It was cut off before anybody else could know of it.
            let _ = spare::remove_leftover(&dir, true);
        }
        Ok(Waited { end, told: answer.take().ok_or_else(Told::died), gathered: gathered.take() })
    }

    fn wait_here(&mut self, start: Start<'_>, watch: &mut Watch<'_>) -> Result<Waited, Halt> {
        let Start { job, note, stdin, room } = start;
        self.stopping.heed(self.desk)?;
        // Several commands of one stage have its time together.
        let left = self.desk.left().unwrap_or(job.timeout);
        let job = &Job { timeout: job.timeout.min(left), ..job.clone() };
        let (subject, call) = (&self.subject, Call { job, note, word: None });
        let look = &mut || watch.look();
        let (told, refused) = self.desk.attend_here(&stdin, look, |here| subject.run(call, room, Some(here)))?;
        let told = told.unwrap_or_else(|error| Told::failure(&error));
        let end = match refused {
            Some(why) => End::Refused(why),
            None if !told.timed_out && self.was_stopped(&told) => return Err(Halt::Stopped),
            None => End::Exit(0),
        };
        let id = told.session.as_deref().and_then(SessionId::parse).filter(|_| !told.interrupted);
        let gathered = match (id, job.asked) {
            (Some(id), Some(asked)) => self.gather_quickly(&id, asked)?,
            _ => None,
        };
        Ok(Waited { end, told: Ok(told), gathered })
    }

    /// Whether it ended because all is to stop. A signal to everybody may reach the command, the run or the batch first.
    fn was_stopped(&self, told: &Told) -> bool {
        let by_signal = told.code.is_some_and(|code| SIGNALLED.contains(&code));
        (told.interrupted && self.stopping.within(MOMENT)) || (by_signal && self.stopping.within(Duration::ZERO))
    }

    /// Looks at a session, here if that is nothing.
    fn gather_quickly(&mut self, id: &SessionId, asked: Asked) -> Result<Option<Gathered>, Halt> {
        let here = || self.subject.gather_here(id, &asked, &asked.place(&self.desk.dir));
        if let Some(gathered) = self.left_nothing(id).then(here).flatten() {
            return Ok(Some(gathered));
        }
        match self.gather(id, asked) {
            Err(Halt::Stopped) => Err(Halt::Stopped),
            // What came of the command counts all the same.
            gathered => Ok(gathered.ok()),
        }
    }

    /// Whether there is nothing to see of a session, so that it takes no time.
    fn left_nothing(&self, id: &SessionId) -> bool {
        let Task { artifacts, expect, .. } = &self.subject.frozen.task;
        let wants_nothing = artifacts.is_empty() && expect.files.is_empty() && expect.tests.is_none();
        let is_empty = |dir: &Path| fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
        let dir = self.context.store.dir(id);
        wants_nothing && is_empty(&dir.join("upper")) && !dir.join("mounts").exists()
    }
}

//! A sandbox that this very process waits for: our streams are pipes that we read ourselves, in turns with the waiting.
//! What is said here besides the command goes elsewhere: nobody would read it while we write.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::BorrowedFd;
use std::time::Instant;

use rustix::fs::{MemfdFlags, memfd_create};

use super::child::{Attendant, Pipes, Stream, TICK};
use crate::process::supervise::Beside;
use crate::sys::process::let_go_of_streams;

/// What is kept of our own words.
const MOST_TALK: u64 = 64 << 10;

/// Where its output goes.
pub struct Here<'a> {
    pipes: Pipes,
    attendant: &'a mut dyn Attendant,
    talk: File,
    ticked: Instant,
    why: Option<String>,
    failed: Option<io::Error>,
}

impl<'a> Here<'a> {
    /// From now on our streams are those of a stage.
    pub fn begin(stdin: &File, attendant: &'a mut dyn Attendant) -> io::Result<Self> {
        let talk = memfd_create("cowbox-talk", MemfdFlags::CLOEXEC)?.into();
        let (pipes, [out, err]) = Pipes::at_hand()?;
        let here = Self { pipes, attendant, talk, ticked: Instant::now(), why: None, failed: None };
        rustix::stdio::dup2_stdin(stdin)?;
        rustix::stdio::dup2_stdout(out)?;
        rustix::stdio::dup2_stderr(err)?;
        Ok(here)
    }

    /// Where whoever is not the command speaks.
    pub fn talk(&self) -> io::Result<File> {
        self.talk.try_clone()
    }

    /// The rest of the output, and what was said besides; why the attendant had it ended, if that did.
    pub fn end(mut self) -> io::Result<Option<String>> {
        self.pipes.rest(self.attendant)?;
        let mut said = Vec::new();
        self.talk.rewind()?;
        (&self.talk).take(MOST_TALK).read_to_end(&mut said)?;
        if !said.is_empty() {
            self.attendant.output(Stream::Stderr, &said)?;
        }
        self.failed.take().map_or_else(|| Ok(self.why.take()), Err)
    }
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        let_go_of_streams();
    }
}

/// Takes what cannot be kept: it must not hold up whoever writes until that has ended.
struct Nobody;

impl Attendant for Nobody {
    fn output(&mut self, _: Stream, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

impl Beside for Here<'_> {
    fn waits_for(&self) -> Vec<BorrowedFd<'_>> {
        self.pipes.open()
    }

    fn turn(&mut self) -> bool {
        if self.failed.is_some() {
            let _ = self.pipes.take_both(&mut Nobody);
            return false;
        }
        if let Err(e) = self.pipes.take_both(self.attendant) {
            self.failed = Some(e);
        } else if self.why.is_none() && self.ticked.elapsed() >= TICK {
            self.ticked = Instant::now();
            self.why = self.attendant.tick();
        }
        self.failed.is_none() && self.why.is_none()
    }
}

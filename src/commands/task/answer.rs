//! What a forked process says at its end: in memory that both share, for a file would cost more than all that is in it.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, memfd_create};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Larger than anything that is said with the bounds of a record.
const LARGEST: u64 = 64 << 20;

/// A place for one answer, made before the fork.
#[derive(Debug)]
pub struct Answer(File);

impl Answer {
    /// An empty one.
    pub fn new() -> io::Result<Self> {
        Ok(Self(memfd_create("cowbox-answer", MemfdFlags::CLOEXEC)?.into()))
    }

    /// Says it.
    pub fn give(&self, value: &impl Serialize) -> io::Result<()> {
        (&self.0).write_all(&serde_json::to_vec(value)?)
    }

    /// What was said; none if whoever should have spoken died before the last word.
    pub fn take<T: DeserializeOwned>(&self) -> Option<T> {
        let size = self.0.metadata().ok()?.len();
        let mut text = vec![0; usize::try_from(size).ok().filter(|_| size <= LARGEST)?];
        self.0.read_exact_at(&mut text, 0).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_heard_and_half_a_word_is_none() {
        let answer = Answer::new().unwrap();
        assert_eq!(answer.take::<Vec<u8>>(), None);
        answer.give(&vec![1u8, 2]).unwrap();
        assert_eq!(answer.take::<Vec<u8>>(), Some(vec![1, 2]));
        let cut = Answer::new().unwrap();
        (&cut.0).write_all(b"[1,").unwrap();
        assert_eq!(cut.take::<Vec<u8>>(), None);
    }
}

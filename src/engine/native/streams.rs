//! The command's stdin, stdout and stderr: pipes or a terminal of its own, never a host file.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, fstat};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::stdio::{stderr, stdin, stdout};

use super::pty;
use crate::error::{Error, Result, reason};
use crate::process::relay::{Relay, Stream};

/// The sandbox's ends, made before the fork.
#[derive(Debug)]
pub enum Inside {
    /// Where the outer end of a terminal goes, once it has been opened inside.
    Terminal(OwnedFd),
    /// What replaces each of the three; `None`: it is a pipe or a socket already.
    Pipes([Option<OwnedFd>; 3]),
}

/// Our ends.
#[derive(Debug)]
pub enum Outside {
    /// Where the outer end of a terminal comes from.
    Terminal(OwnedFd),
    /// Ready to pass bytes.
    Pipes(Relay),
}

/// Both ends for a command, with a terminal or without.
pub fn make(terminal: bool) -> Result<(Outside, Inside)> {
    let made = if terminal {
        pty::channel().map(|(outer, inner)| (Outside::Terminal(outer), Inside::Terminal(inner)))
    } else {
        pipes()
    };
    made.map_err(|e| Error::new(format!("cannot prepare the command's streams: {}", reason(&e))))
}

fn pipes() -> io::Result<(Outside, Inside)> {
    let mut inside = [None, None, None];
    let mut input = None;
    let mut output = Vec::new();
    if is_host_file(stdin()) {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        inside[0] = Some(reader);
        input = Some(writer);
    }
    for (number, ours, stream) in [(1, stdout(), Stream::Out), (2, stderr(), Stream::Err)] {
        if is_host_file(ours) {
            let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
            inside[number] = Some(writer);
            output.push((reader, stream));
        }
    }
    Ok((Outside::Pipes(Relay::pipes(input, output)?), Inside::Pipes(inside)))
}

/// Whether a stream is something with a name in the host's file system.
fn is_host_file(fd: BorrowedFd<'_>) -> bool {
    let Ok(stat) = fstat(fd) else { return true };
    // A named pipe has a name too, but opening it again gives nothing that its owner did not give.
    !matches!(FileType::from_raw_mode(stat.st_mode), FileType::Fifo | FileType::Socket)
}

impl Outside {
    /// The relay, once the sandbox has its ends.
    pub fn connect(self) -> Result<Relay> {
        match self {
            Outside::Pipes(relay) => Ok(relay),
            Outside::Terminal(channel) => pty::receive(channel)
                .and_then(Relay::terminal)
                .map_err(|e| Error::new(format!("cannot connect the terminal: {}", reason(&e)))),
        }
    }
}

impl Inside {
    /// Inside, before the command is forked: opens the terminal and hands its outer end out.
    pub fn open(self) -> io::Result<Opened> {
        Ok(match self {
            Inside::Terminal(channel) => Opened::Terminal(pty::open(channel.as_fd())?),
            Inside::Pipes(ends) => Opened::Pipes(ends),
        })
    }

    /// The descriptors that must stay open until then.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Inside::Terminal(channel) => vec![channel.as_fd()],
            Inside::Pipes(ends) => ends.iter().flatten().map(AsFd::as_fd).collect(),
        }
    }
}

/// The streams, ready to be taken by the command.
#[derive(Debug)]
pub enum Opened {
    /// A terminal in control of a session of its own.
    Terminal(OwnedFd),
    /// Pipes.
    Pipes([Option<OwnedFd>; 3]),
}

impl Opened {
    /// In the command: makes them its own.
    pub fn take(&self) -> io::Result<()> {
        match self {
            Opened::Terminal(inner) => pty::take(inner),
            Opened::Pipes([input, output, errors]) => {
                if let Some(fd) = input {
                    rustix::stdio::dup2_stdin(fd)?;
                }
                if let Some(fd) = output {
                    rustix::stdio::dup2_stdout(fd)?;
                }
                if let Some(fd) = errors {
                    rustix::stdio::dup2_stderr(fd)?;
                }
                Ok(())
            }
        }
    }
}

//! Running a program for what it says, with a limit of time. No threads: this process forks.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// More than this of one stream is not an answer.
const MOST: usize = 16 << 20;

/// Runs to the end, or kills it after `time`.
pub fn run(mut command: Command, time: Duration) -> io::Result<Output> {
    let deadline = Instant::now() + time;
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (Some(out), Some(err)) = (out, err) else { return Err(io::Error::other("no pipes")) };
    let mut streams = [Stream::new(Box::new(out))?, Stream::new(Box::new(err))?];
    let read = drain(&mut streams, deadline);
    if read.is_err() {
        let _ = child.kill();
    }
    let status = child.wait()?;
    read?;
    let [stdout, stderr] = streams.map(|stream| stream.said);
    Ok(Output { status, stdout, stderr })
}

trait Pipe: Read + AsFd {}
impl<T: Read + AsFd> Pipe for T {}

struct Stream {
    pipe: Box<dyn Pipe>,
    said: Vec<u8>,
    open: bool,
}

impl Stream {
    fn new(pipe: Box<dyn Pipe>) -> io::Result<Self> {
        fcntl_setfl(pipe.as_fd(), fcntl_getfl(pipe.as_fd())? | OFlags::NONBLOCK)?;
        Ok(Self { pipe, said: Vec::new(), open: true })
    }

    /// Reads what is there.
    fn take(&mut self) -> io::Result<()> {
        let mut buffer = [0u8; 8192];
        while self.open {
            match self.pipe.read(&mut buffer) {
                Ok(0) => self.open = false,
                Ok(n) if self.said.len() + n <= MOST => self.said.extend_from_slice(&buffer[..n]),
                Ok(_) => return Err(io::Error::other("it talks too much")),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

fn drain(streams: &mut [Stream; 2], deadline: Instant) -> io::Result<()> {
    while streams.iter().any(|stream| stream.open) {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it does not answer"));
        }
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let open = streams.iter().filter(|stream| stream.open);
        let mut fds: Vec<PollFd<'_>> =
            open.map(|stream| PollFd::from_borrowed_fd(stream.pipe.as_fd(), PollFlags::IN)).collect();
        match poll(&mut fds, Some(&left)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        streams.iter_mut().try_for_each(Stream::take)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_streams_are_read_to_their_end() {
        let script = "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2; exit 3";
        let output = run(sh(script), Duration::from_secs(20)).unwrap();
        assert_eq!((output.stdout.len(), output.stderr.len(), output.status.code()), (300_000, 300_000, Some(3)));
    }

    #[test]
    fn what_does_not_answer_is_given_up() {
        let error = run(sh("exec sleep 100"), Duration::from_millis(100)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}

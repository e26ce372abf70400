//! An engine's client while it runs, and the container behind it.

use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitStatus, waitid};

use super::Ready;
use super::links::Links;
use crate::engine::client::Client;
use crate::engine::{Sandbox, plain_exit_code};
use crate::error::{Error, Result, reason};
use crate::sys;

/// An engine's client that is attached to a container, or to a command in one.
pub struct Attached {
    client: Client,
    child: Child,
    /// The container to end with it; `None` for an `exec`.
    container: Option<String>,
    _links: Option<Links>,
}

impl Attached {
    /// Starts the client. It ends with us, and its container with it.
    pub fn spawn(client: &Client, mut ready: Ready, container: Option<&str>, links: Option<Links>) -> Result<Self> {
        let command = &mut ready.command;
        sys::process::die_with_parent(command, rustix::process::Signal::TERM);
        let child = command
            .spawn()
            .map_err(|e| Error::new(format!("cannot run {}: {}", client.program().display(), reason(&e))))?;
        Ok(Self { client: client.clone(), child, container: container.map(str::to_owned), _links: links })
    }

    /// Whether the client has ended; it stays to be waited for.
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(self.pid()), options), Ok(None))
    }

    fn to_client(&self, signal: Signal) {
        let _ = kill(nix::unistd::Pid::from_raw(self.child.id() as i32), signal);
    }
}

impl Sandbox for Attached {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn signal(&mut self, signal: Signal) {
        match &self.container {
            // Not through the client: with a terminal it passes nothing on, and before its container
            // runs it dies of it and leaves the engine to finish what it was asked for.
            Some(name) => {
                let deadline = Instant::now() + Duration::from_secs(5);
                while !self.client.attempt(&["kill", "--signal", signal.as_str(), name]) {
                    if self.has_ended() {
                        return;
                    }
                    if Instant::now() > deadline {
                        return self.to_client(signal);
                    }
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
            None => self.to_client(signal),
        }
    }

    fn kill(&mut self) {
        if let Some(name) = &self.container {
            remove(&self.client, name);
        }
        self.to_client(Signal::SIGKILL);
        // Again: the engine may still be creating what the client asked for.
        if let Some(name) = &self.container {
            for _ in 0..3 {
                std::thread::sleep(Duration::from_millis(100));
                remove(&self.client, name);
            }
        }
    }

    fn exit_code(&mut self, status: WaitStatus) -> Result<u8> {
        // A client that was killed, or whose reader went away, leaves its container running.
        if let Some(name) = &self.container
            && (status.terminating_signal().is_some() || reader_is_gone())
        {
            remove(&self.client, name);
        }
        Ok(plain_exit_code(status))
    }
}

/// Whether one of our output streams leads nowhere any more.
fn reader_is_gone() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds =
        [rustix::stdio::stdout(), rustix::stdio::stderr()].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::empty()));
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).is_ok() && fds.iter().any(|fd| fd.revents().intersects(PollFlags::ERR | PollFlags::HUP))
}

/// Removes a container in whatever state it is; none is fine.
pub fn remove(client: &Client, container: &str) {
    // podman waits ten seconds for a command that ignores SIGTERM, unless told; docker knows no -t.
    if !client.attempt(&["rm", "--force", "--volumes", "--time", "0", container]) {
        client.attempt(&["rm", "--force", "--volumes", container]);
    }
}

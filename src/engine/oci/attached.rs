//! An engine's client while it runs, and the container behind it.

use std::any::Any;
use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitStatus, waitid};

use super::Ready;
use super::links::Links;
use crate::engine::client::Client;
use crate::engine::{Sandbox, guest, plain_exit_code};
use crate::error::{Error, Result, reason};
use crate::sys;

/// Exit code of a container that ended by SIGKILL.
const KILLED: u8 = 128 + Signal::SIGKILL as u8;

/// An engine's client that is attached to a container, or to a command in one.
pub struct Attached {
    client: Client,
    child: Child,
    behind: Behind,
    _links: Option<Links>,
    /// What goes when it has ended, in this order.
    kept: Vec<Box<dyn Any>>,
}

/// What stands behind a client.
#[derive(Debug)]
pub enum Behind {
    /// A container, which is to end with it.
    Container(String),
    /// A command in one, which the helper finds by its token.
    Command {
        /// Its container.
        container: String,
        /// What it is known by.
        token: String,
    },
}

impl Attached {
    /// Starts the client. It ends with us, and what is behind it too.
    pub fn spawn(client: &Client, mut ready: Ready, behind: Behind, links: Option<Links>) -> Result<Self> {
        let command = &mut ready.command;
        sys::process::die_with_parent(command, rustix::process::Signal::TERM);
        let child = command
            .spawn()
            .map_err(|e| Error::new(format!("cannot run {}: {}", client.program().display(), reason(&e))))?;
        Ok(Self { client: client.clone(), child, behind, _links: links, kept: Vec::new() })
    }

    /// Keeps something until it has ended.
    pub fn with<T: 'static>(mut self, guard: Option<T>) -> Self {
        self.kept.extend(guard.map(|guard| Box::new(guard) as Box<dyn Any>));
        self
    }

    /// Whether the client has ended; it stays to be waited for.
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(self.pid()), options), Ok(None))
    }

    fn to_client(&self, signal: Signal) {
        let _ = kill(nix::unistd::Pid::from_raw(self.child.id() as i32), signal);
    }

    /// One attempt at a signal, past the client.
    fn try_signal(&self, signal: Signal) -> bool {
        match &self.behind {
            Behind::Container(name) => self.client.attempt(&["kill", "--signal", signal.as_str(), name]),
            Behind::Command { container, token } => {
                let number = (signal as i32).to_string();
                self.client.attempt(&["exec", container, guest::INSIDE, "kill", token, &number])
            }
        }
    }
}

impl Sandbox for Attached {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Not through the client: with a terminal, or for an `exec`, it passes nothing on; and before
    /// its container runs it dies of it and leaves the engine to finish what it was asked for.
    fn signal(&mut self, signal: Signal) {
        let deadline = Instant::now() + Duration::from_secs(5);
        while !self.try_signal(signal) {
            if self.has_ended() {
                return;
            }
            if Instant::now() > deadline {
                return self.to_client(signal);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn kill(&mut self) {
        match &self.behind {
            Behind::Command { .. } => {
                self.try_signal(Signal::SIGKILL);
                self.to_client(Signal::SIGKILL);
            }
            Behind::Container(name) => {
                remove_container(&self.client, name);
                self.to_client(Signal::SIGKILL);
                // Again: the engine may still be creating what the client asked for. The volumes go in `exit_code`.
                for _ in 0..3 {
                    std::thread::sleep(Duration::from_millis(100));
                    remove_container(&self.client, name);
                }
            }
        }
    }

    fn exit_code(&mut self, status: WaitStatus) -> Result<u8> {
        let code = plain_exit_code(status);
        // A client that was killed, or whose reader went away, leaves its container running.
        let left_running = status.terminating_signal().is_some() || reader_is_gone();
        match &self.behind {
            Behind::Container(name) if left_running => remove(&self.client, name),
            // Killed, so perhaps by somebody's own `docker rm --force`: that forgets the volumes.
            Behind::Container(name) if code == KILLED => remove_volumes(&self.client, name),
            Behind::Command { .. } if left_running => {
                self.try_signal(Signal::SIGKILL);
            }
            _ => {}
        }
        Ok(code)
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

/// Removes a container in whatever state it is, and its volumes; none is fine.
pub fn remove(client: &Client, container: &str) {
    remove_container(client, container);
    remove_volumes(client, container);
}

pub(super) fn remove_container(client: &Client, container: &str) {
    // podman waits ten seconds for a command that ignores SIGTERM, unless told; docker knows no -t.
    if !client.attempt(&["rm", "--force", "--volumes", "--time", "0", container]) {
        client.attempt(&["rm", "--force", "--volumes", container]);
    }
}

/// The label that ties volumes, networks and further containers to a container.
pub fn owner_label(container: &str) -> String {
    format!("cowbox={container}")
}

/// Removes the volumes of a container: docker forgets an anonymous one when its own `--rm` and a plain `rm` meet.
pub fn remove_volumes(client: &Client, container: &str) {
    let filter = format!("label={}", owner_label(container));
    if let Ok(found) = client.capture(&["volume", "ls", "--quiet", "--filter", &filter]) {
        for name in found.lines() {
            client.attempt(&["volume", "rm", "--force", name]);
        }
    }
}

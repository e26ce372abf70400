//! One process of a stage: attended to its end, its output taken as it comes. No threads: this process forks.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, Resource, Signal as Send, WaitOptions, WaitStatus, kill_process, kill_process_group, setpgid, waitpid,
};
use rustix::thread::UnshareFlags;

use crate::engine::plain_exit_code;
use crate::sys::process::{Side, bound, die_with_parent, exit_now, fork_into, unblock_signals, without_terminal};
use crate::sys::signal::{Signals, unblock_all};

/// How often the attendant is asked whether it may go on.
pub const TICK: Duration = Duration::from_millis(500);
/// How long a child may take to clear up after it was asked to end.
const GRACE: Duration = Duration::from_secs(20);
/// What a program of the host may write into one file, and use of memory: what it reads may be made to take all. Memory
/// that is only reserved does not count, for some helpers of git reserve a lot of it.
const LARGEST_FILE: u64 = 16 << 30;
const MEMORY: u64 = 8 << 30;
/// Left by a child that has ended: others may hold the pipe open for ever, and write for ever.
const REST: usize = 1 << 20;

/// Which stream bytes came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Who takes the output, and may have an end made of it.
pub trait Attendant {
    /// Takes a piece of output.
    fn output(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()>;

    /// Asked twice a second; an answer is why it must end.
    fn tick(&mut self) -> Option<String> {
        None
    }
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exit(u8),
    /// Its time was up.
    Timeout,
    /// The attendant said why.
    Refused(String),
    /// This process was asked to stop.
    Stopped,
}

/// A running one, in a process group of its own; a program has no terminal either.
#[derive(Debug)]
pub struct Child {
    pid: Pid,
    pipes: Pipes,
}

/// The ends of stdout and stderr that are read, until each has ended.
#[derive(Debug)]
pub struct Pipes([Option<OwnedFd>; 2]);

impl Child {
    /// Starts a program of the host. It dies with us.
    pub fn program(mut command: Command) -> io::Result<Self> {
        let (pipes, ends) = pipes()?;
        let [out, err] = ends;
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        without_terminal(&mut command);
        die_with_parent(&mut command, Send::KILL);
        unblock_signals(&mut command);
        bound(&mut command, Resource::Fsize, LARGEST_FILE);
        bound(&mut command, Resource::Data, MEMORY);
        let child = command.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { pid, pipes })
    }

    /// Goes on in a copy of this process, with streams of its own.
    pub fn fork(stdin: &File, body: impl FnOnce() -> u8) -> io::Result<Self> {
        let (pipes, ends) = pipes()?;
        let parent = rustix::process::getpid();
        match fork_into(UnshareFlags::empty())? {
            Side::Parent(pid) => Ok(Self { pid, pipes }),
            Side::Child => {
                drop(pipes);
                // Whoever wants to clear up before it ends collects signals; everybody else just ends.
                unblock_all();
                die_with(parent);
                let [out, err] = &ends;
                let streams = setpgid(None, None)
                    .and_then(|()| rustix::stdio::dup2_stdin(stdin.as_fd()))
                    .and_then(|()| rustix::stdio::dup2_stdout(out.as_fd()))
                    .and_then(|()| rustix::stdio::dup2_stderr(err.as_fd()));
                drop(ends);
                exit_now(streams.map_or(125, |()| i32::from(body())))
            }
        }
    }

    /// Attends to it until it has ended, one way or another.
    pub fn attend(
        mut self,
        attendant: &mut dyn Attendant,
        signals: &Signals,
        timeout: Option<Duration>,
    ) -> io::Result<End> {
        let attended = self.attend_until_end(attendant, signals, timeout.map(|time| Instant::now() + time));
        if attended.is_err() {
            let _ = kill_process_group(self.pid, Send::KILL);
            let _ = waitpid(Some(self.pid), WaitOptions::empty());
        }
        attended
    }

    fn attend_until_end(
        &mut self,
        attendant: &mut dyn Attendant,
        signals: &Signals,
        deadline: Option<Instant>,
    ) -> io::Result<End> {
        let mut asked: Option<(End, Instant)> = None;
        let mut ticked = Instant::now();
        loop {
            self.pump(attendant, signals)?;
            let mut why = None;
            while let Ok(Some(arrived)) = signals.next() {
                if matches!(arrived.signal, Signal::SIGTERM | Signal::SIGINT | Signal::SIGHUP) {
                    why = Some(End::Stopped);
                }
            }
            // After the signals: one that tells of its end and comes later ends the next wait at once.
            if let Some(status) = self.ended()? {
                self.pipes.rest(attendant)?;
                let end = asked.map(|(end, _)| end).or(why);
                return Ok(end.unwrap_or_else(|| End::Exit(plain_exit_code(status))));
            }
            if why.is_none() && deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                why = Some(End::Timeout);
            }
            if why.is_none() && ticked.elapsed() >= TICK {
                ticked = Instant::now();
                why = attendant.tick().map(End::Refused);
            }
            match (&asked, why) {
                (None, Some(end)) => {
                    let _ = kill_process(self.pid, Send::TERM);
                    asked = Some((end, Instant::now()));
                }
                (Some((_, since)), _) if since.elapsed() > GRACE => {
                    let _ = kill_process_group(self.pid, Send::KILL);
                }
                _ => {}
            }
        }
    }

    /// The leader's end is the end; whatever it left in its group goes with it.
    fn ended(&self) -> io::Result<Option<WaitStatus>> {
        let ended = waitpid(Some(self.pid), WaitOptions::NOHANG)?;
        if ended.is_some() {
            let _ = kill_process_group(self.pid, Send::KILL);
        }
        Ok(ended.map(|(_, status)| status))
    }

    /// Waits a moment, and takes what is there.
    fn pump(&mut self, attendant: &mut dyn Attendant, signals: &Signals) -> io::Result<()> {
        let open: Vec<usize> = (0..2).filter(|n| self.pipes.0[*n].is_some()).collect();
        let mut fds = vec![PollFd::new(signals, PollFlags::IN)];
        fds.extend(self.pipes.0.iter().flatten().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        let time = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        match poll(&mut fds, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        let readable: Vec<usize> =
            open.into_iter().zip(&fds[1..]).filter(|(_, fd)| !fd.revents().is_empty()).map(|(n, _)| n).collect();
        for number in readable {
            self.pipes.take(number, attendant)?;
        }
        Ok(())
    }
}

impl Pipes {
    /// New ones that never keep us waiting, with the ends that are written to.
    pub fn at_hand() -> io::Result<(Self, [OwnedFd; 2])> {
        let (pipes, ends) = pipes()?;
        pipes.0.iter().flatten().try_for_each(|pipe| rustix::io::ioctl_fionbio(pipe, true))?;
        Ok((pipes, ends))
    }

    /// Those that are open.
    pub fn open(&self) -> Vec<BorrowedFd<'_>> {
        self.0.iter().flatten().map(AsFd::as_fd).collect()
    }

    /// Takes one piece of each.
    pub fn take_both(&mut self, attendant: &mut dyn Attendant) -> io::Result<()> {
        (0..2).try_for_each(|number| self.take(number, attendant).map(drop))
    }

    /// Takes one piece; how much it was.
    fn take(&mut self, number: usize, attendant: &mut dyn Attendant) -> io::Result<usize> {
        let Some(pipe) = &self.0[number] else { return Ok(0) };
        let mut buffer = [0; 64 << 10];
        match rustix::io::read(pipe, &mut buffer) {
            Ok(0) => self.0[number] = None,
            Ok(count) => {
                attendant.output([Stream::Stdout, Stream::Stderr][number], &buffer[..count])?;
                return Ok(count);
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            Err(_) => self.0[number] = None,
        }
        Ok(0)
    }

    /// What was still in the pipes.
    pub fn rest(&mut self, attendant: &mut dyn Attendant) -> io::Result<()> {
        for number in 0..2 {
            if let Some(pipe) = &self.0[number] {
                rustix::io::ioctl_fionbio(pipe, true)?;
            }
            let mut taken = 0;
            while taken < REST {
                match self.take(number, attendant)? {
                    0 => break,
                    count => taken += count,
                }
            }
            self.0[number] = None;
        }
        Ok(())
    }
}

/// In a forked child: has the kernel tell us when `parent` dies. One that is dead already cannot be waited for.
pub fn die_with(parent: Pid) {
    let _ = rustix::process::set_parent_process_death_signal(Some(Send::TERM));
    if rustix::process::getppid() != Some(parent) {
        exit_now(125);
    }
}

/// Our ends, and the child's.
fn pipes() -> io::Result<(Pipes, [OwnedFd; 2])> {
    let (out, out_end) = pipe_with(PipeFlags::CLOEXEC)?;
    let (err, err_end) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((Pipes([Some(out), Some(err)]), [out_end, err_end]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::supervise;

    #[derive(Default)]
    struct Both {
        out: Vec<u8>,
        err: Vec<u8>,
        refuse: bool,
    }

    impl Attendant for Both {
        fn output(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
            match stream {
                Stream::Stdout => self.out.extend_from_slice(bytes),
                Stream::Stderr => self.err.extend_from_slice(bytes),
            }
            Ok(())
        }

        fn tick(&mut self) -> Option<String> {
            self.refuse.then(|| "enough".to_owned())
        }
    }

    fn sh(script: &str, refuse: bool, timeout: Option<Duration>) -> (End, Both) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let mut both = Both { refuse, ..Both::default() };
        let signals = supervise::watch().unwrap();
        let end = Child::program(command).unwrap().attend(&mut both, &signals, timeout).unwrap();
        (end, both)
    }

    #[test]
    fn both_streams_are_taken_to_their_end() {
        let (end, both) = sh("head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2; exit 7", false, None);
        assert_eq!((end, both.out.len(), both.err.len()), (End::Exit(7), 300_000, 200_000));
    }

    #[test]
    fn a_program_cannot_ask_at_the_terminal() {
        let (end, both) = sh("test $(cut -d' ' -f6 /proc/$$/stat) = $$ && ! (: </dev/tty)", false, None);
        assert_eq!(end, End::Exit(0), "{}", String::from_utf8_lossy(&both.err));
    }

    #[test]
    fn a_program_cannot_take_all_there_is() {
        let (_, both) = sh("cat /proc/self/limits", false, None);
        let text = String::from_utf8(both.out).unwrap();
        let limit = |name: &str| -> u64 {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            line[name.len()..].split_whitespace().next().unwrap().parse().unwrap_or(u64::MAX)
        };
        assert!(limit("Max file size") <= LARGEST_FILE && limit("Max data size") <= MEMORY, "{text}");
    }

    #[test]
    fn time_and_attendant_put_an_end_to_it() {
        let started = Instant::now();
        assert_eq!(sh("exec sleep 50", false, Some(Duration::from_millis(200))).0, End::Timeout);
        assert_eq!(sh("exec sleep 50", true, None).0, End::Refused("enough".into()));
        assert!(started.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn what_it_leaves_behind_neither_holds_us_up_nor_stays() {
        let (end, both) = sh("sleep 51 & echo $!", false, None);
        assert_eq!(end, End::Exit(0));
        let pid = String::from_utf8(both.out).unwrap().trim().to_owned();
        let runs = || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
        for _ in 0..100 {
            if !runs() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it still runs");
    }
}

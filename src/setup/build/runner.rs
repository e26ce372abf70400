//! One build: its output to the log and to whoever looks on, and its end. No threads: this process forks.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};

use super::{Progress, stop};
use crate::error::{Error, Kind, Result, show};
use crate::ui::sanitize;

/// How often the one who looks on is asked.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// How long an engine may take to clean up after itself.
const GRACE: Duration = Duration::from_secs(10);
/// How many lines a failure shows.
const LAST: usize = 12;
/// How much of a line is shown; the log has all of it.
const WIDEST: usize = 2000;

/// How a build ended.
#[derive(Debug)]
pub struct Ended {
    status: ExitStatus,
    cancelled: bool,
    last: VecDeque<String>,
}

/// Runs it to its end, or until `progress` does not want to go on. `by_steps`: then the step that runs is ended first.
pub fn run(mut command: Command, by_steps: bool, log: &mut File, progress: &mut dyn Progress) -> io::Result<Ended> {
    // One pipe for both streams keeps their order. A group of its own: to be ended with all that it started.
    let (reader, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).process_group(0);
    let child = command.spawn()?;
    // It holds the writing ends; the pipe ends when the child does.
    drop(command);
    let mut build = Build { child, reader, by_steps, killed: None, lines: Lines::default() };
    let read = build.watch(log, progress);
    if read.is_err() {
        build.group().into_iter().for_each(|group| stop::group(group, Signal::KILL));
    }
    let status = build.child.wait()?;
    read?;
    build.lines.finish(progress);
    Ok(Ended { status, cancelled: build.killed.is_some(), last: build.lines.last })
}

struct Build {
    child: Child,
    reader: PipeReader,
    by_steps: bool,
    /// When it was asked to end.
    killed: Option<Instant>,
    lines: Lines,
}

impl Build {
    fn watch(&mut self, log: &mut File, progress: &mut dyn Progress) -> io::Result<()> {
        let mut buffer = [0u8; 16 * 1024];
        loop {
            if self.killed.is_none() && !progress.go_on() {
                self.killed = Some(Instant::now());
            }
            if let Some(at) = self.killed
                && self.stop(at.elapsed())
            {
                return Ok(());
            }
            let mut fds = [PollFd::new(&self.reader, PollFlags::IN)];
            match poll(&mut fds, Some(&TICK)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {
                    // Something that it left behind may hold the pipe open.
                    if self.child.try_wait()?.is_some() {
                        return Ok(());
                    }
                }
                Ok(_) => match self.reader.read(&mut buffer) {
                    Ok(0) => return Ok(()),
                    Ok(n) => {
                        log.write_all(&buffer[..n])?;
                        self.lines.add(&buffer[..n], progress);
                    }
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) => return Err(e),
                },
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Presses harder the longer it takes; whether there is nothing left to wait for.
    fn stop(&self, since: Duration) -> bool {
        let Some(group) = self.group() else { return true };
        if since > GRACE {
            stop::group(group, Signal::KILL);
            return true;
        }
        if !self.by_steps || since > GRACE / 2 {
            stop::group(group, Signal::TERM);
        } else {
            stop::steps(group);
        }
        false
    }

    fn group(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }
}

/// Bytes to lines; a carriage return ends one too, for progress bars.
#[derive(Default)]
struct Lines {
    partial: Vec<u8>,
    last: VecDeque<String>,
}

impl Lines {
    fn add(&mut self, bytes: &[u8], progress: &mut dyn Progress) {
        for byte in bytes {
            match byte {
                b'\n' | b'\r' => self.finish(progress),
                _ if self.partial.len() < WIDEST => self.partial.push(*byte),
                _ => {}
            }
        }
    }

    fn finish(&mut self, progress: &mut dyn Progress) {
        let line = sanitize::line(self.partial.trim_ascii_end());
        self.partial.clear();
        if line.is_empty() {
            return;
        }
        progress.line(&line);
        if self.last.len() == LAST {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }
}

impl Ended {
    /// A failure with what was said last, and where all of it is.
    pub fn into_result(self, what: &str, log: &Path) -> Result<()> {
        if self.cancelled {
            return Err(Error::of(Kind::Interrupted, format!("building {what} was interrupted"))
                .hint(format!("its log is {}", show(log))));
        }
        if self.status.success() {
            return Ok(());
        }
        // Our own scripts end with a plain sentence; engines with what they make of it.
        let plain = self.last.iter().find_map(|line| line.strip_prefix("cowbox: "));
        let said = plain.or_else(|| self.last.back().map(|line| line.trim_start_matches("Error: ")));
        let why = said.map(str::to_owned).unwrap_or_else(|| self.status.to_string());
        let last: String = self.last.iter().map(|line| format!("\n  {line}")).collect();
        Err(Error::new(format!("cannot build {what}: {why}"))
            .hint(format!("the last lines of {}:{last}", show(log)))
            .hint("mend it, or name another image with `--image`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Seen {
        lines: Vec<String>,
        stop_at: Option<&'static str>,
    }

    impl Progress for Seen {
        fn begin(&mut self, _: &str, _: usize, _: usize) {}
        fn line(&mut self, line: &str) {
            self.lines.push(line.to_owned());
        }
        fn go_on(&mut self) -> bool {
            !self.stop_at.is_some_and(|stop| self.lines.iter().any(|line| line == stop))
        }
    }

    fn run_script(script: &str, seen: &mut Seen) -> (Ended, String) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let ended = run(command, false, &mut File::create(&path).unwrap(), seen).unwrap();
        (ended, String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned())
    }

    #[test]
    fn lines_come_in_order_escaped_and_the_log_has_them_as_they_were() {
        let mut seen = Seen::default();
        let (ended, log) = run_script("echo one; echo two >&2; printf '1%%\\r2%%\\r\\033[31mred\\n\\nend'", &mut seen);
        assert_eq!(seen.lines, ["one", "two", "1%", "2%", "\\u{1b}[31mred", "end"]);
        assert_eq!(log, "one\ntwo\n1%\r2%\r\x1b[31mred\n\nend");
        assert!(ended.into_result("x", Path::new("/log")).is_ok());
    }

    #[test]
    fn a_failure_says_why_shows_the_last_lines_and_names_the_log() {
        let (ended, _) = run_script("seq 100; echo 'cowbox: go 9 cannot be had: why'; exit 3", &mut Seen::default());
        let error = ended.into_result("the image for go", Path::new("/log")).unwrap_err();
        assert_eq!(error.message(), "cannot build the image for go: go 9 cannot be had: why");
        assert!(error.hints()[0].starts_with("the last lines of /log:\n  90\n"), "{:?}", error.hints());
        let (ended, _) = run_script("exit 3", &mut Seen::default());
        assert!(ended.into_result("x", Path::new("/log")).unwrap_err().message().contains("exit status: 3"));
    }

    #[test]
    fn who_looks_on_can_end_it_with_all_that_it_started() {
        let mut seen = Seen { stop_at: Some("ready"), ..Seen::default() };
        let started = Instant::now();
        let (ended, _) = run_script("sleep 100 & echo ready; wait", &mut seen);
        assert!(started.elapsed() < GRACE);
        assert_eq!(ended.into_result("x", Path::new("/log")).unwrap_err().kind(), Kind::Interrupted);
    }

    #[test]
    fn what_it_left_behind_is_not_waited_for() {
        let started = Instant::now();
        let (ended, _) = run_script("sleep 5 & echo done", &mut Seen::default());
        assert!(started.elapsed() < Duration::from_secs(4));
        assert!(ended.into_result("x", Path::new("/log")).is_ok());
    }
}

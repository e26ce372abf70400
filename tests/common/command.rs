//! One call of cowbox: to its end, in the background, or on a terminal.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{PATIENCE, Terminal, within};

/// A call of cowbox that has not started yet.
#[must_use = "it does nothing until `.output()`, `.spawn()` or `.terminal()`"]
pub struct Cowbox {
    pub(super) command: Command,
    stdin: Option<Vec<u8>>,
    root: PathBuf,
    patience: Duration,
}

impl Cowbox {
    pub(super) fn new(root: &Path) -> Self {
        let program = program();
        let mut command = if signals_are_ignored() {
            let mut command = Command::new("/usr/bin/env");
            command.arg("--default-signal=INT,QUIT,HUP").arg(program);
            command
        } else {
            Command::new(program)
        };
        command.env_clear();
        Self { command, stdin: None, root: root.to_path_buf(), patience: PATIENCE }
    }

    /// One more argument, of any bytes.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// More arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, args: &[S]) -> Self {
        self.command.args(args);
        self
    }

    /// Bytes on stdin; without this it is empty.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// A variable of cowbox itself.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Takes a variable away.
    pub fn env_remove(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Where it starts; else in the repo.
    pub fn current_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// May take longer than anything else: for what is fetched and built.
    pub fn patiently(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Puts a shell in front: `script` has the call as `"$@"`, for redirections that a test cannot make itself.
    pub fn through(mut self, script: &str) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", script, "sh"]).arg(self.command.get_program()).args(self.command.get_args());
        shell.env_clear().envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(dir) = self.command.get_current_dir() {
            shell.current_dir(dir);
        }
        self.command = shell;
        self
    }

    /// Runs to the end. One that does not end is killed and fails the test.
    pub fn output(mut self) -> Output {
        let stdin = self.stdin.take().unwrap_or_default();
        let mut running = self.spawn();
        running.feed(stdin);
        running.wait()
    }

    /// Starts it, with pipes for all three streams.
    pub fn spawn(mut self) -> Running {
        let line = line(&self.command);
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.command.spawn().unwrap_or_else(|e| panic!("{line}: {e}"));
        let mut running = Running::new(child, line, self.root);
        running.patience = self.patience;
        running
    }

    /// Starts it as the leader of a session of its own on a terminal of `rows` × `columns`.
    pub fn terminal(self, rows: u16, columns: u16) -> Terminal {
        Terminal::start(self, rows, columns)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }
}

/// The binary under test.
pub fn program() -> OsString {
    std::env::var_os("COWBOX_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_cowbox").into())
}

/// Whether we were started so that Ctrl-C is ignored, as shells do it for `command &`, or the end of the terminal, as
/// `nohup` does it. Children would inherit that.
fn signals_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let bit = |signal: Signal| 1u64 << (signal as i32 - 1);
    let ours = bit(Signal::SIGINT) | bit(Signal::SIGQUIT) | bit(Signal::SIGHUP);
    u64::from_str_radix(mask.trim(), 16).unwrap() & ours != 0
}

/// The command line, for messages.
pub(super) fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|w| format!("{w:?}")).collect::<Vec<_>>().join(" ")
}

type Buffer = Arc<Mutex<Vec<u8>>>;

/// A running cowbox. Dropped, it is killed.
pub struct Running {
    child: Child,
    line: String,
    root: PathBuf,
    stdout: (Buffer, Option<JoinHandle<()>>),
    stderr: (Buffer, Option<JoinHandle<()>>),
    feeder: Option<JoinHandle<()>>,
    listening: Arc<AtomicBool>,
    patience: Duration,
    ended: bool,
}

impl Running {
    fn new(mut child: Child, line: String, root: PathBuf) -> Self {
        let listening = Arc::new(AtomicBool::new(true));
        let stdout = collect(child.stdout.take().unwrap(), listening.clone());
        let stderr = collect(child.stderr.take().unwrap(), Arc::new(AtomicBool::new(true)));
        Self { child, line, root, stdout, stderr, feeder: None, listening, patience: PATIENCE, ended: false }
    }

    /// Its process.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Sends it a signal, as `kill` does.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).unwrap();
    }

    /// Writes to its stdin and leaves it open.
    pub fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let stdin = self.child.stdin.as_mut().expect("stdin is open");
        stdin.write_all(bytes.as_ref()).unwrap();
        stdin.flush().unwrap();
    }

    /// Goes away as a reader of its stdout: from now on writing there fails.
    pub fn close_stdout(&mut self) {
        self.listening.store(false, Ordering::Relaxed);
    }

    /// Writes to its stdin while its output is read, then closes it. Whoever does not read is no failure.
    fn feed(&mut self, bytes: Vec<u8>) {
        let mut stdin = self.child.stdin.take().unwrap();
        self.feeder = Some(std::thread::spawn(move || drop(stdin.write_all(&bytes))));
    }

    /// What it wrote to stdout so far.
    pub fn stdout_so_far(&self) -> String {
        String::from_utf8_lossy(&self.stdout.0.lock().unwrap()).into_owned()
    }

    /// What it wrote to stderr so far.
    pub fn stderr_so_far(&self) -> String {
        String::from_utf8_lossy(&self.stderr.0.lock().unwrap()).into_owned()
    }

    /// Waits until stdout holds `text`.
    #[track_caller]
    pub fn expect(&mut self, text: &str) {
        let found = within(PATIENCE, || {
            let found = self.stdout_so_far().contains(text);
            let ended = matches!(self.child.try_wait(), Ok(Some(_)));
            (found || ended).then_some(())
        });
        if found.is_none() || !self.stdout_so_far().contains(text) {
            let (out, err) = (self.stdout_so_far(), self.stderr_so_far());
            panic!("{}\nnever said {text:?}\n--- stdout\n{out}\n--- stderr\n{err}", self.line);
        }
    }

    /// Whether it is still there.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for its end.
    #[track_caller]
    pub fn wait(mut self) -> Output {
        let status = within(self.patience, || self.child.try_wait().unwrap());
        let Some(status) = status else {
            let (out, err) = (self.stdout_so_far(), self.stderr_so_far());
            panic!("{}\ndoes not end\n--- stdout\n{out}\n--- stderr\n{err}", self.line);
        };
        self.ended = true;
        // Somebody who was left behind may hold the pipes: the test must say so, not hang.
        let readers = [&mut self.stdout.1, &mut self.stderr.1];
        for reader in readers {
            let handle = reader.take().unwrap();
            let done = within(PATIENCE, || handle.is_finished().then_some(()));
            assert!(done.is_some(), "{}\nended, but somebody holds its stdout or stderr open", self.line);
            handle.join().unwrap();
        }
        let bytes = |buffer: &Buffer| std::mem::take(&mut *buffer.lock().unwrap());
        Output {
            status,
            stdout: bytes(&self.stdout.0),
            stderr: bytes(&self.stderr.0),
            line: self.line.clone(),
            root: self.root.clone(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Reads to the end, or until nobody listens any more.
fn collect(mut pipe: impl Read + Send + 'static, listening: Arc<AtomicBool>) -> (Buffer, Option<JoinHandle<()>>) {
    let buffer = Buffer::default();
    let shared = buffer.clone();
    let thread = std::thread::spawn(move || {
        let mut chunk = [0u8; 64 << 10];
        while let Ok(length @ 1..) = pipe.read(&mut chunk) {
            shared.lock().unwrap().extend_from_slice(&chunk[..length]);
            if !listening.load(Ordering::Relaxed) {
                break;
            }
        }
    });
    (buffer, Some(thread))
}

/// How a call ended and what it said.
#[must_use = "either snapshot the output or assert the exit status"]
#[derive(Debug)]
pub struct Output {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    line: String,
    pub(super) root: PathBuf,
}

impl Output {
    /// The exit code; `signal N` panics, since cowbox never dies of one unless the test killed it.
    #[track_caller]
    pub fn exit_code(&self) -> i32 {
        match (self.status.code(), self.status.signal()) {
            (Some(code), _) => code,
            (None, signal) => panic!("{}\ndied of signal {signal:?}\n{}", self.line, self.stderr()),
        }
    }

    /// Asserts the exit code.
    #[track_caller]
    pub fn code(self, expected: i32) -> Self {
        let code = self.exit_code();
        assert!(
            code == expected,
            "{}\nexit code {code}, expected {expected}\n--- stdout\n{}\n--- stderr\n{}",
            self.line,
            self.stdout(),
            self.stderr()
        );
        self
    }

    /// Asserts success.
    #[track_caller]
    pub fn ok(self) -> Self {
        self.code(0)
    }

    /// Nothing but success matters.
    #[track_caller]
    pub fn done(self) {
        let _ = self.code(0);
    }

    /// stdout as text.
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// stderr as text.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// stdout as one JSON document.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|e| panic!("{}: {e}\n{}", self.line, self.stdout()))
    }

    /// Asserts that stderr holds `text`.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stderr().contains(text), "{}\ndid not say {text:?} but\n{}", self.line, self.stderr());
        self
    }

    /// Asserts stdout, to the byte.
    #[track_caller]
    pub fn prints(self, expected: impl AsRef<[u8]>) -> Self {
        let expected = expected.as_ref();
        assert!(
            self.stdout == expected,
            "{}\nprinted {:?}\nnot     {:?}\n--- stderr\n{}",
            self.line,
            self.stdout(),
            String::from_utf8_lossy(expected),
            self.stderr()
        );
        self
    }
}

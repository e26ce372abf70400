//! Cowbox on a terminal of its own.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::fcntl::OFlag;
use nix::pty::{grantpt, posix_openpt, ptsname_r, unlockpt};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::command::line;
use super::conversation::settings;
use super::{Cowbox, PATIENCE, Screen, within};

/// A terminal and the cowbox that leads its session. Dropped, both end.
pub struct Terminal {
    child: Child,
    line: String,
    /// `None` once the terminal is closed.
    keyboard: Option<File>,
    screen: Arc<Mutex<Vec<u8>>>,
    closed: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
    /// How far `expect` has read.
    seen: usize,
    size: (u16, u16),
    root: PathBuf,
}

impl Terminal {
    pub(super) fn start(cowbox: Cowbox, rows: u16, columns: u16) -> Self {
        // Not `openpty`: its descriptors would leak into children of other threads, and nothing would ever hang up.
        let master = posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname_r(&master).unwrap();
        let slave = File::options().read(true).write(true).custom_flags(OFlag::O_NOCTTY.bits()).open(name).unwrap();
        let keyboard = File::from(OwnedFd::from(master));
        set_size(&keyboard, rows, columns);
        let line = line(&cowbox.command);
        let root = cowbox.root().to_path_buf();
        // `setsid --ctty` execs, so the process that we started becomes cowbox itself.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(cowbox.command.get_program()).args(cowbox.command.get_args());
        command.env_clear().envs(cowbox.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(cowbox.command.get_current_dir().unwrap_or(cowbox.root()));
        let stream = || Stdio::from(slave.try_clone().unwrap());
        command.stdin(stream()).stdout(stream()).stderr(stream());
        let child = command.spawn().unwrap();
        drop(command);
        drop(slave);

        let screen = Arc::new(Mutex::new(Vec::new()));
        let closed = Arc::new(AtomicBool::new(false));
        let master = keyboard.try_clone().unwrap();
        let reader = {
            let (screen, closed) = (screen.clone(), closed.clone());
            std::thread::spawn(move || watch(master, &screen, &closed))
        };
        Self {
            child,
            line,
            keyboard: Some(keyboard),
            screen,
            closed,
            reader: Some(reader),
            seen: 0,
            size: (rows, columns),
            root,
        }
    }

    /// The process of cowbox.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Types.
    pub fn send(&mut self, keys: impl AsRef<[u8]>) {
        self.keyboard.as_mut().expect("the terminal is open").write_all(keys.as_ref()).unwrap();
    }

    /// Types a line.
    pub fn enter(&mut self, text: &str) {
        self.send(format!("{text}\r"));
    }

    /// Changes the size of the window.
    pub fn resize(&mut self, rows: u16, columns: u16) {
        self.size = (rows, columns);
        set_size(self.keyboard.as_ref().expect("the terminal is open"), rows, columns);
    }

    /// Sends cowbox a signal, as `kill` does.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).unwrap();
    }

    /// Everything that was shown.
    pub fn screen(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().unwrap()).into_owned()
    }

    /// What is on the screen now.
    pub fn now(&self) -> Screen {
        Screen::of(&self.screen.lock().unwrap(), self.size.0.into(), self.size.1.into())
    }

    /// What is on the screen when nothing has been drawn for a while: a frame may come in pieces.
    pub fn still(&self) -> Screen {
        let length = || self.screen.lock().unwrap().len();
        let mut last = length();
        loop {
            std::thread::sleep(Duration::from_millis(150));
            match length() {
                now if now == last => return self.now(),
                now => last = now,
            }
        }
    }

    /// Waits until the screen, as a person sees it, satisfies `check`.
    #[track_caller]
    pub fn until(&self, what: &str, check: impl Fn(&Screen) -> bool) {
        if within(PATIENCE, || check(&self.now()).then_some(())).is_none() {
            panic!("{}\nnever showed {what}:\n{}", self.line, self.now().text());
        }
    }

    /// Waits until `text` is somewhere on the screen.
    #[track_caller]
    pub fn until_shown(&self, text: &str) {
        self.until(text, |screen| screen.text().contains(text));
    }

    /// Filters for a snapshot of the screen.
    pub fn settings(&self) -> insta::Settings {
        settings(&self.root)
    }

    /// Waits until `text` is shown, after what was waited for before.
    #[track_caller]
    pub fn expect(&mut self, text: &str) {
        let found = within(PATIENCE, || {
            let screen = self.screen.lock().unwrap();
            let at = screen[self.seen..].windows(text.len()).position(|w| w == text.as_bytes());
            let ended = self.reader.as_ref().is_none_or(JoinHandle::is_finished);
            at.map(|at| Some(self.seen + at + text.len())).or(ended.then_some(None))
        });
        match found.flatten() {
            Some(end) => self.seen = end,
            None => panic!("{}\nnever showed {text:?}:\n{}", self.line, self.screen()),
        }
    }

    /// Closes the terminal, as a window does.
    pub fn close(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        drop(self.keyboard.take());
    }

    /// Waits for the end of cowbox and gives its exit code.
    #[track_caller]
    pub fn wait(&mut self) -> i32 {
        let status = within(PATIENCE, || self.child.try_wait().unwrap());
        let Some(status) = status else { panic!("{}\ndoes not end:\n{}", self.line, self.screen()) };
        // The last words may still be on their way.
        if let Some(reader) = self.reader.take() {
            within(PATIENCE, || reader.is_finished().then_some(()));
        }
        use std::os::unix::process::ExitStatusExt;
        status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.close();
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn set_size(terminal: &File, rows: u16, columns: u16) {
    let size = rustix::termios::Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(terminal, size).unwrap();
}

/// Reads until the other side is gone or the terminal is closed.
fn watch(mut master: File, screen: &Mutex<Vec<u8>>, closed: &AtomicBool) {
    let mut chunk = [0u8; 4096];
    while !closed.load(Ordering::Relaxed) {
        let pause = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        match poll(&mut [PollFd::new(&master, PollFlags::IN)], Some(&pause)) {
            Ok(0) | Err(_) => continue,
            Ok(_) => {}
        }
        match master.read(&mut chunk) {
            Ok(length @ 1..) => screen.lock().unwrap().extend_from_slice(&chunk[..length]),
            _ => return,
        }
    }
}

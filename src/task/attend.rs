//! The output of a stage in its logs, and as events where somebody asked for it.

use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use serde_json::json;

use super::child::{Attendant, Stream};
use super::events::Events;
use super::herald::Herald;
use super::log::Log;
use super::record::LogFacts;
use super::stage::Stage;
use crate::setup::redact::{self, Redactor};

/// What of an answer is kept for whoever asked.
pub const ANSWER: usize = 16 << 20;

/// `logs/<stage>.{stdout,stderr}` of a run, while they are written.
#[derive(Debug)]
pub struct Logs {
    stage: Stage,
    stdout: Log,
    stderr: Log,
    names: [String; 2],
    /// How many bytes of events there may still be of each; none once it was told that there are no more.
    left: [Option<u64>; 2],
}

impl Logs {
    /// New ones, of at most `most` bytes each.
    pub fn new(run: &Path, stage: Stage, most: u64) -> Self {
        let names = ["stdout", "stderr"].map(|end| format!("logs/{stage}.{end}"));
        let log = |name: &String| Log::new(&run.join(name), most);
        Self { stage, stdout: log(&names[0]), stderr: log(&names[1]), names, left: [Some(most); 2] }
    }

    /// What they are called, as long as nothing is missing in them.
    pub fn facts(&self) -> [LogFacts; 2] {
        self.names.clone().map(|path| LogFacts { path, cut: None })
    }

    /// Closes both; `empty` is one of this run that nothing was written to.
    pub fn finish(self, empty: &mut Option<PathBuf>) -> io::Result<[LogFacts; 2]> {
        let [stdout, stderr] = self.names;
        Ok([
            LogFacts { path: stdout, cut: self.stdout.finish(empty)? },
            LogFacts { path: stderr, cut: self.stderr.finish(empty)? },
        ])
    }
}

/// Somebody who looks whether it may go on.
pub type Watch<'a> = dyn FnMut() -> Option<String> + 'a;

/// Who takes the output of one process of a stage.
pub struct Attending<'a> {
    logs: &'a mut Logs,
    events: Option<&'a mut Events>,
    answer: Option<&'a mut Vec<u8>>,
    watch: Option<&'a mut Watch<'a>>,
    /// For stdout and stderr, where something is to be hidden.
    masks: Option<[redact::Stream; 2]>,
    /// Who listens to stderr first.
    herald: Option<&'a mut Herald>,
}

impl<'a> Attending<'a> {
    /// Output goes to `logs` and `events` without `secrets`; the beginning of stdout as it is to `answer`. `watch` is
    /// asked twice a second, and an answer is why it must end.
    pub fn new(
        logs: &'a mut Logs,
        events: Option<&'a mut Events>,
        answer: Option<&'a mut Vec<u8>>,
        watch: Option<&'a mut Watch<'a>>,
        secrets: &Redactor,
    ) -> Self {
        let masks = (*secrets != Redactor::default()).then(|| [secrets.stream(), secrets.stream()]);
        Self { logs, events, answer, watch, masks, herald: None }
    }

    /// With somebody who listens to stderr first.
    pub fn with_herald(mut self, herald: Option<&'a mut Herald>) -> Self {
        self.herald = herald;
        self
    }

    /// What was held back because it could have become a secret, or the word of a sandbox.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(held) = self.herald.take().map(Herald::finish) {
            self.mask(Stream::Stderr, &held)?;
        }
        let Some([mut out, mut err]) = self.masks.take() else { return Ok(()) };
        self.keep(Stream::Stdout, &out.finish())?;
        self.keep(Stream::Stderr, &err.finish())
    }

    /// Keeps it without what is to be hidden.
    fn mask(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        match &mut self.masks {
            Some(masks) => {
                let shown = masks[usize::from(stream == Stream::Stderr)].push(bytes);
                self.keep(stream, &shown)
            }
            None => self.keep(stream, bytes),
        }
    }

    fn keep(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let (log, name, left) = match stream {
            Stream::Stdout => (&mut self.logs.stdout, "stdout", &mut self.logs.left[0]),
            Stream::Stderr => (&mut self.logs.stderr, "stderr", &mut self.logs.left[1]),
        };
        log.write(bytes)?;
        let (Some(events), Some(most)) = (self.events.as_mut(), *left) else { return Ok(()) };
        let head = head(bytes, most);
        // A line is longer than what it tells, and may be so for every single byte.
        let before = events.written();
        if !head.is_empty() {
            // Text as it is; anything else exactly.
            let data = match std::str::from_utf8(head) {
                Ok(text) => json!({ "stream": name, "text": text }),
                Err(_) => json!({ "stream": name, "base64": base64::engine::general_purpose::STANDARD.encode(head) }),
            };
            events.write(Some(self.logs.stage), "stage.output", data)?;
        }
        *left = Some(most.saturating_sub(events.written() - before));
        if head.len() < bytes.len() {
            *left = None;
            events.write(Some(self.logs.stage), "stage.output", json!({ "stream": name, "cut": true }))?;
        }
        Ok(())
    }
}

/// At most so many bytes of an output, without a part of a letter at the end.
fn head(bytes: &[u8], most: u64) -> &[u8] {
    let Some(head) = usize::try_from(most).ok().and_then(|most| bytes.get(..most)) else { return bytes };
    match std::str::from_utf8(head) {
        Err(e) if e.error_len().is_none() => &head[..e.valid_up_to()],
        _ => head,
    }
}

impl Attendant for Attending<'_> {
    fn output(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        if let Some(answer) = self.answer.as_mut().filter(|_| stream == Stream::Stdout) {
            answer.extend_from_slice(&bytes[..bytes.len().min(ANSWER.saturating_sub(answer.len()))]);
        }
        match self.herald.as_mut().filter(|_| stream == Stream::Stderr).map(|herald| herald.push(bytes)) {
            Some(rest) => self.mask(stream, &rest),
            None => self.mask(stream, bytes),
        }
    }

    fn tick(&mut self) -> Option<String> {
        self.watch.as_mut().and_then(|watch| watch())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_hold_no_more_of_an_output_than_its_log() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("logs")).unwrap();
        let mut logs = Logs::new(dir.path(), Stage::Run, 10);
        let path = dir.path().join("events.jsonl");
        let mut events = Events::create(&path, "r", None).unwrap();
        for _ in 0..5 {
            let mut attending = Attending::new(&mut logs, Some(&mut events), None, None, &Redactor::default());
            attending.output(Stream::Stdout, b"123456").unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!((text.matches("123456").count(), text.matches("\"cut\":true").count()), (1, 1), "{text}");
    }

    #[test]
    fn events_of_an_output_have_an_end_however_small_its_pieces_are() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("logs")).unwrap();
        let mut logs = Logs::new(dir.path(), Stage::Run, 4096);
        let path = dir.path().join("events.jsonl");
        let mut events = Events::create(&path, "r", None).unwrap();
        let mut attending = Attending::new(&mut logs, Some(&mut events), None, None, &Redactor::default());
        for _ in 0..4000 {
            attending.output(Stream::Stdout, b"x").unwrap();
        }
        attending.output(Stream::Stderr, "ä".repeat(3000).as_bytes()).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let of = |name: &str| text.lines().filter(|line| line.contains(name)).map(str::len).sum::<usize>();
        assert!(of("stdout") < 4096 + 500, "{} bytes of events", of("stdout"));
        assert!(text.contains(&"ä".repeat(2048)), "the head of a large piece is told");
        assert_eq!((text.matches("\"cut\":true").count(), text.matches("base64").count()), (2, 0));
    }

    #[test]
    fn a_secret_is_in_no_log_however_it_is_cut() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("logs")).unwrap();
        let mut logs = Logs::new(dir.path(), Stage::Fetch, 1000);
        let mut answer = Vec::new();
        let secrets = Redactor::of([&b"secret"[..]].into_iter());
        let mut attending = Attending::new(&mut logs, None, Some(&mut answer), None, &secrets);
        for piece in ["a sec", "ret b se"] {
            attending.output(Stream::Stdout, piece.as_bytes()).unwrap();
        }
        attending.output(Stream::Stderr, b"cannot reach me:secret@host").unwrap();
        attending.finish().unwrap();
        logs.finish(&mut None).unwrap();
        let log = |end: &str| std::fs::read_to_string(dir.path().join(format!("logs/fetch.{end}"))).unwrap();
        assert_eq!((log("stdout").as_str(), log("stderr").as_str()), ("a *** b se", "cannot reach me:***@host"));
        assert_eq!(answer, b"a secret b se");
    }
}

//! What happens in a run, as lines of JSON: one writer, in order.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::stage::Stage;
use crate::ui::sanitize;

/// Number of the format.
pub const SCHEMA: u32 = 1;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Event {
    /// Number of the format.
    pub schema: u32,
    /// Counts up from 1, without gaps, in one run.
    pub seq: u64,
    /// When, as RFC 3339 in UTC.
    pub time: String,
    /// The run's id.
    pub run: String,
    /// The stage that it belongs to; none for the run itself.
    pub stage: Option<Stage>,
    /// What happened: `run.started`, `stage.started`, `stage.output`, `command.ended`, `stage.ended`, `notice`,
    /// `run.ended`.
    pub event: String,
    /// More about it, by what happened.
    pub data: Value,
}

/// The writer of one run: into its file, and to whoever watches the batch.
#[derive(Debug)]
pub struct Events {
    file: File,
    watcher: Option<File>,
    run: String,
    seq: u64,
    written: u64,
}

impl Events {
    /// A new file; every line goes to `watcher` as well.
    pub fn create(path: &Path, run: &str, watcher: Option<OwnedFd>) -> io::Result<Self> {
        let file = File::options().append(true).create_new(true).open(path)?;
        Ok(Self { file, watcher: watcher.map(File::from), run: run.to_owned(), seq: 0, written: 0 })
    }

    /// How many bytes there are by now.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Writes one.
    pub fn write(&mut self, stage: Option<Stage>, event: &str, data: Value) -> io::Result<()> {
        self.seq += 1;
        let event = Event {
            schema: SCHEMA,
            seq: self.seq,
            time: humantime::format_rfc3339_millis(SystemTime::now()).to_string(),
            run: self.run.clone(),
            stage,
            event: event.to_owned(),
            data,
        };
        // It may be read on a terminal.
        let line = sanitize::json(&serde_json::to_string(&event).map_err(io::Error::other)?) + "\n";
        let line = line.as_bytes();
        self.file.write_all(line)?;
        self.written += line.len() as u64;
        // Whoever watched may be gone; the record is the file.
        if let Some(watcher) = &mut self.watcher
            && watcher.write_all(line).is_err()
        {
            self.watcher = None;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_go_to_the_file_and_to_the_watcher() {
        let dir = tempfile::tempdir().unwrap();
        let (file, copy) = (dir.path().join("events.jsonl"), dir.path().join("copy"));
        let mut events = Events::create(&file, "r", Some(File::create(&copy).unwrap().into())).unwrap();
        events.write(None, "run.started", Value::Null).unwrap();
        events
            .write(
                Some(Stage::Run),
                "stage.started",
                serde_json::json!({"network": "none", "text": "a\u{9b}\u{202e}b"}),
            )
            .unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text, std::fs::read_to_string(copy).unwrap());
        assert!(!text.contains(['\u{9b}', '\u{202e}']), "a terminal would act upon it");
        let lines: Vec<Event> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((lines[1].stage, lines[1].run.as_str()), (Some(Stage::Run), "r"));
        assert_eq!(lines[1].data["text"], "a\u{9b}\u{202e}b");
        assert!(Events::create(&file, "r", None).is_err(), "a run is never written twice");
    }
}

//! Environments that cowbox has prepared: what is there of them, and how they go.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{Engine, Sandbox};

impl Sandbox {
    /// Where they are.
    pub fn prepared_dir(&self) -> PathBuf {
        self.cache().join("prepared")
    }

    /// Their records, oldest first.
    pub fn prepared(&self) -> Vec<Value> {
        let entries = fs::read_dir(self.prepared_dir()).into_iter().flatten().flatten();
        let whole = entries.map(|entry| entry.path()).filter(|path| path.extension().is_none());
        let records = whole.filter_map(|path| fs::read(path.join("record.json")).ok());
        let mut records: Vec<Value> = records.map(|text| serde_json::from_slice(&text).unwrap()).collect();
        records.sort_by_key(|record| record["made"].as_u64());
        records
    }

    /// The image of a session whose setup failed, while it is there.
    pub fn failed_image(&self, id: &str) -> Option<String> {
        let record = self.record(id).filter(|record| record["setup"]["failed"] == true)?;
        let image = record["policy"]["image"].as_str()?.to_owned();
        has_image(self.engine_if_any()?, &image).then_some(image)
    }

    /// Removes all of them the way that users have, with their images.
    pub(super) fn remove_prepared(&self) -> Vec<String> {
        let built = self.cache().join("built");
        if !self.prepared_dir().exists() && !built.exists() {
            return Vec::new();
        }
        let records = self.prepared();
        let mut problems = Vec::new();
        let output = self.cowbox(&["gc", "--force"]).output();
        if !output.status.success() || output.stderr().contains("warning") {
            problems.push(format!("prepared environments cannot be removed: {}", output.stderr()));
        }
        let listing = fs::read_dir(self.prepared_dir()).into_iter().flatten().flatten();
        let left = listing.map(|entry| entry.path()).filter(|path| path.is_dir());
        problems.extend(left.map(|path| format!("{} is left", path.display())));
        let notes = fs::read_dir(built).into_iter().flatten().flatten();
        problems.extend(notes.map(|entry| format!("{} is left", entry.path().display())));
        for record in records {
            if let (Some(image), Some(engine)) = (record["image"].as_str(), self.engine_if_any())
                && has_image(engine, image)
            {
                problems.push(format!("the image {image} is left"));
                engine_call(engine, &["rmi", "--force", image]);
            }
            for volume in record["volumes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                let engine = self.engine_if_any().unwrap();
                if engine_call(engine, &["volume", "inspect", volume]).is_some() {
                    problems.push(format!("the volume {volume} is left"));
                    engine_call(engine, &["volume", "rm", "--force", volume]);
                }
            }
            if let Some(home) = record["home"].as_str().filter(|home| PathBuf::from(home).exists()) {
                problems.push(format!("{home} is left"));
            }
        }
        problems
    }
}

/// Whether an engine has an image.
pub fn has_image(engine: Engine, name: &str) -> bool {
    engine_call(engine, &["image", "inspect", name]).is_some()
}

/// What an engine says, without cowbox; `None` if it fails.
pub fn engine_call(engine: Engine, args: &[&str]) -> Option<String> {
    let output = Command::new(engine.name()).args(args).stdin(Stdio::null()).output().unwrap();
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

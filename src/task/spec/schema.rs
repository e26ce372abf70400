//! The schemas that are published are what the types say.

use super::Task;
use crate::task::events::Event;
use crate::task::record::RunRecord;

/// Compares one with its file, or writes that.
fn is_published(schema: &schemars::Schema, name: &str) {
    let text = serde_json::to_string_pretty(schema).unwrap() + "\n";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name);
    if std::env::var_os("COWBOX_WRITE_DOCS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(published == text, "docs/{name} is old: COWBOX_WRITE_DOCS=1 cargo test --lib schema");
}

#[test]
fn the_published_schema_of_tasks_is_that_of_the_types() {
    is_published(&schemars::schema_for!(Task), "task.schema.json");
}

#[test]
fn the_published_schema_of_records_is_that_of_the_types() {
    is_published(&schemars::schema_for!(RunRecord), "run.schema.json");
}

#[test]
fn the_published_schema_of_events_is_that_of_the_types() {
    is_published(&schemars::schema_for!(Event), "event.schema.json");
}

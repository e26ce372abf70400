//! The schemas that are published are what the types say.

use schemars::Schema;
use schemars::transform::RecursiveTransform;
use serde_json::Value;

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

/// What may be left out has a value where it is there.
fn without_null(schema: &mut Schema) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = &types[..] {
            let one = one.clone();
            schema.insert("type".into(), one);
        }
    }
    if let Some(Value::Array(ways)) = schema.get_mut("anyOf") {
        ways.retain(|way| way.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(one)] = &ways[..] {
            let one = one.clone();
            schema.remove("anyOf");
            one.into_iter().for_each(|(name, value)| drop(schema.insert(name, value)));
        }
    }
}

#[test]
fn the_published_schema_of_tasks_is_that_of_the_types() {
    let settings = schemars::generate::SchemaSettings::default();
    let settings = settings.with_transform(RecursiveTransform(without_null));
    is_published(&settings.into_generator().into_root_schema_for::<Task>(), "task.schema.json");
}

#[test]
fn the_published_schema_of_records_is_that_of_the_types() {
    is_published(&schemars::schema_for!(RunRecord), "run.schema.json");
}

#[test]
fn the_published_schema_of_events_is_that_of_the_types() {
    is_published(&schemars::schema_for!(Event), "event.schema.json");
}

//! From a file to a task. Whatever is wrong in it is told with the line and the field, before anything starts.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::Task;
use crate::error::{Error, Kind, Result, show};
use crate::ui::sanitize;

/// Larger than any that was written by hand.
const LARGEST: u64 = 1 << 20;

/// What is wrong: where, and what.
struct Wrong {
    line: Option<u64>,
    field: String,
    what: String,
}

/// What a task file says, in short: another digest is another task.
pub fn digest(path: &Path) -> Result<String> {
    let failed = |e| Error::io("read", path, e).with_kind(Kind::Usage);
    let mut bytes = Vec::new();
    open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)).map_err(failed)?;
    Ok(Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect())
}

/// Reads a task file; what follows its name decides how: `.yaml`, `.yml`, `.json` or `.toml`.
pub fn read(path: &Path) -> Result<Task> {
    let mut text = String::new();
    let file = open(path).map_err(|e| Error::io("read", path, e).with_kind(Kind::Usage))?;
    let read = file.take(LARGEST + 1).read_to_string(&mut text);
    read.map_err(|e| Error::io("read", path, e).with_kind(Kind::Usage))?;
    if text.len() as u64 > LARGEST {
        return Err(Error::of(Kind::Usage, format!("{}: larger than {} MiB", show(path), LARGEST >> 20)));
    }
    let parsed = match path.extension().and_then(|e| e.to_str()) {
        Some("yaml" | "yml") => yaml(&text),
        Some("json") => json(&text),
        Some("toml") => toml(&text),
        _ => {
            return Err(Error::of(Kind::Usage, format!("{}: not the name of a task file", show(path)))
                .hint("it must end in .yaml, .yml, .json or .toml"));
        }
    };
    parsed.map_err(|wrong| {
        let line = wrong.line.map(|line| format!(":{line}")).unwrap_or_default();
        let field = match wrong.field.as_str() {
            "" | "." | "?" => String::new(),
            field => format!("`{}`: ", sanitize::text(field)),
        };
        Error::of(Kind::Usage, format!("{}{line}: {field}{}", show(path), sanitize::text(&wrong.what)))
            .hint("docs/tasks.md lists the fields; docs/task.schema.json lets an editor check them")
    })
}

/// A pipe would be waited for, and it may be the task of somebody else's record.
fn open(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no file")) }
}

fn yaml<T: DeserializeOwned>(text: &str) -> Result<T, Wrong> {
    let mut field = String::new();
    let options = serde_saphyr::options! { strict_booleans: true, reject_unsupported_tags: true, with_snippet: false };
    let parsed = serde_saphyr::with_deserializer_from_str_with_options(text, options, |from| {
        serde_path_to_error::deserialize(from).map_err(|e| {
            field = e.path().to_string();
            e.into_inner()
        })
    });
    parsed.map_err(|e| {
        let line = e.location().map(|place| place.line());
        // The place has been told already.
        let what = e.without_snippet().to_string();
        let what = what.split(" at line ").next().unwrap_or(&what).to_owned();
        Wrong { line, field, what }
    })
}

fn json<T: DeserializeOwned>(text: &str) -> Result<T, Wrong> {
    let mut from = serde_json::Deserializer::from_str(text);
    let wrong = |e: serde_json::Error, field: String| {
        let what = e.to_string();
        let what = what.split(" at line ").next().unwrap_or(&what).to_owned();
        Wrong { line: Some(e.line() as u64), field, what }
    };
    let value = serde_path_to_error::deserialize(&mut from).map_err(|e| {
        let field = e.path().to_string();
        wrong(e.into_inner(), field)
    })?;
    from.end().map_err(|e| wrong(e, String::new()))?;
    Ok(value)
}

fn toml<T: DeserializeOwned>(text: &str) -> Result<T, Wrong> {
    let line_of = |e: &toml::de::Error| e.span().map(|span| text[..span.start].matches('\n').count() as u64 + 1);
    let from = toml::Deserializer::parse(text).map_err(|e| Wrong {
        line: line_of(&e),
        field: String::new(),
        what: e.message().to_owned(),
    })?;
    serde_path_to_error::deserialize(from).map_err(|e| {
        let field = e.path().to_string();
        Wrong { line: line_of(e.inner()), field, what: e.inner().message().to_owned() }
    })
}

//! From a file to a task. Whatever is wrong in it is told with the line and the field, before anything starts.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use super::Task;
use super::document::{Format, Wrong, parse, typed};
use crate::error::{Error, Kind, Result, show};
use crate::ui::sanitize;

/// Larger than any that was written by hand.
const LARGEST: u64 = 1 << 20;
/// Longer than anything that has to be said about a field.
const LONGEST: usize = 300;

/// What a task file says, in short: another digest is another task.
pub fn digest(path: &Path) -> Result<String> {
    Ok(Sha256::digest(bytes(path)?).iter().map(|b| format!("{b:02x}")).collect())
}

/// Reads a task file; what follows its name decides how: `.yaml`, `.yml`, `.json` or `.toml`.
pub fn read(path: &Path) -> Result<Task> {
    let format = match path.extension().and_then(|e| e.to_str()) {
        Some("yaml" | "yml") => Format::Yaml,
        Some("json") => Format::Json,
        Some("toml") => Format::Toml,
        _ => {
            return Err(Error::of(Kind::Usage, format!("{}: not the name of a task file", show(path)))
                .hint("it must end in .yaml, .yml, .json or .toml"));
        }
    };
    let bytes = bytes(path)?;
    if bytes.len() as u64 > LARGEST {
        return Err(Error::of(Kind::Usage, format!("{}: larger than {} MiB", show(path), LARGEST >> 20)));
    }
    task(&bytes, format).map_err(|wrong| {
        let line = wrong.line().map(|line| format!(":{line}")).unwrap_or_default();
        let field = match wrong.field().as_str() {
            "" => String::new(),
            field => format!("`{}` ", short(field)),
        };
        Error::of(Kind::Usage, format!("{}{line}: {field}{}", show(path), short(wrong.what())))
            .hint("docs/tasks.md lists the fields; docs/task.schema.json lets an editor check them")
    })
}

fn bytes(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    read.map_err(|e| Error::io("read", path, e).with_kind(Kind::Usage))?;
    Ok(bytes)
}

/// A pipe would be waited for, and it may be the task of somebody else's record.
fn open(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no file")) }
}

fn task(bytes: &[u8], format: Format) -> Result<Task, Wrong> {
    let text = text(bytes)?;
    let document = match text.trim().is_empty() {
        true => None,
        false => Some(parse(&text, format)?).filter(|document| !document.is_nothing()),
    };
    match document {
        Some(document) => typed(&document),
        None => Err(Wrong::new("there is nothing in it").at(1)),
    }
}

/// The text of a file, as any editor may have saved it.
fn text(bytes: &[u8]) -> Result<String, Wrong> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let wrong = |at: usize, what: &str| {
        Wrong::new(what).at(bytes[..at].iter().filter(|byte| **byte == b'\n').count() as u64 + 1)
    };
    let text = std::str::from_utf8(bytes).map_err(|e| wrong(e.valid_up_to(), "not UTF-8"))?;
    match text.find('\0') {
        Some(at) => Err(wrong(at, "holds a NUL byte")),
        None => Ok(text.replace("\r\n", "\n")),
    }
}

/// One line of it, which nothing in the file can make long or dangerous.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String = line.chars().take(LONGEST).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    sanitize::text(&shown)
}

//! Paths of any bytes in JSON: `path` is text, `path_b64` is exact where the text is not. Paths by their words.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The exact bytes in base 64, if the path is not UTF-8.
pub fn exact(path: &Path) -> Option<String> {
    path.to_str().is_none().then(|| STANDARD.encode(path.as_os_str().as_bytes()))
}

/// The path as text, lossy where it must be.
pub fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Resolves `.` and `..` by words alone, whatever is there.
pub fn by_words(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

/// A path in a record: a string, or `{"b64": …}` where it is not UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BytePath(pub PathBuf);

#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Stored {
    Text(String),
    Bytes { b64: String },
}

impl Serialize for BytePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match exact(&self.0) {
            None => Stored::Text(text(&self.0)),
            Some(b64) => Stored::Bytes { b64 },
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for BytePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Stored::deserialize(deserializer)? {
            Stored::Text(text) => text.into(),
            Stored::Bytes { b64 } => {
                let bytes = STANDARD.decode(b64).map_err(serde::de::Error::custom)?;
                OsString::from_vec(bytes).into()
            }
        }))
    }
}

#[cfg(test)]
impl schemars::JsonSchema for BytePath {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BytePath".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Stored::json_schema(generator)
    }
}

impl From<&Path> for BytePath {
    fn from(path: &Path) -> Self {
        Self(path.to_path_buf())
    }
}

impl AsRef<Path> for BytePath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

/// Whether an engine's argument can carry this: their own syntax knows no escape for these.
pub fn is_plain(path: &OsStr) -> bool {
    path.to_str().is_some_and(|t| !t.chars().any(|c| c.is_control() || matches!(c, ':' | ',' | '\\' | '"' | '\'')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_any_bytes_survives_a_record() {
        for bytes in [&b"/plain"[..], b"/b\xffad", "/é\n".as_bytes()] {
            let path = BytePath(PathBuf::from(OsStr::from_bytes(bytes)));
            let json = serde_json::to_string(&path).unwrap();
            assert_eq!(serde_json::from_str::<BytePath>(&json).unwrap(), path);
        }
    }
}

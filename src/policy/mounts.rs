//! `--mount SRC:DST[:ro|rw|cow]`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};
use serde::{Deserialize, Serialize};

/// How a host path is shown inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Read-only.
    Ro,
    /// Writable: what the command writes reaches the host.
    Rw,
    /// Writable in a layer of the session; the host keeps its own.
    Cow,
}

/// One `--mount` as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountArg {
    /// Host path.
    pub source: PathBuf,
    /// Absolute path inside.
    pub target: PathBuf,
    /// How it is shown.
    pub access: Access,
}

/// The value parser: paths are bytes, so not a `FromStr`.
pub fn parser() -> impl TypedValueParser<Value = MountArg> {
    OsStringValueParser::new().try_map(|text: OsString| parse(&text))
}

/// The last `:/` splits, so that a source may hold colons. Default: read-only.
pub fn parse(text: &OsStr) -> Result<MountArg, String> {
    let mut rest = text.as_bytes();
    let mut access = Access::Ro;
    for (suffix, value) in [(&b":ro"[..], Access::Ro), (b":rw", Access::Rw), (b":cow", Access::Cow)] {
        if let Some(shorter) = rest.strip_suffix(suffix) {
            rest = shorter;
            access = value;
            break;
        }
    }
    let split = rest.windows(2).rposition(|w| w == b":/").filter(|at| *at > 0);
    let Some(at) = split else {
        return Err("write SRC:DST with an absolute DST, and :ro, :rw or :cow after it".into());
    };
    let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    let target = path(&rest[at + 1..]);
    if !is_plain(&target) {
        return Err("DST must be an absolute path without `..`, and not `/`".into());
    }
    Ok(MountArg { source: path(&rest[..at]), target, access })
}

fn is_plain(path: &Path) -> bool {
    use std::path::Component;
    path.components().count() > 1 && path.components().all(|c| matches!(c, Component::RootDir | Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_read_from_its_end() {
        let mount =
            |source: &str, target: &str, access| Ok(MountArg { source: source.into(), target: target.into(), access });
        assert_eq!(parse("/a:/b".as_ref()), mount("/a", "/b", Access::Ro));
        assert_eq!(parse("rel/x:/b:rw".as_ref()), mount("rel/x", "/b", Access::Rw));
        assert_eq!(parse("/a:b:/c:cow".as_ref()), mount("/a:b", "/c", Access::Cow));
        for bad in ["/a", ":/b", "/a:b", "/a:/", "/a:/x/../y", ""] {
            assert!(parse(bad.as_ref()).is_err(), "{bad}");
        }
    }
}

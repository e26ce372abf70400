//! Just enough of git's config: sections, quotes, continued lines, plain includes.
//!
//! Read only from the host. Conditional includes are left out, but by [`Config::add_every`].

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::dir::{open_followed, read_all};
use crate::error::{Error, Result};

/// No config that a person wrote is larger.
const LARGEST: u64 = 4 << 20;
/// As git has it.
const DEEPEST: usize = 10;
/// Files of one set of settings.
const MOST_FILES: usize = 256;

/// The values of one or more files, in the order in which they are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    values: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Value {
    section: Vec<u8>,
    subsection: Option<Vec<u8>>,
    key: Vec<u8>,
    value: Option<Vec<u8>>,
}

impl Value {
    fn is(&self, section: &str, key: &str) -> bool {
        self.section == section.as_bytes() && self.subsection.is_none() && self.key == key.as_bytes()
    }
}

impl Config {
    /// Reads one file; a missing one is empty.
    pub fn file(path: &Path) -> Result<Self> {
        let mut config = Self::default();
        config.add(path, None)?;
        Ok(config)
    }

    /// Reads another file on top. `home` is for includes below `~`.
    pub fn add(&mut self, path: &Path, home: Option<&Path>) -> Result<()> {
        self.add_included(path, home, 0)
    }

    fn add_included(&mut self, path: &Path, home: Option<&Path>, depth: usize) -> Result<()> {
        let failed = |e| Error::io("read", path, e);
        let Some(file) = open_followed(path).map_err(failed)? else { return Ok(()) };
        let text = read_all(file, LARGEST).map_err(failed)?;
        for value in parse(&text) {
            let include = value.section == b"include" && value.subsection.is_none() && value.key == b"path";
            let target = value.value.clone();
            self.values.push(value);
            if let (true, Some(target), true) = (include, target, depth < DEEPEST) {
                let target = expand(&target, home);
                let base = path.parent().unwrap_or(Path::new("/"));
                self.add_included(&base.join(target), home, depth + 1)?;
            }
        }
        Ok(())
    }

    /// As [`Config::add`], with all includes whatever their condition, each file once. `files` are those that are read,
    /// there or not.
    pub fn add_every(&mut self, path: &Path, home: Option<&Path>, files: &mut Vec<PathBuf>) -> Result<()> {
        let mut left = vec![path.to_path_buf()];
        while let Some(path) = left.pop() {
            if files.contains(&path) || files.len() >= MOST_FILES {
                continue;
            }
            let failed = |e| Error::io("read", &path, e);
            let text = open_followed(&path).map_err(failed)?.map(|file| read_all(file, LARGEST)).transpose();
            let base = path.parent().unwrap_or(Path::new("/"));
            for value in parse(&text.map_err(failed)?.unwrap_or_default()) {
                if let (b"include" | b"includeif", b"path", Some(target)) = (&*value.section, &*value.key, &value.value)
                {
                    left.push(base.join(expand(target, home)));
                }
                self.values.push(value);
            }
            files.push(path);
        }
        Ok(())
    }

    /// Every value of a key, in whatever order.
    pub fn every<'a>(&'a self, section: &'a str, key: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.values.iter().filter(|v| v.is(section, key)).filter_map(|v| v.value.as_deref())
    }

    /// The value that wins. Names are in lower case.
    pub fn last(&self, section: &str, key: &str) -> Option<&[u8]> {
        self.find(section, key).and_then(|v| v.value.as_deref())
    }

    /// Whether a switch is on; one without a value is.
    pub fn is_on(&self, section: &str, key: &str) -> bool {
        self.find(section, key).is_some_and(|v| match &v.value {
            None => true,
            Some(text) => {
                let text = text.to_ascii_lowercase();
                matches!(text.as_slice(), b"true" | b"yes" | b"on")
                    || std::str::from_utf8(&text).ok().and_then(|t| t.parse::<i64>().ok()).is_some_and(|n| n != 0)
            }
        })
    }

    fn find(&self, section: &str, key: &str) -> Option<&Value> {
        self.values.iter().rev().find(|v| v.is(section, key))
    }
}

/// A path of a config: `~/` is the user's home.
pub fn expand(value: &[u8], home: Option<&Path>) -> PathBuf {
    match (value.strip_prefix(b"~/"), home) {
        (Some(rest), Some(home)) => home.join(OsStr::from_bytes(rest)),
        _ => PathBuf::from(OsStr::from_bytes(value)),
    }
}

/// All values of a text. What cannot be understood is left out: git itself would refuse the file.
fn parse(text: &[u8]) -> Vec<Value> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut values = Vec::new();
    let (mut section, mut subsection) = (Vec::new(), None);
    let mut lines = text.split(|b| *b == b'\n');
    while let Some(line) = lines.next() {
        let mut line = line.trim_ascii();
        if line.first() == Some(&b'[') {
            let Some((name, sub, rest)) = header(line) else { continue };
            (section, subsection) = (name, sub);
            line = rest.trim_ascii_start();
        }
        if line.is_empty() || matches!(line.first(), Some(b'#' | b';')) {
            continue;
        }
        let end = line.iter().position(|b| !b.is_ascii_alphanumeric() && *b != b'-').unwrap_or(line.len());
        let (key, rest) = line.split_at(end);
        let value = match rest.trim_ascii_start().split_first() {
            Some((b'=', rest)) => Some(value(rest, &mut lines)),
            _ => None,
        };
        values.push(Value {
            section: section.clone(),
            subsection: subsection.clone(),
            key: key.to_ascii_lowercase(),
            value,
        });
    }
    values
}

type Header<'a> = (Vec<u8>, Option<Vec<u8>>, &'a [u8]);

/// `[name]`, `[name "sub"]` or the old `[name.sub]`; and what follows on the line.
fn header(line: &[u8]) -> Option<Header<'_>> {
    let inner = line.get(1..)?;
    let end = inner.iter().position(|b| !b.is_ascii_alphanumeric() && *b != b'-' && *b != b'.')?;
    let name = inner.get(..end)?.to_ascii_lowercase();
    let rest = inner.get(end..)?.trim_ascii_start();
    if let Some(rest) = rest.strip_prefix(b"]") {
        let mut parts = name.splitn(2, |b| *b == b'.');
        let first = parts.next()?.to_vec();
        return Some((first, parts.next().map(<[u8]>::to_vec), rest));
    }
    let mut sub = Vec::new();
    let mut bytes = rest.strip_prefix(b"\"")?.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => {
                let rest = rest.get(at + 2..)?.trim_ascii_start();
                return Some((name, Some(sub), rest.strip_prefix(b"]")?));
            }
            b'\\' => sub.push(*bytes.next()?.1),
            byte => sub.push(*byte),
        }
    }
    None
}

/// A value: quotes, escapes, comments, and a backslash at the end that continues it.
fn value<'a>(first: &'a [u8], lines: &mut impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    // Blanks at the end are dropped, unless quoted.
    let (mut kept, mut quoted) = (0, false);
    let mut line = first.trim_ascii_start();
    loop {
        let mut bytes = line.iter();
        let mut continued = false;
        while let Some(byte) = bytes.next() {
            match byte {
                b'"' => quoted = !quoted,
                b'#' | b';' if !quoted => break,
                b'\\' => match bytes.next() {
                    Some(b'n') => out.push(b'\n'),
                    Some(b't') => out.push(b'\t'),
                    Some(b'b') => out.push(8),
                    Some(other) => out.push(*other),
                    None => {
                        continued = true;
                        break;
                    }
                },
                byte => out.push(*byte),
            }
            if quoted || !byte.is_ascii_whitespace() {
                kept = out.len();
            }
        }
        let next = if continued { lines.next() } else { None };
        let Some(next) = next else { break };
        line = next.trim_ascii_end();
    }
    out.truncate(kept);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_git_reads_them() {
        let dir = tempfile::tempdir().unwrap();
        let text = "[Core] ; c\n\tExcludesFile = \"~/a b\" # c\n bare\n\
            [core \"x]\\\"y\"]\n\texcludesfile = no\n[ex]\n long = one \\\n  two  \n n = 1\n\
            [include]\n path = more\n[ex.Sub]\nlong = no\n";
        std::fs::write(dir.path().join("config"), text).unwrap();
        std::fs::write(dir.path().join("more"), "[include]\npath = config\n[ex]\nadded = yes\n").unwrap();
        let config = Config::file(&dir.path().join("config")).unwrap();
        assert_eq!(config.last("core", "excludesfile").unwrap(), b"~/a b");
        assert_eq!(config.last("ex", "long").unwrap(), b"one   two");
        assert!(config.is_on("core", "bare") && config.is_on("ex", "added") && config.is_on("ex", "n"));
        assert!(!config.is_on("core", "excludesfile") && !config.is_on("no", "thing"));
        assert_eq!(expand(b"~/x", Some(Path::new("/h"))), PathBuf::from("/h/x"));
    }

    #[test]
    fn every_include_is_read_once_whatever_its_condition() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let text = "[includeIf \"gitdir:/nowhere/\"]\npath = sub/a\n[include]\npath = config\npath = ~/b\n[x]\ny = 1\n";
        std::fs::write(path("config"), text).unwrap();
        std::fs::create_dir(path("sub")).unwrap();
        std::fs::write(path("sub/a"), "[x]\ny = 2\n[include]\npath = ../missing\n").unwrap();
        let (mut config, mut files) = (Config::default(), Vec::new());
        config.add_every(&path("config"), Some(&path("home")), &mut files).unwrap();
        files.sort();
        assert_eq!(files, [path("config"), path("home/b"), path("sub/../missing"), path("sub/a")]);
        let mut values: Vec<&[u8]> = config.every("x", "y").collect();
        values.sort();
        assert_eq!(values, [b"1", b"2"]);
    }

    #[test]
    fn no_bytes_make_it_fail() {
        let mut random = crate::git::testing::Random::new(1);
        let seed = b"[a \"b\\\"\"]\n k = \"v\\n\" # x\\\n[c.d]x\n";
        for _ in 0..4_000 {
            parse(&random.damage(seed));
        }
    }
}

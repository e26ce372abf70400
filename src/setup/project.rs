//! One directory of the repo, as the readers of manifests see it. It remembers which files were looked at.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toml::Table;

use super::files::RepoFiles;
use crate::error::show;

/// Names of one directory that are looked at for patterns such as `*.csproj`.
const MOST_NAMES: usize = 400;
/// Larger manifests are not written by people.
const LARGEST: usize = 8 << 20;

/// A directory of the repo with the files in it that decide what is installed.
#[derive(Debug)]
pub struct Project<'a> {
    files: &'a RepoFiles,
    dir: PathBuf,
    names: Vec<String>,
    inputs: RefCell<BTreeSet<PathBuf>>,
    notices: RefCell<Vec<String>>,
}

impl<'a> Project<'a> {
    /// The directory `dir`, relative to the repo; empty: its root.
    pub fn new(files: &'a RepoFiles, dir: impl Into<PathBuf>) -> Self {
        let dir = dir.into();
        let names = names(files, &dir, MOST_NAMES);
        Self { files, dir, names, inputs: RefCell::default(), notices: RefCell::default() }
    }

    /// Where it is, relative to the repo.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A file of it, relative to the repo.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.join(name)
    }

    /// Whether there is a regular file. One that is there decides something, so it is remembered.
    pub fn has(&self, name: &str) -> bool {
        let path = self.path(name);
        let there = self.files.has(&path);
        if there {
            self.inputs.borrow_mut().insert(path);
        }
        there
    }

    /// Whether there is a regular file whose content decides nothing.
    pub fn holds(&self, name: &str) -> bool {
        self.files.has(self.path(name))
    }

    /// The first of several files that is there.
    pub fn first<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().copied().find(|name| self.has(name))
    }

    /// Remembers those of several files that are there.
    pub fn remember(&self, names: &[&str]) {
        for name in names {
            self.has(name);
        }
    }

    /// Whether there is a directory.
    pub fn has_dir(&self, name: &str) -> bool {
        self.files.has_dir(self.path(name))
    }

    /// Whether there is a file that may be executed.
    pub fn is_executable(&self, name: &str) -> bool {
        self.files.is_executable(self.path(name))
    }

    /// Names in it, sorted; of a very full directory not all.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Names in a directory below it, at most `limit`.
    pub fn names_in(&self, name: &str, limit: usize) -> Vec<String> {
        names(self.files, &self.path(name), limit)
    }

    /// Names of files that end like this.
    pub fn ending<'p>(&'p self, end: &'p str) -> impl Iterator<Item = &'p str> {
        self.names.iter().map(String::as_str).filter(move |name| name.ends_with(end) && self.has(name))
    }

    /// The text of a file; none, with a notice, where it cannot be read.
    pub fn text(&self, name: &str) -> Option<String> {
        if !self.has(name) {
            return None;
        }
        let text = self.files.text(self.path(name));
        if text.is_none() {
            self.notice(format!("`{}` cannot be read", show(&self.path(name))));
        }
        text.map(|text| text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
    }

    fn manifest<T>(&self, name: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let text = self.text(name)?;
        let parsed = if text.len() > LARGEST { None } else { parse(&text) };
        if parsed.is_none() {
            self.notice(format!("`{}` is broken and was not used", show(&self.path(name))));
        }
        parsed
    }

    /// A JSON document; none, with a notice, if it is broken.
    pub fn json(&self, name: &str) -> Option<Value> {
        self.manifest(name, |text| serde_json::from_str(text).ok())
    }

    /// A JSON document with comments.
    pub fn jsonc(&self, name: &str) -> Option<Value> {
        self.manifest(name, |text| jsonc_parser::parse_to_serde_value(text, &Default::default()).ok())
    }

    /// A TOML document; none, with a notice, if it is broken.
    pub fn toml(&self, name: &str) -> Option<Table> {
        self.manifest(name, |text| text.parse().ok())
    }

    /// Says something to the user, once.
    pub fn notice(&self, notice: impl Into<String>) {
        let notice = notice.into();
        let mut notices = self.notices.borrow_mut();
        if !notices.contains(&notice) {
            notices.push(notice);
        }
    }

    /// What was looked at and what is to be said.
    pub fn into_found(self) -> (BTreeSet<PathBuf>, Vec<String>) {
        (self.inputs.into_inner(), self.notices.into_inner())
    }
}

/// A name that is not UTF-8 fits none of the patterns.
fn names(files: &RepoFiles, dir: &Path, limit: usize) -> Vec<String> {
    files.list(dir, limit).into_iter().filter_map(|name| name.into_string().ok()).collect()
}

/// A text below keys of a TOML document.
pub fn toml_text<'t>(table: &'t Table, keys: &[&str]) -> Option<&'t str> {
    toml_at(table, keys)?.as_str()
}

/// A value below keys of a TOML document.
pub fn toml_at<'t>(table: &'t Table, keys: &[&str]) -> Option<&'t toml::Value> {
    let (first, rest) = keys.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, key| value.get(*key))
}

#[cfg(test)]
pub(crate) mod testing {
    use std::fs;

    use super::*;

    /// A repo made of these files.
    pub(crate) struct Repo(tempfile::TempDir);

    impl Repo {
        pub(crate) fn of(files: &[(&str, &str)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            for (name, content) in files {
                let path = dir.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
            Self(dir)
        }

        pub(crate) fn path(&self) -> &Path {
            self.0.path()
        }

        pub(crate) fn files(&self) -> RepoFiles {
            RepoFiles::open(self.0.path()).unwrap()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::Repo;
    use super::*;

    #[test]
    fn what_was_looked_at_and_is_there_is_an_input() {
        let repo = Repo::of(&[("sub/a.json", "{"), ("sub/b.toml", "x = 1"), ("sub/c", "")]);
        let files = repo.files();
        let project = Project::new(&files, "sub");
        assert_eq!(project.json("a.json"), None);
        assert_eq!(project.json("a.json"), None);
        assert!(project.toml("b.toml").is_some() && !project.has("missing"));
        let (inputs, notices) = project.into_found();
        assert_eq!(inputs.into_iter().collect::<Vec<_>>(), [Path::new("sub/a.json"), Path::new("sub/b.toml")]);
        assert_eq!(notices, ["`sub/a.json` is broken and was not used"]);
    }

    #[test]
    fn a_document_nested_without_end_is_broken_not_fatal() {
        let deep = "[".repeat(200_000);
        let repo = Repo::of(&[("a.json", &deep), ("a.toml", &format!("a = {deep}"))]);
        let files = repo.files();
        let project = Project::new(&files, "");
        assert!(project.json("a.json").is_none() && project.jsonc("a.json").is_none());
        assert!(project.toml("a.toml").is_none());
    }
}

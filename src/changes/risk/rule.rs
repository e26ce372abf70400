//! A rule is a pattern of paths and how such a file is judged. Rules come in families; in each the first that fits decides.

use std::path::Path;

use super::codes::Code;
use super::doc::{Doc, Format, Unparsed};
use super::glob::{Meets, first_byte, first_bytes, folded, path_meets};
use super::keys::{KeyRules, Keys, describe, risky, short};
use super::{Risk, Tier};
use crate::changes::{Change, ChangeKind};
use crate::layer::entry::Kind;

/// One rule.
pub(super) struct Rule {
    /// At any depth, see [`path_meets`].
    pub(super) pattern: &'static str,
    /// What about such a file is a risk.
    pub(super) judge: Judge,
    /// See [`first_byte`].
    first: u8,
}

/// How a file is judged. The code is what it gets where its content cannot be read.
pub(super) enum Judge {
    /// Nothing about it: it spares a file the next rules.
    Harmless,
    /// Any new content; the words follow the file's name.
    Any(Code, &'static str),
    /// Any new content, and its deletion.
    AnyOrGone(Code, &'static str),
    /// Some keys of a document.
    Keys(Code, Format, KeyRules),
    /// By a function of its own.
    Own(Code, fn(&Sides<'_>) -> Judged),
}

/// What a judge found, or why it could not look.
pub(super) type Judged = Result<Vec<Risk>, Unparsed>;

impl Rule {
    pub(super) const fn new(pattern: &'static str, judge: Judge) -> Self {
        Self { pattern, judge, first: first_byte(pattern) }
    }

    pub(super) const fn any(pattern: &'static str, code: Code, words: &'static str) -> Self {
        Self::new(pattern, Judge::Any(code, words))
    }

    pub(super) const fn keys(pattern: &'static str, code: Code, format: Format, rules: KeyRules) -> Self {
        Self::new(pattern, Judge::Keys(code, format, rules))
    }

    pub(super) const fn own(pattern: &'static str, code: Code, judge: fn(&Sides<'_>) -> Judged) -> Self {
        Self::new(pattern, Judge::Own(code, judge))
    }

    pub(super) const fn harmless(pattern: &'static str) -> Self {
        Self::new(pattern, Judge::Harmless)
    }
}

impl Judge {
    /// Whether the bytes are needed.
    pub(super) fn reads(&self) -> bool {
        matches!(self, Judge::Keys(..) | Judge::Own(..))
    }

    fn code(&self) -> Option<&Code> {
        match self {
            Judge::Harmless => None,
            Judge::Any(code, _) | Judge::AnyOrGone(code, _) | Judge::Keys(code, ..) | Judge::Own(code, _) => Some(code),
        }
    }
}

/// Both sides of a file, as far as they are regular files.
pub(super) struct Sides<'a> {
    /// The file's name, for reasons.
    pub(super) name: String,
    /// On the host; none if it is new there, or what was there counts for nothing.
    pub(super) old: Option<&'a [u8]>,
    /// In the session; none if it is gone.
    pub(super) new: Option<&'a [u8]>,
}

impl Sides<'_> {
    /// Both sides as flat keys. An old side that cannot be read is empty: then all keys are new.
    pub(super) fn keys(&self, format: Format) -> Result<(Keys, Keys), Unparsed> {
        let new = Keys::read(format, self.new.unwrap_or_default())?;
        Ok((Keys::read(format, self.old.unwrap_or_default()).unwrap_or_default(), new))
    }

    /// Both sides as trees.
    pub(super) fn docs(&self, format: Format) -> Result<(Doc, Doc), Unparsed> {
        let new = Doc::read(format, self.new.unwrap_or_default())?;
        let old = Doc::read(format, self.old.unwrap_or_default());
        Ok((old.unwrap_or_else(|_| Doc::Map(Vec::new())), new))
    }

    /// A risk that names keys, if there are any.
    pub(super) fn by_keys(&self, code: Code, old: &Keys, new: &Keys, rules: &KeyRules) -> Option<Risk> {
        let found = risky(&new.since(old), rules);
        (!found.is_empty()).then(|| Risk::of(code, describe(&self.name, &found)))
    }
}

/// The rule of a family that decides about a path: the first that it meets. A link may stand for a whole folder, and
/// then the heaviest of all rules about files in there counts.
pub(super) fn first<'a>(family: &'a [Rule], path: &Path, link: bool) -> Option<&'a Rule> {
    let path = folded(path);
    let bytes = first_bytes(&path);
    let near = family.iter().filter(|rule| link || bytes[usize::from(rule.first)]);
    let mut meeting = near.filter_map(|rule| Some((rule, path_meets(rule.pattern, &path)?)));
    if link {
        let tier = |rule: &Rule| rule.judge.code().map(|code| code.1);
        return meeting.map(|(rule, _)| rule).max_by_key(|rule| tier(rule));
    }
    meeting.find(|(_, meets)| *meets == Meets::Fully).map(|(rule, _)| rule)
}

/// Judges one change by one family.
pub(super) fn judge(family: &[Rule], change: &Change, old: Option<&[u8]>, new: Option<&[u8]>) -> Vec<Risk> {
    let link = change.new.is_some_and(|meta| meta.kind == Kind::Symlink);
    let mut found = Vec::new();
    if let (ChangeKind::Renamed, Some(from)) = (change.kind, &change.from) {
        found.extend(first(family, from, false).and_then(|rule| moved(rule, from)));
    }
    if let Some(rule) = first(family, &change.path, link) {
        found.extend(judge_by(rule, change, old, new));
    }
    found
}

/// Judges one change by one rule, whatever its path.
pub(super) fn judge_by(rule: &Rule, change: &Change, old: Option<&[u8]>, new: Option<&[u8]>) -> Vec<Risk> {
    let kind = change.new.map(|meta| meta.kind);
    let mut found = Vec::new();
    // Where the old side is no file, or is another file that was renamed, all of the new side is new.
    let was_file = change.old.is_some_and(|meta| meta.kind == Kind::File) && change.kind != ChangeKind::Renamed;
    let sides = Sides { name: name_of(&change.path), old: old.filter(|_| was_file), new };
    match kind {
        None if was_file => {
            found.extend(gone(rule, &change.path));
            found.extend(run(rule, &Sides { new: None, ..sides }).unwrap_or_default());
        }
        Some(Kind::File) if new.is_none() && rule.judge.reads() => found.extend(coarse(rule, &sides, TOO_LARGE)),
        Some(Kind::File) => match run(rule, &sides) {
            Ok(risks) => found.extend(risks),
            Err(Unparsed::Broken) => found.extend(coarse(rule, &sides, "cannot be parsed")),
            Err(Unparsed::Large) => found.extend(coarse(rule, &sides, TOO_LARGE)),
        },
        Some(Kind::Symlink) => found.extend(coarse(rule, &sides, "is a link")),
        _ => {}
    }
    found
}

const TOO_LARGE: &str = "is too large to be parsed";

fn run(rule: &Rule, sides: &Sides<'_>) -> Judged {
    Ok(match &rule.judge {
        Judge::Harmless => Vec::new(),
        Judge::Any(code, words) | Judge::AnyOrGone(code, words) if sides.new.is_some() || sides.old.is_none() => {
            vec![Risk::of(*code, format!("`{}` {words}", sides.name))]
        }
        Judge::Any(..) | Judge::AnyOrGone(..) => Vec::new(),
        Judge::Keys(code, format, rules) => {
            let (old, new) = sides.keys(*format)?;
            sides.by_keys(*code, &old, &new, rules).into_iter().collect()
        }
        Judge::Own(_, judge) => judge(sides)?,
    })
}

fn gone(rule: &Rule, path: &Path) -> Option<Risk> {
    match rule.judge {
        Judge::AnyOrGone(code, words) => {
            Some(Risk::of(code, format!("`{}`, which {words}, is gone from its place", name_of(path))))
        }
        _ => None,
    }
}

/// As [`gone`], but the content is not at hand: a file that only may tighten must not be moved away.
fn moved(rule: &Rule, path: &Path) -> Option<Risk> {
    match rule.judge {
        Judge::Own(code, _) if code.1 == Tier::Blocked => {
            Some(Risk::of(code, format!("`{}` is gone from its place", name_of(path))))
        }
        _ => gone(rule, path),
    }
}

fn coarse(rule: &Rule, sides: &Sides<'_>, why: &str) -> Option<Risk> {
    let code = rule.judge.code()?;
    Some(Risk::of(*code, format!("`{}` {why}, so it is judged by its name", sides.name)))
}

/// The last part of a path, for reasons.
pub(super) fn name_of(path: &Path) -> String {
    short(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy())
}

//! What a session changed, at a glance: the flagged first, each with its reason, and the rest counted.

use std::path::Path;

use console::truncate_str;

use crate::changes::details::Details;
use crate::changes::risk::{Risk, Tier};
use crate::changes::{Change, Meta};
use crate::diff::columns;
use crate::layer::entry::Kind;
use crate::ui::sanitize;

/// So many changes are listed; a person reads no more before a question.
const LISTED: usize = 15;
/// So many names of what the setup wrote.
const NAMED: usize = 3;

/// Everything that is said before the question.
#[derive(Debug)]
pub struct Glance<'a> {
    /// Name of the session.
    pub session: &'a str,
    /// The changes that would land, in the order of their paths.
    pub shown: &'a [(&'a Change, Details)],
    /// How many git ignores.
    pub ignored: usize,
    /// How many lie inside a git directory.
    pub vcs: usize,
    /// How many commits were made inside.
    pub commits: usize,
    /// What preparing the environment has written at the top of the repo.
    pub setup: Vec<std::ffi::OsString>,
    /// Risks that only the whole set shows.
    pub whole: &'a [Risk],
}

impl Glance<'_> {
    /// `3 files changed, +12 -4`
    pub fn headline(&self) -> String {
        let files = self.shown.iter().filter(|(change, _)| is_listed(change)).count();
        let sum = |count: fn(&Details) -> u64| self.shown.iter().map(|(_, details)| count(details)).sum::<u64>();
        let (plus, minus) = (sum(|d| d.insertions), sum(|d| d.deletions));
        let what = match files {
            0 if self.shown.is_empty() => "nothing changed that git does not ignore".to_owned(),
            0 => counted(self.shown.len(), "directory changed", "directories changed"),
            n if plus + minus == 0 => counted(n, "file changed", "files changed"),
            n => format!("{}, +{plus} -{minus}", counted(n, "file changed", "files changed")),
        };
        format!("{what} · session {}", self.session)
    }

    /// What lies beside the changes; empty if there is nothing.
    pub fn beside(&self) -> Vec<String> {
        let mut said = Vec::new();
        if self.commits > 0 {
            let commits = counted(self.commits, "commit made inside", "commits made inside");
            said.push(format!("{commits} (`cowbox apply --commits {}` brings them in)", self.session));
        }
        let mut not_listed = Vec::new();
        if self.ignored > 0 {
            not_listed.push(format!("{} ignored by git", self.ignored));
        }
        if self.vcs > 0 {
            not_listed.push(format!("{} inside .git", self.vcs));
        }
        if !self.setup.is_empty() {
            let name = |name: &std::ffi::OsString| sanitize::path(Path::new(name));
            let names: Vec<String> = self.setup.iter().take(NAMED).map(name).collect();
            let more = if self.setup.len() > NAMED { ", …" } else { "" };
            not_listed.push(format!("{} of the setup ({}{more})", self.setup.len(), names.join(", ")));
        }
        if !not_listed.is_empty() {
            said.push(format!("not listed: {}", not_listed.join(", ")));
        }
        let whole = self.whole.iter().map(|risk| format!("{} ({})", sanitize::text(&risk.reason), risk.code));
        said.extend(whole);
        said
    }

    /// The changes, cut to `columns` where there is nothing to be missed.
    pub fn rows(&self, columns: usize, color: bool) -> String {
        let mut rows: Vec<&(&Change, Details)> =
            self.shown.iter().filter(|(change, details)| is_listed(change) || !details.risks.is_empty()).collect();
        // Stable: within one tier the order of the paths stays.
        let tier = |details: &Details| details.risks.iter().map(|risk| risk.tier).max();
        rows.sort_by_key(|(_, details)| std::cmp::Reverse(tier(details)));
        let mut out = String::new();
        for (change, details) in rows.iter().take(LISTED) {
            out.push_str(&row(change, details, columns, color));
        }
        if let Some(rest) = rows.get(LISTED..).filter(|rest| !rest.is_empty()) {
            let flagged = rest.iter().filter(|(_, details)| !details.risks.is_empty()).count();
            let flagged = if flagged > 0 { format!(", {flagged} of them flagged") } else { String::new() };
            out.push_str(&format!("   … and {} more{flagged}\n", rest.len()));
        }
        out
    }
}

/// One change; one more line for each reason to look twice.
fn row(change: &Change, details: &Details, columns: usize, color: bool) -> String {
    let lines = match (details.binary, details.insertions, details.deletions) {
        (true, ..) => "  binary".to_owned(),
        (_, 0, 0) => String::new(),
        (_, plus, minus) => format!("  +{plus} -{minus}"),
    };
    let conflict = if change.conflict.is_some() { "  in conflict with the host" } else { "" };
    let mark = if details.risks.is_empty() { ' ' } else { '!' };
    let line = format!(" {mark} {} {}{lines}{conflict}", change.kind.letter(), columns::name(change));
    let line = truncate_str(&line, columns.saturating_sub(1), "…");
    let mut out = match mark == '!' && color {
        true => format!("\x1b[33m{line}\x1b[0m\n"),
        false => format!("{line}\n"),
    };
    let mut risks: Vec<&Risk> = details.risks.iter().collect();
    risks.sort_by_key(|risk| std::cmp::Reverse(risk.tier));
    for risk in risks {
        let tier = match risk.tier {
            Tier::Notice => "",
            Tier::Consent => ", applied only if you say so",
            Tier::Blocked => ", never applied",
        };
        // Never cut: it is what a person must read.
        out.push_str(&format!("     {} ({}{tier})\n", sanitize::text(&risk.reason), risk.code));
    }
    out
}

/// Directories that come or go are told by what is in them.
fn is_listed(change: &Change) -> bool {
    let is_dir = |meta: Option<Meta>| meta.is_some_and(|meta| meta.kind == Kind::Dir);
    match (change.old, change.new) {
        (Some(_), Some(_)) => true,
        (side, None) | (None, side) => !is_dir(side),
    }
}

fn counted(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::ChangeKind;

    fn glance<'a>(shown: &'a [(&'a Change, Details)]) -> Glance<'a> {
        Glance { session: "it", shown, ignored: 0, vcs: 0, commits: 0, setup: Vec::new(), whole: &[] }
    }

    #[test]
    fn what_is_not_listed_is_counted() {
        let names = ["a", "b\u{1b}", "c", "d"].map(Into::into).to_vec();
        let all = Glance { ignored: 37, vcs: 2, commits: 1, setup: names, ..glance(&[]) };
        insta::assert_snapshot!(all.beside().join("\n"), @r"
        1 commit made inside (`cowbox apply --commits it` brings them in)
        not listed: 37 ignored by git, 2 inside .git, 4 of the setup (a, b\u{1b}, c, …)
        ");
        assert!(glance(&[]).beside().is_empty());
    }

    #[test]
    fn the_worst_comes_first_and_its_reason_is_never_cut() {
        let changes = ["a", "b", "c"].map(|path| Change::at(Path::new(path), ChangeKind::Added));
        let risky = |tier| Risk { code: "code", tier, reason: "a reason that is longer than the window".to_owned() };
        let details = [None, Some(Tier::Notice), Some(Tier::Consent)].map(|tier| Details {
            insertions: 1,
            risks: tier.into_iter().map(risky).collect(),
            ..Details::default()
        });
        let shown: Vec<_> = changes.iter().zip(details).collect();
        insta::assert_snapshot!(glance(&shown).rows(12, false), @r"
        ! A c  +1…
            a reason that is longer than the window (code, applied only if you say so)
        ! A b  +1…
            a reason that is longer than the window (code)
          A a  +1…
        ");
        assert_eq!(glance(&shown).headline(), "3 files changed, +3 -0 · session it");
    }
}

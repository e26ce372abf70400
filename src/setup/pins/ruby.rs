//! Ruby.

use super::range::Unit;
use super::{Pin, first_line, version};
use crate::setup::project::Project;

pub(super) fn read(project: &Project<'_>) -> Option<Pin> {
    file(project).or_else(|| gemfile(project)).or_else(|| lock(project))
}

/// `3.2.2`, `ruby-3.2.2`
fn file(project: &Project<'_>) -> Option<Pin> {
    let raw = first_line(project, ".ruby-version")?;
    Some(Pin::request(project, ".ruby-version", &raw, version::exact(raw.strip_prefix("ruby-").unwrap_or(&raw))))
}

/// `ruby "3.2.2"`, `ruby "~> 3.2", ">= 3.2.1"`
fn gemfile(project: &Project<'_>) -> Option<Pin> {
    let text = project.text("Gemfile")?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let arguments = lines.filter_map(|line| line.strip_prefix("ruby")).find(|rest| rest.starts_with([' ', '(']))?;
    // Options such as `engine:` come last. `file:` names a file that was read already.
    let versions = arguments.trim_matches([' ', '(', ')']).split(',').map(str::trim);
    let versions: Vec<_> = versions.map_while(quoted).collect();
    let raw = versions.join(", ");
    if versions.is_empty() { None } else { Some(Pin::range(project, "Gemfile", &raw, Unit::Minor)) }
}

fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| ['"', '\''].contains(c))?;
    text[1..].split_once(quote).map(|(value, _)| value)
}

/// `RUBY VERSION`, then `ruby 3.2.2p53`
fn lock(project: &Project<'_>) -> Option<Pin> {
    let text = project.text("Gemfile.lock")?;
    let line = text.lines().skip_while(|line| line.trim() != "RUBY VERSION").nth(1)?;
    let raw = line.trim().strip_prefix("ruby ")?;
    let number = raw.split('p').next().unwrap_or(raw);
    Some(Pin::request(project, "Gemfile.lock", raw, version::exact(number)))
}

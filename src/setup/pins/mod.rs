//! Which version of a runtime a repo asks for. Files that name the version it is built with are requests; what
//! only says what it needs at least (`requires-python`, `engines`, `go`) is a floor.

mod java;
mod native;
mod node;
mod others;
mod python;
mod range;
mod ruby;
mod tools;
pub mod version;

use std::path::PathBuf;

use super::plan::Runtime;
use super::project::Project;
use crate::ui::sanitize;
use range::Unit;

/// The first file that says something, with what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pin {
    from: PathBuf,
    version: Option<String>,
    floor: bool,
}

/// What a directory of a repo says about a runtime; none: nothing. A version that could not be used is said in a
/// notice, and is none.
pub fn of(runtime: &str, project: &Project<'_>) -> Option<Runtime> {
    let pin = tools::read(runtime, project).or_else(|| match runtime {
        "python" => python::read(project),
        "node" => node::read(project),
        "rust" => native::rust(project),
        "go" => native::go(project),
        "ruby" => ruby::read(project),
        "java" => java::read(project),
        "php" => others::php(project),
        "elixir" => others::elixir(project),
        "dotnet" => others::dotnet(project),
        "deno" => others::deno(project),
        "bun" => others::bun(project),
        _ => None,
    })?;
    Some(Runtime { name: runtime.to_owned(), version: pin.version, floor: pin.floor, from: pin.from })
}

impl Pin {
    /// A version that is asked for. `raw` is what stands there, `version` what could be made of it.
    fn request(project: &Project<'_>, from: &str, raw: &str, version: Option<String>) -> Self {
        Self::new(project, from, raw, version, false)
    }

    /// A version that is the oldest to do.
    fn floor(project: &Project<'_>, from: &str, raw: &str, version: Option<String>) -> Self {
        Self::new(project, from, raw, version, true)
    }

    /// A range: its floor, or where it has a ceiling, the newest version below that.
    fn range(project: &Project<'_>, from: &str, raw: &str, unit: Unit) -> Self {
        match range::newest(raw, unit) {
            Some((version, floor)) => Self::new(project, from, raw, Some(version), floor),
            None => Self::new(project, from, raw, None, false),
        }
    }

    fn new(project: &Project<'_>, from: &str, raw: &str, version: Option<String>, floor: bool) -> Self {
        let from = project.path(from);
        // Words that mean "whatever there is" need no notice.
        if version.is_none() && !["", "*", "latest", "system", "default", "local"].contains(&raw) {
            let shown: String = sanitize::text(raw).chars().take(60).collect();
            project.notice(format!("`{}` asks for version `{shown}`, which is not understood", sanitize::path(&from)));
        }
        Self { from, floor: floor && version.is_some(), version }
    }
}

/// The first line of a file that is no comment.
fn first_line(project: &Project<'_>, name: &str) -> Option<String> {
    let text = project.text(name)?;
    let mut lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    lines.find(|line| !line.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests;

//! PHP, Elixir, .NET, Deno and Bun.

use serde_json::Value;

use super::range::Unit;
use super::{Pin, first_line, version};
use crate::setup::project::Project;

pub(super) fn php(project: &Project<'_>) -> Option<Pin> {
    const FILE: &str = "composer.json";
    let manifest = project.json(FILE)?;
    let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str);
    match text("/config/platform/php") {
        Some(raw) => Some(Pin::request(project, FILE, raw, version::exact(raw))),
        None => Some(Pin::range(project, FILE, text("/require/php")?, Unit::Minor)),
    }
}

pub(super) fn elixir(project: &Project<'_>) -> Option<Pin> {
    named(project, &[".elixir-version", ".exenv-version"]).or_else(|| {
        let text = project.text("mix.exs")?;
        let raw = text.split_once("elixir:")?.1.trim_start().strip_prefix('"')?.split_once('"')?.0;
        Some(Pin::range(project, "mix.exs", raw, Unit::Minor))
    })
}

pub(super) fn deno(project: &Project<'_>) -> Option<Pin> {
    named(project, &[".deno-version", ".dvmrc"])
}

pub(super) fn bun(project: &Project<'_>) -> Option<Pin> {
    named(project, &[".bun-version"]).or_else(|| {
        let manifest = project.json("package.json")?;
        let raw = manifest.get("packageManager")?.as_str()?.strip_prefix("bun@")?;
        Some(Pin::request(project, "package.json", raw, version::exact(raw.split('+').next()?)))
    })
}

fn named(project: &Project<'_>, files: &[&str]) -> Option<Pin> {
    let (file, raw) = files.iter().find_map(|file| Some((*file, first_line(project, file)?)))?;
    Some(Pin::request(project, file, &raw, version::exact(&raw)))
}

pub(super) fn dotnet(project: &Project<'_>) -> Option<Pin> {
    sdk(project).or_else(|| framework(project))
}

/// `global.json`, which may have comments, and may allow later versions.
fn sdk(project: &Project<'_>) -> Option<Pin> {
    const FILE: &str = "global.json";
    let settings = project.jsonc(FILE)?;
    let raw = settings.pointer("/sdk/version")?.as_str()?;
    let later = settings.pointer("/sdk/rollForward").and_then(Value::as_str);
    let is_floor = later.is_some_and(|word| ["major", "latestmajor"].contains(&word.to_lowercase().as_str()));
    let version = version::exact(raw);
    Some(if is_floor { Pin::floor(project, FILE, raw, version) } else { Pin::request(project, FILE, raw, version) })
}

/// `<TargetFramework>net8.0</TargetFramework>`: programs for it run on that version and no other.
fn framework(project: &Project<'_>) -> Option<Pin> {
    let projects = [".csproj", ".fsproj", ".vbproj"].into_iter().flat_map(|end| project.ending(end));
    projects.chain(["Directory.Build.props"]).find_map(|file| {
        let text = project.text(file)?;
        let list = text.split_once("<TargetFramework")?.1.split_once('>')?.1.split_once("</")?.0;
        let versions = list.split(';').filter_map(|name| name.trim().strip_prefix("net"));
        let numbered = |name: &str| {
            let number = name.split('-').next()?;
            let (major, _) = number.split_once('.')?;
            Some((major.parse::<u32>().ok()?, number.to_owned()))
        };
        let (_, raw) = versions.filter_map(numbered).max()?;
        Some(Pin::request(project, file, &raw, version::exact(&raw)))
    })
}

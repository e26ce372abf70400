//! mise and asdf: one file for all runtimes, stronger than the others.

use toml::Value;

use super::{Pin, java, node, version};
use crate::setup::conventions::mise::{ASDF, FILES};
use crate::setup::project::{Project, toml_at};

/// What the tools call a runtime.
fn names(runtime: &str) -> &[&str] {
    match runtime {
        "python" => &["python"],
        "node" => &["node", "nodejs"],
        "rust" => &["rust"],
        "go" => &["go", "golang"],
        "ruby" => &["ruby"],
        "java" => &["java"],
        "php" => &["php"],
        "elixir" => &["elixir"],
        "dotnet" => &["dotnet", "dotnet-core", "dotnet-sdk"],
        "deno" => &["deno"],
        "bun" => &["bun"],
        _ => &[],
    }
}

pub(super) fn read(runtime: &str, project: &Project<'_>) -> Option<Pin> {
    let names = names(runtime);
    let found = FILES.iter().find_map(|file| Some((*file, in_mise(project, file, names)?)));
    let (file, raw) = found.or_else(|| Some((ASDF, in_asdf(&project.text(ASDF)?, names)?)))?;
    let version = match runtime {
        "node" => node::alias(&raw),
        "java" => java::number(&raw),
        _ => version::exact(&raw),
    };
    Some(Pin::request(project, file, &raw, version))
}

/// `node = "20"`, `node = ["20", "18"]`, `node = { version = "20" }`
fn in_mise(project: &Project<'_>, file: &str, names: &[&str]) -> Option<String> {
    let table = project.toml(file)?;
    let value = names.iter().find_map(|name| {
        let core = format!("core:{name}");
        toml_at(&table, &["tools", name]).or_else(|| toml_at(&table, &["tools", &core]))
    })?;
    let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
    let value = value.get("version").unwrap_or(value);
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

/// `nodejs 20.11.1 18.0.0 # why`
fn in_asdf(text: &str, names: &[&str]) -> Option<String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let mut words = lines.map(str::split_whitespace);
    words.find_map(|mut line| if names.contains(&line.next()?) { line.next().map(str::to_owned) } else { None })
}

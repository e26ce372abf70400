//! Rust and Go.

use super::{Pin, first_line, version};
use crate::setup::project::{Project, toml_text};

pub(super) fn rust(project: &Project<'_>) -> Option<Pin> {
    toolchain(project, "rust-toolchain.toml")
        .or_else(|| toolchain(project, "rust-toolchain"))
        .or_else(|| rust_floor(project))
}

/// TOML in both files; the older one may also be just the name.
fn toolchain(project: &Project<'_>, file: &str) -> Option<Pin> {
    let text = project.text(file)?;
    let raw = if text.contains('[') {
        let table = project.toml(file)?;
        toml_text(&table, &["toolchain", "channel"])?.to_owned()
    } else {
        first_line(project, file)?
    };
    Some(Pin::request(project, file, &raw, channel(&raw)))
}

/// `1.80.1`, `nightly`, `nightly-2024-05-01`; what follows is the host, which is known.
fn channel(raw: &str) -> Option<String> {
    let raw = raw.trim();
    if raw.starts_with(|c: char| c.is_ascii_digit()) {
        return version::exact(raw.split('-').next()?);
    }
    let (name, rest) = raw.split_once('-').unwrap_or((raw, ""));
    if !["stable", "beta", "nightly"].contains(&name) {
        return None;
    }
    let is_date = rest.len() >= 10 && rest.is_char_boundary(10) && is_date(&rest[..10]);
    Some(if is_date { format!("{name}-{}", &rest[..10]) } else { name.to_owned() })
}

/// `2024-05-01`
fn is_date(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, b)| if at == 4 || at == 7 { b == b'-' } else { b.is_ascii_digit() })
}

fn rust_floor(project: &Project<'_>) -> Option<Pin> {
    let table = project.toml("Cargo.toml")?;
    let raw = toml_text(&table, &["package", "rust-version"])
        .or_else(|| toml_text(&table, &["workspace", "package", "rust-version"]))?;
    Some(Pin::floor(project, "Cargo.toml", raw, version::exact(raw)))
}

pub(super) fn go(project: &Project<'_>) -> Option<Pin> {
    let files = ["go.work", "go.mod"];
    let lines =
        |word: &'static str| files.into_iter().find_map(move |file| Some((file, directive(project, file, word)?)));
    if let Some((file, raw)) = lines("toolchain").filter(|(_, raw)| raw != "default" && raw != "local") {
        return Some(Pin::request(project, file, &raw, version::exact(raw.strip_prefix("go").unwrap_or(&raw))));
    }
    if let Some((file, raw)) = lines("go") {
        return Some(Pin::floor(project, file, &raw, version::exact(&raw)));
    }
    let raw = first_line(project, ".go-version")?;
    Some(Pin::request(project, ".go-version", &raw, version::exact(raw.strip_prefix("go").unwrap_or(&raw))))
}

/// `go 1.21` and `toolchain go1.22.1`
fn directive(project: &Project<'_>, file: &str, word: &str) -> Option<String> {
    let text = project.text(file)?;
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let mut words = lines.map(str::split_whitespace);
    words.find_map(|mut line| if line.next() == Some(word) { line.next().map(str::to_owned) } else { None })
}

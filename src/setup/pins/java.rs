//! Java.

use super::{Pin, first_line, version};
use crate::setup::project::Project;

pub(super) fn read(project: &Project<'_>) -> Option<Pin> {
    file(project)
        .or_else(|| sdkman(project))
        .or_else(|| maven(project))
        .or_else(|| gradle(project))
        .or_else(|| wrapper(project))
}

fn file(project: &Project<'_>) -> Option<Pin> {
    let raw = first_line(project, ".java-version")?;
    Some(Pin::request(project, ".java-version", &raw, number(&raw)))
}

/// `java=21.0.2-tem`
fn sdkman(project: &Project<'_>) -> Option<Pin> {
    let text = project.text(".sdkmanrc")?;
    let raw = text.lines().find_map(|line| line.trim().strip_prefix("java="))?.trim();
    Some(Pin::request(project, ".sdkmanrc", raw, number(raw)))
}

/// The version in `21.0.2-tem`, `temurin-17.0.5+8`, `openjdk64-11.0.2`, `1.8`. Some vendors count differently.
pub(super) fn number(raw: &str) -> Option<String> {
    if raw.contains("graal") {
        return None;
    }
    let segment = raw.trim().split('-').rfind(|part| part.starts_with(|c: char| c.is_ascii_digit()))?;
    let version = version::exact(segment.split('+').next()?)?;
    Some(version.strip_prefix("1.").map(str::to_owned).unwrap_or(version))
}

/// Compilers of later versions can do it too.
fn maven(project: &Project<'_>) -> Option<Pin> {
    let text = project.text("pom.xml")?;
    let tags = ["maven.compiler.release", "maven.compiler.source", "maven.compiler.target", "java.version"];
    // `${…}` refers to another one of them.
    let raw = tags.iter().filter_map(|tag| element(&text, tag)).find(|value| !value.starts_with('$'))?;
    Some(Pin::floor(project, "pom.xml", raw, number(raw)))
}

fn element<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, after) = text.split_once(&format!("<{tag}>"))?;
    Some(after.split_once("</")?.0.trim())
}

/// `JavaLanguageVersion.of(17)`
fn gradle(project: &Project<'_>) -> Option<Pin> {
    ["build.gradle.kts", "build.gradle"].into_iter().find_map(|file| {
        let text = project.text(file)?;
        let raw = text.split_once("JavaLanguageVersion.of(")?.1.split_once(')')?.0.trim().trim_matches(['"', '\'']);
        Some(Pin::request(project, file, raw, number(raw)))
    })
}

/// The first versions of gradle run on no later Java than 8.
fn wrapper(project: &Project<'_>) -> Option<Pin> {
    const FILE: &str = "gradle/wrapper/gradle-wrapper.properties";
    let text = project.text(FILE)?;
    let major: u32 = text.split_once("gradle-")?.1.split('.').next()?.parse().ok()?;
    (major <= 5).then(|| Pin::request(project, FILE, "8", Some("8".to_owned())))
}

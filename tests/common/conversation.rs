//! A conversation as text, with what differs from run to run replaced.

use std::fmt;
use std::path::Path;

use super::Output;

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "exit: {}", self.exit_code())?;
        for (name, bytes) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            let text = printable(bytes);
            if !text.is_empty() {
                write!(f, "--- {name}\n{text}")?;
                if !text.ends_with('\n') {
                    f.write_str("\\ no newline at the end\n")?;
                }
            }
        }
        Ok(())
    }
}

/// Line breaks stay; every other control character, and what is not UTF-8, is shown.
fn printable(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => out.push(c),
                c if c.is_control() => out.extend(c.escape_default()),
                c => out.push(c),
            }
        }
        chunk.invalid().iter().for_each(|b| out.push_str(&format!("\\x{b:02x}")));
    }
    out
}

impl Output {
    /// Filters for this output.
    pub fn settings(&self) -> insta::Settings {
        settings(&self.root)
    }
}

/// `root` is the scratch directory of the test.
pub fn settings(root: &Path) -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    let root = root.display().to_string().replace('.', "\\.");
    for (pattern, replacement) in [
        (root.as_str(), "[ROOT]"),
        (r"(?m)^cowbox: (podman|docker|native)\b.*\(.*overlay\) · session", "cowbox: [ENGINE] · session"),
        (r#""engine": "(podman|docker|native)""#, r#""engine": "[ENGINE]""#),
        (r"\b(podman|docker) \d+\.\d+\.\d+", "$1 [VERSION]"),
        (r"\bLinux \d+\.\d+[^\s,)]*", "Linux [VERSION]"),
        (r"\bapi-[0-9a-hjkmnp-tv-z]{4}\b", "api-[NAME]"),
        (r"\bcowbox-[0-7][0-9a-hjkmnp-tv-z]{25}\b", "cowbox-[id]"),
        (r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b", "[ID]"),
        (r"sha256:[0-9a-f]{64}", "sha256:[DIGEST]"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "[TIME]"),
        (r"\b\d+[smh] ago\b", "[AGE] ago"),
    ] {
        settings.add_filter(pattern, replacement);
    }
    settings
}

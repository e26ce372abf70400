//! Text that is safe in a shell script, in an instruction and in a path.

/// One word of a POSIX shell in which nothing is expanded.
pub(super) fn shell(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A value between the double quotes of `ENV`. `$` stays: features build on `$PATH` there.
pub(super) fn env_instruction(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The name of a directory: what is not plain becomes `-`.
pub(super) fn file_name(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '-' };
    let name: String = text.chars().take(40).map(plain).collect();
    let name = name.trim_start_matches(['.', '-']).to_ascii_lowercase();
    if name.is_empty() { "feature".to_owned() } else { name }
}

/// Whether a variable can have this name.
pub(super) fn is_variable(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_the_quotes() {
        for text in ["plain", "$(touch x)", "`id`", "a'b", "'; rm -rf / #", "two\nlines", "\\", "\"", "é ' é", ""] {
            let script = format!("printf %s {}", shell(text));
            let said = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(said.stdout).unwrap(), text);
        }
    }

    #[test]
    fn names_of_directories_are_plain() {
        assert_eq!(file_name("../..//etc"), "etc");
        assert_eq!(file_name("Node\n1"), "node-1");
        assert_eq!(file_name("..."), "feature");
    }
}

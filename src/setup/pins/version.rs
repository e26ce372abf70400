//! What a version may look like. It may end up in a Containerfile or a command, so the grammar is narrow.

const LONGEST: usize = 40;

/// A version: a number, then letters, digits, and single dots and dashes between them. A leading `v` is dropped.
pub fn exact(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text.strip_prefix('v').unwrap_or(text);
    let is_word = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric());
    let fits = text.len() <= LONGEST && text.starts_with(|c: char| c.is_ascii_digit());
    (fits && text.split(['.', '-']).all(is_word)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_people_write_them_are_taken() {
        for text in ["3", "3.12", "3.12.1", "20.11.1", "1.15.7-otp-26", "3.13t", "8.0.100-rc.2", "3.3.0-preview1"] {
            assert_eq!(exact(text).as_deref(), Some(text));
        }
        assert_eq!(exact(" v18.17.0\n").as_deref(), Some("18.17.0"));
    }

    #[test]
    fn anything_else_is_none() {
        let long = "1".repeat(41);
        for text in [
            "",
            "v",
            "latest",
            "3 .1",
            "3\nRUN id",
            "$(id)",
            "3;id",
            "3..1",
            "3.",
            "-3",
            "3-",
            "3/1",
            "3@1",
            "3:1",
            "３",
            "3.1+x",
            "3'",
            "${X}",
            &long,
        ] {
            assert_eq!(exact(text), None, "{text}");
        }
    }
}

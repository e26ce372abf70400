//! Words for `/bin/sh`. Everything that a repo's file says goes through here before a shell reads it.

/// One word for a POSIX shell, whatever is in it. A NUL, which no argument can hold, is left out.
pub fn quote(word: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_./:=@%+,-".contains(&b);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\0', "").replace('\'', r"'\''"))
}

/// A path for a program that would take a leading `-` for an option.
pub fn quote_path(path: &str) -> String {
    if path.starts_with('-') { quote(&format!("./{path}")) } else { quote(path) }
}

/// Words, each quoted, with blanks between them.
pub fn join<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_shell_gives_back_what_was_quoted() {
        let words = ["", "plain", "a b", "it's", "$(id)", "`id`", "a;b&c|d", "-x", "*", "~", "!", "\"", "\\", "é\n\t#"];
        for word in words {
            let out = Command::new("sh").arg("-c").arg(format!("printf %s {}", quote(word))).output().unwrap();
            assert_eq!(String::from_utf8(out.stdout).unwrap(), word);
        }
        assert_eq!(quote("a\0b c"), "'ab c'");
    }

    #[test]
    fn ordinary_words_stay_readable() {
        assert_eq!(join(["npm", "ci", "--no-audit", "@scope/name"]), "npm ci --no-audit @scope/name");
        assert_eq!(quote_path("-rf"), "./-rf");
    }
}

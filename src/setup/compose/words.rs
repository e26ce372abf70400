//! A command line as words, the way a shell would split it. Nothing is expanded.

/// Splits; none where a quote is not closed.
pub(super) fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\n' | '\r' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' if chars.peek().is_some_and(|c| matches!(c, '"' | '\\' | '$' | '`')) => {
                            word.push(chars.next()?)
                        }
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next()?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_words_together() {
        assert_eq!(split("sleep infinity").unwrap(), ["sleep", "infinity"]);
        assert_eq!(split(r#"sh -c "a 'b' \"c\"" d\ e '' "#).unwrap(), ["sh", "-c", "a 'b' \"c\"", "d e", ""]);
        assert_eq!(split("  ").unwrap(), Vec::<String>::new());
        assert_eq!(split("sh -c 'open"), None);
        assert_eq!(split("end\\"), None);
    }
}

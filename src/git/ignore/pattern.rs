//! Patterns, between git and the crate that matches them.

/// Git's pattern in the words of the crate, which knows braces, trims every kind of blank and has
/// no named classes.
pub(super) fn translate(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = trim_blanks(line).chars().peekable();
    let mut in_class = false;
    while let Some(c) = rest.next() {
        match c {
            '\\' if !in_class => {
                out.push(c);
                out.extend(rest.next());
            }
            '{' | '}' if !in_class => out.extend(['[', c, ']']),
            '[' if !in_class => {
                in_class = rest.clone().skip(2).any(|c| c == ']');
                out.push(c);
                out.extend(rest.next_if(|c| matches!(c, '!' | '^')));
                out.extend(rest.next_if_eq(&']'));
            }
            '[' if rest.peek() == Some(&':') => {
                let name: String = rest.clone().skip(1).take_while(|c| *c != ':').collect();
                match class(&name) {
                    Some(members) => {
                        out.push_str(members);
                        rest.nth(name.chars().count() + 2);
                    }
                    None => out.push(c),
                }
            }
            ']' => {
                in_class = false;
                out.push(c);
            }
            c if c.is_whitespace() && c != ' ' && rest.peek().is_none() => out.extend(['[', c, ']']),
            c => out.push(c),
        }
    }
    out
}

/// Blanks at the end go, unless the first of them is escaped.
fn trim_blanks(line: &str) -> &str {
    let short = line.trim_end_matches(' ');
    let escapes = short.len() - short.trim_end_matches('\\').len();
    if escapes % 2 == 1 && short.len() < line.len() { line.get(..=short.len()).unwrap_or(line) } else { short }
}

/// None may begin with what has a meaning there: `!`, `^` or `]`.
fn class(name: &str) -> Option<&'static str> {
    Some(match name {
        "alnum" => "0-9A-Za-z",
        "alpha" => "A-Za-z",
        "blank" => " \t",
        "cntrl" => "\x01-\x1f\x7f",
        "digit" => "0-9",
        "graph" => "\"-~!",
        "lower" => "a-z",
        "print" => " -~",
        "punct" => "#-/:-@[-`{-~!\"",
        "space" => " \t-\r",
        "upper" => "A-Z",
        "xdigit" => "0-9A-Fa-f",
        _ => return None,
    })
}

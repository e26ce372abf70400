//! As much of Python's grammar as it takes to change names and nothing else: strings and comments stay, and statements
//! are told apart.

/// Which bytes are code: neither in a string nor in a comment.
pub(super) fn code(text: &str) -> Vec<bool> {
    let bytes = text.as_bytes();
    let mut code = vec![true; bytes.len()];
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'#' => bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n),
            b'"' | b'\'' => string_end(bytes, at),
            _ => {
                at += 1;
                continue;
            }
        };
        code[at..end].fill(false);
        at = end;
    }
    code
}

/// Where the string ends that begins at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let triple = bytes[start..].starts_with(&[quote; 3]);
    let (mut at, close) = if triple { (start + 3, 3) } else { (start + 1, 1) };
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'\n' if !triple => return at,
            b if b == quote && bytes[at..].starts_with(&[quote; 3][..close]) => return at + close,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Whether a byte can be part of a name.
pub(super) fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or a keyword.
    Name,
    /// An operator, a bracket, a comma.
    Sign,
    /// A string or a number.
    Value,
    /// Between others, for people.
    Comment,
    /// The end of a line that is one.
    Break,
}

/// A piece of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    /// Where it begins.
    pub at: usize,
    /// How many brackets are around it.
    pub depth: usize,
    /// Whether the innermost of them calls something, or takes a part of it.
    pub in_call: bool,
}

impl Token<'_> {
    /// Where it ends.
    pub fn end(&self) -> usize {
        self.at + self.text.len()
    }
}

/// Words before a bracket that call nothing.
const KEYWORDS: [&str; 19] = [
    "and", "as", "assert", "case", "del", "elif", "else", "except", "for", "from", "if", "import", "in", "is", "not",
    "or", "return", "with", "yield",
];

/// All tokens of a file.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let (code, bytes) = (code(text), text.as_bytes());
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut brackets: Vec<bool> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let length_of = |fits: &dyn Fn(usize) -> bool| (at..bytes.len()).take_while(|place| fits(*place)).count();
        let (kind, length) = match bytes[at] {
            b'\n' if code[at] && brackets.is_empty() => (Kind::Break, 1),
            b'#' if !code[at] => (Kind::Comment, length_of(&|place| !code[place] && bytes[place] != b'\n')),
            _ if !code[at] => (Kind::Value, length_of(&|place| !code[place])),
            b'\\' if bytes[at + 1..].starts_with(b"\n") || bytes[at + 1..].starts_with(b"\r\n") => {
                at += length_of(&|place| bytes[place] != b'\n') + 1;
                continue;
            }
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            byte if is_word(byte) => {
                let kind = if byte.is_ascii_digit() { Kind::Value } else { Kind::Name };
                (kind, length_of(&|place| code[place] && is_word(bytes[place])))
            }
            byte => {
                let doubled = b"=!<>+-*/%&|^@:".contains(&byte) && bytes.get(at + 1) == Some(&b'=');
                (Kind::Sign, 1 + usize::from(doubled))
            }
        };
        let word = &text[at..at + length];
        if kind == Kind::Sign && matches!(word, ")" | "]" | "}") {
            brackets.pop();
        }
        let (depth, in_call) = (brackets.len(), brackets.last() == Some(&true));
        if kind == Kind::Sign && matches!(word, "(" | "[" | "{") {
            let calls =
                tokens.iter().rfind(|token| token.kind != Kind::Comment).is_some_and(|before| match before.kind {
                    Kind::Name => !KEYWORDS.contains(&before.text),
                    Kind::Value => true,
                    _ => matches!(before.text, ")" | "]" | "}"),
                });
            brackets.push(calls && word != "{");
        }
        tokens.push(Token { kind, text: word, at, depth, in_call });
        at += length;
    }
    tokens
}

/// A simple statement, or the head of another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Statement {
    /// Its first token, and the one after its last.
    pub first: usize,
    pub end: usize,
    /// Whether nothing but blanks is before it on its line.
    pub starts_line: bool,
    /// The function or class that it is in, or the head of: a place in [`Code::scopes`].
    pub scope: usize,
}

/// A file, read.
#[derive(Debug)]
pub(super) struct Code<'a> {
    /// Without comments.
    pub tokens: Vec<Token<'a>>,
    pub statements: Vec<Statement>,
    /// For every function and class the one around it. The first is the file.
    pub scopes: Vec<usize>,
}

/// Words that begin a statement with others after its colon.
const COMPOUND: [&str; 13] =
    ["async", "case", "class", "def", "elif", "else", "except", "finally", "for", "if", "try", "while", "with"];

impl<'a> Code<'a> {
    /// Reads it.
    pub fn new(text: &'a str) -> Self {
        let tokens: Vec<Token<'a>> = tokens(text).into_iter().filter(|token| token.kind != Kind::Comment).collect();
        let mut read = Self { tokens, statements: Vec::new(), scopes: vec![0] };
        // Those that are open, with how far they are indented.
        let mut open: Vec<(usize, usize)> = Vec::new();
        let (mut first, mut starts_line) = (0, true);
        while first < read.tokens.len() {
            let begin = read.tokens[first];
            let end = read.statement_end(first);
            let scope = |open: &[(usize, usize)]| open.last().map_or(0, |(_, scope)| *scope);
            if end > first {
                if starts_line {
                    let line = text[..begin.at].rfind('\n').map_or(0, |at| at + 1);
                    open.truncate(open.partition_point(|(indent, _)| *indent < begin.at - line));
                    let word = if begin.text == "async" { first + 1 } else { first };
                    if matches!(read.tokens.get(word).map(|token| token.text), Some("def" | "class")) {
                        read.scopes.push(scope(&open));
                        open.push((begin.at - line, read.scopes.len() - 1));
                    }
                }
                read.statements.push(Statement { first, end, starts_line, scope: scope(&open) });
            }
            starts_line = read.tokens.get(end).is_none_or(|token| token.kind == Kind::Break);
            first = end + 1;
        }
        read
    }

    fn statement_end(&self, first: usize) -> usize {
        let is_compound = COMPOUND.contains(&self.tokens[first].text);
        let ends = |token: &Token<'_>| {
            token.kind == Kind::Break || (token.depth == 0 && (token.text == ";" || (is_compound && token.text == ":")))
        };
        self.tokens[first..].iter().position(ends).map_or(self.tokens.len(), |length| first + length)
    }

    /// The text of a token; empty where there is none.
    pub fn word(&self, at: usize) -> &'a str {
        self.tokens.get(at).filter(|token| token.kind != Kind::Value).map_or("", |token| token.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_comments_are_no_code() {
        let text = "a = 'x\\'y' # c\nb = \"\"\"d\n'e\"\"\" + f\ng = 'h\ni";
        let kept: String = text.char_indices().filter(|(at, _)| code(text)[*at]).map(|(_, letter)| letter).collect();
        assert_eq!(kept, "a =  \nb =  + f\ng = \ni");
        for cut in 0..text.len() {
            assert_eq!(code(&text[..cut]).len(), cut);
        }
    }

    #[test]
    fn statements_are_told_apart_and_know_their_scope() {
        let text =
            "import a; b = f(\n  c=1, # d\n)\nclass X:\n  def y(self): return z[1:2]\n  w = 'é' \\\n    + u\nv\n";
        let read = Code::new(text);
        let said: Vec<(String, bool, usize)> = read
            .statements
            .iter()
            .map(|s| {
                let words: Vec<&str> = read.tokens[s.first..s.end].iter().map(|token| token.text).collect();
                (words.join(" "), s.starts_line, s.scope)
            })
            .collect();
        let wanted = [
            ("import a", true, 0),
            ("b = f ( c = 1 , )", false, 0),
            ("class X", true, 1),
            ("def y ( self )", true, 2),
            ("return z [ 1 : 2 ]", false, 2),
            ("w = 'é' + u", true, 1),
            ("v", true, 0),
        ];
        assert_eq!(said, wanted.map(|(text, line, scope)| (text.to_owned(), line, scope)));
        assert_eq!(read.scopes, [0, 0, 1]);
    }

    #[test]
    fn whatever_comes_it_ends() {
        for part in
            ["(", ")", "def x:", " ", "\\\n", "'", "\"\"\"", "#", "=", "é", "import collections\n", "class x:\n "]
        {
            Code::new(&part.repeat(100_000 / part.len()));
        }
    }
}

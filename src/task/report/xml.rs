//! A strict reader of XML, for reports that come from a sandbox. It knows no DTD: nothing is declared, expanded or
//! fetched. It takes time and memory in proportion to the text, whatever that is.
//!
//! The crates for it do not do here: quick-xml takes names, entities and characters as they come, and with roxmltree
//! and xml some kilobytes of namespaces take minutes. The tests have expat for a judge.

use std::borrow::Cow;

/// Deeper than elements of a report are nested.
pub(super) const DEEPEST: usize = 100;
/// More attributes than an element of a report has.
pub(super) const MOST_ATTRIBUTES: usize = 64;

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event<'a> {
    /// An element begins.
    Start { name: &'a str, attributes: Vec<(&'a str, Cow<'a, str>)> },
    /// The element that began last ends.
    End,
    /// There is no more.
    Over,
}

/// Why a text cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is no XML, seen in this line.
    Malformed(usize),
    /// It has a DTD.
    Doctype,
    /// It is in an encoding that is not known here.
    Encoding,
    /// More elements in each other, or attributes, than there may be.
    TooMuch,
}

/// The text of a document.
pub(super) fn decode(content: &[u8]) -> Result<Cow<'_, str>, Fault> {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let head = content.split(|b| *b == b'>').next().filter(|head| head.starts_with(b"<?xml")).unwrap_or_default();
    if String::from_utf8_lossy(head).to_ascii_lowercase().contains("iso-8859-1") {
        return Ok(content.iter().copied().map(char::from).collect::<String>().into());
    }
    let line = |at: usize| 1 + content[..at].iter().filter(|b| **b == b'\n').count();
    std::str::from_utf8(content).map(Cow::from).map_err(|e| Fault::Malformed(line(e.valid_up_to())))
}

/// Reads one event after the other.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    open: Vec<&'a str>,
    is_empty_element: bool,
    has_root: bool,
}

type Read<T> = Result<T, Fault>;

impl<'a> Reader<'a> {
    /// From the beginning of a document.
    pub fn new(text: &'a str) -> Read<Self> {
        let mut reader = Self { text, rest: text, open: Vec::new(), is_empty_element: false, has_root: false };
        if let Some(at) = text.find(|c| !is_char(c)) {
            reader.rest = &text[at..];
            return reader.malformed();
        }
        if reader.rest.strip_prefix("<?xml").is_some_and(|rest| rest.starts_with(is_blank)) {
            reader.declaration()?;
        }
        Ok(reader)
    }

    /// The next event.
    pub fn next(&mut self) -> Read<Event<'a>> {
        if std::mem::take(&mut self.is_empty_element) {
            self.open.pop();
            return Ok(Event::End);
        }
        loop {
            if self.open.is_empty() {
                self.blanks();
            } else {
                self.characters()?;
            }
            if self.rest.is_empty() {
                return if self.open.is_empty() && self.has_root { Ok(Event::Over) } else { self.malformed() };
            }
            if self.eat("<!--") {
                self.until("--")?;
                self.expect(">")?;
            } else if !self.open.is_empty() && self.eat("<![CDATA[") {
                self.until("]]>")?;
            } else if self.eat("<!DOCTYPE") {
                return Err(Fault::Doctype);
            } else if self.eat("<?") {
                self.instruction()?;
            } else if self.eat("</") {
                return self.end();
            } else {
                self.expect("<")?;
                return self.start();
            }
        }
    }

    fn start(&mut self) -> Read<Event<'a>> {
        if self.open.is_empty() && std::mem::replace(&mut self.has_root, true) {
            return self.malformed();
        }
        let name = self.name()?;
        self.open.push(name);
        if self.open.len() > DEEPEST {
            return Err(Fault::TooMuch);
        }
        let mut attributes = Vec::new();
        loop {
            let spaced = self.blanks();
            if self.eat(">") {
                break;
            }
            if self.eat("/>") {
                self.is_empty_element = true;
                break;
            }
            let name = if spaced { self.name()? } else { return self.malformed() };
            if attributes.iter().any(|(other, _)| *other == name) {
                return self.malformed();
            }
            self.equals()?;
            attributes.push((name, self.value()?));
            if attributes.len() > MOST_ATTRIBUTES {
                return Err(Fault::TooMuch);
            }
        }
        Ok(Event::Start { name, attributes })
    }

    fn end(&mut self) -> Read<Event<'a>> {
        let name = self.name()?;
        if self.open.pop() != Some(name) {
            return self.malformed();
        }
        self.blanks();
        self.expect(">")?;
        Ok(Event::End)
    }

    /// Text between tags, up to the next one or the end.
    fn characters(&mut self) -> Read<()> {
        loop {
            let length = self.rest.find(['<', '&']).unwrap_or(self.rest.len());
            if self.rest[..length].contains("]]>") {
                return self.malformed();
            }
            self.rest = &self.rest[length..];
            if !self.eat("&") {
                return Ok(());
            }
            self.reference()?;
        }
    }

    /// The value of an attribute, in quotes. Blanks of all kinds are blanks.
    fn value(&mut self) -> Read<Cow<'a, str>> {
        let quote = if self.eat("\"") { '"' } else { self.expect("'").map(|()| '\'')? };
        let mut value = Cow::Borrowed("");
        loop {
            let special = |c: char| c == quote || matches!(c, '<' | '&' | '\t' | '\n' | '\r');
            let Some(length) = self.rest.find(special) else { return self.malformed() };
            value += &self.rest[..length];
            self.rest = &self.rest[length..];
            if self.rest.starts_with(quote) {
                self.rest = &self.rest[1..];
                return Ok(value);
            } else if self.eat("&") {
                value.to_mut().push(self.reference()?);
            } else if self.eat("\r\n") || self.eat("\t") || self.eat("\n") || self.eat("\r") {
                value.to_mut().push(' ');
            } else {
                return self.malformed();
            }
        }
    }

    /// What stands for a character, after its `&`.
    fn reference(&mut self) -> Read<char> {
        let length = self.rest.find(|c: char| !(c == '#' || c.is_ascii_alphanumeric())).unwrap_or(self.rest.len());
        let word = &self.rest[..length];
        let number = |digits: &str, base: u32| -> Option<char> {
            let good = digits.chars().all(|c| c.is_digit(base));
            char::from_u32(u32::from_str_radix(digits, base).ok().filter(|_| good)?).filter(|c| is_char(*c))
        };
        let found = match word {
            "lt" => Some('<'),
            "gt" => Some('>'),
            "amp" => Some('&'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => match word.strip_prefix("#x") {
                Some(digits) => number(digits, 16),
                None => word.strip_prefix('#').and_then(|digits| number(digits, 10)),
            },
        };
        let Some(found) = found else { return self.malformed() };
        self.rest = &self.rest[length..];
        self.expect(";")?;
        Ok(found)
    }

    /// `<?target anything?>`; the declaration stands only at the beginning.
    fn instruction(&mut self) -> Read<()> {
        let is_taken = self.name()?.eq_ignore_ascii_case("xml");
        if is_taken || !(self.rest.starts_with("?>") || self.blanks()) {
            return self.malformed();
        }
        self.until("?>")
    }

    /// `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>`
    fn declaration(&mut self) -> Read<()> {
        self.expect("<?xml")?;
        let mut words = Vec::new();
        while self.blanks() && !self.rest.starts_with("?>") {
            let name = self.name()?;
            self.equals()?;
            words.push((name, self.value()?));
        }
        self.expect("?>")?;
        let mut words = words.iter().map(|(name, value)| (*name, value.as_ref())).peekable();
        let is_version = |value: &str| value.strip_prefix("1.").is_some_and(|rest| !rest.is_empty() && digits(rest));
        if words.next_if(|(name, value)| *name == "version" && is_version(value)).is_none() {
            return self.malformed();
        }
        let known = ["utf-8", "us-ascii", "iso-8859-1"];
        if let Some((_, value)) = words.next_if(|(name, _)| *name == "encoding")
            && !known.contains(&value.to_ascii_lowercase().as_str())
        {
            return Err(Fault::Encoding);
        }
        words.next_if(|(name, value)| *name == "standalone" && matches!(*value, "yes" | "no"));
        if words.next().is_some() { self.malformed() } else { Ok(()) }
    }

    fn name(&mut self) -> Read<&'a str> {
        let length = self.rest.find(|c| !is_of_name(c)).unwrap_or(self.rest.len());
        if !self.rest.starts_with(begins_name) {
            return self.malformed();
        }
        let name = &self.rest[..length];
        self.rest = &self.rest[length..];
        Ok(name)
    }

    fn equals(&mut self) -> Read<()> {
        self.blanks();
        self.expect("=")?;
        self.blanks();
        Ok(())
    }

    /// Whether there were any.
    fn blanks(&mut self) -> bool {
        let rest = self.rest.trim_start_matches(is_blank);
        std::mem::replace(&mut self.rest, rest).len() > rest.len()
    }

    fn eat(&mut self, word: &str) -> bool {
        let rest = self.rest.strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, word: &str) -> Read<()> {
        if self.eat(word) { Ok(()) } else { self.malformed() }
    }

    fn until(&mut self, end: &str) -> Read<()> {
        let Some((_, rest)) = self.rest.split_once(end) else { return self.malformed() };
        self.rest = rest;
        Ok(())
    }

    fn malformed<T>(&self) -> Read<T> {
        let before = &self.text[..self.text.len() - self.rest.len()];
        Err(Fault::Malformed(1 + before.matches('\n').count()))
    }
}

fn digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// What a document may hold at all.
fn is_char(c: char) -> bool {
    is_blank(c) || (c >= ' ' && !matches!(c, '\u{fffe}' | '\u{ffff}'))
}

fn begins_name(c: char) -> bool {
    matches!(c, ':' | '_' | 'A'..='Z' | 'a'..='z' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}'
        | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}'
        | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}'
        | '\u{10000}'..='\u{effff}')
}

fn is_of_name(c: char) -> bool {
    begins_name(c) || matches!(c, '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}

#[cfg(test)]
#[path = "xml_tests.rs"]
mod tests;

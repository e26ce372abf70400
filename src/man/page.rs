//! One page, section by section.

use roff::{Inline, Roff, bold, italic, roman};

/// A page, finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// `cowbox-run`
    pub name: String,
    /// 1, 5 or 7.
    pub section: u8,
    /// As groff takes it.
    pub text: String,
}

impl Page {
    /// `cowbox-run.1`
    pub fn file(&self) -> String {
        format!("{}.{}", self.name, self.section)
    }
}

/// A page that is being written.
pub struct Draft {
    name: String,
    section: u8,
    roff: Roff,
}

impl Draft {
    /// With its title.
    pub fn new(name: &str, section: u8, about: &str) -> Self {
        let mut roff = Roff::new();
        let (number, version) = (section.to_string(), format!("cowbox {}", env!("CARGO_PKG_VERSION")));
        roff.control("TH", [name, &number, "", &version]);
        let mut draft = Self { name: name.to_owned(), section, roff };
        draft.heading("NAME").text(&format!("{name} - {about}"));
        draft
    }

    /// Begins a section.
    pub fn heading(&mut self, title: &str) -> &mut Self {
        self.roff.control("SH", [title]);
        self
    }

    /// A paragraph; `words` in backticks are bold.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.roff.control("PP", []);
        self.roff.text(inlines(text));
        self
    }

    /// One entry of a list.
    pub fn entry(&mut self, name: Vec<Inline>, text: &str) -> &mut Self {
        self.roff.control("TP", []);
        self.roff.text(name);
        self.roff.text(inlines(text));
        self
    }

    /// Entries with plain names.
    pub fn entries<'e>(&mut self, entries: impl IntoIterator<Item = (&'e str, &'e str)>) -> &mut Self {
        for (name, text) in entries {
            self.entry(vec![bold(name)], text);
        }
        self
    }

    /// Lines that stay as they are.
    pub fn lines<'l>(&mut self, lines: impl IntoIterator<Item = &'l str>) -> &mut Self {
        self.roff.control("PP", []);
        self.roff.control("nf", []);
        self.roff.control("RS", ["4"]);
        for line in lines {
            self.roff.text([roman(line)]);
        }
        self.roff.control("RE", []);
        self.roff.control("fi", []);
        self
    }

    /// Ends it, with references to others.
    pub fn finish(mut self, see: &[&str]) -> Page {
        self.heading("SEE ALSO");
        let mut words = Vec::new();
        for (number, name) in see.iter().enumerate() {
            let (name, section) = name.rsplit_once('.').unwrap_or((name, "1"));
            let comma = if number + 1 < see.len() { ", " } else { "" };
            words.extend([bold(name), roman(format!("({section}){comma}"))]);
        }
        self.roff.text(words);
        Page { name: self.name, section: self.section, text: self.roff.to_roff() }
    }
}

/// `words` bold, the rest as it is.
fn inlines(text: &str) -> Vec<Inline> {
    let pieces = text.split('`').enumerate();
    pieces
        .filter(|(_, piece)| !piece.is_empty())
        .map(|(n, piece)| if n % 2 == 1 { bold(piece) } else { roman(piece) })
        .collect()
}

/// A word that stands for another.
pub fn variable(text: &str) -> Inline {
    italic(text)
}

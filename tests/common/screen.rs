//! What a terminal shows of the bytes that were written to it: as much of that as cowbox uses.

type Lines = Vec<Vec<char>>;

/// A grid of characters. Anything that it does not know fails the test: then it would show something else.
pub struct Screen {
    rows: usize,
    columns: usize,
    lines: Lines,
    at: (usize, usize),
    /// What comes back when the other screen is left.
    saved: Option<(Lines, (usize, usize))>,
    /// Whether the cursor is shown.
    pub cursor: bool,
}

impl Screen {
    /// An empty one after `bytes`.
    pub fn of(bytes: &[u8], rows: usize, columns: usize) -> Self {
        let mut screen = Self { rows, columns, lines: vec![Vec::new(); rows], at: (0, 0), saved: None, cursor: true };
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '\x1b' => {
                    // Only sequences of the form ESC [ … letter.
                    if rest.next() != Some('[') {
                        continue;
                    }
                    let mut parameters = String::new();
                    let letter = loop {
                        match rest.next() {
                            Some(c @ ('@'..='~')) => break c,
                            Some(c) => parameters.push(c),
                            None => return screen,
                        }
                    };
                    screen.sequence(&parameters, letter);
                }
                '\r' => screen.at.1 = 0,
                '\n' => screen.line_feed(),
                '\x07' => {}
                '\x08' => screen.at.1 = screen.at.1.saturating_sub(1),
                c => screen.put(c),
            }
        }
        screen
    }

    fn put(&mut self, c: char) {
        if self.at.1 >= self.columns {
            self.at.1 = 0;
            self.line_feed();
        }
        let line = &mut self.lines[self.at.0];
        if line.len() <= self.at.1 {
            line.resize(self.at.1 + 1, ' ');
        }
        line[self.at.1] = c;
        self.at.1 += 1;
    }

    fn line_feed(&mut self) {
        if self.at.0 + 1 < self.rows {
            self.at.0 += 1;
        } else {
            self.lines.remove(0);
            self.lines.push(Vec::new());
        }
    }

    fn sequence(&mut self, parameters: &str, letter: char) {
        let number = parameters.parse::<usize>().unwrap_or(1);
        match (parameters, letter) {
            (_, 'm' | 'n') => {}
            ("", 'H') => self.at = (0, 0),
            (_, 'A') => self.at.0 = self.at.0.saturating_sub(number),
            ("", 'K') => self.lines[self.at.0].truncate(self.at.1),
            ("2", 'K') => self.lines[self.at.0].clear(),
            ("", 'J') => {
                self.lines[self.at.0].truncate(self.at.1);
                self.lines[self.at.0 + 1..].iter_mut().for_each(Vec::clear);
            }
            ("?25", 'l') => self.cursor = false,
            ("?25", 'h') => self.cursor = true,
            ("?1049", 'h') => {
                self.saved = Some((self.lines.clone(), self.at));
                self.lines = vec![Vec::new(); self.rows];
            }
            ("?1049", 'l') => {
                if let Some((lines, at)) = self.saved.take() {
                    (self.lines, self.at) = (lines, at);
                }
            }
            // Other modes do not change what is shown.
            (mode, 'h' | 'l') if mode.starts_with('?') => {}
            _ => panic!("a terminal was sent {parameters:?}{letter}"),
        }
    }

    /// Whether the other screen is shown.
    pub fn is_full(&self) -> bool {
        self.saved.is_some()
    }

    /// Everything on it, without blanks at the end.
    pub fn text(&self) -> String {
        let lines = self.lines.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned());
        lines.collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }
}

//! The first word of a sandbox: its helper says, before the command runs, that it runs and which network there is. That
//! line is taken out of the stream. Only the first counts: whatever comes later, the command may have said.

/// How much an engine may say before it.
const MOST_BEFORE: usize = 64 << 10;
/// Longer than any line of the helper's.
const LONGEST: usize = 8 << 10;

/// What is said, for a sandbox that cannot tell of its network.
pub fn line(word: &str) -> String {
    format!("{} ?", mark(word))
}

fn mark(word: &str) -> String {
    format!("cowbox tell {word}")
}

/// Listens for it.
#[derive(Debug, Default)]
pub struct Herald {
    mark: Vec<u8>,
    held: Vec<u8>,
    /// What was said.
    heard: Option<Vec<String>>,
    is_over: bool,
}

impl Herald {
    /// For a helper that says `word`.
    pub fn new(word: &str) -> Self {
        Self { mark: mark(word).into_bytes(), ..Self::default() }
    }

    /// Whether it still listens.
    pub fn listens(&self) -> bool {
        !self.is_over
    }

    /// What of the stream is for others.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.is_over {
            return bytes.to_vec();
        }
        self.held.extend_from_slice(bytes);
        let found = self.held.windows(self.mark.len()).position(|part| part == self.mark);
        if let Some(start) = found {
            let after = start + self.mark.len();
            let Some(length) = self.held[after..].iter().position(|b| *b == b'\n') else {
                return if self.held.len() - start > LONGEST { self.finish() } else { Vec::new() };
            };
            let said = String::from_utf8_lossy(&self.held[after..after + length]);
            // `?`: it runs, and cannot tell in what.
            self.heard = Some(said.split_whitespace().filter(|name| *name != "?").map(str::to_owned).collect());
            self.held.drain(start..=after + length);
            return self.finish();
        }
        if self.held.len() > MOST_BEFORE { self.finish() } else { Vec::new() }
    }

    /// What was held back; there is nothing to listen for any more.
    pub fn finish(&mut self) -> Vec<u8> {
        self.is_over = true;
        std::mem::take(&mut self.held)
    }

    /// The network interfaces that it named; `None` if it was not heard, so nothing has run.
    pub fn heard(&self) -> Option<&[String]> {
        self.heard.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listen(pieces: &[&[u8]]) -> (Option<Vec<String>>, String) {
        let mut herald = Herald::new("W");
        let mut out: Vec<u8> = pieces.iter().flat_map(|piece| herald.push(piece)).collect();
        out.extend(herald.finish());
        (herald.heard().map(<[String]>::to_vec), String::from_utf8(out).unwrap())
    }

    #[test]
    fn the_first_word_is_taken_out_however_it_comes() {
        let whole = b"warning: x\ncowbox tell W lo eth0\nerr\n";
        let names = Some(vec!["lo".to_owned(), "eth0".to_owned()]);
        for size in 1..=whole.len() {
            let pieces: Vec<&[u8]> = whole.chunks(size).collect();
            assert_eq!(listen(&pieces), (names.clone(), "warning: x\nerr\n".to_owned()), "{size}");
        }
    }

    #[test]
    fn what_a_command_says_later_is_its_own() {
        let (heard, rest) = listen(&[b"cowbox tell W lo\ncowbox tell W eth0\n"]);
        assert_eq!((heard, rest.as_str()), (Some(vec!["lo".to_owned()]), "cowbox tell W eth0\n"));
    }

    #[test]
    fn without_it_nothing_is_lost_and_nothing_is_held_for_ever() {
        assert_eq!(listen(&[b"cannot start", b": no image\n"]), (None, "cannot start: no image\n".to_owned()));
        assert_eq!(listen(&[b"cowbox tell W lo"]), (None, "cowbox tell W lo".to_owned()));
        assert_eq!(listen(&[b"cowbox tell W ?\n"]), (Some(Vec::new()), String::new()));
        let mut herald = Herald::new("W");
        let much = vec![b'x'; MOST_BEFORE + 1];
        assert_eq!(herald.push(&much), much);
        assert_eq!(herald.push(b"cowbox tell W lo\n"), b"cowbox tell W lo\n");
        assert_eq!(herald.heard(), None);
    }
}

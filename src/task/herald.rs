//! The first word of a sandbox: its helper says, before the command runs, that it runs and which network and limits there
//! are. That line is taken out of the stream. Only the first counts: whatever comes later, the command may have said.

use std::collections::BTreeMap;

use crate::engine::guest;

/// How much an engine may say before it.
const MOST_BEFORE: usize = 64 << 10;
/// Longer than any line of the helper's.
const LONGEST: usize = 8 << 10;

/// What is said, for a sandbox that cannot tell of its network.
pub fn line(word: &str) -> String {
    format!("{} ?", guest::mark(word))
}

/// What was said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Names of its network interfaces; none if it cannot tell.
    pub interfaces: Vec<String>,
    /// What its control group says, by the name of the limit.
    pub limits: BTreeMap<String, String>,
}

impl Heard {
    fn parse(said: &str) -> Self {
        let (names, limits) = said.split_once(" ;").unwrap_or((said, ""));
        let pair = |word: &str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.replace('/', " ")));
        Self {
            // `?`: it runs, and cannot tell in what.
            interfaces: names.split_whitespace().filter(|name| *name != "?").map(str::to_owned).collect(),
            limits: limits.split_whitespace().filter_map(pair).collect(),
        }
    }
}

/// Listens for it.
#[derive(Debug, Default)]
pub struct Herald {
    mark: Vec<u8>,
    held: Vec<u8>,
    heard: Option<Heard>,
    is_over: bool,
}

impl Herald {
    /// For a helper that says `word`.
    pub fn new(word: &str) -> Self {
        Self { mark: guest::mark(word).into_bytes(), ..Self::default() }
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
            self.heard = Some(Heard::parse(&said));
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

    /// What it said; `None` if it was not heard, so nothing has run.
    pub fn heard(&self) -> Option<&Heard> {
        self.heard.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listen(pieces: &[&[u8]]) -> (Option<Vec<String>>, String) {
        let mut herald = Herald::new("W");
        let mut out: Vec<u8> = pieces.iter().flat_map(|piece| herald.push(piece)).collect();
        out.extend(herald.finish());
        (herald.heard().map(|heard| heard.interfaces.clone()), String::from_utf8(out).unwrap())
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
    fn limits_come_after_the_network() {
        let heard = Heard::parse(" lo ; memory=64 pids=max cpus=50000/100000 odd");
        let limits = [("cpus", "50000 100000"), ("memory", "64"), ("pids", "max")];
        assert_eq!(heard.limits, limits.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        assert_eq!((heard.interfaces, Heard::parse(" ? ;")), (vec!["lo".to_owned()], Heard::default()));
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

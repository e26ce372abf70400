//! Keys, from the bytes that terminals send for them.

/// A key that means something to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// Ctrl-C, or Ctrl-\.
    Interrupt,
    /// Ctrl-Z.
    Suspend,
    /// Anything else.
    Other,
}

/// Longer sequences are none that we know: a terminal that sends one is not to be waited for.
const LONGEST: usize = 16;

/// The first key of `bytes`, and how many of them it takes; `None`: it may go on.
pub fn parse(bytes: &[u8]) -> Option<(Key, usize)> {
    let (first, rest) = bytes.split_first()?;
    match first {
        0x1b => escape(rest).map(|(key, length)| (key, length + 1)),
        b'\r' | b'\n' => Some((Key::Enter, 1)),
        0x03 | 0x1c => Some((Key::Interrupt, 1)),
        0x1a => Some((Key::Suspend, 1)),
        0x10 => Some((Key::Up, 1)),
        0x0e => Some((Key::Down, 1)),
        0..0x20 | 0x7f => Some((Key::Other, 1)),
        _ => character(bytes),
    }
}

/// What follows an escape byte.
fn escape(rest: &[u8]) -> Option<(Key, usize)> {
    match rest.first()? {
        b'O' => rest.get(1).map(|letter| (named(b"", *letter), 2)),
        b'[' => {
            let sequence = &rest[1..];
            match sequence.iter().position(|b| (0x40..0x7f).contains(b)) {
                Some(end) => Some((named(&sequence[..end], sequence[end]), end + 2)),
                None if rest.len() > LONGEST => Some((Key::Other, rest.len())),
                None => None,
            }
        }
        0x1b => Some((Key::Escape, 0)),
        // Alt and a key.
        _ => Some((Key::Other, 1)),
    }
}

fn named(parameters: &[u8], letter: u8) -> Key {
    match (parameters, letter) {
        (_, b'A') => Key::Up,
        (_, b'B') => Key::Down,
        (_, b'C') => Key::Right,
        (_, b'D') => Key::Left,
        (_, b'H') | (b"1" | b"7", b'~') => Key::Home,
        (_, b'F') | (b"4" | b"8", b'~') => Key::End,
        (b"5", b'~') => Key::PageUp,
        (b"6", b'~') => Key::PageDown,
        (_, b'M') => Key::Enter,
        _ => Key::Other,
    }
}

fn character(bytes: &[u8]) -> Option<(Key, usize)> {
    let length = match bytes[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    let text = bytes.get(..length)?;
    let key = std::str::from_utf8(text).ok().and_then(|text| text.chars().next()).map_or(Key::Other, Key::Char);
    Some((key, if key == Key::Other { 1 } else { length }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_by_what_terminals_send() {
        for (bytes, key) in [
            (&b"a"[..], Key::Char('a')),
            (b"\xc3\xa9", Key::Char('é')),
            (b"\r", Key::Enter),
            (b"\x1b[A", Key::Up),
            (b"\x1bOB", Key::Down),
            (b"\x1b[1;5C", Key::Right),
            (b"\x1b[5~", Key::PageUp),
            (b"\x1b[4~", Key::End),
            (b"\x03", Key::Interrupt),
            (b"\x1a", Key::Suspend),
            (b"\x1b[200~", Key::Other),
            (b"\xff", Key::Other),
        ] {
            assert_eq!(parse(bytes), Some((key, bytes.len())), "{bytes:?}");
        }
    }

    #[test]
    fn half_a_key_is_waited_for_and_nonsense_is_not() {
        for half in [&b""[..], b"\x1b", b"\x1b[", b"\x1b[1;", b"\xe2\x82"] {
            assert_eq!(parse(half), None, "{half:?}");
        }
        assert!(parse(&[b"\x1b[".to_vec(), vec![b'1'; 100]].concat()).is_some());
        assert_eq!(parse(b"\x1b\x1b[A"), Some((Key::Escape, 1)));
    }
}

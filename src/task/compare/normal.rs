//! Output without what varies from run to run: times, durations, addresses, ids, names of temporary files.

/// The text with those replaced.
pub fn normalised(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    while let Some(letter) = rest.chars().next() {
        let starts_a_word = !before.is_some_and(|c: char| c.is_alphanumeric() || c == '_');
        let found = if starts_a_word { replaced(rest) } else { None };
        match found {
            Some((length, word)) => {
                out.push_str(word);
                before = rest[..length].chars().next_back();
                rest = &rest[length..];
            }
            None => {
                out.push(letter);
                before = Some(letter);
                rest = &rest[letter.len_utf8()..];
            }
        }
    }
    out
}

/// How many bytes vary, and what stands for them.
type Found = Option<(usize, &'static str)>;

/// What of the beginning varies.
fn replaced(text: &str) -> Found {
    let tries: [fn(&str) -> Found; 6] = [temporary, address, id, moment, clock, duration];
    tries.into_iter().find_map(|attempt| attempt(text))
}

/// How many bytes at the beginning `fits` takes.
fn span(text: &str, fits: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|b| fits(*b)).count()
}

fn digits(text: &str) -> usize {
    span(text, |b| b.is_ascii_digit())
}

/// Whether text goes on with the same word.
fn goes_on(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// `/tmp/abc123`
fn temporary(text: &str) -> Found {
    let rest = text.strip_prefix("/tmp/").filter(|rest| !rest.starts_with("workspace"))?;
    let name = span(rest, |b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    (name > 0).then_some((5 + name, "/tmp/<name>"))
}

/// `0x7f12ab34`
fn address(text: &str) -> Found {
    let count = span(text.strip_prefix("0x")?, |b| b.is_ascii_hexdigit());
    (count >= 4).then_some((2 + count, "<address>"))
}

/// ULID, UUID, and the twelve hex digits that containers are called by.
fn id(text: &str) -> Found {
    let word = span(text, |b| b.is_ascii_alphanumeric());
    let is_ulid = word == 26
        && text[..26].bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
        && text.starts_with(['0', '1', '2', '3', '4', '5', '6', '7']);
    let is_container = word == 12
        && text[..12].bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        && text[..12].bytes().any(|b| b.is_ascii_digit());
    if is_ulid || is_container {
        return Some((word, "<id>"));
    }
    let mut at = 0;
    for (number, count) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if number > 0 {
            at += usize::from(text.get(at..)?.starts_with('-'));
        }
        if span(text.get(at..)?, |b| b.is_ascii_hexdigit()) != count {
            return None;
        }
        at += count;
    }
    (at == 36).then_some((at, "<id>"))
}

/// `2026-01-31`, with a clock after it or not.
fn moment(text: &str) -> Found {
    let shape = |text: &str| -> Option<usize> {
        (digits(text) == 4).then_some(())?;
        let month = text.get(4..)?.strip_prefix(['-', '/'])?;
        let day = month.get(2..).filter(|_| digits(month) == 2)?.strip_prefix(['-', '/'])?;
        (digits(day) == 2).then_some(10)
    };
    let date = shape(text)?;
    let rest = &text[date..];
    let time = rest.strip_prefix(['T', ' ']).and_then(clock).map_or(0, |(length, _)| 1 + length);
    let rest = &rest[time..];
    let zone = if time == 0 {
        0
    } else if rest.starts_with('Z') {
        1
    } else if rest.starts_with(['+', '-']) {
        1 + span(&rest[1..], |b| b.is_ascii_digit() || b == b':')
    } else {
        0
    };
    Some((date + time + zone, "<time>"))
}

/// `12:34:56.789`
fn clock(text: &str) -> Found {
    let mut at = 0;
    for number in 0..3 {
        if number > 0 {
            at += usize::from(text.get(at..)?.starts_with(':'));
        }
        if digits(text.get(at..)?) != 2 {
            return None;
        }
        at += 2;
    }
    if at != 8 {
        return None;
    }
    let fraction = text[at..].strip_prefix(['.', ',']).map_or(0, digits);
    Some((at + if fraction > 0 { 1 + fraction } else { 0 }, "<time>"))
}

/// `0.03s`, `12 ms`, `3 seconds`
fn duration(text: &str) -> Found {
    let whole = digits(text);
    if whole == 0 {
        return None;
    }
    let fraction = text[whole..].strip_prefix('.').map_or(0, digits);
    let number = whole + if fraction > 0 { 1 + fraction } else { 0 };
    let rest = &text[number..];
    let space = usize::from(rest.starts_with(' '));
    let units =
        ["seconds", "second", "secs", "sec", "minutes", "minute", "mins", "min", "ms", "µs", "us", "ns", "s", "m"];
    let unit = units.iter().find(|unit| {
        let rest = rest[space..].strip_prefix(**unit);
        // `3 m` is more often metres than minutes.
        rest.is_some_and(|rest| !goes_on(rest)) && (space == 0 || unit.len() > 1)
    })?;
    Some((number + space + unit.len(), "<duration>"))
}

#[cfg(test)]
mod tests {
    use super::normalised;

    #[test]
    fn what_varies_is_replaced_and_nothing_else() {
        let all = [
            ("2 passed in 0.03s", "2 passed in <duration>"),
            ("took 12 ms, 3 seconds, 1m", "took <duration>, <duration>, <duration>"),
            ("at 2026-01-31T12:34:56.789Z and 2026-01-31 ok", "at <time> and <time> ok"),
            ("[12:34:56] x", "[<time>] x"),
            ("<Foo object at 0x7f12ab34>", "<Foo object at <address>>"),
            ("run 01JABCDEFGHJKMNPQRSTVWXYZ0 of 4c1d5a1e-1111-2222-3333-0123456789ab", "run <id> of <id>"),
            ("host 4f3a9b2c1d0e, file /tmp/pytest-of-me/x", "host <id>, file /tmp/<name>/x"),
            ("/tmp/workspace/a.py:12: 3 failed, 7 passed", "/tmp/workspace/a.py:12: 3 failed, 7 passed"),
            ("v1.2.3 port 8080 x86_64 10ms2 abc12s deadbeef", "v1.2.3 port 8080 x86_64 10ms2 abc12s deadbeef"),
        ];
        for (text, wanted) in all {
            assert_eq!(normalised(text), wanted);
        }
    }

    #[test]
    fn whatever_comes_it_ends() {
        let text = "2026-01-3é 0x 12:3 /tmp/ 01JABCDEFGHJKMNPQRSTVWXYZ 4c1d5a1e-";
        for (at, _) in text.char_indices() {
            normalised(&text[at..]);
            normalised(&text[..at]);
        }
    }
}

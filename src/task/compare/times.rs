//! Moments and durations, as programs write them.

use super::normal::{At, Found, digits, goes_on, span};

const TIME: &str = "<time>";

/// Words before a number that varies, and what stands for that.
const KEYS: [(&str, &str); 15] = [
    ("duration_ms", "<duration>"),
    ("duration", "<duration>"),
    ("elapsed_ms", "<duration>"),
    ("elapsed", "<duration>"),
    ("time_ms", "<duration>"),
    ("timestamp", TIME),
    ("pid", "<pid>"),
    ("ppid", "<pid>"),
    ("goroutine", "<id>"),
    ("seed", "<seed>"),
    // These are also something else: only a fraction says that they are times.
    ("time", "<duration>"),
    ("real", "<duration>"),
    ("user", "<duration>"),
    ("sys", "<duration>"),
    ("memory", "<size>"),
];
/// How many of them need no fraction.
const PLAIN_KEYS: usize = 10;

/// `duration_ms: 0.5`, `"Elapsed":0.01`, `--seed 123`, `pid=12`
pub(super) fn keyed(at: At<'_>) -> Option<Found> {
    let size = span(at.rest, |b| b.is_ascii_alphanumeric() || b == b'_');
    let index = KEYS.iter().position(|(key, _)| key.eq_ignore_ascii_case(&at.rest[..size]))?;
    let rest = &at.rest[size..];
    let value = rest.trim_start_matches(['"', '\'']).trim_start_matches([' ', '\t']);
    let value = value.strip_prefix([':', '=']).unwrap_or(value);
    let value = value.trim_start_matches([' ', '\t']).trim_start_matches(['"', '\'']);
    let (number, has_fraction) = number(value)?;
    let known = moment(At { before: "", rest: value }).map(|found| found.size);
    let whole = known.or_else(|| clock_size(value)).or_else(|| told_size(value)).unwrap_or(number);
    let is_one = value.len() < rest.len() && (index < PLAIN_KEYS || has_fraction) && !goes_on(&value[whole..]);
    is_one.then(|| Found { keep: at.rest.len() - value.len(), size: whole, word: KEYS[index].1 })
}

/// `2026-01-31`, with a clock after it or not.
pub(super) fn moment(at: At<'_>) -> Option<Found> {
    let text = at.rest;
    let shape = || -> Option<()> {
        let month = text.get(4..)?.strip_prefix(['-', '/']).filter(|_| digits(text) == 4)?;
        let day = month.get(2..).filter(|_| digits(month) == 2)?.strip_prefix(['-', '/'])?;
        (digits(day) == 2).then_some(())
    };
    shape()?;
    let (date, rest) = text.split_at(10);
    let time = rest.strip_prefix(['T', ' ']).and_then(clock_size).map_or(0, |size| 1 + size);
    let zone = if time > 0 { zone_size(&rest[time..]) } else { 0 };
    Some(Found::new(date.len() + time + zone, TIME))
}

/// `Z`, `+01:00`
fn zone_size(text: &str) -> usize {
    match text.bytes().next() {
        Some(b'Z') => 1,
        Some(b'+' | b'-') => 1 + span(&text[1..], |b| b.is_ascii_digit() || b == b':'),
        _ => 0,
    }
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// No date has more.
const MOST_WORDS: usize = 8;

/// `Sat Jan 31 12:34:56 UTC 2026`, `Sat, 31 Jan 2026 12:34:56 GMT`, `Jan 31, 2026`
pub(super) fn written_date(at: At<'_>) -> Option<Found> {
    let is_one_of = |names: &[&str], word: &str| {
        names.iter().any(|name| *name == word || (word.len() == 3 && name.starts_with(word)))
    };
    let (mut size, mut end) = (0, 0);
    let (mut month, mut day, mut more) = (false, false, false);
    for _ in 0..MOST_WORDS {
        let rest = &at.rest[size..];
        let length = match (clock_size(rest), digits(rest)) {
            (Some(length), _) => length,
            (None, 0) => span(rest, |b| b.is_ascii_alphabetic()).max(zone_size(rest)),
            (None, count) => count,
        };
        let word = &rest[..length];
        let known = match word {
            "" => false,
            word if is_one_of(&MONTHS, word) => !std::mem::replace(&mut month, true),
            word if is_one_of(&DAYS, word) => size == 0,
            _ if clock_size(rest).is_some() => set(&mut more),
            _ if digits(word) == length && length <= 2 => !std::mem::replace(&mut day, true),
            _ if digits(word) == length && length == 4 => set(&mut more),
            // The clock is before them.
            "AM" | "PM" | "UTC" | "GMT" | "CET" | "CEST" => more,
            word => more && word.starts_with(['+', '-']) && length == 5,
        };
        if !known || goes_on(&rest[length..]) {
            break;
        }
        end = size + length;
        size = end + span(&at.rest[end..], |b| b == b' ' || b == b',');
    }
    (month && day && more).then(|| Found::new(end, TIME))
}

fn set(flag: &mut bool) -> bool {
    *flag = true;
    true
}

/// `12:34:56.789`, `0:01:02`, and `00:12.345`, which has no hours. Lines and columns look nearly the same.
pub(super) fn clock(at: At<'_>) -> Option<Found> {
    clock_size(at.rest).filter(|_| !at.before.ends_with(':')).map(|size| Found::new(size, TIME))
}

fn clock_size(text: &str) -> Option<usize> {
    let hours = Some(digits(text)).filter(|count| (1..=2).contains(count))?;
    let pair = |at: usize| text.get(at..)?.strip_prefix(':').filter(|rest| digits(rest) == 2).map(|_| at + 3);
    let minutes = pair(hours)?;
    let whole = pair(minutes).unwrap_or(minutes);
    let fraction = text[whole..].strip_prefix(['.', ',']).map_or(0, digits);
    let size = whole + if fraction > 0 { 1 + fraction } else { 0 };
    let is_one = whole > minutes || (hours == 2 && fraction > 1);
    (is_one && !text[size..].starts_with(':') && !goes_on(text[size..].trim_start_matches('Z'))).then_some(size)
}

/// `1234.5 runs/s`, `12.3MB/s`
pub(super) fn rate(at: At<'_>) -> Option<Found> {
    let (number, _) = number(at.rest)?;
    let rest = &at.rest[number..];
    let space = usize::from(rest.starts_with(' '));
    let word = span(&rest[space..], |b| b.is_ascii_alphabetic());
    let end = rest[space + word..].strip_prefix("/s")?;
    let end = end.strip_prefix("ec").unwrap_or(end);
    (word > 0 && !goes_on(end)).then(|| Found::new(at.rest.len() - end.len(), "<rate>"))
}

/// `0.03s`, `12 ms`, `1m 02s`, `01:05 min`, and what says the same once more after it.
pub(super) fn duration(at: At<'_>) -> Option<Found> {
    told_size(at.rest).map(Found::duration)
}

fn told_size(text: &str) -> Option<usize> {
    let mut size = duration_size(text)?;
    loop {
        let rest = &text[size..];
        // pytest: `in 61.23s (0:01:01)`
        let again = rest.strip_prefix(" (").and_then(|again| {
            let hours = digits(again);
            let clock = again[hours..].strip_prefix(':')?;
            let is_one = hours > 0 && digits(clock) == 2 && clock[2..].starts_with(':') && digits(&clock[3..]) == 2;
            (is_one && clock[5..].starts_with(')')).then_some(2 + hours + 1 + 5 + 1)
        });
        // jest: `1.2 s, estimated 2 s`
        const ESTIMATED: &str = ", estimated ";
        let estimated = || Some(ESTIMATED.len() + duration_size(rest.strip_prefix(ESTIMATED)?)?);
        match again.or_else(estimated) {
            Some(more) => size += more,
            None => return Some(size),
        }
    }
}

/// `ok  pkg (cached)`: Go has no duration then.
pub(super) fn cached(at: At<'_>) -> Option<Found> {
    (at.before.starts_with("ok ") && at.rest.starts_with("(cached)")).then(|| Found::duration("(cached)".len()))
}

/// `12`, `1,234.5`, `1.2e-05`; and whether it has a fraction.
fn number(text: &str) -> Option<(usize, bool)> {
    let mut size = Some(digits(text)).filter(|size| *size > 0)?;
    for _ in 0..3 {
        size += if text[size..].strip_prefix(',').is_some_and(|rest| digits(rest) == 3) { 4 } else { 0 };
    }
    let fraction = text[size..].strip_prefix('.').map_or(0, digits);
    size += if fraction > 0 { 1 + fraction } else { 0 };
    if let Some(rest) = text[size..].strip_prefix(['e', 'E']) {
        let sign = usize::from(rest.starts_with(['-', '+']));
        let count = digits(&rest[sign..]);
        size += if count > 0 { 1 + sign + count } else { 0 };
    }
    Some((size, fraction > 0))
}

const UNITS: [&str; 22] = [
    "hours",
    "hour",
    "hrs",
    "hr",
    "h",
    "minutes",
    "minute",
    "mins",
    "min",
    "milliseconds",
    "microseconds",
    "ms",
    "m",
    "seconds",
    "second",
    "secs",
    "sec",
    "s",
    "µs",
    "μs",
    "us",
    "ns",
];

/// Numbers with their units, as many as there are: `1m 02s`, `1h2m3.5s`.
fn duration_size(text: &str) -> Option<usize> {
    // Maven: `01:05 min`
    let colon = text[digits(text)..].strip_prefix(':').filter(|rest| digits(text) == 2 && digits(rest) == 2);
    if let Some(rest) = colon.and_then(|rest| rest[2..].strip_prefix(" min")) {
        return (!goes_on(rest)).then(|| text.len() - rest.len());
    }
    let (mut size, mut whole) = (0, None);
    while let Some(part) = part_size(&text[size..]) {
        size += part;
        let ends = !goes_on(&text[size..]);
        whole = if ends { Some(size) } else { whole };
        size += usize::from(ends && text[size..].starts_with(' '));
    }
    whole
}

/// One number with its unit. `1m02s` goes on with the next one.
fn part_size(text: &str) -> Option<usize> {
    let (number, _) = number(text)?;
    let rest = &text[number..];
    let space = usize::from(rest.starts_with(' '));
    let unit = UNITS.iter().find(|unit| {
        let ends = |after: &str| !goes_on(after) || (space == 0 && digits(after) > 0);
        // `3 m` is more often metres than minutes.
        let is_one = space == 0 || unit.len() > 1 || **unit == "s";
        is_one && rest[space..].strip_prefix(**unit).is_some_and(ends)
    })?;
    Some(number + space + unit.len())
}

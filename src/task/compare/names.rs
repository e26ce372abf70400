//! Names that are given anew in every run.

use super::normal::{At, Found, digits, goes_on, is_word, span};

/// What stands for the directory of a run.
pub(super) const RUN: &str = "<run>";
const ID: &str = "<id>";
/// Ports from here on are given to whoever asks for any.
const FIRST_FREE_PORT: u32 = 32768;

/// `/tmp/abc123`, and `.tmpAbC123` anywhere.
pub(super) fn temporary(at: At<'_>) -> Option<Found> {
    let name = |text: &str| span(text, |b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    if let Some(rest) = at.rest.strip_prefix("/tmp/") {
        let size = name(rest);
        // The code is there, with native.
        return (size > 0 && &rest[..size] != "workspace").then(|| Found::new(5 + size, "/tmp/<name>"));
    }
    let rest = at.rest.strip_prefix("tmp").filter(|_| at.before.ends_with('.'))?;
    let size = span(rest, |b| b.is_ascii_alphanumeric());
    (size == 6 && !goes_on(&rest[6..])).then(|| Found::new(9, "tmp<name>"))
}

/// `0x7f12ab34`
pub(super) fn address(at: At<'_>) -> Option<Found> {
    let count = span(at.rest.strip_prefix("0x")?, |b| b.is_ascii_hexdigit());
    (count >= 4).then(|| Found::new(2 + count, "<address>"))
}

/// `20260131T123456Z__01J…`, the directory of a run; its time alone is one as well.
pub(super) fn run(at: At<'_>) -> Option<Found> {
    const STAMP: usize = "20260131T123456Z".len();
    let time = at.rest.get(8..STAMP)?.strip_prefix('T')?.strip_suffix('Z')?;
    if digits(at.rest) != 8 || digits(time) != 6 {
        return None;
    }
    match at.rest[STAMP..].strip_prefix("__").filter(|id| is_ulid(id)) {
        Some(_) => Some(Found::new(STAMP + 2 + ULID, RUN)),
        None => (!goes_on(&at.rest[STAMP..])).then(|| Found::new(STAMP, "<time>")),
    }
}

const ULID: usize = 26;

/// Whether a text begins with one, in capitals or, in names of containers, without.
fn is_ulid(text: &str) -> bool {
    let Some(word) = text.get(..ULID).filter(|_| !goes_on(&text[ULID..])) else { return false };
    let one_case =
        !(word.contains(|c: char| c.is_ascii_lowercase()) && word.contains(|c: char| c.is_ascii_uppercase()));
    let is_of_it = |b: u8| b.is_ascii_alphanumeric() && !b"ilou".contains(&b.to_ascii_lowercase());
    word.starts_with(|c: char| ('0'..='7').contains(&c)) && one_case && word.bytes().all(is_of_it)
}

/// ULID, UUID, and the twelve hex digits that containers are called by.
pub(super) fn id(at: At<'_>) -> Option<Found> {
    if is_ulid(at.rest) {
        return Some(Found::new(ULID, ID));
    }
    let is_hex = |b: u8| b.is_ascii_hexdigit() && !b.is_ascii_uppercase();
    let hex = span(at.rest, is_hex);
    if hex == 12 && !goes_on(&at.rest[12..]) && at.rest[..12].contains(|c: char| c.is_ascii_digit()) {
        return Some(Found::new(12, ID));
    }
    let mut size = 0;
    for (number, count) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if number > 0 {
            size += usize::from(at.rest.get(size..)?.starts_with('-'));
        }
        if span(at.rest.get(size..)?, |b| b.is_ascii_hexdigit()) != count {
            return None;
        }
        size += count;
    }
    (size == 36).then(|| Found::new(size, ID))
}

/// Paths are shorter, and nobody looks further back.
const LONGEST_PATH: usize = 1024;

/// Where the path begins that a text ends with.
pub(super) fn path_start(text: &str) -> usize {
    let far = text.len().saturating_sub(LONGEST_PATH);
    let from = (far..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let is_end = |b: &u8| b.is_ascii_whitespace() || b"\"'`(".contains(b);
    text.as_bytes()[from..].iter().rposition(is_end).map_or(from, |at| from + at + 1)
}

/// `target/debug/deps/foo-0123456789abcdef`: where cargo and others put what they build.
pub(super) fn build(at: At<'_>) -> Option<Found> {
    let is_hash = span(at.rest, |b| b.is_ascii_hexdigit()) == 16 && !goes_on(&at.rest[16..]);
    let name = at.before.strip_suffix('-').filter(|_| is_hash)?;
    let path = &name[path_start(name)..];
    let is_there = ["/deps/", "/build/", "/.fingerprint/", "/incremental/"].iter().any(|dir| path.contains(dir));
    is_there.then(|| Found::new(16, ID))
}

/// `prepared/<key>-q98q98f480x7`: the key is that of the environment, what follows is new each time that it is made.
pub(super) fn prepared(at: At<'_>) -> Option<Found> {
    let is_tail = span(at.rest, |b| b.is_ascii_digit() || b.is_ascii_lowercase()) == 12 && !goes_on(&at.rest[12..]);
    let path = at.before.strip_suffix('-').filter(|_| is_tail)?;
    let key = path.bytes().rev().take(33).take_while(u8::is_ascii_hexdigit).count();
    (key == 32 && path[..path.len() - key].ends_with("/prepared/")).then(|| Found::new(12, ID))
}

/// `127.0.0.1:45123`: a port that was free.
pub(super) fn port(at: At<'_>) -> Option<Found> {
    let size = digits(at.rest);
    let hosts = ["localhost:", "127.0.0.1:", "0.0.0.0:", "[::1]:", "[::]:", "port ", "port: ", "port="];
    let number: u32 = at.rest[..size].parse().ok().filter(|_| size == 5 && !goes_on(&at.rest[size..]))?;
    let is_free = (FIRST_FREE_PORT..=65535).contains(&number);
    (is_free && hosts.iter().any(|host| at.before.ends_with(host))).then(|| Found::new(size, "<port>"))
}

/// `thread 'main' (1234) panicked at …`, as Rust has it.
pub(super) fn thread(at: At<'_>) -> Option<Found> {
    let size = digits(at.rest);
    let is_one = size > 0 && at.before.ends_with("' (") && at.rest[size..].starts_with(") panicked");
    is_one.then(|| Found::new(size, ID))
}

/// Names that one run alone has, in what cowbox says of it.
#[derive(Clone, Debug)]
pub(super) struct Names<'a> {
    /// Where the run is kept.
    pub dir: &'a std::path::Path,
    /// The task: sessions are named after it.
    pub task: &'a str,
}

impl Names<'_> {
    /// A text without them.
    pub fn out_of(&self, text: &str) -> String {
        let dir = self.dir.to_string_lossy();
        let text = if dir.len() > 1 { text.replace(&*dir, RUN) } else { text.to_owned() };
        let slug = format!("{}-", crate::session::id::slug(self.task));
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(at) = rest.find(&slug) {
            let (before, name) = (&rest[..at], &rest[at + slug.len()..]);
            let tail = span(name, |b| b.is_ascii_digit() || b.is_ascii_lowercase());
            let is_session = tail == 4 && !goes_on(&name[4..]) && !before.ends_with(is_word);
            out.push_str(before);
            out.push_str(if is_session { "<session>" } else { &slug });
            rest = if is_session { &name[4..] } else { name };
        }
        out + rest
    }
}

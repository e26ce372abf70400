//! Session ids (ULID: sortable by time) and names.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Crockford's base 32: no i, l, o, u.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// A ULID: 48 bits of milliseconds, 80 random ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

impl SessionId {
    /// A new one.
    pub fn new() -> Self {
        let millis = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis());
        Self::from_parts(millis, random_bits())
    }

    fn from_parts(millis: u128, random: u128) -> Self {
        Self::of_value((millis << 80) | (random & ((1 << 80) - 1)))
    }

    /// The one that comes `steps` after it: known to whoever knows this one, before it is used.
    pub fn after(&self, steps: u32) -> Self {
        let digit = |b: u8| ALPHABET.iter().position(|known| *known == b).unwrap_or(0) as u128;
        let value = self.0.bytes().fold(0u128, |value, b| (value << 5) | digit(b));
        Self::of_value(value.wrapping_add(u128::from(steps)))
    }

    fn of_value(value: u128) -> Self {
        let digit = |i: u32| char::from(ALPHABET[(value >> (5 * (25 - i)) & 31) as usize]);
        Self((0..26).map(digit).collect())
    }

    /// Reads one, as the store's directory names have it.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = text.len() == 26 && text.bytes().all(|b| ALPHABET.contains(&b)) && text.as_bytes()[0] <= b'7';
        fits.then(|| Self(text.to_owned()))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for SessionId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for SessionId {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| "not a session id".to_owned())
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> String {
        id.0
    }
}

/// `api-7k3q`: what the repo is called, and four characters to tell sessions apart.
pub fn generate_name(repo: &str) -> String {
    let random = random_bits();
    let tail: String =
        (0..4).map(|i| char::from(ALPHABET[(random >> (5 * i) & 31) as usize]).to_ascii_lowercase()).collect();
    format!("{}-{tail}", slug(repo))
}

/// What the names of its sessions begin with.
pub fn slug(repo: &str) -> String {
    let mut slug: String =
        repo.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    while slug.contains("--") {
        slug = slug.replace("--", "-");
    }
    let slug: String = slug.trim_matches('-').chars().take(24).collect();
    if slug.is_empty() { "repo".to_owned() } else { slug.trim_end_matches('-').to_owned() }
}

/// Whether a name given by the user is one: it becomes part of messages, arguments and completions.
pub fn is_valid_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty()
        && name.len() <= 64
        && name.chars().all(plain)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn random_bits() -> u128 {
    let mut bytes = [0u8; 16];
    // Cannot fail after boot; if it did, the time part still keeps ids apart.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    u128::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_survive_a_round_trip() {
        let old = SessionId::from_parts(1_700_000_000_000, u128::MAX);
        let new = SessionId::from_parts(1_700_000_000_001, 0);
        assert!(old < new);
        assert_eq!(old.as_str(), "01HF7YAT00ZZZZZZZZZZZZZZZZ");
        assert_eq!(SessionId::parse(old.as_str()), Some(old));
        for bad in
            ["", "01HF7YAT00", "01HF7YAT00ZZZZZZZZZZZZZZZU", "81HF7YAT00ZZZZZZZZZZZZZZZZ", "../../../../etc/passwd0000"]
        {
            assert_eq!(SessionId::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_next_one_is_known_beforehand() {
        let id = SessionId::parse("01HF7YAT00000000000000000Z").unwrap();
        assert_eq!(id.after(0), id);
        assert_eq!(id.after(1).as_str(), "01HF7YAT000000000000000010");
        assert_eq!(id.after(33).as_str(), "01HF7YAT000000000000000020");
        let last = SessionId::from_parts((1 << 48) - 1, u128::MAX);
        assert!(SessionId::parse(last.after(1).as_str()).is_some());
    }

    #[test]
    fn names_come_from_the_repo_whatever_it_is_called() {
        for (repo, slug) in
            [("api", "api-"), ("My Repo!", "my-repo-"), ("日本", "repo-"), ("..", "repo-"), ("", "repo-")]
        {
            let name = generate_name(repo);
            assert!(name.starts_with(slug) && name.len() == slug.len() + 4, "{repo}: {name}");
            assert!(is_valid_name(&name));
        }
        for bad in ["", "-x", "a b", "a/b", "é", ".hidden"] {
            assert!(!is_valid_name(bad), "{bad}");
        }
    }
}

//! Keys, tokens and passwords in added lines. Says what kind it is, never what it holds.

use super::codes::SECRET;
use super::glob::find;
use super::{Risk, assignments};

/// Of a longer line only the start is read.
const LONGEST: usize = 1 << 20;

/// A token that is known by how it starts.
struct Token {
    kind: &'static str,
    prefix: &'static str,
    /// Characters besides letters and digits.
    more: &'static [u8],
    /// How many characters follow the prefix, at least.
    least: usize,
}

const fn token(kind: &'static str, prefix: &'static str, more: &'static [u8], least: usize) -> Token {
    Token { kind, prefix, more, least }
}

const TOKENS: &[Token] = &[
    token("an AWS access key", "AKIA", b"", 16),
    token("an AWS access key", "ASIA", b"", 16),
    token("a GitHub token", "ghp_", b"", 36),
    token("a GitHub token", "gho_", b"", 36),
    token("a GitHub token", "ghu_", b"", 36),
    token("a GitHub token", "ghs_", b"", 36),
    token("a GitHub token", "ghr_", b"", 36),
    token("a GitHub token", "github_pat_", b"_", 40),
    token("a GitLab token", "glpat-", b"_-", 20),
    token("a Slack token", "xoxa-", b"-", 20),
    token("a Slack token", "xoxb-", b"-", 20),
    token("a Slack token", "xoxe-", b"-", 20),
    token("a Slack token", "xoxp-", b"-", 20),
    token("a Slack token", "xoxr-", b"-", 20),
    token("a Slack token", "xoxs-", b"-", 20),
    token("a Slack token", "xapp-", b"-", 20),
    token("a Google API key", "AIza", b"_-", 35),
    token("a Google access token", "ya29.", b"_-.", 30),
    token("a Stripe key", "sk_live_", b"", 16),
    token("a Stripe key", "rk_live_", b"", 16),
    token("an npm token", "npm_", b"", 36),
    token("a PyPI token", "pypi-AgEI", b"_-", 50),
    token("an Anthropic key", "sk-ant-", b"_-", 24),
    token("an OpenAI key", "sk-proj-", b"_-", 24),
    token("an OpenAI key", "sk-svcacct-", b"_-", 24),
    token("an OpenAI key", "sk-", b"", 40),
    token("a Hugging Face token", "hf_", b"", 34),
    token("a DigitalOcean token", "dop_v1_", b"", 64),
    token("a Docker token", "dckr_pat_", b"_-", 24),
    token("a Shopify token", "shpat_", b"", 32),
    token("a SendGrid key", "SG.", b"_-.", 60),
    token("an age key", "AGE-SECRET-KEY-1", b"", 50),
];

/// Looks at one line. Names the kind of secret, if there seems to be one.
pub fn scan(line: &[u8]) -> Option<&'static str> {
    let line = &line[..line.len().min(LONGEST)];
    if find(line, b"PRIVATE KEY").is_some() && find(line, b"-----BEGIN ").is_some() {
        return Some("a private key");
    }
    let mut inside = false;
    for (at, byte) in line.iter().enumerate() {
        let letter = byte.is_ascii_alphanumeric() || *byte == b'_';
        if letter
            && !inside
            && let Some(kind) = token_at(&line[at..])
        {
            return Some(kind);
        }
        inside = letter;
    }
    assignments::scan(line)
}

/// The risk of a file with such a line.
pub fn risk(kind: &'static str, line: usize) -> Risk {
    Risk::of(SECRET, format!("line {line} looks like {kind}"))
}

fn token_at(text: &[u8]) -> Option<&'static str> {
    if text.starts_with(b"eyJ") {
        return is_jwt(text).then_some("a JSON web token");
    }
    let first = text[0];
    TOKENS.iter().filter(|token| token.prefix.as_bytes()[0] == first).find_map(|token| {
        let rest = text.strip_prefix(token.prefix.as_bytes())?;
        let start = rest.get(..token.least)?;
        let fits = start.iter().all(|b| b.is_ascii_alphanumeric() || token.more.contains(b));
        (fits && looks_random(start)).then_some(token.kind)
    })
}

/// Three parts of base64, the first two being JSON objects. Bounded, for many may start on one line.
fn is_jwt(text: &[u8]) -> bool {
    let part = |text: &[u8], most| {
        text.iter().take(most).take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')).count()
    };
    let head = part(text, 256);
    let Some(body) = text[head..].strip_prefix(b".").filter(|body| head > 10 && body.starts_with(b"eyJ")) else {
        return false;
    };
    let length = part(body, 4096);
    body[length..].strip_prefix(b".").is_some_and(|sum| part(sum, 20) == 20)
}

/// Not `xxxxxxxx`, not a word for an example.
pub(super) fn looks_random(text: &[u8]) -> bool {
    let lower = text.to_ascii_lowercase();
    let words: [&[u8]; 6] = [b"example", b"placeholder", b"changeme", b"your", b"xxxx", b"dummy"];
    let mut seen = [false; 256];
    lower.iter().for_each(|b| seen[usize::from(*b)] = true);
    seen.iter().filter(|seen| **seen).count() >= 8 && !words.iter().any(|word| find(&lower, word).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Put together here, so that no scanner takes this file for a leak.
    fn fake(prefix: &str, length: usize) -> String {
        let letters = "a8Kd3Zq7Wm1Xc5Vb9Nf2Gh4Jt6";
        prefix.chars().chain(letters.chars().cycle().take(length)).collect()
    }

    #[test]
    fn every_kind_is_found_and_a_short_or_repeated_one_is_not() {
        for token in TOKENS {
            let line = format!("key: {}", fake(token.prefix, token.least));
            assert!(scan(line.as_bytes()).is_some(), "{}", token.prefix);
            let short = format!("key: {}", fake(token.prefix, token.least - 1));
            assert_ne!(scan(short.as_bytes()), Some(token.kind), "{}", token.prefix);
            let dull = format!("key: {}{}", token.prefix, "x".repeat(token.least));
            assert_eq!(scan(dull.as_bytes()), None, "{}", token.prefix);
        }
    }

    #[test]
    fn private_keys_and_web_tokens_are_found() {
        assert_eq!(scan(b"-----BEGIN OPENSSH PRIVATE KEY-----"), Some("a private key"));
        assert_eq!(scan(b"-----BEGIN PUBLIC KEY-----"), None);
        let jwt = format!("{}.{}.{}", fake("eyJ", 20), fake("eyJ", 20), fake("", 40));
        assert_eq!(scan(jwt.as_bytes()), Some("a JSON web token"));
        assert_eq!(scan(fake("eyJ", 60).as_bytes()), None);
    }

    #[test]
    fn parts_of_words_and_examples_are_no_secrets() {
        for line in [
            "AKIAIOSFODNN7EXAMPLE",
            "let task-list = sk-short",
            "npm_config_registry=https://registry.npmjs.org/something/very/long/indeed",
            "integrity sha512-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH==",
            "",
        ] {
            assert_eq!(scan(line.as_bytes()), None, "{line}");
        }
        assert_eq!(scan(format!("foo{}", fake("ghp_", 36)).as_bytes()), None);
    }

    #[test]
    fn a_huge_line_is_read_once() {
        let line = "sk-".repeat(7 << 20);
        assert_eq!(scan(line.as_bytes()), None);
        let line = format!("{}\u{0}", "eyJa.".repeat(4 << 20));
        assert_eq!(scan(line.as_bytes()), None);
    }

    #[test]
    fn the_reason_does_not_hold_the_secret() {
        let line = fake("ghp_", 36);
        let risk = risk(scan(line.as_bytes()).unwrap(), 3);
        assert_eq!(risk.reason, "line 3 looks like a GitHub token");
    }
}

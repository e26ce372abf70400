//! Passwords that are known by what they are assigned to. Rather one missed than ten false.

use super::glob::find;
use super::secrets::looks_random;

/// Longer lines are data, not settings.
const LONGEST: usize = 4096;

/// What is assigned must be called this.
const NAMES: &[&[u8]] = &[
    b"password",
    b"passwd",
    b"secret",
    b"api_key",
    b"apikey",
    b"api-key",
    b"access_key",
    b"accesskey",
    b"auth_token",
    b"access_token",
    b"private_key",
    b"client_secret",
    b"_authtoken",
];

/// `client_secret = "…"` and `scheme://user:password@host`.
pub(super) fn scan(line: &[u8]) -> Option<&'static str> {
    if line.len() > LONGEST {
        return None;
    }
    if in_address(line) {
        return Some("an address with a password in it");
    }
    let lower = line.to_ascii_lowercase();
    let named = NAMES.iter().filter_map(|name| find(&lower, name).map(|at| at + name.len())).min()?;
    quoted_value(&line[named..]).is_some_and(is_password).then_some("a password or key in plain text")
}

/// After the name an assignment, then text in quotes.
fn quoted_value(rest: &[u8]) -> Option<&[u8]> {
    let sign = rest.iter().position(|b| matches!(b, b'=' | b':'))?;
    let between = &rest[..sign];
    if between.len() > 24 || between.iter().any(|b| matches!(b, b'(' | b')' | b',' | b';')) {
        return None;
    }
    let open = rest[sign..].iter().position(|b| matches!(b, b'"' | b'\''))? + sign;
    if open > sign + 4 {
        return None;
    }
    let value = &rest[open + 1..];
    let close = value.iter().position(|b| *b == rest[open])?;
    Some(&value[..close])
}

/// Long, of three kinds of characters, and neither words nor a reference to something else.
fn is_password(value: &[u8]) -> bool {
    let has = |test: fn(&u8) -> bool| value.iter().any(test);
    value.len() >= 20
        && value.len() <= 512
        && value.iter().all(|b| b.is_ascii_graphic())
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_digit)
        && !has(|b| matches!(b, b'$' | b'{' | b'<' | b'(' | b'%' | b'\\'))
        && !value.windows(3).any(|piece| piece == b"://")
        && looks_random(value)
}

fn in_address(line: &[u8]) -> bool {
    let Some(start) = find(line, b"://") else { return false };
    let rest = &line[start + 3..];
    let end = rest.iter().position(|b| matches!(b, b'/' | b' ' | b'"' | b'\'' | b'`')).unwrap_or(rest.len());
    let Some(at) = rest[..end].iter().rposition(|b| *b == b'@') else { return false };
    let Some(colon) = rest[..at].iter().position(|b| *b == b':') else { return false };
    let password = &rest[colon + 1..at];
    let has = |test: fn(&u8) -> bool| password.iter().any(test);
    password.len() >= 10
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !has(|b| matches!(b, b'$' | b'{' | b'<' | b'%' | b'*'))
        && looks_random(password)
}

#[cfg(test)]
mod tests {
    use super::scan;

    #[test]
    fn plain_passwords_are_found_and_references_are_not() {
        let value = ["q8Wm3Zr7", "Tn5Bv2Ks9", "Lp4Hx6"].concat();
        for line in [
            format!("client_secret = \"{value}\""),
            format!("  \"apiKey\": '{value}',"),
            format!("DB_PASSWORD: \"{value}\""),
            format!("url = postgres://app:{value}@db.internal/app"),
        ] {
            assert!(scan(line.as_bytes()).is_some(), "{line}");
        }
        for line in [
            "password = \"\"".to_owned(),
            "password = \"short1A\"".to_owned(),
            "password = process.env.PASSWORD_FOR_PRODUCTION_1".to_owned(),
            "api_key = \"${API_KEY_FROM_ENVIRONMENT_1}\"".to_owned(),
            "secret: \"your-Secret-goes-here-123456\"".to_owned(),
            format!("hash = \"{value}\""),
            "postgres://postgres:postgres@localhost/db".to_owned(),
            "https://example.org/a:b@c".to_owned(),
            "let password_field = form.get(\"PasswordFieldNumberOne1\")".to_owned(),
        ] {
            assert_eq!(scan(line.as_bytes()), None, "{line}");
        }
    }
}

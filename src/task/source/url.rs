//! Urls that may hold a password: it is for the server alone, not for records and not for the sandbox.

/// The part before its host, if there is one: `user:password@`.
fn user(url: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.find('/').unwrap_or(rest.len());
    let at = rest[..host].rfind('@')?;
    Some((scheme, &rest[..at], &rest[at + 1..]))
}

/// As it is shown.
pub fn shown(text: &str) -> String {
    match user(text) {
        Some((scheme, _, rest)) => format!("{scheme}://…@{rest}"),
        None => text.to_owned(),
    }
}

/// As it stands in a checkout, which the sandbox sees.
pub fn plain(url: &str) -> String {
    match user(url) {
        Some((scheme, _, rest)) => format!("{scheme}://{rest}"),
        None => url.to_owned(),
    }
}

/// A setting for one call of git that gives the password back to what is fetched from the same server.
pub fn setting(url: &str) -> Option<String> {
    let (scheme, user, rest) = user(url)?;
    let host = rest.split('/').next().unwrap_or_default();
    Some(format!("url.{scheme}://{user}@{host}/.insteadOf={scheme}://{host}/"))
}

/// What of a url nobody else should read, as programs may print it.
pub fn secrets(url: &str) -> Vec<Vec<u8>> {
    let Some((scheme, user, _)) = user(url) else { return Vec::new() };
    let secret = match user.split_once(':') {
        Some((_, password)) => password,
        // A token; elsewhere it is only a name.
        None if scheme.starts_with("http") => user,
        None => return Vec::new(),
    };
    vec![secret.as_bytes().to_vec(), decoded(secret)]
}

/// Without the escapes of urls.
fn decoded(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let code = more.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &more[2..];
            }
            None => {
                out.push(*first);
                rest = more;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_neither_shown_nor_laid_out() {
        let url = "https://me:secret@host.example/a@b";
        assert_eq!(shown(url), "https://…@host.example/a@b");
        assert_eq!(plain(url), "https://host.example/a@b");
        let setting = setting(url).unwrap();
        assert_eq!(setting, "url.https://me:secret@host.example/.insteadOf=https://host.example/");
        assert!(!shown(&setting).contains("secret"));
        assert_eq!(secrets("https://me:s%40cret%@host/x"), [b"s%40cret%".to_vec(), b"s@cret%".to_vec()]);
        assert_eq!(secrets("https://token@host/x")[0], b"token");
        assert!(secrets("ssh://git@host/x").is_empty() && secrets("/a").is_empty());
        for without in ["https://host.example/x@y", "git@host:repo", "/a/path", ""] {
            assert_eq!(
                (shown(without), plain(without), super::setting(without)),
                (without.into(), without.into(), None)
            );
        }
    }
}

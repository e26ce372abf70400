//! What git is asked to fetch from.

/// Programs that git starts for such urls.
const HELPERS: [&str; 2] = ["ext", "fd"];

/// What is wrong with a url.
pub(super) fn check(url: &str) -> Result<(), String> {
    let none = Err("must be a url".to_owned());
    let helper = Err("starts a program of the host: use https, ssh, git or file".to_owned());
    if url.is_empty() || url.starts_with('-') || url.trim() != url || url.contains(char::is_control) {
        return none;
    }
    let end = url.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c)).unwrap_or(url.len());
    let (scheme, rest) = url.split_at(end);
    if rest.starts_with("::") {
        return helper;
    }
    match (scheme, rest.strip_prefix("://")) {
        (scheme, Some(_)) if HELPERS.contains(&scheme) => helper,
        ("file", Some(path)) if path.len() > 1 && path.starts_with('/') => Ok(()),
        ("file", Some(_)) => Err("must have an absolute path after `file://`".to_owned()),
        (_, Some(host)) if host.is_empty() || host.starts_with('/') => none,
        (_, Some(_)) => Ok(()),
        (_, None) => match (url.find(':'), url.find('/')) {
            (Some(0), _) => none,
            // `host:path`, as git tells them apart.
            (Some(colon), slash) if slash.is_none_or(|slash| colon < slash) => Ok(()),
            _ => Err("is a path: use `path`".to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_fetches_from_is_told_from_paths_and_programs() {
        for good in [
            "https://git.example/parser",
            "https://me:pass@host:8443/x.git",
            "ssh://git@host/~/x",
            "git://host/x",
            "file:///srv/x",
            "git@host:x.git",
            "host:/srv/x",
            "[::1]:x",
            "s3://bucket/x",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for path in ["../parser", "./x", "x", "x/y", "/srv/x", "~/x", ".", "./a:b", "/a:b", "~", "dir/ext::sh"] {
            assert_eq!(check(path), Err("is a path: use `path`".into()), "{path}");
        }
        for helper in ["ext::sh -c id", "fd::17", "fd::17/x", "x::y", "::x", "codecommit::eu://x", "ext://x", "fd://1"]
        {
            assert!(check(helper).unwrap_err().starts_with("starts a program"), "{helper}");
        }
        for none in ["", "-x", "--upload-pack=x", " https://h/x", "https://h/\nx", "https://", "https:///x", ":x"] {
            assert_eq!(check(none), Err("must be a url".into()), "{none}");
        }
        for relative in ["file://", "file:///", "file://x", "file://./x", "file://~/x"] {
            assert!(check(relative).unwrap_err().contains("absolute"), "{relative}");
        }
    }
}

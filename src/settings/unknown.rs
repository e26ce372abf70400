//! Keys that nobody reads: said, with what may have been meant.

use toml::de::{DeTable, DeValue};

use super::keys::{self, KEYS, PROFILE_KEYS};
use super::repo_file;
use crate::near;
use crate::ui::sanitize;

/// Line and words for each unknown key of the user's file. What cannot be parsed has none: that is told elsewhere.
pub fn of_user(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    walk(
        text,
        |path, is_table| {
            let parts: Vec<&str> = path.iter().map(String::as_str).collect();
            let known: Vec<String> = match parts.as_slice() {
                ["profiles"] if is_table => return Seen::Into,
                ["profiles", _] if is_table => return Seen::Into,
                ["profiles", _, _] => PROFILE_KEYS.iter().map(|key| key.name.to_owned()).collect(),
                ["native"] if is_table => return Seen::Into,
                ["native", _] => {
                    KEYS.iter().filter_map(|key| key.name.strip_prefix("native.").map(str::to_owned)).collect()
                }
                _ => KEYS.iter().filter(|key| !key.name.contains('.')).map(|key| key.name.to_owned()).collect(),
            };
            let name = parts.last().copied().unwrap_or_default();
            if known.iter().any(|own| own == name) { Seen::Known } else { Seen::Unknown(meant(&parts, name, &known)) }
        },
        &mut found,
    );
    found
}

/// The same for a repository's file, which may say less than yours.
pub fn of_repo(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    walk(
        text,
        |path, _| {
            let name = path.join(".");
            let of_user = keys::find(&name).is_some() || matches!(name.as_str(), "native" | "profiles" | "profile");
            if repo_file::KEYS.contains(&name.as_str()) {
                Seen::Known
            } else if of_user {
                Seen::Unknown(format!(
                    "`{name}` is not for a repository to say, and is not followed; your own config.toml may say it"
                ))
            } else {
                let known: Vec<String> = repo_file::KEYS.iter().map(|key| (*key).to_owned()).collect();
                Seen::Unknown(meant(&[&name], &name, &known))
            }
        },
        &mut found,
    );
    found
}

enum Seen {
    Known,
    Into,
    Unknown(String),
}

fn meant(path: &[&str], name: &str, known: &[String]) -> String {
    let short: String = path.join(".").chars().take(60).collect();
    let what = format!("unknown key `{}`, which is not followed", sanitize::text(&short));
    match near::closest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("{what}; did you mean `{near}`?"),
        None => what,
    }
}

fn walk(text: &str, mut see: impl FnMut(&[String], bool) -> Seen, found: &mut Vec<(usize, String)>) {
    let Ok(table) = DeTable::parse(text) else { return };
    go(text, table.get_ref(), &mut Vec::new(), &mut see, found);
}

fn go(
    text: &str,
    table: &DeTable<'_>,
    path: &mut Vec<String>,
    see: &mut impl FnMut(&[String], bool) -> Seen,
    found: &mut Vec<(usize, String)>,
) {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        let inner = match value.get_ref() {
            DeValue::Table(inner) => Some(inner),
            _ => None,
        };
        match (see(path, inner.is_some()), inner) {
            (Seen::Into, Some(inner)) => go(text, inner, path, see, found),
            (Seen::Unknown(what), _) => found.push((text[..key.span().start].matches('\n').count() + 1, what)),
            _ => {}
        }
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_are_named_with_their_line_and_what_may_have_been_meant() {
        let text = "engin = \"podman\"\nzzz = 1\n[native]\nmask_more = []\n[profiles.x]\ncommand = [\"x\"]\ndir = []\n";
        let mut found = of_user(text);
        found.sort();
        let unknown =
            |line, name: &str, near: &str| (line, format!("unknown key `{name}`, which is not followed{near}"));
        assert_eq!(
            found,
            [
                unknown(1, "engin", "; did you mean `engine`?"),
                unknown(2, "zzz", ""),
                unknown(4, "native.mask_more", "; did you mean `mask-more`?"),
                unknown(7, "profiles.x.dir", "; did you mean `dirs`?"),
            ]
        );
    }

    #[test]
    fn a_repository_cannot_say_what_is_the_users_to_say() {
        let found = of_repo("setup = \"x\"\ndefault-profile = \"claude\"\nsetpu = 1\n\"a\\u001b\" = 2\n[profiles.x]\n");
        let text: Vec<&str> = found.iter().map(|(_, what)| what.as_str()).collect();
        assert_eq!(text.len(), 4);
        assert!(text.iter().any(|what| what.contains("`default-profile` is not for a repository")));
        assert!(text.iter().any(|what| what.contains("`profiles` is not for a repository")));
        assert!(text.iter().any(|what| what.contains("did you mean `setup`?")));
        assert!(text.iter().all(|what| !what.contains('\u{1b}')));
    }
}

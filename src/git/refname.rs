//! Names of refs, by the rules of `git check-ref-format`.

/// Whether git accepts this as a full name: `refs/heads/x`.
pub fn is_valid(name: &[u8]) -> bool {
    name.contains(&b'/') && name.len() < 4096 && name.split(|b| *b == b'/').all(is_component) && !has_bad(name)
}

/// Whether git accepts this as the name of a branch.
pub fn is_branch(name: &[u8]) -> bool {
    !name.starts_with(b"-") && name != b"HEAD" && is_valid(&[b"refs/heads/", name].concat())
}

fn is_component(part: &[u8]) -> bool {
    !part.is_empty() && !part.starts_with(b".") && !part.ends_with(b".lock")
}

fn has_bad(name: &[u8]) -> bool {
    let bad = |b: &u8| *b < 0x20 || matches!(b, 0x7f | b' ' | b'~' | b'^' | b':' | b'?' | b'*' | b'[' | b'\\');
    name.iter().any(bad) || name.ends_with(b".") || name.windows(2).any(|two| two == b".." || two == b"@{")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::TestRepo;

    #[test]
    fn the_rules_are_gits() {
        let repo = TestRepo::new();
        let names = concat!(
            "a|a/b|cowbox/api-7k3q|é|@|a@b|HEAD|-a|a.|.a|a/.b|a.lock|a.lock/b|a..b|a b|a~|a^|a:|a?|a*|",
            "a[|a\\|a\x7f|a\n|/a|a/|a//b|a@{b|@{||a.b|a/-b|{|refs/heads/x|a/HEAD|a.locks|..|a\u{200c}",
        );
        for name in names.split('|') {
            let mut command = repo.command(&repo.root());
            let git = command.args(["check-ref-format", "--branch", name]).output().unwrap();
            // With `--branch`, `@{-1}` and its like would be resolved; none of ours is one.
            assert_eq!(is_branch(name.as_bytes()), git.status.success(), "{name:?}");
        }
    }
}

//! Which files of the repo the commands name: when one changes, the environment is no longer the same.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::paths;
use crate::setup::files::RepoFiles;
use crate::setup::plan::{StepCommand, Workspace};

/// Every word costs a question to the file system.
const MOST_WORDS: usize = 4096;
/// `bash -c "bash -c '…'"`: words in words.
const DEEPEST: usize = 3;

/// Regular files of the repo that are a word of a command.
pub(super) fn named<'a>(
    files: &RepoFiles,
    commands: impl IntoIterator<Item = &'a StepCommand>,
    workspace: &Workspace,
) -> BTreeSet<PathBuf> {
    let mut words = BTreeSet::new();
    for command in commands {
        match command {
            StepCommand::Shell(text) => split(text, DEEPEST, &mut words),
            StepCommand::Argv(argv) => argv.iter().for_each(|word| {
                words.insert(word.clone());
                split(word, DEEPEST, &mut words);
            }),
        }
    }
    let root = &workspace.mount;
    // Outside the repo no relative name is one of its files.
    let folder = workspace.folder.strip_prefix(root).ok();
    let found = words.iter().take(MOST_WORDS).filter_map(|word| {
        let base = folder.or(Path::new(word).is_absolute().then_some(Path::new("")))?;
        paths::beneath(root, base, word)
    });
    found.filter(|path| files.has(path)).collect()
}

/// Words as a shell has them, near enough: quotes keep together, and what is in them is split again.
fn split(text: &str, depth: usize, words: &mut BTreeSet<String>) {
    if depth == 0 || words.len() >= MOST_WORDS {
        return;
    }
    let mut word = String::new();
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            c if quote == Some(c) => quote = None,
            '\'' | '"' | '`' if quote.is_none() => quote = Some(c),
            '\\' if quote != Some('\'') => word.extend(chars.next()),
            c if quote.is_none() && is_separator(c) => finish(&mut word, depth, words),
            c => word.push(c),
        }
    }
    finish(&mut word, depth, words);
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || ";|&()<>{}".contains(c)
}

fn finish(word: &mut String, depth: usize, words: &mut BTreeSet<String>) {
    let word = std::mem::take(word);
    if word.is_empty() || words.len() >= MOST_WORDS {
        return;
    }
    // `--file=name`, `@name`
    if let Some((_, value)) = word.rsplit_once(['=', '@']).filter(|(_, value)| !value.is_empty()) {
        words.insert(value.to_owned());
    }
    if word.contains(|c| is_separator(c) || matches!(c, '\'' | '"' | '`')) {
        split(&word, depth - 1, words);
    }
    words.insert(word);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn found(command: StepCommand, folder: &str) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("sub")).unwrap();
        for name in ["a.sh", "b c.sh", "sub/d.sh", "reqs.txt"] {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        let files = RepoFiles::open(dir.path()).unwrap();
        let workspace = Workspace { mount: "/w".into(), folder: folder.into() };
        let found = named(&files, &[command], &workspace);
        found.into_iter().map(|path| path.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn words_that_are_files_are_found() {
        let cases = [
            ("bash a.sh", vec!["a.sh"]),
            ("./a.sh&&(sh<sub/d.sh)", vec!["a.sh", "sub/d.sh"]),
            ("sh 'b c.sh'; sh b\\ c.sh", vec!["b c.sh"]),
            ("bash -c \"cd x && sh 'b c.sh' a.sh\"", vec!["a.sh", "b c.sh"]),
            ("pip install --requirement=reqs.txt", vec!["reqs.txt"]),
            ("/w/sub/../a.sh /etc/passwd ../a.sh sub missing", vec!["a.sh"]),
            ("echo 'a.sh", vec!["a.sh"]),
            ("", vec![]),
        ];
        for (text, expected) in cases {
            assert_eq!(found(StepCommand::Shell(text.into()), "/w"), expected, "{text}");
        }
        let argv = ["sh", "b c.sh"].map(str::to_owned).to_vec();
        assert_eq!(found(StepCommand::Argv(argv), "/w"), ["b c.sh"]);
    }

    #[test]
    fn names_are_seen_from_the_folder_where_commands_start() {
        assert_eq!(found(StepCommand::Shell("sh d.sh ../a.sh".into()), "/w/sub"), ["a.sh", "sub/d.sh"]);
        assert_eq!(found(StepCommand::Shell("sh a.sh /w/a.sh".into()), "/elsewhere"), ["a.sh"]);
    }
}

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use super::*;
use crate::git::testing::TestRepo;

fn user(repo: &TestRepo) -> User {
    User { home: Some(repo.home()), config: Some(repo.home().join(".config")), system: None }
}

fn all(repo: &TestRepo, dir: &Path, into: &mut Vec<(PathBuf, bool)>) {
    for entry in std::fs::read_dir(repo.root().join(dir)).unwrap() {
        let entry = entry.unwrap();
        let (path, is_dir) = (dir.join(entry.file_name()), entry.file_type().unwrap().is_dir());
        if entry.file_name() != ".git" {
            into.push((path.clone(), is_dir));
            if is_dir {
                all(repo, &path, into);
            }
        }
    }
}

/// Compares every path of the tree with `git check-ignore`.
fn same_as_git(repo: &TestRepo) -> BTreeSet<PathBuf> {
    let rules = Rules::new(&repo.root(), &GitDirs::of(&repo.root()).unwrap(), &user(repo)).unwrap();
    let mut paths = Vec::new();
    all(repo, Path::new(""), &mut paths);
    let mut input = tempfile::tempfile().unwrap();
    for (path, _) in &paths {
        input.write_all(&[path.as_os_str().as_bytes(), b"\0"].concat()).unwrap();
    }
    input.rewind().unwrap();
    let mut command = repo.command(&repo.root());
    let said = command.args(["check-ignore", "--no-index", "--stdin", "-z"]).stdin(input).output().unwrap();
    let said: BTreeSet<PathBuf> =
        said.stdout.split(|b| *b == 0).filter(|p| !p.is_empty()).map(|p| OsStr::from_bytes(p).into()).collect();
    let (mut ignored, mut wrong) = (BTreeSet::new(), Vec::new());
    for (path, is_dir) in paths {
        let ours = rules.is_ignored(&path, is_dir).unwrap();
        if ours != said.contains(&path) {
            wrong.push((path.clone(), !ours));
        }
        if ours {
            ignored.insert(path);
        }
    }
    assert!(wrong.is_empty(), "git says otherwise of {wrong:?}");
    ignored
}

#[test]
fn precedence_is_gits() {
    let repo = TestRepo::new();
    repo.write(".gitignore", "*.log\n/build/\nkeep/*\n!keep/this\nd\n**/deep/x\na/**/z\n");
    repo.write("sub/.gitignore", "!important.log\n/here\n*.tmp\n");
    repo.write("build/.gitignore", "!*\n");
    repo.write(".git/info/exclude", "*.tmp\nexcluded\n!*.user\n");
    std::fs::create_dir_all(repo.home().join(".config/git")).unwrap();
    std::fs::write(repo.home().join(".config/git/ignore"), "*.user\n*.mine\n").unwrap();
    let paths = concat!(
        "x.log|sub/x.log|sub/important.log|sub/deeper/important.log|build/out|other/build/out|keep/this|",
        "keep/that|d/inside/file|e/d|q/deep/x|deep/x/y|a/z|a/b/c/z|sub/here|sub/in/here|x.tmp|excluded/f|",
        "f.user|f.mine|plain",
    );
    for path in paths.split('|') {
        repo.write(path, "");
    }
    let ignored = same_as_git(&repo);
    assert!(ignored.contains(Path::new("build/out")) && !ignored.contains(Path::new("sub/important.log")));
    assert!(ignored.contains(Path::new("f.mine")) && !ignored.contains(Path::new("f.user")));
    repo.git(&["config", "core.excludesFile", "~/mine"]);
    std::fs::write(repo.home().join("mine"), "plain\n").unwrap();
    let ignored = same_as_git(&repo);
    assert!(ignored.contains(Path::new("plain")) && !ignored.contains(Path::new("f.mine")));
}

#[test]
fn odd_patterns_are_gits() {
    let repo = TestRepo::new();
    let names = concat!(
        "{a,b}|a|b|x{1}|sp |sp|tab\t|tab|#hash|!bang|c1|cA|c]|c-|star*|starry|q?|qq|dir/only|only|Case|",
        "case|é|xéy|back\\slash|u_|w/x/y|dd/e/f",
    );
    for name in names.split('|') {
        repo.write(name, "");
    }
    let patterns = concat!(
        "{a,b}|x{1}|sp |sp\\ |sp\\  |tab\t|\\#hash|\\!bang|c[[:digit:]]|c[]]|c[a-]|c[!1]|c[^[:upper:]]|",
        "star\\*|q\\?|q?|only/|/only|CASE|x?y|?|back\\\\slash|c[|bad\\|# comment| ||/|!|**|w/**|w/**/y|",
        "**/f|dd/*/f|d?/|*/x|é|u[[:punct:]]|c[[:nope:]]|w*|w/*|dd/**/f/|\u{feff}a|a\r|***|dd**f|/*|!/*/",
    );
    for pattern in patterns.split('|') {
        repo.write(".gitignore", format!("{pattern}\n"));
        println!("{pattern:?}");
        same_as_git(&repo);
    }
    repo.git(&["config", "core.ignoreCase", "true"]);
    repo.write(".gitignore", "CASE\n");
    assert_eq!(same_as_git(&repo).len(), 2);
}

#[test]
fn a_linked_gitignore_and_what_lies_behind_links_count_for_nothing() {
    let repo = TestRepo::new();
    std::fs::create_dir(repo.beside("out")).unwrap();
    std::fs::write(repo.beside("out/.gitignore"), "*\n").unwrap();
    repo.write("d/f", "");
    symlink(repo.beside("out/.gitignore"), repo.root().join("d/.gitignore")).unwrap();
    symlink(repo.beside("out"), repo.root().join("link")).unwrap();
    let rules = Rules::new(&repo.root(), &GitDirs::of(&repo.root()).unwrap(), &user(&repo)).unwrap();
    assert!(!rules.is_ignored(Path::new("d/f"), false).unwrap());
    assert!(!rules.is_ignored(Path::new("link/f"), false).unwrap());
    same_as_git(&repo);
}

use super::*;
use crate::git::testing::{Session, TestRepo};

fn subjects(commits: &Commits) -> Vec<(&str, &str)> {
    commits.commits.iter().map(|c| (c.subject.as_str(), c.refname.as_str())).collect()
}

fn list_of(repo: &TestRepo, session: &Session) -> Commits {
    session.take_layer();
    list(&repo.root(), &session.dir()).unwrap()
}

#[test]
fn what_the_host_has_is_not_new() {
    let repo = TestRepo::new();
    repo.write("f", "one");
    repo.commit("one");
    repo.git(&["branch", "other"]);
    let session = Session::over(&repo);
    assert_eq!(list_of(&repo, &session), Commits::default());
    session.git(&["checkout", "-q", "other"]);
    assert_eq!(list_of(&repo, &session), Commits::default());
    session.commit("f", "two", "two\nlines\n\nbody");
    session.commit("f", "three", "three");
    session.git(&["checkout", "-q", "-b", "side", "main"]);
    session.commit("g", "x", "side \u{1b}[31m");
    session.git(&["checkout", "-q", "other"]);
    let found = list_of(&repo, &session);
    let expected =
        [("three", "refs/heads/other"), ("two lines", "refs/heads/other"), ("side \u{1b}[31m", "refs/heads/side")];
    let mut got = subjects(&found);
    got.sort_by_key(|(_, name)| *name);
    assert_eq!(got, expected);
    assert!(!found.truncated);
    // Packed, with all of it in new packs and the host's deleted.
    session.git(&["gc", "-q", "--prune=now"]);
    let packed = list_of(&repo, &session);
    assert_eq!(packed, found);
    // The host has them meanwhile.
    repo.git(&["fetch", "-q", &session.root().display().to_string(), "other:got"]);
    assert_eq!(subjects(&list(&repo.root(), &session.dir()).unwrap()).len(), 1);
}

#[test]
fn a_detached_head_and_a_merge_count() {
    let repo = TestRepo::new();
    repo.commit("one");
    let session = Session::over(&repo);
    session.git(&["checkout", "-q", "-b", "b"]);
    session.commit("b", "b", "b");
    session.git(&["checkout", "-q", "--detach", "main"]);
    session.commit("a", "a", "a");
    session.git(&["merge", "-q", "-m", "merge", "b"]);
    let found = list_of(&repo, &session);
    assert_eq!(found.commits.len(), 3);
    assert_eq!(subjects(&found)[0], ("merge", "HEAD"));
}

#[test]
fn a_linked_worktree_has_its_own_head() {
    let repo = TestRepo::new();
    repo.commit("one");
    let tree = repo.beside("tree");
    repo.git(&["worktree", "add", "-q", "-b", "wt", &tree.display().to_string()]);
    let place = GitPlace::find(&tree, Path::new("/s")).unwrap();
    assert_eq!(place.host, repo.root().join(".git"));
    assert_eq!((place.upper, place.within), ("/s/mounts/gitdir/upper".into(), "".into()));
    assert_eq!(place.worktree, Path::new("worktrees/tree"));
    let session = Session::over(&repo);
    let inside = session.root().join("../tree-inside");
    session.git(&["worktree", "add", "-q", "--detach", &inside.display().to_string()]);
    std::fs::write(session.root().join(".git/worktrees/tree/HEAD"), {
        session.git_at(&inside, &["commit", "-q", "--allow-empty", "-m", "in tree"]);
        session.git_at(&inside, &["rev-parse", "HEAD"])
    })
    .unwrap();
    session.take_layer();
    let upper = session.dir().join("mounts/gitdir");
    std::fs::create_dir_all(&upper).unwrap();
    std::fs::rename(session.dir().join("upper/.git"), upper.join("upper")).unwrap();
    let found = list(&tree, &session.dir()).unwrap();
    assert_eq!(subjects(&found), [("in tree", "HEAD")]);
}

#[test]
fn submodules_are_listed_with_their_path() {
    let lib = TestRepo::new();
    lib.write("f", "lib");
    lib.commit("lib");
    let repo = TestRepo::new();
    repo.git(&["submodule", "--quiet", "add", "--name", "odd/name", &lib.root().display().to_string(), "libs/sub"]);
    repo.commit("with sub");
    let session = Session::over(&repo);
    session.git_at(&session.root().join("libs/sub"), &["commit", "-q", "--allow-empty", "-m", "deep"]);
    let found = list_of(&repo, &session);
    assert_eq!(found.commits.len(), 1);
    assert_eq!((found.commits[0].repo.as_path(), found.commits[0].subject.as_str()), (Path::new("libs/sub"), "deep"));
}

#[test]
fn repositories_in_the_tree_are_listed_and_those_behind_a_link_are_not() {
    let (lib, elsewhere) = (TestRepo::new(), TestRepo::new());
    lib.commit("lib");
    elsewhere.commit("elsewhere");
    let repo = TestRepo::new();
    // What older versions of git made of a submodule, and a clone that nobody keeps track of.
    for path in ["libs/old", "tools/clone"] {
        repo.git(&["clone", "-q", &lib.root().display().to_string(), path]);
    }
    repo.commit("one");
    std::os::unix::fs::symlink(elsewhere.root(), repo.root().join("link")).unwrap();
    let session = Session::over(&repo);
    for path in ["libs/old", "tools/clone"] {
        session.git_at(&session.root().join(path), &["commit", "-q", "--allow-empty", "-m", path]);
    }
    std::fs::remove_file(session.root().join("link")).unwrap();
    session.git(&["clone", "-q", &elsewhere.root().display().to_string(), "link"]);
    session.git_at(&session.root().join("link"), &["commit", "-q", "--allow-empty", "-m", "not there"]);
    let found = list_of(&repo, &session);
    let seen: Vec<_> = found.commits.iter().map(|c| (c.repo.to_str().unwrap(), c.subject.as_str())).collect();
    assert_eq!(seen, [("libs/old", "libs/old"), ("tools/clone", "tools/clone")]);
}

#[test]
fn a_long_history_is_cut_and_damage_is_said() {
    let repo = TestRepo::new();
    repo.commit("one");
    let session = Session::over(&repo);
    for n in 0..5 {
        session.commit("f", &n.to_string(), "x");
    }
    session.take_layer();
    let place = GitPlace::find(&repo.root(), &session.dir()).unwrap();
    let walk = super::walk(&place, 3).unwrap();
    assert_eq!((walk.commits.len(), walk.truncated), (3, true));
    let first = session.git(&["rev-parse", "HEAD~4"]);
    let object = session.dir().join("upper/.git/objects").join(&first[..2]).join(&first[2..]);
    // Git makes its objects read-only.
    std::fs::remove_file(&object).unwrap();
    std::fs::write(object, "damaged").unwrap();
    let walk = super::walk(&place, 100).unwrap();
    assert_eq!((walk.commits.len(), walk.truncated), (4, true));
    std::fs::remove_dir_all(session.dir().join("upper/.git")).unwrap();
    std::os::unix::fs::symlink("/etc", session.dir().join("upper/.git")).unwrap();
    assert!(super::walk(&place, 100).unwrap().commits.is_empty());
}

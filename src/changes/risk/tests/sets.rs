//! Risks of many changes together.

use std::path::Path;

use super::super::of_set;
use super::*;

fn tree(paths: &[&str]) -> Vec<Change> {
    let dir = |path: &&str| path.ends_with('/');
    let kind = |path: &&str| Some(if dir(path) { meta(Kind::Dir, 0o755) } else { meta(Kind::File, 0o644) });
    paths.iter().map(|path| change(path.trim_end_matches('/'), ChangeKind::Added, None, kind(path))).collect()
}

fn nested(paths: &[&str], on_host: &[&str]) -> Vec<String> {
    let changes = tree(paths);
    let found = of_set(&changes, |path: &Path| on_host.iter().any(|host| Path::new(host) == path)).changes;
    assert!(found.iter().all(|(_, risk)| risk.code == "nested-repo"));
    found.iter().map(|(index, _)| changes[*index].path.to_string_lossy().into_owned()).collect()
}

#[test]
fn a_directory_that_git_takes_for_a_repository() {
    let bare = ["x/", "x/HEAD", "x/config", "x/objects/", "x/objects/a", "x/readme", "x/refs/"];
    assert_eq!(nested(&bare, &[]), ["x/HEAD", "x/config", "x/objects", "x/objects/a", "x/refs"]);
    assert_eq!(nested(&["x/HEAD", "x/commondir"], &[]), ["x/HEAD", "x/commondir"]);
    assert_eq!(nested(&["x/Head", "X/objects/", "x/REFS/", "x/Config"], &[]).len(), 4);
    assert_eq!(nested(&["HEAD", "objects/", "refs/"], &[]), ["HEAD", "objects", "refs"]);
    assert_eq!(nested(&["x/HEAD"], &["x/objects", "x/refs"]), ["x/HEAD"]);
    // A repository that is a fixture on the host: its settings and hooks are what counts.
    let fixture = ["x/HEAD", "x/objects", "x/refs"];
    assert_eq!(nested(&["x/config", "x/hooks/a", "x/readme", "y/config"], &fixture), ["x/config", "x/hooks/a"]);
    for paths in [&["x/HEAD", "x/objects/", "y/refs/"][..], &["x/objects/", "x/refs/"], &["x/HEAD", "x/refs/"]] {
        assert_eq!(nested(paths, &[]), [""; 0], "{paths:?}");
    }
}

#[test]
fn a_deletion_may_be_left_out_so_it_hides_no_mark() {
    let mut changes = tree(&["x/HEAD", "x/objects/"]);
    changes.push(change("x/refs", ChangeKind::Deleted, Some(meta(Kind::Dir, 0o755)), None));
    assert_eq!(of_set(&changes, |_| false).changes.len(), 2);
    assert_eq!(of_set(&changes[2..], |_| true).changes, []);
}

#[test]
fn many_deletions_are_said_if_they_are_most_of_it() {
    let deletions = |n: usize, other: usize| {
        let gone = (0..n).map(|i| deleted(&format!("a{i}")));
        let kept = (0..other).map(|i| added(&format!("b{i}")));
        codes(&of_set(&gone.chain(kept).collect::<Vec<_>>(), |_| false).whole)
    };
    assert_eq!(deletions(51, 50), ["mass-deletion"]);
    assert_eq!(deletions(50, 0), [""; 0]);
    assert_eq!(deletions(51, 51), [""; 0]);
}

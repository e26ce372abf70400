//! Risks that follow from what the host's own files say.

use std::path::{Path, PathBuf};

use super::super::{Links, needs_content};
use super::*;
use crate::git::obeyed::Obeyed;

fn paths(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

fn judge(change: &Change, obeyed: &Obeyed) -> Vec<&'static str> {
    codes(&super::super::assess(change, None, Some(b"x"), &Host { obeyed, ..Host::UNKNOWN }))
}

#[test]
fn the_folder_of_core_hooks_path_is_one_of_hooks() {
    let obeyed = Obeyed { hooks: paths(&["tools/hooks", "dev/hooks"]), ..Obeyed::NOTHING };
    assert_eq!(judge(&added("tools/hooks/pre-commit"), &obeyed), ["hook-dir"]);
    assert_eq!(judge(&added("Tools/HOOKS/pre-commit"), &obeyed), ["hook-dir"]);
    assert_eq!(judge(&added("tools/hooks2/pre-commit"), &obeyed), [""; 0]);
    let dev = change("dev", ChangeKind::TypeChanged, Some(meta(Kind::Dir, 0o755)), link());
    assert_eq!(judge(&dev, &obeyed), ["hook-dir"]);
}

#[test]
fn where_the_root_is_the_folder_of_hooks_their_names_tell() {
    let obeyed = Obeyed { hooks: paths(&[""]), ..Obeyed::NOTHING };
    assert_eq!(judge(&added("pre-commit"), &obeyed), ["hook-dir"]);
    assert_eq!(judge(&added("Post-Checkout"), &obeyed), ["hook-dir"]);
    let (old, new) = (Some(meta(Kind::File, 0o644)), Some(meta(Kind::File, 0o755)));
    let mode = change("pre-push", ChangeKind::ModeChanged, old, new);
    assert_eq!(judge(&mode, &obeyed), ["hook-dir", "new-executable"]);
    for path in ["x", "src/pre-commit", "pre-commit.md"] {
        assert_eq!(judge(&added(path), &obeyed), [""; 0], "{path}");
    }
    assert_eq!(judge(&added("pre-commit"), &Obeyed::NOTHING), [""; 0]);
}

#[test]
fn files_that_the_hosts_git_reads_need_consent() {
    let obeyed = Obeyed { settings: paths(&["conf/git"]), attributes: paths(&["conf/attr"]), ..Obeyed::NOTHING };
    assert_eq!(judge(&added("conf/git"), &obeyed), ["vcs-settings"]);
    assert_eq!(judge(&modified("conf/attr"), &obeyed), ["git-attributes"]);
    assert_eq!(judge(&change("conf", ChangeKind::Added, None, link()), &obeyed), ["vcs-settings", "git-attributes"]);
    for other in [added("conf/other"), deleted("conf/git")] {
        assert_eq!(judge(&other, &obeyed), [""; 0], "{other:?}");
    }
    let (old, new) = (Some(meta(Kind::File, 0o600)), Some(meta(Kind::File, 0o644)));
    assert_eq!(judge(&change("conf/git", ChangeKind::ModeChanged, old, new), &obeyed), [""; 0]);
}

#[test]
fn a_compose_file_of_any_name_is_one_if_a_dev_container_names_it() {
    let compose = paths(&["deploy/stack.txt"]);
    let host = Host { compose: &compose, ..Host::UNKNOWN };
    let judge = |path: &str, new: &[u8]| codes(&super::super::assess(&modified(path), Some(b"{}"), Some(new), &host));
    assert_eq!(judge("deploy/stack.txt", b"services: {a: {privileged: true}}"), ["devcontainer-host"]);
    assert_eq!(judge("deploy/stack.txt", b"services: {a: {image: x}}"), [""; 0]);
    assert_eq!(judge("deploy/stack.txt", b"{"), ["devcontainer-host"]);
    assert_eq!(judge("deploy/other.txt", b"services: {a: {privileged: true}}"), [""; 0]);
    assert!(needs_content(&modified("deploy/stack.txt"), &host));
}

struct OneLink;

impl Links for OneLink {
    fn link_at(&self, path: &Path) -> Option<Vec<u8>> {
        (path == Path::new("shared")).then(|| b"/mnt/shared".to_vec())
    }
}

#[test]
fn a_link_through_a_link_of_the_host_leaves_too() {
    let host = Host { links: &OneLink, ..Host::UNKNOWN };
    let judge = |target: &[u8]| {
        codes(&super::super::assess(&change("a", ChangeKind::Added, None, link()), None, Some(target), &host))
    };
    assert_eq!(judge(b"shared/x"), ["symlink-outside"]);
    assert_eq!(judge(b"shared"), ["symlink-outside"]);
    assert_eq!(judge(b"docs/shared"), [""; 0]);
}

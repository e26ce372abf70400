//! Patches and counts held against the real git and the real patch: random trees, old and new.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::double::{Node, Tree, Trees};
use super::{Style, patch};
use crate::changes::{Change, ChangeKind};
use crate::diff::lines::LineDiff;

/// Small, seeded, and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn text(&mut self) -> Vec<u8> {
        let words: [&[u8]; 8] = [b"a", b"b", b"", b"{", b"}", b"\tlong line", b"x\xff\r", b"-- "];
        let mut out = Vec::new();
        for _ in 0..self.below(40) {
            out.extend_from_slice(words[self.below(words.len())]);
            out.push(b'\n');
        }
        if self.chance(25) {
            out.pop();
        }
        out
    }

    fn content(&mut self, text_only: bool) -> Vec<u8> {
        if text_only || self.chance(75) {
            return self.text();
        }
        (0..self.below(700)).map(|_| self.below(256) as u8).chain([0]).collect()
    }

    fn node(&mut self, text_only: bool) -> Node {
        if !text_only && self.chance(15) {
            return Node::Link([b"../x", &b"a\nb"[..], b"\xfftarget", b"plain"][self.below(4)].to_vec());
        }
        let mode = if self.chance(20) { 0o755 } else { 0o644 };
        Node::File(mode, self.content(text_only))
    }

    /// A small edit, so that there are lines in common.
    fn edited(&mut self, node: &Node, text_only: bool) -> Node {
        match node {
            _ if self.chance(20) => self.node(text_only),
            Node::File(mode, bytes) if self.chance(70) => {
                let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
                for _ in 0..=self.below(3) {
                    let at = self.below(lines.len() + 1);
                    match lines.get(at) {
                        Some(_) if self.chance(50) => drop(lines.remove(at)),
                        _ => lines.insert(at, b"inserted\n".to_vec()),
                    }
                }
                Node::File(*mode, lines.concat())
            }
            Node::File(mode, bytes) => Node::File(mode ^ 0o111, bytes.clone()),
            Node::Link(_) => Node::Link(b"elsewhere".to_vec()),
            Node::Dir(mode) => Node::Dir(*mode),
        }
    }
}

const NAMES: [&[u8]; 14] = [
    b"plain",
    b"sp ace",
    b"sub/file",
    b"sub/deep/x",
    b"quo\"te",
    b"new\nline",
    b"not\xffutf8",
    b"back\\slash",
    "\u{202e}\u{e9}".as_bytes(),
    b" lead",
    b"trail ",
    b"tab\there",
    b"b/a b/c",
    b"-dash",
];

fn name(bytes: &[u8]) -> PathBuf {
    OsStr::from_bytes(bytes).into()
}

/// Two trees and what is renamed from the one to the other.
fn trees(random: &mut Random, text_only: bool) -> (Trees, Vec<(PathBuf, PathBuf)>) {
    let names: &[&[u8]] = if text_only { &NAMES[..5] } else { &NAMES };
    let mut trees = Trees::default();
    let mut renames = Vec::new();
    for bytes in names {
        let path = name(bytes);
        match random.below(6) {
            0 => drop(trees.new.insert(path, random.node(text_only))),
            1 => drop(trees.old.insert(path, random.node(text_only))),
            2 if !text_only => {
                let target = name(&[b"moved ", *bytes].concat());
                let node = random.node(false);
                trees.old.insert(path.clone(), node.clone());
                trees.new.insert(target.clone(), node);
                renames.push((path, target));
            }
            5 => {}
            _ => {
                let node = random.node(text_only);
                trees.new.insert(path.clone(), random.edited(&node, text_only));
                trees.old.insert(path, node);
            }
        }
    }
    (trees, renames)
}

fn create(root: &Path, tree: &Tree) {
    fs::create_dir_all(root).unwrap();
    for (path, node) in tree {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match node {
            Node::File(mode, bytes) => {
                fs::write(&path, bytes).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
            }
            Node::Link(target) => symlink(OsStr::from_bytes(target), path).unwrap(),
            Node::Dir(_) => fs::create_dir_all(path).unwrap(),
        }
    }
}

/// Files and links below a directory.
fn read_back(root: &Path, at: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(root.join(at)).unwrap() {
        let path = at.join(entry.unwrap().file_name());
        let full = root.join(&path);
        let meta = full.symlink_metadata().unwrap();
        if meta.is_dir() {
            read_back(root, &path, tree);
        } else if meta.is_symlink() {
            tree.insert(path, Node::Link(fs::read_link(full).unwrap().as_os_str().as_bytes().to_vec()));
        } else {
            let mode = if meta.permissions().mode() & 0o100 != 0 { 0o755 } else { 0o644 };
            tree.insert(path, Node::File(mode, fs::read(full).unwrap()));
        }
    }
}

fn clean(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", "/nonexistent");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CEILING_DIRECTORIES", "/");
    command
}

fn rendered(changes: &[Change], trees: &Trees) -> Vec<u8> {
    let mut out = Vec::new();
    patch::write(changes, trees, Style::default(), &mut out).unwrap();
    out
}

/// Applies `patch` to the tree in `root` and checks what comes out.
fn check(mut tool: Command, root: &Path, patch: &[u8], expected: &Tree, what: &str) {
    let mut child =
        tool.current_dir(root).stdin(Stdio::piped()).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(patch).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let shown = || format!("{what}\n{}\n{}", String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(patch));
    assert!(output.status.success(), "{}", shown());
    let mut found = Tree::new();
    read_back(root, Path::new(""), &mut found);
    assert_eq!(&found, expected, "{}", shown());
}

#[test]
fn git_apply_turns_the_old_tree_into_the_new_one() {
    let dir = tempfile::tempdir().unwrap();
    for case in 0..200 {
        let (trees, renames) = trees(&mut Random(case), false);
        let changes = trees.changes(&renames);
        if changes.is_empty() {
            continue;
        }
        let root = dir.path().join(case.to_string());
        create(&root, &trees.old);
        let mut git = clean("git");
        git.args(["apply", "--whitespace=nowarn"]);
        check(git, &root, &rendered(&changes, &trees), &trees.new, &format!("case {case}"));
        // git forgets the mode of what it brings back, with its own patches too.
        let lost = |c: &Change| c.kind == ChangeKind::TypeChanged || (c.new.is_none() && c.old.unwrap().mode != 0o644);
        if changes.iter().any(lost) {
            continue;
        }
        // And back: binary patches have both directions.
        let mut git = clean("git");
        git.args(["apply", "-R", "--whitespace=nowarn"]);
        check(git, &root, &rendered(&changes, &trees), &trees.old, &format!("case {case}, back"));
    }
}

#[test]
fn patch_takes_the_text() {
    let dir = tempfile::tempdir().unwrap();
    for case in 0..60 {
        let (trees, _) = trees(&mut Random(case), true);
        let changes = trees.changes(&[]);
        if changes.is_empty() {
            continue;
        }
        let root = dir.path().join(case.to_string());
        create(&root, &trees.old);
        let mut tool = clean("patch");
        tool.args(["-p1", "--binary", "--no-backup-if-mismatch", "-s"]);
        check(tool, &root, &rendered(&changes, &trees), &trees.new, &format!("case {case}"));
    }
}

#[test]
fn a_directory_and_a_file_change_places() {
    let file = |text: &str| Node::File(0o644, text.into());
    let trees = Trees {
        old: [
            (name(b"dir/in"), file("x\n")),
            (name(b"file"), file("y\n")),
            (name(b"link"), Node::Link(b"file".to_vec())),
        ]
        .into(),
        new: [(name(b"dir"), file("z\n")), (name(b"file/in"), file("w\n")), (name(b"link/in"), file("v\n"))].into(),
    };
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), &trees.old);
    let mut git = clean("git");
    git.arg("apply");
    check(git, dir.path(), &rendered(&trees.changes(&[]), &trees), &trees.new, "places");
}

#[test]
fn counts_are_those_of_git() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random(7);
    let (mut same, cases) = (0, 120);
    for _ in 0..cases {
        let old = random.text();
        let Node::File(_, new) = random.edited(&Node::File(0o644, old.clone()), true) else { continue };
        fs::write(dir.path().join("old"), &old).unwrap();
        fs::write(dir.path().join("new"), &new).unwrap();
        let mut git = clean("git");
        git.args(["diff", "--no-index", "--numstat", "old", "new"]).current_dir(dir.path());
        let said = String::from_utf8(git.output().unwrap().stdout).unwrap();
        let mut numbers = said.split('\t').map(|n| n.parse::<u64>().unwrap_or(0));
        let expected = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let diff = LineDiff::of(&old, &new);
        same += usize::from((diff.insertions(), diff.deletions()) == expected);
    }
    assert!(same * 100 >= cases * 95, "{same} of {cases}");
}

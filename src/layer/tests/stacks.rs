//! Several layers over each other: what the session wrote before and after it was frozen.

use super::*;

fn stack(layers: &[&[&str]]) -> Vec<String> {
    let made = Layers::new();
    let names: Vec<String> = (0..layers.len()).map(|n| n.to_string()).collect();
    for (name, lines) in names.iter().zip(layers) {
        made.layer(name, lines);
    }
    made.read(&names.iter().map(String::as_str).collect::<Vec<_>>(), Encoding::Userxattr).unwrap()
}

const OPAQUE: &str = "d #user.overlay.opaque=y";

#[test]
fn the_topmost_file_is_the_one() {
    assert_eq!(stack(&[&["f 1"], &["f 2", "g 2"], &["f 3", "g 3", "h 3"]]), ["f 1", "g 2", "h 3"]);
}

#[test]
fn directories_are_merged() {
    let merged = stack(&[&["d/", "d/a 1"], &["d/", "d/a 2", "d/b 2", "d/e/", "d/e/x 2"], &["d/", "d/e/", "d/e/y 3"]]);
    assert_eq!(merged, ["d/", "d/a 1", "d/b 2", "d/e/", "d/e/x 2", "d/e/y 3"]);
}

#[test]
fn a_whiteout_in_the_middle_hides_what_is_below_it() {
    assert_eq!(stack(&[&["a 1"], &["-f"], &["f 3"]]), ["a 1", "-f"]);
    // Made anew above it.
    assert_eq!(stack(&[&["f 1"], &["-f"], &["f 3"]]), ["f 1"]);
    // A directory over it does not merge with what it hides, nor with the host.
    assert_eq!(stack(&[&["d/", "d/new 1"], &["-d"], &["d/", "d/old 3"]]), ["d/!", "d/new 1"]);
    assert_eq!(stack(&[&["d/", "-d/f"], &["d/", "d/f 2"], &["d/", "d/f 3"]]), ["d/", "-d/f"]);
}

#[test]
fn an_opaque_directory_in_the_middle_hides_what_is_below_it() {
    let three = stack(&[&["d/", "d/a 1"], &["d/", "d/b 2", OPAQUE], &["d/", "d/c 3", "d/sub/", "d/sub/x 3"]]);
    assert_eq!(three, ["d/!", "d/a 1", "d/b 2"]);
    let top = stack(&[&["d/", "d/a 1", OPAQUE], &["d/", "d/b 2"]]);
    assert_eq!(top, ["d/!", "d/a 1"]);
    let bottom = stack(&[&["d/", "d/a 1"], &["d/", "d/b 2", OPAQUE]]);
    assert_eq!(bottom, ["d/!", "d/a 1", "d/b 2"]);
    // What is deeper inherits it: nothing of the host shines through there either.
    let deep = stack(&[&["d/", "d/e/", "d/e/x 1"], &["d/", "d/e/", "d/e/y 2", OPAQUE], &["d/", "d/e/", "d/e/z 3"]]);
    assert_eq!(deep, ["d/!", "d/e/!", "d/e/x 1", "d/e/y 2"]);
}

#[test]
fn types_over_each_other() {
    // A file over a directory.
    assert_eq!(stack(&[&["d 1"], &["d/", "d/x 2"]]), ["d 1"]);
    assert_eq!(stack(&[&["a 1"], &["d 2"], &["d/", "d/x 3"]]), ["a 1", "d 2"]);
    // A directory over a file ends there: it merges with nothing below, and the host's is hidden.
    assert_eq!(stack(&[&["d/", "d/x 1"], &["d 2"], &["d/", "d/y 3"]]), ["d/!", "d/x 1"]);
    assert_eq!(stack(&[&["d/", "d/x 1"], &["d -> elsewhere"]]), ["d/!", "d/x 1"]);
    // A link to a directory is a link.
    assert_eq!(stack(&[&["d -> e"], &["d/", "d/x 2", "e/", "e/y 2"]]), ["d -> e", "e/", "e/y 2"]);
}

#[test]
fn an_opaque_root_hides_everything() {
    let layers = Layers::new();
    layers.layer("u", &["a 1", ". #user.overlay.opaque=y"]).layer("l", &["b 2"]);
    let root = layers.open(&["u", "l"], Encoding::Userxattr).unwrap();
    assert!(!root.open_below);
    assert_eq!(layers.read(&["u", "l"], Encoding::Userxattr).unwrap(), ["a 1"]);
    assert!(matches!(root.entry("b".as_ref()).unwrap(), Entry::Deleted));
}

#[test]
fn the_looks_of_a_directory_are_those_of_its_topmost_part() {
    let layers = Layers::new();
    layers.layer("u", &["d/", "d %700", "d #user.mine=1"]).layer("l", &["d/", "d %755", "d #user.old=1"]);
    let root = layers.open(&["u", "l"], Encoding::Userxattr).unwrap();
    let Entry::Dir(dir, found) = root.entry("d".as_ref()).unwrap() else { panic!("a directory") };
    assert_eq!(found.meta.mode, 0o700);
    assert_eq!(dir.xattrs().keys().collect::<Vec<_>>(), [b"user.mine"]);
}

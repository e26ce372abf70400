//! What each encoding writes.

use super::*;
use crate::layer::marks;

#[test]
fn whiteouts_and_opaque_directories_of_the_kernel() {
    let layers = Layers::new();
    layers
        .layer("u", &["a x", "-gone", "d/", "d/in y", "o/", "o/in z", "o #user.overlay.opaque=y", "o/sub/", "l -> a"]);
    let expected = ["a x", "d/", "d/in y", "-gone", "l -> a", "o/!", "o/in z", "o/sub/!"];
    assert_eq!(layers.read(&["u"], Encoding::Userxattr).unwrap(), expected);
}

#[test]
fn on_the_host_a_device_is_a_device() {
    let layers = Layers::new();
    layers.layer("repo", &["-null", "d/", "d #user.overlay.opaque=y", "d #user.overlay.redirect=/etc"]);
    assert_eq!(layers.read(&["repo"], Encoding::Plain).unwrap(), ["d/", "null Device"]);
}

#[test]
fn an_empty_file_is_a_whiteout_only_where_its_directory_says_so() {
    let layers = Layers::new();
    let marked =
        ["x/", "x #user.overlay.opaque=x", "x/gone", "x/gone #user.overlay.whiteout=y", "x/empty", "x/full text"];
    layers.layer("u", &marked);
    layers.layer("u", &["x/full #user.overlay.whiteout=y", "d/", "d/kept", "d/kept #user.overlay.whiteout=y"]);
    // `x` hides nothing: it only says that there may be such files.
    let expected = ["d/", "d/kept ", "x/", "x/empty ", "x/full text", "-x/gone"];
    assert_eq!(layers.read(&["u"], Encoding::Userxattr).unwrap(), expected);
    layers.layer("l", &["x/", "x/gone old", "x/other y"]);
    let expected = ["d/", "d/kept ", "x/", "x/empty ", "x/full text", "-x/gone", "x/other y"];
    assert_eq!(layers.read(&["u", "l"], Encoding::Userxattr).unwrap(), expected);
}

#[test]
fn a_mark_that_is_not_known_is_refused() {
    for mark in ["redirect=/elsewhere", "metacopy=", "opaque=z", "opaque=", "new-in-linux-9=1"] {
        for path in ["d", "f"] {
            let layers = Layers::new();
            layers.layer("u", &["d/", "f x", &format!("{path} #user.overlay.{mark}")]);
            let said = refused(&layers, "u", Encoding::Userxattr);
            assert!(said.contains(mark.split('=').next().unwrap()), "{path} {mark}: {said}");
        }
    }
    // What says nothing about content is passed over.
    let layers = Layers::new();
    let lines = ["origin=", "impure=y", "nlink=U+1", "uuid=x", "protattr=a", "upper=x"];
    let lines: Vec<String> = lines.iter().map(|mark| format!("d #user.overlay.{mark}")).collect();
    layers.layer("u", &["d/", "d/f x"]);
    layers.layer("u", &lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(layers.read(&["u"], Encoding::Userxattr).unwrap(), ["d/", "d/f x"]);
}

#[test]
fn attributes_are_the_users_and_marks_are_not() {
    let layers = Layers::new();
    let names = [
        "user.mine",
        "user.overlay.overlay.opaque",
        "user.overlay.origin",
        "user.containers.x",
        "user.fuseoverlayfs.opaque",
    ];
    layers.layer("u", &["d/"]);
    layers.layer("u", &names.map(|name| format!("d #{name}=y")).each_ref().map(String::as_str));
    let dir = layers.open(&["u"], Encoding::Userxattr).unwrap();
    let Entry::Dir(d, _) = dir.entry("d".as_ref()).unwrap() else { panic!("a directory") };
    assert_eq!(d.xattrs().keys().collect::<Vec<_>>(), [b"user.mine"]);
    assert_eq!(d.marks().dropped.len(), 1, "what does not land is told: {:?}", d.marks().dropped);
    assert!(d.open_below, "what the command itself set is no mark");
}

#[test]
fn names_with_wh_mean_something_to_fuse_alone() {
    use marks::{Name, name};
    let read = |text: &'static str, encoding| name(text.as_ref(), encoding);
    for encoding in [Encoding::Plain, Encoding::Userxattr, Encoding::Trusted] {
        for text in [".wh.x", ".wh..wh..opq", ".wh..opq", ".wh."] {
            assert_eq!(read(text, encoding), Name::Plain(text.as_ref()));
        }
    }
    assert_eq!(read(".wh.x", Encoding::Fuse), Name::Whiteout("x".as_ref()));
    assert_eq!(read(".wh..hidden", Encoding::Fuse), Name::Whiteout(".hidden".as_ref()));
    assert_eq!(read(".wh..wh..opq", Encoding::Fuse), Name::Opaque);
    assert_eq!(read(".wh..opq", Encoding::Fuse), Name::Opaque);
    assert_eq!(read(".wh.", Encoding::Fuse), Name::Plain(".wh.".as_ref()));
    let layers = Layers::new();
    layers.layer("u", &[".wh.x", "d/", "d/.wh..wh..opq", "d/f y"]);
    assert_eq!(layers.read(&["u"], Encoding::Userxattr).unwrap(), [".wh.x ", "d/", "d/.wh..wh..opq ", "d/f y"]);
}

/// As fuse-overlayfs 1.10 writes it, seen in real layers.
#[test]
fn fuse_overlayfs() {
    let layers = Layers::new();
    layers.layer("u", &["-node", ".wh.file", "norm x", "norm #user.fuseoverlayfs.origin=norm", "perm y"]);
    layers.layer("u", &["dir/", "dir #user.fuseoverlayfs.opaque=y", "dir/.wh..wh..opq", "-dir/.wh..opq", "dir/new z"]);
    layers
        .layer("u", &["by-file/", "by-file/.wh..wh..opq", "by-file/in w", "forged/", "forged #user.overlay.opaque=y"]);
    layers.layer("u", &["perm %755", "perm #user.fuseoverlayfs.override_stat=0:0:100600", "dir %755"]);
    layers.layer(
        "u",
        &["dir #user.fuseoverlayfs.override_stat=0:0:40750", "norm #user.containers.override_stat=0:0:4711"],
    );
    let expected = ["by-file/!", "by-file/in w", "dir/!", "dir/new z", "-file", "forged/", "-node", "norm x", "perm y"];
    assert_eq!(layers.read(&["u"], Encoding::Fuse).unwrap(), expected);
    let root = layers.open(&["u"], Encoding::Fuse).unwrap();
    let mode = |name: &str| match root.entry(name.as_ref()).unwrap() {
        Entry::Leaf { found, .. } | Entry::Dir(_, found) => found.meta.mode,
        other => panic!("{other:?}"),
    };
    assert_eq!((mode("perm"), mode("dir"), mode("norm")), (0o600, 0o750, 0o4711));
    layers.layer("bad", &["f x", "f #user.fuseoverlayfs.override_stat=nonsense"]);
    refused(&layers, "bad", Encoding::Fuse);
}

#[test]
fn a_layer_that_something_else_wrote_is_refused() {
    let layers = Layers::new();
    layers.layer("u", &["d/", "d #user.fuseoverlayfs.opaque=y", "d/.wh..wh..opq", "-d/.wh..opq", "d/new z"]);
    assert!(refused(&layers, "u", Encoding::Userxattr).contains("user.fuseoverlayfs.opaque"));
    if rustix::process::geteuid().is_root() {
        layers.layer("r", &["d/", "d #trusted.overlay.opaque=y"]);
        assert!(refused(&layers, "r", Encoding::Userxattr).contains("trusted.overlay.opaque"));
    }
}

#[test]
fn marks_of_root_are_for_root_alone() {
    let layers = Layers::new();
    if !rustix::process::geteuid().is_root() {
        layers.layer("u", &["d/"]);
        assert!(refused(&layers, "u", Encoding::Trusted).contains("root"));
        return;
    }
    layers.layer("u", &["-gone", "d/", "d/in x", "d #trusted.overlay.opaque=y", "e/", "e #user.overlay.opaque=y"]);
    assert_eq!(layers.read(&["u"], Encoding::Trusted).unwrap(), ["d/!", "d/in x", "e/", "-gone"]);
    for mark in ["redirect=/d", "metacopy=", "opaque=z"] {
        let layers = Layers::new();
        layers.layer("u", &["d/", &format!("d #trusted.overlay.{mark}")]);
        refused(&layers, "u", Encoding::Trusted);
    }
}

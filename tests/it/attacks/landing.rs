//! What lands, and how it looks when it has. Cases 13, 14, 15 and 17.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use super::Arena;
use crate::common::{Engine, on, on_every_engine};
use crate::inside::python_inside;

on_every_engine!(case_14_privileged_metadata, case_15_special_files, case_17_names);
on!(native:
    case_13_mass_and_disguised_deletion,
    case_13_a_rename_takes_no_ignored_file_away,
    case_13_what_is_deleted_for_a_refused_link_stays,
    case_14_marks_of_an_overlay_do_not_land,
);

fn case_13_mass_and_disguised_deletion(engine: Engine) {
    let arena = Arena::with_git(engine);
    for number in 0..60 {
        arena.write(format!("many/{number}"), format!("{number}\n"));
    }
    arena.write(".gitignore", "secret\ncache/\n");
    arena.write("secret", "key\n");
    arena.write("cache/a", "a\n");
    std::os::unix::fs::symlink(arena.outside(), arena.repo().join("data")).unwrap();
    arena.sh("set -e; rm -r many secret cache; rm -rf data/; mkdir many; rm -rf .git; mv README.md Readme.md").done();
    let _ = arena.cowbox(&["diff", "--stat"]).output().ok().says("mass-deletion");
    let output = arena.apply(&["--allow", "all"]).ok().says("git holds no copy");
    let _ = output.says("ignored by git");
    assert!(arena.has("secret") && arena.has("cache/a") && arena.has(".git/HEAD") && arena.has("Readme.md"));
    assert!(!arena.has("many/0") && arena.has("many") && !arena.has("README.md"));
    arena.check_outside();
    arena.writing(&["undo", "-y"]).done();
    assert!((0..60).all(|n| arena.read(&format!("many/{n}")) == format!("{n}\n")) && arena.has("README.md"));
}

fn case_13_a_rename_takes_no_ignored_file_away(engine: Engine) {
    let arena = Arena::with_git(engine);
    arena.write(".gitignore", "*.key\n");
    arena.write("prod.key", "a key of some length\n");
    arena.sh("mv prod.key docs.txt").done();
    let _ = arena.apply(&[]).ok().says("ignored by git");
    assert!(arena.has("prod.key") && arena.has("docs.txt"));
    let _ = arena.apply(&["--include-ignored"]).ok();
    assert!(!arena.has("prod.key"));
}

fn case_13_what_is_deleted_for_a_refused_link_stays(engine: Engine) {
    let arena = Arena::new(engine);
    arena.sh("rm -r src; ln -s /etc src; rm build.sh").done();
    let _ = arena.apply(&[]).code(4);
    assert!(arena.has("src/main.c") && arena.has("src/deep/er/leaf") && !arena.has("build.sh"));
    // The host's own file keeps the folder: then all of it stays.
    let arena = Arena::new(engine);
    arena.sh("rm -r src; echo x > src").done();
    arena.change_repo(|repo| fs::write(repo.join("src/own"), "host\n").unwrap());
    let _ = arena.apply(&["--conflict", "theirs"]);
    assert!(arena.has("src/own") && arena.has("src/main.c"));
}

fn case_14_privileged_metadata(engine: Engine) {
    let arena = Arena::new(engine);
    // Root of a container can give files to others, where the engine lets it.
    let script = "echo x > setuid; chmod 6755 setuid; cp setuid plain; chmod 644 plain; chmod 4755 build.sh; mkdir shared
        chmod 3777 shared; echo x > shared/file; chmod 666 shared/file; chown 7:7 plain shared/file 2>/dev/null; chmod +x src/main.c
        mkdir locked; echo x > locked/file; chmod 0 locked/file; chmod 500 locked";
    arena.sh(script).done();
    let _ = arena.apply(&[]).ok().says("set-id");
    let modes: Vec<u32> =
        ["setuid", "build.sh", "shared", "shared/file", "src/main.c", "locked"].map(|p| arena.mode(p)).into();
    assert_eq!(modes.iter().map(|m| m & 0o7000).collect::<Vec<_>>(), [0, 0, 0o1000, 0, 0, 0], "{modes:?}");
    assert_eq!(modes[4] & 0o111, 0o111);
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    for path in ["setuid", "plain", "shared", "shared/file", "locked"] {
        let meta = arena.repo().join(path).symlink_metadata().unwrap();
        assert_eq!((meta.uid(), meta.gid()), (uid, gid), "{path}");
    }
    arena.writing(&["undo", "-y"]).done();
    assert!(!arena.has("setuid") && !arena.has("locked") && arena.mode("build.sh") == 0o755);
}

/// On the host such a name would be a mark in the lower layer of the next session.
fn case_14_marks_of_an_overlay_do_not_land(engine: Engine) {
    let arena = Arena::new(engine);
    let program = "import os
os.mkdir('dir'); open('dir/file', 'w').write('x'); os.mkdir('seen'); open('seen/f', 'w').close()
for path in ('dir', 'dir/file', 'src'):
    for name in ('opaque', 'redirect', 'whiteout', 'metacopy', 'origin'):
        try: os.setxattr(path, 'user.overlay.' + name, b'x')
        except OSError as e: print(e)
    for name in ('user.fuseoverlayfs.opaque', 'user.containers.override_stat', 'user.mine'):
        os.setxattr(path, name, b'1')
    try: os.setxattr(path, 'security.capability', bytes.fromhex('0100000200200000000000000000000000000000'))
    except OSError: pass";
    let _ = python_inside(&arena, &[], program).ok();
    // As the kernel stores them.
    for path in ["dir", "dir/file"] {
        super::mark(&arena.upper().join(path), "user.overlay.overlay.opaque", b"x");
        super::mark(&arena.upper().join(path), "user.overlay.overlay.whiteout", b"y");
    }
    arena.apply(&[]).done();
    for path in ["dir", "dir/file"] {
        let mut names = [0u8; 4096];
        let length = rustix::fs::llistxattr(arena.repo().join(path), &mut names[..]).unwrap();
        assert_eq!(String::from_utf8_lossy(&names[..length]), "user.mine\0", "{path}");
    }
    let _ = arena.sh("cat dir/file").ok().prints("x");
    assert_eq!(arena.changes(), [""; 0]);
}

fn case_15_special_files(engine: Engine) {
    let arena = Arena::new(engine);
    let script =
        "mkfifo pipe; rm README.md; mkfifo README.md; mkdir d; mkfifo d/p; mknod dev c 1 3 2>/dev/null; echo x > plain
        rm -r src/deep; mkfifo src/deep";
    arena.sh(script).done();
    for args in
        [&["diff"][..], &["diff", "--stat"], &["diff", "--json"], &["diff", "--name-status"], &["apply", "--dry-run"]]
    {
        let _ = arena.cowbox(args).output().ok();
    }
    let _ = arena.apply(&["--allow", "all"]).ok().says("special-file");
    assert_eq!((arena.read("README.md"), arena.read("plain")), ("# api\n".into(), "x\n".into()));
    assert!(!arena.has("pipe") && !arena.has("d/p") && !arena.has("dev") && arena.has("src/deep/er/leaf"));
}

fn case_17_names(engine: Engine) {
    let arena = Arena::new(engine);
    let long = "l".repeat(255);
    let script = format!(
        r#"set -e; put() {{ echo x > "$(printf "$1")"; }}; put '\055rf'; put '\055\055help'; put 'new\nline'; put '\033]0;owned\007'
        put 'bad\377\376'; put 'dot.'; put 'blank '; put '..two'; put '...'; put 'CON'; put 'nul.txt'; put '*'; put 'a\\b'; put '{long}'
        put '~'; put '\342\200\256rtl'; put '.cowbox-0000000000-0'; mkdir .GIT .gIt.; echo x > .GIT/config; echo x > .gIt./config
        d="$(printf '.g\342\200\214it')"; mkdir "$d" src/git~1; echo x > "$d/config"; echo x > src/git~1/config; echo x > '.git '
        echo x > Name; echo y > name"#
    );
    arena.sh(&script).done();
    let _ = arena.apply(&["--allow", "all"]).ok().says("never applied as a file");
    let names: [&[u8]; 20] = [
        b"-rf",
        b"--help",
        b"new\nline",
        b"\x1b]0;owned\x07",
        b"bad\xff\xfe",
        b"dot.",
        b"blank ",
        b"..two",
        b"...",
        b"CON",
        b"nul.txt",
        b"*",
        b"a\\b",
        long.as_bytes(),
        b"~",
        "\u{202e}rtl".as_bytes(),
        b".cowbox-0000000000-0",
        b"Name",
        b"name",
        b"README.md",
    ];
    for name in names {
        assert!(arena.has(OsStr::from_bytes(name)), "{:?}", String::from_utf8_lossy(name));
    }
    for name in [".GIT", ".gIt.", ".g\u{200c}it", "src/git~1", ".git "] {
        assert!(!arena.has(name), "{name:?}");
    }
    // All of them can be named on a command line, as they are.
    let resumed = arena.cowbox(&["undo", "-y"]);
    arena.change_repo(|_| resumed.output().done());
    assert!(!arena.has("-rf") && arena.has("README.md"));
    arena.change_repo(|_| arena.cowbox(&["apply", "-y", "--", "-rf", "..two"]).output().done());
    assert!(arena.has("-rf") && arena.has("..two") && !arena.has("--help"));
}

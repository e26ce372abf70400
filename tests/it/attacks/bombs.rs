//! Too much, too deep, too long, and disks that end in the middle. Case 19.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::time::Instant;

use super::Arena;
use crate::common::{Engine, on};
use crate::inside::python_inside;

on!(native:
    case_19_many_files,
    case_19_many_names_of_a_gitdirs_parts,
    case_19_deep_trees,
    case_19_sparse_terabytes,
    case_19_a_file_that_cannot_be_written_to_its_end,
    case_19_the_disk_is_full_in_the_middle,
);

/// Everything below a folder, with contents, as one text.
fn listing(dir: &std::path::Path) -> String {
    let script = "find . -printf '%p %y %m %l %s\\n' | sort; find . -type f -exec cksum {} + | sort";
    let output = Command::new("sh").args(["-c", script]).current_dir(dir).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn case_19_many_files(engine: Engine) {
    let arena = Arena::new(engine);
    let program = "import os
for i in range(4000): open('f%d' % i, 'w').close()
os.mkdir('in')
for i in range(1000): open('in/f%d' % i, 'w').write(str(i))";
    python_inside(&arena, &[], program).done();
    arena.apply(&[]).done();
    assert!(arena.has("f3999") && arena.has("in/f999"));
    arena.writing(&["undo", "-y"]).done();
    assert!(!arena.has("f0") && !arena.has("in"));
}

fn case_19_many_names_of_a_gitdirs_parts(engine: Engine) {
    let arena = Arena::new(engine);
    let program = "import os
os.makedirs('x/objects'); os.makedirs('x/refs'); open('x/HEAD', 'w').close()
for i in range(4000): open('x/objects/%d' % i, 'w').close()";
    python_inside(&arena, &[], program).done();
    let _ = arena.apply(&[]).code(4).says("nested-repo");
    assert!(!arena.has("x/HEAD") && !arena.has("x/objects/0"));
}

fn case_19_deep_trees(engine: Engine) {
    for (depth, fits) in [(300, true), (1900, false), (3000, false)] {
        let arena = Arena::new(engine);
        // Names that the removal of a deep tree could want for itself.
        let program = format!(
            "import os
open('.deep-1', 'w').close(); os.mkdir('.deep-2'); open('.deep-2/x', 'w').close(); open('plain', 'w').close()
os.mkdir('!'); os.chdir('!')
for i in range({depth}): os.mkdir('dd'); os.chdir('dd')
open('leaf', 'w').write('x')"
        );
        let output = python_inside(&arena, &[], &program);
        assert_eq!(output.exit_code(), 0, "{}", output.stderr());
        let applied = arena.apply(&[]);
        let leaf = format!("!/{}leaf", "dd/".repeat(depth));
        assert_eq!((applied.exit_code() == 0, arena.has("plain")), (fits, fits), "{depth}: {}", applied.stderr());
        assert!(matches!(applied.exit_code(), 0 | 1) && !applied.stderr().contains("panicked"), "{}", applied.stderr());
        if fits {
            assert!(arena.has(leaf));
            arena.writing(&["undo", "-y"]).done();
        }
        assert!(!arena.has("!") && !arena.has("plain"), "{depth}");
        arena.cowbox(&["discard", "-y"]).output().done();
    }
}

fn case_19_sparse_terabytes(engine: Engine) {
    let arena = Arena::new(engine);
    arena.sh("truncate -s 8T huge; truncate -s 8T README.md; echo end >> huge; echo x > plain").done();
    let started = Instant::now();
    for args in [&["diff"][..], &["diff", "--json"], &["diff", "--stat"]] {
        let _ = arena.cowbox(args).output().ok();
    }
    // What is nothing but holes takes no room, here or there.
    arena.apply(&[]).done();
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    for name in ["huge", "README.md"] {
        let meta = fs::metadata(arena.repo().join(name)).unwrap();
        assert!(meta.len() >= 8 << 40 && meta.blocks() * 512 < 1 << 20, "{name}: {} blocks", meta.blocks());
    }
    arena.writing(&["undo", "-y"]).done();
    assert!(!arena.has("huge") && arena.read("README.md") == "# api\n");
}

/// An error of the file system in the middle of the copies, as a disk quota gives it.
fn case_19_a_file_that_cannot_be_written_to_its_end(engine: Engine) {
    let arena = Arena::new(engine);
    arena.sh("for i in 1 2 3 4 5; do echo $i > a$i; done; head -c 900000 /dev/zero > big; rm build.sh; mkdir z; echo x > z/f").done();
    let before = listing(arena.repo());
    arena.change_repo(|_| {
        let limited = arena.cowbox(&["apply", "-y"]).through("trap '' XFSZ; ulimit -f 512; exec \"$@\"").output();
        assert_eq!(limited.exit_code(), 1, "{}", limited.stderr());
    });
    assert_eq!(listing(arena.repo()), before, "something is left");
    arena.apply(&[]).done();
    assert!(arena.has("big") && !arena.has("build.sh"));
}

/// A small file system of its own as the repo: it has room for the bytes, and not for so many files.
fn case_19_the_disk_is_full_in_the_middle(engine: Engine) {
    let arena = Arena::new(engine);
    arena.sh("for i in $(seq 200); do echo $i > f$i; done; mkdir many; for i in $(seq 50); do mkdir many/$i; done; rm build.sh").done();
    let script = "set -e; mount -t tmpfs -o size=64m,nr_inodes=150 none \"$REPO\"; cp -a \"$COPY\"/. \"$REPO\"; cd \"$REPO\"
        find . -printf '%p %y %m %s\\n' | sort > \"$OUT.before\"; \"$@\" 2> \"$OUT.said\" && exit 9
        find . -printf '%p %y %m %s\\n' | sort > \"$OUT.after\"
        mount -o remount,nr_inodes=5000 none \"$REPO\"; \"$@\" || exit 8; [ -e f200 ] && [ -d many/50 ] && ! [ -e build.sh ]";
    let copy = arena.root().join("copy");
    assert!(Command::new("cp").arg("-a").args([arena.repo(), &copy]).status().unwrap().success());
    let out = arena.root().join("out");
    let cowbox = arena.cowbox(&["apply", "-y", "--conflict", "theirs"]).env("REPO", arena.repo()).env("COPY", &copy);
    let inside = format!(
        "export REPO COPY OUT; exec unshare --user --map-root-user --mount sh -c '{}' sh \"$@\"",
        script.replace('\'', "'\\''")
    );
    let output = cowbox.env("OUT", &out).through(&inside).output();
    let said = fs::read_to_string(out.with_extension("said")).unwrap_or_default();
    assert_eq!(output.exit_code(), 0, "{said}\n{}", output.stderr());
    assert!(said.contains("space"), "{said}");
    let list = |name: &str| fs::read_to_string(out.with_extension(name)).unwrap();
    assert_eq!(list("before"), list("after"), "something is left: {said}");
}

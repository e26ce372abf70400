//! Names of any bytes, and paths of any length.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Engine, Sandbox, on_every_engine};
use crate::landing::{Twin, apply, nothing_is_left, undo};

on_every_engine!(names_of_any_bytes_land, a_tree_deeper_than_a_path_can_be_lands);

fn names_of_any_bytes_land(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    // Every byte but NUL and the slash, one by one and in a directory; and the longest name that there is.
    let script = r#"i=1; while [ $i -lt 256 ]; do
            if [ $i != 47 ]; then
                f=$(printf "\\$(printf %03o $i)_"); echo $i > "./$f"; [ $((i % 16)) != 0 ] || { mkdir "./d$f"; echo $i > "./d$f/$f"; }
            fi; i=$((i + 1))
        done
        long=$(printf %0255d 0); echo long > $long; mkdir $long.d 2>/dev/null || mkdir d; echo x > "d/$long"; rm -f "link"; ln -s "$(printf '\377\n')" "$(printf 'l\377')""#;
    let twin = Twin::run(&sandbox, &[], script);
    apply(&sandbox, &[]).done();
    twin.landed(&sandbox, |_| false);
    nothing_is_left(&sandbox);
    undo(&sandbox).done();
    twin.is_back(&sandbox);
}

/// Goes down `depth` directories of a hundred bytes each, and does something there.
fn down(depth: usize, make: bool, then: &str) -> String {
    let name = "n".repeat(100);
    let make = if make { format!("mkdir {name};") } else { String::new() };
    format!("set -e; i=0; while [ $i -lt {depth} ]; do {make} cd -P {name}; i=$((i + 1)); done; {then}")
}

fn a_tree_deeper_than_a_path_can_be_lands(engine: Engine) {
    // The rm of the tiny image goes by whole paths.
    let sandbox = Sandbox::new(engine).with_image("debian");
    let host = |script: &str, dir: &Path| {
        let ran = Command::new("sh").args(["-c", script]).current_dir(dir).stdin(Stdio::null()).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    };
    // 6,000 bytes; a path of the system has 4,096 at most.
    sandbox.sh(&down(60, true, "echo deep > leaf; ln -s leaf link; mkfifo pipe; chmod 700 .")).done();
    assert_eq!(sandbox.changes().len(), 63);
    sandbox.cowbox(&["diff", "--json"]).output().done();
    // The fingerprint goes by whole paths: the tree must be gone when it is taken.
    sandbox.change_repo(|repo| {
        sandbox.cowbox(&["apply", "-y"]).output().done();
        assert_eq!(host(&down(60, false, "cat leaf link; stat -c %a .; ls"), repo), "deep\ndeep\n700\nleaf\nlink\n");
        let listed = sandbox.cowbox(&["diff", "--name-status"]).output().ok().stdout();
        assert_eq!(listed.lines().count(), 1, "{listed}");
        sandbox.cowbox(&["undo", "-y"]).output().done();
    });
    // A change in the depths of the host's own, and its deletion.
    sandbox.change_repo(|repo| {
        host(&down(60, true, "echo old > leaf; echo gone > gone"), repo);
        let id = "in-the-depths";
        sandbox.shell(&["--name", id], &down(60, false, "echo new > leaf; rm gone; echo x > made")).output().done();
        sandbox.cowbox(&["apply", "-y", id]).output().done();
        assert_eq!(host(&down(60, false, "cat leaf; ls"), repo), "new\nleaf\nmade\n");
        sandbox.cowbox(&["undo", "-y", id]).output().done();
        assert_eq!(host(&down(60, false, "cat leaf; ls"), repo), "old\ngone\nleaf\n");
        sandbox.shell(&["--name", "away"], &format!("rm -rf {}", "n".repeat(100))).output().done();
        sandbox.cowbox(&["apply", "-y", "away"]).output().done();
        assert!(!repo.join("n".repeat(100)).exists());
    });
}

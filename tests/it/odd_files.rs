//! What the command may leave in the repo, and review and discard must live with: closed, foreign and special files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::{Engine, Sandbox, on, on_containers, on_every_engine};
use crate::inside::python_inside;

on_every_engine!(
    files_that_nobody_may_read_can_be_reviewed_and_discarded,
    special_files_do_not_hang_the_review,
    setuid_files_are_listed_with_their_mode,
    hard_links_are_no_changes_of_their_own,
);

on_containers!(files_of_other_ids_can_be_reviewed_and_discarded);

on!(native: user_attributes_are_kept_and_alone_are_a_change);

/// Files and directories that are closed even to their owner.
fn files_that_nobody_may_read_can_be_reviewed_and_discarded(engine: Engine) {
    for options in [&[][..], &["--user", "root"]] {
        let sandbox = Sandbox::new(engine);
        let script = "set -e; mkdir -p closed/in; echo x > closed/in/f; ln -s f closed/in/l; echo secret > file; echo y > README.md
            rm build.sh; rm -r src/deep; mkdir src/deep
            chmod 0 closed/in/f closed/in closed file README.md src/deep src";
        sandbox.shell(options, script).output().done();
        let changes = sandbox.changes();
        let expected = [
            "M  README.md",
            "D  build.sh",
            "A  closed",
            "A  closed/in",
            "A  closed/in/f",
            "A  closed/in/l",
            "A  file",
            "M  src",
            "M  src/deep",
            "D  src/deep/er",
            "D  src/deep/er/leaf",
        ];
        assert_eq!(changes, expected, "{options:?}");
        let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
        assert!(json["digest"].as_str().unwrap().starts_with("sha256:"));
        let file = json["changes"].as_array().unwrap().iter().find(|c| c["path"] == "file").unwrap();
        assert_eq!((&file["new"]["mode"], &file["new"]["size"]), (&"0000".into(), &7.into()));
        // Looking again, and going on, is possible.
        assert_eq!(sandbox.changes(), expected);
        let id = sandbox.session_ids().remove(0);
        sandbox
            .cowbox(&["run", "--resume", &id, "--", "sh", "-c", "chmod 700 closed; ls closed"])
            .output()
            .prints("in\n")
            .done();
        sandbox.cowbox(&["discard", "-y"]).output().done();
        assert!(!sandbox.session_dir(&id).join("upper").exists());
    }
}

/// Root inside gives files to others and closes them: sub-ids with podman, anybody with docker.
fn files_of_other_ids_can_be_reviewed_and_discarded(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "set -e; mkdir -p other/in; echo x > other/in/f; echo y > plain; rm -r src
        chown -R 7:7 other; chown 8 plain; chmod 0 other/in/f other/in other plain; chmod 4755 README.md; chown 9:9 README.md; ls -ln > /dev/null";
    sandbox.shell(&["--user", "root"], script).output().done();
    let id = sandbox.session_ids().remove(0);
    let changes = sandbox.changes();
    for line in ["A  other", "A  other/in", "A  other/in/f", "A  plain", "D  src", "D  src/main.c"] {
        assert!(changes.iter().any(|c| c == line), "{line} in {changes:?}");
    }
    assert_eq!(sandbox.changes(), changes, "the same answer again");
    sandbox.cowbox(&["diff", "--json"]).output().done();
    sandbox.cowbox(&["discard", "-y"]).output().done();
    assert!(!sandbox.session_dir(&id).join("upper").exists() && !sandbox.session_dir(&id).join("work").exists());
    sandbox.cowbox(&["gc"]).output().done();
    assert!(sandbox.session_ids().is_empty());
}

fn special_files_do_not_hang_the_review(engine: Engine) {
    let sandbox = Sandbox::new(engine).with_image("debian");
    let script = r#"set -e; mkfifo pipe; rm README.md; mkfifo README.md; mkdir d; mkfifo d/pipe
        perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un("socket")) or die; chmod 0777, "socket"'
        if mknod null c 1 3 2>/dev/null; then rm null; fi
        ln -s /dev/zero endless; ln -s loop loop; truncate -s 1T sparse"#;
    sandbox.sh(script).done();
    let expected = ["T  README.md", "A  d", "A  d/pipe", "A  endless", "A  loop", "A  pipe", "A  socket", "A  sparse"];
    assert_eq!(sandbox.changes(), expected);
    let name = sandbox.only_record()["name"].as_str().unwrap().to_owned();
    // A terabyte of nothing is not worth hashing here.
    let resumed = sandbox.cowbox(&["run", "--resume", &name, "--", "rm", "sparse"]).output();
    resumed.done();
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    assert_eq!(json["summary"]["special"], 4, "{json}");
    let types: BTreeMap<&str, &str> = json["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (c["path"].as_str().unwrap(), c["new"]["type"].as_str().unwrap()))
        .collect();
    assert_eq!(
        (types["pipe"], types["socket"], types["README.md"], types["loop"]),
        ("fifo", "socket", "fifo", "symlink")
    );
}

fn setuid_files_are_listed_with_their_mode(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox
        .sh("cp build.sh su; chmod 6755 su; chmod 4755 build.sh; mkdir -m 3777 dir; ls -l su | cut -c1-10")
        .prints("-rwsr-sr-x\n")
        .done();
    assert_eq!(sandbox.changes(), ["M  build.sh", "A  dir", "A  su"]);
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    let modes: Vec<&str> =
        json["changes"].as_array().unwrap().iter().map(|c| c["new"]["mode"].as_str().unwrap()).collect();
    assert_eq!(modes, ["4755", "3777", "6755"]);
    assert_eq!(json["changes"][0]["kind"], "mode-changed");
}

fn hard_links_are_no_changes_of_their_own(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("one", "x\n");
    fs::hard_link(sandbox.repo().join("one"), sandbox.repo().join("two")).unwrap();
    // Each of these copies a file up; only some change it.
    let script = "set -e; ln README.md hard; ln hard harder; touch build.sh; chmod 700 src/main.c; chmod 644 src/main.c
        : >> src/deep/er/leaf; echo more >> one; cat two";
    sandbox.sh(script).prints("x\n").done();
    assert_eq!(sandbox.changes(), ["A  hard", "A  harder", "M  one"]);
}

fn user_attributes_are_kept_and_alone_are_a_change(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let set = |path: &Path, name: &str, value: &str| {
        rustix::fs::setxattr(path, name, value.as_bytes(), rustix::fs::XattrFlags::empty()).unwrap();
    };
    set(&sandbox.repo().join("README.md"), "user.kept", "1");
    set(&sandbox.repo().join("src"), "user.dir", "1");
    let program = "import os
os.utime('README.md'); open('README.md', 'a').close()
os.setxattr('build.sh', 'user.new', b'1')
os.setxattr('src/main.c', 'user.x', b'1'); os.removexattr('src/main.c', 'user.x')
os.setxattr('src/deep', 'user.x', b'1')
open('src/new', 'w').write('x')
for name in ('user.overlay.opaque', 'user.overlay.redirect', 'user.overlay.whiteout', 'user.overlay.metacopy'):
    for path in ('src', 'src/deep/er/leaf'):
        try: os.setxattr(path, name, b'y')
        except OSError: pass
print(os.getxattr('README.md', 'user.kept'), os.getxattr('src', 'user.dir'))";
    python_inside(&sandbox, &[], program).prints("b'1' b'1'\n").done();
    // Marks of an overlay that the command sets itself are no marks.
    assert_eq!(sandbox.changes(), ["M  build.sh", "M  src/deep", "A  src/new"]);
}

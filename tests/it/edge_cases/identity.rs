//! Modes, owners, attributes: what is carried over, and what is not and is said.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use crate::common::{Engine, Fingerprint, Sandbox, on, on_containers, on_every_engine};
use crate::inside::python_inside;
use crate::landing::{Twin, apply, is_back, nothing_is_left, on_host, set_xattr, undo};

on_every_engine!(
    the_mode_of_files_directories_and_the_root_is_a_change,
    read_only_directories_are_written_to_and_stay_read_only,
    set_id_bits_are_taken_off_and_said,
    files_that_nobody_may_read_land_closed,
);
on_containers!(files_of_other_ids_land_as_the_users, capabilities_of_files_are_left_out);
on!(native:
    attributes_of_files_directories_and_the_root_land,
    attributes_of_the_repos_root_are_no_change,
    attributes_that_look_like_marks_never_land,
    access_lists_are_left_out_and_said,
    the_hosts_access_lists_stay,
);

fn the_mode_of_files_directories_and_the_root_is_a_change(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let twin = Twin::run(
        &sandbox,
        &[],
        "chmod 600 README.md; chmod 711 src; chmod 1777 src/deep; chmod 700 .; chmod 000 build.sh",
    );
    assert_eq!(sandbox.changes(), ["M  .", "M  README.md", "M  build.sh", "M  src", "M  src/deep"]);
    apply(&sandbox, &[]).done();
    twin.landed(&sandbox, |_| false);
    nothing_is_left(&sandbox);
    undo(&sandbox).done();
    twin.is_back(&sandbox);
}

fn read_only_directories_are_written_to_and_stay_read_only(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for path in ["closed/edited", "closed/gone", "closed/sub/deep", "going/sub/x", "becomes/x"] {
        sandbox.write(path, "x\n");
    }
    on_host(&sandbox, "chmod 555 closed closed/sub going/sub going becomes");
    let before = Fingerprint::of(sandbox.repo());
    let script = "set -e; chmod u+w closed closed/sub going/sub going becomes
        echo more >> closed/edited; rm closed/gone; echo n > closed/new; echo d > closed/sub/deep; rm -r going becomes; echo f > becomes
        mkdir -p made/sub; echo x > made/sub/x; chmod 555 closed closed/sub made/sub made";
    sandbox.sh(script).done();
    let mode = |path: &str| fs::metadata(sandbox.repo().join(path)).unwrap().permissions().mode() & 0o7777;
    for _ in 0..2 {
        apply(&sandbox, &[]).done();
        assert_eq!([mode("closed"), mode("closed/sub"), mode("made"), mode("made/sub")], [0o555; 4]);
        let read = |path: &str| fs::read_to_string(sandbox.repo().join(path)).unwrap();
        assert_eq!(
            [read("closed/edited"), read("closed/new"), read("closed/sub/deep"), read("becomes"), read("made/sub/x")],
            ["x\nmore\n", "n\n", "d\n", "f\n", "x\n"]
        );
        assert!(!sandbox.repo().join("going").exists() && !sandbox.repo().join("closed/gone").exists());
        nothing_is_left(&sandbox);
        undo(&sandbox).done();
        is_back(&before, &sandbox);
    }
    sandbox.change_repo(|_| on_host(&sandbox, "chmod -R u+w closed going becomes"));
}

fn set_id_bits_are_taken_off_and_said(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let before = Fingerprint::of(sandbox.repo());
    sandbox
        .sh("cp build.sh su; chmod 6755 su; chmod 4755 build.sh; mkdir d; chmod 3775 d; echo x > d/x; chmod 2711 src")
        .done();
    let _ = apply(&sandbox, &[]).ok().says("set-id");
    let mode = |path: &str| fs::metadata(sandbox.repo().join(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode("su"), mode("build.sh"), mode("d"), mode("src")), (0o755, 0o755, 0o1775, 0o711));
    nothing_is_left(&sandbox);
    undo(&sandbox).done();
    is_back(&before, &sandbox);
}

fn files_that_nobody_may_read_land_closed(engine: Engine) {
    for options in [&[][..], &["--user", "root"]] {
        let sandbox = Sandbox::new(engine);
        let before = Fingerprint::of(sandbox.repo());
        let script = "set -e; umask 022; mkdir -p closed/in; echo x > closed/in/f; echo s > secret; echo y > README.md; ln -s f closed/in/l
            chmod 0 closed/in/f closed/in closed secret README.md";
        sandbox.shell(options, script).output().done();
        apply(&sandbox, &[]).done();
        sandbox.change_repo(|repo| {
            let us = rustix::process::geteuid().as_raw();
            let open = |path: &str, mode: u32| {
                let path = repo.join(path);
                let meta = fs::symlink_metadata(&path).unwrap();
                assert_eq!((meta.mode() & 0o7777, meta.uid()), (0, us), "{}", path.display());
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            };
            for (path, content) in [("secret", "s\n"), ("README.md", "y\n")] {
                open(path, 0o600);
                assert_eq!(fs::read_to_string(repo.join(path)).unwrap(), content);
                fs::set_permissions(repo.join(path), fs::Permissions::from_mode(0o000)).unwrap();
            }
            for path in ["closed", "closed/in", "closed/in/f"] {
                open(path, 0o700);
            }
            assert_eq!(fs::read_to_string(repo.join("closed/in/f")).unwrap(), "x\n");
            for path in ["closed/in/f", "closed/in", "closed"] {
                fs::set_permissions(repo.join(path), fs::Permissions::from_mode(0o000)).unwrap();
            }
        });
        nothing_is_left(&sandbox);
        undo(&sandbox).done();
        is_back(&before, &sandbox);
    }
}

/// Root inside gives files to others: sub-ids with podman, anybody with docker.
fn files_of_other_ids_land_as_the_users(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let before = Fingerprint::of(sandbox.repo());
    let script = "set -e; umask 022; mkdir -p other/in; echo x > other/in/f; ln -s f other/in/l; echo more >> README.md; echo p > plain
        chown -R 7:7 other; chown -h 7:7 other/in/l; chown 8:8 plain; chown 9:9 README.md; chmod 700 other/in; chmod 640 other/in/f plain; rm -r src; chown 5 .";
    sandbox.shell(&["--user", "root"], script).output().done();
    apply(&sandbox, &[]).done();
    let own = fs::metadata(sandbox.root()).unwrap();
    for path in ["", "other", "other/in", "other/in/f", "other/in/l", "plain", "README.md"] {
        let meta = fs::symlink_metadata(sandbox.repo().join(path)).unwrap();
        assert_eq!((meta.uid(), meta.gid()), (own.uid(), own.gid()), "{path}");
    }
    assert_eq!(fs::read_to_string(sandbox.repo().join("other/in/f")).unwrap(), "x\n");
    assert_eq!(fs::metadata(sandbox.repo().join("other/in/f")).unwrap().mode() & 0o7777, 0o640);
    assert!(!sandbox.repo().join("src").exists());
    nothing_is_left(&sandbox);
    undo(&sandbox).done();
    is_back(&before, &sandbox);
}

fn attributes_of_files_directories_and_the_root_land(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for path in ["README.md", "src", "src/deep", "build.sh"] {
        set_xattr(&sandbox.repo().join(path), "user.host", "1");
    }
    let script = "setfattr -n user.new -v 2 README.md; setfattr -x user.host build.sh; setfattr -n user.host -v other src
        setfattr -x user.host src/deep; setfattr -n user.root -v 1 .; echo x > new; setfattr -n user.n -v 1 new; mkdir d; setfattr -n user.d -v 1 d
        echo more >> src/main.c; setfattr -n user.m -v 1 src/main.c; touch src/deep/er/leaf";
    let twin = Twin::run(&sandbox, &[], script);
    let changes = ["M  .", "M  README.md", "M  build.sh", "A  d", "A  new", "M  src", "M  src/deep", "M  src/main.c"];
    assert_eq!(sandbox.changes(), changes);
    apply(&sandbox, &[]).done();
    twin.landed(&sandbox, |_| false);
    nothing_is_left(&sandbox);
    undo(&sandbox).done();
    twin.is_back(&sandbox);
}

fn attributes_of_the_repos_root_are_no_change(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    set_xattr(sandbox.repo(), "user.host", "1");
    sandbox.sh("getfattr -n user.host --only-values .").prints("1").done();
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    sandbox.sh("echo x > new; chmod 711 .").done();
    // Going on in the session takes nothing of it back.
    let name = sandbox.session_ids().pop().unwrap();
    sandbox.cowbox(&["run", "--resume", &name, "--", "stat", "-c", "%a", "."]).output().prints("711\n").done();
    assert_eq!(sandbox.changes(), ["M  .", "A  new"]);
    apply(&sandbox, &[]).done();
    sandbox.sh("getfattr -n user.host --only-values .").prints("1").done();
}

/// On the host they would be marks for the overlay of the next session, which could hide files with them.
fn attributes_that_look_like_marks_never_land(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let program = "import os
open('new', 'w').write('x'); os.mkdir('d'); open('d/empty', 'w'); set = 0
for path in ('new', 'd', 'd/empty', 'src', 'README.md'):
    for name in ('user.overlay.x', 'user.overlay.opaque', 'user.overlay.whiteout', 'user.overlay.redirect', 'user.overlay.metacopy', 'user.fuseoverlayfs.opaque', 'user.containers.override_stat'):
        try: os.setxattr(path, name, b'y'); set += 1
        except OSError: pass
os.setxattr('new', 'user.kept', b'1')
print(set)";
    let set = python_inside(&sandbox, &[], program).ok().stdout();
    assert_ne!(set, "0\n", "some of them can be set");
    apply(&sandbox, &[]).done();
    let all = format!("{:?}", Fingerprint::of(sandbox.repo()));
    for prefix in ["user.overlay.", "user.fuseoverlayfs.", "user.containers."] {
        assert!(!all.contains(prefix), "{prefix}");
    }
    assert!(all.contains("user.kept"));
    assert_eq!(fs::read_to_string(sandbox.repo().join("new")).unwrap(), "x");
    nothing_is_left(&sandbox);
    // The next session sees all of it.
    sandbox.sh("cat new README.md; ls d src").prints("x# api\nd:\nempty\n\nsrc:\ndeep\nmain.c\n").done();
}

/// The group's bits of a file with a list are its mask: without the list they must not widen what the group may do.
fn access_lists_are_left_out_and_said(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let before = Fingerprint::of(sandbox.repo());
    let script = "umask 022; me=$(id -u); echo x > new; chmod 640 new; setfacl -m u:$me:rwx new; mkdir d; setfacl -d -m u:$me:rwx d; setfacl -m u:$me:rwx d
        echo more >> README.md; chmod 600 README.md; setfacl -m u:$me:rwx README.md; stat -c %a new";
    sandbox.sh(script).prints("670\n").done();
    let _ = apply(&sandbox, &[]).ok().says("access list");
    let mode = |path: &str| fs::metadata(sandbox.repo().join(path)).unwrap().mode() & 0o7777;
    assert!(!format!("{:?}", Fingerprint::of(sandbox.repo())).contains("posix_acl"));
    assert_eq!((mode("new"), mode("d"), mode("README.md")), (0o640, 0o755, 0o600));
    nothing_is_left(&sandbox);
    undo(&sandbox).done();
    is_back(&before, &sandbox);
}

fn the_hosts_access_lists_stay(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    on_host(&sandbox, "setfacl -m u:1:rw README.md; setfacl -m u:1:rwx -m d:u:1:rx src; setfacl -m u:1:r build.sh");
    let twin = Twin::run(&sandbox, &[], "echo more >> README.md; echo x > src/new; touch build.sh; chmod 700 src/deep");
    apply(&sandbox, &[]).done();
    twin.landed(&sandbox, |_| false);
    undo(&sandbox).done();
    twin.is_back(&sandbox);
}

fn capabilities_of_files_are_left_out(engine: Engine) {
    let sandbox = Sandbox::new(engine).with_image("debian");
    // setcap is not in the image. cap_net_raw, as `setxattr` takes it.
    let script = r#"cp build.sh able; perl -e '$v = pack("V5", 0x02000001, 1 << 13, 0, 0, 0); $f = "able"; $n = "security.capability";
        print syscall(188, $f, $n, $v, length $v, 0)'"#;
    let set = sandbox.shell(&["--user", "root"], script).output().ok().stdout();
    assert_eq!(set, "0", "the capability could be set");
    let applied = apply(&sandbox, &[]).ok();
    // What the daemon hands over to the user has lost them already.
    assert!(engine == Engine::Docker || applied.stderr().contains("able: its capabilities"), "{}", applied.stderr());
    assert!(!format!("{:?}", Fingerprint::of(sandbox.repo())).contains("security.capability"));
    nothing_is_left(&sandbox);
}

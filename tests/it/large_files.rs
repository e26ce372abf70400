//! A large file is moved between the session's layer and the repo instead of copied: nobody can tell by the result.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::common::{Cowbox, Engine, Fingerprint, Sandbox, on, on_every_engine, wait_until};
use crate::host::python;
use crate::landing::{apply, nothing_is_left, undo};

on_every_engine!(a_large_file_lands_and_comes_back);
on!(native:
    killed_anywhere_nothing_is_lost,
    recovering_can_be_killed_anywhere_too,
    a_part_and_the_rest_can_be_moved_one_after_the_other,
    what_the_session_would_not_see_through_the_repo_is_copied,
    what_would_not_land_as_it_is_is_copied,
    a_layer_that_somebody_still_holds_is_copied_from,
    a_link_that_the_host_made_never_leads_into_the_layer,
    what_the_session_did_since_is_not_replaced_by_an_undo,
    it_comes_back_into_a_directory_that_the_session_has_closed,
    an_edit_of_the_host_keeps_it_where_it_is,
);

fn upper(sandbox: &Sandbox) -> PathBuf {
    sandbox.session_dir(&sandbox.session_ids()[0]).join("upper")
}

/// A verb with every file large.
fn call(sandbox: &Sandbox, args: &[&str]) -> Cowbox {
    sandbox.cowbox(args).env("COWBOX_TEST_MOVE_FROM", "0")
}

/// Applies with every file large.
#[track_caller]
fn land(sandbox: &Sandbox, args: &[&str]) {
    sandbox.change_repo(|_| call(sandbox, &[&["apply", "-y"], args].concat()).output().done());
}

/// Takes it back.
#[track_caller]
fn back(sandbox: &Sandbox) {
    sandbox.change_repo(|_| call(sandbox, &["undo", "-y"]).output().done());
}

/// Whether what landed at `path` was moved there: then the layer has nothing any more.
fn was_moved(sandbox: &Sandbox, path: &str) -> bool {
    assert!(sandbox.repo().join(path).exists());
    !upper(sandbox).join(path).exists()
}

fn read(sandbox: &Sandbox, path: &str) -> String {
    fs::read_to_string(sandbox.repo().join(path)).unwrap()
}

/// Not inodes: the kernel gives marks of the overlay more names in its scratch directory.
#[track_caller]
fn same_layer(before: &Fingerprint, now: &Fingerprint, after: &str) {
    let differences = before.visible(now, |_| true);
    assert!(differences.is_empty(), "after {after}, in the layer:\n{}", differences.join("\n"));
}

#[track_caller]
fn same(before: &Fingerprint, now: &Fingerprint, after: &str) {
    let differences = before.differences(now);
    assert!(differences.is_empty(), "after {after}:\n{}", differences.join("\n"));
}

fn a_large_file_lands_and_comes_back(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("big", vec![b'x'; 17 << 20]);
    let script = "set -e; printf changed | dd of=big bs=1 seek=9000000 conv=notrunc 2>/dev/null
        dd if=/dev/zero of=src/new bs=1048576 count=1 seek=16 2>/dev/null; chmod 750 src/new; touch -d @1000000000 src/new";
    sandbox.sh(script).done();
    let start = Fingerprint::of(sandbox.repo()).but_for_ctime();
    let layer = || Fingerprint::of(&upper(&sandbox)).but_for_ctime();
    let (wrote, changes) = (layer(), sandbox.changes());
    assert_eq!(changes, ["M  big", "A  src/new"]);
    let inode = |path: PathBuf| fs::metadata(path).unwrap().ino();
    let inodes = ["big", "src/new"].map(|path| inode(upper(&sandbox).join(path)));
    for _ in 0..2 {
        apply(&sandbox, &[]).done();
        let big = fs::read(sandbox.repo().join("big")).unwrap();
        assert!(big.len() == 17 << 20 && big[9_000_000..9_000_008] == *b"changedx" && big[8_999_999] == b'x');
        let new = fs::metadata(sandbox.repo().join("src/new")).unwrap();
        assert_eq!((new.len(), new.mode() & 0o7777, new.mtime()), (17 << 20, 0o750, 1_000_000_000));
        assert!(new.blocks() < 16 << 11, "holes stay holes");
        let mut names = [0u8; 1024];
        assert_eq!(rustix::fs::listxattr(sandbox.repo().join("big"), &mut names), Ok(0), "no mark of the overlay");
        assert!(was_moved(&sandbox, "big") && was_moved(&sandbox, "src/new"));
        assert_eq!(["big", "src/new"].map(|path| inode(sandbox.repo().join(path))), inodes);
        nothing_is_left(&sandbox);
        let resumed = ["--resume", &sandbox.session_ids()[0]].map(str::to_owned);
        let resumed = [resumed[0].as_str(), resumed[1].as_str()];
        let seen = sandbox.cowbox(&["run"]).args(&resumed).args(&[
            "--",
            "sh",
            "-c",
            "tail -c +9000001 big | head -c 7; wc -c < src/new",
        ]);
        let _ = seen.output().ok().prints(format!("changed{}\n", 17 << 20));
        nothing_is_left(&sandbox);
        undo(&sandbox).done();
        same(&start, &Fingerprint::of(sandbox.repo()).but_for_ctime(), "an undo");
        same_layer(&wrote, &layer(), "an undo");
        assert_eq!(sandbox.changes(), changes);
    }
}

/// Files that are moved, beside others that are not.
fn several(engine: Engine) -> Sandbox {
    let sandbox = Sandbox::new(engine);
    for path in ["replaced", "deleted", "dir/a", "was-dir/a", "moved-from"] {
        sandbox.write(path, format!("content of {path}\n"));
    }
    let script = "echo x > replaced; rm deleted; echo x > dir/b; echo y >> dir/a; rm -r was-dir; echo x > was-dir
        mkdir new; echo x > new/f; mv moved-from moved-to; echo x > with-links; ln with-links links";
    sandbox.sh(script).done();
    sandbox
}

const MOVED: [&str; 5] = ["replaced", "dir/a", "dir/b", "was-dir", "moved-to"];

fn killed_anywhere_nothing_is_lost(engine: Engine) {
    let sandbox = several(engine);
    let now = || Fingerprint::of(sandbox.repo()).but_for_ctime();
    let layer = || Fingerprint::of(&upper(&sandbox)).but_for_ctime();
    // As somebody who has reviewed it.
    let (start, wrote, changes) = (now(), layer(), sandbox.changes());
    call(&sandbox, &["apply", "-y"]).output().done();
    assert_eq!(MOVED.map(|path| was_moved(&sandbox, path)), [true; 5]);
    assert!(!was_moved(&sandbox, "new/f") && !was_moved(&sandbox, "links"));
    let (wanted, rest) = (now().written(), layer());
    call(&sandbox, &["undo", "-y"]).output().done();
    for (verb, way) in [("apply", "apply"), ("apply", "undo"), ("undo", "apply"), ("undo", "undo")] {
        let mut point = 1;
        loop {
            if verb == "undo" {
                call(&sandbox, &["apply", "-y"]).output().done();
            }
            let output = call(&sandbox, &[verb, "-y"]).env("COWBOX_TEST_CRASH", point.to_string()).output();
            let killed = output.status.signal() == Some(9);
            let after = format!("{verb}, a kill at point {point}, and {way}");
            let mended = call(&sandbox, &[way, "-y"]).output();
            let nothing = way == "undo" && mended.stderr().contains("has been applied");
            assert!(mended.exit_code() == 0 || nothing, "{after}: {}", mended.stderr());
            match way {
                "apply" => {
                    same(&wanted, &now().written(), &after);
                    same_layer(&rest, &layer(), &after);
                }
                _ => {
                    same(&start, &now(), &after);
                    same_layer(&wrote, &layer(), &after);
                }
            }
            let _ = call(&sandbox, &["undo", "-y"]).output().exit_code();
            same(&start, &now(), &format!("{after}, and an undo"));
            same_layer(&wrote, &layer(), &format!("{after}, and an undo"));
            if !killed {
                break;
            }
            point += 1;
        }
        assert!(point > 40, "only {point} points");
    }
    assert_eq!(sandbox.changes(), changes);
    sandbox.accept_repo();
}

fn recovering_can_be_killed_anywhere_too(engine: Engine) {
    let sandbox = several(engine);
    let now = || Fingerprint::of(sandbox.repo()).but_for_ctime();
    let layer = || Fingerprint::of(&upper(&sandbox)).but_for_ctime();
    let (start, wrote) = (now(), layer());
    call(&sandbox, &["apply", "-y"]).output().done();
    let wanted = now().written();
    call(&sandbox, &["undo", "-y"]).output().done();
    let killed = |verb: &str, point: u64| {
        let output = call(&sandbox, &[verb, "-y"]).env("COWBOX_TEST_CRASH", point.to_string()).output();
        output.status.signal() == Some(9)
    };
    for way in ["apply", "undo"] {
        let mut point = 3;
        while killed("apply", point) {
            let mut again = 1;
            while killed(way, again) {
                again += 1;
            }
            let after = format!("a kill at point {point}, and {again} more of {way}");
            if way == "apply" {
                same(&wanted, &now().written(), &after);
            }
            let _ = call(&sandbox, &["undo", "-y"]).output().exit_code();
            same(&start, &now(), &after);
            same_layer(&wrote, &layer(), &after);
            point += 7;
        }
        let _ = call(&sandbox, &["undo", "-y"]).output().exit_code();
    }
    sandbox.accept_repo();
}

fn a_part_and_the_rest_can_be_moved_one_after_the_other(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("one", "host\n");
    sandbox.sh("echo session > one; echo session > two").done();
    assert_eq!(sandbox.changes(), ["M  one", "A  two"]);
    land(&sandbox, &["--", "one"]);
    assert!(was_moved(&sandbox, "one") && upper(&sandbox).join("two").exists());
    // What was seen together is still what was seen.
    land(&sandbox, &[]);
    assert!(was_moved(&sandbox, "two"));
    nothing_is_left(&sandbox);
    back(&sandbox);
    assert_eq!(sandbox.changes(), ["A  two"]);
    back(&sandbox);
    assert_eq!(sandbox.changes(), ["M  one", "A  two"]);
    land(&sandbox, &[]);
    assert_eq!([read(&sandbox, "one"), read(&sandbox, "two")], ["session\n", "session\n"]);
}

fn what_the_session_would_not_see_through_the_repo_is_copied(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("again/a", "host\n");
    sandbox.write("setup.sh", "echo setup > made; mkdir -p made-dir; echo setup > made-dir/f; rm hidden\n");
    sandbox.write("hidden", "host\n");
    sandbox
        .sh("echo more >> made; echo more >> made-dir/f; echo x > made-dir/g; echo x > hidden
        rm -r again; mkdir again; echo session > again/a; echo x > plain")
        .done();
    land(&sandbox, &["--conflict", "theirs"]);
    for path in ["made", "made-dir/f", "hidden", "again/a"] {
        assert!(!was_moved(&sandbox, path), "{path}");
    }
    assert!(was_moved(&sandbox, "plain"));
    let id = sandbox.session_ids()[0].clone();
    let show = "cat made made-dir/f made-dir/g hidden again/a plain";
    let shown = sandbox.cowbox(&["run", "--resume", &id, "--", "sh", "-c", show]).output().ok();
    let _ = shown.prints("setup\nmore\nsetup\nmore\nx\nx\nsession\nx\n");
    nothing_is_left(&sandbox);
}

fn what_would_not_land_as_it_is_is_copied(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("dir/f", "host\n");
    let script =
        "echo x > setuid; chmod 4755 setuid; echo x > closed; chmod 444 closed; echo x > links; ln links links-2
        echo x > plain; echo x > dir/f; chmod 555 dir";
    sandbox.sh(script).done();
    land(&sandbox, &[]);
    for path in ["setuid", "closed", "links", "links-2"] {
        assert!(!was_moved(&sandbox, path), "{path}");
    }
    assert!(was_moved(&sandbox, "plain"));
    // Its directory is closed to everybody but root.
    assert_eq!(was_moved(&sandbox, "dir/f"), rustix::process::geteuid().is_root());
    assert_eq!(fs::metadata(sandbox.repo().join("setuid")).unwrap().mode() & 0o7777, 0o755);
    assert_eq!(fs::metadata(upper(&sandbox).join("setuid")).unwrap().mode() & 0o7777, 0o4755);
    back(&sandbox);
    sandbox.change_repo(|repo| fs::set_permissions(repo.join("dir"), fs::Permissions::from_mode(0o755)).unwrap());
}

/// Takes a descriptor from a sandbox, says so, and keeps it until its input ends.
const HOLDER: &str = "import socket, sys, time
client = socket.socket(socket.AF_UNIX)
for _ in range(3000):
    if not client.connect_ex(sys.argv[1]): break
    time.sleep(0.01)
held = socket.recv_fds(client, 1, 1)
open(sys.argv[1] + '.held', 'w').close()
sys.stdin.read()";

const GIVER: &str = "import os, socket, sys
open('file', 'w').write('session')
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
socket.send_fds(server.accept()[0], [b'x'], [os.open('.', os.O_RDONLY)])";

/// With a directory of a session that has ended one could write into what was reviewed, and has become the host's.
fn a_layer_that_somebody_still_holds_is_copied_from(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let shared = tempfile::Builder::new().prefix(sandbox.id()).tempdir_in(sandbox.root()).unwrap();
    let socket = shared.path().join("s");
    let mut holder = Command::new(python());
    holder.args(["-c", HOLDER]).arg(&socket).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut holder = holder.spawn().unwrap();
    let mount = format!("{}:/tmp/shared:rw", shared.path().display());
    sandbox.run(&["--mount", &mount], &[python(), "-c", GIVER, "/tmp/shared/s"]).output().done();
    wait_until("the holder to hold", || shared.path().join("s.held").exists().then_some(()));
    land(&sandbox, &[]);
    assert!(!was_moved(&sandbox, "file"), "somebody may write to it");
    back(&sandbox);
    drop(holder.stdin.take());
    holder.wait().unwrap();
    land(&sandbox, &[]);
    assert!(was_moved(&sandbox, "file"));
}

fn a_link_that_the_host_made_never_leads_into_the_layer(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("file", "host\n");
    sandbox.sh("echo session > file").done();
    land(&sandbox, &[]);
    assert!(was_moved(&sandbox, "file"));
    sandbox.change_repo(|repo| fs::hard_link(repo.join("file"), repo.join("other")).unwrap());
    back(&sandbox);
    let inode = |path: PathBuf| fs::metadata(path).unwrap().ino();
    assert_ne!(inode(upper(&sandbox).join("file")), inode(sandbox.repo().join("other")));
    assert_eq!([read(&sandbox, "file"), read(&sandbox, "other")], ["host\n", "session\n"]);
    let id = sandbox.session_ids()[0].clone();
    sandbox.cowbox(&["run", "--resume", &id, "--", "sh", "-c", "echo more >> file"]).output().done();
    sandbox.check_repo();
    assert_eq!(fs::read_to_string(upper(&sandbox).join("file")).unwrap(), "session\nmore\n");
}

fn what_the_session_did_since_is_not_replaced_by_an_undo(engine: Engine) {
    for (script, left) in [("echo more >> file", Some("session\nmore\n")), ("rm file", None), ("rm -r ../dir/*", None)]
    {
        let sandbox = Sandbox::new(engine);
        sandbox.write("dir/file", "host\n");
        sandbox.sh("echo session > dir/file").done();
        land(&sandbox, &[]);
        assert!(was_moved(&sandbox, "dir/file"));
        let id = sandbox.session_ids()[0].clone();
        let script = format!("cd dir; {script}");
        sandbox.cowbox(&["run", "--resume", &id, "--", "sh", "-c", &script]).output().done();
        back(&sandbox);
        assert_eq!(read(&sandbox, "dir/file"), "host\n");
        assert_eq!(fs::read_to_string(upper(&sandbox).join("dir/file")).ok().as_deref(), left);
        land(&sandbox, &[]);
        assert_eq!(fs::read_to_string(sandbox.repo().join("dir/file")).ok().as_deref(), left, "{script}");
    }
}

fn it_comes_back_into_a_directory_that_the_session_has_closed(engine: Engine) {
    for mode in ["555", "000"] {
        let sandbox = Sandbox::new(engine);
        sandbox.write("dir/file", "host\n");
        sandbox.sh("echo session > dir/file").done();
        land(&sandbox, &[]);
        assert!(was_moved(&sandbox, "dir/file"));
        let id = sandbox.session_ids()[0].clone();
        sandbox.cowbox(&["run", "--resume", &id, "--", "chmod", mode, "dir"]).output().done();
        back(&sandbox);
        assert_eq!(read(&sandbox, "dir/file"), "host\n");
        assert_eq!(sandbox.changes(), ["M  dir", "M  dir/file"]);
        let dir = upper(&sandbox).join("dir");
        assert_eq!(format!("{:03o}", fs::metadata(&dir).unwrap().mode() & 0o7777), mode);
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(fs::read_to_string(dir.join("file")).unwrap(), "session\n");
    }
}

fn an_edit_of_the_host_keeps_it_where_it_is(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("file", "host\n");
    sandbox.sh("echo session > file; echo session > new").done();
    land(&sandbox, &[]);
    sandbox.change_repo(|repo| fs::write(repo.join("file"), "edited\n").unwrap());
    sandbox.change_repo(|_| {
        let _ = call(&sandbox, &["undo", "-y"]).output().code(3).says("file was changed on the host since");
    });
    assert_eq!(read(&sandbox, "file"), "edited\n");
    assert!(!sandbox.repo().join("new").exists() && upper(&sandbox).join("new").exists());
    assert_eq!(sandbox.changes(), ["A  new"]);
    sandbox.change_repo(|repo| fs::write(repo.join("file"), "session\n").unwrap());
    assert_eq!(sandbox.changes(), ["A  new"]);
}

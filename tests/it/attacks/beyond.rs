//! More ways that were found by reading the code.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::Arena;
use crate::common::{Engine, Sandbox, on, on_every_engine};

on_every_engine!(files_that_nobody_may_read_can_be_applied_and_undone);
on!(native:
    names_of_one_file_go_together_and_come_back,
    what_goes_aside_to_another_file_system_comes_back,
    a_temporary_name_of_ours_is_nobodys_way_in,
    a_discard_follows_nothing,
);

fn files_that_nobody_may_read_can_be_applied_and_undone(engine: Engine) {
    let arena = Arena::new(engine);
    arena
        .sh("umask 077; echo x > closed; chmod 0 closed; mkdir shut; echo y > shut/f; chmod 0 shut; echo z > private")
        .done();
    arena.apply(&[]).done();
    assert_eq!((arena.mode("closed"), arena.mode("shut"), arena.mode("private")), (0, 0, 0o600));
    arena.change_repo(|repo| fs::set_permissions(repo.join("closed"), fs::Permissions::from_mode(0o600)).unwrap());
    assert_eq!((arena.read("closed"), arena.read("private")), ("x\n".into(), "z\n".into()));
    arena.change_repo(|repo| {
        fs::set_permissions(repo.join("closed"), fs::Permissions::from_mode(0o0)).unwrap();
    });
    let _ = arena.writing(&["undo", "-y"]);
    assert!(!arena.has("private") && !arena.has("shut"));
}

fn names_of_one_file_go_together_and_come_back(engine: Engine) {
    let arena = Arena::new(engine);
    arena.write("one", "x\n");
    for name in ["two", "src/three"] {
        fs::hard_link(arena.repo().join("one"), arena.repo().join(name)).unwrap();
    }
    arena.sh("rm one two; echo new > src/three; echo a > a; ln a b; ln a src/c").done();
    arena.apply(&[]).done();
    assert!(!arena.has("one") && !arena.has("two"));
    let inode = |path: &str| fs::metadata(arena.repo().join(path)).unwrap().ino();
    assert_eq!((inode("a"), inode("b")), (inode("b"), inode("src/c")));
    arena.writing(&["undo", "-y"]).done();
    assert!(!arena.has("a") && !arena.has("b") && !arena.has("src/c"));
    assert_eq!((inode("one"), inode("two")), (inode("two"), inode("src/three")));
}

/// The repo on one file system, the state on another.
fn what_goes_aside_to_another_file_system_comes_back(engine: Engine) {
    let mut sandbox = Sandbox::new(engine);
    let shm = tempfile::Builder::new().prefix("cowbox-it-").tempdir_in("/dev/shm").unwrap();
    let repo = shm.path().join("api");
    fs::create_dir_all(repo.join(".git")).unwrap();
    sandbox.use_repo(&repo);
    let arena = Arena::around(sandbox);
    if fs::metadata(&repo).unwrap().dev() == fs::metadata(arena.root()).unwrap().dev() {
        panic!("/dev/shm is no file system of its own: the test shows nothing");
    }
    arena.write("file", "x\n");
    arena.write("closed", "secret\n");
    arena.write("shut/inner", "y\n");
    arena.write("dir/deep/f", "z\n");
    nix::unistd::mkfifo(&repo.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    nix::unistd::mkfifo(&repo.join("dir/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    arena.chmod("closed", 0);
    arena.chmod("shut/inner", 0o400);
    arena.chmod("shut", 0o500);
    arena.sh("rm -f file pipe closed; chmod 700 shut; rm -rf shut dir; echo new > new").done();
    arena.apply(&["--allow", "all"]).done();
    assert!(arena.has("new") && ["file", "pipe", "closed", "shut", "dir"].iter().all(|path| !arena.has(path)));
    let _ = arena.cowbox(&["ls"]).output().ok();
    arena.writing(&["undo", "-y"]).done();
    assert_eq!(
        (arena.read("file"), arena.read("dir/deep/f"), arena.read("shut/inner")),
        ("x\n".into(), "z\n".into(), "y\n".into())
    );
    assert_eq!((arena.mode("closed"), arena.mode("shut"), arena.mode("shut/inner")), (0, 0o500, 0o400));
    assert!(arena.has("pipe") && arena.has("dir/pipe") && !arena.has("new"));
    arena.change_repo(|repo| fs::set_permissions(repo.join("shut"), fs::Permissions::from_mode(0o700)).unwrap());
    arena.cowbox(&["discard", "-y"]).output().done();
}

fn a_temporary_name_of_ours_is_nobodys_way_in(engine: Engine) {
    let arena = Arena::new(engine);
    // On both sides, as files, folders and links: none is taken for one of ours.
    arena.write(".cowbox-aaaaaaaaaa-0", "host\n");
    std::os::unix::fs::symlink(arena.outside(), arena.repo().join(".cowbox-bbbbbbbbbb-0")).unwrap();
    let script = format!(
        "mkdir .cowbox-cccccccccc-1 .cowbox-cccccccccc-1o; ln -s {} src/.cowbox-dddddddddd-0; echo x > .cowbox-eeeeeeeeee-0
        echo more >> README.md; rm build.sh",
        arena.outside().display()
    );
    arena.sh(&script).done();
    let _ = arena.apply(&[]).code(4);
    assert_eq!(arena.read(".cowbox-aaaaaaaaaa-0"), "host\n");
    assert!(
        arena.has(".cowbox-bbbbbbbbbb-0") && arena.has(".cowbox-eeeeeeeeee-0") && arena.has(".cowbox-cccccccccc-1o")
    );
    arena.writing(&["undo", "-y"]).done();
    assert_eq!(arena.read(".cowbox-aaaaaaaaaa-0"), "host\n");
    assert!(!arena.has(".cowbox-eeeeeeeeee-0") && arena.has("build.sh"));
}

fn a_discard_follows_nothing(engine: Engine) {
    let arena = Arena::new(engine);
    let script = format!(
        "ln -s {0} link; mkdir -p a/b; ln -s {0}/canary a/b/file; rm -r src; ln -s {0} src; chmod 0 a/b; mkfifo pipe",
        arena.outside().display()
    );
    arena.sh(&script).done();
    arena.cowbox(&["discard", "-y"]).output().done();
    arena.check_outside();
    assert!(!arena.upper().exists());
}

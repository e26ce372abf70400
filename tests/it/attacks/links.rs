//! Links that lead out, on either side, as a way or as content. Cases 7, 8 and 16.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use super::Arena;
use crate::common::{Engine, on, on_every_engine};

on_every_engine!(case_08_a_symlink_as_content);
on!(native:
    case_07_a_folder_becomes_a_link_in_the_session,
    case_07_a_folder_becomes_a_link_on_the_host,
    case_07_the_hosts_link_is_replaced_not_followed,
    case_08_a_link_through_a_link_of_the_host,
    case_16_hard_links_to_the_outside,
    case_16_names_of_one_file,
);

fn case_07_a_folder_becomes_a_link_in_the_session(engine: Engine) {
    let arena = Arena::new(engine);
    let outside = arena.outside();
    let script = format!("set -e; rm -r src; ln -s {0} src; ln -s {0} conf; echo x > plain", outside.display());
    arena.sh(&script).done();
    let _ = arena.apply(&[]).code(4).says("symlink-outside");
    assert!(arena.repo().join("src/main.c").is_file() && !arena.has("conf") && arena.has("plain"));
    // With consent the links themselves land, and what they lead to is not looked at.
    arena.apply(&["--allow", "symlink-outside"]).done();
    assert_eq!(fs::read_link(arena.repo().join("src")).unwrap(), outside);
    arena.check_outside();
    arena.writing(&["undo", "-y"]).done();
    assert!(arena.repo().join("src/main.c").is_file() && arena.repo().join("src/deep/er/leaf").is_file());
}

fn case_07_a_folder_becomes_a_link_on_the_host(engine: Engine) {
    for folder in ["src", "src/deep", "src/deep/er"] {
        let arena = Arena::new(engine);
        arena.sh("echo evil > src/deep/er/canary; echo evil >> src/deep/er/leaf; echo x > plain").done();
        arena.change_repo(|repo| {
            fs::rename(repo.join(folder), repo.join("moved")).unwrap();
            symlink(arena.outside(), repo.join(folder)).unwrap();
        });
        for args in [&[][..], &["--conflict", "theirs"], &["--allow", "all", "--conflict", "theirs"]] {
            let output = arena.apply(args);
            assert_ne!(output.exit_code(), 101, "{}", output.stderr());
            arena.check_outside();
        }
    }
}

fn case_07_the_hosts_link_is_replaced_not_followed(engine: Engine) {
    let arena = Arena::new(engine);
    symlink(arena.outside(), arena.repo().join("data")).unwrap();
    symlink(arena.outside().join("canary"), arena.repo().join("file")).unwrap();
    arena.sh("set -e; rm data file; mkdir data; echo evil > data/canary; echo evil > file; chmod 777 data").done();
    arena.apply(&[]).done();
    assert_eq!((arena.read("file"), arena.read("data/canary")), ("evil\n".into(), "evil\n".into()));
    arena.check_outside();
    arena.writing(&["undo", "-y"]).done();
    assert_eq!(fs::read_link(arena.repo().join("data")).unwrap(), arena.outside());
    assert_eq!(fs::read_link(arena.repo().join("file")).unwrap(), arena.outside().join("canary"));
}

fn case_08_a_symlink_as_content(engine: Engine) {
    let arena = Arena::new(engine);
    let canary = arena.outside().join("canary");
    let script = format!(
        "set -e; ln -s {} absolute; ln -s ../../outside/canary up; ln -s /proc/self/environ environ
        ln -s src/../../../outside/canary around; ln -s .git/config config; ln -s src/main.c fine; ln -s {0} 'src/in'",
        canary.display()
    );
    arena.sh(&script).done();
    // The link is shown, not what it leads to.
    let patch = arena.cowbox(&["diff"]).output().ok();
    assert!(patch.stdout().contains("outside/canary") && !patch.stdout().contains("alive"), "{}", patch.stdout());
    let _ = arena.apply(&[]).code(4).says("symlink-outside");
    let links = ["absolute", "up", "environ", "around", "config", "src/in"];
    assert!(arena.has("fine") && links.iter().all(|link| !arena.has(link)));
    arena.apply(&["--allow", "symlink-outside"]).done();
    for link in links {
        assert!(arena.repo().join(link).symlink_metadata().unwrap().is_symlink(), "{link}");
    }
    arena.check_outside();
    arena.writing(&["undo", "-y"]).done();
    assert!(links.iter().all(|link| !arena.has(link)) && arena.has("fine"));
}

/// A package store shares its files with the repo by hard links.
fn case_08_a_link_through_a_link_of_the_host(engine: Engine) {
    let arena = Arena::new(engine);
    arena.change_repo(|repo| {
        symlink(arena.outside(), repo.join("shared")).unwrap();
        symlink("src", repo.join("inner")).unwrap();
    });
    arena.sh("ln -s shared/canary leaves; ln -s inner/main.c stays").done();
    let _ = arena.apply(&[]).code(4).says("--allow symlink-outside");
    assert!(!arena.has("leaves") && arena.has("stays"));
}

fn case_16_hard_links_to_the_outside(engine: Engine) {
    let mut arena = Arena::new(engine);
    for name in ["written", "touched", "gone"] {
        fs::write(arena.outside().join(name), "shared\n").unwrap();
        fs::hard_link(arena.outside().join(name), arena.repo().join(name)).unwrap();
    }
    arena.outside_changed();
    arena.sh("echo evil >> written; chmod 777 touched; rm gone; ln written again").done();
    let _ = arena.apply(&[]).ok().says("several names");
    let content = |name: &str| fs::read_to_string(arena.outside().join(name)).unwrap();
    let meta = |name: &str| fs::metadata(arena.outside().join(name)).unwrap();
    assert_eq!((content("written"), content("gone")), ("shared\n".into(), "shared\n".into()));
    assert_eq!(meta("touched").mode() & 0o777, 0o644);
    assert_eq!(
        (arena.read("written"), arena.mode("touched"), arena.has("gone")),
        ("shared\nevil\n".into(), 0o777, false)
    );
    arena.writing(&["undo", "-y"]).done();
    for name in ["written", "touched", "gone"] {
        let ours = fs::metadata(arena.repo().join(name)).unwrap();
        assert_eq!((ours.ino(), meta(name).nlink()), (meta(name).ino(), 2), "{name}");
    }
    // Names come and go with the store's own inode: its ctime and count of names are all that may differ.
    arena.outside_changed();
}

fn case_16_names_of_one_file(engine: Engine) {
    let arena = Arena::new(engine);
    // A second name for a file of the host, by which a later write would change it.
    arena.sh("ln build.sh .envrc; ln README.md copy; mkdir .husky; ln build.sh .husky/pre-commit").done();
    let _ = arena.apply(&[]).code(4);
    assert!(!arena.has(".envrc") && !arena.has(".husky/pre-commit"));
    let inode = |path: &str| fs::metadata(arena.repo().join(path)).unwrap().ino();
    assert_eq!(inode("copy"), inode("README.md"));
}

//! Whiteouts, opaque directories, renames, copies that are no changes, and links.

use std::fs;

use crate::common::{Engine, Fingerprint, Sandbox, on_every_engine};
use crate::landing::{Twin, apply, nothing_is_left, undo};

on_every_engine!(
    whiteouts_are_deletions_whatever_they_are_linked_to,
    an_opaque_directory_with_nothing_below_is_an_addition,
    an_opaque_directory_with_the_same_in_it_is_no_change,
    names_that_begin_with_wh_are_ordinary,
    a_renamed_directory_lands_as_one,
    copies_that_changed_nothing_are_no_changes,
    new_links_are_links_on_the_host,
    links_to_files_of_the_host_are_made_there,
    names_of_one_file_of_the_host_go_together_or_apart,
    a_pipe_is_never_opened,
);

fn whiteouts_are_deletions_whatever_they_are_linked_to(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for n in 0..20 {
        sandbox.write(format!("many/{}/{n}", n % 3), "x\n");
    }
    let twin = Twin::run(&sandbox, &[], "rm many/*/?; rm -r src/deep; rm link; echo x > src/came; rm src/came");
    apply(&sandbox, &[]).done();
    twin.landed(&sandbox, |_| false);
    nothing_is_left(&sandbox);
    undo(&sandbox).done();
    twin.is_back(&sandbox);
}

fn an_opaque_directory_with_nothing_below_is_an_addition(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let twin = Twin::run(&sandbox, &[], "mkdir n; echo x > n/x; mv n new; mkdir empty; rmdir empty; mkdir empty");
    assert_eq!(sandbox.changes(), ["A  empty", "A  new", "A  new/x"]);
    apply(&sandbox, &[]).done();
    twin.landed(&sandbox, |_| false);
}

fn an_opaque_directory_with_the_same_in_it_is_no_change(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("cp -a src /tmp/src; rm -r src; mkdir src; cp -a /tmp/src/. src").done();
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    // What is not the same in it is all that there is; what the host has made since stays.
    let sandbox = Sandbox::new(engine);
    sandbox.sh("cp -a src /tmp/src; rm -r src; mkdir src; cp -a /tmp/src/. src; rm src/main.c; echo n > src/n").done();
    assert_eq!(sandbox.changes(), ["D  src/main.c", "A  src/n"]);
    sandbox.change_repo(|repo| fs::write(repo.join("src/hosts"), "host\n").unwrap());
    assert_eq!(sandbox.changes(), ["D  src/main.c", "A  src/n"]);
    apply(&sandbox, &[]).done();
    assert_eq!(fs::read_to_string(sandbox.repo().join("src/hosts")).unwrap(), "host\n");
    nothing_is_left(&sandbox);
}

fn names_that_begin_with_wh_are_ordinary(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("src/.wh.main.c", "the host's own\n");
    let script = "echo 1 > .wh.README.md; : > .wh.build.sh; : > src/.wh..wh..opq; mkdir .wh.src; : > .wh..opq; rm src/.wh.main.c";
    let twin = Twin::run(&sandbox, &[], script);
    apply(&sandbox, &[]).done();
    twin.landed(&sandbox, |_| false);
    assert!(sandbox.repo().join("README.md").exists() && sandbox.repo().join("src/main.c").exists());
    undo(&sandbox).done();
    twin.is_back(&sandbox);
}

fn a_renamed_directory_lands_as_one(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let twin = Twin::run(&sandbox, &[], "mv src lib; echo more >> lib/main.c; mv README.md lib/README");
    let changes = sandbox.changes();
    assert!(changes.contains(&"R  src/deep/er/leaf -> lib/deep/er/leaf".to_owned()), "{changes:?}");
    assert!(changes.contains(&"R  README.md -> lib/README".to_owned()), "{changes:?}");
    apply(&sandbox, &[]).done();
    twin.landed(&sandbox, |_| false);
    nothing_is_left(&sandbox);
    undo(&sandbox).done();
    twin.is_back(&sandbox);
}

fn copies_that_changed_nothing_are_no_changes(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "touch README.md; : >> src/main.c; chmod 600 build.sh; chmod 755 build.sh; ln src/deep/er/leaf l; rm l
        cp src/main.c copy; mv copy src/main.c; mkdir src/x; rmdir src/x; ln -sfn other link; ln -sfn README.md link";
    sandbox.sh(script).done();
    let _ = sandbox.cowbox(&["diff", "--exit-code", "--name-status"]).output().code(0).prints("");
    let _ = sandbox.cowbox(&["apply", "-y"]).output().ok().says("nothing");
    // The same size and time, and another content, is one all the same.
    let sandbox = Sandbox::new(engine);
    sandbox.sh("touch -r README.md /tmp/time; echo '# APi' > README.md; touch -r /tmp/time README.md").done();
    assert_eq!(sandbox.changes(), ["M  README.md"]);
}

fn new_links_are_links_on_the_host(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "echo x > a; ln a b; mkdir d; ln a d/c; echo more >> README.md; ln README.md readme; ln -s nowhere s";
    let twin = Twin::run(&sandbox, &[], script);
    apply(&sandbox, &[]).done();
    twin.landed(&sandbox, |_| false);
    nothing_is_left(&sandbox);
    undo(&sandbox).done();
    twin.is_back(&sandbox);
    // One name of several alone is a file like any other; the next one is linked to it.
    apply(&sandbox, &["--", "b"]).done();
    apply(&sandbox, &[]).done();
    for name in ["a", "b", "d/c"] {
        assert_eq!(fs::read_to_string(sandbox.repo().join(name)).unwrap(), "x\n");
    }
    nothing_is_left(&sandbox);
}

fn links_to_files_of_the_host_are_made_there(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("one", "same\n");
    sandbox.write("two", "same\n");
    // A copy of one that becomes a link to it: nothing to read has changed, and yet a write to one is a write to both.
    let twin = Twin::run(&sandbox, &[], "ln build.sh built; ln -f one two");
    apply(&sandbox, &[]).done();
    twin.landed(&sandbox, |_| false);
    nothing_is_left(&sandbox);
    undo(&sandbox).done();
    twin.is_back(&sandbox);
}

fn names_of_one_file_of_the_host_go_together_or_apart(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let group = |names: [&str; 3]| {
        sandbox.write(names[0], b"binary\0");
        for name in &names[1..] {
            fs::hard_link(sandbox.repo().join(names[0]), sandbox.repo().join(name)).unwrap();
        }
    };
    group(["a1", "a2", "a3"]);
    group(["b1", "b2", "b3"]);
    group(["c1", "c2", "c3"]);
    let twin =
        Twin::run(&sandbox, &[], "rm a1 a2; rm b3; for n in 1 2 3; do echo $n > t; mv t c$n; done; mv b1 d1; ln d1 e1");
    // Each replaced name gives the others another ctime, which is no edit of theirs.
    apply(&sandbox, &["--", "c2"]).done();
    apply(&sandbox, &["--", "a1"]).done();
    let _ = apply(&sandbox, &[]).ok();
    nothing_is_left(&sandbox);
    // A link to a file of the host's that was moved is one of the session's own.
    let shown = twin.shown.clone().only(|p| !["b1", "b2", "d1", "e1"].iter().any(|n| p == std::path::Path::new(n)));
    let now = Fingerprint::of(sandbox.repo())
        .only(|p| !["b1", "b2", "d1", "e1"].iter().any(|n| p == std::path::Path::new(n)));
    assert_eq!(shown.visible(&now, |_| false), Vec::<String>::new());
    for _ in 0..3 {
        undo(&sandbox).done();
    }
    twin.is_back(&sandbox);
}

fn a_pipe_is_never_opened(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    crate::landing::on_host(&sandbox, "mkfifo pipe src/pipe; mkdir d; mkfifo d/pipe");
    let before = Fingerprint::of(sandbox.repo());
    // Anybody who opened one of these would wait for ever.
    let script = "rm pipe; echo x > pipe; rm -r d; mkfifo new; rm README.md; mkfifo README.md; chmod 600 src/pipe; mkdir e; mkfifo e/p";
    sandbox.sh(script).done();
    for args in [&["diff"][..], &["diff", "--json"], &["diff", "--stat"]] {
        sandbox.cowbox(args).output().done();
    }
    let _ = apply(&sandbox, &[]).ok().says("special-file");
    assert_eq!(fs::read_to_string(sandbox.repo().join("pipe")).unwrap(), "x\n");
    assert!(fs::metadata(sandbox.repo().join("README.md")).unwrap().is_file() && !sandbox.repo().join("d").exists());
    assert!(sandbox.repo().join("e").is_dir() && !sandbox.repo().join("e/p").exists());
    undo(&sandbox).done();
    crate::landing::is_back(&before, &sandbox);
}

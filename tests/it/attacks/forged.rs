//! What the kernel would never have written, and state that is not what it seems. Cases 12 and 25.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{Arena, mark};
use crate::common::{Engine, on, on_every_engine};

on_every_engine!(case_12_names_of_whiteouts_are_names, case_25_the_session_cannot_reach_its_own_state);
on!(native:
    case_12_forged_overlay_metadata,
    case_12_whiteouts_in_a_forged_upper,
    case_25_a_forged_session,
    a_repo_that_became_a_link_is_not_written_to,
    a_repo_that_is_another_one_now_keeps_what_it_has,
    state_that_is_a_folder_or_a_link_is_an_error,
);

fn case_12_forged_overlay_metadata(engine: Engine) {
    let marks: [(&str, &str, &[u8]); 9] = [
        ("src", "user.overlay.redirect", b"/../../outside"),
        ("src", "user.overlay.redirect", b"deep"),
        ("src/main.c", "user.overlay.metacopy", b""),
        ("src/main.c", "user.overlay.redirect", b"/canary"),
        ("src", "user.overlay.opaque", b"z"),
        ("src", "user.overlay.opaque", b""),
        ("src", "user.overlay.unheard-of", b"y"),
        ("", "user.overlay.redirect", b"/outside"),
        ("src", "user.overlay.", b"y"),
    ];
    for (path, name, value) in marks {
        let arena = Arena::new(engine);
        arena.sh("echo more >> src/main.c; echo x > plain").done();
        mark(&arena.upper().join(path), name, value);
        for args in [&["diff"][..], &["diff", "--json"], &["diff", "--stat"], &["apply", "-y", "--allow", "all"]] {
            let output = arena.cowbox(args).output();
            assert_eq!(output.exit_code(), 1, "{path} {name} {args:?}: {}", output.stderr());
            assert!(output.stderr().contains("overlay mark"), "{}", output.stderr());
        }
        arena.check_outside();
    }
}

/// Marks that came after the run had ended delete nothing that the run did not delete.
fn case_12_whiteouts_in_a_forged_upper(engine: Engine) {
    let arena = Arena::new(engine);
    arena.sh("echo x > plain; echo more >> src/main.c; rm link").done();
    let upper = arena.upper();
    let device = |path: &Path| mknodat(CWD, path, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
    for path in ["README.md", "never", ".git"] {
        device(&upper.join(path));
    }
    // An empty file that claims to be one, in a folder that does not say so, and where it does.
    for path in ["build.sh", "src/deep"] {
        fs::write(upper.join(path), "").unwrap();
        mark(&upper.join(path), "user.overlay.whiteout", b"y");
    }
    mark(&upper.join("src"), "user.overlay.opaque", b"x");
    assert_eq!(arena.changes(), ["M  build.sh", "D  link", "A  plain", "M  src/main.c"]);
    arena.apply(&["--allow", "all"]).done();
    assert!(!arena.has("link") && arena.has("README.md") && arena.has(".git/HEAD") && arena.has("src/deep/er/leaf"));
    arena.writing(&["undo", "-y"]).done();
    assert!(arena.has("link") && arena.read("build.sh").contains("built"));
}

fn case_12_names_of_whiteouts_are_names(engine: Engine) {
    let arena = Arena::new(engine);
    arena.sh("echo x > .wh.README.md; echo x > src/.wh..wh..opq; : > .wh.src; mkdir .wh.link; : > .wh.").done();
    arena.apply(&[]).done();
    for path in [".wh.README.md", "src/.wh..wh..opq", ".wh.src", ".wh.link", ".wh.", "README.md", "src/main.c", "link"]
    {
        assert!(arena.has(path), "{path}");
    }
}

fn case_25_the_session_cannot_reach_its_own_state(engine: Engine) {
    let arena = Arena::new(engine);
    let state = arena.state();
    let script = format!(
        "s={}; for d in $s $s/sessions/* $s/repos $s/sessions/*/journal; do for f in session.json reviewed base.jsonl events.jsonl x; do
            echo for''ged > $d/$f; done; mkdir -p $d/undo/x; ln -s /etc $d/link; done 2>/dev/null; echo x > plain; true",
        state.display()
    );
    arena.sh(&script).done();
    let left: Vec<_> = fs::read_dir(arena.only_dir()).unwrap().map(|e| e.unwrap().path()).collect();
    for path in left.iter().filter(|path| path.is_file()) {
        assert!(!fs::read_to_string(path).unwrap_or_default().contains("forged"), "{}", path.display());
    }
    assert!(!left.iter().any(|path| path.file_name() == Some(OsStr::new("link"))), "{left:?}");
    arena.apply(&[]).done();
    assert!(arena.has("plain"));
}

/// What the session wrote is data, whatever it is called.
fn case_25_a_forged_session(engine: Engine) {
    let arena = Arena::new(engine);
    let script = format!(
        "mkdir -p upper work journal undo/x layers; echo '{{\"format\":1,\"state\":\"running\"}}' > session.json
        echo '{{\"intent\":{{}}}}' > journal/x.jsonl; echo '{{}}' > undo/x/undo.json; echo x > upper/evil; echo x > reviewed
        ln -s {} layers/x; printf 'diff --git a/../x b/../x\\n--- /dev/null\\n+++ b/../../x\\n@@ -0,0 +1 @@\\n+evil\\n' > evil.patch",
        arena.outside().display()
    );
    arena.sh(&script).done();
    let _ = arena.apply(&[]).code(4);
    assert!(
        arena.has("session.json") && arena.has("undo/x/undo.json") && arena.has("evil.patch") && !arena.has("layers/x")
    );
    let json = arena.cowbox(&["show", "--json"]).output().ok().json();
    assert_eq!(json["state"], "stopped");
    arena.writing(&["undo", "-y"]).done();
    assert!(!arena.has("session.json") && !arena.has("undo"));
}

fn a_repo_that_became_a_link_is_not_written_to(engine: Engine) {
    let arena = Arena::new(engine);
    arena.sh("echo evil > canary; rm README.md").done();
    let name = arena.only_record()["name"].as_str().unwrap().to_owned();
    let (away, home) = (arena.root().join("away"), arena.home());
    arena.change_repo(|repo| {
        fs::rename(repo, &away).unwrap();
        symlink(arena.outside(), repo).unwrap();
        for args in [
            &["apply", "-y", &name, "--allow", "all"][..],
            &["apply", "-y", "--commits", &name],
            &["undo", "-y", &name],
            &["diff", &name],
        ] {
            let output = arena.cowbox(args).current_dir(&home).output();
            assert_ne!(output.exit_code(), 0, "{args:?}: {}", output.stderr());
            arena.check_outside();
        }
        fs::remove_file(repo).unwrap();
        fs::rename(&away, repo).unwrap();
    });
    arena.apply(&[]).done();
    assert!(arena.has("canary") && !arena.has("README.md"));
}

fn a_repo_that_is_another_one_now_keeps_what_it_has(engine: Engine) {
    let arena = Arena::new(engine);
    arena.sh("echo session > README.md; echo x > new").done();
    let away = arena.root().join("away");
    arena.change_repo(|repo| {
        fs::rename(repo, &away).unwrap();
        fs::create_dir_all(repo.join(".git")).unwrap();
        fs::write(repo.join("README.md"), "another project\n").unwrap();
    });
    let output = arena.apply(&[]);
    assert_ne!(output.exit_code(), 0, "{}", output.stderr());
    assert_eq!(arena.read("README.md"), "another project\n");
    arena.change_repo(|repo| {
        fs::remove_dir_all(repo).unwrap();
        fs::rename(&away, repo).unwrap();
    });
}

fn state_that_is_a_folder_or_a_link_is_an_error(engine: Engine) {
    for (name, what) in [
        ("journal", "file"),
        ("journal/x.jsonl", "folder"),
        ("journal/x.jsonl", "link"),
        ("undo", "link"),
        ("undo/x/undo.json", "folder"),
        ("undo/x", "file"),
        ("base.jsonl", "folder"),
        ("base.jsonl", "loop"),
        ("base.pack", "folder"),
        ("reviewed", "folder"),
    ] {
        let arena = Arena::new(engine);
        arena.sh("echo evil > README.md; echo x > new").done();
        let path = arena.only_dir().join(name);
        let _ = fs::remove_file(&path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_dir(&path);
        match what {
            "file" => fs::write(&path, "x").unwrap(),
            "folder" => fs::create_dir(&path).unwrap(),
            "loop" => symlink(&path, &path).unwrap(),
            _ => symlink(arena.outside().join("canary"), &path).unwrap(),
        }
        for args in [&["apply", "-y"][..], &["undo", "-y"], &["diff", "--stat"], &["ls"]] {
            let output = arena.writing(args);
            assert!(!output.stderr().contains("panicked"), "{name} {what} {args:?}: {}", output.stderr());
            assert!(matches!(output.exit_code(), 0..=4), "{name} {what} {args:?}");
            arena.check_outside();
        }
        assert!(["# api\n", "evil\n"].contains(&arena.read("README.md").as_str()), "{name} {what}");
        assert_eq!(arena.has("new"), arena.read("README.md") == "evil\n", "{name} {what}: half done");
        let left = fs::read_dir(arena.repo()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        assert_eq!(left.filter(|name| name.starts_with(".cowbox-")).count(), 0, "{name} {what}");
        // For the discard at the end.
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
    }
}

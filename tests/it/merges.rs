//! Edits of the host and of the session to the same file that go together.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use crate::common::{Engine, Sandbox, on, on_every_engine, snapshot};
use crate::conflicts::{apply, edit_during, nine, nine_with, read, replace, with_git};
use crate::host::sh;
use crate::landing::set_xattr;

on_every_engine!(
    a_later_edit_elsewhere_in_the_file_is_merged,
    an_edit_during_the_run_is_merged_with_the_commit_as_the_base,
    after_an_apply_both_can_go_on,
    what_was_only_copied_up_is_the_hosts_to_change,
);
on!(native:
    the_same_result_is_no_conflict,
    lines_and_files_may_end_in_any_way,
    permissions_are_merged_like_content,
    merged_files_are_shown_as_they_will_be,
    attributes_of_directories_are_merged,
    attributes_of_a_file_that_the_host_sets_are_not_lost,
);

fn a_later_edit_elsewhere_in_the_file_is_merged(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("nine", nine());
    sandbox.sh("sed -i 's/line 2/session/' nine; echo new > added").done();
    sandbox.change_repo(|repo| replace(repo, "nine", &nine_with(8, "host")));
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    let nine = &json["changes"][1];
    assert_eq!((&nine["path"], &nine["merged"], &nine["conflict"]), (&"nine".into(), &true.into(), &().into()));
    snapshot!(apply(&sandbox, &[]), @r"
    exit: 0
    --- stderr
    cowbox: 2 changes applied · take it back with `cowbox undo api-[NAME]`
    ");
    assert_eq!(read(&sandbox, "nine"), nine_with(8, "host").replace("line 2\n", "session\n"));
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    sandbox.change_repo(|_| sandbox.cowbox(&["undo", "-y"]).output().done());
    assert_eq!(read(&sandbox, "nine"), nine_with(8, "host"), "the host's edit is what an undo goes back to");
    apply(&sandbox, &[]).done();
    assert_eq!(read(&sandbox, "nine"), nine_with(8, "host").replace("line 2\n", "session\n"), "and is merged again");
}

fn an_edit_during_the_run_is_merged_with_the_commit_as_the_base(engine: Engine) {
    let sandbox = with_git(engine);
    edit_during(
        &sandbox,
        "sed -i 's/line 2/session/' nine",
        |repo| replace(repo, "nine", &nine_with(8, "host")),
        "sed -i 's/line 4/session too/' nine",
    );
    apply(&sandbox, &[]).done();
    let expected = nine_with(8, "host").replace("line 2\n", "session\n").replace("line 4\n", "session too\n");
    assert_eq!(read(&sandbox, "nine"), expected);
}

fn after_an_apply_both_can_go_on(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("nine", nine());
    sandbox.shell(&["--name", "it"], "sed -i 's/line 2/session/' nine; echo a > added").output().done();
    apply(&sandbox, &[]).done();
    sandbox.change_repo(|repo| replace(repo, "nine", &read(&sandbox, "nine").replace("line 8", "host")));
    // The session did nothing more, so the host's edit stands.
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    let script = "sed -i 's/line 5/session again/' nine; echo b > added";
    sandbox.cowbox(&["run", "--resume", "it", "--", "sh", "-c", script]).output().done();
    assert_eq!(sandbox.changes(), ["M  added", "M  nine"]);
    apply(&sandbox, &[]).done();
    let expected = nine_with(8, "host").replace("line 2\n", "session\n").replace("line 5\n", "session again\n");
    assert_eq!(read(&sandbox, "nine"), expected);
    assert_eq!(read(&sandbox, "added"), "b\n");
    // And in the same place it is a conflict.
    sandbox.change_repo(|repo| fs::write(repo.join("nine"), expected.replace("session again", "host again")).unwrap());
    sandbox.cowbox(&["run", "--resume", "it", "--", "sed", "-i", "s/session again/third/", "nine"]).output().done();
    assert_eq!(sandbox.changes(), ["M  nine"]);
    let _ = sandbox.cowbox(&["apply", "-y"]).output().code(3).says("nine: both");
    sandbox.check_repo();
}

fn what_was_only_copied_up_is_the_hosts_to_change(engine: Engine) {
    let sandbox = with_git(engine);
    edit_during(
        &sandbox,
        "touch nine README.md build.sh; chmod 755 build.sh",
        |repo| replace(repo, "nine", &nine_with(8, "during")),
        "touch src/main.c",
    );
    sandbox.change_repo(|repo| {
        fs::write(repo.join("README.md"), "# after\n").unwrap();
        fs::remove_file(repo.join("build.sh")).unwrap();
    });
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    let _ = sandbox.cowbox(&["apply", "-y"]).output().ok().says("nothing of session");
    sandbox.check_repo();
}

fn the_same_result_is_no_conflict(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("nine", nine());
    sandbox.write("gone", "x\n");
    sandbox.write("binary", "a\0b");
    let script = "sed -i 's/line 5/same/' nine; rm gone; printf 'a\\0c' > binary; echo same > added; mkdir dir; echo same > dir/file; chmod 700 build.sh; ln -sfn src link";
    sandbox.sh(script).done();
    sandbox.change_repo(|repo| {
        replace(repo, "nine", &nine_with(5, "same"));
        fs::remove_file(repo.join("gone")).unwrap();
        replace(repo, "binary", "a\0c");
        fs::write(repo.join("added"), "same\n").unwrap();
        fs::create_dir(repo.join("dir")).unwrap();
        fs::write(repo.join("dir/file"), "same\n").unwrap();
        fs::set_permissions(repo.join("build.sh"), fs::Permissions::from_mode(0o700)).unwrap();
        fs::remove_file(repo.join("link")).unwrap();
        symlink("src", repo.join("link")).unwrap();
    });
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    let _ = sandbox.cowbox(&["apply", "-y"]).output().ok().says("nothing of session");
    sandbox.check_repo();
}

fn lines_and_files_may_end_in_any_way(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let crlf = nine().replace('\n', "\r\n");
    let open = nine().trim_end().to_owned();
    sandbox.write("crlf", &crlf);
    sandbox.write("open", &open);
    sandbox.write("emptied", nine());
    sandbox.write("empty", "");
    sandbox.write("closed-by-host", &open);
    sandbox.sh("sed -i 's/line 2/session/' crlf open closed-by-host; : > emptied; echo x > empty").done();
    sandbox.change_repo(|repo| {
        fs::write(repo.join("crlf"), crlf.replace("line 8", "host")).unwrap();
        fs::write(repo.join("open"), open.replace("line 8", "host")).unwrap();
        fs::write(repo.join("closed-by-host"), nine()).unwrap();
    });
    apply(&sandbox, &[]).done();
    let merged = |text: &str| text.replace("line 2", "session").replace("line 8", "host");
    assert_eq!(read(&sandbox, "crlf"), merged(&crlf));
    assert_eq!(read(&sandbox, "open"), merged(&open));
    assert_eq!(read(&sandbox, "closed-by-host"), nine_with(2, "session"));
    assert_eq!(read(&sandbox, "emptied"), "");
    assert_eq!(read(&sandbox, "empty"), "x\n");
    // Emptied by the one and edited by the other; filled by both.
    sandbox.sh(": > crlf; echo session > emptied").done();
    sandbox.change_repo(|repo| {
        fs::write(repo.join("crlf"), crlf.replace("line 5", "host")).unwrap();
        fs::write(repo.join("emptied"), "host\n").unwrap();
    });
    let output = sandbox.cowbox(&["apply", "-y"]).output().code(3);
    assert_eq!(output.stderr().matches("warning").count(), 2, "{}", output.stderr());
    sandbox.check_repo();
    apply(&sandbox, &["--conflict", "markers", "--", "crlf"]).done();
    let text = read(&sandbox, "crlf");
    assert!(
        text.starts_with("<<<<<<< host\r\n") && text.contains("host\r\n") && !text.replace("\r\n", "").contains('\n'),
        "{text:?}"
    );
}

fn permissions_are_merged_like_content(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for (name, mode) in [("content-here", 0o644), ("mode-here", 0o644), ("dir/file", 0o644)] {
        sandbox.write(name, nine());
        sandbox.chmod(name, mode);
    }
    sandbox.chmod("dir", 0o755);
    sandbox.sh("sed -i 's/line 2/session/' content-here; chmod 755 mode-here; echo x > dir/new").done();
    sandbox.change_repo(|repo| {
        let chmod = |path: &str, mode| fs::set_permissions(repo.join(path), fs::Permissions::from_mode(mode)).unwrap();
        chmod("content-here", 0o600);
        fs::write(repo.join("mode-here"), nine_with(8, "host")).unwrap();
        chmod("dir", 0o700);
    });
    apply(&sandbox, &[]).done();
    let mode = |path: &str| fs::metadata(sandbox.repo().join(path)).unwrap().mode() & 0o777;
    assert_eq!((mode("content-here"), read(&sandbox, "content-here")), (0o600, nine_with(2, "session")));
    assert_eq!((mode("mode-here"), read(&sandbox, "mode-here")), (0o755, nine_with(8, "host")));
    assert_eq!((mode("dir"), read(&sandbox, "dir/new")), (0o700, "x\n".to_owned()));
}

fn merged_files_are_shown_as_they_will_be(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("nine", nine());
    sandbox.sh("sed -i 's/line 2/session/' nine").done();
    sandbox.change_repo(|repo| fs::write(repo.join("nine"), nine_with(8, "host")).unwrap());
    snapshot!(sandbox.cowbox(&["diff"]).output(), @r"
    exit: 0
    --- stdout
    diff --git a/nine b/nine
    index 7d219fe..dc276d9 100644
    --- a/nine
    +++ b/nine
    @@ -1,5 +1,5 @@
     line 1
    -line 2
    +session
     line 3
     line 4
     line 5
    ");
}

fn attributes_of_directories_are_merged(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for dir in ["hosts", "both", "modes", "modes-too", "same"] {
        sandbox.write(format!("{dir}/file"), "x\n");
        sandbox.chmod(dir, 0o755);
        set_xattr(&sandbox.repo().join(dir), "user.old", "1");
    }
    let script = "echo x > hosts/new; setfattr -n user.session -v 1 both; setfattr -x user.old both
        setfattr -n user.session -v 1 modes; chmod 700 modes-too; setfattr -n user.new -v 1 same";
    sandbox.sh(script).done();
    sandbox.change_repo(|repo| {
        set_xattr(&repo.join("hosts"), "user.host", "1");
        set_xattr(&repo.join("both"), "user.host", "1");
        fs::set_permissions(repo.join("modes"), fs::Permissions::from_mode(0o750)).unwrap();
        set_xattr(&repo.join("modes-too"), "user.host", "1");
        set_xattr(&repo.join("same"), "user.new", "2");
    });
    let _ = sandbox.cowbox(&["apply", "-y"]).output().code(3).says("same: both");
    sandbox.check_repo();
    apply(&sandbox, &["--conflict", "ours"]).done();
    let look = |dir: &str| {
        let path = sandbox.repo().join(dir);
        let mode = fs::metadata(&path).unwrap().mode() & 0o777;
        (mode, sh(&format!("cd '{}'; getfattr --absolute-names . | grep user | sort | tr '\\n' ' '", path.display())))
    };
    assert_eq!(look("hosts"), (0o755, "user.host user.old ".to_owned()));
    assert_eq!(look("both"), (0o755, "user.host user.session ".to_owned()));
    assert_eq!(look("modes"), (0o750, "user.old user.session ".to_owned()));
    assert_eq!(look("modes-too"), (0o700, "user.host user.old ".to_owned()));
    sandbox.change_repo(|_| sandbox.cowbox(&["undo", "-y"]).output().done());
    assert_eq!(look("both"), (0o755, "user.host user.old ".to_owned()));
    assert_eq!(look("modes"), (0o750, "user.old ".to_owned()));
}

fn attributes_of_a_file_that_the_host_sets_are_not_lost(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for name in ["hosts", "sessions"] {
        sandbox.write(name, nine());
        set_xattr(&sandbox.repo().join(name), "user.old", "1");
    }
    // In place: a new file would have no attributes.
    let script = "for name in hosts sessions; do text=$(sed 's/line 2/session/' $name); echo \"$text\" > $name; done
        setfattr -x user.old sessions";
    sandbox.sh(script).done();
    sandbox.change_repo(|repo| {
        set_xattr(&repo.join("hosts"), "user.host", "1");
        let edited = fs::File::options().append(true).open(repo.join("sessions")).unwrap();
        std::io::Write::write_all(&mut &edited, b"line 10\n").unwrap();
    });
    let output = sandbox.cowbox(&["apply", "-y"]).output().code(3).says("hosts: both");
    assert_eq!(output.stderr().matches("warning").count(), 1, "{}", output.stderr());
    sandbox.check_repo();
    apply(&sandbox, &["--", "sessions"]).done();
    assert_eq!(read(&sandbox, "sessions"), nine_with(2, "session") + "line 10\n");
}

//! Everything that a session can make of a name × everything that the host can have there: the repo becomes what the
//! sandbox showed, nothing else is touched, and an undo gives back the exact start.

use std::path::Path;

use crate::common::{Engine, Sandbox, on_every_engine};
use crate::landing::{Twin, apply, on_host, set_xattr, undo};

on_every_engine!(
    a_file_lands_on_everything,
    a_directory_lands_on_everything,
    an_opaque_directory_lands_on_everything,
    a_symlink_lands_on_everything,
    a_deletion_lands_on_everything,
    a_pipe_is_left_out_and_what_the_host_has_stays,
    a_socket_is_left_out_and_what_the_host_has_stays,
);

/// What the host has.
const NAMES: [&str; 4] = ["file", "dir", "sym", "none"];

/// A file, a directory and a link with modes, attributes and times of their own; `target` is what the link leads to,
/// and must never be reached through it.
fn host(engine: Engine) -> Sandbox {
    let sandbox = Sandbox::new(engine);
    on_host(
        &sandbox,
        "echo old > file; mkdir -p dir/sub/deep dir/gone target; echo kept > dir/kept; echo x > dir/gone/x; echo y > dir/sub/deep/y
         ln -s ../target dir/to-target; echo t > target/t; ln -s target sym
         chmod 640 file; chmod 600 dir/kept; chmod 750 dir; chmod 711 dir/sub",
    );
    for path in ["file", "dir", "dir/kept", "dir/sub"] {
        set_xattr(&sandbox.repo().join(path), "user.host", path);
    }
    on_host(&sandbox, "find . -depth -exec touch -h -d @1500000000 {} +");
    sandbox
}

/// Runs the script with each name as `$n`, applies, undoes, applies again. `in_place`: what stays the host's directory,
/// whose times are its own.
fn lands(sandbox: &Sandbox, script: &str, in_place: &[&str]) {
    let script = format!("for n in {}; do {script}\ndone", NAMES.join(" "));
    let twin = Twin::run(sandbox, &[], &script);
    let ours = |path: &Path| NAMES.iter().any(|n| path.starts_with(n));
    let timed = |path: &Path| ours(path) && !in_place.iter().any(|p| path == Path::new(p));
    for _ in 0..2 {
        apply(sandbox, &[]).done();
        twin.landed(sandbox, timed);
        twin.only_touched(sandbox, &NAMES);
        assert_eq!(sandbox.changes(), Vec::<String>::new());
        undo(sandbox).done();
        twin.is_back(sandbox);
        twin.only_touched(sandbox, &NAMES);
    }
}

fn a_file_lands_on_everything(engine: Engine) {
    let sandbox = host(engine);
    lands(&sandbox, "[ $n = file ] || rm -rf $n; echo new > $n; chmod 604 $n; touch -d @1600000000 $n", &[]);
    // Of a file in the place of another, too.
    let sandbox = host(engine);
    lands(&sandbox, "rm -rf $n; echo anew > $n; touch -d @1600000000 $n", &[]);
}

fn a_directory_lands_on_everything(engine: Engine) {
    let script = "[ $n = dir ] || { rm -f $n; mkdir -p $n/sub; }
        echo in > $n/in; echo more >> $n/kept; rm -rf $n/gone; mkdir -p $n/sub/new/er; ln -s ../none $n/sub/new/l
        chmod 700 $n/sub/new; chmod 711 $n
        for p in $n/in $n/kept $n/sub/new/l $n/sub/new/er $n/sub/new $n/sub $n; do touch -h -d @1600000000 $p; done";
    lands(&host(engine), script, &["dir", "dir/sub"]);
}

fn an_opaque_directory_lands_on_everything(engine: Engine) {
    // What was there is the same again, other, another type, or gone.
    let script = "rm -rf $n; mkdir $n.new; mv $n.new $n; echo kept > $n/kept; echo z > $n/gone; mkdir $n/sub; echo y > $n/sub/deep
        chmod 700 $n; for p in $n/kept $n/gone $n/sub/deep $n/sub $n; do touch -d @1600000000 $p; done";
    lands(&host(engine), script, &["dir", "dir/sub"]);
    let sandbox = host(engine);
    lands(&sandbox, "rm -rf $n; mkdir $n; touch -d @1600000000 $n", &["dir"]);
}

fn a_symlink_lands_on_everything(engine: Engine) {
    // To a directory that is there: nothing may be written through it, or removed.
    lands(&host(engine), "rm -rf $n; ln -s src $n; touch -h -d @1600000000 $n", &[]);
}

fn a_deletion_lands_on_everything(engine: Engine) {
    let sandbox = host(engine);
    on_host(&sandbox, "echo x > none");
    Twin::run(&sandbox, &[], "rm -r file dir sym none");
    // The host deletes it too: a whiteout over nothing.
    sandbox.change_repo(|repo| std::fs::remove_file(repo.join("none")).unwrap());
    on_host_again(&sandbox);
    let before = crate::common::Fingerprint::of(sandbox.repo());
    for _ in 0..2 {
        apply(&sandbox, &[]).done();
        let now = crate::common::Fingerprint::of(sandbox.repo());
        let rest = |path: &Path| !NAMES.iter().any(|n| path.starts_with(n));
        let differences = before.clone().only(rest).visible(&now, |path| !path.as_os_str().is_empty());
        assert!(differences.is_empty(), "{}", differences.join("\n"));
        assert_eq!(sandbox.changes(), Vec::<String>::new());
        undo(&sandbox).done();
        crate::landing::is_back(&before, &sandbox);
    }
}

/// The time that the root had before the test itself changed it.
fn on_host_again(sandbox: &Sandbox) {
    sandbox.change_repo(|_| on_host(sandbox, "touch -d @1500000000 ."));
}

/// Nothing of it lands; the rest does.
fn left_out(sandbox: &Sandbox, script: &str) {
    let script = format!("for n in {}; do rm -rf $n; {script}; done; echo beside > beside", NAMES.join(" "));
    let mut twin = Twin::run(sandbox, &[], &script);
    for name in NAMES {
        twin.shown.take(Path::new(name), &twin.before);
    }
    for _ in 0..2 {
        let said = apply(sandbox, &[]).ok().stderr();
        assert!(said.contains("left out") && said.contains("special-file"), "{said}");
        twin.landed(sandbox, |path| NAMES.iter().any(|n| path.starts_with(n)));
        twin.only_touched(sandbox, &["beside"]);
        let left = sandbox.changes();
        assert!(left.contains(&"A  none".to_owned()) && !left.contains(&"A  beside".to_owned()), "{left:?}");
        undo(sandbox).done();
        twin.is_back(sandbox);
    }
}

fn a_pipe_is_left_out_and_what_the_host_has_stays(engine: Engine) {
    left_out(&host(engine), "mkfifo $n");
}

fn a_socket_is_left_out_and_what_the_host_has_stays(engine: Engine) {
    let perl = r#"perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un($ARGV[0])) or die' $n"#;
    left_out(&host(engine).with_image("debian"), perl);
}

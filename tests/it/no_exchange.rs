//! On file systems that cannot exchange two names (NFS, FUSE, 9p) a transaction is as safe as on others.

use std::os::unix::process::ExitStatusExt;

use crate::common::{Cowbox, Engine, Fingerprint, Sandbox, on};

on!(native:
    killed_anywhere_it_can_be_completed_or_rolled_back,
);

fn killed_anywhere_it_can_be_completed_or_rolled_back(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for path in ["replaced", "also", "deleted", "dir/a", "dir/b"] {
        sandbox.write(path, format!("content of {path}\n"));
    }
    sandbox
        .sh("echo x > replaced; echo x > also; rm deleted; rm -r dir; echo x > dir; mkdir new; echo x > new/f")
        .done();
    let call = |verb: &str| -> Cowbox { sandbox.cowbox(&[verb, "-y"]).env("COWBOX_TEST_NO_EXCHANGE", "1") };
    let now = || Fingerprint::of(sandbox.repo()).but_for_ctime();
    let start = now();
    call("apply").output().done();
    let wanted = now().written();
    call("undo").output().done();
    let same = |before: &Fingerprint, now: Fingerprint, after: String| {
        let differences = before.differences(&now);
        assert!(differences.is_empty(), "after {after}:\n{}", differences.join("\n"));
    };
    for verb in ["apply", "undo"] {
        for way in ["apply", "undo"] {
            let mut point = 1;
            loop {
                if verb == "undo" {
                    call("apply").output().done();
                }
                let output = call(verb).env("COWBOX_TEST_CRASH", point.to_string()).output();
                let killed = output.status.signal() == Some(9);
                // Nothing to be undone, if it was killed that early.
                let code = call(way).output().exit_code();
                assert!(code == 0 || (code == 1 && way == "undo"), "{verb}, point {point}, {way}: {code}");
                let after = format!("{verb}, a kill at point {point}, and {way}");
                match way {
                    "apply" => same(&wanted, now().written(), after.clone()),
                    _ => same(&start, now(), after.clone()),
                }
                let _ = call("undo").output().exit_code();
                same(&start, now(), format!("{after}, and an undo"));
                if !killed {
                    break;
                }
                point += 1;
            }
            assert!(point > 20, "only {point} points");
        }
    }
    sandbox.accept_repo();
}

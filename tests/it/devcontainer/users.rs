//! `remoteUser` and `containerUser`: who hooks and the command are, and whose their files are outside.

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::json;

use super::{built, image, run, up, with};
use crate::common::{Engine, Sandbox, on_containers};
use crate::host::is_root;

on_containers!(
    the_remote_user_works_in_its_own_home_and_files_belong_to_the_caller,
    the_user_of_the_image_counts_where_none_is_named,
    root_of_the_image_can_install_and_use_git,
    a_user_that_the_image_lacks_is_named,
    an_id_that_is_taken_is_no_obstacle,
    a_home_that_cannot_be_written_is_no_obstacle,
);

/// The owner of a file that the only session made.
fn owner(sandbox: &Sandbox, path: &str) -> u32 {
    let id = sandbox.session_ids().pop().unwrap();
    fs::metadata(sandbox.session_dir(&id).join("upper").join(path)).unwrap().uid()
}

const LOOK: &str = "cat who; id -un; echo $HOME; cat ~/made; echo new > new; echo more >> README.md; echo x >> ~/made";

fn the_remote_user_works_in_its_own_home_and_files_belong_to_the_caller(engine: Engine) {
    let hook = "id -un > who; echo x > ~/made; echo changed > build.sh";
    let sandbox = with(engine, json!({ "remoteUser": "agent", "postCreateCommand": hook }));
    let output = up(&sandbox, &[], LOOK).output().ok();
    // As root nobody else could keep what the setup made.
    let _ = if is_root() {
        output.prints("root\nroot\n/root\nx\n")
    } else {
        output.prints("agent\nagent\n/home/agent\nx\n")
    };
    assert_eq!(sandbox.changes(), ["M  README.md", "A  new"]);
    let own = rustix::process::geteuid().as_raw();
    assert_eq!((owner(&sandbox, "new"), owner(&sandbox, "README.md")), (own, own));
}

fn the_user_of_the_image_counts_where_none_is_named(engine: Engine) {
    let config = json!({ "image": image("tiny-named"), "postCreateCommand": "id -un > who; echo x > ~/made" });
    let sandbox = with(engine, config);
    let output = up(&sandbox, &[], LOOK).output().ok();
    let _ = if is_root() {
        output.prints("root\nroot\n/root\nx\n")
    } else {
        output.prints("agent\nagent\n/home/agent\nx\n")
    };
    assert_eq!(owner(&sandbox, "new"), rustix::process::geteuid().as_raw());
}

fn root_of_the_image_can_install_and_use_git(engine: Engine) {
    let hook = "echo tool > /usr/local/bin/tool; git status --porcelain > /root/status";
    let config = json!({ "image": image("debian"), "remoteUser": "root", "postCreateCommand": hook });
    let sandbox = with(engine, config);
    crate::host::git_init(sandbox.repo());
    let script = "id -un; cat /usr/local/bin/tool /root/status; echo more >> README.md; git status --porcelain";
    let _ = up(&sandbox, &[], script).output().ok().prints("root\ntool\n M README.md\n");
    assert_eq!(sandbox.changes(), ["M  README.md"]);
}

fn a_user_that_the_image_lacks_is_named(engine: Engine) {
    let sandbox = with(engine, json!({ "remoteUser": "nobody-here", "postCreateCommand": "true" }));
    // As root, root takes everybody's place.
    if is_root() {
        let _ =
            run(&sandbox, &[], &["id", "-u"]).output().ok().prints("0\n").says("takes the place of user nobody-here");
        return;
    }
    let _ = run(&sandbox, &[], &["true"]).output().code(125).says("has no user `nobody-here`");
    assert!(sandbox.session_ids().is_empty());
}

/// Of somebody else in the image: the caller's own number, as with Ubuntu's user at 1000.
fn an_id_that_is_taken_is_no_obstacle(engine: Engine) {
    let own = rustix::process::geteuid().as_raw();
    let lines = format!("RUN echo 'other:x:{own}:{own}::/home/other:/bin/sh' >> /etc/passwd && mkdir /home/other");
    let config = json!({ "remoteUser": "agent", "postCreateCommand": "echo x > ~/made; id -u > who" });
    let sandbox = built(engine, &lines, config);
    let _ = up(&sandbox, &[], "cat ~/made; echo more >> README.md; echo new > new").output().ok().prints("x\n");
    assert_eq!((owner(&sandbox, "new"), owner(&sandbox, "README.md")), (own, own));
}

fn a_home_that_cannot_be_written_is_no_obstacle(engine: Engine) {
    let lines = "RUN mkdir /closed && chmod 555 /closed && sed -i 's,/home/agent,/closed,' /etc/passwd";
    let sandbox = built(engine, lines, json!({ "containerUser": "agent", "postCreateCommand": "echo x > made" }));
    let home = if is_root() { "/root" } else { "/closed" };
    let _ = up(&sandbox, &[], "echo $HOME; cat made").output().ok().prints(format!("{home}\nx\n"));
}

//! What the command may do: capabilities, filters, sudo, the helper that started it.

use std::collections::BTreeMap;

use crate::common::{Engine, Sandbox, on, on_containers};
use crate::host;
use crate::inside::{background, exec, inside};

on_containers!(
    a_container_has_the_eight_capabilities_at_most,
    a_container_keeps_the_filter_of_its_engine,
    the_helper_cannot_be_changed_from_inside,
);

on!(podman: sudo_works_in_a_rootless_container_and_not_in_a_rootful_one);

on!(docker: sudo_does_not_work_with_the_daemon);

on!(native: there_is_no_capability_at_all);

/// `Name: value` lines of /proc/self/status, of `run` and of `exec`.
fn status(sandbox: &Sandbox, options: &[&str]) -> [BTreeMap<String, String>; 2] {
    let parse = |text: &str| {
        text.lines()
            .filter_map(|l| l.split_once(':').map(|(n, v)| (n.to_owned(), v.trim().to_owned())))
            .collect::<BTreeMap<_, _>>()
    };
    background(sandbox, options);
    let entered = parse(&exec(sandbox, "cat /proc/self/status"));
    let first = parse(&inside(sandbox, options, "cat /proc/self/status"));
    sandbox.cowbox(&["stop", "it"]).output().done();
    sandbox.cowbox(&["discard", "-y", "it"]).output().done();
    [first, entered]
}

fn there_is_no_capability_at_all(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for options in [&[][..], &["--user", "root"], &["--network", "none"]] {
        for (way, status) in ["run", "exec"].iter().zip(status(&sandbox, options)) {
            for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
                assert_eq!(status[set], "0000000000000000", "{set} by {way} with {options:?}");
            }
            assert_eq!((status["NoNewPrivs"].as_str(), status["Seccomp"].as_str()), ("1", "2"), "{way} {options:?}");
        }
    }
    assert_eq!(inside(&sandbox, &["--user", "root"], "id -u"), "0\n");
    let own = format!("{}\n", rustix::process::geteuid().as_raw());
    assert_eq!(inside(&sandbox, &[], "id -u"), own);
}

/// The eight of the policy as the kernel numbers them.
fn allowed_capabilities() -> u64 {
    let number = |name: &str| match name {
        "CHOWN" => 0,
        "DAC_OVERRIDE" => 1,
        "FOWNER" => 3,
        "FSETID" => 4,
        "KILL" => 5,
        "SETGID" => 6,
        "SETUID" => 7,
        "SETFCAP" => 31,
        other => panic!("{other} was added to the policy: is that wise?"),
    };
    cowbox::policy::CONTAINER_CAPABILITIES.iter().map(|name| 1u64 << number(name)).sum()
}

fn a_container_has_the_eight_capabilities_at_most(engine: Engine) {
    let set = |status: &BTreeMap<String, String>, name: &str| u64::from_str_radix(&status[name], 16).unwrap();
    for (image, options, root) in
        [("tiny", &["--user", "root"][..], true), ("tiny-user", &[], false), ("tiny", &["--user", "1000:1000"], false)]
    {
        // Docker runs as the caller, whatever the image says.
        let root = root || engine == Engine::Docker && options.is_empty() && host::is_root();
        let sandbox = Sandbox::new(engine).with_image(image);
        for (way, status) in ["run", "exec"].iter().zip(status(&sandbox, options)) {
            assert_eq!(set(&status, "CapBnd"), allowed_capabilities(), "{image} {options:?} by {way}");
            let expected = if root { allowed_capabilities() } else { 0 };
            assert_eq!(set(&status, "CapEff"), expected, "{image} {options:?} by {way}");
            assert_eq!(set(&status, "CapPrm"), expected, "{image} {options:?} by {way}");
            assert_eq!(set(&status, "CapAmb"), 0, "{image} {options:?} by {way}");
            // On a rootless engine the command may become root inside: that root is nobody outside.
            let rootless = engine == Engine::Podman && !host::is_root();
            let expected = if rootless || root { "0" } else { "1" };
            assert_eq!(status["NoNewPrivs"], expected, "{image} {options:?} by {way}");
        }
    }
}

fn a_container_keeps_the_filter_of_its_engine(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for options in [&[][..], &["--user", "root"]] {
        for status in status(&sandbox, options) {
            assert_eq!(status["Seccomp"], "2");
        }
    }
}

fn the_helper_cannot_be_changed_from_inside(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script =
        "echo x > /.cowbox/guest; rm -f /.cowbox/guest; mv /.cowbox /gone; echo x >> /.cowbox/guest; echo done";
    assert_eq!(inside(&sandbox, &["--user", "root"], script), "done\n");
    // It still is what later sessions start with.
    assert_eq!(inside(&sandbox, &[], "echo works"), "works\n");
}

const SUDO: &str = "sudo sh -c 'id -u; echo x > root.txt; mkdir -m 700 root.d; echo x > root.d/f; chmod 0 root.d/f; echo y >> README.md; rm build.sh'; id -u";

fn sudo_works_in_a_rootless_container_and_not_in_a_rootful_one(engine: Engine) {
    let sandbox = Sandbox::new(engine).with_image("debian");
    let output = sandbox.shell(&["--user", "agent"], SUDO).output();
    if host::is_root() {
        assert_eq!(output.ok().stdout(), "1000\n");
        assert!(sandbox.changes().is_empty());
        return;
    }
    output.prints("0\n1000\n").done();
    let expected = ["M  README.md", "D  build.sh", "A  root.d", "A  root.d/f", "A  root.txt"];
    assert_eq!(sandbox.changes(), expected);
    sandbox.cowbox(&["diff", "--json"]).output().done();
    let id = sandbox.session_ids().remove(0);
    sandbox.cowbox(&["discard", "-y"]).output().done();
    assert!(!sandbox.session_dir(&id).join("upper").exists());
}

fn sudo_does_not_work_with_the_daemon(engine: Engine) {
    let sandbox = Sandbox::new(engine).with_image("debian");
    let output = sandbox.shell(&["--user", "agent"], SUDO).output().ok();
    assert_eq!(output.stdout(), "1000\n", "{}", output.stderr());
    assert!(sandbox.changes().is_empty());
}

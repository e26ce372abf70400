//! What the command cannot reach: the host's files, processes, sockets, devices, kernel, and cowbox's own books.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use nix::libc;

use crate::common::{Engine, Output, Sandbox, on, on_containers, on_every_engine, wait_until};
use crate::host::{self, Bystander, Canary, in_namespace, outside, python};

on_every_engine!(
    the_namespaces_are_its_own,
    processes_of_the_host_cannot_be_seen_or_killed,
    nothing_outside_of_the_repo_is_written,
    the_kernels_levers_are_out_of_reach,
    there_are_only_harmless_devices,
    a_full_tmp_is_not_the_hosts,
    links_that_leave_the_repo_lead_to_nothing_writable,
    the_layers_cannot_be_reached_by_another_path,
    variables_of_the_host_are_nowhere_to_be_read,
    sockets_of_the_host_are_closed,
    abstract_sockets_of_the_host_are_closed,
    files_that_nobody_may_read_can_be_reviewed_and_discarded,
    special_files_do_not_hang_the_review,
    setuid_files_are_listed_with_their_mode,
    hard_links_are_no_changes_of_their_own,
    the_name_of_the_host_cannot_be_changed,
    a_background_process_does_not_outlive_its_session,
);

on_containers!(
    a_container_has_the_eight_capabilities_at_most,
    a_container_keeps_the_filter_of_its_engine,
    files_of_other_ids_can_be_reviewed_and_discarded,
    the_helper_cannot_be_changed_from_inside,
);

on!(podman: sudo_works_in_a_rootless_container_and_not_in_a_rootful_one);
on!(docker: sudo_does_not_work_with_the_daemon);

on!(native:
    there_is_no_capability_at_all,
    calls_that_leave_the_sandbox_are_refused,
    nothing_can_be_typed_into_the_terminal,
    the_first_process_cannot_be_traced,
    secrets_of_the_home_are_hidden,
    a_secret_behind_a_link_is_hidden_under_both_names,
    the_list_of_secrets_can_be_changed,
    the_home_is_copy_on_write_and_part_of_the_session,
    a_home_with_a_mount_inside_is_read_only_and_that_is_said,
    every_mount_is_without_setuid_and_only_private_ones_are_writable,
    sockets_with_blanks_in_their_names_are_closed,
    sockets_bound_by_a_relative_name_are_closed,
    open_files_of_the_caller_are_not_passed_on,
    user_attributes_are_kept_and_alone_are_a_change,
);

/// Runs a script and gives what it printed.
#[track_caller]
fn inside(sandbox: &Sandbox, options: &[&str], script: &str) -> String {
    sandbox.shell(options, script).output().ok().stdout()
}

/// Runs a python program in a native sandbox.
#[track_caller]
fn python_inside(sandbox: &Sandbox, options: &[&str], program: &str) -> Output {
    sandbox.run(options, &[python(), "-c", program]).output()
}

/// A session in the background that waits; its name is `it`.
#[track_caller]
fn background(sandbox: &Sandbox, options: &[&str]) {
    let options = [&["--detach", "--name", "it"], options].concat();
    sandbox.shell(&options, "while :; do sleep 1; done").output().done();
}

#[track_caller]
fn exec(sandbox: &Sandbox, script: &str) -> String {
    sandbox.cowbox(&["exec", "it", "--", "sh", "-c", script]).output().ok().stdout()
}

fn the_namespaces_are_its_own(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut names = vec!["pid", "ipc", "uts", "mnt", "net"];
    if engine == Engine::Native {
        names.extend(["user", "cgroup"]);
    }
    if engine == Engine::Podman && !host::is_root() {
        names.push("user");
    }
    let script: String = names.iter().map(|n| format!("readlink /proc/self/ns/{n};")).collect();
    background(&sandbox, &["--network", "none"]);
    let first = inside(&sandbox, &["--network", "none"], &script);
    let entered = exec(&sandbox, &script);
    for (n, (one, other)) in names.iter().zip(first.lines().zip(entered.lines())) {
        let ours = fs::read_link(format!("/proc/self/ns/{n}")).unwrap();
        assert_ne!(Path::new(one), ours, "{n} is the host's");
        assert_ne!(Path::new(other), ours, "{n} is the host's for exec");
        // All rootless containers of a user share the one that podman made for that user.
        assert!(one != other || *n == "user", "{n} is shared by two sessions");
    }
    sandbox.cowbox(&["stop", "it"]).output().done();
}

fn processes_of_the_host_cannot_be_seen_or_killed(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mark = format!("bystander-{}", sandbox.id());
    let mut bystander = Bystander::sleeping(&mark);
    let script = format!("cat /proc/[0-9]*/cmdline | tr '\\0' ' '; kill -9 {} 2>/dev/null; echo", bystander.pid());
    let output = sandbox.shell(&[], &script).output();
    assert!(!output.stdout().contains(&mark), "{}", output.stdout());
    assert!(!output.stdout().contains("/it "), "the tests themselves are seen: {}", output.stdout());
    assert!(bystander.is_alive());
    let script = "cat /proc/1/comm; ls -d /proc/[0-9]* | wc -l";
    let count: usize = inside(&sandbox, &[], script).lines().last().unwrap().trim().parse().unwrap();
    assert!(count < 8, "{count} processes");
}

/// Names in directories of the host that a broken sandbox would make there. These tests may run as root on somebody's
/// machine: nothing of the host's own is written, changed or removed even when they fail.
struct Marks(Vec<PathBuf>);

impl Marks {
    fn made(&self) -> Vec<&PathBuf> {
        self.0.iter().filter(|path| fs::symlink_metadata(path).is_ok()).collect()
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = fs::remove_file(path);
            let _ = fs::remove_dir(path);
        }
    }
}

fn nothing_outside_of_the_repo_is_written(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let real = outside();
    let home = sandbox.home().join("mine");
    for dir in [real.path(), &home] {
        fs::create_dir_all(dir.join("sub")).unwrap();
        fs::write(dir.join("canary"), "chirp\n").unwrap();
    }
    let canaries = [Canary::at(real.path()), Canary::at(&home)];
    let id = sandbox.id();
    let system =
        ["/", "/etc", "/usr", "/usr/bin", "/var", "/var/lib", "/opt", "/root", "/home", "/boot", "/srv", "/mnt"];
    let private = ["/tmp", "/var/tmp", "/dev/shm", "/run", "/dev"];
    let names = |dir: &&str| ["mark", "dir"].map(|name| Path::new(dir).join(format!("{id}-{name}")));
    let marks = Marks(system.iter().chain(&private).flat_map(names).collect());
    let mut script = String::new();
    for dir in [real.path(), &home] {
        let d = dir.display();
        script.push_str(&format!(
            "echo x > {d}/canary; echo x >> {d}/canary; rm -f {d}/canary; touch {d}/canary {d}/new; mkdir {d}/d; chmod 777 {d}; \
             mv {d}/sub {d}/bus; ln -s x {d}/link; rm -rf {d};\n"
        ));
    }
    for dir in system.iter().chain(&private) {
        script.push_str(&format!("echo x > {dir}/{id}-mark; mkdir {dir}/{id}-dir;\n"));
    }
    script.push_str("echo done");
    for options in [&[][..], &["--user", "root"]] {
        let output = sandbox.shell(options, &script).output();
        assert!(output.stdout().ends_with("done\n"), "{}", output.stderr());
    }
    canaries.iter().for_each(Canary::check);
    assert!(marks.made().is_empty(), "made on the host: {:?}", marks.made());
    if engine == Engine::Native {
        // There even the attempt fails, for root too: to make a name, to open a file, to set the mode that is set.
        let script: String = system
            .iter()
            .filter(|dir| Path::new(dir).is_dir())
            .map(|dir| {
                format!("(echo x > {dir}/{id}-mark) && echo {dir}; chmod $(stat -c %a {dir}) {dir} && echo {dir};")
            })
            .collect();
        let script = format!(
            "exec 2>/dev/null; {script} (: >> /etc/passwd) && echo passwd; (: >> /bin/sh) && echo sh; echo done"
        );
        for options in [&[][..], &["--user", "root"]] {
            assert_eq!(inside(&sandbox, options, &script), "done\n");
        }
    }
}

fn the_kernels_levers_are_out_of_reach(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    // Each of them harmless should it succeed: what is there is written back.
    let script = "try() { if ( eval \"$1\" ) 2>/dev/null; then echo \"possible: $1\"; fi; }
        for f in vm/swappiness kernel/randomize_va_space kernel/core_pattern kernel/hostname kernel/printk kernel/ns_last_pid; do
            try \"cat /proc/sys/$f > /proc/sys/$f\"; done
        try 'echo h > /proc/sysrq-trigger'
        for d in /sys/fs/cgroup/*/ /sys/kernel/config/; do try \"mkdir ${d}cowbox-it && rmdir ${d}cowbox-it\"; done
        h=/sys/kernel/mm/transparent_hugepage/enabled; now=$(sed 's/.*\\[//;s/\\].*//' $h)
        try \"[ -n '$now' ] && echo $now > $h\"
        try 'cat /sys/module/printk/parameters/time > /sys/module/printk/parameters/time'
        try 'head -c 1 /proc/kcore | grep -q .'
        try 'head -c 1 /dev/mem | grep -q .'
        try 'head -c 1 /dev/kmsg | grep -q .'
        try 'dmesg | grep -q .'
        try 'mount -t tmpfs none /tmp'
        try 'mount -o remount,rw /'
        try 'umount /proc'
        try 'mknod disk b 8 0 && head -c 1 disk'
        try 'mknod mem c 1 1 && head -c 1 mem'
        try 'chroot / true'
        try 'hostname $(hostname)'
        echo done";
    for options in [&[][..], &["--user", "root"]] {
        assert_eq!(inside(&sandbox, options, script), "done\n", "{options:?}");
    }
    let limits = || host::sh("cat /proc/sys/kernel/msgmax /proc/sys/kernel/shmmni /proc/sys/kernel/pid_max");
    let before = limits();
    let script = "cd /proc/sys/kernel; for f in msgmax shmmni pid_max; do echo $(($(cat $f) - 1)) > $f; done";
    let _ = sandbox.shell(&["--user", "root"], script).output();
    assert_eq!(limits(), before);
    if engine == Engine::Native {
        // And nothing else of /proc and /sys is writable, whoever asks: access(2) knows read-only mounts.
        let program = "import os
for top in ('/proc', '/sys'):
    for at, dirs, files in os.walk(top):
        if at == '/proc': dirs[:] = [d for d in dirs if not d.isdigit() and d not in ('self', 'thread-self')]
        for f in files:
            p = os.path.join(at, f)
            if not os.path.islink(p) and os.access(p, os.W_OK): print(p)";
        for options in [&[][..], &["--user", "root"]] {
            let found = python_inside(&sandbox, options, program).ok().stdout();
            // By mode anybody's, and the kernel refuses the write itself without a capability.
            let refused = |line: &str| line.starts_with("/proc/pressure/") || line == "/proc/sys/kernel/ns_last_pid";
            // What belongs to a namespace is its own root's to set.
            let own = |line: &str| {
                let name = line.trim_start_matches("/proc/sys/");
                ["fs/mqueue/", "kernel/msg", "kernel/sem", "kernel/shm", "kernel/auto_msgmni", "kernel/pid_max"]
                    .iter()
                    .any(|own| name.starts_with(own))
            };
            let found: Vec<&str> = found.lines().filter(|l| !refused(l) && (options.is_empty() || !own(l))).collect();
            assert!(found.is_empty(), "{options:?}: writable {found:?}");
        }
    }
}

fn there_are_only_harmless_devices(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    assert_eq!(inside(&sandbox, &[], "find /dev -type b"), "");
    let found = inside(&sandbox, &[], "find /dev -type c");
    let harmless = ["null", "zero", "full", "random", "urandom", "tty", "console", "ptmx", "pts/ptmx"];
    for device in found.lines() {
        let name = device.trim_start_matches("/dev/");
        assert!(harmless.contains(&name) || name.starts_with("pts/"), "{device}");
    }
    // They work, and belong to this sandbox alone.
    let script = "echo x > /dev/null; head -c 2 /dev/zero | wc -c; head -c 2 /dev/urandom | wc -c; echo shm > /dev/shm/x; cat /dev/shm/x";
    assert_eq!(inside(&sandbox, &[], script), "2\n2\nshm\n");
}

fn a_full_tmp_is_not_the_hosts(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let name = format!("fill-{}", sandbox.id());
    // The tiny image has no /var.
    let places: &[&str] =
        if engine == Engine::Native { &["/tmp", "/var/tmp", "/dev/shm"] } else { &["/tmp", "/dev/shm"] };
    for place in places {
        let script = format!("head -c 3000000 /dev/zero > {place}/{name} && wc -c < {place}/{name}");
        assert_eq!(inside(&sandbox, &[], &script), "3000000\n");
        assert!(!Path::new(place).join(&name).exists());
        // It is gone with the sandbox.
        assert_eq!(inside(&sandbox, &[], &format!("ls {place}/{name} 2>/dev/null; echo")), "\n");
    }
}

fn links_that_leave_the_repo_lead_to_nothing_writable(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let real = outside();
    let beside = sandbox.home().join("beside");
    for dir in [real.path(), &beside] {
        fs::create_dir_all(dir).unwrap();
        fs::write(dir.join("file"), "chirp\n").unwrap();
    }
    symlink(real.path(), sandbox.repo().join("absolute")).unwrap();
    symlink("../beside", sandbox.repo().join("relative")).unwrap();
    symlink(real.path().join("file"), sandbox.repo().join("to-file")).unwrap();
    symlink("../../../../../../../../etc", sandbox.repo().join("up")).unwrap();
    symlink("/proc/1/root", sandbox.repo().join("proc")).unwrap();
    let canaries = [Canary::at(real.path()), Canary::at(&beside)];
    let id = sandbox.id();
    let marks = Marks(vec![Path::new("/etc").join(id)]);
    let script = format!(
        "for d in absolute relative proc{0}; do echo x >> $d/file; rm -f $d/file; done
         for d in absolute relative up proc/etc proc{0}; do echo x > $d/{id}; done
         echo x >> to-file; ln -f to-file hard; echo x >> hard; cp -r /proc/self/cwd/absolute copy; echo done",
        real.path().display()
    );
    for options in [&[][..], &["--user", "root"]] {
        assert!(sandbox.shell(options, &script).output().stdout().ends_with("done\n"));
    }
    canaries.iter().for_each(Canary::check);
    assert!(marks.made().is_empty(), "made on the host: {:?}", marks.made());
    if engine == Engine::Native {
        assert_eq!(inside(&sandbox, &["--user", "root"], "(: >> up/passwd) 2>/dev/null && echo open; echo"), "\n");
    }
    // Links that the command itself makes are changes like any other: nothing follows them.
    let script = format!("rm -rf src; ln -s {} src; ln -s /etc/shadow shadow", real.path().display());
    sandbox.sh(&script).done();
    let changes = sandbox.changes();
    for line in ["A  shadow", "T  src", "D  src/main.c"] {
        assert!(changes.iter().any(|c| c == line), "{line} in {changes:?}");
    }
    assert!(!changes.iter().any(|c| c.ends_with("src/file")), "a link was followed: {changes:?}");
}

fn the_layers_cannot_be_reached_by_another_path(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let state = sandbox.state();
    let cache = sandbox.cache();
    let uid = rustix::process::geteuid().as_raw();
    background(&sandbox, &[]);
    let script = format!(
        "for p in {state} {cache} /var/tmp/cowbox-{uid} $(tr ',: ' '\\n\\n\\n' < /proc/self/mountinfo | grep -E '^(upper|work)dir=.*{id}' | cut -d= -f2) \
             /proc/1/root{state} /proc/1/cwd/../.local/state /proc/self/root{state}; do
             ls -A $p 2>/dev/null | sed \"s|^|$p: |\"
         done; echo x > {state}/planted; mkdir -p {state}/sessions/planted; echo done",
        state = state.display(),
        cache = cache.display(),
        // Root sees the mounts of other people's containers too.
        id = sandbox.id(),
    );
    for seen in [inside(&sandbox, &[], &script), exec(&sandbox, &script)] {
        // Fresh directories may be shown; what is in the host's may not.
        let leaks: Vec<&str> = seen.lines().filter(|l| *l != "done" && !l.contains("planted")).collect();
        assert!(leaks.is_empty(), "{leaks:?}");
    }
    assert!(!state.join("planted").exists() && !state.join("sessions/planted").exists());
    sandbox.cowbox(&["stop", "it"]).output().done();
}

fn variables_of_the_host_are_nowhere_to_be_read(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let secret = "hunter2-the-secret";
    let script = "env; cat /proc/*/environ /proc/*/cmdline /proc/*/task/*/environ 2>/dev/null | tr '\\0' '\\n'; \
                  cat /run/*env* /run/.*env* /.dockerenv 2>/dev/null; echo done";
    let call = |call: crate::common::Cowbox| {
        call.env("AWS_SECRET_ACCESS_KEY", secret).env("SSH_AUTH_SOCK", "/run/agent-the-secret")
    };
    let seen = call(sandbox.shell(&["--detach", "--name", "it"], "while :; do sleep 1; done")).output().ok();
    assert!(!seen.stdout().contains(secret));
    for output in [
        call(sandbox.shell(&[], script)).output().ok(),
        call(sandbox.cowbox(&["exec", "it", "--", "sh", "-c", script])).output().ok(),
    ] {
        assert!(output.stdout().ends_with("done\n"));
        assert!(!output.stdout().contains("the-secret"), "{}", output.stdout());
        assert!(!output.stdout().contains("COWBOX_TEST_ID"), "{}", output.stdout());
    }
    sandbox.cowbox(&["stop", "it"]).output().done();
}

/// A program of perl, which every image with Debian in it has: connects to each path, and prints those that answer.
const CONNECT: &str = r#"use Socket; for my $p (@ARGV) { $p =~ s/^@/\0/; socket(my $s, AF_UNIX, SOCK_STREAM, 0);
    if (connect($s, sockaddr_un($p))) { $p =~ s/^\0/@/; print "reached $p\n" } } print "done\n""#;

/// What of these sockets can be reached from inside, by `run` and by `exec`.
#[track_caller]
fn reached(sandbox: &Sandbox, options: &[&str], sockets: &[&str]) {
    let perl = [&["perl", "-e", CONNECT], sockets].concat();
    background(sandbox, options);
    let entered = [&["exec", "it", "--"], &perl[..]].concat();
    for output in [sandbox.run(options, &perl).output(), sandbox.cowbox(&entered).output()] {
        output.prints("done\n").done();
    }
    sandbox.cowbox(&["stop", "it"]).output().done();
}

/// Outside they do answer, or the test would prove nothing.
#[track_caller]
fn answers(socket: &str) {
    let said = std::process::Command::new("perl").args(["-e", CONNECT, socket]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), format!("reached {socket}\ndone\n"));
}

fn sockets_of_the_host_are_closed(engine: Engine) {
    let sandbox = Sandbox::new(engine).with_image("debian");
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let scratch = |dir: PathBuf| tempfile::Builder::new().prefix(sandbox.id()).tempdir_in(dir).unwrap();
    let dirs: Vec<tempfile::TempDir> = [Some(sandbox.home()), Some("/tmp".into()), Some("/var/tmp".into()), runtime]
        .into_iter()
        .flatten()
        .map(scratch)
        .chain([outside()])
        .collect();
    let paths: Vec<PathBuf> = dirs.iter().map(|dir| dir.path().join("agent.sock")).collect();
    let _listeners: Vec<UnixListener> = paths.iter().map(|p| UnixListener::bind(p).unwrap()).collect();
    let mut names: Vec<String> = paths.iter().map(|p| p.to_str().unwrap().to_owned()).collect();
    // The door to being root: a daemon that starts containers.
    let docker = std::env::var("DOCKER_HOST").ok().and_then(|h| h.strip_prefix("unix://").map(str::to_owned));
    names.extend(docker.filter(|p| Path::new(p).exists()));
    names.iter().for_each(|n| answers(n));
    reached(&sandbox, &[], &names.iter().map(String::as_str).collect::<Vec<_>>());
}

/// The kernel's list of sockets is text, with blanks between its columns.
fn sockets_with_blanks_in_their_names_are_closed(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let real = outside();
    let path = real.path().join("an agent's socket ");
    let _listener = UnixListener::bind(&path).unwrap();
    answers(path.to_str().unwrap());
    reached(&sandbox, &[], &[path.to_str().unwrap()]);
}

/// And it has names as they were given to bind(2).
fn sockets_bound_by_a_relative_name_are_closed(engine: Engine) {
    struct Daemon(std::process::Child);
    impl Drop for Daemon {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
    let sandbox = Sandbox::new(engine);
    let real = outside();
    let program = "import socket, time, os; s = socket.socket(socket.AF_UNIX); s.bind('agent.sock'); s.listen(); \
                   os.rename('agent.sock', 'agent'); time.sleep(600)";
    let mut command = std::process::Command::new(python());
    let _daemon = Daemon(command.args(["-c", program]).current_dir(real.path()).spawn().unwrap());
    // Daemons also bind under one name and rename it when they listen.
    let path = real.path().join("agent");
    wait_until("the daemon to listen", || path.exists().then_some(()));
    answers(path.to_str().unwrap());
    reached(&sandbox, &[], &[path.to_str().unwrap()]);
}

fn abstract_sockets_of_the_host_are_closed(engine: Engine) {
    use std::os::linux::net::SocketAddrExt;
    if engine == Engine::Native && !cowbox::sys::landlock::can_scope() {
        // Older kernels cannot; `doctor` says so.
        return;
    }
    let sandbox = Sandbox::new(engine).with_image("debian");
    let address = SocketAddr::from_abstract_name(sandbox.id()).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    let name = format!("@{}", sandbox.id());
    answers(&name);
    reached(&sandbox, &["--network", "full"], &[&name]);
}

/// Files and directories that are closed even to their owner.
fn files_that_nobody_may_read_can_be_reviewed_and_discarded(engine: Engine) {
    for options in [&[][..], &["--user", "root"]] {
        let sandbox = Sandbox::new(engine);
        let script = "set -e; mkdir -p closed/in; echo x > closed/in/f; ln -s f closed/in/l; echo secret > file; echo y > README.md
            rm build.sh; rm -r src/deep; mkdir src/deep
            chmod 0 closed/in/f closed/in closed file README.md src/deep src";
        sandbox.shell(options, script).output().done();
        let changes = sandbox.changes();
        let expected = [
            "M  README.md",
            "D  build.sh",
            "A  closed",
            "A  closed/in",
            "A  closed/in/f",
            "A  closed/in/l",
            "A  file",
            "M  src",
            "M  src/deep",
            "D  src/deep/er",
            "D  src/deep/er/leaf",
        ];
        assert_eq!(changes, expected, "{options:?}");
        let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
        assert!(json["digest"].as_str().unwrap().starts_with("sha256:"));
        let file = json["changes"].as_array().unwrap().iter().find(|c| c["path"] == "file").unwrap();
        assert_eq!((&file["new"]["mode"], &file["new"]["size"]), (&"0000".into(), &7.into()));
        // Looking again, and going on, is possible.
        assert_eq!(sandbox.changes(), expected);
        let id = sandbox.session_ids().remove(0);
        sandbox
            .cowbox(&["run", "--resume", &id, "--", "sh", "-c", "chmod 700 closed; ls closed"])
            .output()
            .prints("in\n")
            .done();
        sandbox.cowbox(&["discard", "-y"]).output().done();
        assert!(!sandbox.session_dir(&id).join("upper").exists());
    }
}

/// Root inside gives files to others and closes them: sub-ids with podman, anybody with docker.
fn files_of_other_ids_can_be_reviewed_and_discarded(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "set -e; mkdir -p other/in; echo x > other/in/f; echo y > plain; rm -r src
        chown -R 7:7 other; chown 8 plain; chmod 0 other/in/f other/in other plain; chmod 4755 README.md; chown 9:9 README.md; ls -ln > /dev/null";
    sandbox.shell(&["--user", "root"], script).output().done();
    let id = sandbox.session_ids().remove(0);
    let changes = sandbox.changes();
    for line in ["A  other", "A  other/in", "A  other/in/f", "A  plain", "D  src", "D  src/main.c"] {
        assert!(changes.iter().any(|c| c == line), "{line} in {changes:?}");
    }
    assert_eq!(sandbox.changes(), changes, "the same answer again");
    sandbox.cowbox(&["diff", "--json"]).output().done();
    sandbox.cowbox(&["discard", "-y"]).output().done();
    assert!(!sandbox.session_dir(&id).join("upper").exists() && !sandbox.session_dir(&id).join("work").exists());
    sandbox.cowbox(&["gc"]).output().done();
    assert!(sandbox.session_ids().is_empty());
}

fn special_files_do_not_hang_the_review(engine: Engine) {
    let sandbox = Sandbox::new(engine).with_image("debian");
    let script = r#"set -e; mkfifo pipe; rm README.md; mkfifo README.md; mkdir d; mkfifo d/pipe
        perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un("socket")) or die; chmod 0777, "socket"'
        if mknod null c 1 3 2>/dev/null; then rm null; fi
        ln -s /dev/zero endless; ln -s loop loop; truncate -s 1T sparse"#;
    sandbox.sh(script).done();
    let expected = ["T  README.md", "A  d", "A  d/pipe", "A  endless", "A  loop", "A  pipe", "A  socket", "A  sparse"];
    assert_eq!(sandbox.changes(), expected);
    let name = sandbox.only_record()["name"].as_str().unwrap().to_owned();
    // A terabyte of nothing is not worth hashing here.
    let resumed = sandbox.cowbox(&["run", "--resume", &name, "--", "rm", "sparse"]).output();
    resumed.done();
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    assert_eq!(json["summary"]["special"], 4, "{json}");
    let types: BTreeMap<&str, &str> = json["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (c["path"].as_str().unwrap(), c["new"]["type"].as_str().unwrap()))
        .collect();
    assert_eq!(
        (types["pipe"], types["socket"], types["README.md"], types["loop"]),
        ("fifo", "socket", "fifo", "symlink")
    );
}

fn setuid_files_are_listed_with_their_mode(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox
        .sh("cp build.sh su; chmod 6755 su; chmod 4755 build.sh; mkdir -m 3777 dir; ls -l su | cut -c1-10")
        .prints("-rwsr-sr-x\n")
        .done();
    assert_eq!(sandbox.changes(), ["M  build.sh", "A  dir", "A  su"]);
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    let modes: Vec<&str> =
        json["changes"].as_array().unwrap().iter().map(|c| c["new"]["mode"].as_str().unwrap()).collect();
    assert_eq!(modes, ["4755", "3777", "6755"]);
    assert_eq!(json["changes"][0]["kind"], "mode-changed");
}

fn hard_links_are_no_changes_of_their_own(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("one", "x\n");
    fs::hard_link(sandbox.repo().join("one"), sandbox.repo().join("two")).unwrap();
    // Each of these copies a file up; only some change it.
    let script = "set -e; ln README.md hard; ln hard harder; touch build.sh; chmod 700 src/main.c; chmod 644 src/main.c
        : >> src/deep/er/leaf; echo more >> one; cat two";
    sandbox.sh(script).prints("x\n").done();
    assert_eq!(sandbox.changes(), ["A  hard", "A  harder", "M  one"]);
}

fn the_name_of_the_host_cannot_be_changed(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let before = host::sh("uname -n");
    let _ = sandbox.shell(&["--user", "root"], "hostname evil; echo evil > /proc/sys/kernel/hostname").output();
    let after = host::sh("uname -n");
    if after != before {
        let _ = nix::unistd::sethostname(before.trim());
    }
    assert_eq!(after, before);
}

fn a_background_process_does_not_outlive_its_session(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "(trap '' HUP TERM INT; while :; do echo x >> ticks; sleep 0.1; done) >/dev/null 2>&1 & \
                  setsid sh -c 'while :; do sleep 1; done' >/dev/null 2>&1 & sleep 0.3; echo up";
    sandbox.sh(script).prints("up\n").done();
    let ticks = sandbox.session_dir(&sandbox.session_ids()[0]).join("upper/ticks");
    let size = fs::metadata(&ticks).unwrap().size();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(fs::metadata(&ticks).unwrap().size(), size, "something still writes to a stopped session");
    sandbox.check_leftovers();
}

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

/// Every call that could lead out of a native sandbox, and what it must answer.
fn calls_that_leave_the_sandbox_are_refused(engine: Engine) {
    let flags: i64 = [libc::CLONE_NEWNS, libc::CLONE_NEWPID].iter().map(|f| i64::from(*f)).sum();
    let mut calls: Vec<(String, i64, Vec<i64>, &str)> = Vec::new();
    let mut add = |name: &str, number: libc::c_long, arguments: &[i64], answer: &'static str| {
        calls.push((name.to_owned(), number, arguments.to_vec(), answer));
    };
    for (name, flag) in [
        ("user", libc::CLONE_NEWUSER),
        ("mount", libc::CLONE_NEWNS),
        ("pid", libc::CLONE_NEWPID),
        ("net", libc::CLONE_NEWNET),
        ("ipc", libc::CLONE_NEWIPC),
        ("uts", libc::CLONE_NEWUTS),
        ("cgroup", libc::CLONE_NEWCGROUP),
    ] {
        add(&format!("unshare {name}"), libc::SYS_unshare, &[i64::from(flag)], "EPERM");
        add(&format!("clone {name}"), libc::SYS_clone, &[i64::from(flag | libc::SIGCHLD), 0, 0, 0, 0], "EPERM");
    }
    add("unshare several", libc::SYS_unshare, &[i64::from(libc::CLONE_NEWUSER) | flags], "EPERM");
    // The kernel looks at half of the register; so must the filter.
    add("unshare high bits", libc::SYS_unshare, &[i64::from(libc::CLONE_NEWUSER) | 1 << 40], "EPERM");
    add("clone3", libc::SYS_clone3, &[0, 0], "ENOSYS");
    add("setns", libc::SYS_setns, &[0, 0], "EPERM");
    for (name, number) in [
        ("mount", libc::SYS_mount),
        ("umount2", libc::SYS_umount2),
        ("pivot_root", libc::SYS_pivot_root),
        ("chroot", libc::SYS_chroot),
        ("open_tree", libc::SYS_open_tree),
        ("move_mount", libc::SYS_move_mount),
        ("fsopen", libc::SYS_fsopen),
        ("fsconfig", libc::SYS_fsconfig),
        ("fsmount", libc::SYS_fsmount),
        ("fspick", libc::SYS_fspick),
        ("mount_setattr", libc::SYS_mount_setattr),
        ("keyctl", libc::SYS_keyctl),
        ("add_key", libc::SYS_add_key),
        ("request_key", libc::SYS_request_key),
        ("bpf", libc::SYS_bpf),
        ("perf_event_open", libc::SYS_perf_event_open),
        ("userfaultfd", libc::SYS_userfaultfd),
        ("init_module", libc::SYS_init_module),
        ("finit_module", libc::SYS_finit_module),
        ("kexec_load", libc::SYS_kexec_load),
        ("open_by_handle_at", libc::SYS_open_by_handle_at),
        ("swapon", libc::SYS_swapon),
        ("settimeofday", libc::SYS_settimeofday),
        ("syslog", libc::SYS_syslog),
        ("reboot", libc::SYS_reboot),
        ("quotactl", libc::SYS_quotactl),
    ] {
        add(name, number, &[0, 0, 0, 0, 0], "EPERM");
    }
    // With arguments that no kernel takes, should they get through.
    add("sethostname", libc::SYS_sethostname, &[0, -1], "EPERM");
    add("acct", libc::SYS_acct, &[1], "EPERM");
    add("io_uring_setup", libc::SYS_io_uring_setup, &[1, 0], "ENOSYS");
    #[cfg(target_arch = "x86_64")]
    add("x32 getpid", libc::SYS_getpid | 0x4000_0000, &[], "ENOSYS");

    let mut program = String::from(
        "import ctypes, errno, os, signal, mmap
libc = ctypes.CDLL(None, use_errno=True)
def call(name, number, arguments, answer):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in arguments])
    if result == 0 and name.startswith('clone'): os._exit(0)
    got = 'it worked' if result != -1 else errno.errorcode[ctypes.get_errno()]
    if got != answer: print(name, got, flush=True)
",
    );
    for (name, number, arguments, answer) in &calls {
        program.push_str(&format!("call({name:?}, {number}, {arguments:?}, {answer:?})\n"));
    }
    if cfg!(target_arch = "x86_64") {
        // The calls of 32-bit programs have numbers of their own: getpid by `int 0x80`.
        program.push_str(
            "code = mmap.mmap(-1, 4096, prot=7); code.write(bytes.fromhex('b814000000cd80c3'))
pid = os.fork()
if pid == 0:
    r = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
    os._exit(0 if r > 0 else 1)
status = os.waitpid(pid, 0)[1]
if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0: print('the calls of 32-bit programs are open')
",
        );
    }
    program.push_str("print('done')");
    let sandbox = Sandbox::new(engine);
    for options in [&["--name", "plain"][..], &["--user", "root", "--name", "root"]] {
        python_inside(&sandbox, options, &program).prints("done\n").done();
    }
    background(&sandbox, &[]);
    sandbox.cowbox(&["exec", "it", "--", python(), "-c", &program]).output().prints("done\n").done();
    sandbox.cowbox(&["stop", "it"]).output().done();
}

fn nothing_can_be_typed_into_the_terminal(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let program = format!(
        "import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
text = ctypes.create_string_buffer(b'x')
for name, code in (('TIOCSTI', {sti}), ('TIOCLINUX', {linux})):
    for high in (0, 1 << 32, 0xffffffff << 32):
        for fd in (0, 1, 2, os.open('/dev/tty', os.O_RDWR)):
            ctypes.set_errno(0)
            r = libc.syscall(ctypes.c_long({ioctl}), ctypes.c_long(fd), ctypes.c_ulong(code | high), text)
            if r != -1 or ctypes.get_errno() != errno.EPERM: print('OPEN', name, r, errno.errorcode.get(ctypes.get_errno()))
print('a terminal' if os.isatty(0) else 'no terminal')
print('all ' + 'tried')",
        sti = 0x5412,
        linux = 0x541c,
        ioctl = libc::SYS_ioctl,
    );
    let mut terminal = sandbox.run(&[], &[python(), "-c", &program]).terminal(24, 80);
    terminal.expect("all tried");
    assert_eq!(terminal.wait(), 0);
    assert!(terminal.screen().contains("a terminal") && !terminal.screen().contains("OPEN"), "{}", terminal.screen());
}

fn the_first_process_cannot_be_traced(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let program = format!(
        "import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, function):
    try:
        got = function()
        if got != -1: print(name, 'worked')
    except OSError as e:
        if e.errno not in (errno.EPERM, errno.EACCES): print(name, errno.errorcode[e.errno])
attempt('attach', lambda: libc.ptrace(16, 1, 0, 0))
attempt('seize', lambda: libc.ptrace(0x4206, 1, 0, 0))
for f in ('mem', 'environ', 'maps', 'auxv'):
    attempt(f, lambda: len(open('/proc/1/' + f, 'rb').read(1)) and 1)
for f in ('root', 'cwd', 'exe', 'fd/0', 'ns/mnt'):
    attempt(f, lambda: len(os.readlink('/proc/1/' + f)) and 1)
attempt('getfd', lambda: libc.syscall({getfd}, libc.syscall({open}, 1, 0), 0, 0))
print('done')",
        getfd = libc::SYS_pidfd_getfd,
        open = libc::SYS_pidfd_open,
    );
    for options in [&[][..], &["--user", "root"]] {
        python_inside(&sandbox, options, &program).prints("done\n").done();
    }
}

/// The secrets of the issue, and what is in them.
const SECRETS: [&str; 20] = [
    ".ssh/id_ed25519",
    ".gnupg/private-keys-v1.d/key",
    ".aws/credentials",
    ".azure/token",
    ".kube/config",
    ".netrc",
    ".git-credentials",
    ".config/gcloud/credentials.db",
    ".config/gh/hosts.yml",
    ".docker/config.json",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials.toml",
    ".mozilla/firefox/x.default/cookies.sqlite",
    ".config/google-chrome/Default/Cookies",
    ".config/chromium/Default/Cookies",
    ".local/share/keyrings/login.keyring",
    ".bash_history",
    ".zsh_history",
    ".python_history",
];

fn put(home: &Path, path: &str, content: &str) {
    let file = home.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, content).unwrap();
}

fn secrets_of_the_home_are_hidden(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let home = sandbox.home();
    SECRETS.iter().for_each(|path| put(&home, path, "chirp\n"));
    put(&home, ".gitconfig", "[user]\n\tname = me\n");
    put(&home, ".docker/other", "not secret\n");
    let canary = Canary::at(&home.join(".ssh"));
    background(&sandbox, &[]);
    let h = home.display();
    let script = format!(
        "cd {h} && grep -rl chirp . ; cat .gitconfig .docker/other; ls -A .ssh .gnupg 2>/dev/null; cat .ssh/id_ed25519 .netrc 2>/dev/null; \
         echo planted > .ssh/authorized_keys; rm -rf .ssh .netrc; mv .config moved; cat moved/gcloud/* 2>/dev/null; echo done"
    );
    for seen in
        [inside(&sandbox, &[], &script), exec(&sandbox, &script), inside(&sandbox, &["--user", "root"], &script)]
    {
        assert!(
            !seen.contains("chirp") && !SECRETS.iter().any(|s| seen.contains(s.rsplit('/').next().unwrap())),
            "{seen}"
        );
        assert!(seen.contains("name = me") && seen.contains("not secret"), "the rest is there: {seen}");
    }
    canary.check();
    sandbox.cowbox(&["stop", "it"]).output().done();
}

fn a_secret_behind_a_link_is_hidden_under_both_names(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let home = sandbox.home();
    let real = outside();
    put(&home, "dotfiles/ssh/id_rsa", "chirp\n");
    put(real.path(), "netrc", "chirp\n");
    symlink("dotfiles/ssh", home.join(".ssh")).unwrap();
    symlink(real.path().join("netrc"), home.join(".netrc")).unwrap();
    symlink("nowhere", home.join(".aws")).unwrap();
    let script = format!(
        "cd {}; cat .ssh/id_rsa dotfiles/ssh/id_rsa .netrc {}/netrc 2>/dev/null; echo done",
        home.display(),
        real.path().display()
    );
    assert_eq!(inside(&sandbox, &[], &script), "done\n");
}

fn the_list_of_secrets_can_be_changed(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let home = sandbox.home();
    let real = outside();
    put(&home, ".ssh/id_rsa", "ssh\n");
    put(&home, "work notes/n", "notes\n");
    put(real.path(), "private/p", "private\n");
    let script = format!(
        "cd {}; cat .ssh/id_rsa 'work notes/n' {}/private/p 2>/dev/null; echo done",
        home.display(),
        real.path().display()
    );
    assert_eq!(inside(&sandbox, &[], &script), "notes\nprivate\ndone\n");
    let absolute = real.path().join("private");
    sandbox.configure(&format!("[native]\nmask-more = [\"work notes\", \"{}\", \"no/such\"]\n", absolute.display()));
    assert_eq!(inside(&sandbox, &[], &script), "done\n");
    sandbox.configure("[native]\nmask = [\"work notes\"]\n");
    assert_eq!(inside(&sandbox, &[], &script), "ssh\nprivate\ndone\n");
    sandbox.configure("[native]\nmask = []\n");
    assert_eq!(inside(&sandbox, &[], &script), "ssh\nnotes\nprivate\ndone\n");
    // cowbox's own books are no matter of taste.
    let script = format!("ls -A {}", sandbox.state().display());
    assert_eq!(inside(&sandbox, &[], &script), "");
}

fn the_home_is_copy_on_write_and_part_of_the_session(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let home = sandbox.home();
    put(&home, ".profile", "mine\n");
    put(&home, "tools/tool", "tool\n");
    let canaries = [Canary::at(&home.join(".profile")), Canary::at(&home.join("tools"))];
    background(&sandbox, &[]);
    assert_eq!(
        exec(
            &sandbox,
            "cat ~/.profile; echo new >> ~/.profile; echo x > ~/made; rm -r ~/tools; mkdir -p ~/.cache/pip; echo $HOME"
        ),
        format!("mine\n{}\n", home.display())
    );
    assert_eq!(exec(&sandbox, "cat ~/.profile ~/made; ls ~/tools 2>/dev/null; echo"), "mine\nnew\nx\n\n");
    sandbox.cowbox(&["stop", "it"]).output().done();
    let id = sandbox.session_ids().remove(0);
    let resumed = sandbox.cowbox(&["run", "--resume", "it", "--", "sh", "-c", "cat ~/.profile ~/made"]);
    resumed.output().prints("mine\nnew\nx\n").done();
    canaries.iter().for_each(Canary::check);
    assert!(!home.join("made").exists());
    assert!(sandbox.changes().is_empty(), "the home is no part of the repo");
    // Another session has a home of its own.
    assert_eq!(inside(&sandbox, &[], "cat ~/.profile; ls ~/made 2>/dev/null; echo"), "mine\n\n");
    sandbox.cowbox(&["discard", "-y", "it"]).output().done();
    let uid = rustix::process::geteuid().as_raw();
    assert!(!Path::new(&format!("/var/tmp/cowbox-{uid}/{id}")).exists());
}

fn a_home_with_a_mount_inside_is_read_only_and_that_is_said(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let home = outside();
    let at = home.path().join("network drive");
    fs::create_dir(&at).unwrap();
    put(home.path(), ".profile", "mine\n");
    put(home.path(), ".ssh/id_rsa", "chirp\n");
    let script = "cat ~/.profile; cat ~/.ssh/id_rsa 2>/dev/null; (echo x > ~/new) 2>/dev/null || echo refused; echo x > in-repo; cat in-repo";
    let run = sandbox.shell(&["--on-exit", "discard"], script).env("HOME", home.path());
    let output = in_namespace(run, &format!("mount -t tmpfs none '{}'", at.display())).output();
    output.says("your home is shown read-only").prints("mine\nrefused\nx\n").done();
    assert!(!home.path().join("new").exists());
}

fn every_mount_is_without_setuid_and_only_private_ones_are_writable(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let repo = sandbox.repo().to_str().unwrap().to_owned();
    let home = sandbox.home().to_str().unwrap().to_owned();
    for options in [&[][..], &["--user", "root"]] {
        let table = inside(&sandbox, options, "cat /proc/self/mountinfo");
        // Of several mounts at one place only the last is seen.
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        for line in table.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            seen.insert(fields[4].to_owned(), fields[5].to_owned());
        }
        for (at, flags) in &seen {
            let has = |flag: &str| flags.split(',').any(|f| f == flag);
            let device = at.starts_with("/dev/") && at != "/dev/pts" && at != "/dev/shm";
            assert!(has("nosuid") || device, "{at} {flags}");
            assert!(has("nodev") || device || at == "/dev/pts", "{at} {flags}");
            let private = ["/tmp", "/var/tmp", "/run", "/dev", "/dev/pts", "/dev/shm", "/proc", &repo, &home];
            assert!(has("ro") || device || private.contains(&at.as_str()), "{at} is writable: {flags}");
        }
    }
    // A program with the bit, of root's, gives nothing.
    let su = host::sh(
        "for f in /usr/bin/su /bin/su /usr/bin/passwd /usr/bin/newuidmap; do [ -u $f ] && echo $f && break; done",
    );
    assert!(!su.is_empty());
    let script = format!("{} --help >/dev/null 2>&1; grep -E 'CapEff|Uid' /proc/self/status", su.trim());
    assert!(inside(&sandbox, &[], &script).contains("CapEff:\t0000000000000000"));
}

fn open_files_of_the_caller_are_not_passed_on(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let real = outside();
    fs::write(real.path().join("file"), "chirp\n").unwrap();
    let canary = Canary::at(real.path());
    let script =
        "ls /proc/self/fd | wc -l; cat <&7 2>/dev/null; echo x >&8; ls /proc/self/fd/9/ 2>/dev/null; echo done";
    let open = format!("exec 7<{0}/file 8>>{0}/file 9<{0}; exec \"$@\"", real.path().display());
    background(&sandbox, &[]);
    for call in [sandbox.run(&[], &["bash", "-c", script]), sandbox.cowbox(&["exec", "it", "--", "bash", "-c", script])]
    {
        // Three streams, and the directory that ls reads.
        call.through(&open).output().prints("4\ndone\n").done();
    }
    canary.check();
    sandbox.cowbox(&["stop", "it"]).output().done();
}

fn user_attributes_are_kept_and_alone_are_a_change(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let set = |path: &Path, name: &str, value: &str| {
        rustix::fs::setxattr(path, name, value.as_bytes(), rustix::fs::XattrFlags::empty()).unwrap();
    };
    set(&sandbox.repo().join("README.md"), "user.kept", "1");
    set(&sandbox.repo().join("src"), "user.dir", "1");
    let program = "import os
os.utime('README.md'); open('README.md', 'a').close()
os.setxattr('build.sh', 'user.new', b'1')
os.setxattr('src/main.c', 'user.x', b'1'); os.removexattr('src/main.c', 'user.x')
os.setxattr('src/deep', 'user.x', b'1')
open('src/new', 'w').write('x')
for name in ('user.overlay.opaque', 'user.overlay.redirect', 'user.overlay.whiteout', 'user.overlay.metacopy'):
    for path in ('src', 'src/deep/er/leaf'):
        try: os.setxattr(path, name, b'y')
        except OSError: pass
print(os.getxattr('README.md', 'user.kept'), os.getxattr('src', 'user.dir'))";
    python_inside(&sandbox, &[], program).prints("b'1' b'1'\n").done();
    // Marks of an overlay that the command sets itself are no marks.
    assert_eq!(sandbox.changes(), ["M  build.sh", "M  src/deep", "A  src/new"]);
}

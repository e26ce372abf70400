//! What the command cannot reach: namespaces, processes, devices and settings of the host.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::common::{Engine, Sandbox, on_every_engine};
use crate::host::{self, Bystander};
use crate::inside::{background, exec, inside, python_inside};

on_every_engine!(
    the_namespaces_are_its_own,
    processes_of_the_host_cannot_be_seen_or_killed,
    the_kernels_levers_are_out_of_reach,
    there_are_only_harmless_devices,
    the_name_of_the_host_cannot_be_changed,
    a_background_process_does_not_outlive_its_session,
);

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

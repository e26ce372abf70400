//! What the command cannot reach: files of the host, by any path, link, mount or open descriptor.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::common::{Engine, Sandbox, on, on_every_engine};
use crate::host::{self, Canary, outside};
use crate::inside::{background, exec, inside};

on_every_engine!(
    nothing_outside_of_the_repo_is_written,
    a_full_tmp_is_not_the_hosts,
    links_that_leave_the_repo_lead_to_nothing_writable,
    the_layers_cannot_be_reached_by_another_path,
);

on!(native:
    every_mount_is_without_setuid_and_only_private_ones_are_writable,
    open_files_of_the_caller_are_not_passed_on,
);

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
        "for p in {state} {cache} /var/tmp/cowbox-{uid} /var/tmp/cowbox-{uid}-[0-9] $(tr ',: ' '\\n\\n\\n' < /proc/self/mountinfo | grep -E '^(upper|work)dir=.*{id}' | cut -d= -f2) \
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

//! podman that is configured to mount with fuse-overlayfs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{Cowbox, Engine, Sandbox, on};
use crate::host::Programs;

const PROGRAM: &str = "/usr/bin/fuse-overlayfs";

on!(podman:
    the_kernels_overlay_is_used_all_the_same,
    what_the_image_has_in_the_place_of_the_repo_stays_there,
    a_podman_that_hides_its_program_is_not_used,
);

/// A podman with a storage of its own, that holds the tiny image and is mounted with fuse-overlayfs. By options: a
/// rootless podman takes no storage from a `storage.conf` that a variable names, and `mount_program` marks the storage
/// for everybody who uses it.
struct Storage<'a> {
    sandbox: &'a Sandbox,
    dir: PathBuf,
    /// For what podman keeps while it runs.
    short: tempfile::TempDir,
    programs: Programs,
}

impl<'a> Storage<'a> {
    /// A `secretive` one does not say that it mounts with another program.
    fn new(sandbox: &'a Sandbox, secretive: bool) -> Option<Self> {
        if !Path::new(PROGRAM).exists() {
            use std::io::Write;
            let note = format!("\nNOT RUN: podman with fuse-overlayfs (no {PROGRAM}; tests/host/setup installs it)\n");
            let _ = std::io::stderr().write_all(note.as_bytes());
            return None;
        }
        let dir = sandbox.root().join("storage");
        fs::create_dir(&dir).unwrap();
        // Podman takes no runroot of more than 50 bytes, and ours may well be longer.
        let short = tempfile::Builder::new().prefix("cb-").tempdir_in("/tmp").unwrap();
        let own = format!(
            "--root {}/root --runroot {} --storage-driver overlay --storage-opt overlay.mount_program={PROGRAM}",
            dir.display(),
            short.path().display()
        );
        let edit = if secretive { "s/mount_program/other/" } else { "" };
        let script =
            format!("case $1 in info) podman {own} \"$@\" | sed '{edit}';; *) exec podman {own} \"$@\";; esac");
        let programs = Programs::new(sandbox).script("podman", &script);
        let storage = Self { sandbox, dir, short, programs };
        let tar = storage.dir.join("tiny.tar");
        let image = "localhost/cowbox-test/tiny:latest";
        let saved = Command::new("podman").args(["save", "--quiet", "-o"]).arg(&tar).arg(image).output().unwrap();
        assert!(saved.status.success(), "{}", String::from_utf8_lossy(&saved.stderr));
        storage.podman(&["load", "--quiet", "-i", tar.to_str().unwrap()]);
        Some(storage)
    }

    #[track_caller]
    fn podman(&self, args: &[&str]) -> String {
        let mut command = Command::new(Path::new(self.programs.path()).join("podman"));
        let output = command.args(args).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "podman {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn with(&self, cowbox: Cowbox) -> Cowbox {
        cowbox.env("PATH", self.programs.path())
    }

    #[track_caller]
    fn sh(&self, options: &[&str], script: &str) {
        self.with(self.sandbox.shell(options, script)).output().done();
    }
}

impl Drop for Storage<'_> {
    /// Its files belong to sub-ids.
    fn drop(&mut self) {
        let mut words = vec!["rm", "-rf"];
        if !rustix::process::geteuid().is_root() {
            words.splice(0..0, ["podman", "unshare"]);
        }
        let _ = Command::new(words[0]).args(&words[1..]).arg(&self.dir).arg(self.short.path()).output();
    }
}

/// fuse-overlayfs marks a replaced directory in a way of its own: what it hides must not count as being there.
const SCRIPT: &str =
    "rm -r src; mkdir src; echo new > src/only; rm README.md; echo more >> build.sh; mkdir -p a/b; echo x > a/b/c";
const CHANGES: [&str; 10] = [
    "D  README.md",
    "A  a",
    "A  a/b",
    "A  a/b/c",
    "M  build.sh",
    "D  src/deep",
    "D  src/deep/er",
    "D  src/deep/er/leaf",
    "D  src/main.c",
    "A  src/only",
];

fn the_kernels_overlay_is_used_all_the_same(engine: Engine) {
    let sandbox = Sandbox::cold(engine);
    let Some(storage) = Storage::new(&sandbox, false) else { return };
    let says_so = storage.podman(&["info", "--format", "{{json .Store.GraphOptions}}"]);
    assert!(says_so.contains("fuse-overlayfs"), "{says_so}");
    storage.sh(&[], SCRIPT);
    assert_eq!(sandbox.changes(), CHANGES);
    assert_eq!(sandbox.only_record()["encoding"], "userxattr");
    let name = sandbox.only_record()["name"].as_str().unwrap().to_owned();
    storage.sh(&["--resume", &name], "rm -r a; mkdir a; cat src/only && test ! -e src/main.c");
    assert_eq!(sandbox.changes()[1..3], ["A  a", "M  build.sh"]);
    sandbox.change_repo(|repo| {
        storage.with(sandbox.cowbox(&["apply", "-y"])).output().done();
        assert_eq!(fs::read_dir(repo.join("src")).unwrap().count(), 1);
        assert_eq!(fs::read_dir(repo.join("a")).unwrap().count(), 0);
        assert!(!repo.join("README.md").exists());
        storage.with(sandbox.cowbox(&["undo", "-y"])).output().done();
        assert!(repo.join("src/deep/er/leaf").exists() && repo.join("README.md").exists() && !repo.join("a").exists());
    });
    assert_eq!(storage.podman(&["volume", "ls", "--quiet"]), "");
    assert_eq!(storage.podman(&["ps", "--all", "--quiet"]), "");
}

/// podman copies what the image has under a volume into it, and gives it the image's mode.
fn what_the_image_has_in_the_place_of_the_repo_stays_there(engine: Engine) {
    let mut sandbox = Sandbox::cold(engine);
    let empty = sandbox.home().join("empty");
    fs::create_dir(&empty).unwrap();
    fs::set_permissions(&empty, fs::Permissions::from_mode(0o711)).unwrap();
    sandbox.use_repo(&empty);
    let Some(storage) = Storage::new(&sandbox, false) else { return };
    let run = |options: &[&str], script: &str| storage.with(sandbox.shell(options, script)).output();
    run(&["--name", "it"], "stat -c %a .; ls -A").prints("711\n").done();
    assert!(sandbox.changes().is_empty(), "{:?}", sandbox.changes());
    run(&["--resume", "it"], "chmod 750 .").done();
    run(&["--resume", "it"], "stat -c %a .; touch new").prints("750\n").done();
    assert_eq!(sandbox.changes(), ["M  .", "A  new"]);
}

/// Should a podman not say it: the trial finds out, and nothing is run in an overlay that cannot be read afterwards.
fn a_podman_that_hides_its_program_is_not_used(engine: Engine) {
    let sandbox = Sandbox::cold(engine);
    let Some(storage) = Storage::new(&sandbox, true) else { return };
    let run = storage.with(sandbox.shell(&[], "true"));
    let _ = run.output().code(125).says("does not write the marks of the kernel's own");
    assert!(sandbox.session_ids().is_empty());
}

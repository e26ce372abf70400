//! Mirrors and checkouts with a real git.

use std::fs;

use super::mirror::Wanted;
use super::*;
use crate::process::capture;

/// Runs everything, and counts.
#[derive(Default)]
pub(in crate::task) struct Plain {
    fetched: usize,
    home: Option<PathBuf>,
}

impl Host for Plain {
    fn begin(&mut self, _stage: crate::task::stage::Stage, _asks_servers: bool) -> Result<(), Halt> {
        Ok(())
    }

    fn lock(&mut self, file: &fs::File) -> Result<(), Halt> {
        Ok(file.lock()?)
    }

    fn run(&mut self, mut command: Command, doing: &str) -> Result<Vec<u8>, Halt> {
        self.fetched += usize::from(doing.starts_with("fetch"));
        if let Some(home) = &self.home {
            command.env("HOME", home).env_remove("XDG_CONFIG_HOME");
        }
        let output = capture::run(command, std::time::Duration::from_secs(60))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(Halt::infra(format!("cannot {doing}: {}", String::from_utf8_lossy(&output.stderr))))
    }

    fn fill(&mut self, _dir: &Path, command: Command, doing: &str) -> Result<(), Halt> {
        self.run(command, doing).map(drop)
    }
}

fn sh(dir: &Path, script: &str) -> String {
    let mut command = Command::new("sh");
    command.args(["-ec", script]).current_dir(dir);
    command.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@b")]);
    command.envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@b")]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

struct World {
    dir: tempfile::TempDir,
    host: Plain,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("origin")).unwrap();
        sh(&dir.path().join("origin"), "git init -q -b main; echo 1 >a; git add .; git commit -qm one; git tag v1");
        Self { dir, host: Plain::default() }
    }

    fn origin(&self, script: &str) -> String {
        sh(&self.dir.path().join("origin"), script)
    }

    fn get(&mut self, wanted: Wanted<'_>, submodules: bool) -> Result<Source, Halt> {
        self.get_patched(wanted, submodules, &[])
    }

    fn get_patched(&mut self, wanted: Wanted<'_>, submodules: bool, patches: &[Patch]) -> Result<Source, Halt> {
        let cache = self.dir.path().join("cache");
        let from = self.dir.path().join("origin").to_string_lossy().into_owned();
        let mirror = Mirror::open(&cache, &from, true, &mut self.host)?;
        mirror.fetch(wanted, &mut self.host)?;
        let (commit, tree) = mirror.resolve(wanted, &mut self.host)?;
        let wish = Wish { commit: &commit, tree: &tree, submodules, patches };
        checkout(&cache, &mirror, &wish, &mut self.host)
    }
}

#[test]
fn a_commit_is_fetched_once_and_laid_out_once() {
    let mut world = World::new();
    let commit = world.origin("git rev-parse HEAD");
    let first = world.get(Wanted::Commit(&commit), false).unwrap();
    assert_eq!(fs::read_to_string(first.root.join("a")).unwrap(), "1\n");
    assert_eq!(first.commit.as_ref(), Some(&commit));
    assert_eq!(first.tree, Some(world.origin("git rev-parse HEAD^{tree}")));
    assert_eq!(sh(&first.root, "git status --porcelain; git rev-parse HEAD; git fsck 2>&1"), commit);
    let fetched = world.host.fetched;
    world.origin("rm -rf .git");
    assert_eq!(world.get(Wanted::Commit(&commit), false).unwrap(), first);
    assert_eq!(world.host.fetched, fetched);
}

#[test]
fn a_branch_is_looked_up_at_every_run() {
    let mut world = World::new();
    let first = world.get(Wanted::Reference("main"), false).unwrap();
    world.origin("echo 2 >a; git commit -qam two");
    let second = world.get(Wanted::Reference("main"), false).unwrap();
    assert_ne!(first.commit, second.commit);
    assert_eq!(fs::read_to_string(second.root.join("a")).unwrap(), "2\n");
    assert_eq!(world.get(Wanted::Reference("v1"), false).unwrap().commit, first.commit);
}

#[test]
fn what_is_not_there_is_named() {
    let mut world = World::new();
    let missing = "1234567890123456789012345678901234567890";
    let said = world.get(Wanted::Commit(missing), false).unwrap_err();
    assert!(
        matches!(&said, Halt::Over(_, why) if why.starts_with(&format!("there is no commit {missing} in "))),
        "{said:?}"
    );
    let said = world.get(Wanted::Reference("nope"), false).unwrap_err();
    assert!(matches!(&said, Halt::Over(_, why) if why.starts_with("there is no branch or tag nope in ")), "{said:?}");
    fs::remove_dir_all(world.dir.path().join("origin")).unwrap();
    assert!(matches!(world.get(Wanted::Reference("main"), false), Err(Halt::Over(..))));
}

#[test]
fn nothing_that_the_code_says_runs_on_the_host() {
    let mut world = World::new();
    world.origin(
        "echo 'a filter=evil' >.gitattributes; mkdir .git/hooks 2>/dev/null || :; \
         git config filter.evil.smudge 'touch canary; cat'; git add .; git commit -qm evil",
    );
    let source = world.get(Wanted::Reference("main"), false).unwrap();
    assert!(!source.root.join("canary").exists() && !world.dir.path().join("canary").exists());
    assert_eq!(fs::read_to_string(source.root.join("a")).unwrap(), "1\n");
}

#[test]
fn submodules_come_along_when_asked_for() {
    let mut world = World::new();
    sh(world.dir.path(), "git init -q -b main sub; cd sub; echo s >s; git add .; git commit -qm s");
    world.origin("git -c protocol.file.allow=always submodule --quiet add ../sub sub; git commit -qm sub");
    let without = world.get(Wanted::Reference("main"), false).unwrap();
    assert!(!without.root.join("sub/s").exists());
    let with = world.get(Wanted::Reference("main"), true).unwrap();
    assert_eq!(fs::read_to_string(with.root.join("sub/s")).unwrap(), "s\n");
}

#[test]
fn submodules_of_submodules_come_from_the_same_repository() {
    let mut world = World::new();
    let make = "git init -q -b main inner; (cd inner; echo i >i; git add .; git commit -qm i); \
        git init -q -b main sub; cd sub; git -c protocol.file.allow=always submodule --quiet add ../inner in; git commit -qm s";
    sh(world.dir.path(), make);
    world.origin("git -c protocol.file.allow=always submodule --quiet add ../sub sub; git commit -qm sub");
    let said = world.get(Wanted::Reference("main"), true).unwrap_err();
    assert!(matches!(&said, Halt::Over(_, why) if why.contains("`git submodule update --init`")), "{said:?}");
    world.origin("git -c protocol.file.allow=always submodule --quiet update --init --recursive");
    sh(world.dir.path(), "mv inner elsewhere");
    let with = world.get(Wanted::Reference("main"), true).unwrap();
    assert_eq!(fs::read_to_string(with.root.join("sub/in/i")).unwrap(), "i\n");
}

#[test]
fn code_cannot_have_a_repository_of_the_host_laid_out() {
    let mut world = World::new();
    sh(world.dir.path(), "git init -q -b main secret; cd secret; echo s >s; git add .; git commit -qm s");
    let secret = world.dir.path().join("secret");
    world.origin(&format!(
        "printf '[submodule \"s\"]\\n path = s\\n url = {0}\\n' >.gitmodules; \
         git update-index --add --cacheinfo 160000,$(git -C {0} rev-parse HEAD),s; git add .gitmodules; git commit -qm s",
        secret.display()
    ));
    let said = world.get(Wanted::Reference("main"), true).unwrap_err();
    assert!(matches!(&said, Halt::Over(_, why) if why.contains("transport 'file' not allowed")), "{said:?}");
}

#[test]
fn filters_of_the_user_do_not_run_on_submodules() {
    let mut world = World::new();
    let (home, canary) = (world.dir.path().join("home"), world.dir.path().join("canary"));
    fs::create_dir(&home).unwrap();
    let filter =
        format!("[filter \"mine\"]\nsmudge = touch {0}; cat\nprocess = touch {0}\nrequired\n", canary.display());
    fs::write(home.join(".gitconfig"), filter).unwrap();
    world.host.home = Some(home);
    let make =
        "git init -q -b main sub; cd sub; echo s >s; echo '* filter=mine' >.gitattributes; git add .; git commit -qm s";
    sh(world.dir.path(), make);
    world.origin("git -c protocol.file.allow=always submodule --quiet add ../sub sub; git commit -qm sub");
    let with = world.get(Wanted::Reference("main"), true).unwrap();
    assert_eq!(fs::read_to_string(with.root.join("sub/s")).unwrap(), "s\n");
    assert!(!canary.exists());
}

#[test]
fn a_password_is_not_part_of_the_checkout() {
    let mut world = World::new();
    let commit = world.origin("git rev-parse HEAD");
    let cache = world.dir.path().join("cache");
    let mirror = Mirror::open(&cache, "https://me:geheim@host.example/x", false, &mut world.host).unwrap();
    // As if it had been fetched.
    world.origin(&format!("git push -q --mirror {}", mirror.dir().display()));
    let (commit, tree) = mirror.resolve(Wanted::Commit(&commit), &mut world.host).unwrap();
    let wish = Wish { commit: &commit, tree: &tree, submodules: false, patches: &[] };
    let source = checkout(&cache, &mirror, &wish, &mut world.host).unwrap();
    assert_eq!(sh(&source.root, "git remote get-url origin"), "https://host.example/x");
    let found = sh(&cache, "grep -r geheim . || :");
    assert_eq!(found, "");
}

#[test]
fn odd_commits_of_old_tools_are_taken() {
    let mut world = World::new();
    let commit = world.origin(
        "tree=$(git rev-parse HEAD^{tree}); who='a <a@b> 1 +051800'; \
         printf 'tree %s\\nauthor %s\\ncommitter %s\\n\\nold\\n' $tree \"$who\" \"$who\" >odd; \
         git hash-object -t commit -w --literally odd >id; git update-ref refs/heads/main $(cat id); cat id",
    );
    assert_eq!(world.get(Wanted::Reference("main"), false).unwrap().commit, Some(commit));
}

#[test]
fn patches_are_committed_and_what_does_not_apply_is_named() {
    let mut world = World::new();
    let patch = |name: &str, old: &str, new: &str| Patch {
        name: name.to_owned(),
        content: format!("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-{old}\n+{new}\n").into_bytes(),
    };
    let good = [patch("one", "1", "2"), patch("two", "2", "3")];
    let source = world.get_patched(Wanted::Reference("main"), false, &good).unwrap();
    assert_eq!(fs::read_to_string(source.root.join("a")).unwrap(), "3\n");
    assert_eq!(sh(&source.root, "git status --porcelain; git log --format=%s -1"), "Patches of the task");
    assert_eq!(source.patched_tree, Some(sh(&source.root, "git rev-parse HEAD^{tree}")));
    assert_ne!(source.patched_tree, source.tree);
    assert_eq!(world.get_patched(Wanted::Reference("main"), false, &good).unwrap(), source);
    assert_ne!(world.get(Wanted::Reference("main"), false).unwrap().root, source.root);
    let said = world.get_patched(Wanted::Reference("main"), false, &[patch("bad", "9", "2")]).unwrap_err();
    assert!(matches!(&said, Halt::Over(_, why) if why.contains("apply bad")), "{said:?}");
    let left = fs::read_dir(world.dir.path().join("cache/checkouts")).unwrap().flatten();
    assert!(!left.into_iter().any(|entry| entry.file_name().to_string_lossy().ends_with(".new")));
}

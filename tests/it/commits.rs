//! `apply --commits`: commits that were made inside come in as a new branch, and nothing else of the host's changes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::common::{Engine, Fingerprint, Sandbox, on, on_containers, on_every_engine, snapshot};
use crate::host::{git, git_init};

on_every_engine!(
    commits_are_listed_and_come_in_as_a_branch,
    a_branch_can_be_named_and_none_is_moved,
    nothing_made_is_said,
    commits_of_a_linked_worktree_go_to_its_repository,
    commits_of_a_submodule_go_to_the_submodule,
    no_hook_and_no_setting_of_the_session_runs_on_the_host,
);
on_containers!(an_image_without_git_says_so);
on!(native: commits_of_a_repository_in_the_tree_go_there, commits_that_cannot_be_listed_are_said);

/// Sets git up for a commit inside, whoever owns the files there.
const GIT: &str = "
    export HOME=/tmp GIT_CONFIG_NOSYSTEM=1
    git config --global safe.directory '*'; git config --global user.name t; git config --global user.email t@example.com
";

/// Two commits on the branch that is checked out, one on another.
const COMMITS: &str = "
    echo one > one; git add one; git commit -qm 'first inside'
    echo two >> README.md; git commit -qam 'second inside'
    git checkout -qb topic; echo three > three; git add three; git commit -qm 'on a topic'
    git checkout -q main
";

fn script(commands: &str) -> String {
    format!("set -e\n{GIT}\n{commands}")
}

fn sandbox(engine: Engine) -> Sandbox {
    let sandbox = Sandbox::new(engine).with_image("debian");
    fs::remove_dir_all(sandbox.repo().join(".git")).unwrap();
    git_init(sandbox.repo());
    sandbox
}

/// HEAD, index and working tree, all but what a new branch and its objects add.
struct Untouched {
    repo: PathBuf,
    head: String,
    index: Vec<u8>,
    refs: String,
    tree: Vec<(PathBuf, Fingerprint)>,
}

impl Untouched {
    fn of(repo: &Path) -> Self {
        let gitdir = PathBuf::from(git(repo, &["rev-parse", "--absolute-git-dir"]).trim());
        let mut tree = Vec::new();
        for entry in fs::read_dir(repo).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap() != ".git" && !path.join("sub/.git").exists() {
                tree.push((path.clone(), Fingerprint::of(&path)));
            }
        }
        tree.sort_by(|a, b| a.0.cmp(&b.0));
        Self {
            repo: repo.to_path_buf(),
            head: fs::read_to_string(gitdir.join("HEAD")).unwrap(),
            index: fs::read(gitdir.join("index")).unwrap(),
            refs: git(repo, &["for-each-ref"]),
            tree,
        }
    }

    /// Everything is as it was, but for branches that begin so.
    #[track_caller]
    fn check(&self, new: &str) {
        let now = Self::of(&self.repo);
        assert_eq!(now.head, self.head, "HEAD");
        assert_eq!(now.index, self.index, "the index");
        let others = |refs: &str| refs.lines().filter(|l| !l.contains(new)).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(others(&now.refs), others(&self.refs), "refs");
        assert_eq!(now.tree.len(), self.tree.len(), "names in the root");
        for ((path, before), (_, after)) in self.tree.iter().zip(&now.tree) {
            assert!(before.differences(after).is_empty(), "{}: {:?}", path.display(), before.differences(after));
        }
    }
}

fn commits_are_listed_and_come_in_as_a_branch(engine: Engine) {
    let sandbox = sandbox(engine);
    sandbox.shell(&["--name", "it"], &script(COMMITS)).output().done();
    let _ =
        sandbox.cowbox(&["diff"]).output().ok().says("3 commits made inside (`cowbox apply --commits` brings them in)");
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    let mut seen: Vec<(&str, &str)> = json["commits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (c["subject"].as_str().unwrap(), c["repo"].as_str().unwrap()))
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, [("first inside", "."), ("on a topic", "."), ("second inside", ".")]);
    assert!(json["commits"].as_array().unwrap().iter().all(|c| c["id"].as_str().unwrap().len() == 40), "{json}");
    let untouched = Untouched::of(sandbox.repo());
    let mut said = None;
    sandbox.change_repo(|_| said = Some(sandbox.cowbox(&["apply", "--commits"]).output()));
    snapshot!(said.unwrap(), @r"
    exit: 0
    --- stderr
    cowbox: 2 commits on the new branch cowbox/it
    cowbox: 3 commits on the new branch cowbox/it-topic
    ");
    untouched.check("cowbox/it");
    let repo = sandbox.repo();
    assert_eq!(git(repo, &["log", "--format=%s", "main..cowbox/it"]), "second inside\nfirst inside\n");
    assert_eq!(git(repo, &["log", "-1", "--format=%s", "cowbox/it-topic"]), "on a topic\n");
    assert_eq!(git(repo, &["show", "cowbox/it:README.md"]), "# api\ntwo\n");
    git(repo, &["fsck", "--strict"]);
    // Files are another matter: they are still there to be applied.
    let left = sandbox.cowbox(&["diff", "--name-status"]).output().ok().stdout();
    assert_eq!(left, "M  README.md\nA  one\n");
}

fn a_branch_can_be_named_and_none_is_moved(engine: Engine) {
    let sandbox = sandbox(engine);
    sandbox.shell(&["--name", "it"], &script("echo one > one; git add one; git commit -qm inside")).output().done();
    let untouched = Untouched::of(sandbox.repo());
    let _ = sandbox.cowbox(&["apply", "--commits=main"]).output().code(1).says("main").says("--commits=BRANCH");
    let _ = sandbox.cowbox(&["apply", "--commits=no..good"]).output().code(2).says("not a name that git accepts");
    sandbox.check_repo();
    untouched.check("nothing new");
    sandbox.change_repo(|_| {
        let _ = sandbox
            .cowbox(&["apply", "--commits=work/mine"])
            .output()
            .ok()
            .says("1 commit on the new branch work/mine");
    });
    untouched.check("work/mine");
    assert_eq!(git(sandbox.repo(), &["log", "--format=%s", "main..work/mine"]), "inside\n");
    // What the host has now is nothing new any more; the branch stays where it is.
    let tip = git(sandbox.repo(), &["rev-parse", "work/mine"]);
    let _ = sandbox.cowbox(&["apply", "--commits=work/mine"]).output();
    assert_eq!(git(sandbox.repo(), &["rev-parse", "work/mine"]), tip);
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    assert_eq!(json["commits"].as_array().unwrap().len(), 0, "{json}");
}

fn nothing_made_is_said(engine: Engine) {
    let sandbox = sandbox(engine);
    sandbox.shell(&["--name", "it"], &script("echo x > new; git add new; git status > /dev/null")).output().done();
    snapshot!(sandbox.cowbox(&["apply", "--commits"]).output(), @r"
    exit: 0
    --- stderr
    cowbox: no commits were made in session it
    ");
    sandbox.check_repo();
}

fn commits_of_a_linked_worktree_go_to_its_repository(engine: Engine) {
    let mut sandbox = Sandbox::new(engine).with_image("debian");
    let main = sandbox.home().join("main repo");
    fs::create_dir(&main).unwrap();
    fs::write(main.join("file"), "x\n").unwrap();
    git_init(&main);
    let tree = sandbox.home().join("tree");
    git(&main, &["worktree", "add", "--quiet", "-b", "work", tree.to_str().unwrap()]);
    sandbox.use_repo(&tree);
    sandbox.shell(&["--name", "it"], &script("echo one > one; git add one; git commit -qm inside")).output().done();
    let untouched = (Untouched::of(&main), Untouched::of(&tree));
    sandbox.change_repo(|_| {
        let _ = sandbox.cowbox(&["apply", "--commits"]).output().ok().says("1 commit on the new branch cowbox/it");
    });
    untouched.0.check("cowbox/it");
    untouched.1.check("cowbox/it");
    assert_eq!(git(&main, &["log", "--format=%s", "work..cowbox/it"]), "inside\n");
}

fn commits_of_a_submodule_go_to_the_submodule(engine: Engine) {
    let mut sandbox = Sandbox::new(engine).with_image("debian");
    let (library, root) = (sandbox.home().join("library"), sandbox.home().join("super"));
    for dir in [&library, &root] {
        fs::create_dir(dir).unwrap();
        fs::write(dir.join("file"), "x\n").unwrap();
        git_init(dir);
    }
    git(&root, &["submodule", "--quiet", "add", library.to_str().unwrap(), "lib/sub"]);
    git(&root, &["commit", "--quiet", "--message", "with a submodule"]);
    sandbox.use_repo(&root);
    let commits = "
        (cd lib/sub; echo one > one; git add one; git commit -qm 'in the submodule')
        git add lib/sub; git commit -qm 'moves the submodule'
    ";
    sandbox.shell(&["--name", "it"], &script(commits)).output().done();
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    let seen: Vec<&str> = json["commits"].as_array().unwrap().iter().map(|c| c["repo"].as_str().unwrap()).collect();
    assert_eq!(seen, [".", "lib/sub"]);
    let untouched = (Untouched::of(&root), Untouched::of(&root.join("lib/sub")));
    let mut said = None;
    sandbox.change_repo(|_| said = Some(sandbox.cowbox(&["apply", "--commits"]).output()));
    snapshot!(said.unwrap(), @r"
    exit: 0
    --- stderr
    cowbox: 1 commit on the new branch cowbox/it
    cowbox: 1 commit on the new branch cowbox/it of submodule lib/sub
    ");
    untouched.0.check("cowbox/it");
    untouched.1.check("cowbox/it");
    assert_eq!(git(&root.join("lib/sub"), &["log", "-1", "--format=%s", "cowbox/it"]), "in the submodule\n");
    let linked = git(&root, &["rev-parse", "cowbox/it:lib/sub"]);
    assert_eq!(linked, git(&root.join("lib/sub"), &["rev-parse", "cowbox/it"]));
}

fn no_hook_and_no_setting_of_the_session_runs_on_the_host(engine: Engine) {
    let sandbox = sandbox(engine);
    // The host's own hooks too: nobody asked for them.
    let trap = sandbox.root().join("trap");
    let hook = format!("#!/bin/sh\ntouch '{}'\nexit 0\n", trap.display());
    for name in [
        "reference-transaction",
        "post-checkout",
        "post-commit",
        "pre-receive",
        "update",
        "post-update",
        "post-rewrite",
    ] {
        let path = sandbox.repo().join(".git/hooks").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &hook).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let commits = format!(
        "rm -f .git/hooks/*
        echo one > one; git add one; git commit -qm inside
        git config core.fsmonitor 'touch {trap}; false'; git config core.sshCommand 'touch {trap}'
        git config core.hooksPath /workspace/hooks; git config core.pager 'touch {trap}'
        echo '* filter=evil' > .gitattributes; git config filter.evil.clean 'touch {trap}'",
        trap = trap.display()
    );
    sandbox.shell(&["--name", "it"], &script(&commits)).output().done();
    assert!(!trap.exists());
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "--commits"]).output().done());
    assert!(!trap.exists(), "something ran on the host");
    let config = fs::read_to_string(sandbox.repo().join(".git/config")).unwrap();
    assert!(!config.contains("trap"), "{config}");
    assert!(sandbox.repo().join(".git/refs/heads/cowbox/it").exists());
    // The trap works: it is set off by anybody who lets hooks run.
    sandbox.change_repo(|repo| drop(git(repo, &["branch", "other"])));
    assert!(trap.exists());
}

/// The commit was made with a git of the user's own, which is gone when the pack is wanted.
fn an_image_without_git_says_so(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    fs::remove_dir_all(sandbox.repo().join(".git")).unwrap();
    git_init(sandbox.repo());
    // There is no git inside, so the host makes the commit elsewhere, and the session copies it in.
    let other = sandbox.repo().join("other");
    crate::host::sh(&format!("cp -a '{0}/.git' '{0}/other-git' && mkdir '{0}/other'", sandbox.repo().display()));
    git(
        sandbox.repo(),
        &["--git-dir=other-git", "--work-tree=other", "commit", "--quiet", "--allow-empty", "-m", "inside"],
    );
    fs::remove_dir_all(other).unwrap();
    sandbox.sh("cp -rf other-git/objects other-git/refs .git/").done();
    let _ = sandbox.cowbox(&["diff"]).output().ok().says("1 commit made inside");
    let output = sandbox.cowbox(&["apply", "--commits"]).output().code(1);
    assert!(output.stderr().contains("there is no git in the sandbox"), "{}", output.stderr());
    assert!(output.stderr().contains("hint: use an image with git"), "{}", output.stderr());
    sandbox.check_repo();
}

/// A submodule of the old kind: its gitdir lies in the tree, not below `.git/modules`.
fn commits_of_a_repository_in_the_tree_go_there(engine: Engine) {
    let sandbox = sandbox(engine);
    let inner = sandbox.repo().join("lib/inner");
    fs::create_dir_all(&inner).unwrap();
    fs::write(inner.join("file"), "x\n").unwrap();
    git_init(&inner);
    let commits = "cd lib/inner; echo one > one; git add one; git commit -qm 'in the tree'";
    sandbox.shell(&["--name", "it"], &script(commits)).output().done();
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    let only = &json["commits"][0];
    assert_eq!((&only["repo"], &only["subject"]), (&"lib/inner".into(), &"in the tree".into()), "{json}");
    sandbox.change_repo(|_| {
        let said = sandbox.cowbox(&["apply", "--commits"]).output().ok();
        let _ = said.says("1 commit on the new branch cowbox/it of submodule lib/inner");
    });
    assert_eq!(git(&inner, &["log", "-1", "--format=%s", "cowbox/it"]), "in the tree\n");
    assert_eq!(git(sandbox.repo(), &["branch", "--list", "cowbox/*"]), "");
}

/// Every view tells of commits, and when there are more than it knows of.
fn commits_that_cannot_be_listed_are_said(engine: Engine) {
    let sandbox = sandbox(engine);
    let damage = "
        f=.git/objects/$(git rev-parse HEAD~1 | sed 's,^..,&/,'); chmod 644 $f; echo damaged > $f";
    sandbox.sh(&script(&format!("{COMMITS}{damage}"))).done();
    for view in ["--stat", "--name-status"] {
        let said = sandbox.cowbox(&["diff", view]).output().ok();
        let _ = said.says("commits made inside").says("or some that cannot be read");
    }
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    assert_eq!(json["commits_truncated"], true);
}

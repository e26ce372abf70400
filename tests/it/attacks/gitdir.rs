//! Git's own files: hooks, settings, attributes, refs. Cases 1, 2, 4, 5 and 6.

use std::fs;
use std::path::Path;

use super::Arena;
use crate::common::{Engine, Fingerprint, on};

on!(native:
    case_01_git_hooks,
    case_01_the_folder_that_core_hooks_path_names,
    case_01_the_root_as_the_folder_of_hooks,
    case_01_hooks_of_a_repository_inside,
    case_02_git_config_that_executes,
    case_02_settings_that_the_hosts_git_includes,
    case_04_git_is_replaced_by_a_file_or_a_link,
    case_04_a_folder_that_git_takes_for_a_repository,
    case_05_attributes_submodules_and_the_sequencer,
    case_05_a_macro_of_the_hosts_attributes,
    case_06_hiding_in_git_state,
);

/// Applies everything that consent can reach; the gitdir must stay as it is to the byte.
#[track_caller]
fn gitdir_stays(arena: &Arena) {
    let before = Fingerprint::of(&arena.repo().join(".git"));
    arena.apply(&["--allow", "all", "--include-ignored"]).done();
    let differences = before.differences(&Fingerprint::of(&arena.repo().join(".git")));
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn case_01_git_hooks(engine: Engine) {
    let arena = Arena::with_git(engine);
    arena.write(".githooks/pre-push", "#!/bin/sh\n");
    let script = format!(
        "set -e; for dir in .git/hooks .git/modules/m/hooks .git/worktrees/w/hooks .husky .githooks deep/.husky/_; do
            mkdir -p $dir; for hook in pre-commit post-checkout pre-push; do
            printf '#!/bin/sh\\n%s\\n' {0} > $dir/$hook; chmod 755 $dir/$hook; done; done; echo x > plain",
        arena.fire()
    );
    arena.sh(&script).done();
    let _ = arena.apply(&[]).code(4).says("--allow hook-dir");
    assert_eq!(arena.read("plain"), "x\n");
    assert_eq!(arena.read(".githooks/pre-push"), "#!/bin/sh\n");
    for path in [".husky/pre-commit", ".githooks/pre-commit", "deep/.husky/_/pre-push", ".git/hooks/pre-commit"] {
        assert!(!arena.has(path), "{path}");
    }
    gitdir_stays(&arena);
    assert!(arena.has(".husky/pre-commit") && !arena.has(".git/modules") && !arena.has(".git/worktrees"));
}

fn case_01_the_folder_that_core_hooks_path_names(engine: Engine) {
    let arena = Arena::with_git(engine);
    arena.write("tools/checks/pre-commit", "#!/bin/sh\n");
    arena.git(&["config", "core.hooksPath", "tools/checks"]);
    arena.sh("echo evil >> tools/checks/pre-commit; echo x > tools/checks/post-merge; echo x > tools/plain").done();
    let risks = arena.cowbox(&["diff", "--json"]).output().ok();
    assert!(risks.stdout().contains("hook-dir"), "{}", risks.stdout());
    let _ = arena.apply(&[]).code(4).says("--allow hook-dir");
    assert_eq!(arena.read("tools/checks/pre-commit"), "#!/bin/sh\n");
    assert!(!arena.has("tools/checks/post-merge") && arena.has("tools/plain"));
    // Moved to where it is no hook, with everything else in the folder.
    arena.sh("rm -r tools/checks; ln -s ../src tools/checks").done();
    let _ = arena.apply(&[]).code(4).says("--allow hook-dir");
    assert_eq!(arena.read("tools/checks/pre-commit"), "#!/bin/sh\n");
}

fn case_01_the_root_as_the_folder_of_hooks(engine: Engine) {
    let arena = Arena::with_git(engine);
    arena.git(&["config", "core.hooksPath", "."]);
    arena.sh("echo x > pre-commit; chmod 755 pre-commit; echo x > plain; mkdir -p d; echo x > d/pre-commit").done();
    let _ = arena.apply(&[]).code(4).says("--allow hook-dir");
    assert!(!arena.has("pre-commit") && arena.has("plain") && arena.has("d/pre-commit"));
}

fn case_01_hooks_of_a_repository_inside(engine: Engine) {
    let arena = Arena::with_git(engine);
    arena.write("vendor/clone/file", "x\n");
    arena.git(&["-C", "vendor/clone", "init", "-q"]);
    arena.git(&["-C", "vendor/clone", "config", "core.hooksPath", "../shared"]);
    arena.sh("mkdir vendor/shared; echo x > vendor/shared/pre-commit; echo y > vendor/clone/file").done();
    let _ = arena.apply(&[]).code(4).says("--allow hook-dir");
    assert!(!arena.has("vendor/shared/pre-commit"));
    assert_eq!(arena.read("vendor/clone/file"), "y\n");
}

fn case_02_settings_that_the_hosts_git_includes(engine: Engine) {
    let arena = Arena::with_git(engine);
    arena.write("conf/git", "[core]\n");
    arena.git(&["config", "include.path", "../conf/git"]);
    arena.git(&["config", "includeIf.gitdir:/nowhere/.path", "../conf/later"]);
    arena.git(&["config", "core.attributesFile", "conf/attributes"]);
    let script = format!(
        "printf '[core]\\n fsmonitor = {0}\\n' | tee conf/git > conf/later; echo '* filter=x' > conf/attributes; echo x > conf/plain",
        arena.fire()
    );
    arena.sh(&script).done();
    let _ = arena.apply(&[]).code(4).says("--allow vcs-settings").says("--allow git-attributes");
    assert_eq!(arena.read("conf/git"), "[core]\n");
    assert!(!arena.has("conf/later") && !arena.has("conf/attributes") && arena.has("conf/plain"));
}

fn case_02_git_config_that_executes(engine: Engine) {
    let arena = Arena::with_git(engine);
    let script = format!(
        "set -e; mkdir -p .git/modules/m; for file in .git/config .git/config.worktree .git/modules/m/config; do
            printf '[core]\\n fsmonitor = %s\\n[alias]\\n st = !%s\\n[include]\\n path = /x\\n[url \"x\"]\\n insteadOf = y\\n' \
            {0} {0} >> $file; done; echo x > plain",
        arena.fire()
    );
    arena.sh(&script).done();
    let json = arena.cowbox(&["diff", "--json"]).output().ok().json();
    let listed =
        |path: &str| json["changes"].as_array().unwrap().iter().any(|c| c["path"] == path && c["class"] == "vcs");
    assert!(listed(".git/config") && listed(".git/modules/m/config"), "{json}");
    gitdir_stays(&arena);
    assert!(arena.has("plain"));
}

fn case_04_git_is_replaced_by_a_file_or_a_link(engine: Engine) {
    for replace in ["echo 'gitdir: evil' > .git", "ln -s evil .git", ":"] {
        let arena = Arena::with_git(engine);
        let script = format!(
            "set -e; cp -a .git evil; printf '[core]\\n fsmonitor = {}\\n' >> evil/config; rm -rf .git; {replace}",
            arena.fire()
        );
        arena.sh(&script).done();
        let before = Fingerprint::of(&arena.repo().join(".git"));
        // The copy is a repository of its own: not without consent, and never as `.git`.
        let _ = arena.apply(&[]).code(4).says("nested-repo");
        assert!(!arena.has("evil/config") && !arena.has("evil/HEAD"), "{replace}");
        let differences = before.differences(&Fingerprint::of(&arena.repo().join(".git")));
        assert!(differences.is_empty(), "{replace}: {}", differences.join("\n"));
        gitdir_stays(&arena);
    }
}

fn case_04_a_folder_that_git_takes_for_a_repository(engine: Engine) {
    let arena = Arena::with_git(engine);
    // Half of one is there already: with the rest it is whole.
    arena.write("half/objects/x", "x\n");
    arena.write("half/HEAD", "ref: refs/heads/x\n");
    let config = format!("printf '[core]\\n bare = true\\n fsmonitor = {}\\n'", arena.fire());
    let script = format!(
        "set -e; mkdir -p docs/objects docs/refs half/refs linked; echo 'ref: refs/heads/x' > docs/HEAD
        {config} > docs/config; {config} > half/config; echo x > half/refs/x; echo x > docs/page
        echo 'ref: refs/heads/x' > linked/HEAD; echo ../evil > linked/commondir; mkdir -p src/.GIT; echo x > src/.GIT/config",
    );
    arena.sh(&script).done();
    let _ = arena.apply(&[]).code(4).says("--allow nested-repo");
    assert!(arena.has("docs/page"));
    for path in ["docs/HEAD", "docs/config", "half/config", "half/refs/x", "linked/commondir", "src/.GIT"] {
        assert!(!arena.has(path), "{path}");
    }
    arena.apply(&["--allow", "all"]).done();
    assert!(arena.has("docs/config") && !arena.has("src/.GIT"));
}

fn case_05_attributes_submodules_and_the_sequencer(engine: Engine) {
    let arena = Arena::with_git(engine);
    let script = "set -e; mkdir -p src/deep .git/info .git/rebase-merge; echo '*.c filter=lfs' > src/.gitattributes
        echo '* diff=mine' > .gitattributes; echo 'exec evil' > .git/rebase-merge/git-rebase-todo
        echo '* filter=x' > .git/info/attributes
        printf '[submodule \"x\"]\\n path = x\\n url = ext::sh\\n update = !evil\\n' > .gitmodules
        printf '[lfs]\\n url = https://evil\\n' > .lfsconfig; echo '*.md text' > src/deep/.gitattributes";
    arena.sh(script).done();
    let _ = arena.apply(&[]).code(4).says("--allow git-attributes");
    for path in [".gitattributes", "src/.gitattributes", ".gitmodules", ".lfsconfig"] {
        assert!(!arena.has(path), "{path}");
    }
    assert!(arena.has("src/deep/.gitattributes"), "it binds nothing to a driver");
    gitdir_stays(&arena);
}

/// A macro of the host's binds a file to the host's driver without naming either.
fn case_05_a_macro_of_the_hosts_attributes(engine: Engine) {
    let arena = Arena::with_git(engine);
    arena.write(".gitattributes", "[attr]crypt filter=crypt diff=crypt\n");
    arena
        .sh("echo '*.c crypt' > src/.gitattributes; printf '*.md text eol=lf -diff\\n' > src/deep/.gitattributes")
        .done();
    let _ = arena.apply(&[]).code(4).says("--allow git-attributes");
    assert!(!arena.has("src/.gitattributes") && arena.has("src/deep/.gitattributes"));
}

fn case_06_hiding_in_git_state(engine: Engine) {
    let arena = Arena::with_git(engine);
    arena.git(&["tag", "v1"]);
    arena.git(&["branch", "other"]);
    let before = (arena.git(&["for-each-ref"]), fs::read(arena.repo().join(".git/index")).unwrap());
    let script = "set -e; G='git -c user.name=a -c user.email=a@a'; echo evil > README.md; $G commit -qam evil
        git update-index --assume-unchanged build.sh; git update-index --skip-worktree src/main.c
        echo '*' > .git/info/exclude; git replace HEAD~1 HEAD; git tag -f v1; git branch -f other; $G stash list
        mkdir -p .git/objects/info; echo /evil > .git/objects/info/alternates; git pack-refs --all
        git checkout -q -b elsewhere; echo hidden > build.sh; git update-ref refs/notes/x HEAD";
    arena.sh(script).done();
    // What hides from the session's git does not hide from us.
    let changes = arena.changes();
    assert_eq!(changes, ["M  README.md", "M  build.sh"]);
    gitdir_stays(&arena);
    arena.apply(&["--commits=imported"]).done();
    let (refs, index) = before;
    let after = arena.git(&["for-each-ref"]);
    let new: Vec<&str> = after.lines().filter(|line| !refs.contains(line)).collect();
    assert!(!new.is_empty() && new.iter().all(|line| line.contains("refs/heads/imported")), "{after}");
    assert!(refs.lines().all(|line| after.contains(line)), "{after}");
    assert_eq!(fs::read(arena.repo().join(".git/index")).unwrap(), index);
    assert_eq!(arena.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    for path in [".git/objects/info/alternates", ".git/refs/replace", ".git/packed-refs"] {
        assert!(!arena.repo().join(Path::new(path)).exists(), "{path}");
    }
}

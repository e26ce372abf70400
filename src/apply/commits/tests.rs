use std::fs;
use std::io::Write;
use std::process::Stdio;

use super::*;
use crate::git::testing::{Session, TestRepo};

/// Packs as git inside the session would.
fn packer<'a>(session: &'a Session<'a>, repo: &'a TestRepo) -> impl FnMut(&PackRequest, &mut File) -> Result<()> + 'a {
    move |wanted, out| {
        let dir = session.root().join(&wanted.repo);
        let mut command = repo.command(&dir);
        command.args(&wanted.args).stdin(Stdio::piped()).stdout(out.try_clone().unwrap());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(&wanted.stdin).unwrap();
        assert!(child.wait().unwrap().success());
        Ok(())
    }
}

fn import_as(repo: &TestRepo, session: &Session<'_>, branch: &str) -> Result<Vec<Imported>> {
    session.take_layer();
    let dir = session.dir();
    let (root, request_dir) = (repo.root(), dir.as_path());
    import(&Request { root: &root, session_dir: request_dir, branch }, &mut packer(session, repo))
}

fn prepared(args: &[&str]) -> TestRepo {
    let repo = TestRepo::with(args);
    repo.write("f", (0..500).map(|n| format!("line {n}\n")).collect::<String>());
    repo.write("d/g", "g\n");
    repo.commit("base");
    repo
}

/// Everything about the refs, HEAD and index of a repository.
fn state(repo: &TestRepo) -> String {
    let index = fs::read(repo.root().join(".git/index")).unwrap();
    format!("{}\n{}\n{index:?}", repo.git(&["for-each-ref"]), repo.git(&["rev-parse", "HEAD"]))
}

#[test]
fn commits_arrive_on_a_new_branch() {
    for format in ["sha1", "sha256"] {
        let repo = prepared(&[&format!("--object-format={format}")]);
        let session = Session::over(&repo);
        assert_eq!(import_as(&repo, &session, "cowbox/s").unwrap(), []);
        session.commit(
            "f",
            &(0..500).map(|n| format!("line {n}{}\n", if n == 7 { "!" } else { "" })).collect::<String>(),
            "a",
        );
        let tip = session.commit("new", "new", "b");
        let before = state(&repo);
        let done = import_as(&repo, &session, "cowbox/s").unwrap();
        assert_eq!(done, [Imported { repo: PathBuf::new(), branch: "cowbox/s".into(), tip: tip.clone(), count: 2 }]);
        assert_eq!(repo.git(&["rev-parse", "cowbox/s"]), tip);
        assert_eq!(repo.git(&["show", "cowbox/s:new"]), "new");
        repo.git(&["fsck", "--strict", "--no-dangling"]);
        repo.git(&["branch", "-q", "-D", "cowbox/s"]);
        assert_eq!(state(&repo), before);
        let left: Vec<_> = fs::read_dir(session.dir()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["upper"]);
    }
}

#[test]
fn other_branches_get_a_name_of_their_own() {
    let repo = prepared(&[]);
    let session = Session::over(&repo);
    session.git(&["checkout", "-q", "-b", "feature/x"]);
    let side = session.commit("x", "x", "x");
    session.git(&["checkout", "-q", "main"]);
    let only = import_as(&repo, &session, "only").unwrap();
    assert_eq!((only.len(), only[0].branch.as_str(), &only[0].tip), (1, "only", &side));
    repo.git(&["branch", "-q", "-D", "only"]);
    let head = session.commit("y", "y", "y");
    let done = import_as(&repo, &session, "in").unwrap();
    let names: Vec<(&str, &str)> = done.iter().map(|i| (i.branch.as_str(), i.tip.as_str())).collect();
    assert_eq!(names, [("in", head.as_str()), ("in-feature/x", side.as_str())]);
}

#[test]
fn an_existing_branch_is_never_overwritten() {
    let repo = prepared(&[]);
    repo.git(&["branch", "taken"]);
    repo.git(&["branch", "dir/below"]);
    let session = Session::over(&repo);
    session.commit("x", "x", "x");
    let before = state(&repo);
    for branch in ["taken", "taken/below", "dir", "main"] {
        let error = import_as(&repo, &session, branch).unwrap_err();
        assert!(error.message().contains("exists already"), "{branch}: {error}");
        assert!(error.hints()[0].contains("--commits=BRANCH"));
    }
    for branch in ["", "-x", "a..b", "a b", "x.lock", "HEAD", "a\x1b[31m"] {
        let error = import_as(&repo, &session, branch).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{branch}");
        assert!(!error.message().contains('\x1b'));
    }
    assert_eq!(state(&repo), before);
}

/// Makes a commit with a tree that git's own commands would not make.
fn plant(session: &Session<'_>, repo: &TestRepo, mode: &str, name: &str) {
    let blob = session.git(&["hash-object", "-w", "f"]);
    let raw: Vec<u8> = (0..blob.len()).step_by(2).map(|i| u8::from_str_radix(&blob[i..i + 2], 16).unwrap()).collect();
    let tree = [format!("{mode} {name}\0").as_bytes(), &raw].concat();
    let file = session.root().join("../tree");
    fs::write(&file, tree).unwrap();
    let mut command = repo.command(&session.root());
    command.args(["hash-object", "-t", "tree", "-w", "--literally"]).arg(&file);
    let tree = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let commit = session.git(&["commit-tree", "-p", "HEAD", "-m", "evil", tree.trim()]);
    session.git(&["update-ref", "HEAD", &commit]);
}

#[test]
fn trees_that_write_where_they_should_not_are_refused() {
    for name in [".git", ".GIT", "..", ".", "git~1", ".g\u{200c}it", "a/b"] {
        let repo = prepared(&[]);
        let session = Session::over(&repo);
        plant(&session, &repo, "100644", name);
        let before = state(&repo);
        let error = import_as(&repo, &session, "in").unwrap_err();
        assert!(error.message().contains("refuses"), "{name:?}: {error}");
        assert_eq!(state(&repo), before);
        assert!(fs::read_dir(repo.root().join(".git/objects/pack")).unwrap().next().is_none(), "{name:?}");
    }
}

#[test]
fn a_gitmodules_that_would_run_something_is_refused() {
    let repo = prepared(&[]);
    let session = Session::over(&repo);
    session.commit(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = -u./payload\n", "evil");
    let error = import_as(&repo, &session, "in").unwrap_err();
    assert!(error.message().contains("gitmodulesUrl"), "{error}");
}

#[test]
fn a_pack_that_is_not_what_was_asked_for_is_refused() {
    let repo = prepared(&[]);
    let session = Session::over(&repo);
    session.commit("x", "x", "one");
    session.commit("x", "y", "two");
    session.take_layer();
    let (root, dir) = (repo.root(), session.dir());
    let request = Request { root: &root, session_dir: &dir, branch: "in" };
    let before = state(&repo);
    let tip = session.git(&["rev-parse", "HEAD"]);
    // The last commit alone, without its parent; something else; nonsense; nothing.
    for stdin in [format!("{tip}\n^{tip}~1\n"), format!("{tip}~1\n"), String::new()] {
        let mut inner = packer(&session, &repo);
        let mut cheat = |wanted: &PackRequest, out: &mut File| {
            inner(&PackRequest { stdin: stdin.clone().into_bytes(), ..wanted.clone() }, out)
        };
        let error = import(&request, &mut cheat).unwrap_err();
        println!("{error}");
        assert_eq!(state(&repo), before);
    }
    for bytes in [&b""[..], b"PACK", b"PACK\0\0\0\x02\xff\xff\xff\xff"] {
        let mut nonsense = |_: &PackRequest, out: &mut File| {
            out.write_all(bytes).unwrap();
            Ok(())
        };
        assert!(import(&request, &mut nonsense).is_err());
    }
    assert_eq!(state(&repo), before);
}

#[test]
fn nothing_that_is_configured_runs() {
    let repo = prepared(&[]);
    let session = Session::over(&repo);
    session.commit("x", "x", "one");
    let canary = repo.beside("canary");
    let script = format!("#!/bin/sh\ntouch '{}'\n", canary.display());
    for gitdir in [repo.root().join(".git"), session.root().join(".git")] {
        for hook in ["reference-transaction", "post-update", "pre-auto-gc", "update", "post-index-change", "pre-commit"]
        {
            let path = gitdir.join("hooks").join(hook);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &script).unwrap();
            fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        let run = gitdir.join("hooks/update").display().to_string();
        let mut config = fs::OpenOptions::new().append(true).open(gitdir.join("config")).unwrap();
        write!(
            config,
            "[core]\n\tfsmonitor = {run}\n\thooksPath = {hooks}\n\talternateRefsCommand = {run}\n\tsshCommand = {run}\n\
             \tpager = {run}\n[filter \"x\"]\n\tclean = {run}\n\tsmudge = {run}\n[gc]\n\tauto = 1\n\
             [uploadpack]\n\tpackObjectsHook = {run}\n",
            hooks = gitdir.join("hooks").display()
        )
        .unwrap();
    }
    // The pack is made inside, where hooks are the session's own matter.
    let pack = session.root().join("../pack");
    let mut command = repo.command(&session.root());
    command.args(["pack-objects", "--stdout", "--all", "-q"]).stdout(File::create(&pack).unwrap());
    assert!(command.status().unwrap().success());
    let _ = fs::remove_file(&canary);
    session.take_layer();
    let (root, dir) = (repo.root(), session.dir());
    let request = Request { root: &root, session_dir: &dir, branch: "in" };
    let done = import(&request, &mut |_, out| {
        std::io::copy(&mut File::open(&pack).unwrap(), out).unwrap();
        Ok(())
    });
    assert_eq!(done.unwrap().len(), 1);
    assert!(!canary.exists());
    // The canary is alive: git without our care does start it.
    repo.git(&["branch", "other"]);
    assert!(canary.exists());
}

#[test]
fn a_submodule_gets_its_own_branch_and_failure_leaves_none() {
    let lib = prepared(&[]);
    let repo = prepared(&[]);
    repo.git(&["submodule", "--quiet", "add", &lib.root().display().to_string(), "libs/sub"]);
    repo.commit("with sub");
    let session = Session::over(&repo);
    let sub = session.root().join("libs/sub");
    session.git_at(&sub, &["commit", "-q", "--allow-empty", "-m", "in sub"]);
    let sub_tip = session.git_at(&sub, &["rev-parse", "HEAD"]);
    let tip = session.commit("x", "x", "bump");
    let host_sub = repo.root().join("libs/sub");
    // The main one fails at the last moment: a lock that git leaves behind when it is killed.
    fs::create_dir_all(repo.root().join(".git/refs/heads")).unwrap();
    fs::write(repo.root().join(".git/refs/heads/in.lock"), "").unwrap();
    assert!(import_as(&repo, &session, "in").is_err());
    assert!(!repo.git_in(&host_sub, &["branch", "--list", "in"]).contains("in"));
    fs::remove_file(repo.root().join(".git/refs/heads/in.lock")).unwrap();
    let done = import_as(&repo, &session, "in").unwrap();
    let told: Vec<_> = done.iter().map(|i| (i.repo.to_str().unwrap(), i.tip.as_str(), i.count)).collect();
    assert_eq!(told, [("", tip.as_str(), 1), ("libs/sub", sub_tip.as_str(), 1)]);
    assert_eq!(repo.git_in(&host_sub, &["rev-parse", "in"]), sub_tip);
}

//! Commits and objects that no honest git wrote.

use std::fs;

use super::Arena;
use crate::common::{Engine, on};
use crate::inside::python_inside;

on!(native:
    commits_with_a_gitdir_in_their_trees_are_refused,
    commits_with_hostile_submodules_are_refused,
    a_pack_that_lacks_objects_is_refused,
    a_bomb_of_objects_is_told_not_unpacked,
    refs_that_are_pipes_links_or_loops_lead_nowhere,
    alternates_of_the_session_lead_nowhere,
    a_session_cannot_take_a_branch_over,
);

const GIT: &str =
    "set -e; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@a\n";

/// Whatever the session committed, the host's repository has neither a new ref nor a new object.
#[track_caller]
fn refused(arena: &Arena, script: &str) -> String {
    let refs = arena.git(&["for-each-ref"]);
    let objects = arena.git(&["count-objects", "-v"]);
    arena.sh(&format!("{GIT}{script}")).done();
    let output = arena.apply(&["--commits"]);
    assert_eq!(output.exit_code(), 1, "{}", output.stderr());
    assert_eq!((arena.git(&["for-each-ref"]), arena.git(&["count-objects", "-v"])), (refs, objects));
    let left = fs::read_dir(arena.only_dir()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    assert_eq!(left.filter(|name| name.starts_with("import-")).count(), 0);
    output.stderr()
}

fn commits_with_a_gitdir_in_their_trees_are_refused(engine: Engine) {
    for (mode, name) in
        [("100644", ".git"), ("100644", ".GIT"), ("100644", ".."), ("100644", "git~1"), ("100644", "a/b")]
    {
        let arena = Arena::with_git(engine);
        let program = format!(
            "import subprocess as s
run = lambda *a, i=b'': s.run(['git', *a], input=i, capture_output=True, check=True).stdout.strip().decode()
blob = run('hash-object', '-w', '--stdin', i=b'evil')
tree = run('hash-object', '-t', 'tree', '-w', '--stdin', '--literally', i=b'{mode} {name}\\0' + bytes.fromhex(blob))
who = 'a <a@a> 1700000000 +0000'
text = f'tree {{tree}}\\nparent {{run(\"rev-parse\", \"HEAD\")}}\\nauthor {{who}}\\ncommitter {{who}}\\n\\nevil\\n'
open('.git/refs/heads/main', 'w').write(run('hash-object', '-t', 'commit', '-w', '--stdin', i=text.encode()) + '\\n')"
        );
        let refs = arena.git(&["for-each-ref"]);
        python_inside(&arena, &[], &program).done();
        let output = arena.apply(&["--commits"]);
        assert_eq!(output.exit_code(), 1, "{name}: {}", output.stderr());
        assert_eq!(arena.git(&["for-each-ref"]), refs, "{name}");
        assert!(output.stderr().contains("refuses"), "{name}: {}", output.stderr());
    }
}

fn commits_with_hostile_submodules_are_refused(engine: Engine) {
    for url in ["ext::sh -c evil", "-u./evil", "../../../../../x"] {
        let arena = Arena::with_git(engine);
        let script = format!(
            "printf '[submodule \"../../x\"]\\n path = -x\\n url = {url}\\n update = !evil\\n' > .gitmodules
            git add .gitmodules; git commit -q -m evil"
        );
        assert!(refused(&arena, &script).contains("refuses"), "{url}");
    }
    let arena = Arena::with_git(engine);
    let script = "b=$(echo /etc/passwd | git hash-object -w --stdin); git update-index --add --cacheinfo 120000,$b,.gitmodules || exit 9";
    assert_eq!(arena.sh(&format!("{GIT}{script}")).exit_code(), 9, "git itself refuses a link of that name");
}

fn a_pack_that_lacks_objects_is_refused(engine: Engine) {
    let arena = Arena::with_git(engine);
    let script = "echo big > new; git add new; b=$(git hash-object new); git commit -q -m evil
        rm -f .git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-)";
    refused(&arena, script);
    // The packer inside is not believed: one that answers with nothing, or with something else.
    let arena = Arena::with_git(engine);
    let script = "echo new > new; git add new; git commit -q -m one; git config pack.packSizeLimit 1
        git config core.bigFileThreshold 1; printf 'garbage' > .git/shallow";
    refused(&arena, script);
}

fn a_bomb_of_objects_is_told_not_unpacked(engine: Engine) {
    let arena = Arena::with_git(engine);
    let program = "import hashlib, os, zlib
# A commit of 3 GB, as 3 MB on disk, and one that claims a size that it has not.
def write(header, chunk, times):
    h, z = hashlib.sha1(), zlib.compressobj(9)
    out = z.compress(header); h.update(header)
    for _ in range(times):
        h.update(chunk); out += z.compress(chunk)
    name = h.hexdigest(); os.makedirs('.git/objects/' + name[:2], exist_ok=True)
    open('.git/objects/%s/%s' % (name[:2], name[2:]), 'wb').write(out + z.flush())
    return name
chunk = b'a' * (1 << 20)
open('.git/refs/heads/bomb', 'w').write(write(b'commit %d\\0' % (300 << 20), chunk, 300) + '\\n')
open('.git/refs/heads/liar', 'w').write(write(b'commit 99999999999999\\0', b'x', 1) + '\\n')
open('.git/refs/heads/long', 'w').write('a' * 40 + '\\n' + 'x' * 100000)";
    python_inside(&arena, &[], program).done();
    let started = std::time::Instant::now();
    let _ = arena.cowbox(&["diff", "--stat"]).output().ok();
    let json = arena.cowbox(&["diff", "--json"]).output().ok().json();
    assert_eq!(json["commits"].as_array().unwrap().len(), 0);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    assert_eq!(arena.apply(&["--commits"]).exit_code(), 1);
}

fn refs_that_are_pipes_links_or_loops_lead_nowhere(engine: Engine) {
    let arena = Arena::with_git(engine);
    fs::create_dir(arena.root().join("home/secret")).unwrap();
    let script = "mkfifo .git/refs/heads/pipe .git/packed-refs; rm .git/HEAD; mkfifo .git/HEAD
        ln -s /etc/passwd .git/refs/heads/link; ln -s .. .git/refs/heads/loop; echo 'ref: refs/heads/round' > .git/refs/heads/round
        echo 'ref: ../../../etc/passwd' > .git/refs/heads/up; mkfifo .git/objects/pack/pack-x.idx; rm -rf .git/objects/info
        mkfifo .git/objects/info .git/shallow .git/commondir; mkdir -p .git/objects/aa; mkfifo .git/objects/aa/$(printf '%038d' 0)
        echo aa$(printf '%038d' 0) > .git/refs/heads/object";
    arena.sh(script).done();
    for args in [&["diff", "--json"][..], &["diff", "--stat"], &["diff"]] {
        let output = arena.cowbox(args).output().ok();
        assert!(!output.stdout().contains("root:"), "{}", output.stdout());
    }
    let refs = arena.git(&["for-each-ref"]);
    let output = arena.apply(&["--commits"]);
    assert!(!output.stderr().contains("panicked"), "{}", output.stderr());
    assert_eq!(arena.git(&["for-each-ref"]), refs);
}

fn alternates_of_the_session_lead_nowhere(engine: Engine) {
    let arena = Arena::with_git(engine);
    // Another repository of the user's, whose commits the session wants to have brought in.
    let private = arena.root().join("home/private");
    fs::create_dir(&private).unwrap();
    super::git(&private, &["init", "-q"]);
    super::git(&private, &["commit", "-q", "--allow-empty", "-m", "secret plans"]);
    let id = super::git(&private, &["rev-parse", "HEAD"]);
    let script = format!(
        "mkdir -p .git/objects/info; echo {}/.git/objects > .git/objects/info/alternates; echo {id} > .git/refs/heads/stolen",
        private.display()
    );
    arena.sh(&script).done();
    let json = arena.cowbox(&["diff", "--json"]).output().ok().stdout();
    assert!(!json.contains("secret plans"), "{json}");
    let _ = arena.apply(&["--commits"]);
    assert!(!arena.git(&["for-each-ref"]).contains(&id));
}

fn a_session_cannot_take_a_branch_over(engine: Engine) {
    let arena = Arena::with_git(engine);
    arena.git(&["branch", "cowbox/taken"]);
    let before = arena.git(&["for-each-ref"]);
    arena
        .sh(&format!(
            "{GIT}echo x > new; git add new; git commit -q -m x; git checkout -q -b main2; git branch -f cowbox/taken"
        ))
        .done();
    for branch in ["main", "cowbox/taken", "cowbox", "HEAD", "-x", "a..b", "../x", "refs/heads/", "@{-1}"] {
        let output = arena.apply(&[&format!("--commits={branch}")]);
        assert_ne!(output.exit_code(), 0, "{branch}");
        assert_eq!(arena.git(&["for-each-ref"]), before, "{branch}");
    }
    arena.apply(&["--commits=new"]).done();
    assert_eq!(arena.git(&["log", "--format=%s", "-1", "new"]), "x");
}

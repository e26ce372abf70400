//! A patch as a fix: git applies it to copies of the files that it names, and sees nothing else.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use super::tree::Over;
use crate::apply;
use crate::error::{Error, reason, show};
use crate::layer::entry::Kind;
use crate::layer::remove;
use crate::task::halt::Halt;
use crate::task::source::{Configuration, Host, Patch, git_with};

/// Larger than any file that a patch is made for.
const LARGEST: u64 = 64 << 20;

/// Applies it to `over`; `scratch` is a directory that nobody else uses.
pub fn apply(patch: &Patch, over: &mut Over, scratch: &Path, host: &mut dyn Host) -> Result<(), Halt> {
    remove::tree(scratch)?;
    // What git would take for a repository, with settings that name programs, is never the copies.
    let (tree, none, file) = (scratch.join("tree"), scratch.join("none"), scratch.join("patch"));
    fs::create_dir_all(&tree)?;
    fs::create_dir(&none)?;
    fs::write(&file, &patch.content).map_err(|e| Error::io("write", &file, e))?;
    let doing = format!("apply {}", patch.name);
    let mut git = |words: &[&str]| {
        let mut command = git_with(&tree, Configuration::None, ["apply", "--whitespace=nowarn"]);
        command.env("GIT_DIR", &none).args(words).arg("--").arg(&file);
        host.run(command, &doing)
    };
    // Backwards as well: of what is renamed, each way tells one name.
    let mut named: BTreeSet<PathBuf> = paths(&git(&["--numstat", "-z"])?);
    named.extend(paths(&git(&["--numstat", "-z", "-R"])?));
    if let Some(bad) = named.iter().find(|path| !is_plain(path)) {
        return Err(Halt::infra(format!("cannot {doing}: it names {}", show(bad))));
    }
    let failed = |path: &Path, e: &io::Error| Halt::infra(format!("cannot {doing}: {}: {}", show(path), reason(e)));
    for path in &named {
        lay_out(over, path, &tree).map_err(|e| failed(path, &e))?;
    }
    git(&[])?;
    let patched = apply::host::Host::open(&tree)?;
    for path in named {
        let new = take(&patched, &path).map_err(|e| failed(&path, &e))?;
        if let Some((_, is_program)) = &new {
            let mode = over.mode(&path)?;
            over.modes.insert(path.clone(), executable(mode, *is_program));
        }
        over.changed.insert(path, new.map(|(content, _)| content));
    }
    Ok(remove::tree(scratch)?)
}

/// The paths of `git apply --numstat -z`: a count, a count, a path.
fn paths(summary: &[u8]) -> BTreeSet<PathBuf> {
    let path = |entry: &[u8]| entry.splitn(3, |b| *b == b'\t').nth(2).map(|path| OsStr::from_bytes(path).into());
    summary.split(|b| *b == 0).filter_map(path).collect()
}

/// Whether it stays in the code, and out of what git takes for its own.
fn is_plain(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(name) if !name.eq_ignore_ascii_case(".git")))
}

/// A copy of a file, if there is one.
fn lay_out(over: &Over, path: &Path, tree: &Path) -> io::Result<()> {
    let Some(content) = over.content(path)? else { return Ok(()) };
    let to = tree.join(path);
    fs::create_dir_all(to.parent().unwrap_or(tree))?;
    fs::write(&to, content)?;
    fs::set_permissions(&to, Permissions::from_mode(executable(0o644, over.mode(path)? & 0o100 != 0)))
}

/// What the patch made of a file, and whether it is a program; `None`: it is gone.
fn take(patched: &apply::host::Host, path: &Path) -> io::Result<Option<(Vec<u8>, bool)>> {
    let Some(found) = patched.find(path)?.map(|found| found.meta) else { return Ok(None) };
    if found.kind != Kind::File {
        return Err(io::Error::other("only files can be made by a patch"));
    }
    let mut content = Vec::new();
    patched.place(path)?.open()?.take(LARGEST + 1).read_to_end(&mut content)?;
    if content.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("larger than {} MiB", LARGEST >> 20)));
    }
    Ok(Some((content, found.mode & 0o100 != 0)))
}

/// A mode for who may read it to run it as well, or for nobody to.
fn executable(mode: u32, is_program: bool) -> u32 {
    if is_program { mode | (mode & 0o444) >> 2 } else { mode & !0o111 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::source::tests::Plain;

    struct World {
        dir: tempfile::TempDir,
    }

    impl World {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir(dir.path().join("repo")).unwrap();
            fs::write(dir.path().join("repo/a"), "1\n").unwrap();
            Self { dir }
        }

        fn apply(&self, content: &str) -> Result<Over, Halt> {
            let mut over = Over::new(&[], &self.dir.path().join("repo")).unwrap();
            let patch = Patch { name: "p".into(), content: content.into() };
            apply(&patch, &mut over, &self.dir.path().join("scratch"), &mut Plain::default())?;
            assert!(!self.dir.path().join("scratch").exists());
            Ok(over)
        }

        #[track_caller]
        fn refuses(&self, content: &str, why: &str) {
            let said = self.apply(content).map(|over| over.changed).unwrap_err();
            assert!(matches!(&said, Halt::Over(_, text) if text.contains(why)), "{said:?}");
        }
    }

    fn new_file(path: &str, mode: &str, line: &str) -> String {
        format!(
            "diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n"
        )
    }

    #[test]
    fn a_patch_cannot_make_a_repository_of_where_it_is_applied() {
        let world = World::new();
        let canary = world.dir.path().join("canary");
        for git in [".git", ".GIT", "sub/.git"] {
            world.refuses(&new_file(&format!("{git}/config"), "100644", "[core]"), "it names");
        }
        // The same in the code already: the copies are no repository all the same.
        let repo = world.dir.path().join("repo");
        fs::write(repo.join(".gitattributes"), "a filter=x\n").unwrap();
        fs::write(
            repo.join("config"),
            format!("[filter \"x\"]\nclean = touch {0}\nsmudge = touch {0}\n", canary.display()),
        )
        .unwrap();
        fs::write(repo.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let patch = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n".to_owned()
            + "--- a/config\n+++ b/config\n@@ -1,3 +1,4 @@\n+# x\n [filter \"x\"]\n clean = touch CANARY\n smudge = touch CANARY\n"
            + &new_file("objects/x", "100644", "x")
            + &new_file("refs/x", "100644", "x")
            + "--- a/HEAD\n+++ b/HEAD\n@@ -1 +1 @@\n-ref: refs/heads/main\n+ref: refs/heads/other\n";
        let over = world.apply(&patch.replace("CANARY", canary.to_str().unwrap())).unwrap();
        assert_eq!(over.changed[Path::new("a")].as_deref(), Some(&b"2\n"[..]));
        assert!(!canary.exists());
    }

    #[test]
    fn a_link_of_a_patch_is_never_followed() {
        let world = World::new();
        let secret = world.dir.path().join("secret");
        fs::write(&secret, "secret").unwrap();
        for target in [secret.to_str().unwrap(), "/dev/zero", "nowhere"] {
            let link = new_file("link", "120000", target) + "\\ No newline at end of file\n";
            world.refuses(&link, "only files can be made by a patch");
        }
    }

    #[test]
    fn renames_modes_and_names_of_any_bytes_are_kept() {
        let world = World::new();
        let patch =
            "diff --git a/a b/b\nold mode 100644\nnew mode 100755\nsimilarity index 100%\nrename from a\nrename to b\n"
                .to_owned()
                + &new_file("\"x\\377\"", "100644", "x").replace("a/\"x", "\"a/x").replace("b/\"x", "\"b/x");
        let over = world.apply(&patch).unwrap();
        let changed: Vec<(&[u8], bool)> =
            over.changed.iter().map(|(path, new)| (path.as_os_str().as_bytes(), new.is_some())).collect();
        assert_eq!(changed, [(&b"a"[..], false), (b"b", true), (b"x\xff", true)]);
        assert_eq!(over.mode(Path::new("b")).unwrap(), 0o755);
        assert_eq!(over.mode(Path::new(OsStr::from_bytes(b"x\xff"))).unwrap(), 0o644);
    }
}

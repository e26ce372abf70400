//! The context of a repo's own Dockerfile. Everything in it is hostile: no link is followed out of the repo,
//! nothing is waited for, and what the build writes goes to a copy.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat2, readlinkat};

use super::ignore::Ignored;
use crate::error::{Error, Result, reason, show};
use crate::setup::files::RepoFiles;
use crate::setup::plan::BuildRequest;

/// Where a context is on the host, all links resolved.
pub fn locate(files: &RepoFiles, context: &Path) -> Result<PathBuf> {
    let fd = open(files, context)?;
    fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).map_err(|e| Error::io("read", context, e))
}

fn open(files: &RepoFiles, context: &Path) -> Result<OwnedFd> {
    files.open_dir(context).map_err(|e| {
        Error::new(format!("the build context {} cannot be used: {}", show(context), reason(&e)))
            .hint("it must be a directory of the repo")
    })
}

/// Copies the Dockerfile, and ignore files that are its own, to a directory: it need not be in the context.
pub fn take_dockerfile(files: &RepoFiles, dockerfile: &Path, to: &Path) -> Result<PathBuf> {
    let name = dockerfile.file_name().unwrap_or_default();
    let text = files.read(dockerfile).map_err(|e| Error::io("read", dockerfile, e))?.ok_or_else(|| {
        Error::new(format!("{} is not a file of the repo", show(dockerfile))).hint("name one with `--containerfile`")
    })?;
    let put = |name: &std::ffi::OsStr, text: &[u8]| {
        let file = to.join(name);
        fs::write(&file, text).map_err(|e| Error::io("write", &file, e)).map(|()| file)
    };
    fs::create_dir_all(to).map_err(|e| Error::io("create", to, e))?;
    for own in own_ignore_files(dockerfile) {
        if let Ok(Some(text)) = files.read(&own) {
            put(own.file_name().unwrap_or_default(), &text)?;
        }
    }
    put(name, &text)
}

/// `Dockerfile.dockerignore`, which some builders prefer.
fn own_ignore_files(dockerfile: &Path) -> [PathBuf; 2] {
    [".dockerignore", ".containerignore"].map(|suffix| {
        let mut name = dockerfile.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    })
}

/// Copies a context, less what the engine would leave out anyway.
pub fn copy(files: &RepoFiles, request: &BuildRequest, to: &Path) -> Result<()> {
    let from = open(files, &request.context)?;
    let ignored = ignored(files, request);
    // Which of several an engine takes is its own affair: only what all of them leave out is left out.
    let covers = |path: &Path| !ignored.is_empty() && ignored.iter().all(|i| i.covers(path));
    let failed = |path: &Path, e: io::Error| Error::io("copy", &request.context.join(path), e);
    fs::create_dir_all(to).map_err(|e| Error::io("create", to, e))?;
    let mut todo = vec![PathBuf::new()];
    while let Some(dir) = todo.pop() {
        let (names, mode) = list(&from, &dir).map_err(|e| failed(&dir, e))?;
        for name in names {
            let path = dir.join(name);
            if covers(&path) {
                continue;
            }
            if entry(&from, &path, to).map_err(|e| failed(&path, e))? {
                todo.push(path);
            }
        }
        // We have to write into it and to remove it again.
        let mode = Permissions::from_mode(mode & 0o777 | 0o700);
        fs::set_permissions(to.join(&dir), mode).map_err(|e| failed(&dir, e))?;
    }
    Ok(())
}

/// Whether a path of the context at `root` leads through no link.
pub fn is_plain(root: &OwnedFd, path: &Path) -> bool {
    open_at(root, path, OFlags::PATH | OFlags::NOFOLLOW).is_ok_and(|fd| !is_link(&fd))
}

fn is_link(fd: &OwnedFd) -> bool {
    fstat(fd).map_or(true, |stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

/// Files that say what a context leaves out, there or not.
pub fn ignore_files_of(request: &BuildRequest) -> Vec<PathBuf> {
    let mut names = vec![request.context.join(".containerignore"), request.context.join(".dockerignore")];
    names.extend(own_ignore_files(&request.dockerfile));
    names
}

fn ignored(files: &RepoFiles, request: &BuildRequest) -> Vec<Ignored> {
    let names = ignore_files_of(request).into_iter();
    names.filter_map(|name| files.read(name).ok().flatten()).map(|text| Ignored::parse(&text)).collect()
}

fn open_at(root: &OwnedFd, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    Ok(openat2(root, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve)?)
}

fn list(root: &OwnedFd, path: &Path) -> io::Result<(Vec<OsString>, u32)> {
    let fd = open_at(root, path, OFlags::RDONLY | OFlags::DIRECTORY)?;
    let mode = fstat(&fd)?.st_mode;
    let mut names = Vec::new();
    for entry in Dir::new(fd)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name));
        }
    }
    Ok((names, mode))
}

/// Copies one entry; whether it is a directory, whose own entries are still to come.
fn entry(root: &OwnedFd, path: &Path, to: &Path) -> io::Result<bool> {
    let target = to.join(path);
    let handle = open_at(root, path, OFlags::PATH | OFlags::NOFOLLOW)?;
    match FileType::from_raw_mode(fstat(&handle)?.st_mode) {
        FileType::Directory => {
            fs::create_dir(&target)?;
            return Ok(true);
        }
        FileType::Symlink => {
            let link = readlinkat(&handle, "", Vec::new())?;
            symlink(std::ffi::OsStr::from_bytes(link.to_bytes()), &target)?;
        }
        FileType::RegularFile => {
            let mut source = File::from(open_at(root, path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK)?);
            let mode = source.metadata()?.permissions().mode() & 0o777;
            let mut copy = File::create_new(&target)?;
            io::copy(&mut source, &mut copy)?;
            copy.set_permissions(Permissions::from_mode(mode))?;
        }
        // Pipes, sockets and devices: no image is made of those.
        _ => {}
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Case {
        dir: tempfile::TempDir,
        files: RepoFiles,
    }

    fn case() -> Case {
        let dir = tempfile::tempdir().unwrap();
        let repo = dir.path().join("repo");
        fs::create_dir_all(repo.join("src/deep")).unwrap();
        fs::write(dir.path().join("secret"), "s").unwrap();
        fs::write(repo.join("Dockerfile"), "FROM x\n").unwrap();
        fs::write(repo.join("src/deep/run"), "#!").unwrap();
        fs::set_permissions(repo.join("src/deep/run"), Permissions::from_mode(0o755)).unwrap();
        symlink("../secret", repo.join("out")).unwrap();
        let files = RepoFiles::open(&repo).unwrap();
        Case { dir, files }
    }

    fn request() -> BuildRequest {
        BuildRequest { dockerfile: "Dockerfile".into(), ..BuildRequest::default() }
    }

    #[test]
    fn a_copy_has_files_modes_and_links_as_they_are_and_waits_for_nothing() {
        let case = case();
        let repo = case.files.root();
        nix::unistd::mkfifo(&repo.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        fs::set_permissions(repo.join("src"), Permissions::from_mode(0o555)).unwrap();
        let to = case.dir.path().join("copy");
        copy(&case.files, &request(), &to).unwrap();
        fs::set_permissions(repo.join("src"), Permissions::from_mode(0o755)).unwrap();
        assert_eq!(fs::metadata(to.join("src/deep/run")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_link(to.join("out")).unwrap(), Path::new("../secret"));
        assert!(!to.join("pipe").exists());
        fs::write(to.join("src/deep/run"), "changed").unwrap();
        assert_eq!(fs::read(repo.join("src/deep/run")).unwrap(), b"#!");
    }

    #[test]
    fn what_every_ignore_file_leaves_out_is_not_copied() {
        let case = case();
        let repo = case.files.root();
        fs::create_dir(repo.join("node_modules")).unwrap();
        fs::write(repo.join(".dockerignore"), "node_modules\nsrc\n").unwrap();
        copy(&case.files, &request(), &case.dir.path().join("one")).unwrap();
        assert!(!case.dir.path().join("one/node_modules").exists() && !case.dir.path().join("one/src").exists());
        fs::write(repo.join("Dockerfile.dockerignore"), "node_modules\n").unwrap();
        copy(&case.files, &request(), &case.dir.path().join("two")).unwrap();
        assert!(!case.dir.path().join("two/node_modules").exists() && case.dir.path().join("two/src").exists());
    }

    #[test]
    fn neither_context_nor_dockerfile_is_taken_from_outside() {
        let case = case();
        symlink("..", case.files.root().join("up")).unwrap();
        for context in ["..", "up", "/", "missing", "Dockerfile"] {
            let request = BuildRequest { context: context.into(), ..request() };
            assert!(copy(&case.files, &request, &case.dir.path().join("copy")).is_err(), "{context}");
            assert!(locate(&case.files, Path::new(context)).is_err(), "{context}");
        }
        for dockerfile in ["out", "../secret", "src", "missing", "", "/etc/passwd"] {
            let taken = take_dockerfile(&case.files, Path::new(dockerfile), &case.dir.path().join("file"));
            assert!(taken.is_err(), "{dockerfile}");
        }
        assert_eq!(
            locate(&case.files, Path::new("src")).unwrap(),
            case.files.root().canonicalize().unwrap().join("src")
        );
    }

    #[test]
    fn the_dockerfile_comes_with_its_own_ignore_file() {
        let case = case();
        fs::write(case.files.root().join("Dockerfile.dockerignore"), "x\n").unwrap();
        let to = case.dir.path().join("file");
        assert_eq!(take_dockerfile(&case.files, Path::new("Dockerfile"), &to).unwrap(), to.join("Dockerfile"));
        assert_eq!(fs::read(to.join("Dockerfile.dockerignore")).unwrap(), b"x\n");
    }
}

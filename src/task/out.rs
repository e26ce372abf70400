//! The directory of a batch. By default it is `runs` where the user stands, which may be somebody else's code: names
//! that are there already are never followed.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use crate::error::{Error, Kind, Result, show};
use crate::layer::spread;

/// How often somebody looks whether a lock is free.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The real path of the directory, whether it is there or not.
pub fn find(out: &Path) -> Result<PathBuf> {
    // A slash at the end would have the link looked through.
    let plain: PathBuf = out.components().collect();
    if plain.is_symlink() {
        return Err(Error::of(Kind::Usage, format!("{} is a link, and may lead anywhere", show(out)))
            .hint("name the directory that it leads to with `--out`"));
    }
    let whole = std::path::absolute(&plain).map_err(|e| Error::io("enter", out, e))?;
    let real = |above: &Path| Some(above.canonicalize().ok()?.join(whole.strip_prefix(above).ok()?));
    Ok(whole.ancestors().find_map(real).unwrap_or_else(|| whole.clone()))
}

/// Makes the directory, unless it is there; its real path.
pub fn create(out: &Path) -> Result<PathBuf> {
    let out = find(out)?;
    if !out.is_dir() {
        DirBuilder::new().recursive(true).create(&out).map_err(|e| Error::io("create", &out, e))?;
        spread::entries_of(&out);
    }
    out.canonicalize().map_err(|e| Error::io("enter", &out, e))
}

/// Puts a file there, whole or not at all, in place of one with the same name.
pub fn replace(dir: &Path, name: &str, content: &[u8]) -> Result<()> {
    let path = dir.join(name);
    let write = || -> io::Result<()> {
        let mut file =
            tempfile::Builder::new().prefix(".").permissions(Permissions::from_mode(0o666)).tempfile_in(dir)?;
        file.write_all(content)?;
        file.persist(&path)?;
        Ok(())
    };
    write().map_err(|e| Error::io("write", &path, e))
}

/// One batch at a time in a directory. What is left of one that was killed ends by itself, which takes a moment.
pub fn lock(dir: &Path, patience: Duration) -> Result<File> {
    let path = dir.join("batch.lock");
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
        .open(&path);
    let file = opened.map_err(|e| Error::io("open", &path, e).hint("remove it, or name another place with `--out`"))?;
    let began = Instant::now();
    while file.try_lock().is_err() {
        if began.elapsed() >= patience {
            return Err(Error::new(format!("another batch is running in {}", show(dir)))
                .hint("wait for it, or name another place with `--out`"));
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    Ok(file)
}

/// Reads a file of ours there: a regular one, of at most `most` bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file =
        fs::OpenOptions::new().read(true).custom_flags(i32::try_from(flags.bits()).unwrap_or_default()).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > most {
        return Err(io::Error::other(format!("it is no file, or larger than {} MiB", most >> 20)));
    }
    let mut content = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(file, most), &mut content)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_that_lies_there_already_leads_anywhere() {
        let dir = tempfile::tempdir().unwrap();
        let (out, elsewhere) = (dir.path().join("runs"), dir.path().join("elsewhere"));
        fs::write(&elsewhere, "mine").unwrap();
        let out = create(&out).unwrap();
        for name in ["summary.txt", "summary.txt.new", "batch.lock", "batch.json"] {
            symlink(&elsewhere, out.join(name)).unwrap();
        }
        replace(&out, "summary.txt", b"new").unwrap();
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "mine");
        assert!(!out.join("summary.txt").is_symlink());
        assert_eq!(read(&out.join("summary.txt"), 3).unwrap(), b"new");
        assert!(read(&out.join("summary.txt"), 2).is_err() && read(&out.join("batch.json"), 100).is_err());
        lock(&out, Duration::ZERO).unwrap_err();
        fs::remove_file(out.join("batch.lock")).unwrap();
        let held = lock(&out, Duration::ZERO).unwrap();
        assert!(lock(&out, Duration::ZERO).unwrap_err().message().contains("another batch"));
        drop(held);
    }

    #[test]
    fn a_link_is_no_place_for_runs() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("real")).unwrap();
        symlink("real", dir.path().join("runs")).unwrap();
        for name in ["runs", "runs/", "runs/."] {
            assert!(create(&dir.path().join(name)).unwrap_err().message().contains("is a link"), "{name}");
        }
        let (below, real) =
            (dir.path().join("runs/below/it"), dir.path().canonicalize().unwrap().join("real/below/it"));
        assert_eq!(find(&below).unwrap(), real);
        assert!(!real.exists());
        assert_eq!(create(&below).unwrap(), real);
    }
}

//! Directories whose entries have nothing to do with each other.

use std::fs::File;
use std::path::Path;

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

/// Says so to the file system. ext4 keeps related files together; sessions come and go, and without a journal it
/// looks at every file that was deleted nearby in the last minute before it makes a new one. Others do not mind.
pub fn entries_of(dir: &Path) {
    let Ok(dir) = File::open(dir) else { return };
    if let Ok(flags) = ioctl_getflags(&dir) {
        let _ = ioctl_setflags(&dir, flags | IFlags::TOPDIR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_that_knows_the_mark_has_it() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        entries_of(dir.path());
        let file = File::open(dir.path()).unwrap();
        const EXT4: i64 = 0xef53;
        if rustix::fs::fstatfs(&file).unwrap().f_type as i64 == EXT4 {
            assert!(ioctl_getflags(&file).unwrap().contains(IFlags::TOPDIR));
        }
        entries_of(&dir.path().join("missing"));
    }
}

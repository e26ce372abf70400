//! Which file systems cannot hold the layers of an overlay.

use std::path::Path;

/// What is said of such a place.
pub const CANNOT_HOLD: &str = "cannot hold the layers of a session";

/// Names what the file system at `path` is, if it is known to be unfit for an upper layer. Asked
/// only after a mount has failed: trying is the real test.
pub fn unfit(path: &Path) -> Option<&'static str> {
    let existing = path.ancestors().find(|dir| dir.exists())?;
    let magic = rustix::fs::statfs(existing).ok()?.f_type as u32;
    Some(match magic {
        0x794c_7630 => "an overlay itself (a container's root?)",
        0x6969 => "NFS",
        0xff53_4d42 | 0xfe53_4d42 | 0x517b => "a network share",
        0x0102_1997 => "9p",
        0x6573_5546 => "FUSE",
        0x4d44 | 0x2011_bab0 => "FAT",
        0xf15f => "eCryptfs",
        0x2fc1_2fc1 => "ZFS",
        _ => return None,
    })
}

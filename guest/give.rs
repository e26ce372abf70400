//! `guest give`: hands a tree over.

use crate::sys::{AT_FDCWD, AT_SYMLINK_NOFOLLOW, nr, open, sys};
use crate::text::{CStr, is};

/// How deep a tree may be; each level costs eight bytes.
const DEEPEST: usize = 1 << 17;

/// Where we were in each directory above.
static mut PLACES: [u64; DEEPEST] = [0; DEEPEST];

/// Walks down and back up through `..`, with one descriptor however deep it goes. Nobody moves
/// anything meanwhile: the session has stopped.
pub fn give(root: CStr, uid: usize, gid: usize) -> i32 {
    let mut failed = 0;
    let mut chown = |at: usize, name: CStr| {
        // What is the user's already keeps its ctime, by which it is known.
        let mut stat = [0u64; 32];
        let known = sys(nr::FSTATAT, at, name as usize, stat.as_mut_ptr() as usize, AT_SYMLINK_NOFOLLOW, 0) == 0;
        let id = |offset: usize| (stat[offset / 8] >> (offset % 8 * 8)) as u32 as usize;
        if known && id(nr::STAT_UID) == uid && id(nr::STAT_UID + 4) == gid {
            return;
        }
        failed |= i32::from(sys(nr::FCHOWNAT, at, name as usize, uid, gid, AT_SYMLINK_NOFOLLOW) != 0);
    };
    chown(AT_FDCWD, root);
    let mut dir = open(AT_FDCWD, root, nr::O_DIRECTORY | nr::O_NOFOLLOW);
    let mut depth = 0;
    let mut buffer = [0u8; 8192];
    while dir >= 0 {
        let mut below = -1;
        let got = sys(nr::GETDENTS64, dir as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0);
        let mut at = 0usize;
        while (at as isize) < got && below < 0 {
            let size = usize::from(buffer[at + 16]) | usize::from(buffer[at + 17]) << 8;
            let entry: CStr = &raw const buffer[at + 19];
            if !is(entry, b".") && !is(entry, b"..") {
                chown(dir as usize, entry);
                below = open(dir as usize, entry, nr::O_DIRECTORY | nr::O_NOFOLLOW);
            }
            if below >= 0 {
                let mut next = [0u8; 8];
                next.copy_from_slice(&buffer[at + 8..at + 16]);
                // SAFETY: one thread, and `depth` is checked below.
                unsafe { PLACES[depth] = u64::from_le_bytes(next) };
            }
            at += size;
        }
        if below >= 0 {
            depth += 1;
            if depth == DEEPEST {
                return 1;
            }
            sys(nr::CLOSE, dir as usize, 0, 0, 0, 0);
            dir = below;
        } else if got <= 0 {
            if depth == 0 {
                break;
            }
            depth -= 1;
            let up = open(dir as usize, c"..".as_ptr().cast(), nr::O_DIRECTORY);
            sys(nr::CLOSE, dir as usize, 0, 0, 0, 0);
            dir = up;
            // SAFETY: one thread, and this level was written on the way down.
            let place = unsafe { PLACES[depth] };
            sys(nr::LSEEK, dir as usize, place as usize, 0, 0, 0);
        }
    }
    failed | i32::from(dir < 0)
}

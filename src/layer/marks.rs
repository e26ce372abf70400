//! The marks of an overlay on its entries. What is not known is refused, never guessed at: a wrong
//! guess deletes a file, or brings one back.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::io::Errno;

use super::Encoding;
use super::entry::{Found, Kind, find, open_file};

/// Attributes of an entry: what belongs to the user, and what the overlay says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// `user.*`, under the names that the command gave them.
    pub xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    /// A directory that hides what is below it.
    pub opaque: bool,
    /// A directory in which empty files may be whiteouts (`opaque` is `x`).
    pub holds_file_whiteouts: bool,
    /// An empty file that stands for "deleted", if its directory says that there may be such.
    pub whiteout: bool,
    /// A file that began as a copy of one below.
    pub copied_up: bool,
    /// Permission bits that fuse-overlayfs keeps beside the file.
    pub mode: Option<u32>,
    /// What cannot be carried over to the host, in words.
    pub dropped: Vec<&'static str>,
    /// The access list, as the kernel has it.
    pub acl: Option<Vec<u8>>,
}

/// Marks of the kernel that say nothing about content.
const HARMLESS: [&[u8]; 5] = [b"impure", b"nlink", b"upper", b"uuid", b"protattr"];

/// Prefixes that an overlay or an engine writes: never the user's. On the host they would be marks for the
/// overlay of the next session.
const FOREIGN: [&[u8]; 3] = [b"user.overlay.", b"user.fuseoverlayfs.", b"user.containers."];

/// What is said of the list of a directory that new files in it get.
pub const DEFAULT_LIST: &str = "its access list for new files is not carried over";

/// Where the kernel keeps an access list.
pub const ACL: &str = "system.posix_acl_access";

/// Where it keeps the one that new files in a directory get.
pub const DEFAULT_ACL: &str = "system.posix_acl_default";

/// The name that fuse-overlayfs gives to whiteouts where it cannot make devices.
const PREFIX: &[u8] = b".wh.";

/// The device that fuse-overlayfs puts into a directory that hides what is below it.
const FUSE_OPAQUE: &str = ".wh..opq";

/// Reads the marks of a file or directory that is open.
pub fn read(fd: BorrowedFd<'_>, encoding: Encoding) -> io::Result<Marks> {
    let mut marks = Marks::default();
    if encoding == Encoding::Trusted && !rustix::process::geteuid().is_root() {
        return Err(refused("only root can read the marks of this layer (trusted.overlay.*)"));
    }
    for name in list(fd)? {
        read_one(fd, encoding, &name, &mut marks)?;
    }
    Ok(marks)
}

fn read_one(fd: BorrowedFd<'_>, encoding: Encoding, name: &[u8], marks: &mut Marks) -> io::Result<()> {
    let overlay = match encoding {
        Encoding::Trusted => &b"trusted.overlay."[..],
        Encoding::Fuse => b"user.fuseoverlayfs.",
        Encoding::Plain | Encoding::Userxattr => b"user.overlay.",
    };
    if let Some(mark) = name.strip_prefix(overlay).filter(|_| encoding != Encoding::Plain) {
        match mark {
            b"opaque" => match get(fd, name)?.as_deref() {
                Some(b"y") => marks.opaque = true,
                Some(b"x") => marks.holds_file_whiteouts = true,
                _ => return Err(unknown(name)),
            },
            b"whiteout" => marks.whiteout = true,
            b"override_stat" if encoding == Encoding::Fuse => marks.mode = mode_of(get(fd, name)?)?,
            // The kernel stores what the command itself named `user.overlay.x` one level deeper.
            b"origin" => marks.copied_up = true,
            mark if mark.starts_with(b"overlay.") => marks.drops(LOOKS_LIKE_A_MARK),
            mark if HARMLESS.contains(&mark) => {}
            // `redirect` and `metacopy` included: our mounts cannot write them, so somebody else did.
            _ => return Err(unknown(name)),
        }
        return Ok(());
    }
    if encoding == Encoding::Userxattr && is_of_another_kind(fd, name)? {
        return Err(unknown(name));
    }
    if name == b"user.containers.override_stat" && encoding == Encoding::Fuse {
        marks.mode = mode_of(get(fd, name)?)?;
    }
    let foreign = FOREIGN.iter().any(|prefix| name.starts_with(prefix));
    match name {
        _ if foreign && encoding != Encoding::Fuse => marks.drops(LOOKS_LIKE_A_MARK),
        _ if foreign => {}
        b"security.capability" => marks.drops("its capabilities are not carried over"),
        _ if name == DEFAULT_ACL.as_bytes() => marks.drops(DEFAULT_LIST),
        _ if name == ACL.as_bytes() => marks.acl = get(fd, name)?,
        _ if name.starts_with(b"user.") => {
            if let Some(value) = get(fd, name)? {
                marks.xattrs.insert(name.to_vec(), value);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether a layer that should be of the kernel's `userxattr` was written by something else. A command can set neither:
/// `trusted.*` is root's, and where fuse-overlayfs hides a directory's content it puts a device beside the attribute.
fn is_of_another_kind(fd: BorrowedFd<'_>, name: &[u8]) -> io::Result<bool> {
    if name == b"user.fuseoverlayfs.opaque" {
        return Ok(find(fd, OsStr::new(FUSE_OPAQUE))?.is_some_and(|found| found.meta.whiteout));
    }
    Ok(name.starts_with(b"trusted.overlay."))
}

const LOOKS_LIKE_A_MARK: &str = "an attribute that an overlay would take for its own is not carried over";

impl Marks {
    fn drops(&mut self, what: &'static str) {
        if !self.dropped.contains(&what) {
            self.dropped.push(what);
        }
    }
}

/// Sets one attribute.
pub fn set(fd: impl AsFd, name: &[u8], value: &[u8]) -> io::Result<()> {
    let name = CString::new(name).map_err(|_| io::ErrorKind::InvalidData)?;
    match rustix::fs::fsetxattr(fd, &name, value, rustix::fs::XattrFlags::empty()) {
        // A file system without attributes takes the file all the same.
        Err(Errno::OPNOTSUPP) => Ok(()),
        other => Ok(other?),
    }
}

/// Whether a directory of a session's layer hides what is below it.
pub fn is_opaque(fd: impl AsFd) -> io::Result<bool> {
    Ok(read(fd.as_fd(), Encoding::Userxattr)?.opaque)
}

/// What a name in a layer stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name<'a> {
    /// Itself.
    Plain(&'a OsStr),
    /// "This name is deleted."
    Whiteout(&'a OsStr),
    /// "What is below this directory is hidden."
    Opaque,
}

/// Reads a name. On a kernel overlay `.wh.x` is a file like any other.
pub fn name(name: &OsStr, encoding: Encoding) -> Name<'_> {
    if encoding != Encoding::Fuse {
        return Name::Plain(name);
    }
    match name.as_bytes().strip_prefix(PREFIX) {
        Some(b".wh..opq" | b".opq") => Name::Opaque,
        Some(deleted) if !deleted.is_empty() => Name::Whiteout(OsStr::from_bytes(deleted)),
        _ => Name::Plain(name),
    }
}

/// Whether an entry of an upper directory stands for "deleted".
pub fn is_whiteout(
    dir: BorrowedFd<'_>,
    name: &OsStr,
    found: &Found,
    parent: &Marks,
    how: Encoding,
) -> io::Result<bool> {
    if how == Encoding::Plain {
        return Ok(false);
    }
    let may_be_file = parent.holds_file_whiteouts && found.meta.kind == Kind::File && found.meta.size == 0;
    Ok(found.meta.whiteout || (may_be_file && read(open_file(dir, name)?.as_fd(), how)?.whiteout))
}

/// Names of all attributes.
pub fn list(fd: BorrowedFd<'_>) -> io::Result<Vec<Vec<u8>>> {
    let mut names = vec![0u8; 1024];
    loop {
        match rustix::fs::flistxattr(fd, &mut names) {
            Ok(length) => {
                let names = names[..length].split(|b| *b == 0);
                return Ok(names.filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect());
            }
            Err(Errno::RANGE) => names.resize(names.len() * 4, 0),
            Err(Errno::OPNOTSUPP) => return Ok(Vec::new()),
            Err(e) => return Err(e.into()),
        }
    }
}

/// One attribute.
pub fn get(fd: BorrowedFd<'_>, name: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let c_name = CString::new(name).map_err(|_| unknown(name))?;
    let mut value = vec![0u8; 65536];
    match rustix::fs::fgetxattr(fd, &c_name, &mut value) {
        Ok(length) => {
            value.truncate(length);
            Ok(Some(value))
        }
        Err(Errno::NODATA) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// `uid:gid:mode[:…]`, the mode in octal.
fn mode_of(value: Option<Vec<u8>>) -> io::Result<Option<u32>> {
    let Some(value) = value else { return Ok(None) };
    let text = String::from_utf8_lossy(&value).into_owned();
    let mode = text.split(':').nth(2).and_then(|mode| u32::from_str_radix(mode.trim_end_matches('\0'), 8).ok());
    mode.map(|mode| Some(mode & 0o7777)).ok_or_else(|| unknown(b"override_stat"))
}

fn unknown(name: &[u8]) -> io::Error {
    refused(&format!("its overlay mark {} is not one that cowbox's mounts write", crate::ui::sanitize::bytes(name)))
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}

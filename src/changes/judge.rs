//! One path, three sides: what the session has, what the host has, what the session saw of the host.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;

use super::base::{At, Base, Kept, Xattrs};
use super::compare::{link_target, same_content};
use super::merge::{Merged, is_text, merge};
use super::places::Places;
use super::{ChangeKind, Conflict};
use crate::layer::entry::{Found, Kind, open_file};
use crate::layer::marks;
use crate::layer::stack::Part;

/// What is to be judged.
pub struct Judge<'a> {
    /// What the session saw.
    pub base: &'a Base,
    /// Where the host's directories were.
    pub places: &'a Places<'a>,
    /// Relative to the root.
    pub path: &'a Path,
    /// Its last part.
    pub name: &'a OsStr,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Both sides are the same.
    Same,
    /// They differ, and it was the host that changed.
    Untouched,
    /// The session changed it.
    Changed {
        /// How.
        kind: ChangeKind,
        /// What stands against it.
        conflict: Option<Conflict>,
        /// Size of the merge of both, where they were merged.
        merged: Option<u64>,
        /// The host alone changed the permission bits.
        keeps_mode: bool,
    },
}

impl Verdict {
    fn plain(kind: ChangeKind) -> Self {
        Verdict::Changed { kind, conflict: None, merged: None, keeps_mode: false }
    }

    /// Whether the session's side can land as it is.
    pub fn is_plain(&self) -> bool {
        matches!(self, Verdict::Changed { conflict: None, .. })
    }

    fn against(kind: ChangeKind, conflict: Conflict) -> Self {
        Verdict::Changed { kind, conflict: Some(conflict), merged: None, keeps_mode: false }
    }
}

/// How the contents of two sides compare, given the third.
enum Content {
    Same,
    Ours,
    Theirs,
    Merged(u64),
    Conflict(Conflict),
}

type Side<'a> = (&'a Part, Found);

impl Judge<'_> {
    fn has_moved(&self, host: &Found) -> bool {
        self.base.has_moved(self.path, &host.id, self.places.is_in_place(self.path, host))
    }

    /// Reads the marks of a file that is compared with nothing: one that is not known must never be passed
    /// over, and a file that is closed to us is better found out now than when it is copied.
    pub fn check_marks(&self, new: Side<'_>) -> io::Result<()> {
        if new.1.meta.kind == Kind::File {
            marks::read(open_file(new.0.fd(), self.name)?.as_fd(), new.0.encoding())?;
        }
        Ok(())
    }

    /// The host has nothing here.
    pub fn no_host(&self, new: &Found) -> Verdict {
        if self.base.is_done(self.path, &new.id) {
            return Verdict::Untouched;
        }
        match self.base.get(self.path).map(|entry| entry.host) {
            // The host deleted it since. What the session did not touch stays deleted.
            Some(At::Here(_) | At::Unknown) if self.base.is_untouched(self.path, &new.id) => Verdict::Untouched,
            Some(At::Here(then)) if then.is_dir() && new.meta.kind == Kind::Dir => Verdict::plain(ChangeKind::Added),
            Some(At::Here(_) | At::Unknown) => Verdict::against(ChangeKind::Added, Conflict::DeletedThere),
            Some(At::Absent) | None => Verdict::plain(ChangeKind::Added),
        }
    }

    /// Both have something, of different types.
    pub fn types(&self, new: Found, old: Found) -> Verdict {
        if self.base.is_untouched(self.path, &new.id) || self.base.is_done(self.path, &new.id) {
            return Verdict::Untouched;
        }
        if self.has_moved(&old) {
            return Verdict::against(ChangeKind::TypeChanged, Conflict::Type);
        }
        Verdict::plain(ChangeKind::TypeChanged)
    }

    /// Both have a directory.
    pub fn dirs(&self, new: (&Found, &Xattrs), old: (&Found, &Xattrs)) -> Verdict {
        let same = new.1 == old.1;
        if self.base.is_done(self.path, &new.0.id) {
            return if new.0.meta.mode == old.0.meta.mode && same { Verdict::Same } else { Verdict::Untouched };
        }
        let saw = self.base.looks(self.path, &old.0.id, old.1, self.places.is_in_place(self.path, old.0));
        let modes = self.modes(new.0, old.0, saw.map(|saw| saw.mode));
        let merged = match saw {
            _ if same => Ok(None),
            Some(saw) => merge_xattrs(saw.xattrs, old.1, new.1).map(|merged| Some(merged != *old.1)),
            None => Err(Conflict::Binary),
        };
        match (modes, merged) {
            (Err(conflict), _) => Verdict::against(ChangeKind::ModeChanged, conflict),
            (_, Err(conflict)) => Verdict::against(ChangeKind::Modified, conflict),
            (modes, Ok(Some(true))) => modified(None, modes),
            (Ok(Some(true)), _) => Verdict::plain(ChangeKind::ModeChanged),
            (Ok(None), Ok(None)) => Verdict::Same,
            _ => Verdict::Untouched,
        }
    }

    /// The session deleted what the host has. `None`: it never knew of it, so that is no deletion.
    pub fn deleted(&self, host: &Found) -> Option<Option<Conflict>> {
        let known = self.base.get(self.path).map(|entry| entry.host);
        match known {
            // Deleted, applied, and made again by the host.
            Some(At::Absent) => return None,
            // Every path that was there when the run ended is known, so this one came later; or what is above it had
            // been deleted before the session went on.
            None if self.base.is_complete() || self.base.was_closed_above(self.path) => return None,
            _ => {}
        }
        let is_dir = host.meta.kind == Kind::Dir;
        Some((!is_dir && self.has_moved(host)).then_some(Conflict::DeletedHere))
    }

    /// Both have a file, a link or something special.
    pub fn leaves(&self, new: Side<'_>, old: Side<'_>) -> io::Result<Verdict> {
        if new.1.meta.kind != old.1.meta.kind {
            return Ok(self.types(new.1, old.1));
        }
        let content = match new.1.meta.kind {
            Kind::File => self.files(new, old)?,
            Kind::Symlink => self.symlinks(new, old)?,
            Kind::Dir | Kind::Fifo | Kind::Socket | Kind::Device => Content::Same,
        };
        let done = self.base.is_done(self.path, &new.1.id);
        let content = if done && !matches!(content, Content::Same) { Content::Ours } else { content };
        let saw = self.base.permissions(self.path, &old.1.id, self.places.is_in_place(self.path, &old.1));
        // The bits of a link mean nothing.
        let modes = match new.1.meta.kind {
            Kind::Symlink => Ok(None),
            _ if done && new.1.meta.mode != old.1.meta.mode => Ok(Some(false)),
            _ => self.modes(&new.1, &old.1, saw),
        };
        Ok(match (content, modes) {
            (Content::Conflict(conflict), _) => Verdict::against(ChangeKind::Modified, conflict),
            (Content::Theirs, modes) => modified(None, modes),
            (Content::Merged(size), modes) => modified(Some(size), modes),
            (Content::Same | Content::Ours, Err(conflict)) => Verdict::against(ChangeKind::ModeChanged, conflict),
            (Content::Same | Content::Ours, Ok(Some(true))) => Verdict::plain(ChangeKind::ModeChanged),
            (Content::Same, Ok(None)) => Verdict::Same,
            (Content::Same | Content::Ours, Ok(_)) => Verdict::Untouched,
        })
    }

    /// Whether two sides are the same in all that counts.
    pub fn same_leaves(&self, new: Side<'_>, old: Side<'_>) -> io::Result<bool> {
        if new.1.meta.kind != old.1.meta.kind || new.1.meta.mode != old.1.meta.mode {
            return Ok(new.1.meta.kind == old.1.meta.kind
                && new.1.meta.kind == Kind::Symlink
                && link_target(new.0.fd(), self.name)? == link_target(old.0.fd(), self.name)?);
        }
        Ok(match new.1.meta.kind {
            Kind::Symlink => link_target(new.0.fd(), self.name)? == link_target(old.0.fd(), self.name)?,
            Kind::File => {
                let (a, b) = (open_file(new.0.fd(), self.name)?, open_file(old.0.fd(), self.name)?);
                let attributes = |file: &File, side: Side<'_>| {
                    Ok::<_, io::Error>(marks::read(file.as_fd(), side.0.encoding())?.xattrs)
                };
                new.1.meta.size == old.1.meta.size
                    && same_content(&a, &b)?
                    && attributes(&a, new)? == attributes(&b, old)?
            }
            Kind::Dir | Kind::Fifo | Kind::Socket | Kind::Device => true,
        })
    }

    /// The session changed what preparing had left in the place of the host's: its difference is merged into that.
    pub fn over_setup(&self, new: Side<'_>, saw: Side<'_>, host: Side<'_>) -> io::Result<Verdict> {
        if self.base.is_done(self.path, &new.1.id) {
            return Ok(Verdict::Untouched);
        }
        let kinds = [new, saw, host].map(|side| side.1.meta.kind);
        if kinds != [Kind::File; 3] {
            // Only text can be merged.
            let same = self.same_leaves(new, host)?;
            return Ok(if same { Verdict::Same } else { Verdict::against(ChangeKind::Modified, Conflict::Binary) });
        }
        let read = |side: Side<'_>| whole(open_file(side.0.fd(), self.name)?);
        let (Some(session), Some(base), Some(now)) = (read(new)?, read(saw)?, read(host)?) else {
            return Ok(Verdict::against(ChangeKind::Modified, Conflict::Binary));
        };
        let modes = self.modes(&new.1, &host.1, Some(saw.1.meta.mode));
        Ok(match merge(Some(&Kept::Seen(base)), &now, &session, "") {
            Merged::Clean(merged) if merged == now => match modes {
                Ok(Some(true)) => Verdict::plain(ChangeKind::ModeChanged),
                Err(conflict) => Verdict::against(ChangeKind::ModeChanged, conflict),
                Ok(_) => Verdict::Untouched,
            },
            Merged::Clean(merged) => modified(Some(merged.len() as u64), modes),
            Merged::Conflict(_) => Verdict::against(ChangeKind::Modified, Conflict::Content),
            Merged::Binary => Verdict::against(ChangeKind::Modified, Conflict::Binary),
        })
    }

    /// `None`: the same. Else whether the session's is to land. Without what it saw nobody can tell who changed it.
    fn modes(&self, new: &Found, old: &Found, saw: Option<u32>) -> Result<Option<bool>, Conflict> {
        let (new, old) = (new.meta.mode, old.meta.mode);
        match saw {
            _ if new == old => Ok(None),
            Some(saw) if new == saw => Ok(Some(false)),
            Some(saw) if old == saw => Ok(Some(true)),
            _ => Err(Conflict::Mode),
        }
    }

    fn files(&self, new: Side<'_>, old: Side<'_>) -> io::Result<Content> {
        let (session, host) = (open_file(new.0.fd(), self.name)?, open_file(old.0.fd(), self.name)?);
        // Also where the content differs: a mark that is not known must never be passed over.
        let marks = marks::read(session.as_fd(), new.0.encoding())?;
        let same = new.1.meta.size == old.1.meta.size && same_content(&session, &host)?;
        if same && marks.xattrs == marks::read(host.as_fd(), old.0.encoding())?.xattrs {
            return Ok(Content::Same);
        }
        if !self.has_moved(&old.1) {
            return Ok(Content::Theirs);
        }
        if self.base.is_untouched(self.path, &new.1.id) {
            return Ok(Content::Ours);
        }
        let hosts = marks::read(host.as_fd(), old.0.encoding())?.xattrs;
        if marks.xattrs != hosts && !self.base.saw_xattrs(self.path, &hosts) {
            // Those of the session come with its content, and the host has set others.
            return Ok(Content::Conflict(Conflict::Binary));
        }
        if same {
            // Only attributes differ.
            return Ok(Content::Theirs);
        }
        let Some(base) = self.base.content(self.path)? else { return Ok(Content::Conflict(no_base(&session, &host)?)) };
        let (Some(session), Some(host)) = (whole(session)?, whole(host)?) else {
            return Ok(Content::Conflict(Conflict::Binary));
        };
        match &base {
            Kept::Seen(base) if session == *base => return Ok(Content::Ours),
            Kept::Seen(base) if host == *base => return Ok(Content::Theirs),
            // Opened, or written as it was. Made anew it would be an edit taken back.
            Kept::Committed(base) if session == *base && marks.copied_up => return Ok(Content::Ours),
            _ => {}
        }
        Ok(match merge(Some(&base), &host, &session, "") {
            Merged::Clean(merged) if merged == host => Content::Ours,
            Merged::Clean(merged) => Content::Merged(merged.len() as u64),
            Merged::Conflict(_) => Content::Conflict(Conflict::Content),
            Merged::Binary => Content::Conflict(Conflict::Binary),
        })
    }

    fn symlinks(&self, new: Side<'_>, old: Side<'_>) -> io::Result<Content> {
        if link_target(new.0.fd(), self.name)? == link_target(old.0.fd(), self.name)? {
            return Ok(Content::Same);
        }
        Ok(if !self.has_moved(&old.1) {
            Content::Theirs
        } else if self.base.is_untouched(self.path, &new.1.id) {
            Content::Ours
        } else {
            // A link has no lines that markers could stand between.
            Content::Conflict(Conflict::Binary)
        })
    }
}

fn modified(merged: Option<u64>, modes: Result<Option<bool>, Conflict>) -> Verdict {
    let keeps_mode = modes == Ok(Some(false));
    Verdict::Changed { kind: ChangeKind::Modified, conflict: modes.err(), merged, keeps_mode }
}

/// What becomes of attributes that the host and the session have changed.
pub fn merge_xattrs(base: &Xattrs, host: &Xattrs, session: &Xattrs) -> Result<Xattrs, Conflict> {
    let mut merged = host.clone();
    for name in base.keys().chain(session.keys()) {
        let (base, host, session) = (base.get(name), host.get(name), session.get(name));
        match session {
            _ if session == base || session == host => {}
            _ if host != base => return Err(Conflict::Binary),
            Some(value) => drop(merged.insert(name.clone(), value.clone())),
            None => drop(merged.remove(name)),
        }
    }
    Ok(merged)
}

/// The conflict of two files that nothing is known about.
fn no_base(session: &File, host: &File) -> io::Result<Conflict> {
    let text = |mut file: &File| {
        let mut start = Vec::new();
        let merges = file.metadata()?.len() <= super::contents::LARGEST;
        file.by_ref().take(8000).read_to_end(&mut start)?;
        Ok::<_, io::Error>(merges && is_text(&start))
    };
    Ok(if text(session)? && text(host)? { Conflict::Content } else { Conflict::Binary })
}

/// The bytes of a file, unless it is too large to be merged.
pub fn whole(file: File) -> io::Result<Option<Vec<u8>>> {
    use std::io::{Seek, SeekFrom};
    let mut file = file;
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    let most = super::contents::LARGEST;
    file.take(most + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

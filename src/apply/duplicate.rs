//! A copy of something with everything that belongs to it.

use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;

use super::copy::Copier;
use super::host::Place;
use crate::layer::Encoding;
use crate::layer::entry::{Identity, Kind, names};
use crate::layer::marks;

/// A copy with everything that belongs to it.
pub fn duplicate(from: &Place, to: &Place, copier: &mut Copier) -> io::Result<()> {
    let stat = from.stat()?;
    let id = Identity::from(&stat);
    let Some(found) = from.find()? else { return Ok(()) };
    match found.meta.kind {
        Kind::File => {
            let mut source = opened(from, id.permissions(), Place::open)?;
            let mut copy = to.create()?;
            copier.copy(&mut source, &mut copy)?;
            for (name, value) in marks::read(source.as_fd(), Encoding::Plain)?.xattrs {
                marks::set(&copy, &name, &value)?;
            }
            to.chown_like(&stat);
            copy.sync_data()?;
            to.chmod(id.permissions())?;
        }
        Kind::Symlink => {
            to.symlink(&from.target()?)?;
            to.chown_like(&stat);
        }
        Kind::Dir => {
            if id.permissions() & 0o500 != 0o500 {
                from.chmod(id.permissions() | 0o500)?;
            }
            let copied = below(from, to, copier);
            // It goes soon, but not if this was cut off.
            from.chmod(id.permissions())?;
            copied?;
            to.chown_like(&stat);
            to.chmod(id.permissions())?;
        }
        Kind::Fifo | Kind::Socket | Kind::Device => match to.make_special(&stat) {
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
            made => {
                made?;
                to.chown_like(&stat);
                to.chmod(id.permissions())?;
            }
        },
    }
    to.set_mtime(id.mtime)
}

fn below(from: &Place, to: &Place, copier: &mut Copier) -> io::Result<()> {
    let (source, copy) = (from.open_dir()?, to.mkdir()?);
    for name in names(source.as_fd())? {
        duplicate(&Place::new(Rc::clone(&source), name.clone()), &Place::new(Rc::clone(&copy), name), copier)?;
    }
    for (name, value) in marks::read(source.as_fd(), Encoding::Plain)?.xattrs {
        marks::set(&*copy, &name, &value)?;
    }
    Ok(())
}

/// Opens what its owner may not read: the owner may change that, and changes it back.
fn opened<T>(place: &Place, mode: u32, open: impl Fn(&Place) -> io::Result<T>) -> io::Result<T> {
    match open(place) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            place.chmod(mode | 0o400)?;
            let opened = open(place);
            place.chmod(mode)?;
            opened
        }
        other => other,
    }
}

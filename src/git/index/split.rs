//! A split index: a few entries over a shared file.

use std::cmp::Ordering;

use super::Index;
use super::parse::Link;
use crate::error::{Error, Result};

/// The shared entries without those deleted, with those replaced, merged with the new ones.
pub(super) fn merge(base: &Index, own: &Index, link: &Link) -> Result<Index> {
    let wrong = || Error::new("its split parts do not fit together");
    let added = own.entries.get(link.replaced.len()..).ok_or_else(wrong)?;
    let nameless = own.entries.iter().take(link.replaced.len()).all(|entry| entry.length == 0);
    if !nameless || added.iter().any(|entry| entry.length == 0) {
        return Err(wrong());
    }
    let outside = |at: &u32| *at as usize >= base.len();
    if link.deleted.iter().chain(&link.replaced).any(outside) {
        return Err(wrong());
    }
    let mut merged = Index { hash: base.hash, ..Index::default() };
    let (mut deleted, mut replaced) = (link.deleted.iter().peekable(), link.replaced.iter().enumerate().peekable());
    let mut added = added.iter().enumerate().peekable();
    let copy = |merged: &mut Index, from: &Index, at: usize, name: &[u8]| {
        let (entry, id) = from.entries.get(at).zip(from.id(at)).ok_or_else(wrong)?;
        merged.push(name, (entry.mode, entry.stage, entry.stat), id.as_bytes())
    };
    for (at, entry) in base.entries.iter().enumerate() {
        let mut covered = false;
        while let Some((offset, new)) = added.next_if(|(_, new)| own.order(new, base, entry) != Ordering::Greater) {
            covered |= own.order(new, base, entry) == Ordering::Equal;
            copy(&mut merged, own, link.replaced.len() + offset, own.name(new))?;
        }
        let gone = deleted.next_if(|position| **position as usize == at).is_some();
        let replacement = replaced.next_if(|(_, position)| **position as usize == at);
        match replacement {
            _ if gone || covered => {}
            Some((own_at, _)) => copy(&mut merged, own, own_at, base.name(entry))?,
            None => copy(&mut merged, base, at, base.name(entry))?,
        }
    }
    for (offset, new) in added {
        copy(&mut merged, own, link.replaced.len() + offset, own.name(new))?;
    }
    Ok(merged)
}

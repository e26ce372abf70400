//! `/etc/passwd`, of the host or of an image. Read as text: no NSS module is loaded for it.

use std::fs;
use std::path::PathBuf;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Login name.
    pub name: String,
    /// User id.
    pub uid: u32,
    /// Primary group.
    pub gid: u32,
    /// Home.
    pub home: PathBuf,
    /// Login shell.
    pub shell: String,
}

/// Parses a passwd file; lines that are not entries are passed over.
pub fn parse(text: &str) -> Vec<Entry> {
    let entry = |line: &str| -> Option<Entry> {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, uid, gid, _, home, shell] = fields.as_slice() else { return None };
        Some(Entry {
            name: (*name).to_owned(),
            uid: uid.parse().ok()?,
            gid: gid.parse().ok()?,
            home: home.into(),
            shell: (*shell).trim().to_owned(),
        })
    };
    text.lines().filter_map(entry).collect()
}

/// The host's entry of a user.
pub fn by_uid(uid: u32) -> Option<Entry> {
    let text = fs::read("/etc/passwd").ok()?;
    parse(&String::from_utf8_lossy(&text)).into_iter().find(|e| e.uid == uid)
}

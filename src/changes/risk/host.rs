//! What rules ask about the host, and the risks that follow from its settings.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Risk;
use super::codes::{GIT_ATTRIBUTES, HOOK_DIR, VCS_SETTINGS};
use super::glob::folded;
use super::rule::name_of;
use crate::changes::Change;
use crate::git::obeyed::Obeyed;
use crate::layer::entry::Kind;

/// Answers about the host.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    /// What its git obeys.
    pub obeyed: &'a Obeyed,
    /// Compose files that a `devcontainer.json` names, on either side.
    pub compose: &'a [PathBuf],
    /// Its links.
    pub links: &'a dyn Links,
}

/// Links of the host.
pub trait Links {
    /// Where the link at a path of the repo leads; `None` if there is none. No other link is followed on the way.
    fn link_at(&self, path: &Path) -> Option<Vec<u8>>;
}

struct NoLinks;

impl Links for NoLinks {
    fn link_at(&self, _: &Path) -> Option<Vec<u8>> {
        None
    }
}

impl Host<'_> {
    /// One that nothing is known of.
    pub const UNKNOWN: Self = Host { obeyed: &Obeyed::NOTHING, compose: &[], links: &NoLinks };

    /// Whether a path is a compose file by the words of a `devcontainer.json`.
    pub(super) fn is_compose(&self, path: &Path) -> bool {
        self.compose.iter().any(|named| folded(named) == folded(path))
    }
}

/// Git's own names for hooks: where the root is the folder of hooks, only files with these names are some.
const HOOK_NAMES: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// Anything that lands where the host's git takes its hooks from. A mode counts too: it switches a hook on.
pub(super) fn hook(change: &Change, host: &Host<'_>) -> Option<Risk> {
    let (root, folders): (Vec<_>, Vec<_>) = host.obeyed.hooks.iter().partition(|dir| dir.as_os_str().is_empty());
    let at_root = || HOOK_NAMES.iter().any(|name| folded(&change.path) == name.as_bytes());
    let named = touches(change, folders) || !root.is_empty() && lands(change) && at_root();
    named.then(|| Risk::of(HOOK_DIR, format!("`{}` is, or may be, what a hook of git runs", name_of(&change.path))))
}

/// New content of a file that the host's git reads because its settings say so.
pub(super) fn settings(change: &Change, host: &Host<'_>) -> Vec<Risk> {
    let risk = |code, words: &str| Risk::of(code, format!("`{}` {words}", name_of(&change.path)));
    let settings = touches(change, &host.obeyed.settings)
        .then(|| risk(VCS_SETTINGS, "is included in the settings of git on this machine"));
    let attributes = touches(change, &host.obeyed.attributes)
        .then(|| risk(GIT_ATTRIBUTES, "holds attributes for git on this machine"));
    settings.into_iter().chain(attributes).collect()
}

fn lands(change: &Change) -> bool {
    change.new.is_some_and(|meta| meta.kind != Kind::Dir)
}

/// Whether a change lands at or below one of the places; or is a link that takes the place of a folder above it.
fn touches<'a>(change: &Change, places: impl IntoIterator<Item = &'a PathBuf>) -> bool {
    let link = change.new.is_some_and(|meta| meta.kind == Kind::Symlink);
    let mut places = places.into_iter().map(|place| folded(place)).peekable();
    // Mostly there are none: then the path is not put together for nothing.
    if !lands(change) || places.peek().is_none() {
        return false;
    }
    let path = folded(&change.path);
    let path = Path::new(OsStr::from_bytes(&path));
    places.any(|place| {
        let place = Path::new(OsStr::from_bytes(&place));
        path.starts_with(place) || link && place.starts_with(path)
    })
}

//! Every code, once. `docs/risks.md` holds the same table and a test compares them.

use super::Tier::{self, Blocked, Consent, Notice};

/// Name, what happens, and one sentence for people.
pub type Code = (&'static str, Tier, &'static str);

macro_rules! codes {
    ($($name:ident = ($code:literal, $tier:ident, $meaning:literal);)*) => {
        $(pub(super) const $name: Code = ($code, $tier, $meaning);)*
        /// All codes, the heaviest tier first: what `--allow` may name and what the documentation lists.
        pub const CODES: &[Code] = &[$($name),*];
    };
}

codes! {
    GIT_DIR = ("git-dir", Blocked, "It lies inside a gitdir or would become one; hooks and settings there run programs.");
    SPECIAL_FILE = ("special-file", Blocked, "It is a fifo, a socket or a device.");
    COWBOX_POLICY = ("cowbox-policy", Blocked, "It is cowbox's own file of the repository, and the change could widen what the next session may do.");

    SYMLINK_OUTSIDE = ("symlink-outside", Consent, "It is a link that leads out of the repository or into its gitdir, or could.");
    HOOK_DIR = ("hook-dir", Consent, "It is a hook of git, or says what hooks run.");
    SHELL_AUTOLOAD = ("shell-autoload", Consent, "A shell, or a tool that you enter the folder with or start in it, loads this file by itself.");
    EDITOR_AUTOLOAD = ("editor-autoload", Consent, "An editor that opens the folder starts programs named here.");
    AGENT_CONFIG = ("agent-config", Consent, "A coding agent takes hooks, commands, servers or permissions from it.");
    DEVCONTAINER_HOST = ("devcontainer-host", Consent, "A key of a dev container that reaches the host changed.");
    NESTED_REPO = ("nested-repo", Consent, "Git would take the directory for a repository of its own and obey the settings in it.");
    VCS_SETTINGS = ("vcs-settings", Consent, "Git, or another version control, reads it as settings, and these can run programs.");
    GIT_ATTRIBUTES = ("git-attributes", Consent, "A file by which git runs a driver, or fetches from elsewhere, changed.");

    COWBOX_SETTINGS = ("cowbox-settings", Notice, "It is cowbox's own file of the repository, and the change only tightens it.");
    AGENT_INSTRUCTIONS = ("agent-instructions", Notice, "Coding agents read it as instructions.");
    DEVCONTAINER = ("devcontainer", Notice, "It is part of a dev container and runs inside of it.");
    CI = ("ci", Notice, "It decides what runs on a build server, or who must review.");
    BUILD_ENTRY = ("build-entry", Notice, "It runs, or says what runs, at the next build, test or install.");
    LOCKFILE_SOURCE = ("lockfile-source", Notice, "A dependency now comes from another place, or without the checksum that it had.");
    NEW_EXECUTABLE = ("new-executable", Notice, "It can be executed and could not before.");
    SHADOW_BINARY = ("shadow-binary", Notice, "It is a program in a folder of generated files that tools run from.");
    SET_ID = ("set-id", Notice, "It has a setuid or setgid bit, which is not carried over.");
    WORLD_WRITABLE = ("world-writable", Notice, "Everyone on the machine may write to it.");
    SECRET = ("secret", Notice, "An added line looks like a key, a token or a password.");
    MASS_DELETION = ("mass-deletion", Notice, "More than 50 files are deleted, and they are more than half of all changes.");
    UNTRACKED_DELETED = ("untracked-deleted", Notice, "A file is deleted that git holds no copy of.");
    TESTS_DELETED = ("tests-deleted", Notice, "A test, or a file in a folder of tests, is deleted.");
}

//! git on the host, for code that is not to be trusted: no hooks, no filters, no prompts, nothing of the repo's config.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// How much of the user's own configuration git sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Configuration {
    /// All: credentials, proxies and other names of hosts are in there. For talking to a server.
    Users,
    /// None. For everything that touches files: filters would be programs.
    None,
}

/// A command of git.
pub fn git(dir: &Path, configuration: Configuration) -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        let name_bytes = name.as_encoded_bytes();
        // Where the user stands must not matter; how a server is reached must.
        let kept = [&b"GIT_SSH"[..], b"GIT_ASKPASS", b"GIT_SSL", b"GIT_PROXY", b"GIT_TRACE"];
        if name_bytes.starts_with(b"GIT_") && !kept.iter().any(|prefix| name_bytes.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    if configuration == Configuration::None {
        command.envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_SYSTEM", "/dev/null")]);
        command.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_ATTR_NOSYSTEM", "1")]);
    }
    command.envs([("GIT_TERMINAL_PROMPT", "0"), ("GIT_NO_REPLACE_OBJECTS", "1"), ("LC_ALL", "C.UTF-8")]);
    command.env("GIT_CEILING_DIRECTORIES", dir.parent().unwrap_or(dir));
    for setting in [
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        "protocol.ext.allow=never",
        "gc.auto=0",
        "maintenance.auto=false",
        "safe.directory=*",
        "advice.detachedHead=false",
        "init.defaultBranch=main",
    ] {
        command.args(["-c", setting]);
    }
    command.arg("-C").arg(dir);
    command
}

/// The same with words.
pub fn git_with<S: AsRef<OsStr>>(
    dir: &Path,
    configuration: Configuration,
    words: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = git(dir, configuration);
    command.args(words);
    command
}

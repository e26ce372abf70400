//! Programs of the user's that show something: pagers and viewers. They come from outside of the repo, and nothing that
//! they show can start anything.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::engine::client;
use crate::error::reason;

/// What makes a value more than words: then a shell reads it, as git does it.
const SHELL_SIGNS: &[u8] = b"|&;<>()$`\\\"'\n*?[#~=%";

/// The command to run; `None` if none is wanted.
pub fn command(value: &OsStr, search: &[PathBuf], repo: &Path) -> Result<Option<Command>, String> {
    let value = value.as_bytes().trim_ascii();
    if value.is_empty() || value == b"cat" {
        return Ok(None);
    }
    let mut command = if value.iter().any(|b| SHELL_SIGNS.contains(b)) {
        let mut shell = Command::new(program(OsStr::new("sh"), search, repo)?);
        shell.arg("-c").arg(OsStr::from_bytes(value));
        shell
    } else {
        let mut words = value.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).map(OsStr::from_bytes);
        let mut pager = Command::new(program(words.next().unwrap_or_default(), search, repo)?);
        pager.args(words);
        pager
    };
    // Relative names must not lead into the repo, neither for a shell nor for what it starts.
    command.current_dir("/").env("PATH", std::env::join_paths(search).unwrap_or_default());
    // What is shown must not make `less` start a program: no preprocessor, no `!`, no editor.
    command.env("LESSSECURE", "1").env_remove("LESSOPEN").env_remove("LESSCLOSE");
    for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
        if std::env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
    // git, or what reads its settings: no repository is to be found by a variable, and none above `/`.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"GIT_")) {
        command.env_remove(name);
    }
    Ok(Some(command))
}

/// Whether there was a program to start; a shell tells it by its exit status.
pub fn started(status: ExitStatus) -> Result<(), String> {
    match status.code() {
        Some(126) => Err("it cannot be executed".to_owned()),
        Some(127) => Err("it was not found".to_owned()),
        _ => Ok(()),
    }
}

fn program(name: &OsStr, search: &[PathBuf], repo: &Path) -> Result<PathBuf, String> {
    if !name.as_bytes().contains(&b'/') {
        let found = search.iter().map(|dir| dir.join(name)).find(|file| client::is_executable(file));
        return found.ok_or_else(|| "it was not found outside of the repository".to_owned());
    }
    let path = Path::new(name);
    let refused = || "it must be an absolute path outside of the repository".to_owned();
    if !path.is_absolute() {
        return Err(refused());
    }
    let real = path.canonicalize().map_err(|e| reason(&e))?;
    if path.starts_with(repo) || real.starts_with(repo) { Err(refused()) } else { Ok(real) }
}

/// Where programs are looked for: nowhere in the repo.
pub fn search_path(repo: &Path) -> Vec<PathBuf> {
    let outside = |dir: &PathBuf| !dir.canonicalize().is_ok_and(|real| real.starts_with(repo));
    client::search_path().into_iter().filter(outside).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn script(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn words(command: &Command) -> Vec<String> {
        let all = [command.get_program()].into_iter().chain(command.get_args());
        all.map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_shell_reads_only_what_needs_one() {
        let dir = tempfile::tempdir().unwrap();
        let search = [dir.path().join("bin"), "/bin".into()];
        script(&search[0].join("page"), "");
        let parsed = |value: &str| command(OsStr::new(value), &search, Path::new("/repo")).map(|c| words(&c.unwrap()));
        let page = search[0].join("page").to_str().unwrap().to_owned();
        assert_eq!(parsed(" page  -a b").unwrap(), [page.as_str(), "-a", "b"]);
        assert_eq!(parsed("page | tee $X").unwrap()[1..], ["-c", "page | tee $X"]);
        assert!(parsed("missing-pager").unwrap_err().contains("not found"));
    }

    #[test]
    fn nothing_is_taken_from_the_repo() {
        let dir = tempfile::tempdir().unwrap();
        let repo = dir.path().canonicalize().unwrap().join("repo");
        script(&repo.join("bin/page"), "");
        std::os::unix::fs::symlink(repo.join("bin/page"), dir.path().join("link")).unwrap();
        for name in [repo.join("bin/page"), dir.path().join("link"), "./page".into()] {
            assert!(command(name.as_os_str(), &[], &repo).is_err(), "{name:?}");
        }
    }
}

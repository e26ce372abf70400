//! `userEnvProbe`: the variables that a shell of the user's sets.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::plan::EnvProbe;
use super::redact::Redactor;
use super::room::{Job, Room, Silent};
use crate::error::Result;
use crate::policy::environment::Environment;

/// A shell that asks a question at its start would never end.
const LIMIT: Duration = Duration::from_secs(10);
const MARK: &str = "cowbox-7c0b0d-environment";
/// What belongs to one process alone.
const NOT_TAKEN: [&str; 6] = ["PWD", "OLDPWD", "SHLVL", "_", "HOSTNAME", "TERM"];

/// What the shell says; `None` if it did not answer.
pub fn ask(
    room: &mut Room<'_>,
    probe: EnvProbe,
    user: Option<&str>,
    env: &Environment,
    workdir: &Path,
    logs: &Path,
) -> Result<Option<BTreeMap<String, String>>> {
    let flags = match probe {
        EnvProbe::None => return Ok(Some(BTreeMap::new())),
        EnvProbe::LoginShell => "-lc",
        EnvProbe::InteractiveShell => "-ic",
        EnvProbe::LoginInteractiveShell => "-lic",
    };
    // The shell of the user: what the container says, then what its passwd says.
    let script = format!(
        "s=${{SHELL:-$(while IFS=: read -r n _ i _ _ _ s; do [ \"$i\" = \"$(id -u)\" ] && echo \"$s\" && break; done </etc/passwd)}}; \
         [ -x \"$s\" ] || s=/bin/sh; exec \"$s\" {flags} 'printf %s {MARK}; cat /proc/self/environ; printf %s {MARK}' 2>/dev/null"
    );
    let command: Vec<OsString> = ["/bin/sh", "-c", &script].map(Into::into).to_vec();
    let log = logs.join("environment.log");
    // Steps need them as they are; what must not be kept is not taken over from the answer.
    let open = Redactor::default();
    let job = Job { command: &command, env, user, workdir, log: log.clone(), secrets: &open, limit: Some(LIMIT) };
    let ended = room.run(&[job], &mut Silent)?;
    let said = std::fs::read(&log).unwrap_or_default();
    // It holds values of variables.
    let _ = std::fs::remove_file(&log);
    let good = ended.first().is_some_and(|ended| ended.code == 0);
    Ok(good.then(|| parse(&said)).flatten())
}

/// The variables between the marks.
fn parse(said: &[u8]) -> Option<BTreeMap<String, String>> {
    let text = String::from_utf8_lossy(said);
    let (_, rest) = text.split_once(MARK)?;
    let (found, _) = rest.split_once(MARK)?;
    let pairs = found.split('\0').filter_map(|pair| pair.split_once('='));
    let taken = |name: &str| !name.is_empty() && !NOT_TAKEN.contains(&name);
    Some(pairs.filter(|(name, _)| taken(name)).map(|(name, value)| (name.into(), value.into())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_counts() {
        let said = format!("hello\n{MARK}PATH=/a:/b\0PWD=/x\0EMPTY=\0A=b=c\0{MARK}bye");
        let found = parse(said.as_bytes()).unwrap();
        let expected = [("A", "b=c"), ("EMPTY", ""), ("PATH", "/a:/b")];
        assert_eq!(found, expected.map(|(a, b)| (a.to_owned(), b.to_owned())).into());
        assert_eq!(parse(b"no marks"), None);
    }
}

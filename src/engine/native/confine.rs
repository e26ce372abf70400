//! What the command may do: nothing that needs a capability, and not the calls of the filter.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use super::streams::Opened;
use crate::error::{Error, Result, reason};
use crate::policy::Network;
use crate::policy::environment::Environment;
use crate::sys::seccomp::Filter;
use crate::sys::{capabilities, landlock, signal};

/// The command, ready for exec: everything is allocated before the fork.
#[derive(Debug)]
pub struct Program {
    candidates: Vec<CString>,
    arguments: Vec<CString>,
    environment: Vec<CString>,
}

impl Program {
    /// Resolves nothing yet: the PATH is searched inside.
    pub fn new(command: &[OsString], env: &Environment) -> Result<Self> {
        let words = command;
        let c = |s: &OsStr| CString::new(s.as_bytes()).map_err(|_| Error::new("an argument holds a NUL byte"));
        let name = words[0].as_os_str();
        let candidates = if name.as_bytes().contains(&b'/') || name.is_empty() {
            vec![c(name)?]
        } else {
            let path = env.get("PATH").unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin")).to_owned();
            std::env::split_paths(&path)
                .map(|dir| if dir.as_os_str().is_empty() { PathBuf::from(".") } else { dir })
                .map(|dir| c(dir.join(name).as_os_str()))
                .collect::<Result<_>>()?
        };
        let pair = |(name, value): (&OsStr, &OsStr)| {
            c(&OsString::from_vec([name.as_bytes(), b"=", value.as_bytes()].concat()))
        };
        Ok(Self {
            candidates,
            arguments: words.iter().map(|w| c(w)).collect::<Result<_>>()?,
            environment: env.iter().map(pair).collect::<Result<_>>()?,
        })
    }

    /// Takes the terminal, gives everything else up, and becomes the command. Returns only a line
    /// that says why not.
    pub fn become_it(&self, filter: &Filter, network: Network, streams: &Opened) -> String {
        // Until exec this is still cowbox, with the host's variables in its memory, and without its
        // capabilities nothing else keeps the sandbox's processes from reading them.
        let closed = set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(Into::into);
        if let Err(e) = closed.and_then(|()| streams.take()) {
            return format!("failed cannot prepare the command: {}", reason(&e));
        }
        match confine(filter, network) {
            Err(error) => format!("failed {}", error.message()),
            Ok(()) => format!("exec {}", self.exec() as i32),
        }
    }

    /// `execve`, the way a shell ranks errors.
    fn exec(&self) -> nix::errno::Errno {
        use nix::errno::Errno;
        let mut result = Errno::ENOENT;
        for file in &self.candidates {
            let Err(error) = nix::unistd::execve(file, &self.arguments, &self.environment);
            let error = match error {
                // The file is there, its interpreter is not.
                Errno::ENOENT if Path::new(OsStr::from_bytes(file.as_bytes())).exists() => Errno::EACCES,
                Errno::ENOEXEC => self.exec_as_script(file),
                other => other,
            };
            if !matches!(error, Errno::ENOENT | Errno::ENOTDIR) && result == Errno::ENOENT {
                result = error;
            }
        }
        result
    }

    /// A file without a known format is a shell script, as for every `execvp`.
    fn exec_as_script(&self, file: &CString) -> nix::errno::Errno {
        let mut arguments = vec![c"/bin/sh".to_owned(), file.clone()];
        arguments.extend(self.arguments.iter().skip(1).cloned());
        let Err(_) = nix::unistd::execve(c"/bin/sh", &arguments, &self.environment);
        nix::errno::Errno::ENOEXEC
    }
}

/// The command as given, or the user's shell. To be asked outside: inside, ids may not be mapped yet.
pub fn command_or_shell(command: &[OsString], env: &Environment) -> Vec<OsString> {
    if command.is_empty() { vec![shell(env)] } else { command.to_vec() }
}

/// The user's own shell.
fn shell(env: &Environment) -> OsString {
    let from_env = env.get("SHELL").filter(|s| Path::new(s).is_file()).map(OsStr::to_owned);
    let uid = rustix::process::geteuid().as_raw();
    from_env
        .or_else(|| {
            crate::engine::passwd::by_uid(uid).map(|e| OsString::from(e.shell)).filter(|s| Path::new(s).is_file())
        })
        .unwrap_or_else(|| "/bin/sh".into())
}

/// Gives up every capability and installs the filter. There is no way back.
fn confine(filter: &Filter, network: Network) -> Result<()> {
    let failed = |what: &str, e: std::io::Error| Error::new(format!("cannot {what}: {}", reason(&e)));
    capabilities::drop_all().map_err(|e| failed("drop capabilities", e))?;
    if network == Network::Full && landlock::can_scope() {
        landlock::scope_abstract_sockets().map_err(|e| failed("close abstract sockets", e))?;
    }
    filter.install()?;
    signal::unblock_all();
    signal::default_sigpipe();
    Ok(())
}

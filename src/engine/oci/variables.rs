//! How the command's variables reach a container.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use crate::error::{Error, Result, reason};
use crate::policy::environment::Environment;
use crate::sys;

/// Variables on their way to the container: never on an argument list.
#[derive(Debug)]
pub struct Variables {
    file: Option<OwnedFd>,
    by_name: Vec<(OsString, OsString)>,
}

impl Variables {
    /// Most go through an anonymous file; a value with line breaks goes by name through the
    /// client's own environment, which is exact but would reach the client too.
    pub fn new(env: &Environment) -> Result<Self> {
        let mut text = Vec::new();
        let mut by_name = Vec::new();
        for (name, value) in env.iter() {
            let (n, v) = (name.as_bytes(), value.as_bytes());
            if std::str::from_utf8(n).is_err() || std::str::from_utf8(v).is_err() {
                return Err(Error::new(format!(
                    "the variable {} is not UTF-8, and engines would change it",
                    crate::ui::sanitize::bytes(n)
                ))
                .hint("leave it out, or use `--engine native`"));
            }
            let plain = |c: &u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'-');
            if !n.iter().all(plain) {
                return Err(Error::new(format!(
                    "`{}` is not a name that engines take for a variable",
                    crate::ui::sanitize::bytes(n)
                ))
                .hint("name it with letters, digits and `_`, or use `--engine native`"));
            }
            if v.iter().any(|c| matches!(c, b'\n' | b'\r')) {
                if reaches_client(name) {
                    return Err(Error::new(format!(
                        "{} cannot have a value with line breaks in a container",
                        name.to_string_lossy()
                    ))
                    .hint("set it inside, or use `--engine native`"));
                }
                by_name.push((name.to_owned(), value.to_owned()));
            } else {
                text.extend_from_slice(n);
                text.push(b'=');
                text.extend_from_slice(v);
                text.push(b'\n');
            }
        }
        if text.is_empty() {
            return Ok(Self { file: None, by_name });
        }
        let failed = |e: std::io::Error| Error::new(format!("cannot pass the variables on: {}", reason(&e)));
        let fd =
            rustix::fs::memfd_create("cowbox-env", rustix::fs::MemfdFlags::CLOEXEC).map_err(|e| failed(e.into()))?;
        let mut file = File::from(fd);
        file.write_all(&text).map_err(failed)?;
        std::io::Seek::rewind(&mut file).map_err(failed)?;
        Ok(Self { file: Some(file.into()), by_name })
    }

    /// Adds them to a client's command.
    pub fn add_to(&self, command: &mut Command) {
        if let Some(file) = &self.file {
            command.arg("--env-file").arg(format!("/proc/self/fd/{}", file.as_raw_fd()));
            sys::process::inherit(command, file.as_fd());
        }
        for (name, value) in &self.by_name {
            command.arg("--env").arg(name).env(name, value);
        }
    }
}

/// Names that would change what the client itself does.
fn reaches_client(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    ["LD_", "DOCKER", "CONTAINER", "XDG_", "GO", "STORAGE_", "REGISTRY_", "DBUS_", "SSL_"]
        .iter()
        .any(|p| name.starts_with(p))
        || matches!(&*name, "PATH" | "HOME" | "TMPDIR" | "USER")
        || name.to_ascii_lowercase().ends_with("_proxy")
}

//! Closing the host's loopback to the steps of a rootless build.
//!
//! `podman run` tells slirp4netns to close it; `podman build` of 4.3 does not, and `10.0.2.2` is `127.0.0.1` of the host
//! there. It takes the program from PATH, so a build finds one there that adds the word. To say it twice does no harm.
//! The bridges of docker and of root's podman do not lead there.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use crate::engine::client::{self, Client};
use crate::error::{Error, Result, show};

const PROGRAM: &str = "slirp4netns";
/// Its path may hold anything: a link beside the script saves quoting it.
const SCRIPT: &str = "#!/bin/sh\nexec \"${0%/*}/real\" --disable-host-loopback \"$@\"\n";

/// Has every step of the build `command` without a way to the host's loopback. `dir` is there as long as it runs.
pub(super) fn close(command: &mut Command, dir: &Path) -> Result<()> {
    // It can say that steps share the host's network.
    command.env_remove("BUILDAH_ISOLATION");
    let Some(real) = Client::find(PROGRAM) else { return Ok(()) };
    let programs = dir.join("programs");
    let put = || {
        fs::create_dir(&programs)?;
        symlink(real.program(), programs.join("real"))?;
        let script = programs.join(PROGRAM);
        fs::write(&script, SCRIPT)?;
        fs::set_permissions(&script, Permissions::from_mode(0o755))
    };
    put().map_err(|e| Error::io("write to", &programs, e))?;
    let path = std::env::join_paths(std::iter::once(programs).chain(client::search_path())).map_err(|_| {
        Error::new(format!("a build cannot be kept from the host's loopback: {} has a colon in it", show(dir)))
            .hint("have the cache elsewhere: set COWBOX_CACHE_DIR")
    })?;
    command.env("PATH", path);
    Ok(())
}

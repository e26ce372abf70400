//! How an agent finds what is shown to it. Its home is known only inside: it differs by engine, image and user. So
//! directories and files are mounted at a place of ours, and put into the home when the sandbox starts.

use std::path::Path;

use crate::plan::Mount;

/// Where directories stand in a container.
pub const DIRS: &str = "/.cowbox/home";
/// Where files stand in a container.
pub const FILES: &str = "/.cowbox/files";
/// The same on native, which cannot add names to the host's root.
pub const NATIVE_FILES: &str = "/run/cowbox/files";

/// What a shell does first. The agent itself may have been installed below the home.
pub fn script(mounts: &[Mount]) -> String {
    let mut script = String::from(
        r#"export HOME="${HOME:-/tmp}"
export PATH="$HOME/.local/bin:$PATH"
place() {
  mkdir -p "$(dirname "$HOME/$1")" && { [ ! -e "$HOME/$1" ] || mv "$HOME/$1" "$HOME/$1.image"; } && shift && "$@" && return
  echo "cowbox: error: the profile's files cannot be put into $HOME, the home inside" >&2; exit 125
}
"#,
    );
    for mount in mounts {
        let below = |base: &str| mount.target.strip_prefix(Path::new(base)).ok().map(|path| path.display().to_string());
        // Names are plain: see `Shown`.
        if let Some(name) = below(DIRS) {
            script.push_str(&format!("place '{name}' ln -s '{DIRS}/{name}' \"$HOME/{name}\"\n"));
        }
        for base in [FILES, NATIVE_FILES] {
            if let Some(name) = below(base) {
                // A copy of one's own: agents replace such files as a whole, which a mount would refuse.
                script.push_str(&format!("place '{name}' cp '{base}/{name}' \"$HOME/{name}\"\n"));
            }
        }
    }
    script
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::policy::mounts::Access;

    #[test]
    fn what_is_shown_is_put_into_the_home_and_what_was_there_is_kept_beside() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        fs::create_dir_all(home.join(".agent")).unwrap();
        fs::write(home.join(".agent/old"), "of the image").unwrap();
        let mount = |target: &str| Mount { source: "/x".into(), target: target.into(), access: Access::Cow };
        let script = script(&[mount("/.cowbox/home/.agent"), mount("/.cowbox/home/.config/agent"), mount("/else")]);
        let run = |script: &str| {
            let mut command = std::process::Command::new("/bin/sh");
            command.args(["-c", script]).env("HOME", &home).output().unwrap()
        };
        let output = run(&format!("{script}echo \"$PATH\""));
        assert!(String::from_utf8_lossy(&output.stdout).starts_with(&format!("{}/.local/bin:", home.display())));
        assert_eq!(fs::read_link(home.join(".agent")).unwrap(), Path::new("/.cowbox/home/.agent"));
        assert_eq!(fs::read_link(home.join(".config/agent")).unwrap(), Path::new("/.cowbox/home/.config/agent"));
        assert_eq!(fs::read_to_string(home.join(".agent.image/old")).unwrap(), "of the image");
        let failed = run(&super::script(&[mount("/.cowbox/files/no-such-file")]));
        assert_eq!(failed.status.code(), Some(125));
    }
}

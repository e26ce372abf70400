//! What to build so that an image has the features: a Containerfile and the files that it copies.
//!
//! Only what podman's builder and docker's classic one both know. A feature is one `COPY` and one `RUN`, so that a
//! change of the last one does not install the others again. Values never stand in a line that a shell reads: they
//! are in files, quoted.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use super::options::env_file;
use super::quote::{env_instruction, shell};
use crate::error::{Error, Result};
use crate::setup::plan::FeatureInstall;
use crate::ui::sanitize;

/// Where features are while they are installed. Some of them know this path.
const INSIDE: &str = "/tmp/dev-container-features";
const BUILTIN: &str = "devcontainer-features.builtin.env";
const OPTIONS: &str = "devcontainer-features.env";
const INSTALL: &str = "devcontainer-features-install.sh";
const HOMES: &str = "devcontainer-features-homes.sh";

/// Adds the homes of the users, which only the image knows. Needs nothing but a shell; `getent` knows more if it is there.
const HOMES_SCRIPT: &str = r#"#!/bin/sh
set -e
cd "${0%/*}"
. ./devcontainer-features.builtin.env
home() {
    entry=
    if command -v getent >/dev/null 2>&1; then entry=$(getent passwd "$1" || true); fi
    if [ -n "$entry" ]; then
        IFS=: read -r _ _ _ _ _ found _ <<EOF
$entry
EOF
        printf %s "$found"
        return
    fi
    [ -r /etc/passwd ] || return 0
    while IFS=: read -r name _ uid _ _ found _ || [ -n "$name" ]; do
        if [ "$name" = "$1" ] || [ "$uid" = "$1" ]; then printf %s "$found"; return; fi
    done </etc/passwd
}
quoted() {
    rest=$1
    out=
    while :; do
        case $rest in
            *\'*) out=$out${rest%%\'*}"'\\''" rest=${rest#*\'} ;;
            *) break ;;
        esac
    done
    printf "%s='%s'\n" "$2" "$out$rest"
}
container=$(home "${_CONTAINER_USER%%:*}")
remote=$(home "${_REMOTE_USER%%:*}")
{ quoted "$container" _CONTAINER_USER_HOME; quoted "$remote" _REMOTE_USER_HOME; } >>devcontainer-features.builtin.env
"#;

/// Who the image's users are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users {
    /// `USER` of the base image, which the new one has too; empty: root.
    pub image: String,
    /// Whom the container runs as; empty: the image's.
    pub container: String,
    /// Whom hooks and the command run as; empty: the container's.
    pub remote: String,
}

/// Everything that a build needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildContext {
    /// The Containerfile.
    pub text: String,
    /// What must be in the context. A later entry is laid over an earlier one.
    pub files: Vec<(PathBuf, ContextSource)>,
}

/// Where a part of a context comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContextSource {
    /// A directory: relative to the repo, or absolute.
    Dir(PathBuf),
    /// A file with this content.
    Text(String),
}

/// Lays `features` over `base_image`, in this order, and leaves the image's user as it was.
pub fn containerfile(base_image: &str, features: &[FeatureInstall], users: &Users) -> Result<BuildContext> {
    let base = word(base_image, "the image", "/@:._-")?;
    let image = user(&users.image, "root")?;
    let container = user(&users.container, image)?;
    let remote = user(&users.remote, container)?;
    let builtin =
        BTreeMap::from([("_CONTAINER_USER", container), ("_REMOTE_USER", remote)].map(|(k, v)| (k.into(), v.into())));
    let mut files = vec![
        (PathBuf::from(BUILTIN), ContextSource::Text(env_file(&builtin))),
        (PathBuf::from(HOMES), ContextSource::Text(HOMES_SCRIPT.to_owned())),
    ];
    let mut text = format!("FROM {base}\nUSER root\nCOPY {BUILTIN} {HOMES} {INSIDE}/\n");
    run(&mut text, &format!("/bin/sh {INSIDE}/{HOMES}"));
    for (number, feature) in features.iter().enumerate() {
        let dir = format!("{number}-{}", super::quote::file_name(&feature.short));
        text.push('\n');
        for (name, value) in &feature.env {
            let _ = writeln!(text, "ENV {name}=\"{}\"", env_instruction(value));
        }
        let _ = writeln!(text, "COPY {dir} {INSIDE}/{dir}/");
        let inside = format!("{INSIDE}/{dir}");
        run(&mut text, &format!("cd {inside} && chmod -R 0755 . && ./{INSTALL} && cd / && rm -rf {inside}"));
        let dir = PathBuf::from(dir);
        files.push((dir.clone(), ContextSource::Dir(feature.dir.clone())));
        files.push((dir.join(OPTIONS), ContextSource::Text(env_file(&feature.options))));
        files.push((dir.join(INSTALL), ContextSource::Text(install_script(&feature.id))));
    }
    text.push('\n');
    run(&mut text, &format!("rm -rf {INSIDE}"));
    let _ = writeln!(text, "USER {image}");
    Ok(BuildContext { text, files })
}

/// In the form without a shell, for the base image may have set another one with `SHELL`.
fn run(text: &mut String, script: &str) {
    let _ = writeln!(text, "RUN {}", serde_json::json!(["/bin/sh", "-c", script]));
}

/// The sequence of the reference.
fn install_script(id: &str) -> String {
    let failed = shell(&format!("the feature {} failed to install", sanitize::text(id)));
    format!(
        "#!/bin/sh\nset -e\nended() {{ [ $? -eq 0 ] || echo {failed} >&2; }}\ntrap ended EXIT\n\
         set -a\n. ../{BUILTIN}\n. ./{OPTIONS}\nset +a\nchmod +x ./install.sh\n./install.sh\n"
    )
}

fn user<'a>(user: &'a str, default: &'a str) -> Result<&'a str> {
    if user.is_empty() { Ok(default) } else { word(user, "the user", ":._-") }
}

/// It stands bare in an instruction: anything but a plain word could be more than one.
fn word<'a>(text: &'a str, what: &str, marks: &str) -> Result<&'a str> {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || marks.contains(c));
    if plain && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(text);
    }
    Err(Error::new(format!("{what} `{}` cannot be used to install features on", sanitize::text(text))))
}

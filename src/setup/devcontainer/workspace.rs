//! `workspaceFolder` and `workspaceMount`: where the repo stands inside.

use std::path::{Path, PathBuf};

use super::config::Config;
use super::discover::project;
use super::ledger::{CONFIG, Host, Ledger};
use super::mounts::RawMount;
use super::paths;
use super::substitute::Values;
use crate::error::{Error, Result, show};
use crate::setup::plan::Workspace;
use crate::ui::sanitize;

const PARENT: &str = "/workspaces";

/// Decides, and tells `values` the folder.
pub(super) fn decide(
    config: &Config,
    host: &Host<'_>,
    values: &mut Values<'_>,
    ledger: &mut Ledger<'_>,
) -> Result<Workspace> {
    let sub = project(&config.path);
    let default = Path::new(PARENT).join(plain_name(host.files.root()));
    let given = config.workspace_folder.as_ref().map(|raw| absolute("workspaceFolder", raw, values)).transpose()?;
    let is_compose = config.is_compose();
    let folder = match &given {
        Some(folder) => folder.clone(),
        None if is_compose => PathBuf::from("/"),
        None => paths::below(&default, &sub),
    };
    // A path that is no text can stand in none.
    values.container_folder = Some(folder.to_string_lossy().into_owned());
    let Some(raw) = config.workspace_mount.as_deref().filter(|_| !is_compose) else {
        if config.workspace_mount.is_some() {
            ledger.ignore(CONFIG, "workspaceMount", "the compose file says what is mounted");
        }
        return Ok(Workspace { mount: default, folder });
    };
    let workspace = if raw.trim().is_empty() {
        let mount = given.unwrap_or(default);
        ledger.notice(format!("`workspaceMount` asks for no mount: the repo stands at {} all the same", show(&mount)));
        Workspace { folder: paths::below(&mount, &sub), mount }
    } else {
        let mount = RawMount::parse(raw).map_err(|what| Error::new(format!("`workspaceMount` {what}")))?;
        let target = absolute("workspaceMount", &mount.target, values)?;
        if target == Path::new("/") {
            return Err(Error::new("`workspaceMount`: the repo cannot stand at `/`"));
        }
        let source = values.text(&mount.source)?;
        let is_repo = mount.kind == "bind" && Path::new(&source) == host.files.root();
        if !is_repo {
            let shown = sanitize::text(&values.shown(&mount.source)?);
            ledger.notice(format!("`workspaceMount` asks for `{shown}`: the repo is mounted in its place"));
        }
        Workspace { folder: given.unwrap_or_else(|| paths::below(&target, &sub)), mount: target }
    };
    values.container_folder = Some(workspace.folder.to_string_lossy().into_owned());
    Ok(workspace)
}

/// The name of the repo, with a dash for what engines would split at.
fn plain_name(root: &Path) -> String {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let odd =
        |c: char| c == char::REPLACEMENT_CHARACTER || !crate::paths::is_plain(c.encode_utf8(&mut [0; 4]).as_ref());
    name.chars().map(|c| if odd(c) { '-' } else { c }).collect()
}

fn absolute(key: &str, raw: &str, values: &Values<'_>) -> Result<PathBuf> {
    let shown = sanitize::text(&values.shown(raw)?);
    paths::inside(&values.text(raw)?).ok_or_else(|| Error::new(format!("`{key}`: `{shown}` is not an absolute path")))
}

//! From a config, the settings that come before it, and the host, to a plan.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::config::{Compose, Config};
use super::discover::project;
use super::hooks;
use super::id::devcontainer_id;
use super::label::Part;
use super::layers::Layers;
use super::ledger::{CONFIG, Host, Ledger};
use super::substitute::Values;
use super::withhold::withhold;
use super::{image, inputs, mounts, paths, run_args, workspace};
use crate::error::{Error, Result, show};
use crate::setup::key::hex;
use crate::setup::plan::{EnvProbe, SetupPlan, Source, StepCommand, Workspace};
use crate::setup::redact::Redactor;
use crate::ui::sanitize;

/// A plan, with what others need to complete it.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The plan. Features and services are for others to fill in.
    pub plan: SetupPlan,
    /// `initializeCommand`, if the user allows it to run on the host.
    pub initialize: Vec<StepCommand>,
    /// Features that are asked for, in the order of the file, tokens replaced.
    pub features: Vec<(String, Value)>,
    /// `overrideFeatureInstallOrder`
    pub override_feature_install_order: Vec<String>,
    /// The compose file that says what runs, tokens replaced.
    pub compose: Option<Compose>,
    /// `customizations.cowbox` of all that have it, in order.
    pub customizations: Vec<Value>,
}

/// Decides everything. `parts` are the entries of the image's label, then the features in the order of
/// their installation; without them the answer is good for finding out image and features.
pub fn plan(config: &Config, parts: &[Part], host: &Host<'_>) -> Result<Planned> {
    decide(config, parts, host).map_err(|e| e.context(show(&config.path)))
}

fn decide(config: &Config, parts: &[Part], host: &Host<'_>) -> Result<Planned> {
    let mut ledger = Ledger::new(host);
    let mut values = values(config, host);
    let mut plan = SetupPlan {
        source: Some(Source::Devcontainer),
        config_file: Some(config.path.clone()),
        secrets: config.secrets.clone(),
        ..SetupPlan::default()
    };
    if let Some(notice) = &config.unknown {
        ledger.notice(notice.clone());
    }
    if config.extends {
        ledger.notice("`extends` is not part of the specification: what it names is not read");
    }
    let workspace = workspace::decide(config, host, &mut values, &mut ledger)?;
    let layers = Layers::new(config, parts, &mut ledger);

    let (image, image_inputs) = image::decide(config, host, &values, &mut ledger)?;
    plan.image = image;
    plan.container_user = layers.user("containerUser", &values, |s| s.container_user.as_deref())?;
    plan.remote_user = layers.user("remoteUser", &values, |s| s.remote_user.as_deref())?;
    plan.update_remote_user_uid = layers.last(|s| s.update_remote_user_uid).unwrap_or(true);
    plan.user_env_probe = layers.last(|s| s.user_env_probe).unwrap_or(EnvProbe::LoginInteractiveShell);
    plan.env = layers.env(&values)?;
    plan.remote_env = layers.remote_env(&values)?;
    plan.container = layers.container(&values, &mut ledger)?;
    plan.mounts = mounts::decide(&layers.mounts(), &workspace.mount, &values, &mut ledger)?;

    let mut init = layers.any(|s| s.init);
    if config.is_compose() {
        if !config.run_args.is_empty() {
            ledger.ignore(CONFIG, "runArgs", "a compose file has its own options");
        }
    } else {
        init |= run_args::decide(&config.run_args, &values, &mut ledger, &mut plan.container, &mut plan.env)?;
    }
    if init {
        plan.container.run_args.push("--init".to_owned());
    }

    plan.steps = hooks::steps(&layers.hooks(), &values)?;
    let initialize = initialize(config, host, &values, &mut ledger)?;
    layers.explain(host, &mut ledger);

    let commands = plan.steps.iter().map(|step| &step.command);
    plan.inputs = collect(config, image_inputs, inputs::named(host.files, commands, &workspace));
    plan.workspace = Some(workspace);
    let mut planned = Planned {
        initialize,
        features: config.features.iter().map(|(id, v)| Ok((id.clone(), values.json(v)?))).collect::<Result<_>>()?,
        override_feature_install_order: values.list(&config.override_feature_install_order)?,
        compose: config.compose.as_ref().filter(|_| config.is_compose()).map(|c| compose(c, &values)).transpose()?,
        customizations: layers.customizations(),
        plan,
    };
    explain_withheld(&values, &mut ledger);
    let secrets = Redactor::of(values.secrets.values().map(String::as_bytes));
    withhold(&mut planned, &secrets, &mut ledger);
    ledger.close(&mut planned.plan);
    Ok(planned)
}

fn values<'a>(config: &Config, host: &'a Host<'_>) -> Values<'a> {
    let root = host.files.root();
    let local_folder = paths::below(root, &project(&config.path)).to_string_lossy().into_owned();
    let labels = BTreeMap::from([
        ("devcontainer.local_folder", local_folder.clone()),
        ("devcontainer.config_file", root.join(&config.path).to_string_lossy().into_owned()),
    ]);
    let declared = |name: &&String| config.secrets.contains_key(*name);
    let secrets = host.passed.keys().filter(declared).map(|name| (name.clone(), host.passed[name].clone())).collect();
    Values {
        env: host.env,
        secrets,
        local_folder,
        container_folder: None,
        id: devcontainer_id(&labels),
        withheld: RefCell::default(),
    }
}

/// Commands for the host are never steps.
fn initialize(
    config: &Config,
    host: &Host<'_>,
    values: &Values<'_>,
    ledger: &mut Ledger<'_>,
) -> Result<Vec<StepCommand>> {
    let commands = config.initialize.each();
    let mut asked = config.initialize.shown(values)?;
    // A yes is for the scripts of the repo as they are, not for what they may become.
    let scripts = scripts(config, host, values)?;
    if !scripts.is_empty() {
        asked = serde_json::json!({ "command": asked, "files": scripts });
    }
    if commands.is_empty() || !ledger.ask(CONFIG, "initializeCommand", "runs on the host, outside the sandbox", &asked)
    {
        return Ok(Vec::new());
    }
    commands.into_iter().map(|(_, command)| hooks::substituted(command, values)).collect()
}

/// Files of the repo that `initializeCommand` names, with their hashes.
fn scripts(config: &Config, host: &Host<'_>, values: &Values<'_>) -> Result<BTreeMap<String, String>> {
    let root = host.files.root();
    let here = Workspace { mount: root.to_path_buf(), folder: paths::below(root, &project(&config.path)) };
    let commands = config.initialize.each();
    let commands: Vec<StepCommand> =
        commands.into_iter().map(|(_, command)| hooks::substituted(command, values)).collect::<Result<_>>()?;
    let hashed = |path: PathBuf| -> Result<(String, String)> {
        let content = host.files.read(&path).map_err(|e| Error::io("read", &path, e))?.unwrap_or_default();
        Ok((crate::paths::text(&path), format!("sha256:{}", hex(&Sha256::digest(content)))))
    };
    inputs::named(host.files, &commands, &here).into_iter().map(hashed).collect()
}

fn compose(raw: &Compose, values: &Values<'_>) -> Result<Compose> {
    Ok(Compose {
        files: values.list(&raw.files)?,
        service: values.text(&raw.service)?,
        run_services: raw.run_services.as_ref().map(|names| values.list(names)).transpose()?,
    })
}

fn collect(config: &Config, image: Vec<PathBuf>, named: BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut inputs = named;
    inputs.insert(config.path.clone());
    inputs.extend(image);
    inputs.into_iter().collect()
}

/// Names, never values.
fn explain_withheld(values: &Values<'_>, ledger: &mut Ledger<'_>) {
    let names = values.withheld.borrow();
    if !names.is_empty() {
        let names =
            names.iter().take(20).map(|name| format!("`{}`", sanitize::text(name))).collect::<Vec<_>>().join(", ");
        ledger.notice(format!(
            "variables of the host are not passed in: {names}; one that `secrets` declares is, if you give it with `--setup-env NAME`"
        ));
    }
}

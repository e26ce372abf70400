//! Which source says how to get ready: exactly one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::compose;
use super::conventions::{self, Other};
use super::detect::{self, PackageCache};
use super::devcontainer::{self, Config, Host, Part, Planned};
use super::files::RepoFiles;
use super::plan::{Hook, SetupPlan, Source, Step, StepCommand, Workspace};
use crate::error::{Error, Result, show};
use crate::settings::SetupSetting;

/// What whoever has the setup fill a database must know.
const ANEW: &str = "services begin anew with every run, with a copy of what the setup left in their volumes";

/// What was chosen.
#[derive(Debug)]
pub struct Choice {
    /// What to do. For a devcontainer it is complete only after [`Choice::complete`].
    pub plan: SetupPlan,
    /// The devcontainer, if it is one.
    pub devcontainer: Option<Devcontainer>,
    /// What could have been chosen instead.
    pub others: Vec<Other>,
    /// Where the tools keep what they download.
    pub caches: Vec<PackageCache>,
}

/// What a devcontainer asks for beyond its plan.
#[derive(Debug)]
pub struct Devcontainer {
    config: Config,
    /// Features, in the order of the file.
    pub features: Vec<(String, serde_json::Value)>,
    /// `overrideFeatureInstallOrder`
    pub override_order: Vec<String>,
    /// `initializeCommand`, if the user allows it.
    pub initialize: Vec<StepCommand>,
}

/// Chooses. `setup` is the user's word, by flag or configuration; `repo_file` that of `.cowbox.toml`;
/// `wanted` names a devcontainer where there are several.
pub fn choose(setup: &SetupSetting, repo_file: Option<&str>, wanted: Option<&str>, host: &Host<'_>) -> Result<Choice> {
    match setup {
        SetupSetting::None => return Ok(nothing(Some(Source::None))),
        SetupSetting::Command { command, from_flag } => {
            let (source, origin) =
                if *from_flag { (Source::Flag, "--setup") } else { (Source::Config, "the configuration") };
            return Ok(command_of(command, source, origin, host.files));
        }
        SetupSetting::Auto => {}
    }
    match repo_file {
        Some("none") => return Ok(nothing(Some(Source::RepoFile))),
        Some(command) if command != "auto" => {
            return Ok(command_of(command, Source::RepoFile, ".cowbox.toml", host.files));
        }
        _ => {}
    }
    if let Some(path) = devcontainer::discover(host.files, wanted)? {
        return of_devcontainer(&path, host);
    }
    if let Some(wanted) = wanted {
        return Err(Error::new(format!("there is no devcontainer `{}` here", crate::ui::sanitize::text(wanted)))
            .hint("leave `--config` out; this repository has no dev container"));
    }
    let detected = detect::detect(host.files);
    let Some(found) = conventions::find(host.files)? else { return Ok(of_detection(detected)) };
    let mut plan = SetupPlan {
        source: Some(Source::Convention),
        config_file: Some(found.config_file),
        steps: found.steps,
        runtimes: detected.runtimes,
        ignored: found.ignored,
        inputs: found.inputs,
        ..SetupPlan::default()
    };
    if found.then_detect {
        plan.steps.extend(detected.steps);
        plan.notices = detected.notices;
    }
    Ok(Choice { plan, devcontainer: None, others: found.others, caches: detected.caches })
}

fn nothing(source: Option<Source>) -> Choice {
    let plan = SetupPlan { source, ..SetupPlan::default() };
    Choice { plan, devcontainer: None, others: Vec::new(), caches: Vec::new() }
}

/// One command of somebody's, in the repo's root. What it installs is told by the same files as ever.
fn command_of(command: &str, source: Source, origin: &str, files: &RepoFiles) -> Choice {
    let detected = detect::detect(files);
    let step = Step {
        hook: Hook::Setup,
        origin: origin.to_owned(),
        parallel_group: None,
        command: StepCommand::Shell(command.to_owned()),
        name: None,
        fallbacks: Vec::new(),
        env: BTreeMap::new(),
        dir: Some(PathBuf::from(".")),
        needs: None,
    };
    let named = command.split_ascii_whitespace().map(PathBuf::from).filter(|path| files.has(path));
    let mut inputs: Vec<PathBuf> = detected.inputs.into_iter().chain(named).collect();
    inputs.sort();
    inputs.dedup();
    let plan = SetupPlan {
        source: Some(source),
        steps: vec![step],
        runtimes: detected.runtimes,
        inputs,
        ..SetupPlan::default()
    };
    Choice { plan, devcontainer: None, others: Vec::new(), caches: detected.caches }
}

fn of_detection(detected: detect::Detected) -> Choice {
    let source = if detected.steps.is_empty() { Source::None } else { Source::Detection };
    let plan = SetupPlan {
        source: Some(source),
        steps: detected.steps,
        runtimes: detected.runtimes,
        notices: detected.notices,
        inputs: detected.inputs,
        ..SetupPlan::default()
    };
    Choice { plan, devcontainer: None, others: Vec::new(), caches: detected.caches }
}

fn of_devcontainer(path: &Path, host: &Host<'_>) -> Result<Choice> {
    let config = Config::read(host.files, path)?;
    let Planned { plan, initialize, features, override_feature_install_order, compose, .. } =
        devcontainer::plan(&config, &[], host)?;
    let caches = detect::detect(host.files).caches;
    let devcontainer = Devcontainer { config, features, override_order: override_feature_install_order, initialize };
    let mut choice = Choice { plan, devcontainer: Some(devcontainer), others: Vec::new(), caches };
    if let Some(named) = compose {
        choice.add_compose(&named, host)?;
    }
    Ok(choice)
}

impl Choice {
    /// The same once image and features have said what they bring along.
    pub fn complete(&mut self, parts: &[Part], host: &Host<'_>) -> Result<()> {
        let Some(devcontainer) = &self.devcontainer else { return Ok(()) };
        let Planned { plan, compose, .. } = devcontainer::plan(&devcontainer.config, parts, host)?;
        let (image, features, runtimes) =
            (self.plan.image.clone(), self.plan.features.clone(), self.plan.runtimes.clone());
        self.plan = SetupPlan { image, features, runtimes, ..plan };
        match compose {
            Some(named) => self.add_compose(&named, host),
            None => Ok(()),
        }
    }

    /// The folder that the devcontainer belongs to, relative to the repo.
    pub fn project(&self) -> PathBuf {
        let config = self.devcontainer.as_ref().map(|d| d.config.path.as_path()).unwrap_or(Path::new(""));
        let above = config.ancestors().find(|dir| dir.file_name().is_some_and(|name| name == ".devcontainer"));
        above.unwrap_or(config).parent().unwrap_or(Path::new("")).to_path_buf()
    }

    /// What the compose file says of the service.
    fn add_compose(&mut self, named: &devcontainer::Compose, host: &Host<'_>) -> Result<()> {
        let config_file = self.plan.config_file.clone().unwrap_or_default();
        let workspace = self.project();
        // No more of the host than a devcontainer's own file may know.
        let harmless = host.env.iter().filter(|(name, _)| devcontainer::is_harmless(name));
        let variables = harmless.map(|(name, value)| (name.clone(), value.clone())).collect();
        let request = compose::Request {
            config_file: &config_file,
            workspace: &workspace,
            files: &named.files,
            service: &named.service,
            run_services: named.run_services.as_deref().unwrap_or_default(),
            variables: &variables,
        };
        let asked = |consent: &str| {
            let refused = super::plan::Refused { key: String::new(), reason: String::new(), consent: consent.into() };
            host.consents(&refused)
        };
        let composed = compose::compose(&request, host.files, &asked)?;
        let plan = &mut self.plan;
        plan.image = composed.image;
        for (name, value) in composed.env {
            plan.env.entry(name).or_insert(value);
        }
        plan.container_user = plan.container_user.take().or(composed.user);
        if let Some(mount) = composed.mount {
            let folder = match &plan.workspace {
                Some(workspace) if workspace.folder.starts_with(&mount) => workspace.folder.clone(),
                _ => composed.working_dir.map_or_else(|| mount.clone(), PathBuf::from),
            };
            plan.workspace = Some(Workspace { mount, folder });
        }
        plan.mounts.extend(composed.mounts);
        plan.container.cap_add.extend(composed.container.cap_add);
        plan.container.security_opt.extend(composed.container.security_opt);
        plan.container.run_args.extend(composed.container.run_args);
        plan.container.privileged |= composed.container.privileged;
        plan.container.entrypoint = composed.entrypoint;
        plan.container.command = composed.command;
        plan.service = Some(named.service.clone());
        plan.services = composed.services;
        if !plan.services.is_empty() && plan.steps.iter().any(|step| !step.hook.is_per_start()) {
            plan.notices.push(ANEW.to_owned());
        }
        plan.refused.extend(composed.refused);
        plan.ignored.extend(composed.ignored);
        plan.notices.extend(composed.notices);
        plan.inputs.extend(composed.inputs);
        plan.inputs.sort();
        plan.inputs.dedup();
        Ok(())
    }

    /// `prepared by devcontainer.json; …`: which source, and how to choose another.
    pub fn headline(&self) -> Option<String> {
        let plan = &self.plan;
        let file = plan.config_file.as_deref().map(show).unwrap_or_default();
        let by = match plan.source? {
            Source::None => return None,
            Source::Flag => "by --setup".to_owned(),
            Source::Config => "by your configuration".to_owned(),
            Source::RepoFile => "by .cowbox.toml".to_owned(),
            Source::Devcontainer | Source::Convention => format!("by {file}"),
            Source::Detection => {
                let mut names: Vec<&str> = plan.steps.iter().map(|step| step.origin.as_str()).collect();
                names.dedup();
                format!("by what was found: {}", crate::ui::sanitize::text(&names.join(", ")))
            }
        };
        let other = match self.others.first() {
            Some(other) => {
                format!("`--setup '{}'` for {}", crate::ui::sanitize::text(&other.command), show(&other.file))
            }
            None => "`--setup COMMAND` for another way".to_owned(),
        };
        Some(format!("setup {by} · {other}, `--setup none` for none"))
    }
}

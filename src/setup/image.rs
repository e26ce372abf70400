//! The image that an environment starts from: found, pulled or built.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::build::{self, Author, Builder, tag};
use super::built::Built;
use super::choose::Choice;
use super::devcontainer::{self, Host, Origin, Part};
use super::features::fetch::HostFetch;
use super::features::{self, ContextSource, Users};
use super::files::RepoFiles;
use super::images;
use super::key::hex;
use super::plan::{BuildRequest, ImageRequest};
use crate::engine::image::{ImageFacts, pull};
use crate::engine::{Engine, client::Client};
use crate::error::{Error, Result};
use crate::policy::{Network, certificates};
use crate::settings::RunSettings;
use crate::sys::signal::Signals;
use crate::ui::Ui;

/// Everything that finding an image needs.
pub struct Finder<'a> {
    /// The engine.
    pub engine: &'a dyn Engine,
    /// Its client.
    pub client: &'a Client,
    /// What the user set.
    pub settings: &'a RunSettings,
    /// The repo.
    pub files: &'a RepoFiles,
    /// cowbox's cache.
    pub cache: &'a Path,
    /// What a build may reach.
    pub network: Network,
    /// Build again what is there.
    pub rebuild: bool,
    /// Where it talks.
    pub ui: &'a Ui,
}

/// An image that is here.
#[derive(Debug)]
pub struct Found {
    /// Its name.
    pub name: String,
    /// What it says.
    pub facts: ImageFacts,
}

impl Finder<'_> {
    /// Finds the image of a choice; what image and features say completes its plan.
    pub fn find(&self, choice: &mut Choice, host: &Host<'_>) -> Result<Found> {
        let base = self.base(choice)?;
        let resolved = self.features(choice)?;
        self.complete(choice, &base.facts, resolved, host)?;
        self.services(choice)?;
        if choice.plan.features.is_empty() { Ok(base) } else { self.with_features(&base, choice) }
    }

    /// Completes the plan by what is known without pulling or building anything.
    pub fn look(&self, choice: &mut Choice, host: &Host<'_>) -> Result<()> {
        let name = match (&self.settings.image, &choice.plan.image) {
            (Some(name), _) | (None, ImageRequest::Named(name)) => Some(name.clone()),
            (None, ImageRequest::Build(request)) => Some(tag::of(self.files, request)?),
            (None, ImageRequest::Default) => None,
        };
        let facts = name.map(|name| self.engine.image_facts(&name)).transpose()?.flatten();
        let resolved = self.features(choice)?;
        self.complete(choice, &facts.unwrap_or_default(), resolved, host)
    }

    /// The same for a session that goes on in the image of that name.
    pub fn again(&self, choice: &mut Choice, host: &Host<'_>, name: &str) -> Result<Option<ImageFacts>> {
        let facts = self.engine.image_facts(name)?;
        let resolved = self.features(choice)?;
        self.complete(choice, &facts.clone().unwrap_or_default(), resolved, host)?;
        self.services(choice)?;
        Ok(facts)
    }

    /// Has the images of services here.
    fn services(&self, choice: &mut Choice) -> Result<()> {
        for service in &mut choice.plan.services {
            let found = match (&service.image, &service.build) {
                (Some(name), _) => self.named(name),
                (None, Some(request)) => self.built(request),
                (None, None) => continue,
            };
            let found = found.map_err(|e| e.context(format_args!("the service {}", service.name)))?;
            service.image = Some(found.name);
        }
        Ok(())
    }

    fn complete(
        &self,
        choice: &mut Choice,
        image: &ImageFacts,
        resolved: features::Resolved,
        host: &Host<'_>,
    ) -> Result<()> {
        let label = image.devcontainer.as_deref().filter(|_| choice.devcontainer.is_some());
        let label = label.map(devcontainer::parse_label).unwrap_or_default();
        let of_features = resolved.features.iter().map(|feature| Part {
            origin: Origin::Feature(feature.install.id.clone()),
            metadata: feature.metadata.contribution(&feature.install.id).into(),
        });
        let parts: Vec<Part> = label.parts.into_iter().chain(of_features).collect();
        choice.complete(&parts, host)?;
        choice.plan.notices.extend(label.notice);
        choice.plan.notices.extend(resolved.notices);
        choice.plan.inputs.extend(resolved.inputs);
        choice.plan.features = resolved.features.into_iter().map(|feature| feature.install).collect();
        Ok(())
    }

    fn base(&self, choice: &mut Choice) -> Result<Found> {
        if let Some(name) = &self.settings.image {
            return self.named(name);
        }
        if let Some(file) = &self.settings.containerfile {
            return self.own_file(file);
        }
        match choice.plan.image.clone() {
            ImageRequest::Named(name) => self.named(&name),
            ImageRequest::Build(request) => self.built(&request),
            ImageRequest::Default => self.ours(choice),
        }
    }

    fn named(&self, name: &str) -> Result<Found> {
        if self.engine.image_facts(name)?.is_none() {
            pull(self.client, name, self.ui)?;
        }
        self.here(name)
    }

    fn here(&self, name: &str) -> Result<Found> {
        let missing = || Error::new(format!("the image {} was removed meanwhile", crate::ui::sanitize::text(name)));
        let facts = self.engine.image_facts(name)?.ok_or_else(missing)?;
        Ok(Found { name: name.to_owned(), facts })
    }

    /// One that was built, now or before.
    fn made(&self, name: &str) -> Result<Found> {
        Built::note(self.cache, self.engine.record().kind, name)?;
        self.here(name)
    }

    /// One of ours, for what the repo needs.
    fn ours(&self, choice: &mut Choice) -> Result<Found> {
        let ca = certificates::additions();
        let recipe = images::recipe(&choice.plan.runtimes, self.settings.base_image.as_deref(), Some(&ca))?;
        choice.plan.notices.extend(recipe.notices.iter().cloned());
        if self.rebuild || self.engine.image_facts(recipe.image())?.is_none() {
            let log = self.log("images")?;
            let mut lines = Lines::new(self.ui)?;
            self.builder(&log).chain(&recipe, &mut lines).map_err(|e| {
                e.with_kind(crate::error::Kind::NotStarted)
                    .hint("name an image that is here with `--image`, or run without one: `--engine native`")
            })?;
        }
        self.here(recipe.image())
    }

    /// A Dockerfile of the repo.
    fn built(&self, request: &BuildRequest) -> Result<Found> {
        self.built_from(self.files, request, Author::Repo)
    }

    /// A file that the user named; its directory is the context.
    fn own_file(&self, file: &Path) -> Result<Found> {
        let real = file.canonicalize().map_err(|e| Error::io("read", file, e))?;
        let dir = real.parent().unwrap_or(Path::new("/"));
        let files = RepoFiles::open(dir).map_err(|e| Error::io("read", dir, e))?;
        let name = real.file_name().map(PathBuf::from).unwrap_or_default();
        let request = BuildRequest { dockerfile: name, ..BuildRequest::default() };
        self.built_from(&files, &request, Author::User)
    }

    fn built_from(&self, files: &RepoFiles, request: &BuildRequest, author: Author) -> Result<Found> {
        let tag = tag::of(files, request)?;
        if self.rebuild || self.engine.image_facts(&tag)?.is_none() {
            let log = self.log("images")?;
            self.builder(&log).request(files, request, author, &tag, &mut Lines::new(self.ui)?)?;
        }
        self.made(&tag)
    }

    fn features(&self, choice: &Choice) -> Result<features::Resolved> {
        let Some(devcontainer) = choice.devcontainer.as_ref().filter(|d| !d.features.is_empty()) else {
            return Ok(features::Resolved::default());
        };
        let request = features::Request {
            config_file: choice.plan.config_file.as_deref().unwrap_or(Path::new("")),
            workspace: &choice.project(),
            features: &devcontainer.features,
            override_order: &devcontainer.override_order,
            default_registry: self.settings.feature_registry.as_deref(),
        };
        let offline = self.network == Network::None;
        features::resolve(&request, self.files, &HostFetch::new(self.cache.join("features"), offline, self.rebuild))
    }

    fn with_features(&self, base: &Found, choice: &Choice) -> Result<Found> {
        let plan = &choice.plan;
        let container = plan.container_user.clone().unwrap_or_else(|| base.facts.user.clone());
        let users = Users {
            image: base.facts.user.clone(),
            remote: plan.remote_user.clone().unwrap_or_else(|| container.clone()),
            container,
        };
        let context = features::containerfile(&base.name, &plan.features, &users)?;
        let mut hash = Sha256::new();
        hash.update(base.facts.id.as_bytes());
        hash.update(context.text.as_bytes());
        for (path, source) in &context.files {
            hash.update(path.as_os_str().as_encoded_bytes());
            match source {
                ContextSource::Text(text) => hash.update(text.as_bytes()),
                ContextSource::Dir(dir) => hash.update(dir.as_os_str().as_encoded_bytes()),
            }
        }
        for input in &plan.inputs {
            let content = self.files.read(input).map_err(|e| Error::io("read", input, e))?.unwrap_or_default();
            // Every repo finds the image: the end of one file must not pass for the beginning of the next.
            for part in [input.as_os_str().as_encoded_bytes(), &content] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
        let tag = format!("localhost/cowbox/features:{}", &hex(&hash.finalize())[..16]);
        if self.rebuild || self.engine.image_facts(&tag)?.is_none() {
            let log = self.log("images")?;
            self.builder(&log).features(self.files, &context, &tag, &mut Lines::new(self.ui)?)?;
        }
        self.made(&tag)
    }

    fn builder<'b>(&'b self, log: &'b Path) -> Builder<'b> {
        Builder {
            client: self.client,
            kind: self.engine.record().kind,
            network: self.network,
            scratch: self.cache,
            log,
        }
    }

    fn log(&self, name: &str) -> Result<PathBuf> {
        let dir = self.cache.join("logs");
        fs::create_dir_all(&dir).map_err(|e| Error::io("create", &dir, e))?;
        let path = dir.join(format!("{name}.log"));
        let _ = fs::remove_file(&path);
        Ok(path)
    }
}

/// Shows a build: its images, and every line of the engine's with `-v`.
struct Lines<'a> {
    ui: &'a Ui,
    signals: Signals,
    what: String,
    started: std::time::Instant,
    shown: Option<u64>,
}

impl<'a> Lines<'a> {
    fn new(ui: &'a Ui) -> Result<Self> {
        let signals = crate::process::supervise::watch()?;
        Ok(Self { ui, signals, what: String::new(), started: std::time::Instant::now(), shown: None })
    }
}

impl build::Progress for Lines<'_> {
    fn begin(&mut self, what: &str, number: usize, of: usize) {
        self.what = format!("building the image for {what} ({number}/{of})");
        self.started = std::time::Instant::now();
        self.ui.clear_live();
        self.ui.say(&self.what);
    }

    fn line(&mut self, line: &str) {
        if self.ui.is_verbose() {
            self.ui.quote(line);
        }
    }

    fn go_on(&mut self) -> bool {
        use nix::sys::signal::Signal::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
        let seconds = self.started.elapsed().as_secs();
        if self.ui.is_live() && self.shown != Some(seconds) {
            self.shown = Some(seconds);
            self.ui.live(&format!("{} · {}", self.what, super::progress::short(self.started.elapsed())));
        }
        while let Ok(Some(arrived)) = self.signals.next() {
            if matches!(arrived.signal, SIGINT | SIGTERM | SIGHUP | SIGQUIT) {
                return false;
            }
        }
        true
    }
}

impl Drop for Lines<'_> {
    fn drop(&mut self) {
        self.ui.clear_live();
    }
}

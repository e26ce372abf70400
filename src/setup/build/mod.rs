//! Building images with an engine: our own chain, or what a repo's Dockerfile says.
//!
//! The output goes to a log and, line by line, to whoever shows it. A build never writes into the repo.

mod context;
mod dockerfile;
mod ignore;
mod loopback;
mod runner;
mod stop;
pub mod tag;
mod triggers;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::dockerfile::Dockerfile;
use crate::engine::Kind;
use crate::engine::client::Client;
use crate::error::{Error, Result, reason, show};
use crate::policy::Network;
use crate::setup::features::{BuildContext, ContextSource};
use crate::setup::files::RepoFiles;
use crate::setup::images::Recipe;
use crate::setup::plan::BuildRequest;
use crate::ui::sanitize;

/// Who looks on while something is built, and may end it.
pub trait Progress {
    /// One image is begun: its name, its number from 1, and how many there are to build.
    fn begin(&mut self, what: &str, number: usize, of: usize);
    /// The engine said something: one line that is safe to show.
    fn line(&mut self, line: &str);
    /// Asked several times a second; no: the build is killed. Signals are the caller's to watch.
    fn go_on(&mut self) -> bool;
}

/// How a step asks for a mount.
const MOUNT: &[u8] = b"--mount";

/// Whose Dockerfile it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The repo's: hostile.
    Repo,
    /// The user has named it.
    User,
}

/// What builds, and where its output goes.
#[derive(Debug)]
pub struct Builder<'a> {
    /// The engine's client.
    pub client: &'a Client,
    /// Which engine: podman or docker.
    pub kind: Kind,
    /// What the build may reach.
    pub network: Network,
    /// A directory of ours, for contexts while they are needed.
    pub scratch: &'a Path,
    /// The log; written to at its end.
    pub log: &'a Path,
}

impl Builder<'_> {
    /// Builds what is missing of a chain, and gives the name of the last image.
    pub fn chain(&self, recipe: &Recipe, progress: &mut dyn Progress) -> Result<String> {
        // What lies below an image that is here is part of it.
        let first = recipe.steps.iter().rposition(|step| self.is_here(&step.tag)).map_or(0, |last| last + 1);
        let missing = &recipe.steps[first..];
        for (number, step) in missing.iter().enumerate() {
            progress.begin(&step.title, number + 1, missing.len());
            let dir = self.scratch_dir()?;
            let context = dir.path().join("context");
            step.write_context(&context)?;
            let mut command = self.command(&step.tag, &context.join(step.file_name()), dir.path())?;
            if self.kind == Kind::Podman {
                // One layer an image, and none of the steps between is kept.
                command.arg("--layers=false");
            }
            for (name, value) in &step.args {
                command.arg(format!("--build-arg={name}={value}"));
            }
            command.arg(context);
            self.run(command, &format!("the image for {}", step.title), progress)?;
        }
        Ok(recipe.image().to_owned())
    }

    /// Builds a Dockerfile under the name `tag`.
    pub fn request(
        &self,
        files: &RepoFiles,
        request: &BuildRequest,
        author: Author,
        tag: &str,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        let what = show(&request.dockerfile);
        progress.begin(&what, 1, 1);
        let dir = self.scratch_dir()?;
        let dockerfile = context::take_dockerfile(files, &request.dockerfile, &dir.path().join("file"))?;
        let context = match self.kind {
            // Podman mounts the directory into the build, writable where the Dockerfile asks for it: it gets a copy.
            Kind::Podman => {
                let copy = dir.path().join("context");
                context::copy(files, request, &copy)?;
                if author == Author::Repo {
                    self.check(&dockerfile, &request.args, &copy, progress)
                        .map_err(|e| e.context(show(&request.dockerfile)))?;
                }
                copy
            }
            // Docker's client sends a copy to the daemon.
            _ => context::locate(files, &request.context)?,
        };
        let mut command = self.command(tag, &dockerfile, dir.path())?;
        // Where podman keeps the caches of a build: what one repo puts there must not reach another's.
        let temporary = dir.path().join("tmp");
        fs::create_dir_all(&temporary).map_err(|e| Error::io("create", &temporary, e))?;
        command.env("TMPDIR", &temporary);
        if self.kind == Kind::Podman && author == Author::Repo {
            // What it builds on was looked at, and is here.
            command.arg("--pull=never");
            let text = fs::read(&dockerfile).map_err(|e| Error::io("read", &dockerfile, e))?;
            if text.windows(MOUNT.len()).any(|part| part == MOUNT) {
                // Podman takes a step of another repo's build for the same, whatever the files are that it mounts.
                command.arg("--no-cache");
            }
        }
        for (name, value) in &request.args {
            command.arg(format!("--build-arg={name}={value}"));
        }
        if let Some(target) = &request.target {
            command.arg(format!("--target={target}"));
        }
        if self.kind == Kind::Docker {
            // Podman takes no tag here and would look for a registry: it is only a hint.
            command.args(request.cache_from.iter().map(|from| format!("--cache-from={from}")));
        }
        command.args(&request.options).arg(context);
        let ended = self.run(command, &what, progress);
        // Files in it may belong to users of the image.
        crate::layer::remove::tree(&temporary).map_err(|e| Error::io("remove", &temporary, e))?;
        ended
    }

    /// Builds what features need, under the name `tag`.
    pub fn features(
        &self,
        files: &RepoFiles,
        context: &BuildContext,
        tag: &str,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        progress.begin("features", 1, 1);
        let dir = self.scratch_dir()?;
        let root = dir.path().join("context");
        fs::create_dir_all(&root).map_err(|e| Error::io("create", &root, e))?;
        for (path, source) in &context.files {
            let target = root.join(path);
            match source {
                ContextSource::Text(text) => fs::write(&target, text).map_err(|e| Error::io("write", &target, e))?,
                ContextSource::Dir(from) => {
                    let request = BuildRequest { context: from.clone(), ..BuildRequest::default() };
                    if from.is_absolute() {
                        let fetched = RepoFiles::open(from).map_err(|e| Error::io("read", from, e))?;
                        context::copy(&fetched, &BuildRequest::default(), &target)?;
                    } else {
                        context::copy(files, &request, &target)?;
                    }
                }
            }
        }
        let file = dir.path().join("Containerfile");
        fs::write(&file, &context.text).map_err(|e| Error::io("write", &file, e))?;
        let mut command = self.command(tag, &file, dir.path())?;
        if self.kind == Kind::Podman {
            self.check(&file, &BTreeMap::new(), &root, progress)?;
            command.arg("--pull=never");
        }
        command.arg(&root);
        self.run(command, "the image with its features", progress)
    }

    /// Refuses what would have podman reach out of the context at `root`, by the file or by an image that it builds on.
    fn check(
        &self,
        file: &Path,
        args: &BTreeMap<String, String>,
        root: &Path,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        let text = fs::read(file).map_err(|e| Error::io("read", file, e))?;
        let text = String::from_utf8_lossy(&text);
        let fd = File::open(root).map_err(|e| Error::io("read", root, e))?.into();
        let dockerfile = Dockerfile { text: &text, args, is_plain: &|path| context::is_plain(&fd, path) };
        dockerfile.check()?;
        for (image, is_stage) in dockerfile.images()?.iter().filter(|(image, _)| !image.is_empty()) {
            if !is_stage && !image.starts_with("localhost/") && !self.is_here(image) {
                progress.line(&format!("pulling {}", sanitize::text(image)));
                // What is no image after all, the build will not miss.
                let _ = self.client.capture_slowly(&["pull", "--quiet", "--", image]);
            }
            for line in triggers::of(self.client, image)? {
                dockerfile
                    .check_trigger(&line)
                    .map_err(|e| e.context(format_args!("the image {}", sanitize::text(image))))?;
            }
        }
        Ok(())
    }

    /// One by one: podman fails to list them while somebody else removes an image.
    fn is_here(&self, tag: &str) -> bool {
        self.client.attempt(&["image", "inspect", "--format", "{{.Id}}", "--", tag])
    }

    /// A build of `file`; `dir` is the scratch directory that it may use.
    fn command(&self, tag: &str, file: &Path, dir: &Path) -> Result<Command> {
        let mut command = self.client.command();
        command.args(["build", "--force-rm", "-t", tag]).arg("-f").arg(file);
        if self.kind == Kind::Podman {
            // The other format has no place for SHELL, HEALTHCHECK and ONBUILD.
            command.arg("--format=docker");
            loopback::close(&mut command, dir)?;
            if Path::new("/sys/fs/selinux/enforce").exists() {
                command.arg("--security-opt=label=disable");
            }
        }
        if self.network == Network::None {
            command.arg("--network=none");
        }
        // By name alone: the value, which may hold a password, stays off the argument list.
        command.args(proxy_variables().into_iter().map(|name| format!("--build-arg={name}")));
        Ok(command)
    }

    fn scratch_dir(&self) -> Result<tempfile::TempDir> {
        fs::create_dir_all(self.scratch).map_err(|e| Error::io("create", self.scratch, e))?;
        tempfile::Builder::new()
            .prefix("build-")
            .tempdir_in(self.scratch)
            .map_err(|e| Error::io("write to", self.scratch, e))
    }

    fn run(&self, command: Command, what: &str, progress: &mut dyn Progress) -> Result<()> {
        let mut log = open_log(self.log)?;
        let words: Vec<OsString> = command.get_args().map(OsString::from).collect();
        let words: Vec<String> = words.iter().map(|word| sanitize::path(Path::new(word))).collect();
        let _ = writeln!(log, "$ {} {}", self.client.program().display(), words.join(" "));
        let ended = runner::run(command, self.kind == Kind::Podman, &mut log, progress)
            .map_err(|e| Error::new(format!("cannot build {what} with {}: {}", self.kind, reason(&e))))?;
        ended.into_result(what, self.log)
    }
}

fn open_log(path: &Path) -> Result<File> {
    let dir = path.parent().map(Path::to_path_buf).unwrap_or_else(|| PathBuf::from("/"));
    fs::create_dir_all(&dir)
        .and_then(|()| File::options().create(true).append(true).mode(0o600).open(path))
        .map_err(|e| Error::io("write", path, e))
}

/// Those that are set. Podman passes them on by itself; to say it again does no harm.
fn proxy_variables() -> Vec<&'static str> {
    let names =
        ["HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "ftp_proxy", "no_proxy"];
    names.into_iter().filter(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())).collect()
}

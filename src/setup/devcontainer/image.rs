//! `image` and `build`: what the container is made from.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::args::take_apart;
use super::config::{Build, Config};
use super::ledger::{CONFIG, Host, Ledger};
use super::paths;
use super::substitute::Values;
use crate::engine::image::is_name;
use crate::error::{Error, Result};
use crate::setup::plan::{BuildRequest, ImageRequest};
use crate::ui::sanitize;

/// Options of `build` without a value.
const SWITCHES: &[&str] = &[
    "--no-cache",
    "--pull",
    "--quiet",
    "-q",
    "--squash",
    "--squash-all",
    "--compress",
    "--rm",
    "--force-rm",
    "--layers",
    "--load",
    "--push",
    "--no-hosts",
    "--stdin",
    "--tls-verify",
    "--disable-content-trust",
];

/// Which image, and which files of the repo decide about it.
pub(super) fn decide(
    config: &Config,
    host: &Host<'_>,
    values: &Values<'_>,
    ledger: &mut Ledger<'_>,
) -> Result<(ImageRequest, Vec<PathBuf>)> {
    if let Some(dockerfile) = &config.build.dockerfile {
        if config.image.is_some() {
            ledger.ignore(CONFIG, "image", "`build` says what to use");
        }
        let (build, inputs) = build(dockerfile, config, host, values, ledger)?;
        return Ok((ImageRequest::Build(build), inputs));
    }
    let Some(image) = &config.image else {
        if config.compose.is_none() && config.build != Build::default() {
            return Err(Error::new("`build` does not say which `dockerfile`"));
        }
        return Ok((ImageRequest::Default, Vec::new()));
    };
    if config.build != Build::default() {
        ledger.ignore(CONFIG, "build", "it has no `dockerfile`, and `image` says what to use");
    }
    let name = values.text(image)?;
    if !is_name(&name) {
        let shown = sanitize::text(&values.shown(image)?);
        return Err(Error::new(format!("`image` is not the name of an image: `{shown}`")));
    }
    Ok((ImageRequest::Named(name), Vec::new()))
}

fn build(
    dockerfile: &str,
    config: &Config,
    host: &Host<'_>,
    values: &Values<'_>,
    ledger: &mut Ledger<'_>,
) -> Result<(BuildRequest, Vec<PathBuf>)> {
    let base = config.path.parent().unwrap_or(Path::new(""));
    let locate = |key: &str, raw: &str, is_dir: bool| -> Result<PathBuf> {
        let shown = sanitize::text(&values.shown(raw)?);
        let path = paths::beneath(host.files.root(), base, &values.text(raw)?).ok_or_else(|| {
            Error::new(format!("`{key}` leads out of the repo: `{shown}`"))
                .hint("only files of the repo are used: move it there, or name an image")
        })?;
        match is_dir {
            true if !host.files.has_dir(&path) => {
                Err(Error::new(format!("`{key}`: no directory `{shown}` in the repo")))
            }
            false if !host.files.has(&path) => Err(Error::new(format!("`{key}`: no file `{shown}` in the repo"))),
            _ => Ok(path),
        }
    };
    let dockerfile = locate("build.dockerfile", dockerfile, false)?;
    let context = match &config.build.context {
        Some(context) => locate("build.context", context, true)?,
        None => dockerfile.parent().map(Path::to_path_buf).unwrap_or_default(),
    };
    let mut own_ignore = dockerfile.clone().into_os_string();
    own_ignore.push(".dockerignore");
    let ignores = [PathBuf::from(own_ignore), context.join(".dockerignore"), context.join(".containerignore")];
    let mut inputs = vec![dockerfile.clone()];
    inputs.extend(ignores.into_iter().filter(|path| host.files.has(path)));

    let mut request = BuildRequest { dockerfile, context, ..BuildRequest::default() };
    request.target = config.build.target.as_ref().map(|target| values.text(target)).transpose()?;
    for (name, raw) in &config.build.args {
        let value = values.traced(raw)?;
        let key = format!("build.args.{}", sanitize::text(name));
        let asked = Value::String(raw.clone());
        if !value.from_host || ledger.ask(CONFIG, &key, "puts a variable of the host into the image", &asked) {
            request.args.insert(name.clone(), value.text);
        }
    }
    for (place, raw) in config.build.cache_from.iter().enumerate() {
        let (text, key) = (values.text(raw)?, format!("build.cacheFrom[{place}]"));
        let asked = Value::String(values.shown(raw)?);
        // The long form names directories of the host.
        if is_name(&text) || ledger.ask(CONFIG, &key, "is not the name of an image", &asked) {
            request.cache_from.push(text);
        }
    }
    for argument in take_apart("build.options", &config.build.options, SWITCHES, values)? {
        let key = format!("build.options[{}]", argument.place);
        if argument.flag.is_none() {
            ledger.ignore(CONFIG, &key, "not an option: it would take the place of the context");
        } else if ledger.ask(CONFIG, &key, "can reach the host while building", &Value::String(argument.shown.clone()))
        {
            request.options.push(argument.word());
        }
    }
    Ok((request, inputs))
}

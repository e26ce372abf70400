//! The image of a service: a name, or something to build.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::keys::Judge;
use super::project::{Project, normal_path};
use super::yaml::{text, texts};
use crate::engine::image::is_name;
use crate::error::{Error, Result};
use crate::setup::plan::{BuildRequest, Ignored};
use crate::ui::sanitize;

const USED: &[&str] = &["context", "dockerfile", "args", "target", "cache_from"];

/// Either of the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Image {
    Named(String),
    Build(BuildRequest),
}

impl Image {
    /// Without what would read files of the host while building, unless the user agrees to it.
    pub(super) fn judged(mut self, judge: &mut Judge<'_>) -> Self {
        if let Self::Build(request) = &mut self {
            let mut number = 0..;
            // The long form names directories of the host, and services elsewhere.
            request.cache_from.retain(|from| {
                let key = format!("build.cache_from[{}]", number.next().unwrap_or(0));
                is_name(from) || judge.asks(&key, "is not the name of an image", from)
            });
        }
        self
    }
}

/// Reads it. With both keys the image is built, and the name is only what it would be called.
pub(super) fn read(
    service: &Map<String, Value>,
    prefix: &str,
    project: &Project,
    ignored: &mut Vec<Ignored>,
) -> Result<Image> {
    if let Some(Value::Object(build)) = service.get("build") {
        return request(build, prefix, project, ignored).map(Image::Build);
    }
    match service.get("image").and_then(text).filter(|name| !name.is_empty()) {
        Some(name) => Ok(Image::Named(name)),
        None => Err(Error::new(format!("{prefix} has neither `image` nor `build`"))),
    }
}

fn request(
    build: &Map<String, Value>,
    prefix: &str,
    project: &Project,
    ignored: &mut Vec<Ignored>,
) -> Result<BuildRequest> {
    if build.contains_key("dockerfile_inline") {
        return Err(Error::new(format!("{prefix}.build.dockerfile_inline is not supported"))
            .hint("write the text into a file of the repo and name it with `dockerfile`"));
    }
    let context = inside(&project.dir, build.get("context"), ".", prefix, "context")?;
    let dockerfile = inside(&context, build.get("dockerfile"), "Dockerfile", prefix, "dockerfile")?;
    let mut args = BTreeMap::new();
    for (name, value) in build.get("args").and_then(Value::as_object).into_iter().flatten() {
        match text(value).or_else(|| project.variables.get(name).cloned()) {
            Some(value) => {
                args.insert(name.clone(), value);
            }
            None => ignored.push(Ignored {
                key: format!("{prefix}.build.args.{}", sanitize::text(name)),
                reason: "its value would come from the host's environment".to_owned(),
            }),
        }
    }
    for key in build.keys().filter(|key| !USED.contains(&key.as_str()) && !key.starts_with("x-")) {
        ignored.push(Ignored {
            key: format!("{prefix}.build.{}", sanitize::text(key)),
            reason: "builds take only context, dockerfile, args, target and cache_from".to_owned(),
        });
    }
    Ok(BuildRequest {
        dockerfile,
        context,
        args,
        target: build.get("target").and_then(text),
        cache_from: build.get("cache_from").map(texts).unwrap_or_default(),
        options: Vec::new(),
    })
}

fn inside(base: &Path, value: Option<&Value>, default: &str, prefix: &str, key: &str) -> Result<PathBuf> {
    let written = value.and_then(text).unwrap_or_else(|| default.to_owned());
    let wrong = |why: &str| Error::new(format!("{prefix}.build.{key}: `{}` {why}", sanitize::text(&written)));
    if written.contains("://") || written.starts_with("git@") {
        return Err(wrong("is an address, and only directories of the repo are built"));
    }
    normal_path(&base.join(&written)).ok_or_else(|| wrong("is outside of the repo"))
}

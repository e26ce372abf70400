//! The variables of a service: `env_file` first, `environment` over it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::dotenv;
use super::project::{Project, normal_path};
use super::yaml::{is_true, text};
use crate::error::{Error, Result, show};
use crate::setup::files::RepoFiles;
use crate::setup::plan::Ignored;
use crate::ui::sanitize;

/// What a service's variables are, and what was left out.
#[derive(Debug, Default)]
pub(super) struct Environment {
    pub(super) variables: BTreeMap<String, String>,
    pub(super) ignored: Vec<Ignored>,
    pub(super) inputs: Vec<PathBuf>,
}

/// Reads them. `prefix` is the key of the service.
pub(super) fn read(
    service: &Map<String, Value>,
    prefix: &str,
    project: &Project,
    files: &RepoFiles,
) -> Result<Environment> {
    let mut found = Environment::default();
    for entry in service.get("env_file").and_then(Value::as_array).into_iter().flatten() {
        let Some(written) = text(entry).or_else(|| entry.get("path").and_then(text)) else { continue };
        let required = entry.get("required").is_none_or(is_true);
        let key = format!("{prefix}.env_file");
        let Some(path) = normal_path(&project.dir.join(&written)) else {
            let reason = format!("`{}` is outside of the repo", sanitize::text(&written));
            found.ignored.push(Ignored { key, reason });
            continue;
        };
        match files.read(&path).map_err(|e| Error::io("read", &path, e))? {
            Some(content) => {
                let content = String::from_utf8_lossy(&content);
                let variables = dotenv::parse(&content, &project.variables).map_err(|e| e.context(show(&path)))?;
                found.variables.extend(variables);
                found.inputs.push(path);
            }
            None if required => {
                return Err(Error::new(format!("{key}: there is no {} in the repo", show(&path)))
                    .hint("make it, perhaps from an example beside it, or mark it `required: false`"));
            }
            None => {}
        }
    }
    for (name, value) in service.get("environment").and_then(Value::as_object).into_iter().flatten() {
        match text(value).or_else(|| project.variables.get(name).cloned()) {
            Some(value) => {
                found.variables.insert(name.clone(), value);
            }
            None => found.ignored.push(Ignored {
                key: format!("{prefix}.environment.{}", sanitize::text(name)),
                reason: "its value would come from the host's environment: pass it with `--env`".to_owned(),
            }),
        }
    }
    check(&found.variables).map_err(|e| e.context(prefix))?;
    Ok(found)
}

fn check(variables: &BTreeMap<String, String>) -> Result<()> {
    let bad =
        |(name, value): &(&String, &String)| name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
    match variables.iter().find(bad) {
        Some((name, _)) => Err(Error::new(format!("`{}` cannot be a variable", sanitize::text(name)))),
        None => Ok(()),
    }
}

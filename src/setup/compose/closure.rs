//! Which services run beside the sandbox, and in which order.

use serde_json::{Map, Value};

use super::project::Project;
use crate::error::{Error, Result};
use crate::setup::service::Condition;
use crate::ui::sanitize;

/// What `main` depends on, and what is asked for besides; a service comes after those that it depends on.
pub(super) fn beside(project: &Project, main: &str, asked: &[String]) -> Result<Vec<String>> {
    let mut walk = Walk { project, done: Vec::new(), path: Vec::new() };
    walk.visit(main)?;
    for name in asked {
        walk.visit(name)?;
    }
    Ok(walk.done.into_iter().filter(|name| name != main).collect())
}

/// The most that any of `dependents` waits for before it begins.
pub(super) fn condition(project: &Project, name: &str, dependents: &[&str]) -> Condition {
    let of = |dependent: &&str| {
        let how = project.services.get(*dependent)?.get("depends_on")?.get(name)?;
        Some(match how.get("condition").and_then(Value::as_str) {
            Some("service_healthy") => Condition::Healthy,
            Some("service_completed_successfully") => Condition::Completed,
            _ => Condition::Started,
        })
    };
    dependents.iter().filter_map(of).max().unwrap_or_default()
}

/// A service, or an error that lists those that there are.
pub(super) fn find<'a>(project: &'a Project, name: &str) -> Result<&'a Map<String, Value>> {
    project.services.get(name).ok_or_else(|| {
        let known: Vec<String> = project.services.keys().take(50).map(|name| sanitize::text(name)).collect();
        let list = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Error::new(format!("the compose files have no service `{}`", sanitize::text(name)))
            .hint(format!("services there: {list}"))
    })
}

struct Walk<'a> {
    project: &'a Project,
    done: Vec<String>,
    path: Vec<String>,
}

impl Walk<'_> {
    fn visit(&mut self, name: &str) -> Result<()> {
        if self.done.iter().any(|done| done == name) {
            return Ok(());
        }
        if let Some(start) = self.path.iter().position(|known| known == name) {
            let names: Vec<String> =
                self.path[start..].iter().map(String::as_str).chain([name]).map(sanitize::text).collect();
            return Err(Error::new(format!("these services wait for each other: {}", names.join(" → "))));
        }
        if self.path.len() > 100 {
            return Err(Error::new("the services depend on each other too deeply"));
        }
        let service = find(self.project, name)?;
        self.path.push(name.to_owned());
        for (other, how) in service.get("depends_on").and_then(Value::as_object).into_iter().flatten() {
            let optional = how.get("required").is_some_and(|required| *required == Value::Bool(false));
            if !optional || self.project.services.contains_key(other) {
                self.visit(other)?;
            }
        }
        self.path.pop();
        self.done.push(name.to_owned());
        Ok(())
    }
}

//! A secret is for the hooks that run once: what would keep its value for later, in an image or a session, is left out.

use std::collections::BTreeMap;

use serde_json::Value;

use super::ledger::Ledger;
use super::plan::Planned;
use crate::setup::plan::{Step, StepCommand};
use crate::setup::redact::Redactor;
use crate::ui::sanitize;

/// Takes the secrets out of a plan, but for the steps that run once and their variables.
pub(super) fn withhold(planned: &mut Planned, secrets: &Redactor, ledger: &mut Ledger<'_>) {
    let holds = |text: &str| secrets.is_in(text.as_bytes());
    let plan = &mut planned.plan;
    let mut left_out = Vec::new();

    let of_container = taken(&mut plan.env, |value| holds(value));
    let of_steps = taken(&mut plan.remote_env, |value| value.as_deref().is_some_and(holds));
    let of_steps = of_steps.into_iter().filter_map(|(name, value)| Some((name, value?)));
    of_container.into_iter().chain(of_steps).for_each(|(name, value)| plan.secret_env.set(name, value));

    // Arguments of a build have the user's own consent, which names them.
    let words = plan.container.run_args.extract_if(.., |word| holds(word));
    left_out.extend(words.map(|_| "runArgs".to_owned()));
    for (id, options) in &mut planned.features {
        let Value::Object(options) = options else { continue };
        let names: Vec<String> =
            options.iter().filter(|(_, value)| holds(&value.to_string())).map(|(name, _)| name.clone()).collect();
        for name in names {
            options.remove(&name);
            left_out.push(format!("features.{id}.{name}"));
        }
    }
    let at_every_start = |step: &mut Step| step.hook.is_per_start() && command_holds(&step.command, holds);
    left_out.extend(plan.steps.extract_if(.., at_every_start).map(|step| {
        let hook = serde_json::to_value(step.hook).unwrap_or_default();
        hook.as_str().unwrap_or_default().to_owned()
    }));

    if !left_out.is_empty() {
        let keys: Vec<String> = left_out.iter().map(|key| format!("`{}`", sanitize::text(key))).collect();
        ledger.notice(format!(
            "a secret is for hooks that run once; left out, for they would keep it: {}",
            keys.join(", ")
        ));
    }
}

/// Entries that are taken out of a map.
fn taken<T>(map: &mut BTreeMap<String, T>, which: impl Fn(&T) -> bool) -> BTreeMap<String, T> {
    let (taken, left) = std::mem::take(map).into_iter().partition(|(_, value)| which(value));
    *map = left;
    taken
}

fn command_holds(command: &StepCommand, holds: impl Fn(&str) -> bool) -> bool {
    match command {
        StepCommand::Shell(text) => holds(text),
        StepCommand::Argv(words) => words.iter().any(|word| holds(word)),
    }
}

//! Node: `packageManager` first, then the lock file.

mod manager;
mod verify;

use serde_json::Value;

use super::caches;
use super::recipe::Recipe;
use crate::setup::project::Project;
use manager::{Kind, Manager};

/// Programs of the host may lie in it, made for another system; and moving what lies in a lower layer fails on
/// overlays. Removing is what `npm ci` does anyway.
const FRESH: &str = "rm -rf node_modules";

/// Beside the manifest and the lock, these decide what is installed.
const SETTINGS: &[&str] = &[".npmrc", ".yarnrc", ".yarnrc.yml", "pnpm-workspace.yaml", ".pnpmfile.cjs", "bunfig.toml"];

pub(super) fn read(project: &Project<'_>) -> Option<Recipe> {
    let manifest = project.json("package.json")?;
    let manager = Manager::choose(project, &manifest);
    if !manager.is_certain() && project.first(&["deno.json", "deno.jsonc"]).is_some() {
        // Deno reads the manifest as well.
        return None;
    }
    project.remember(SETTINGS);
    let prepared = |command: &str| format!("{}{FRESH} && {command}", manager.prelude());
    let run = manager.run();
    let install = commands(&manager, &run).iter().map(|command| prepared(command)).collect();
    Some(Recipe {
        name: "node",
        evidence: manager.lock.unwrap_or("package.json").to_owned(),
        needs: if manager.kind == Kind::Bun { "bun" } else { "npm" },
        install,
        verify: vec![verify(&manager, &run, &manifest)],
        env: env(manager.kind),
        runtimes: vec![if manager.kind == Kind::Bun { "bun" } else { "node" }],
        caches: match manager.kind {
            Kind::Npm => vec![caches::NPM],
            Kind::Pnpm => vec![caches::PNPM, caches::NPM],
            Kind::Yarn => vec![caches::YARN, caches::NPM],
            Kind::Berry => vec![caches::BERRY, caches::NPM],
            Kind::Bun => vec![caches::BUN],
        },
    })
}

/// The strict command, then its fallbacks; without a lock file, one that writes none.
fn commands(manager: &Manager, run: &str) -> Vec<String> {
    let of = |list: &[&str]| list.iter().map(|arguments| format!("{run} {arguments}")).collect();
    match (manager.kind, manager.lock.is_some()) {
        (Kind::Npm, true) => of(&["ci --no-audit --no-fund", "install --no-audit --no-fund"]),
        (Kind::Npm, false) => of(&["install --no-audit --no-fund --no-package-lock"]),
        (Kind::Pnpm, true) => {
            of(&["install --frozen-lockfile --prefer-offline", "install --no-frozen-lockfile --prefer-offline"])
        }
        (Kind::Pnpm, false) => of(&["install --no-lockfile --prefer-offline"]),
        (Kind::Yarn, true) => of(&["install --frozen-lockfile --non-interactive", "install --non-interactive"]),
        (Kind::Yarn, false) => of(&["install --no-lockfile --non-interactive"]),
        (Kind::Berry, true) => of(&["install --immutable", "install --no-immutable"]),
        (Kind::Berry, false) => of(&["install --no-immutable"]),
        // Where it believes that this is a machine, bun would not touch a stale lock.
        (Kind::Bun, true) => vec!["bun install --frozen-lockfile".to_owned(), "unset CI; bun install".to_owned()],
        (Kind::Bun, false) => of(&["install --no-save"]),
    }
}

fn verify(manager: &Manager, run: &str, manifest: &Value) -> String {
    let script = verify::script(manifest);
    match manager.kind {
        // With Plug'n'Play only yarn's own node finds packages.
        Kind::Berry => format!("{}{run} node -e {script}", manager.prelude()),
        Kind::Bun => format!("bun -e {script}"),
        _ => format!("node -e {script}"),
    }
}

fn env(kind: Kind) -> Vec<(&'static str, &'static str)> {
    // An image made for production would leave out what developers need.
    let mut env = vec![("NODE_ENV", "development"), ("COREPACK_ENABLE_DOWNLOAD_PROMPT", "0")];
    match kind {
        Kind::Npm | Kind::Pnpm => env.extend([("npm_config_yes", "true"), ("npm_config_update_notifier", "false")]),
        Kind::Berry => env.extend([("YARN_ENABLE_TELEMETRY", "0"), ("YARN_ENABLE_PROGRESS_BARS", "0")]),
        Kind::Yarn | Kind::Bun => {}
    }
    env
}

#[cfg(test)]
mod tests;

//! Which engines the tests run on: those that were asked for, else those that work.

use std::fmt;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// An engine under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Podman,
    Docker,
    Native,
}

/// Names as `localhost/cowbox-test/NAME:latest`; built by `tests/host/images`.
pub fn image(name: &str) -> String {
    format!("localhost/cowbox-test/{name}:latest")
}

impl Engine {
    pub const ALL: [Engine; 3] = [Engine::Native, Engine::Podman, Engine::Docker];

    /// As `--engine` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Podman => "podman",
            Engine::Docker => "docker",
            Engine::Native => "native",
        }
    }

    /// Whether it runs images.
    pub fn has_images(self) -> bool {
        self != Engine::Native
    }

    /// Why it cannot be used here, by trying it without cowbox.
    fn problem(self) -> Option<String> {
        let image = image("tiny");
        let command: Vec<&str> = match self {
            Engine::Native => vec!["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "true"],
            Engine::Podman => vec!["podman", "run", "--rm", "--pull=never", "--network=none", &image, "true"],
            Engine::Docker => vec!["docker", "run", "--rm", "--pull=never", "--network=none", &image, "true"],
        };
        let tried = Command::new(command[0]).args(&command[1..]).stdin(Stdio::null()).output();
        match tried {
            Err(e) => Some(format!("{}: {e}", command[0])),
            Ok(output) if output.status.success() => None,
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                let line = said.lines().find(|l| !l.trim().is_empty()).unwrap_or("it failed without a word");
                Some(line.to_owned())
            }
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

enum Tier {
    Works,
    /// Was asked for and does not work: its tests fail.
    Broken(String),
    /// Not asked for, or not here.
    Left,
}

fn tier(engine: Engine) -> &'static Tier {
    static TIERS: OnceLock<Vec<Tier>> = OnceLock::new();
    let tiers = TIERS.get_or_init(|| match std::env::var("COWBOX_TEST_TIERS") {
        Ok(list) => demanded(&list),
        Err(_) => detected(),
    });
    let at = Engine::ALL.iter().position(|e| *e == engine).unwrap();
    &tiers[at]
}

fn demanded(list: &str) -> Vec<Tier> {
    let names: Vec<&str> = list.split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
    for name in &names {
        assert!(Engine::ALL.iter().any(|e| e.name() == *name), "COWBOX_TEST_TIERS: there is no tier `{name}`");
    }
    let tier = |engine: Engine| match names.contains(&engine.name()) {
        false => Tier::Left,
        true => engine.problem().map_or(Tier::Works, Tier::Broken),
    };
    Engine::ALL.into_iter().map(tier).collect()
}

fn detected() -> Vec<Tier> {
    let mut note = String::new();
    let mut tiers = Vec::new();
    for engine in Engine::ALL {
        tiers.push(match engine.problem() {
            None => Tier::Works,
            Some(reason) => {
                note.push_str(&format!("\nNOT RUN: the tests on {engine}: {reason}"));
                Tier::Left
            }
        });
    }
    if !note.is_empty() {
        note.push_str("\n(`tests/run` sets every engine up and runs them all)\n\n");
        // Not a print macro: libtest would swallow it.
        let _ = std::io::stderr().write_all(note.as_bytes());
    }
    tiers
}

/// Runs a test on an engine, or not at all where that tier was not asked for.
pub fn run_on(engine: Engine, test: fn(Engine)) {
    match tier(engine) {
        Tier::Works => test(engine),
        Tier::Broken(reason) => panic!("the tests on {engine} were asked for, and it does not work: {reason}"),
        Tier::Left => {}
    }
}

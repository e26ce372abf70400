//! The harness of the integration tests.
//!
//! ```text
//! on_every_engine!(a_new_file_is_a_change);           // -> podman::…, docker::…, native::…
//!
//! fn a_new_file_is_a_change(engine: Engine) {
//!     let sandbox = Sandbox::new(engine);             // a repo `api`, a state and a (warm) cache of its own
//!     sandbox.write("notes.txt", "x\n");              // the host's repo, before the first command
//!     sandbox.sh("echo hi > hello.txt").ok();         // cowbox run --engine … -- sh -c …
//!     snapshot!(sandbox.cowbox(&["diff", "--name-status"]).output(), @"…");
//! }
//! ```
//!
//! * [`Sandbox::run`], [`Sandbox::sh`], [`Sandbox::cowbox`] give a [`Cowbox`]: add `.stdin()`, `.env()`, `.arg()`,
//!   `.current_dir()`, then `.output()` (to the end), `.spawn()` ([`Running`]: signals) or `.terminal()` ([`Terminal`]).
//! * An [`Output`] must be looked at: `.ok()`, `.code(n)` assert the status, `snapshot!` all of it with names, ids,
//!   versions and paths replaced.
//! * Dropping a [`Sandbox`] checks: the repo has the very same fingerprint as before the first command; no container,
//!   volume, mount or process is left; every session can be discarded; nothing stays behind on disk. A test that edits
//!   the host's repo after that first command does it in [`Sandbox::change_repo`].
//! * `on_every_engine!`, `on_containers!` and `on!(native: …)` list the tests of a file; a function that is in no list
//!   is dead code, which clippy refuses. A test without an engine is a plain `#[test]` with [`Sandbox::bare`].
//! * `COWBOX_TEST_TIERS=native,podman,docker` says which engines must work; unset, those that do are used and the
//!   rest is named on stderr. `COWBOX_BIN` is the binary under test. Scratch space is in `COWBOX_TEST_TMP` (`/var/tmp`).

mod command;
mod conversation;
mod fingerprint;
pub mod leftovers;
mod prepared;
mod sandbox;
mod screen;
mod terminal;
mod tiers;

pub use command::{Cowbox, Output, Running, program};
pub use fingerprint::Fingerprint;
pub use leftovers::Process;
pub use prepared::{engine_call, has_image};
pub use sandbox::{Sandbox, container_name, home_layer, home_layers};
pub use screen::Screen;
pub use terminal::Terminal;
pub use tiers::{Engine, run_on};

use std::time::{Duration, Instant};

/// Longer than anything takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `check` gives something; panics with `what` when it never does.
#[track_caller]
pub fn wait_until<T>(what: &str, check: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, check).unwrap_or_else(|| panic!("waited {PATIENCE:?} in vain: {what}"))
}

/// Asks again and again for as long as `time`.
pub fn within<T>(time: Duration, mut check: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        if let Some(found) = check() {
            return Some(found);
        }
        if start.elapsed() > time {
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Makes each function a test on podman, docker and native.
macro_rules! on_every_engine {
    ($($name:ident),* $(,)?) => {
        mod podman { $(#[test] fn $name() { $crate::common::run_on($crate::common::Engine::Podman, super::$name) })* }
        mod docker { $(#[test] fn $name() { $crate::common::run_on($crate::common::Engine::Docker, super::$name) })* }
        mod native { $(#[test] fn $name() { $crate::common::run_on($crate::common::Engine::Native, super::$name) })* }
    };
}

/// Makes each function a test on podman and docker: `containers::podman::…`.
macro_rules! on_containers {
    ($($name:ident),* $(,)?) => {
        mod containers {
            mod podman {
                $(#[test] fn $name() { $crate::common::run_on($crate::common::Engine::Podman, super::super::$name) })*
            }
            mod docker {
                $(#[test] fn $name() { $crate::common::run_on($crate::common::Engine::Docker, super::super::$name) })*
            }
        }
    };
}

/// Makes each function a test on one engine: `on!(native: a, b)` gives `only_native::…`.
macro_rules! on {
    (podman: $($name:ident),* $(,)?) => {
        mod only_podman { $(#[test] fn $name() { $crate::common::run_on($crate::common::Engine::Podman, super::$name) })* }
    };
    (docker: $($name:ident),* $(,)?) => {
        mod only_docker { $(#[test] fn $name() { $crate::common::run_on($crate::common::Engine::Docker, super::$name) })* }
    };
    (native: $($name:ident),* $(,)?) => {
        mod only_native { $(#[test] fn $name() { $crate::common::run_on($crate::common::Engine::Native, super::$name) })* }
    };
}

/// Compares a whole conversation: stdout, stderr and exit status, with what differs from run to run replaced.
macro_rules! snapshot {
    ($output:expr, @$expected:literal) => {{
        let output = $output;
        // One snapshot serves every engine: duplicates are the point.
        output.settings().bind(|| {
            insta::allow_duplicates! { insta::assert_snapshot!(output.to_string(), @$expected) }
        });
    }};
}

pub(crate) use {on, on_containers, on_every_engine, snapshot};

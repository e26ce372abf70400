//! The integration tests: cowbox as users and scripts meet it, on every engine. `tests/run` runs all of them.

#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod apply_matrix;
mod attacks;
mod background;
mod bad_input;
mod changes;
mod commits;
mod completions;
mod configuration;
mod conflicts;
mod crash_apply;
mod crashes;
mod devcontainer;
mod diff;
mod discard;
mod doctor;
mod documents;
mod ecosystems;
mod edge_cases;
mod engines;
mod environment;
mod exit_codes;
mod flow;
mod fuse_overlayfs;
mod host;
mod host_files;
mod host_kernel;
mod housekeeping;
mod html;
mod inside;
mod landing;
mod large_files;
mod limits;
mod listing;
mod merges;
mod mounts;
mod moves;
mod network;
mod no_exchange;
mod odd_files;
mod on_exit;
mod oracle;
mod partial_apply;
mod peer_bugs;
mod privileges;
mod profiles;
mod readme;
mod recovery;
mod repo_shapes;
mod resume;
mod review;
mod run_options;
mod secrets;
mod session;
mod session_choice;
mod session_records;
mod session_states;
mod setup;
mod signals;
mod sockets;
mod streams;
mod system_calls;
mod task;
mod terminal;
mod timeout;
mod undo;
mod undo_kept;
mod views;

use std::path::Path;

#[test]
fn every_file_here_is_part_of_the_tests() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    // The binary may run far from its source, for a user who cannot read it.
    let Ok(listing) = std::fs::read_dir(here) else { return };
    let source = include_str!("main.rs");
    for entry in listing {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        assert!(module == "main" || source.contains(&format!("mod {module};")), "tests/it/{name} is not in main.rs");
    }
}

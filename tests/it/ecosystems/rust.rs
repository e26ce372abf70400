//! Rust, with a crate from crates.io. The toolchain is pinned: the distribution's cargo knows only the old registry.

use super::{Project, serves_a_command_offline};
use crate::common::{Engine, on};

on!(podman: a_lock_of_cargo);

const MANIFEST: &str = r#"[package]
name = "count"
version = "0.1.0"
edition = "2021"

[dependencies]
itoa = "=1.0.1"
"#;

const LOCK: &str = r#"version = 3

[[package]]
name = "count"
version = "0.1.0"
dependencies = [
 "itoa",
]

[[package]]
name = "itoa"
version = "1.0.1"
source = "registry+https://github.com/rust-lang/crates.io-index"
checksum = "1aab8fc367588b89dcee83ab0fd66b72b50b72fa1904d7095045ace2b0c81c35"
"#;

const MAIN: &str = "fn main() {\n    println!(\"{}\", itoa::Buffer::new().format(41));\n}\n";

fn a_lock_of_cargo(engine: Engine) {
    serves_a_command_offline(
        engine,
        &Project {
            runtime: "rust",
            files: &[
                ("Cargo.toml", MANIFEST),
                ("Cargo.lock", LOCK),
                ("src/main.rs", MAIN),
                ("rust-toolchain.toml", "[toolchain]\nchannel = \"1.80\"\n"),
            ],
            evidence: "Cargo.lock",
            command: "cargo run --quiet --locked --offline --target-dir /tmp/target > out.txt",
            output: "41\n",
        },
    );
}

//! Builds `guest/`, the static helper that runs inside containers, and lets the crate embed it.
//!
//! It must run in any image (no libc there, another libc, none at all), so it is a `no_std` program
//! without a single library. It needs nothing but the Rust toolchain that builds cowbox itself.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=guest");
    println!("cargo::rerun-if-changed=build.rs");
    let var = |name: &str| env::var(name).unwrap_or_else(|_| panic!("cargo did not set {name}"));
    let out = PathBuf::from(var("OUT_DIR")).join("cowbox-guest");
    let mut rustc = Command::new(var("RUSTC"));
    rustc
        .args(["--edition=2024", "--crate-type=bin", "--crate-name=cowbox_guest"])
        .args(["-Copt-level=2", "-Cpanic=abort", "-Cdebuginfo=0", "-Cstrip=symbols", "-Coverflow-checks=off"])
        .args(["-Crelocation-model=static", "-Cforce-unwind-tables=no"])
        .args(["-Clink-arg=-nostartfiles", "-Clink-arg=-nostdlib", "-Clink-arg=-static"])
        .args(["--target", &var("TARGET"), "-o"])
        .arg(&out)
        .arg("guest/main.rs");
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    let status = rustc.status().unwrap_or_else(|e| panic!("cannot run rustc for guest/main.rs: {e}"));
    assert!(status.success(), "guest/main.rs did not build");
}

//! The oracle: a random script runs on a plain copy (A), and in a sandbox followed by `apply` (B). A and B
//! must agree; every way of getting from the one to the other and back must hold.
//!
//! `tests/fuzz` runs it on other seeds for as long as you like, through `COWBOX_ORACLE_SEEDS=FROM..TO`.

mod script;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use script::{Random, Script};
use tree::Tree;

use crate::common::{Cowbox, Engine, Sandbox, on, on_containers, run_on};

/// Seeds of one test.
const CHUNK: u64 = 100;

macro_rules! chunks {
    ($($name:ident = $number:literal),* $(,)?) => {
        mod native {
            $(#[test] fn $name() {
                super::run_on(super::Engine::Native, |engine| super::agree(engine, $number * super::CHUNK..($number + 1) * super::CHUNK))
            })*
        }
    };
}

// Tests of their own, so that they run side by side: 2,000 scripts.
chunks!(
    scripts_0 = 0,
    scripts_1 = 1,
    scripts_2 = 2,
    scripts_3 = 3,
    scripts_4 = 4,
    scripts_5 = 5,
    scripts_6 = 6,
    scripts_7 = 7,
    scripts_8 = 8,
    scripts_9 = 9,
    scripts_10 = 10,
    scripts_11 = 11,
    scripts_12 = 12,
    scripts_13 = 13,
    scripts_14 = 14,
    scripts_15 = 15,
    scripts_16 = 16,
    scripts_17 = 17,
    scripts_18 = 18,
    scripts_19 = 19,
);
on_containers!(fifty_scripts, seeds_from_the_environment);
on!(native: seeds_from_the_environment);

fn fifty_scripts(engine: Engine) {
    agree(engine, 0..50);
}

fn seeds_from_the_environment(engine: Engine) {
    let Ok(seeds) = std::env::var("COWBOX_ORACLE_SEEDS") else { return };
    let (from, to) = seeds.split_once("..").expect("FROM..TO");
    agree(engine, from.parse().unwrap()..to.parse().unwrap());
}

fn agree(engine: Engine, seeds: std::ops::Range<u64>) {
    let sandbox = if engine == Engine::Native { Sandbox::in_memory(engine) } else { Sandbox::new(engine) };
    // Root meets the same code again; a tenth shows what differs.
    let step = if rustix::process::geteuid().is_root() { 10 } else { 1 };
    for seed in seeds.step_by(step) {
        let case = Case::new(&sandbox, seed);
        if let Err(problem) = case.check() {
            panic!("seed {seed} on {engine}: {problem}\n--- base\n{}\n--- script\n{}", case.base, case.script);
        }
        case.clear();
    }
}

struct Case<'a> {
    sandbox: &'a Sandbox,
    seed: u64,
    base: Script,
    script: Script,
    a: PathBuf,
    b: PathBuf,
}

impl<'a> Case<'a> {
    fn new(sandbox: &'a Sandbox, seed: u64) -> Self {
        let native = sandbox.engine() == Engine::Native;
        let mut random = Random::new(seed);
        let base = Script::base(&mut random, native);
        let script = Script::session(&mut random, native, sandbox.engine() != Engine::Podman);
        let (a, b) = (sandbox.home().join(format!("a{seed}")), sandbox.home().join(format!("b{seed}")));
        for dir in [&a, &b] {
            fs::create_dir_all(dir).unwrap();
        }
        // The same times on both sides: git takes them for proof.
        base.run_in(&a);
        let copied = Command::new("cp").args(["-a", "--"]).arg(a.join(".")).arg(&b).status().unwrap();
        assert!(copied.success());
        Self { sandbox, seed, base, script, a, b }
    }

    /// For half of the seeds no file is too small to be moved.
    fn call(&self, args: &[&str]) -> Cowbox {
        let command = self.sandbox.cowbox(args).current_dir(&self.b);
        if (self.seed / 4).is_multiple_of(2) { command.env("COWBOX_TEST_MOVE_FROM", "0") } else { command }
    }

    fn cowbox(&self, args: &[&str], crash: Option<u64>) -> (i32, String, Vec<u8>) {
        let mut command = self.call(args);
        if let Some(point) = crash {
            command = command.env("COWBOX_TEST_CRASH", point.to_string());
        }
        let output = command.output();
        let said = output.stderr();
        (output.status.code().unwrap_or(137), said, output.stdout.clone())
    }

    fn must(&self, args: &[&str]) -> Result<Vec<u8>, String> {
        let (code, said, out) = self.cowbox(args, None);
        if code == 0 { Ok(out) } else { Err(format!("cowbox {args:?} gave {code}: {said}")) }
    }

    fn check(&self) -> Result<(), String> {
        self.script.run_in(&self.a);
        self.script.write(&self.b.join(".script"));
        let before = Tree::of(&self.b);
        let run = self.sandbox.run(&["-q", "--network", "none"], &["sh", ".script"]).current_dir(&self.b).output();
        if run.exit_code() != 0 {
            return Err(format!("the run failed: {}", run.stderr()));
        }
        let wanted = Tree::of(&self.a);
        let same = |what: &str, tree: &Tree| {
            let differences = tree.differences(&Tree::of(&self.b), false);
            if differences.is_empty() { Ok(()) } else { Err(format!("{what}:\n{}", differences.join("\n"))) }
        };
        let back = |what: &str| {
            let differences = before.differences(&Tree::of(&self.b), true);
            if differences.is_empty() { Ok(()) } else { Err(format!("{what}:\n{}", differences.join("\n"))) }
        };
        back("the run changed the repo")?;
        let apply = ["apply", "-q", "-y", "--include-ignored"];
        match self.seed % 4 {
            0 => {
                self.must(&apply)?;
                same("after apply", &wanted)?;
                self.nothing_left()?;
                let (code, said, _) = self.cowbox(&["undo", "-q", "-y"], None);
                if code != 0 && !said.contains("has been applied") {
                    return Err(format!("undo gave {code}: {said}"));
                }
                back("after undo")?;
            }
            1 => {
                self.some_then_the_rest()?;
                same("after a part and the rest", &wanted)?;
                self.nothing_left()?;
            }
            2 => {
                let point = 1 + self.seed / 4 % 60;
                let (code, ..) = self.cowbox(&apply, Some(point));
                if code != 0 {
                    self.must(&apply)?;
                }
                same(&format!("after a crash at point {point} and its completion"), &wanted)?;
                self.nothing_left()?;
            }
            _ => {
                let point = 1 + self.seed / 4 % 60;
                self.cowbox(&apply, Some(point));
                // Rolled back, or taken back, or nothing had been done yet.
                let (_, said, _) = self.cowbox(&["undo", "-y"], None);
                back(&format!("after a crash at point {point} and undo ({said})"))?;
                self.must(&apply)?;
                same("after that, applied again", &wanted)?;
            }
        }
        Ok(())
    }

    fn some_then_the_rest(&self) -> Result<(), String> {
        let listed = self.must(&["diff", "--name-status", "-z"])?;
        let fields: Vec<&[u8]> = listed.split(|b| *b == 0).collect();
        let mut random = Random::new(self.seed ^ 0xfeed);
        let mut paths: Vec<PathBuf> = Vec::new();
        for name in fields.iter().filter(|field| field.len() > 1 || !field.iter().all(u8::is_ascii_uppercase)) {
            use std::os::unix::ffi::OsStrExt;
            if !name.is_empty() && random.below(2) == 0 {
                paths.push(Path::new(std::ffi::OsStr::from_bytes(name)).to_path_buf());
            }
        }
        if !paths.is_empty() {
            let mut command = self.call(&["apply", "-q", "-y", "--include-ignored", "--"]);
            for path in &paths {
                command = command.arg(path);
            }
            let output = command.output();
            if output.exit_code() != 0 {
                return Err(format!("apply of {paths:?}: {}", output.stderr()));
            }
        }
        self.must(&["apply", "-q", "-y", "--include-ignored"]).map(drop)
    }

    /// After a full apply, `diff` is empty but for what is never applied; no temporary name is left.
    fn nothing_left(&self) -> Result<(), String> {
        let listed = self.must(&["diff", "--name-status"])?;
        let text = String::from_utf8_lossy(&listed).into_owned();
        let special = Tree::of(&self.a).special();
        let left: Vec<&str> = text.lines().filter(|line| !special.iter().any(|s| line[3..].starts_with(s))).collect();
        if !left.is_empty() {
            return Err(format!("still listed after a full apply: {left:?}"));
        }
        let found =
            Command::new("find").arg(&self.b).args(["-name", ".cowbox-*"]).stdin(Stdio::null()).output().unwrap();
        if found.stdout.is_empty() { Ok(()) } else { Err(String::from_utf8_lossy(&found.stdout).into_owned()) }
    }

    fn clear(self) {
        let _ = self.sandbox.cowbox(&["discard", "-q", "-y"]).current_dir(&self.b).output();
        for dir in [&self.a, &self.b] {
            let _ = Command::new("chmod").args(["-R", "u+rwx"]).arg(dir).output();
            fs::remove_dir_all(dir).unwrap();
        }
    }
}

//! The README, walked through as a newcomer does: each command of its `console` blocks in turn, and what it shows.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::{fs, iter};

use crate::common::{Engine, Sandbox, on, program};

const README: &str = include_str!("../../README.md");
/// What a newcomer types to build and run it; here it is built.
const BUILT_BY: &str = "cargo run --release -- ";

on!(native: the_readme_shows_what_happens);

/// All blocks are one story in one repository, called as a clone of ours would be.
fn the_readme_shows_what_happens(engine: Engine) {
    let mut sandbox = Sandbox::new(engine);
    let repo = sandbox.home().join("cowbox");
    fs::rename(sandbox.repo(), &repo).unwrap();
    sandbox.use_repo(&repo);
    make_repository(&repo);
    let bin = sandbox.root().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(program(), bin.join("cowbox")).unwrap();

    let steps: Vec<Step> = blocks(README).flat_map(steps).collect();
    assert!(steps.len() > 5, "the README has hardly a command: {}", steps.len());
    for step in steps {
        let line = step.command.replace(BUILT_BY, "cowbox ");
        let script = format!("exec 2>&1; PATH=\"$BIN:$PATH\"; {line}");
        let call = sandbox.cowbox(&[]).env("BIN", &bin).env("COWBOX_ENGINE", engine.name());
        let shown = call.through(&script).output().ok().stdout();
        assert_eq!(masked(&shown), masked(&step.shows), "after `{}`", step.command);
    }
    // The story applies something.
    sandbox.accept_repo();
}

#[test]
fn commands_and_what_they_show_are_told_apart() {
    let text = "a\n```console\n$ one\nx\n\ny\n$ two\n```\n```sh\n$ no\n```\n```console\n$ three\nz\n```\n";
    let found: Vec<(&str, String)> = blocks(text).flat_map(steps).map(|s| (s.command, s.shows)).collect();
    let of = |command, shows: &str| (command, shows.to_owned());
    assert_eq!(found, [of("one", "x\n\ny\n"), of("two", ""), of("three", "z\n")]);
    assert_eq!(masked("native, Linux 6.1-x (a) · cowbox-7k3q`\n"), masked("native, Linux 7 (a) · cowbox-abcd`\n"));
    assert_ne!(masked("session cowbox-7k3q\n"), masked("session other-7k3q\n"));
}

/// A command of the README, and the output below it.
struct Step<'a> {
    command: &'a str,
    shows: String,
}

/// Contents of the `console` blocks.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.split("```console\n").skip(1);
    starts.map(|rest| rest.split_once("```").expect("a block that does not end").0)
}

fn steps(block: &str) -> Vec<Step<'_>> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command, shows: String::new() }),
            (None, Some(step)) => step.shows.extend([line, "\n"]),
            (None, None) => panic!("a block that does not begin with a command: {line}"),
        }
    }
    steps
}

/// Without the random part of names, the version of the kernel, and who runs it.
fn masked(text: &str) -> String {
    let text = text.replace("(as root, ", "(rootless, ");
    let words: Vec<&str> = text.split_inclusive([' ', '\n', '`']).collect();
    let before = iter::once("").chain(words.iter().copied());
    before.zip(&words).map(|(before, word)| masked_word(before, word)).collect()
}

fn masked_word(before: &str, word: &str) -> String {
    let bare = word.trim_end_matches([' ', '\n', '`']);
    let end = &word[bare.len()..];
    match bare.strip_prefix("cowbox-") {
        Some(random) if random.len() == 4 => format!("cowbox-[NAME]{end}"),
        _ if before == "Linux " => format!("[VERSION]{end}"),
        _ => word.to_owned(),
    }
}

/// Everything there becomes the first commit.
fn make_repository(repo: &Path) {
    fs::remove_dir_all(repo.join(".git")).unwrap();
    for args in ["init -q", "add .", "commit -q -m first"] {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(args.split(' ')).current_dir(repo);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        assert!(git.status().unwrap().success(), "git {args}");
    }
}

//! What a language server, a linter or a REPL loads: an editor starts the first two when it opens the folder.

use std::collections::BTreeSet;

use super::Risk;
use super::codes::{EDITOR_AUTOLOAD, SHELL_AUTOLOAD};
use super::doc::Format::{self, Json, Toml, Yaml};
use super::keys::{How, KeyRules, describe};
use super::lines;
use super::program_words::names_program;
use super::rule::{Judged, Rule, Sides};

const SERVER: &str = "says what a language server runs";
const BUILD_SERVER: &str = "says which build server an editor starts";

const fn repl(pattern: &'static str, words: &'static str) -> Rule {
    Rule::any(pattern, SHELL_AUTOLOAD, words)
}

/// Files by name.
pub(super) const RULES: &[Rule] = &[
    Rule::keys("hie.yaml", EDITOR_AUTOLOAD, Yaml, KeyRules::only(&["*bios*", "*program*", "*shell*", "*with-ghc*"])),
    Rule::keys("rust-project.json", EDITOR_AUTOLOAD, Json, RUST_PROJECT),
    Rule::own("rust-analyzer.toml", EDITOR_AUTOLOAD, |sides| settings(sides, Toml)),
    Rule::own(".rust-analyzer.toml", EDITOR_AUTOLOAD, |sides| settings(sides, Toml)),
    Rule::keys(".luarc.json", EDITOR_AUTOLOAD, Json, LUA),
    Rule::keys(".luarc.jsonc", EDITOR_AUTOLOAD, Json, LUA),
    Rule::any(".bsp/*.json", EDITOR_AUTOLOAD, BUILD_SERVER),
    Rule::any("buildServer.json", EDITOR_AUTOLOAD, BUILD_SERVER),
    Rule::any(".merlin", EDITOR_AUTOLOAD, SERVER),
    Rule::any(".ycm_extra_conf.py", EDITOR_AUTOLOAD, "is run by YouCompleteMe when a file here is opened"),
    Rule::own(".phpactor.json", EDITOR_AUTOLOAD, |sides| settings(sides, Json)),
    Rule::own(".phpactor.yml", EDITOR_AUTOLOAD, |sides| settings(sides, Yaml)),
    Rule::keys(".solargraph.yml", EDITOR_AUTOLOAD, Yaml, KeyRules::only(&["plugins*", "formatter*require*"])),
    Rule::own(".pylintrc", EDITOR_AUTOLOAD, pylint),
    Rule::own("pylintrc", EDITOR_AUTOLOAD, pylint),
    Rule::keys(".pylintrc.toml", EDITOR_AUTOLOAD, Toml, PYLINT),
    Rule::keys("pylintrc.toml", EDITOR_AUTOLOAD, Toml, PYLINT),
    Rule::own(".rubocop*.yml", EDITOR_AUTOLOAD, rubocop),
    Rule::any(".formatter.exs", EDITOR_AUTOLOAD, "is run by elixir whenever a file here is formatted"),
    repl(".Rprofile", "is run by R when it starts here"),
    repl(".irbrc", "is run by irb when it starts here"),
    repl(".pryrc", "is run by pry when it starts here"),
    repl(".iex.exs", "is run by iex when it starts here"),
    repl(".ghci", "is run by ghci when it starts here"),
    repl(".ocamlinit", "is run by ocaml when it starts here"),
    repl(".octaverc", "is run by octave when it starts here"),
    repl(".pdbrc", "is run by python's debugger when it starts here"),
    repl(".perldb", "is run by perl's debugger when it starts here"),
    repl(".psysh.php", "is run by psysh when it starts here"),
];

const RUST_PROJECT: KeyRules = KeyRules::only(&["sysroot*", "*proc_macro_dylib_path", "runnables*", "*.env.*"]);
/// A plugin is a program; a third-party library brings one.
const LUA: KeyRules = KeyRules::only(&["*plugin*", "*userThirdParty*"]);

/// Settings that are known by the words in their names.
fn settings(sides: &Sides<'_>, format: Format) -> Judged {
    let (old, new) = sides.keys(format)?;
    let mut found = new.since(&old);
    found.retain(|(key, how)| *how != How::Removed && names_program(&key.shown()));
    Ok((!found.is_empty()).then(|| Risk::of(EDITOR_AUTOLOAD, describe(&sides.name, &found))).into_iter().collect())
}

const PYLINT: KeyRules = KeyRules::only(&["*init-hook*", "*init_hook*", "*load-plugins*", "*load_plugins*"]);

fn pylint(sides: &Sides<'_>) -> Judged {
    let (old, new) = lines::both(sides, lines::ini)?;
    Ok(sides.by_keys(EDITOR_AUTOLOAD, &old, &new, &PYLINT).into_iter().collect())
}

const RUBOCOP: KeyRules = KeyRules::only(&["require*", "plugins*", "inherit_from*", "inherit_gem*"]);

/// What it requires is run, and so is ruby between `<%` and `%>`, before it is read as YAML.
fn rubocop(sides: &Sides<'_>) -> Judged {
    let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    let (old_text, new_text) = (text(sides.old), text(sides.new));
    let before: BTreeSet<&str> = old_text.lines().collect();
    let inside = new_text.contains("<%") && new_text.lines().any(|line| !before.contains(line));
    if inside {
        return Ok(vec![Risk::of(EDITOR_AUTOLOAD, format!("`{}` has ruby in it that rubocop runs", sides.name))]);
    }
    let (old, new) = sides.keys(Yaml)?;
    Ok(sides.by_keys(EDITOR_AUTOLOAD, &old, &new, &RUBOCOP).into_iter().collect())
}

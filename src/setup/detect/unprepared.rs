//! What is recognised and not prepared, so that nobody wonders.

use crate::setup::project::Project;

const KNOWN: &[(&str, &str)] = &[
    ("pixi.toml", "pixi install"),
    ("environment.yml", "conda env create -f environment.yml -p .conda"),
    ("build.sbt", "sbt -batch update"),
    ("pubspec.yaml", "dart pub get"),
    ("Package.swift", "swift package resolve"),
    ("rebar.config", "rebar3 get-deps"),
    ("gleam.toml", "gleam deps download"),
    ("meson.build", "meson setup build"),
    ("flake.nix", "nix develop -c true"),
    ("devbox.json", "devbox install"),
];

/// Says so. Submodules matter to every repo, the rest only to one where nothing else was found.
pub(super) fn read(root: &Project<'_>, nothing_found: bool) {
    if root.holds(".gitmodules") {
        root.notice("submodules are not fetched; `git submodule update --init` on the host does it");
    }
    if !nothing_found {
        return;
    }
    for (file, command) in KNOWN.iter().filter(|(file, _)| root.holds(file)) {
        root.notice(format!("`{file}` is not prepared by itself; `--setup '{command}'` would do it"));
    }
}

//! Which `devcontainer.json` counts.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::error::{Error, Kind, Result, show};
use crate::setup::files::RepoFiles;
use crate::ui::sanitize;

const FOLDER: &str = ".devcontainer";
const NAME: &str = "devcontainer.json";
const DOT_NAME: &str = ".devcontainer.json";
/// More folders than anybody chooses from.
const MOST_FOLDERS: usize = 1000;

/// The config of the repo, relative to its root; none if there is none.
///
/// `wanted` is the name of a folder in `.devcontainer`, or a path in the repo.
pub fn discover(files: &RepoFiles, wanted: Option<&str>) -> Result<Option<PathBuf>> {
    if let Some(wanted) = wanted {
        return named(files, wanted).map(Some);
    }
    let first = [Path::new(FOLDER).join(NAME), PathBuf::from(DOT_NAME)];
    if let Some(path) = first.into_iter().find(|path| files.has(path)) {
        return Ok(Some(path));
    }
    let mut found = in_folders(files);
    match found.len() {
        0 | 1 => Ok(found.pop()),
        _ => Err(Error::of(Kind::Usage, format!("there are several devcontainers: {}", listed(&found)))
            .hint(format!("choose one with `--config {}`", folder_name(&found[0])))),
    }
}

/// Exactly one level deep, sorted by name.
fn in_folders(files: &RepoFiles) -> Vec<PathBuf> {
    let folders = files.list(FOLDER, MOST_FOLDERS).into_iter();
    folders.map(|folder| Path::new(FOLDER).join(folder).join(NAME)).filter(|path| files.has(path)).collect()
}

fn named(files: &RepoFiles, wanted: &str) -> Result<PathBuf> {
    let plain = |path: &Path| path.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    let path = Path::new(wanted);
    let path = path.strip_prefix(files.root()).unwrap_or(path);
    if !wanted.is_empty() && plain(path) {
        let is_folder = path.components().count() == 1;
        let in_folder = Path::new(FOLDER).join(path).join(NAME);
        if is_folder && files.has(&in_folder) {
            return Ok(in_folder);
        }
        let has_name = path.file_name().is_some_and(|name| name == NAME || name == DOT_NAME);
        if has_name && files.has(path) {
            return Ok(path.components().filter(|c| *c != Component::CurDir).collect());
        }
    }
    let error = Error::of(Kind::Usage, format!("there is no devcontainer `{}` in this repo", sanitize::text(wanted)));
    let found = in_folders(files);
    Err(if found.is_empty() {
        error.hint(format!("`--config` takes the name of a folder in {FOLDER}, or the path of a {NAME} in the repo"))
    } else {
        error.hint(format!("there are: {}", listed(&found)))
    })
}

fn folder_name(path: &Path) -> String {
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
    sanitize::bytes(folder.as_bytes())
}

fn listed(found: &[PathBuf]) -> String {
    found.iter().map(|path| show(path)).collect::<Vec<_>>().join(", ")
}

/// The directory that a config is for, relative to the repo: what holds `.devcontainer` or `.devcontainer.json`.
pub(super) fn project(config: &Path) -> PathBuf {
    let folder = config.parent().unwrap_or(Path::new(""));
    let above = |path: &Path| path.parent().map(Path::to_path_buf).unwrap_or_default();
    if config.file_name().is_some_and(|name| name == DOT_NAME) {
        return folder.to_path_buf();
    }
    let mut ancestors = folder.ancestors().take(2);
    let is_folder = |path: &&Path| path.file_name().is_some_and(|name| name == FOLDER);
    // A config with another place is one for the whole repo.
    ancestors.find(is_folder).map(above).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn repo(paths: &[&str]) -> (tempfile::TempDir, RepoFiles) {
        let dir = tempfile::tempdir().unwrap();
        for path in paths {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "{}").unwrap();
        }
        let files = RepoFiles::open(dir.path()).unwrap();
        (dir, files)
    }

    fn found(paths: &[&str]) -> Option<PathBuf> {
        discover(&repo(paths).1, None).unwrap()
    }

    #[test]
    fn three_places_are_searched_in_order() {
        let all = [".devcontainer/devcontainer.json", ".devcontainer.json", ".devcontainer/a/devcontainer.json"];
        for (skipped, path) in all.iter().enumerate() {
            assert_eq!(found(&all[skipped..]).as_deref(), Some(Path::new(path)));
        }
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn neither_the_root_nor_a_deeper_folder_is_a_place() {
        assert_eq!(found(&["devcontainer.json", ".devcontainer/a/b/devcontainer.json"]), None);
    }

    #[test]
    fn several_are_listed_with_the_way_to_choose() {
        let (_dir, files) = repo(&[".devcontainer/b/devcontainer.json", ".devcontainer/a/devcontainer.json"]);
        let error = discover(&files, None).unwrap_err();
        assert!(error.message().contains(".devcontainer/a/devcontainer.json, .devcontainer/b/devcontainer.json"));
        assert!(error.hints()[0].contains("--config a"));
        assert_eq!(discover(&files, Some("b")).unwrap().unwrap(), Path::new(".devcontainer/b/devcontainer.json"));
    }

    #[test]
    fn a_wanted_one_is_a_folder_or_a_path_in_the_repo() {
        let (dir, files) =
            repo(&["sub/.devcontainer/devcontainer.json", ".devcontainer/py/devcontainer.json", "x.json"]);
        let path = Path::new("sub/.devcontainer/devcontainer.json");
        assert_eq!(discover(&files, Some("./sub/.devcontainer/devcontainer.json")).unwrap().unwrap(), path);
        assert_eq!(discover(&files, dir.path().join(path).to_str()).unwrap().unwrap(), path);
        for wrong in ["", "rust", "x.json", "../py", "/etc/devcontainer.json", "py/devcontainer.json"] {
            let error = discover(&files, Some(wrong)).unwrap_err();
            assert!(error.hints()[0].contains(".devcontainer/py/devcontainer.json"), "{wrong}");
        }
    }

    #[test]
    fn a_link_out_of_the_repo_is_no_config() {
        let (dir, files) = repo(&["repo/file", "devcontainer.json"]);
        std::os::unix::fs::symlink("../devcontainer.json", dir.path().join("repo/.devcontainer.json")).unwrap();
        drop(files);
        assert_eq!(discover(&RepoFiles::open(&dir.path().join("repo")).unwrap(), None).unwrap(), None);
    }

    #[test]
    fn a_config_is_for_the_directory_that_holds_it() {
        let cases = [
            (".devcontainer/devcontainer.json", ""),
            (".devcontainer.json", ""),
            (".devcontainer/a/devcontainer.json", ""),
            ("sub/x/.devcontainer/devcontainer.json", "sub/x"),
            ("sub/.devcontainer.json", "sub"),
            ("ci/devcontainer.json", ""),
        ];
        for (path, expected) in cases {
            assert_eq!(project(Path::new(path)), Path::new(expected), "{path}");
        }
    }
}

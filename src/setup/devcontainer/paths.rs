//! Paths as text, without asking a file system.

use std::path::{Component, Path, PathBuf};

/// An absolute path inside, without `.` and `..`; none if it is not absolute.
pub(super) fn inside(text: &str) -> Option<PathBuf> {
    let path = Path::new(text);
    path.is_absolute().then(|| walk(PathBuf::from("/"), path)).flatten()
}

/// `text` seen from `base` in the repo at `root`, relative to the repo; none if it leads out of it.
pub(super) fn beneath(root: &Path, base: &Path, text: &str) -> Option<PathBuf> {
    let path = Path::new(text);
    if path.is_absolute() {
        return walk(PathBuf::new(), path.strip_prefix(root).ok()?);
    }
    walk(base.to_path_buf(), path)
}

/// `sub` below `base`. Joining nothing would leave a slash at the end, which variables would show.
pub(super) fn below(base: &Path, sub: &Path) -> PathBuf {
    if sub.as_os_str().is_empty() { base.to_path_buf() } else { base.join(sub) }
}

fn walk(mut from: PathBuf, path: &Path) -> Option<PathBuf> {
    for component in path.components() {
        match component {
            Component::Normal(name) => from.push(name),
            // Above `/` is `/`; above a repo is somewhere else.
            Component::ParentDir if !from.pop() && !from.is_absolute() => return None,
            _ => {}
        }
    }
    Some(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leads_out_of_the_repo() {
        let at = |text| beneath(Path::new("/home/u/repo"), Path::new(".devcontainer"), text);
        assert_eq!(at("Dockerfile").unwrap(), Path::new(".devcontainer/Dockerfile"));
        assert_eq!(at("..").unwrap(), Path::new(""));
        assert_eq!(at("./../docker/x/../Dockerfile").unwrap(), Path::new("docker/Dockerfile"));
        assert_eq!(at("/home/u/repo/a").unwrap(), Path::new("a"));
        for outside in
            ["../..", "../../repo2", "/etc/passwd", "/home/u/repo/../x", "/home/u/repository", "a/../../../b"]
        {
            assert_eq!(at(outside), None, "{outside}");
        }
    }

    #[test]
    fn paths_inside_are_absolute_and_plain() {
        assert_eq!(inside("/a/./b/../c/").unwrap(), Path::new("/a/c"));
        assert_eq!(inside("/../..").unwrap(), Path::new("/"));
        assert_eq!(inside("a"), None);
        assert_eq!(inside(""), None);
    }
}

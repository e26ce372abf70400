//! The name of an image that a Dockerfile makes: by what decides the build, as far as that can be told by a look at a few
//! files. Directories are not looked into: a repo that copies its sources would be built again with every edit.

use std::path::{Path, PathBuf};

use globset::GlobBuilder;
use sha2::{Digest, Sha256};

use super::context::ignore_files_of;
use super::dockerfile::Dockerfile;
use crate::error::{Error, Result, show};
use crate::setup::files::RepoFiles;
use crate::setup::key::hex;
use crate::setup::plan::BuildRequest;

/// More than anybody names, or means by a pattern.
const MOST_NAMES: usize = 1000;

/// For a build in the repo of `files`.
pub fn of(files: &RepoFiles, request: &BuildRequest) -> Result<String> {
    let dockerfile = &request.dockerfile;
    let text = files.read(dockerfile).map_err(|e| Error::io("read", dockerfile, e))?;
    let text = text.ok_or_else(|| Error::new(format!("there is no {}", show(dockerfile))))?;
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    add(files.root().as_os_str().as_encoded_bytes());
    add(&text);
    add(&serde_json::to_vec(request).unwrap_or_default());
    for file in ignore_files_of(request) {
        add(&content(files, &file));
    }
    let text = String::from_utf8_lossy(&text);
    let read = Dockerfile { text: &text, args: &request.args, is_plain: &|_| true };
    let sources = read.sources().into_iter().map(|source| request.context.join(source.trim_start_matches('/')));
    for file in sources.flat_map(|source| named(files, &source)).take(MOST_NAMES) {
        add(file.as_os_str().as_encoded_bytes());
        add(&content(files, &file));
    }
    Ok(format!("localhost/cowbox/build:{}", &hex(&hash.finalize())[..16]))
}

/// What is in a file; of one that is too large, how it looks from outside. Nothing where there is none.
fn content(files: &RepoFiles, path: &Path) -> Vec<u8> {
    match files.read(path) {
        Ok(content) => content.unwrap_or_default(),
        Err(_) => files.looks(path).map(|looks| format!("{looks:?}").into_bytes()).unwrap_or_default(),
    }
}

/// The file of that name, or the files that it is a pattern of.
fn named(files: &RepoFiles, path: &Path) -> Vec<PathBuf> {
    let (dir, name) = (path.parent().unwrap_or(Path::new("")), path.file_name().unwrap_or_default());
    let pattern = name.to_str().filter(|name| name.contains(['*', '?', '[']));
    match pattern.and_then(|pattern| GlobBuilder::new(pattern).build().ok()) {
        Some(glob) => {
            let glob = glob.compile_matcher();
            let names = files.list(dir, MOST_NAMES).into_iter().filter(|name| glob.is_match(name));
            names.map(|name| dir.join(name)).collect()
        }
        None => vec![path.to_path_buf()],
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn it_changes_with_every_file_that_is_copied_or_mounted_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let text = "FROM x\nCOPY one pack*.json \\\n  two /dst/\nARG NAME=three\nADD [\"$NAME\", \"with space\", \"/dst/\"]\n\
                    COPY --from=other elsewhere /dst\nRUN --network=none --mount=type=bind,source=four,target=/x \\\n  \
                    --mount=src=/five,target=/y --mount=type=cache,target=/z --mount=type=bind,from=other,source=elsewhere,target=/e make\n";
        fs::create_dir_all(root.join("ctx/dir")).unwrap();
        fs::write(root.join("ctx/Dockerfile"), text).unwrap();
        let files = RepoFiles::open(root).unwrap();
        let request = |context: &str| BuildRequest {
            dockerfile: "ctx/Dockerfile".into(),
            context: context.into(),
            ..BuildRequest::default()
        };
        let tag = || of(&files, &request("ctx")).unwrap();
        let mut before = tag();
        let all = [
            "one",
            "two",
            "three",
            "four",
            "five",
            "with space",
            "package-lock.json",
            ".dockerignore",
            "Dockerfile.dockerignore",
            "Dockerfile",
        ];
        for name in all {
            fs::write(root.join("ctx").join(name), "changed").unwrap();
            let now = tag();
            assert_ne!(before, now, "{name}");
            before = now;
            if name == "Dockerfile" {
                break;
            }
        }
        fs::write(root.join("ctx/Dockerfile"), text).unwrap();
        let before = tag();
        for name in ["elsewhere", "make", "NAME", "dir/one"] {
            fs::write(root.join("ctx").join(name), "changed").unwrap();
            assert_eq!(before, tag(), "{name}");
        }
        assert_ne!(before, of(&files, &request("")).unwrap());
    }

    #[test]
    fn a_file_that_is_too_large_to_read_counts_by_its_looks() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("Dockerfile"), "FROM x\nCOPY big /\n").unwrap();
        let big = fs::File::create(dir.path().join("big")).unwrap();
        big.set_len(65 << 20).unwrap();
        let files = RepoFiles::open(dir.path()).unwrap();
        let request = BuildRequest { dockerfile: "Dockerfile".into(), ..BuildRequest::default() };
        let before = of(&files, &request).unwrap();
        big.set_len(66 << 20).unwrap();
        assert_ne!(before, of(&files, &request).unwrap());
    }
}

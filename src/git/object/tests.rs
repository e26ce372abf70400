use std::fs;
use std::io::Write;

use super::*;
use crate::git::testing::{Random, TestRepo};

const MOST: u64 = 8 << 20;

/// Every object of the repository is read as `cat-file` reads it.
fn same_as_git(repo: &TestRepo) -> usize {
    let objects = Objects::of_host(&GitDirs::of(&repo.root()).unwrap()).unwrap();
    let listed = repo.git(&["cat-file", "--batch-all-objects", "--batch-check"]);
    for line in listed.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let id = Id::from_hex(words[0].as_bytes()).unwrap();
        let object = objects.read(&id, MOST).unwrap().unwrap();
        assert!(objects.contains(&id).unwrap());
        assert_eq!((object.kind.name(), object.data.len().to_string().as_str()), (words[1], words[2]));
        let raw = repo.command(&repo.root()).args(["cat-file", words[1], words[0]]).output().unwrap().stdout;
        assert!(object.data == raw, "{line}");
    }
    let missing = objects.hash().of(b"", b"nothing");
    assert!(objects.read(&missing, MOST).unwrap().is_none() && !objects.contains(&missing).unwrap());
    listed.lines().count()
}

/// Versions of one text that make long chains of deltas.
fn fill(repo: &TestRepo) {
    let mut random = Random::new(11);
    let mut lines: Vec<String> = (0..400).map(|n| format!("line {n} {}", random.next())).collect();
    for round in 0..12 {
        lines[round * 30] = format!("changed {}", random.next());
        repo.write("text", lines.join("\n"));
        repo.write(&format!("d/f{round}"), random.bytes(round * 50));
        repo.commit("round");
    }
    repo.git(&["tag", "-a", "-m", "x", "v1"]);
}

#[test]
fn loose_and_packed_objects_are_gits() {
    for (init, ref_deltas) in [(None, false), (None, true), (Some("--object-format=sha256"), false)] {
        let repo = TestRepo::with(&init.into_iter().collect::<Vec<_>>());
        fill(&repo);
        let count = same_as_git(&repo);
        repo.git(&["config", "repack.useDeltaBaseOffset", if ref_deltas { "false" } else { "true" }]);
        repo.git(&["repack", "-q", "-a", "-d", "-f", "--depth=50"]);
        let verified = repo.git(&["verify-pack", "-s", &pack(&repo, "idx").display().to_string()]);
        assert!(verified.contains("chain length = 5"), "{verified}");
        assert_eq!(same_as_git(&repo), count);
    }
}

#[test]
fn an_old_pack_index_is_read() {
    let repo = TestRepo::new();
    fill(&repo);
    repo.git(&["config", "pack.indexVersion", "1"]);
    repo.git(&["repack", "-q", "-a", "-d"]);
    same_as_git(&repo);
}

#[test]
fn alternates_are_followed_on_the_host_only() {
    let repo = TestRepo::new();
    repo.write("f", "shared");
    let id = Id::from_hex(repo.commit("one").as_bytes()).unwrap();
    let clone = repo.beside("clone");
    repo.git(&["clone", "-q", "--shared", ".", &clone.display().to_string()]);
    let objects = Objects::of_host(&GitDirs::of(&clone).unwrap()).unwrap();
    assert!(objects.contains(&id).unwrap());
    let mut hostile = Objects::new(Hash::Sha1);
    hostile.add_session(Dir::strict(&clone.join(".git/objects")).unwrap().unwrap());
    assert!(!hostile.contains(&id).unwrap());
}

fn pack(repo: &TestRepo, extension: &str) -> PathBuf {
    let dir = repo.root().join(".git/objects/pack");
    let mut files = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    files.find(|p| p.extension().is_some_and(|e| e == extension)).unwrap()
}

fn ids(repo: &TestRepo) -> Vec<Id> {
    let listed = repo.git(&["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    listed.lines().map(|line| Id::from_hex(line.as_bytes()).unwrap()).collect()
}

fn hostile(dir: &Path) -> Objects {
    let mut objects = Objects::new(Hash::Sha1);
    objects.add_session(Dir::strict(dir).unwrap().unwrap());
    objects
}

#[test]
fn damaged_packs_neither_panic_nor_lie() {
    let repo = TestRepo::new();
    fill(&repo);
    repo.git(&["config", "repack.useDeltaBaseOffset", "false"]);
    repo.git(&["repack", "-q", "-a", "-d", "-f", "--depth=50"]);
    let wanted = ids(&repo);
    let (good_pack, good_index) = (fs::read(pack(&repo, "pack")).unwrap(), fs::read(pack(&repo, "idx")).unwrap());
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("pack")).unwrap();
    let mut random = Random::new(13);
    let host = Objects::of_host(&GitDirs::of(&repo.root()).unwrap()).unwrap();
    for round in 0..40 {
        let index = if round % 2 == 0 { random.damage(&good_index) } else { good_index.clone() };
        let bytes = if round % 2 == 1 { random.damage(&good_pack) } else { good_pack.clone() };
        fs::write(dir.path().join("pack/pack-x.idx"), index).unwrap();
        fs::write(dir.path().join("pack/pack-x.pack"), bytes).unwrap();
        let objects = hostile(dir.path());
        for id in &wanted {
            if let Ok(Some(object)) = objects.read(id, MOST) {
                assert_eq!(Some(object), host.read(id, MOST).unwrap());
            }
        }
    }
}

#[test]
fn a_delta_that_is_its_own_base_ends() {
    // One object, a delta by name against itself.
    let id = Hash::Sha1.of(b"", b"self");
    let mut pack = b"PACK\0\0\0\x02\0\0\0\x01".to_vec();
    pack.push(0x70 | 4);
    pack.extend_from_slice(id.as_bytes());
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    zlib.write_all(&[1, 1, 1, b'x']).unwrap();
    pack.extend_from_slice(&zlib.finish().unwrap());
    let mut index = b"\xfftOc\0\0\0\x02".to_vec();
    for first in 0..=255u8 {
        index.extend_from_slice(&u32::from(first >= id.as_bytes()[0]).to_be_bytes());
    }
    index.extend_from_slice(id.as_bytes());
    index.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 12]);
    index.extend_from_slice(&[0; 40]);
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("pack")).unwrap();
    fs::write(dir.path().join("pack/pack-x.idx"), index).unwrap();
    fs::write(dir.path().join("pack/pack-x.pack"), pack).unwrap();
    assert!(hostile(dir.path()).contains(&id).unwrap());
    assert!(hostile(dir.path()).read(&id, MOST).unwrap_err().message().contains("damaged"));
}

#[test]
fn bombs_links_and_lies_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let id = Hash::Sha1.of(b"", b"bomb");
    let path = dir.path().join(loose_path(&id));
    fs::create_dir(path.parent().unwrap()).unwrap();
    let write = |header: &str, body: usize| {
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        zlib.write_all(header.as_bytes()).unwrap();
        zlib.write_all(&vec![0; body]).unwrap();
        fs::write(&path, zlib.finish().unwrap()).unwrap();
    };
    let said = || hostile(dir.path()).read(&id, MOST).unwrap_err().message().to_string();
    write("blob 1000000000000\0", 10);
    assert!(said().contains("larger"));
    for (header, body) in [("blob 5\0", 1 << 24), ("blob 5\0", 4), ("what 5\0", 5), ("blob x\0", 5), ("blob 5\0", 5)] {
        write(header, body);
        assert!(said().contains("damaged"), "{header:?}");
    }
    write(&"x".repeat(1000), 0);
    assert!(said().contains("damaged"));
    fs::rename(&path, dir.path().join("real")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("real"), &path).unwrap();
    assert!(hostile(dir.path()).read(&id, MOST).unwrap().is_none());
}

use super::*;
use crate::git::testing::{Random, TestRepo};

fn read(repo: &TestRepo) -> Index {
    Index::read(&GitDirs::of(&repo.root()).unwrap()).unwrap().unwrap()
}

/// Everything that `ls-files` lists is found with its mode and id, and nothing else is there.
fn same_as_git(repo: &TestRepo) -> Index {
    let index = read(repo);
    let listed = repo.command(&repo.root()).args(["ls-files", "-s", "-z"]).output().unwrap().stdout;
    let mut count = 0;
    for line in listed.split(|b| *b == 0).filter(|line| !line.is_empty()) {
        let cut = line.iter().position(|b| *b == b'\t').unwrap();
        let head = String::from_utf8(line[..cut].to_vec()).unwrap();
        let (mode, id, stage) = {
            let mut words = head.split(' ');
            (words.next().unwrap().to_string(), words.next().unwrap().to_string(), words.next().unwrap().to_string())
        };
        let id = (stage == "0").then(|| Id::from_hex(id.as_bytes()).unwrap());
        match index.find(&line[cut + 1..]) {
            Found::Entry { mode: found, id: found_id } if stage == "0" => {
                assert_eq!((u32::from_str_radix(&mode, 8).unwrap(), id), (found, found_id));
            }
            Found::Entry { id, .. } => assert_eq!(id, None),
            other => panic!("{:?}: {other:?}", String::from_utf8_lossy(&line[cut + 1..])),
        }
        count += 1;
    }
    assert_eq!(index.len(), count);
    index
}

fn fill(repo: &TestRepo) {
    for name in ["a", "b/c", "b/d/e", "b-x", "b.y", "é \n", "b/d0"] {
        repo.write(name, name);
    }
    repo.git(&["add", "-A"]);
    // Longer than the twelve bits of its length, and than any path of the system.
    let blob = repo.git(&["hash-object", "-w", "a"]);
    for length in [4000, 4095, 4096, 5000] {
        repo.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},long/{}", "x".repeat(length))]);
    }
}

#[test]
fn every_version_says_what_git_says() {
    for version in ["2", "3", "4"] {
        let repo = TestRepo::new();
        fill(&repo);
        repo.write("later", "x");
        repo.git(&["add", "-N", "later"]);
        repo.git(&["update-index", "--index-version", version]);
        let index = same_as_git(&repo);
        assert_eq!(index.find(b"b"), Found::Dir);
        assert_eq!(index.find(b"b/d"), Found::Dir);
        for missing in [&b"b/"[..], b"c", b"b/c/x", b"", b"lat", b"later2", b"b/d/"] {
            assert_ne!(
                std::mem::discriminant(&index.find(missing)),
                std::mem::discriminant(&Found::Entry { mode: 0, id: None })
            );
        }
        assert_eq!(index.find(b"c"), Found::No);
        assert!(index.has_below(b"") && index.has_below(b"b") && !index.has_below(b"a") && !index.has_below(b"b/c"));
    }
}

#[test]
fn a_sha256_repository_is_read() {
    let repo = TestRepo::with(&["--object-format=sha256"]);
    fill(&repo);
    same_as_git(&repo);
    repo.git(&["update-index", "--index-version", "4"]);
    same_as_git(&repo);
}

#[test]
fn unresolved_paths_are_tracked_without_an_id() {
    let repo = TestRepo::new();
    repo.write("f", "base\n");
    repo.commit("base");
    repo.git(&["checkout", "-q", "-b", "other"]);
    repo.write("f", "other\n");
    repo.commit("other");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("f", "main\n");
    repo.commit("main");
    assert!(!repo.command(&repo.root()).args(["merge", "-q", "other"]).status().unwrap().success());
    same_as_git(&repo);
}

#[test]
fn a_split_index_is_put_together() {
    let repo = TestRepo::new();
    for n in 0..300 {
        repo.write(&format!("d{}/f{n}", n % 7), format!("{n}"));
    }
    repo.git(&["add", "-A"]);
    repo.git(&["config", "splitIndex.maxPercentChange", "100"]);
    repo.git(&["update-index", "--split-index"]);
    same_as_git(&repo);
    for n in (0..300).step_by(11) {
        repo.write(&format!("d{}/f{n}", n % 7), "changed");
    }
    repo.git(&["rm", "-q", "-r", "-f", "--cached", "d3"]);
    repo.git(&["rm", "-q", "-f", "--cached", "d0/f0"]);
    repo.write("d2/new", "x");
    repo.write("zz", "x");
    repo.write("aa", "x");
    repo.git(&["add", "d0", "d1", "d2", "zz", "aa"]);
    assert!(
        std::fs::read_dir(repo.root().join(".git"))
            .unwrap()
            .any(|e| { e.unwrap().file_name().to_string_lossy().starts_with("sharedindex.") })
    );
    let index = same_as_git(&repo);
    assert_eq!(index.find(b"d3"), Found::No);
    assert!(matches!(index.find(b"d2/new"), Found::Entry { .. }));
    let shared = std::fs::read_dir(repo.root().join(".git")).unwrap().map(|e| e.unwrap().path());
    for file in shared.filter(|p| p.to_string_lossy().contains("sharedindex")) {
        std::fs::remove_file(file).unwrap();
    }
    let error = Index::read(&GitDirs::of(&repo.root()).unwrap()).err().unwrap();
    assert!(error.message().contains("sharedindex"), "{error}");
}

#[test]
fn a_sparse_index_names_the_tree_to_look_in() {
    let repo = TestRepo::new();
    for name in ["in/a", "out/b", "out/deep/c", "top"] {
        repo.write(name, name);
    }
    repo.commit("all");
    repo.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
    let index = read(&repo);
    let tree = Id::from_hex(repo.git(&["rev-parse", "HEAD:out"]).as_bytes()).unwrap();
    assert_eq!(index.find(b"out/deep/c"), Found::Sparse { tree, rest: b"deep/c" });
    assert_eq!(index.find(b"out"), Found::Sparse { tree, rest: b"" });
    assert!(matches!(index.find(b"in/a"), Found::Entry { .. }));
    assert_eq!(index.find(b"in"), Found::Dir);
    assert_eq!(index.find(b"outer"), Found::No);
}

#[test]
fn there_may_be_no_index() {
    let repo = TestRepo::new();
    assert!(Index::read(&GitDirs::of(&repo.root()).unwrap()).unwrap().is_none());
    repo.git(&["read-tree", "--empty"]);
    assert!(read(&repo).is_empty());
}

#[test]
fn no_bytes_make_it_panic() {
    let repo = TestRepo::new();
    fill(&repo);
    let mut random = Random::new(7);
    let mut samples = Vec::new();
    for version in ["2", "4"] {
        repo.git(&["update-index", "--index-version", version]);
        samples.push(std::fs::read(repo.root().join(".git/index")).unwrap());
    }
    repo.git(&["update-index", "--split-index"]);
    repo.write("more", "x");
    repo.git(&["add", "more"]);
    repo.git(&["rm", "-q", "--cached", "a"]);
    samples.push(std::fs::read(repo.root().join(".git/index")).unwrap());
    let shared = samples[0].clone();
    for sample in &samples {
        for _ in 0..4_000 {
            let bad = random.damage(sample);
            if let Ok(index) = Index::parse(&bad, Hash::Sha1, |_| Ok(shared.clone())) {
                index.find(b"b/c");
                index.has_below(b"b");
            }
        }
    }
    for size in 0..300 {
        let _ = Index::parse(&random.bytes(size), Hash::Sha256, |_| Ok(Vec::new()));
    }
}

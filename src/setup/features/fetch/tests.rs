//! Fetching, with programs that only pretend to be `skopeo`, `oras` and `curl`.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use super::untar::unpack;
use super::*;

/// One entry of a tar: name, type, link and content.
fn entry(name: &str, kind: u8, link: &str, content: &[u8]) -> Vec<u8> {
    let mut header = vec![0u8; 512];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, b"0000755\0");
    put(124, format!("{:011o}\0", content.len()).as_bytes());
    put(148, b"        ");
    put(156, &[kind]);
    put(157, link.as_bytes());
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|b| u32::from(*b)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header.extend_from_slice(content);
    header.resize(header.len().next_multiple_of(512), 0);
    header
}

fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut tar = entries.concat();
    tar.resize(tar.len() + 1024, 0);
    tar
}

fn feature() -> Vec<u8> {
    archive(&[
        entry("./", b'5', "", b""),
        entry("./devcontainer-feature.json", b'0', "", br#"{"id":"tool","version":"1.0.0"}"#),
        entry("./install.sh", b'0', "", b"#!/bin/sh\n"),
        entry("./lib/a", b'0', "", b"x"),
        entry("./link", b'2', "lib/a", b""),
    ])
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn an_archive_is_unpacked_packed_or_not() {
    for tar in [feature(), gzip(&feature())] {
        let dir = tempfile::tempdir().unwrap();
        unpack(&tar, dir.path()).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("link")).unwrap(), "x");
        assert_eq!(fs::metadata(dir.path().join("install.sh")).unwrap().permissions().mode() & 0o777, 0o755);
    }
}

#[test]
fn nothing_lands_outside_and_nothing_goes_through_a_link() {
    for entries in [
        vec![entry("../evil", b'0', "", b"x")],
        vec![entry("/tmp/evil", b'0', "", b"x")],
        vec![entry("a/../../evil", b'0', "", b"x")],
        vec![entry("l", b'2', "/etc", b"")],
        vec![entry("l", b'2', "..", b"")],
        vec![entry("a/b/up", b'2', "../..", b""), entry("l", b'2', "a/b/up/..", b"")],
        vec![entry("d", b'2', "lib", b""), entry("d/l", b'2', "x", b"")],
        vec![entry("hard", b'1', "/etc/passwd", b"")],
        vec![entry("dev", b'3', "", b"")],
        vec![entry("pipe", b'6', "", b"")],
        vec![entry("f", b'0', "", b"x"), entry("f/g", b'0', "", b"x")],
        vec![entry("f", b'0', "", b"x"), entry("f", b'2', "g", b"")],
    ] {
        let dir = tempfile::tempdir().unwrap();
        let into = dir.path().join("into");
        fs::create_dir(&into).unwrap();
        assert!(unpack(&archive(&entries), &into).is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
    // A link that is a directory's name: the file is written first, beside it, never through it.
    let dir = tempfile::tempdir().unwrap();
    let entries = [entry("lib", b'2', "other", b""), entry("lib/a", b'0', "", b"x")];
    assert!(unpack(&archive(&entries), dir.path()).is_err());
    assert!(!dir.path().join("other").exists());
}

#[test]
fn long_names_of_both_dialects_are_known() {
    let long = format!("{}/file", "d".repeat(120));
    let record = format!("{} path={long}\n", long.len() + 10);
    assert_eq!(record.len(), long.len() + 10);
    for first in
        [entry("x", b'x', "", record.as_bytes()), entry("././@LongLink", b'L', "", format!("{long}\0").as_bytes())]
    {
        let dir = tempfile::tempdir().unwrap();
        unpack(&archive(&[first, entry("short", b'0', "", b"y")]), dir.path()).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join(&long)).unwrap(), "y");
    }
}

#[test]
fn a_broken_archive_is_an_error_and_no_panic() {
    let good = feature();
    let dir = tempfile::tempdir().unwrap();
    for end in [1, 511, 600, 700, 1100] {
        let _ = unpack(&good[..end], &dir.path().join(end.to_string()));
    }
    assert!(unpack(&good[..600], &dir.path().join("cut")).is_err());
    for at in (0..good.len()).step_by(37) {
        let mut bad = good.clone();
        bad[at] ^= 0xff;
        let dir = tempfile::tempdir().unwrap();
        let _ = unpack(&bad, dir.path());
    }
    for pax in ["5", "0 a=b", "99999999999999999999 a=b", "3 a", "1 ", "9999 path=x\n"] {
        let dir = tempfile::tempdir().unwrap();
        let _ = unpack(&archive(&[entry("x", b'x', "", pax.as_bytes()), entry("ok", b'0', "", b"")]), dir.path());
        assert!(dir.path().join("ok").is_file(), "{pax}");
    }
    let many: Vec<Vec<u8>> = (0..20_001).map(|_| entry("a", b'5', "", b"")).collect();
    assert!(unpack(&archive(&many), dir.path()).is_err());
}

/// A host whose programs answer for one feature, and write down what they were asked.
struct Host {
    dir: tempfile::TempDir,
    manifest: Vec<u8>,
}

impl Host {
    fn new(layer: &[u8]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let digest = sha256(layer);
        let manifest = serde_json::json!({
            "schemaVersion": 2,
            "config": { "mediaType": "application/vnd.devcontainers", "digest": "sha256:0", "size": 2 },
            "layers": [{ "mediaType": "application/vnd.devcontainers.layer.v1+tar", "digest": digest, "size": 1 }],
        });
        fs::write(dir.path().join("layer"), layer).unwrap();
        fs::write(dir.path().join("manifest"), manifest.to_string()).unwrap();
        fs::create_dir(dir.path().join("bin")).unwrap();
        Self { dir, manifest: manifest.to_string().into_bytes() }
    }

    fn program(self, name: &str, script: &str) -> Self {
        let file = self.dir.path().join("bin").join(name);
        let here = self.dir.path().display();
        fs::write(&file, format!("#!/bin/sh\nhere='{here}'\necho \"{name} $*\" >>\"$here/asked\"\n{script}")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn skopeo(self) -> Self {
        let layer = sha256(&fs::read(self.dir.path().join("layer")).unwrap()).replace("sha256:", "");
        let script = format!(
            "case $1 in inspect) cat \"$here/manifest\" ;;\n\
             copy) to=${{4#dir:}}; mkdir \"$to\"; cp \"$here/manifest\" \"$to/manifest.json\"; cp \"$here/layer\" \"$to/{layer}\" ;; esac\n"
        );
        self.program("skopeo", &script)
    }

    fn fetch(&self, offline: bool, refresh: bool) -> HostFetch {
        let tools = Tools::find(&[self.dir.path().join("bin")]);
        HostFetch { store: Store::new(self.dir.path().join("cache")), tools, offline, refresh }
    }

    fn asked(&self) -> String {
        fs::read_to_string(self.dir.path().join("asked")).unwrap_or_default()
    }
}

fn id(written: &str) -> FeatureId {
    let source = match written.starts_with("https") {
        true => Source::Tarball(written.to_owned()),
        false => Source::Registry(crate::setup::features::id::registry(written).unwrap()),
    };
    FeatureId { written: written.to_owned(), source, pin: None }
}

fn tool() -> FeatureId {
    id("registry.example/team/tool:1")
}

#[test]
fn skopeo_is_asked_once_and_then_nobody() {
    let host = Host::new(&feature()).skopeo();
    let fetched = host.fetch(false, false).metadata(&tool()).unwrap();
    assert_eq!((fetched.metadata.id.as_str(), fetched.digest.clone()), ("tool", Some(sha256(&host.manifest))));
    let dir = host.fetch(false, false).files(&tool(), &fetched).unwrap();
    assert_eq!(fs::read_to_string(dir.join("lib/a")).unwrap(), "x");
    let asked = host.asked();
    assert_eq!(asked.lines().count(), 2);
    assert!(asked.contains("docker://registry.example/team/tool:1\n") && asked.contains("tool@sha256:"));
    assert_eq!(host.fetch(true, false).metadata(&tool()).unwrap(), fetched);
    assert_eq!(host.asked(), asked);
    host.fetch(false, true).metadata(&tool()).unwrap();
    assert_ne!(host.asked(), asked, "asked again on demand");
}

#[test]
fn oras_will_do_as_well() {
    let script = "case \"$1 $2\" in 'manifest fetch') cat \"$here/manifest\" ;; 'blob fetch') cp \"$here/layer\" \"$4\" ;; esac\n";
    let host = Host::new(&feature()).program("oras", script);
    assert_eq!(host.fetch(false, false).metadata(&tool()).unwrap().metadata.id, "tool");
}

#[test]
fn an_archive_comes_by_curl() {
    let script = "while [ \"$1\" != -o ]; do shift; done; cp \"$here/layer\" \"$2\"\n";
    let packed = gzip(&feature());
    let host = Host::new(&packed).program("curl", script);
    let mut id = id("https://host.example/devcontainer-feature-tool.tgz");
    assert_eq!(host.fetch(false, false).metadata(&id).unwrap().digest, Some(sha256(&packed)));
    id.pin = Some(sha256(b"other"));
    assert!(host.fetch(false, false).metadata(&id).unwrap_err().message().contains("not the pinned one"));
}

#[test]
fn content_that_is_not_what_was_promised_is_never_kept() {
    let host = Host::new(&feature()).skopeo();
    let mut pinned = tool();
    pinned.pin = Some(sha256(b"other"));
    assert!(host.fetch(false, false).metadata(&pinned).unwrap_err().message().contains("gave sha256:"));
    fs::write(host.dir.path().join("layer"), b"changed").unwrap();
    let error = host.fetch(false, false).metadata(&tool()).unwrap_err();
    assert!(error.message().contains("not what its manifest says"), "{error}");
    let kept = fs::read_dir(host.dir.path().join("cache")).map(Iterator::count).unwrap_or(0);
    assert_eq!(kept, 0);
}

#[test]
fn without_a_network_or_a_tool_the_error_says_what_to_do() {
    let host = Host::new(&feature());
    let error = host.fetch(true, false).metadata(&tool()).unwrap_err();
    assert!(error.message().contains("registry.example/team/tool:1 cannot be fetched: there is no network"));
    let error = host.fetch(false, false).metadata(&tool()).unwrap_err();
    assert!(error.message().contains("neither `skopeo` nor `oras`"));
    assert!(
        error.hints().iter().any(|hint| hint.contains("skopeo"))
            && error.hints().iter().any(|hint| hint.contains("`./<"))
    );
    let down = "echo 'time=\"x\" level=fatal msg=\"pinging registry: no such host\"' >&2; exit 1\n";
    let host = Host::new(&feature()).program("skopeo", down);
    let error = host.fetch(false, false).metadata(&tool()).unwrap_err();
    assert!(error.message().ends_with("skopeo: pinging registry: no such host"), "{error}");
    let old = FeatureId { written: "o/r/t".to_owned(), source: Source::Release("o/r/t".to_owned()), pin: None };
    assert!(host.fetch(false, false).metadata(&old).unwrap_err().message().contains("not supported"));
}

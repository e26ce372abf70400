//! Sources and checksums, each format with one that fires and one that does not.

use super::*;

fn reasons(path: &str, old: &str, new: &str) -> Vec<String> {
    let risks = edit(path, old, new);
    assert!(risks.iter().all(|risk| risk.code == "lockfile-source"), "{risks:?}");
    risks.into_iter().map(|risk| risk.reason).collect()
}

fn fires(path: &str, old: &str, new: &str, words: &str) {
    let reasons = reasons(path, old, new);
    assert!(reasons.len() == 1 && reasons[0].contains(words), "{path}: {reasons:?}");
}

fn silent(path: &str, old: &str, new: &str) {
    assert_eq!(reasons(path, old, new), [""; 0], "{path}");
}

#[test]
fn npm() {
    let lock = |version: &str, url: &str, sum: &str| {
        format!(
            r#"{{"packages": {{"": {{}}, "node_modules/a": {{"version": "{version}", "resolved": "{url}", "integrity": "{sum}"}},
                "node_modules/b": {{"resolved": "packages/b", "link": true}}}}}}"#
        )
    };
    let old = lock("1", "https://registry.npmjs.org/a/-/a-1.tgz", "sha512-x");
    silent("package-lock.json", &old, &lock("2", "https://registry.npmjs.org/a/-/a-2.tgz", "sha512-y"));
    silent("package-lock.json", "", &old);
    let evil = lock("1", "https://evil.example/a-1.tgz", "sha512-x");
    fires("package-lock.json", &old, &evil, "`node_modules/a` now comes from `https://evil.example`");
    fires("npm-shrinkwrap.json", "", &evil, "comes from");
    fires("package-lock.json", &old, &old.replace("sha512-x", ""), "lost its checksum");
    fires("package-lock.json", &old, &old.replace("sha512-x", "sha512-z"), "another checksum for the same version");
    let nested = r#"{"dependencies": {"a": {"resolved": "https://registry.npmjs.org/a", "integrity": "x",
        "dependencies": {"b": {"resolved": "http://evil/b", "integrity": "x"}}}}}"#;
    fires("package-lock.json", "", nested, "`a/b` comes from `http://evil`");
    fires("package-lock.json", &old, "{", "cannot be parsed");
}

#[test]
fn yarn_pnpm_and_bun() {
    let yarn =
        "a@^1:\n  version \"1\"\n  resolved \"https://registry.yarnpkg.com/a/-/a-1.tgz#x\"\n  integrity sha512-x\n";
    silent("yarn.lock", "# yarn\n", yarn);
    fires("yarn.lock", yarn, &yarn.replace("registry.yarnpkg.com", "evil"), "now comes from `https://evil`");
    let berry = "\"a@npm:^1\":\n  version: 1\n  resolution: \"a@npm:1.0.0\"\n  checksum: x\n";
    silent("yarn.lock", "# yarn\n", berry);
    fires("yarn.lock", berry, &berry.replace("a@npm:1.0.0", "a@https://evil/a.tgz"), "https://evil");
    let pnpm = "packages:\n  a@1.0.0:\n    resolution: {integrity: sha512-x}\n";
    silent("pnpm-lock.yaml", "packages: {}\n", pnpm);
    fires("pnpm-lock.yaml", pnpm, &pnpm.replace("integrity", "tarball: https://evil/x, integrity"), "https://evil");
    let bun = r#"{"packages": {"a": ["a@1.0.0", "", {}, "sha512-x"],}}"#;
    silent("bun.lock", "{}", bun);
    fires("bun.lock", bun, &bun.replace("\"\"", "\"https://evil/a\""), "https://evil");
}

#[test]
fn cargo() {
    let lock = |source: &str, sum: &str| {
        format!("[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"{source}\"\nchecksum = \"{sum}\"\n")
    };
    let usual = "registry+https://github.com/rust-lang/crates.io-index";
    silent("Cargo.lock", "version = 4", &lock(usual, "x"));
    silent("Cargo.lock", &lock(usual, "x"), "[[package]]\nname = \"mine\"\nversion = \"1.0.0\"\n");
    fires("Cargo.lock", &lock(usual, "x"), &lock("git+https://evil/x#1", ""), "now comes from `git+https://evil/x`");
    fires("Cargo.lock", &lock(usual, "x"), &lock(usual, "y"), "another checksum");
    fires("Cargo.lock", &lock(usual, "x"), &lock(usual, ""), "lost its checksum");
}

#[test]
fn python() {
    let poetry = "[[package]]\nname = \"a\"\nversion = \"1\"\nfiles = [{file = \"a.whl\", hash = \"sha256:x\"}]\n";
    silent("poetry.lock", "x = 1", poetry);
    fires("poetry.lock", poetry, &format!("{poetry}[package.source]\nurl = \"https://evil/simple\"\n"), "https://evil");
    let uv = "[[package]]\nname = \"a\"\nversion = \"1\"\nsource = { registry = \"https://pypi.org/simple\" }\n\
        wheels = [{ url = \"https://files.pythonhosted.org/a.whl\", hash = \"sha256:x\" }]\n";
    silent("uv.lock", "x = 1", uv);
    fires("uv.lock", uv, &uv.replace("files.pythonhosted.org", "evil"), "https://evil");
    let pip = r#"{"_meta": {"sources": [{"name": "p", "url": "https://pypi.org/simple"}]},
        "default": {"a": {"version": "==1", "hashes": ["sha256:x"]}}}"#;
    silent("Pipfile.lock", "{}", pip);
    fires("Pipfile.lock", pip, &pip.replace("pypi.org", "evil"), "https://evil");
    silent("requirements.txt", "a==1", "a==2 --hash=sha256:x\n# --index-url https://evil");
    fires("requirements-dev.txt", "a==1", "--extra-index-url=https://evil/simple\na==1", "https://evil");
    fires("requirements.txt", "a==1", "a @ git+https://evil/x.git", "evil");
}

#[test]
fn go_ruby_php_nix() {
    silent("go.sum", "a v1 h1:x=\n", "a v1 h1:x=\na v2 h1:y=\n");
    fires("go.sum", "a v1 h1:x=\n", "a v1 h1:z=\n", "another checksum");
    fires("go.sum", "a v1 h1:x=\n", "a v1 h1:z=\na v1 h1:x=\n", "another checksum");
    silent("go.mod", "module m", "module m\nrequire a v1");
    fires("go.mod", "module m", "module m\nreplace (\n\ta => ../evil\n)", "../evil");
    silent("Gemfile.lock", "GEM\n", "GEM\n  remote: https://rubygems.org/\n");
    fires("Gemfile.lock", "GEM\n", "GIT\n  remote: https://evil/x.git\n", "https://evil");
    let php = r#"{"packages": [{"name": "a/b", "dist": {"url": "https://api.github.com/repos/a/b/zipball/1", "shasum": ""}}]}"#;
    silent("composer.lock", "{}", php);
    silent("composer.lock", php, &php.replace("zipball/1", "zipball/2"));
    fires("composer.lock", php, &php.replace("repos/a", "repos/evil"), "repos/evil/b");
    fires("composer.lock", "{}", &php.replace("api.github.com", "evil"), "https://evil");
    let nix =
        r#"{"nodes": {"n": {"locked": {"type": "github", "owner": "o", "repo": "r", "rev": "1", "narHash": "x"}}}}"#;
    silent("flake.lock", nix, &nix.replace("\"1\"", "\"2\"").replace("\"x\"", "\"y\""));
    fires("flake.lock", nix, &nix.replace("\"o\"", "\"evil\""), "github:evil/r");
}

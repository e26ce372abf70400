//! Lockfiles that are documents, read into pins.

use std::collections::BTreeMap;

use super::doc::Doc;
use super::lockfiles::{Pin, Pins, origin};

/// A pin of an address, which may be missing.
fn at(url: &str, sum: &str) -> Pin {
    Pin { origin: origin(url), exact: url.to_owned(), sum: sum.to_owned() }
}

fn name_and_version(package: &Doc) -> String {
    format!("{} {}", package.text_of("name"), package.text_of("version"))
}

/// All texts below a key of each item, as one checksum.
fn joined(list: Option<&Doc>, key: &str) -> String {
    let mut texts: Vec<&str> = list.map_or(&[][..], Doc::items).iter().map(|item| item.text_of(key)).collect();
    texts.sort_unstable();
    texts.join(" ")
}

/// `package-lock.json`, all versions of it.
pub(super) fn npm(doc: &Doc) -> Pins {
    let mut pins = Pins::new();
    let packages = doc.get("packages").map_or(&[][..], Doc::entries);
    for (name, package) in packages.iter().filter(|(name, _)| !name.is_empty()) {
        pins.insert(name.to_string(), npm_pin(package.text_of("resolved"), package));
    }
    if packages.is_empty() {
        nested_npm(doc, "", &mut pins, &mut (32 << 20));
    }
    pins
}

fn npm_pin(resolved: &str, package: &Doc) -> Pin {
    // A plain path is a part of the project itself.
    at(if resolved.contains(':') { resolved } else { "" }, package.text_of("integrity"))
}

/// The first version nests packages, so that their paths can be much longer than the file: `left` bounds them.
fn nested_npm(doc: &Doc, above: &str, pins: &mut Pins, left: &mut usize) {
    for (name, package) in doc.get("dependencies").map_or(&[][..], Doc::entries) {
        let path = if above.is_empty() { name.to_string() } else { format!("{above}/{name}") };
        let Some(rest) = left.checked_sub(path.len()) else {
            pins.insert("more".into(), at("packages than are read", ""));
            return;
        };
        *left = rest;
        let version = package.text_of("version");
        let resolved = if version.contains("://") { version } else { package.text_of("resolved") };
        nested_npm(package, &path, pins, left);
        pins.insert(path, npm_pin(resolved, package));
    }
}

/// `bun.lock`: a list of name, registry, more, checksum.
pub(super) fn bun(doc: &Doc) -> Pins {
    let mut pins = Pins::new();
    for (name, package) in doc.get("packages").map_or(&[][..], Doc::entries) {
        let text = |index: usize| package.items().get(index).and_then(Doc::text).unwrap_or_default();
        let id = text(0);
        let source = id.get(1..).and_then(|rest| rest.split_once('@')).map_or("", |(_, version)| version);
        let source = if source.contains([':', '/']) { source } else { text(1) };
        let origin = if source.is_empty() { "npm".to_owned() } else { origin(source) };
        let sum = package.items().last().and_then(Doc::text).filter(|sum| sum.starts_with("sha"));
        pins.insert(name.to_string(), Pin { origin, exact: id.to_owned(), sum: sum.unwrap_or_default().to_owned() });
    }
    pins
}

/// `pnpm-lock.yaml`. A package of a registry has only a checksum.
pub(super) fn pnpm(doc: &Doc) -> Pins {
    let mut pins = Pins::new();
    for (name, package) in doc.get("packages").map_or(&[][..], Doc::entries) {
        let Some(from) = package.get("resolution") else { continue };
        let place = ["tarball", "repo", "directory"].iter().map(|key| from.text_of(key)).find(|text| !text.is_empty());
        let sum = from.text_of("integrity");
        let pin = match place {
            Some(url) => at(url, sum),
            None => Pin { origin: "npm".into(), exact: name.to_string(), sum: sum.into() },
        };
        pins.insert(name.to_string(), pin);
    }
    pins
}

fn packages<'a>(doc: &'a Doc, key: &str) -> &'a [Doc] {
    doc.get(key).map_or(&[], Doc::items)
}

/// `Cargo.lock`. A registry is an origin as it is written; of a repository the revision is not.
pub(super) fn cargo(doc: &Doc) -> Pins {
    let mut pins = Pins::new();
    // The first format keeps checksums apart.
    let metadata = doc.get("metadata").map_or(&[][..], Doc::entries);
    let apart: BTreeMap<&str, &str> =
        metadata.iter().filter_map(|(key, sum)| Some((key.strip_prefix("checksum ")?, sum.text()?))).collect();
    for package in packages(doc, "package") {
        let source = package.text_of("source");
        let name = name_and_version(package);
        let old_sum = || apart.get(&*format!("{name} ({source})")).copied();
        let sum = package.get("checksum").and_then(Doc::text).or_else(old_sum).unwrap_or_default().to_owned();
        let origin = source.split(['#', '?']).next().unwrap_or_default().to_owned();
        // Two packages of one name and version differ in their source.
        let name = if pins.contains_key(&name) { format!("{name} ({source})") } else { name };
        pins.insert(name, Pin { origin, exact: source.to_owned(), sum });
    }
    pins
}

/// `poetry.lock` and `pdm.lock`.
pub(super) fn poetry(doc: &Doc) -> Pins {
    let pin = |package: &Doc| {
        let source = package.get("source").map_or("", |source| source.text_of("url"));
        let place = ["git", "url", "path"].iter().map(|key| package.text_of(key)).find(|text| !text.is_empty());
        let source = if source.is_empty() { place.unwrap_or("https://pypi.org") } else { source };
        let name = name_and_version(package);
        (name.clone(), Pin { origin: origin(source), exact: name, sum: joined(package.get("files"), "hash") })
    };
    packages(doc, "package").iter().map(pin).collect()
}

/// `uv.lock`: the index or repository, and each file by its own address.
pub(super) fn uv(doc: &Doc) -> Pins {
    let mut pins = Pins::new();
    for package in packages(doc, "package") {
        let name = name_and_version(package);
        let source = package.get("source").map_or(&[][..], Doc::entries);
        let remote = source.iter().find(|(kind, _)| matches!(&**kind, "registry" | "git" | "url"));
        let origin = remote.and_then(|(_, url)| url.text()).map(origin).unwrap_or_default();
        let files = package.get("sdist").into_iter().chain(packages(package, "wheels"));
        for file in files.filter(|file| !file.text_of("url").is_empty()) {
            let url = file.text_of("url");
            let short_name = url.rsplit('/').next().unwrap_or(url);
            pins.insert(format!("{name} {short_name}"), at(url, file.text_of("hash")));
        }
        // Checksums belong to the files, so the package itself has none: never a usual registry without a checksum.
        pins.insert(name.clone(), Pin { origin, exact: name, sum: "-".into() });
    }
    pins
}

/// `Pipfile.lock`.
pub(super) fn pipfile(doc: &Doc) -> Pins {
    let mut pins = Pins::new();
    let sources = doc.get("_meta").map_or(&[][..], |meta| packages(meta, "sources"));
    for source in sources {
        pins.insert(format!("index {}", source.text_of("name")), at(source.text_of("url"), "-"));
    }
    for section in ["default", "develop"] {
        for (name, package) in doc.get(section).map_or(&[][..], Doc::entries) {
            let place = ["git", "file", "path"].iter().map(|key| package.text_of(key)).find(|text| !text.is_empty());
            let sums: Vec<&str> = packages(package, "hashes").iter().filter_map(Doc::text).collect();
            let exact = format!("{name} {}", package.text_of("version"));
            let origin = origin(place.unwrap_or_default());
            pins.insert(format!("{section} {name}"), Pin { origin, exact, sum: sums.join(" ") });
        }
    }
    pins
}

/// `composer.lock`: each package has a repository of its own, of which the first names of its path say which.
pub(super) fn composer(doc: &Doc) -> Pins {
    let mut pins = Pins::new();
    for package in packages(doc, "packages").iter().chain(packages(doc, "packages-dev")) {
        for part in ["dist", "source"] {
            let Some(from) = package.get(part) else { continue };
            let url = from.text_of("url");
            let origin = url.split('/').take(6).collect::<Vec<_>>().join("/");
            let pin = Pin { origin, exact: url.to_owned(), sum: from.text_of("shasum").to_owned() };
            pins.insert(format!("{} {part}", package.text_of("name")), pin);
        }
    }
    pins
}

/// `flake.lock`: owner and repository, or an address.
pub(super) fn flake(doc: &Doc) -> Pins {
    let mut pins = Pins::new();
    for (name, node) in doc.get("nodes").map_or(&[][..], Doc::entries) {
        let Some(locked) = node.get("locked") else { continue };
        let owner = locked.text_of("owner");
        let origin = if owner.is_empty() {
            origin(locked.text_of("url"))
        } else {
            format!("{}:{owner}/{}", locked.text_of("type"), locked.text_of("repo"))
        };
        let exact = format!("{origin} {}", locked.text_of("rev"));
        pins.insert(name.to_string(), Pin { origin, exact, sum: locked.text_of("narHash").to_owned() });
    }
    pins
}

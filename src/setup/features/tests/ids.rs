//! What can be the name of a feature.

use super::super::id::{FeatureId, Place, Source};
use super::*;

fn parse(written: &str) -> Result<FeatureId> {
    parse_at(written, ".devcontainer/devcontainer.json")
}

fn parse_at(written: &str, config: &str) -> Result<FeatureId> {
    let place = Place { config_file: Path::new(config), workspace: Path::new(""), default_registry: Some(HOST) };
    FeatureId::parse(written, &place)
}

/// Registry, namespace, id, tag and digest.
fn registry(written: &str) -> [String; 5] {
    match parse(written).unwrap().source {
        Source::Registry(r) => [r.registry, r.namespace, r.id, r.tag.unwrap_or_default(), r.digest.unwrap_or_default()],
        other => panic!("{written} is {other:?}"),
    }
}

#[test]
fn a_name_in_a_registry_is_taken_apart() {
    let host = "registry.example";
    assert_eq!(registry("registry.example/a/b/c:1.2"), [host, "a/b", "c", "1.2", ""]);
    assert_eq!(registry("registry.example/a/c"), [host, "a", "c", "latest", ""]);
    assert_eq!(registry("Registry.Example/A/C:V1"), [host, "a", "c", "v1", ""]);
    assert_eq!(registry("registry.example:5000/a/c"), ["registry.example:5000", "a", "c", "latest", ""]);
    assert_eq!(registry("localhost:5000/a/c:2"), ["localhost:5000", "a", "c", "2", ""]);
    let digest = digest("x");
    assert_eq!(registry(&format!("registry.example/a/c@{digest}")), [host, "a", "c", "", digest.as_str()]);
}

#[test]
fn the_namespace_that_moved_is_followed() {
    assert_eq!(registry("registry.example/devcontainers-contrib/features/x")[1], "devcontainers-extra/features");
    assert_eq!(registry("registry.example/other/devcontainers-contrib/x")[1], "other/devcontainers-contrib");
}

#[test]
fn short_names_stand_for_features_of_the_default_registry() {
    assert_eq!(registry("node"), [HOST, "devcontainers/features", "node", "1", ""]);
    assert_eq!(registry("golang")[2], "go");
    assert_eq!(registry("common")[2], "common-utils");
    let error = parse("fish").unwrap_err();
    assert!(error.message().contains("`fish`") && error.hints()[0].contains("./fish"));
    let place = Place { config_file: Path::new("x"), workspace: Path::new(""), default_registry: None };
    assert!(FeatureId::parse("node", &place).unwrap_err().message().contains("no default registry"));
}

#[test]
fn a_local_feature_lies_in_the_devcontainer_directory() {
    let local = |written: &str, config: &str| match parse_at(written, config).map(|id| id.source) {
        Ok(Source::Local(dir)) => Some(dir.display().to_string()),
        _ => None,
    };
    let usual = ".devcontainer/devcontainer.json";
    assert_eq!(local("./tools", usual).as_deref(), Some(".devcontainer/tools"));
    assert_eq!(local("./a/../b", usual).as_deref(), Some(".devcontainer/b"));
    assert_eq!(local("./a..b", usual).as_deref(), Some(".devcontainer/a..b"));
    assert_eq!(local("../tools", ".devcontainer/py/devcontainer.json").as_deref(), Some(".devcontainer/tools"));
    assert_eq!(local("./.devcontainer/tools", ".devcontainer.json").as_deref(), Some(".devcontainer/tools"));
    assert_eq!(local("./tools", ".devcontainer.json"), None);
    assert_eq!(local("../tools", usual), None);
    assert_eq!(local("./../../../etc", usual), None);
    assert_eq!(local("/etc", usual), None);
}

#[test]
fn an_archive_has_an_address_and_a_proper_name() {
    let good = "https://host.example/x/devcontainer-feature-my_tool.tgz";
    let id = parse(good).unwrap();
    assert_eq!((id.name(), &id.source), ("my_tool", &Source::Tarball(good.to_owned())));
    for bad in [
        "http://host.example/devcontainer-feature-a.tgz",
        "https://host.example/a.tgz",
        "https://host.example/devcontainer-feature-.tgz",
        "https://host.example/devcontainer-feature-a b.tgz",
        "https://user:pw@host.example/devcontainer-feature-a.tgz",
        "https:///devcontainer-feature-a.tgz",
    ] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn the_old_form_of_a_release_is_known_and_not_fetched() {
    for good in ["owner/repo/tool", "Owner/re.po/tool@v1.2"] {
        assert_eq!(parse(good).unwrap().source, Source::Release(good.to_owned()));
    }
}

#[test]
fn what_is_no_name_is_an_error_that_shows_it() {
    let long = "a/".repeat(600);
    for bad in [
        "registry.example/c",
        "registry.example/a/c:",
        "registry.example/a/c:-x",
        "registry.example/a//c",
        "registry.example/a/c@sha256:12",
        "registry.example/a/c@sha1:12",
        "registry.example/a__b/c",
        "a/b",
        "a/b/c/d",
        "a/b/c:1",
        "registry.example/-a/c",
        "-x.y/a/c",
        "registry.example:x/a/c",
        "registry.example/a/c\n",
        "",
        &long,
    ] {
        let error = parse(bad).unwrap_err();
        assert!(!error.message().contains('\n'), "{bad}");
    }
    assert!(parse("registry.example/a//c").unwrap_err().message().contains("registry.example/a//c"));
}

#[test]
fn names_that_became_options_are_folded_into_their_new_home() {
    let world = World::new().remote("x:1", "x", json!({}));
    let mut features = world.registry.features.clone();
    for name in ["java", "python"] {
        let value = json!({ "id": name, "options": { "version": {}, "installGradle": { "type": "boolean" } } });
        features.insert(format!("{HOST}/devcontainers/features/{name}:1"), (value, digest(name)));
    }
    let world = World { registry: Fake { features, ..Fake::default() }, ..world };
    let resolved = world.resolve(&[("gradle", json!("latest")), ("java", json!("17"))]).unwrap();
    assert_eq!(resolved.features.len(), 1);
    let options = &resolved.features[0].install.options;
    assert_eq!((options["VERSION"].as_str(), options["INSTALLGRADLE"].as_str()), ("17", "true"));
    assert!(resolved.notices.iter().any(|notice| notice.contains("`gradle` is now the option")));
    let resolved = world.resolve(&[("jupyterlab", json!({}))]).unwrap();
    assert_eq!(resolved.features[0].install.id, "python");
    assert_eq!(resolved.features[0].install.options["INSTALLJUPYTERLAB"], "true");
}

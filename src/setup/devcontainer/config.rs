//! A `devcontainer.json`, typed and as written: nothing is substituted, nothing decided.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::hooks::Commands;
use super::jsonc::Document;
use super::keys::{self, Kind};
use super::node::{At, Data, Problem};
use super::snippet::{Reader, Snippet, port};
use crate::error::{Error, Result, show};
use crate::setup::files::RepoFiles;

/// One config.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Where it is, relative to the repo.
    pub path: PathBuf,
    /// `image`
    pub image: Option<String>,
    /// `build`, with `dockerFile` and `context` folded in.
    pub build: Build,
    /// `dockerComposeFile` and what belongs to it.
    pub compose: Option<Compose>,
    /// `features`, in the order of the file.
    pub features: Vec<(String, Value)>,
    /// `overrideFeatureInstallOrder`
    pub override_feature_install_order: Vec<String>,
    /// `workspaceFolder`
    pub workspace_folder: Option<String>,
    /// `workspaceMount`
    pub workspace_mount: Option<String>,
    /// `runArgs`
    pub run_args: Vec<String>,
    /// `appPort`
    pub app_ports: Vec<String>,
    /// `secrets`: names with what they are for.
    pub secrets: BTreeMap<String, String>,
    /// `initializeCommand`
    pub initialize: Commands,
    /// `extends` is there.
    pub(super) extends: bool,
    /// What images and features can say too.
    pub(super) shared: Snippet,
    /// A line about keys that nobody knows.
    pub(super) unknown: Option<String>,
}

/// `build`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Build {
    /// Relative to the config.
    pub dockerfile: Option<String>,
    /// Relative to the config; none: where the Dockerfile is.
    pub context: Option<String>,
    /// `--build-arg`
    pub args: BTreeMap<String, String>,
    /// `--target`
    pub target: Option<String>,
    /// `--cache-from`
    pub cache_from: Vec<String>,
    /// Raw arguments.
    pub options: Vec<String>,
}

/// The keys for Docker Compose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compose {
    /// `dockerComposeFile`, relative to the config. Empty: the usual names.
    pub files: Vec<String>,
    /// `service`
    pub service: String,
    /// `runServices`; none: all.
    pub run_services: Option<Vec<String>>,
}

impl Config {
    /// Reads the file at `path` in the repo.
    pub fn read(files: &RepoFiles, path: &Path) -> Result<Self> {
        match files.read(path) {
            Ok(Some(bytes)) => Self::parse(path, &bytes),
            Ok(None) => Err(Error::new(format!("there is no file {} in the repo", show(path)))),
            Err(e) => Err(Error::io("read", path, e)),
        }
    }

    /// Reads its content. `path` is relative to the repo.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self> {
        let (document, node) = Document::parse(path, bytes)?;
        let mut reader = Reader::new(At::top(&node), Kind::Config);
        let config = Self::from_keys(path, &mut reader);
        match reader.problems.iter().min_by_key(|problem| problem.at) {
            Some(problem) => Err(document.error(problem.at, &problem.what)),
            None => Ok(config),
        }
    }

    fn from_keys(path: &Path, keys: &mut Reader<'_>) -> Self {
        let mut shared = keys.snippet();
        fold_editor_keys(keys, &mut shared);
        keys.take("name", |at| at.text().map(drop));
        Self {
            path: path.to_path_buf(),
            image: keys.text("image"),
            build: build(keys),
            compose: keys.take("dockerComposeFile", |_| Ok(true)).then(|| compose(keys)),
            features: keys.take("features", |at| at.entries()?.into_iter().map(feature).collect()),
            override_feature_install_order: keys.take("overrideFeatureInstallOrder", |at| at.strings()),
            workspace_folder: keys.text("workspaceFolder"),
            workspace_mount: keys.text("workspaceMount"),
            run_args: keys.take("runArgs", |at| at.strings()),
            app_ports: keys.take("appPort", |at| match &at.node.data {
                Data::List(_) => at.items()?.iter().map(port).collect(),
                _ => Ok(vec![port(at)?]),
            }),
            secrets: keys.take("secrets", |at| at.entries()?.into_iter().map(secret).collect()),
            initialize: keys.take("initializeCommand", Commands::read),
            extends: keys.take("extends", |_| Ok(true)),
            unknown: keys::unknown(&keys.top),
            shared,
        }
    }

    /// A compose file says what runs: there is no image and no Dockerfile.
    pub fn is_compose(&self) -> bool {
        self.compose.is_some() && self.image.is_none() && self.build.dockerfile.is_none()
    }
}

/// The old spelling of `build.dockerfile` brings its own context.
fn build(keys: &mut Reader<'_>) -> Build {
    let old = keys.text("dockerFile");
    let old_context = keys.text("context");
    let mut build = keys.take("build", |at| {
        at.entries()?;
        let text = |key: &str| at.get(key).map(|at| at.owned()).transpose();
        Ok(Build {
            dockerfile: text("dockerfile")?,
            context: text("context")?,
            args: at.get("args").map(|at| at.set_variables()).transpose()?.unwrap_or_default(),
            target: text("target")?,
            cache_from: at.get("cacheFrom").map(|at| at.one_or_more()).transpose()?.unwrap_or_default(),
            options: at.get("options").map(|at| at.strings()).transpose()?.unwrap_or_default(),
        })
    });
    if old.is_some() {
        build.dockerfile = old;
        build.context = old_context;
    }
    build
}

fn compose(keys: &mut Reader<'_>) -> Compose {
    let service = keys.text("service");
    if keys.get("service").is_none()
        && let Some(at) = keys.get("dockerComposeFile")
    {
        keys.problems.push(at.problem("needs `service` beside it"));
    }
    Compose {
        files: keys.take("dockerComposeFile", |at| at.one_or_more()),
        service: service.unwrap_or_default(),
        run_services: keys.take("runServices", |at| at.strings().map(Some)),
    }
}

fn feature((id, at): (&str, At<'_>)) -> Result<(String, Value), Problem> {
    match at.node.data {
        Data::Map(_) | Data::Text(_) | Data::Bool(_) => Ok((id.to_owned(), at.node.to_json())),
        _ => at.must_be("an object, a string, true or false"),
    }
}

fn secret((name, at): (&str, At<'_>)) -> Result<(String, String), Problem> {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    if !name.starts_with(first) || !name.chars().all(|c| first(c) || c.is_ascii_digit()) {
        return Err(at.problem("is not a name for a variable"));
    }
    at.entries()?;
    Ok((name.to_owned(), at.get("description").map_or(Ok(String::new()), |at| at.owned())?))
}

/// `extensions`, `settings` and `devPort` are the editor's, from before it had a place of its own.
fn fold_editor_keys(keys: &Reader<'_>, shared: &mut Snippet) {
    for key in ["extensions", "settings", "devPort"] {
        if let Some(at) = keys.get(key) {
            let editor =
                shared.customizations.entry("vscode".to_owned()).or_insert_with(|| Value::Object(Default::default()));
            if let Value::Object(editor) = editor {
                editor.entry(key).or_insert_with(|| at.node.to_json());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(text: &str) -> Result<Config> {
        Config::parse(Path::new(".devcontainer/devcontainer.json"), text.as_bytes())
    }

    #[test]
    fn legacy_keys_are_folded() {
        let config = parse(
            r#"{ "dockerFile": "D", "context": "..", "build": { "dockerfile": "X", "context": "Y", "args": { "A": 1 } },
                 "extensions": ["a"], "settings": { "b": 1 }, "devPort": 3 }"#,
        )
        .unwrap();
        assert_eq!((config.build.dockerfile.as_deref(), config.build.context.as_deref()), (Some("D"), Some("..")));
        assert_eq!(config.build.args["A"], "1");
        let editor = json!({ "extensions": ["a"], "settings": { "b": 1 }, "devPort": 3 });
        assert_eq!(config.shared.customizations["vscode"], editor);
        assert_eq!(config.unknown, None);
    }

    #[test]
    fn features_keep_their_order_and_their_form() {
        let config = parse(r#"{ "features": { "z": "lts", "./a": { "v": "${x}" }, "m": true } }"#).unwrap();
        let expected = [("z", json!("lts")), ("./a", json!({ "v": "${x}" })), ("m", json!(true))];
        assert_eq!(config.features, expected.map(|(id, value)| (id.to_owned(), value)));
    }

    #[test]
    fn compose_keys_are_handed_over() {
        let config = parse(r#"{ "dockerComposeFile": "c.yml", "service": "app", "runServices": ["db"] }"#).unwrap();
        assert!(config.is_compose());
        let compose = config.compose.unwrap();
        assert_eq!((compose.files, compose.service.as_str()), (vec!["c.yml".to_owned()], "app"));
        assert_eq!(compose.run_services, Some(vec!["db".to_owned()]));
        let error = parse(r#"{ "dockerComposeFile": [] }"#).unwrap_err();
        assert!(error.message().contains(":1:24: `dockerComposeFile` needs `service`"), "{error}");
    }

    #[test]
    fn wrong_types_have_a_key_and_a_place_and_the_first_is_named() {
        let cases = [
            ("{\n  \"image\": 5 }", ":2:12: `image` must be a string"),
            ("{ \"runArgs\": [\"a\", {}], \"image\": 5 }", ":1:20: `runArgs[1]` must be a string"),
            ("{ \"build\": { \"args\": { \"A\": {} } } }", ":1:29: `build.args.A` must be a string"),
            ("{ \"build\": \"x\" }", ":1:12: `build` must be an object"),
            ("{ \"features\": { \"a\": 1 } }", ":1:22: `features.a` must be"),
            ("{ \"secrets\": { \"a-b\": {} } }", ":1:23: `secrets.a-b` is not a name"),
            ("{ \"mounts\": [\"type=bind\"] }", ":1:14: `mounts[0]` has no target"),
            ("{ \"postCreateCommand\": { \"a\": { \"b\": \"c\" } } }", ":1:31: `postCreateCommand.a` must be"),
        ];
        for (text, expected) in cases {
            let error = parse(text).unwrap_err();
            let expected = format!(".devcontainer/devcontainer.json{expected}");
            assert!(error.message().starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn ports_are_numbers_or_text() {
        assert_eq!(parse(r#"{ "appPort": [3000, "8080:80"] }"#).unwrap().app_ports, ["3000", "8080:80"]);
        assert_eq!(parse(r#"{ "appPort": 3000 }"#).unwrap().app_ports, ["3000"]);
    }
}

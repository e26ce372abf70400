//! `config.toml` of the user, who is trusted, and the variables that say the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::{Table, Value};

use super::keys::{Holds, KEYS, Key};
use super::unknown;
use crate::cli::{EngineChoice, NetworkArg, OnExit};
use crate::error::{Error, Result, show};
use crate::profile::Partial;
use crate::ui::Ui;

/// The settings, key by key; `keys` says what they mean.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Config {
    /// `engine`
    pub engine: Option<EngineChoice>,
    /// `image`
    pub image: Option<String>,
    /// `containerfile`
    pub containerfile: Option<PathBuf>,
    /// `base-image`
    pub base_image: Option<String>,
    /// `feature-registry`
    pub feature_registry: Option<String>,
    /// `setup`
    pub setup: Option<String>,
    /// `setup-env`
    pub setup_env: Vec<String>,
    /// `network`
    pub network: Option<NetworkArg>,
    /// `on-exit`
    pub on_exit: Option<OnExit>,
    /// `viewer`
    pub viewer: Option<String>,
    /// `default-profile`
    pub default_profile: Option<String>,
    /// `[native]`
    pub native: NativeConfig,
    /// `[profiles.NAME]`
    pub profiles: BTreeMap<String, Partial>,
}

/// Keys of the native engine.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct NativeConfig {
    /// `mask`
    pub mask: Option<Vec<PathBuf>>,
    /// `mask-more`
    pub mask_more: Vec<PathBuf>,
}

/// The file and the variables, apart.
#[derive(Debug, Default)]
pub struct Sources {
    file: Table,
    variables: Table,
}

impl Sources {
    /// Reads both; no file is an empty one.
    pub fn read(path: &Path, ui: &Ui) -> Result<Self> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(Error::io("read", path, e)),
        };
        if !text.is_empty() {
            ui.detail(&format!("configuration from {}", show(path)));
        }
        let wrong = |e: toml::de::Error| {
            let line = e.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            Error::new(format!("{}, line {line}: {}", show(path), e.message().lines().next().unwrap_or_default()))
                .hint("correct the file; cowbox-config(5) and docs/configuration.md list every key")
        };
        // As a whole first: only so are values checked with their lines.
        toml::from_str::<Config>(&text).map_err(wrong)?;
        for (line, what) in unknown::of_user(&text) {
            ui.warn(&format!("{}, line {line}: {what}", show(path)));
        }
        let variables = variables(|name| std::env::var_os(name).map(|value| value.into_string()))?;
        Ok(Self { file: toml::from_str(&text).map_err(wrong)?, variables })
    }

    /// The settings: a variable over the file.
    pub fn config(&self) -> Result<Config> {
        let mut all = self.file.clone();
        // Two ways to say one thing: the one in a variable counts.
        for (said, other) in [("image", "containerfile"), ("containerfile", "image")] {
            if self.variables.contains_key(said) {
                all.remove(other);
            }
        }
        merge(&mut all, &self.variables);
        all.try_into().map_err(|e: toml::de::Error| Error::new(e.message().to_owned()))
    }

    /// What the file says of a key.
    pub fn in_file(&self, key: &Key) -> Option<&Value> {
        get(&self.file, key.name)
    }

    /// What its variable says.
    pub fn in_variable(&self, key: &Key) -> Option<&Value> {
        get(&self.variables, key.name)
    }
}

fn get<'t>(table: &'t Table, name: &str) -> Option<&'t Value> {
    match name.split_once('.') {
        Some((first, rest)) => get(table.get(first)?.as_table()?, rest),
        None => table.get(name),
    }
}

fn merge(into: &mut Table, over: &Table) {
    for (name, value) in over {
        match (into.get_mut(name), value) {
            (Some(Value::Table(into)), Value::Table(over)) => merge(into, over),
            _ => drop(into.insert(name.clone(), value.clone())),
        }
    }
}

/// What variables say, as the file would; an empty one says nothing.
fn variables(read: impl Fn(&str) -> Option<Result<String, std::ffi::OsString>>) -> Result<Table> {
    let mut all = Table::new();
    for key in KEYS {
        let name = key.variable();
        let Some(text) = read(&name) else { continue };
        let text = text.map_err(|_| Error::new(format!("{name} is not text")))?;
        if text.is_empty() {
            continue;
        }
        let list = |at: char| Value::Array(text.split(at).filter(|part| !part.is_empty()).map(Value::from).collect());
        let value = match key.holds {
            Holds::Choice(_) | Holds::Text | Holds::Path => Value::from(text.as_str()),
            Holds::Words => list(','),
            Holds::Paths => list(':'),
        };
        let mut one = Table::new();
        match key.name.split_once('.') {
            Some((table, rest)) => {
                drop(one.insert(table.into(), Value::Table(Table::from_iter([(rest.into(), value)]))))
            }
            None => drop(one.insert(key.name.into(), value)),
        }
        one.clone().try_into::<Config>().map_err(|e| {
            Error::new(format!("{name}: {}", crate::ui::sanitize::text(e.message().lines().next().unwrap_or_default())))
                .hint(format!("correct the variable; it is the key `{}` of cowbox-config(5)", key.name))
        })?;
        merge(&mut all, &one);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each, as the list has it.
    fn examples() -> String {
        let (top, native): (Vec<&Key>, Vec<&Key>) = KEYS.iter().partition(|key| !key.name.contains('.'));
        let mut text: String = top.iter().map(|key| format!("{} = {}\n", key.name, key.example)).collect();
        text.push_str("[native]\n");
        text.extend(native.iter().map(|key| format!("{} = {}\n", &key.name["native.".len()..], key.example)));
        text
    }

    #[test]
    fn every_key_of_the_list_is_read_and_there_is_no_other() {
        let Config {
            engine,
            image,
            containerfile,
            base_image,
            feature_registry,
            setup,
            setup_env,
            network,
            on_exit,
            viewer,
            default_profile,
            native: NativeConfig { mask, mask_more },
            profiles: _,
        } = toml::from_str(&examples()).unwrap();
        let read = [
            engine.is_some(),
            image.is_some(),
            containerfile.is_some(),
            base_image.is_some(),
            feature_registry.is_some(),
            setup.is_some(),
            !setup_env.is_empty(),
            network.is_some(),
            on_exit.is_some(),
            viewer.is_some(),
            default_profile.is_some(),
            mask.is_some(),
            !mask_more.is_empty(),
        ];
        assert!(read.iter().all(|yes| *yes), "{read:?}");
        assert_eq!(read.len(), KEYS.len());
    }

    #[test]
    fn a_variable_wins_over_the_file_and_a_wrong_one_is_named() {
        let set = |pairs: &'static [(&str, &str)]| {
            variables(move |name| pairs.iter().find(|(own, _)| *own == name).map(|(_, value)| Ok((*value).to_owned())))
        };
        let said = [
            ("COWBOX_NETWORK", "none"),
            ("COWBOX_NATIVE_MASK_MORE", "a:b"),
            ("COWBOX_SETUP_ENV", "A,B=c"),
            ("COWBOX_IMAGE", ""),
        ];
        let variables = set(Box::leak(Box::new(said))).unwrap();
        let file = toml::from_str("network = \"full\"\nimage = \"x\"\n[native]\nmask = [\"m\"]\nmask-more = [\"z\"]\n")
            .unwrap();
        let config = Sources { file, variables }.config().unwrap();
        assert_eq!((config.network, config.image.as_deref()), (Some(NetworkArg::None), Some("x")));
        assert_eq!(config.native.mask_more, [PathBuf::from("a"), PathBuf::from("b")]);
        assert_eq!((config.native.mask, config.setup_env), (Some(vec!["m".into()]), vec!["A".into(), "B=c".into()]));
        let variables = set(&[("COWBOX_CONTAINERFILE", "/c")]).unwrap();
        let config = Sources { file: toml::from_str("image = \"x\"\n").unwrap(), variables }.config().unwrap();
        assert_eq!((config.image, config.containerfile), (None, Some("/c".into())));
        let error = set(&[("COWBOX_NETWORK", "some")]).unwrap_err();
        assert!(error.message().starts_with("COWBOX_NETWORK: unknown variant"), "{}", error.message());
    }
}

//! `devcontainer-feature.json`: what a feature says of itself.

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::json;
use crate::error::{Error, Result, show};

/// The name of the file.
pub(super) const FILE: &str = "devcontainer-feature.json";

/// What a feature contributes to a container beyond its files: the keys that the reference takes over.
const CONTRIBUTED: &[&str] = &[
    "onCreateCommand",
    "updateContentCommand",
    "postCreateCommand",
    "postStartCommand",
    "postAttachCommand",
    "init",
    "privileged",
    "capAdd",
    "securityOpt",
    "entrypoint",
    "mounts",
    "customizations",
];

/// What one feature says.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// Its name.
    pub id: String,
    /// Its new name, when `id` is an old one.
    #[serde(default)]
    pub current_id: Option<String>,
    /// Its version.
    #[serde(default)]
    pub version: Option<String>,
    /// What to call it.
    #[serde(default)]
    pub name: Option<String>,
    /// What it can be told, in the order of the file.
    #[serde(default, deserialize_with = "pairs")]
    pub options: Vec<(String, OptionSpec)>,
    /// Variables of the image, in the order of the file: one may build on another.
    #[serde(default, deserialize_with = "pairs")]
    pub container_env: Vec<(String, String)>,
    /// `--privileged`
    #[serde(default)]
    pub privileged: Option<bool>,
    /// `--init`
    #[serde(default)]
    pub init: Option<bool>,
    /// `--cap-add`
    #[serde(default)]
    pub cap_add: Vec<String>,
    /// `--security-opt`
    #[serde(default)]
    pub security_opt: Vec<String>,
    /// A program to start with the container.
    #[serde(default)]
    pub entrypoint: Option<String>,
    /// Mounts, as text or as an object.
    #[serde(default)]
    pub mounts: Vec<Value>,
    /// Settings of tools.
    #[serde(default)]
    pub customizations: Option<Map<String, Value>>,
    /// Features that must be there before, with their options.
    #[serde(default, deserialize_with = "pairs")]
    pub depends_on: Vec<(String, Value)>,
    /// Features that go before it if they are there.
    #[serde(default)]
    pub installs_after: Vec<String>,
    /// Names that it had.
    #[serde(default)]
    pub legacy_ids: Vec<String>,
    /// It will not be kept up.
    #[serde(default)]
    pub deprecated: bool,
    /// `onCreateCommand` in any of its forms.
    #[serde(default)]
    pub on_create_command: Option<Value>,
    /// `updateContentCommand` in any of its forms.
    #[serde(default)]
    pub update_content_command: Option<Value>,
    /// `postCreateCommand` in any of its forms.
    #[serde(default)]
    pub post_create_command: Option<Value>,
    /// `postStartCommand` in any of its forms.
    #[serde(default)]
    pub post_start_command: Option<Value>,
    /// `postAttachCommand` in any of its forms.
    #[serde(default)]
    pub post_attach_command: Option<Value>,
    /// The whole object as it was read.
    #[serde(skip)]
    pub raw: Map<String, Value>,
}

/// One thing that a feature can be told.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
pub struct OptionSpec {
    /// Text or yes and no.
    #[serde(default, rename = "type")]
    pub kind: OptionKind,
    /// What it is when nobody says.
    #[serde(default)]
    pub default: Option<Value>,
    /// The only values.
    #[serde(default, rename = "enum")]
    pub allowed: Option<Vec<String>>,
    /// Some values.
    #[serde(default)]
    pub proposals: Option<Vec<String>>,
}

/// The type of an option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptionKind {
    /// Any text.
    #[default]
    String,
    /// `true` or `false`.
    Boolean,
}

impl Metadata {
    /// Reads the file; `from` is for messages.
    pub fn parse(from: &Path, content: &[u8]) -> Result<Self> {
        let raw: Map<String, Value> = json::parse(from, content)?;
        let metadata: Self = json::parse(from, content)?;
        if metadata.id.is_empty() {
            return Err(Error::new(format!("{}: the feature has no `id`", show(from))));
        }
        Ok(Self { raw, ..metadata })
    }

    /// The name that it has now, then those that it had.
    pub(super) fn aliases(&self) -> Vec<String> {
        let current = self.current_id.clone().unwrap_or_else(|| self.id.clone());
        std::iter::once(current).chain(self.legacy_ids.iter().cloned()).collect()
    }

    /// What it adds to the merged metadata of the image. Its `containerEnv` is not in it: that becomes `ENV`.
    pub fn contribution(&self, written: &str) -> Map<String, Value> {
        let taken = CONTRIBUTED.iter().filter_map(|key| Some((String::from(*key), self.raw.get(*key)?.clone())));
        std::iter::once(("id".to_owned(), Value::String(written.to_owned()))).chain(taken).collect()
    }
}

/// An object as pairs in the order of the file. A repeated key takes the last value, in the first place.
fn pairs<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<(String, T)>, D::Error> {
    struct Pairs<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Pairs<T> {
        type Value = Vec<(String, T)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut list: Vec<(String, T)> = Vec::new();
            while let Some((key, value)) = entries.next_entry::<String, T>()? {
                match list.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, place)) => *place = value,
                    None => list.push((key, value)),
                }
                if list.len() > 1000 {
                    return Err(serde::de::Error::custom("more than a thousand entries"));
                }
            }
            Ok(list)
        }
    }
    from.deserialize_map(Pairs(PhantomData))
}

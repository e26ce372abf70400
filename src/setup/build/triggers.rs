//! What an image has whoever builds on it do: `ONBUILD`. Podman does not tell, so its storage is asked.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::engine::client::Client;
use crate::error::{Error, Result};
use crate::ui::sanitize;

/// Far more than the settings of an image.
const LARGEST: u64 = 8 << 20;

/// The instructions that the image of that name brings along; none if it is not here.
pub(super) fn of(client: &Client, name: &str) -> Result<Vec<String>> {
    let Ok(id) = client.capture(&["image", "inspect", "--format", "{{.Id}}", "--", name]) else {
        return Ok(Vec::new());
    };
    let id = id.trim();
    let unknown = || {
        Error::new(format!("cannot tell what the image {} does in a build", sanitize::text(name)))
            .hint("build it with `podman build`, and name it with `--image`")
    };
    let format = "{{.Store.GraphRoot}}/{{.Store.GraphDriverName}}-images";
    let images = client.capture(&["info", "--format", format])?;
    // Its settings are kept under their own hash, which is the image's.
    let file = format!("={}", STANDARD.encode(format!("sha256:{id}")));
    let path = Path::new(images.trim()).join(id).join(file);
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST).read_to_end(&mut text));
    read.map_err(|_| unknown())?;
    let Triggers(found) = serde_json::from_slice(&text).map_err(|_| unknown())?;
    Ok(found)
}

/// Every text below a key of that name, in whatever case and however often: so reads podman.
#[derive(Debug, Default, PartialEq, Eq)]
struct Triggers(Vec<String>);

/// All texts in a value.
struct Texts(Vec<String>);

impl<'de> Deserialize<'de> for Triggers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Walk).map(Triggers)
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found: Option<Vec<Option<String>>> = Option::deserialize(deserializer)?;
        Ok(Texts(found.unwrap_or_default().into_iter().flatten().collect()))
    }
}

struct Walk;

impl<'de> Visitor<'de> for Walk {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("settings of an image")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Vec<String>, M::Error> {
        let mut found = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if key.eq_ignore_ascii_case("onbuild") {
                found.extend(map.next_value::<Texts>()?.0);
            } else if key.eq_ignore_ascii_case("config") {
                found.extend(map.next_value::<Triggers>()?.0);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Vec<String>, S::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Vec::new())
    }

    fn visit_unit<E>(self) -> Result<Vec<String>, E> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers_are_found_however_they_are_hidden() {
        for text in [
            r#"{"config":{"User":"x","OnBuild":["RUN a"]}}"#,
            r#"{"config":{"\u004fnbuild":["RUN a"],"OnBuild":null},"config":{"User":""}}"#,
            r#"{"Config":{"ONBUILD":["RUN a"]},"config":null}"#,
        ] {
            assert_eq!(serde_json::from_str::<Triggers>(text).unwrap().0, ["RUN a"], "{text}");
        }
        assert_eq!(serde_json::from_str::<Triggers>(r#"{"config":{"Env":["a"]},"rootfs":{}}"#).unwrap().0.len(), 0);
        assert!(serde_json::from_str::<Triggers>(r#"{"config":{"OnBuild":"RUN a"}}"#).is_err());
    }
}

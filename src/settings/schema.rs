//! The file as a JSON schema, for editors, and as a file to begin with.

use serde_json::{Map, Value, json};

use super::keys::{Holds, KEYS, Key, PROFILE_KEYS};

/// The schema.
pub fn schema() -> Value {
    let (top, native): (Vec<&Key>, Vec<&Key>) = KEYS.iter().partition(|key| !key.name.contains('.'));
    let mut properties = of_keys(top.into_iter());
    properties.insert("native".into(), table("The native engine.", of_keys(native.into_iter())));
    let profile = table(
        "One profile; what a built-in one of that name says and this does not still holds.",
        of_keys(PROFILE_KEYS.iter()),
    );
    properties.insert(
        "profiles".into(),
        json!({ "description": "Profiles for `run --profile`, by name.", "type": "object", "additionalProperties": profile }),
    );
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "cowbox: config.toml",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

fn table(about: &str, properties: Map<String, Value>) -> Value {
    json!({ "description": about, "type": "object", "properties": properties, "additionalProperties": false })
}

fn of_keys<'k>(keys: impl Iterator<Item = &'k Key>) -> Map<String, Value> {
    let one = |key: &Key| {
        let name = key.name.rsplit('.').next().unwrap_or_default();
        let mut value = match key.holds {
            Holds::Choice(words) => json!({ "enum": words }),
            Holds::Text | Holds::Path => json!({ "type": "string" }),
            Holds::Words | Holds::Paths => json!({ "type": "array", "items": { "type": "string" } }),
        };
        value["description"] = json!(format!("{} Default: {}.", key.about, key.default));
        (name.to_owned(), value)
    };
    keys.map(one).collect()
}

/// A file in which every key is explained and none is set.
pub fn template() -> String {
    let mut text =
        String::from("# Settings of cowbox. Take the # away to set one; `cowbox config` shows what counts.\n");
    let mut table = "";
    for key in KEYS {
        let (own, name) = key.name.split_once('.').unwrap_or(("", key.name));
        if own != table {
            text.push_str(&format!("\n[{own}]\n"));
            table = own;
        }
        text.push_str(&format!("\n# {} Default: {}.\n", key.about, key.default));
        if let Holds::Choice(words) = key.holds {
            text.push_str(&format!("# One of {}.\n", words.join(", ")));
        }
        text.push_str(&format!("#{name} = {}\n", key.example));
    }
    text.push_str("\n# An agent for `cowbox run --profile my-agent`.\n#[profiles.my-agent]\n");
    for key in PROFILE_KEYS {
        text.push_str(&format!("# {}\n#{} = {}\n", key.about, key.name, key.example));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::file::Config;

    #[test]
    fn the_schema_in_the_repository_is_this_one() {
        let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
        assert_eq!(
            text,
            include_str!("../../docs/config.schema.json"),
            "cowbox config schema > docs/config.schema.json"
        );
    }

    #[test]
    fn a_file_to_begin_with_sets_nothing_and_is_right_once_it_is_uncommented() {
        let template = template();
        let config: Config = toml::from_str(&template).unwrap();
        assert!(config.engine.is_none() && config.profiles.is_empty());
        let bare: String = template
            .lines()
            .map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line))
            .map(|line| format!("{line}\n"))
            .collect();
        let config: Config = toml::from_str(&bare).unwrap();
        assert_eq!(crate::settings::unknown::of_user(&bare), []);
        assert!(config.engine.is_some() && config.profiles.contains_key("my-agent"));
    }

    #[test]
    fn the_document_explains_every_key_and_names_every_variable() {
        let document = include_str!("../../docs/configuration.md");
        for key in KEYS {
            let row = format!("| `{}` | `{}` |", key.name, key.variable());
            assert!(document.contains(&row), "docs/configuration.md lacks {row}");
        }
        for key in PROFILE_KEYS {
            assert!(
                document.contains(&format!("| `{}` |", key.name)),
                "docs/configuration.md lacks profile key {}",
                key.name
            );
        }
    }
}

//! `.cursor/environment.json`: its `install` brings dependencies and may be run again.

use serde_json::Value;

use super::Candidate;
use crate::error::{Error, Result};
use crate::jsonc::strict;
use crate::setup::plan::Ignored;
use crate::setup::project::Project;
use crate::ui::sanitize;

const FILE: &str = ".cursor/environment.json";

pub(super) fn read(project: &Project<'_>) -> Result<Option<Candidate>> {
    let Some(text) = project.text(FILE) else { return Ok(None) };
    let document: Value = jsonc_parser::parse_to_serde_value(&text, &strict()).map_err(|e| broken(&e.to_string()))?;
    let Some(keys) = document.as_object() else { return Err(broken("it has to be an object")) };
    let install = match keys.get("install") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(command)) if command.trim().is_empty() => return Ok(None),
        Some(Value::String(command)) => command.clone(),
        Some(_) => return Err(broken("`install` has to be a text")),
    };
    let left_out = |key: &&str| keys.contains_key(*key);
    let ignored = ["build", "snapshot", "start", "terminals"].into_iter().filter(left_out).map(ignore).collect();
    Ok(Some(Candidate { file: FILE.to_owned(), commands: vec![install], ignored, ..Candidate::default() }))
}

fn ignore(key: &str) -> Ignored {
    let reason = match key {
        "build" | "snapshot" => "the image is chosen with `--image` or `--containerfile`",
        _ => "nothing is started in the background",
    };
    Ignored { key: format!("{FILE}: {key}"), reason: reason.to_owned() }
}

fn broken(reason: &str) -> Error {
    Error::new(format!("`{FILE}`: {}", sanitize::text(reason)))
        .hint("correct the file, or choose another way with `--setup COMMAND` or `--setup auto|none`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::project::testing::Repo;

    fn of(text: &str) -> Result<Option<Candidate>> {
        let repo = Repo::of(&[(FILE, text)]);
        read(&Project::new(&repo.files(), ""))
    }

    #[test]
    fn install_is_taken_and_the_rest_is_said_to_be_left_out() {
        let found = of("{ // hi\n \"install\": \"a && b\", \"start\": \"x\", \"build\": {},}").unwrap().unwrap();
        assert_eq!(found.commands, ["a && b"]);
        let keys: Vec<_> = found.ignored.iter().map(|i| i.key.as_str()).collect();
        assert_eq!(keys, [".cursor/environment.json: build", ".cursor/environment.json: start"]);
    }

    #[test]
    fn without_an_install_there_is_nothing() {
        for text in ["{}", "{\"install\": \"  \"}", "{\"install\": null, \"start\": \"x\"}"] {
            assert!(of(text).unwrap().is_none(), "{text}");
        }
    }

    #[test]
    fn what_only_a_lenient_reader_takes_is_an_error() {
        for text in ["{install: 'x'}", "{\"install\": 5}", "[]", "", "{\"a\": 1 \"b\": 2}", "{\"install\": [\"x\"]}"] {
            assert!(of(text).is_err(), "{text}");
        }
        assert!(of("{\n\"a\" 1}").unwrap_err().message().contains("line 2"));
    }
}

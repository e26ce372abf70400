//! `mounts`: a line of fields or an object. Volumes and memory are the session's own; the host's files need consent.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde_json::{Map, Value};

use super::ledger::Ledger;
use super::node::{At, Data, Problem};
use super::paths;
use super::substitute::Values;
use crate::error::Result;
use crate::setup::files::LEADS_OUT;
use crate::setup::plan::{MountKind, MountRequest};
use crate::ui::sanitize;

/// Means nothing on Linux.
const MEANINGLESS: &str = "consistency";

/// A mount as written, with its keys spelled in one way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RawMount {
    /// `bind`, `volume`, `tmpfs`
    pub(super) kind: String,
    pub(super) source: String,
    pub(super) target: String,
    readonly: bool,
    /// Names of further options.
    others: Vec<String>,
}

impl RawMount {
    pub(super) fn read(at: &At<'_>) -> Result<Self, Problem> {
        if let Data::Text(text) = &at.node.data {
            return Self::parse(text).map_err(|what| at.problem(what));
        }
        if !matches!(at.node.data, Data::Map(_)) {
            return at.must_be("a string or an object");
        }
        let mut mount = Self::default();
        for (key, at) in at.entries()? {
            match &at.node.data {
                Data::Bool(yes) => mount.set(key, if *yes { "true" } else { "false" }),
                Data::Null => {}
                _ => mount.set(key, at.text()?),
            }
        }
        mount.complete().map_err(|what| at.problem(what))
    }

    /// Fields with commas between; one that holds a comma is quoted.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let mut mount = Self::default();
        for field in fields(text).ok_or("has a quote that does not end")? {
            let (key, value) = field.split_once('=').unwrap_or((&field, "true"));
            mount.set(key.trim(), value);
        }
        mount.complete()
    }

    fn set(&mut self, key: &str, value: &str) {
        match key.to_ascii_lowercase().as_str() {
            "type" => self.kind = value.to_ascii_lowercase(),
            "source" | "src" => value.clone_into(&mut self.source),
            "target" | "dst" | "destination" => value.clone_into(&mut self.target),
            "readonly" | "ro" => self.readonly = !matches!(value, "false" | "0"),
            "" | MEANINGLESS => {}
            _ => self.others.push(key.to_owned()),
        }
    }

    fn complete(mut self) -> Result<Self, &'static str> {
        if self.kind.is_empty() {
            self.kind.push_str("volume");
        }
        if self.target.is_empty() { Err("has no target") } else { Ok(self) }
    }

    /// For a person and a consent.
    fn shown(&self, values: &Values<'_>) -> Result<Value> {
        let mut object = Map::new();
        object.insert("type".into(), self.kind.as_str().into());
        object.insert("source".into(), values.shown(&self.source)?.into());
        object.insert("target".into(), values.shown(&self.target)?.into());
        if self.readonly {
            object.insert("readonly".into(), true.into());
        }
        Ok(Value::Object(object))
    }
}

fn fields(text: &str) -> Option<Vec<String>> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut chars = text.trim().chars().peekable();
    while let Some(c) = chars.next() {
        let field = fields.last_mut()?;
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
            '"' if quoted => quoted = false,
            '"' if field.is_empty() => quoted = true,
            ',' if !quoted => fields.push(String::new()),
            c => field.push(c),
        }
    }
    (!quoted).then_some(fields)
}

/// Decides about the mounts of all sources, in order: the last one of a target counts.
pub(super) fn decide(
    sources: &[(&str, &[RawMount])],
    workspace: &Path,
    values: &Values<'_>,
    ledger: &mut Ledger<'_>,
) -> Result<Vec<MountRequest>> {
    let mut all = Vec::new();
    let mut last = HashMap::new();
    for (from, mounts) in sources {
        for (place, mount) in mounts.iter().enumerate() {
            let target = values.text(&mount.target)?;
            // One target may be spelled in several ways.
            last.insert(paths::inside(&target), all.len());
            all.push((*from, format!("mounts[{place}]"), mount, target));
        }
    }
    let last: HashSet<usize> = last.into_values().collect();
    let mut decided = Vec::new();
    for (n, (from, key, mount, target)) in all.into_iter().enumerate() {
        let Some(path) = paths::inside(&target) else {
            ledger.ignore(from, &key, "its target is not an absolute path");
            continue;
        };
        if !last.contains(&n) {
            continue;
        }
        if path == Path::new("/") || path == workspace {
            ledger.ignore(from, &key, "the repo or the root stands at its target");
            continue;
        }
        if let Some(what) = kind(from, &key, mount, values, ledger)? {
            decided.push(MountRequest { target: path.to_string_lossy().into_owned(), what });
        }
    }
    Ok(decided)
}

fn kind(
    from: &str,
    key: &str,
    mount: &RawMount,
    values: &Values<'_>,
    ledger: &mut Ledger<'_>,
) -> Result<Option<MountKind>> {
    let what = match mount.kind.as_str() {
        "volume" => MountKind::Volume,
        "tmpfs" => MountKind::Tmpfs,
        "bind" => {
            let source = values.text(&mount.source)?;
            if !Path::new(&source).is_absolute() {
                ledger.ignore(from, key, "its source is not an absolute path");
                return Ok(None);
            }
            if ledger.files().leads_out(Path::new(&source)) {
                ledger.ignore(from, key, LEADS_OUT);
                return Ok(None);
            }
            if !ledger.ask(from, key, "mounts files of the host", &mount.shown(values)?) {
                return Ok(None);
            }
            MountKind::Bind { source, readonly: mount.readonly }
        }
        other => {
            ledger.ignore(from, key, format!("mounts of type `{}` are not known", sanitize::text(other)));
            return Ok(None);
        }
    };
    if !mount.others.is_empty() {
        let names = sanitize::text(&mount.others.join("`, `"));
        ledger.ignore(from, key, format!("its options `{names}` are not applied"));
    }
    Ok(Some(what))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::node::Node;
    use super::*;

    fn mount(kind: &str, source: &str, target: &str) -> RawMount {
        RawMount { kind: kind.into(), source: source.into(), target: target.into(), ..RawMount::default() }
    }

    #[test]
    fn a_line_has_fields_that_may_be_quoted() {
        let cases = [
            ("source=/a,target=/b,type=bind", mount("bind", "/a", "/b")),
            ("type=bind,src=/a,dst=/b,consistency=cached", mount("bind", "/a", "/b")),
            ("destination=/b, type=tmpfs", mount("tmpfs", "", "/b")),
            ("source=v,target=/b", mount("volume", "v", "/b")),
            (r#"type=bind,"source=/a,""b""",target=/b=c"#, mount("bind", "/a,\"b\"", "/b=c")),
        ];
        for (text, expected) in cases {
            assert_eq!(RawMount::parse(text).unwrap(), expected, "{text}");
        }
        for text in ["type=bind,source=/,target=/x,readonly", "source=/,target=/x,type=bind,ro=1"] {
            assert!(RawMount::parse(text).unwrap().readonly, "{text}");
        }
        assert!(!RawMount::parse("target=/x,readonly=false").unwrap().readonly);
    }

    #[test]
    fn a_mount_without_a_target_or_with_half_a_quote_is_a_problem() {
        assert!(RawMount::parse("type=volume").is_err());
        assert!(RawMount::parse("\"target=/x").is_err());
        let node = Node::of(&json!([{ "type": "volume" }]));
        assert_eq!(RawMount::read(&At::top(&node).items().unwrap()[0]).unwrap_err().what, "`[0]` has no target");
    }

    #[test]
    fn an_object_says_the_same() {
        let node = Node::of(&json!([{ "type": "bind", "source": "/a", "target": "/b" }, 1]));
        let items = At::top(&node).items().unwrap();
        assert_eq!(RawMount::read(&items[0]).unwrap(), mount("bind", "/a", "/b"));
        assert!(RawMount::read(&items[1]).is_err());
    }
}

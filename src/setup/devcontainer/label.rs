//! `devcontainer.metadata`: settings that an image carries in a label.

use serde_json::Value;

/// The label's name.
pub const LABEL: &str = "devcontainer.metadata";
/// The reference cannot write a longer one.
const LARGEST: usize = 2 << 20;

/// Who a set of settings comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The image's label.
    Image,
    /// A feature, by the id that the user wrote.
    Feature(String),
}

/// Settings that come before the config's own.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Who they come from.
    pub origin: Origin,
    /// The settings, as written: an object.
    pub metadata: Value,
}

/// What a label says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Label {
    /// Its settings, in order.
    pub parts: Vec<Part>,
    /// Why some of it, or all, is left out.
    pub notice: Option<String>,
}

/// Reads the label's text: a list of objects, or one. What cannot be read is left out.
pub fn parse_label(text: &str) -> Label {
    let left_out = |what: &str| Some(format!("{what} of the image's label {LABEL} is left out: it cannot be read"));
    let value = if text.len() > LARGEST { None } else { serde_json::from_str(text).ok() };
    let entries = match value {
        Some(Value::Array(entries)) => entries,
        Some(object @ Value::Object(_)) => vec![object],
        _ => return Label { parts: Vec::new(), notice: left_out("all") },
    };
    let before = entries.len();
    let entries = entries.into_iter().filter(Value::is_object);
    let parts: Vec<Part> = entries.map(|metadata| Part { origin: Origin::Image, metadata }).collect();
    let notice = if parts.len() < before { left_out("a part") } else { None };
    Label { parts, notice }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_or_one_object_is_read_and_the_rest_is_left_out() {
        let part = |metadata| Part { origin: Origin::Image, metadata };
        let list = parse_label(r#"[{"id":"a"},{"init":true}]"#);
        assert_eq!(
            list,
            Label { parts: vec![part(json!({ "id": "a" })), part(json!({ "init": true }))], notice: None }
        );
        assert_eq!(parse_label(r#"{"init":true}"#).parts, [part(json!({ "init": true }))]);
        for broken in ["", "x", "1", "[{}", "// c\n{}", &"[".repeat(10_000)] {
            let label = parse_label(broken);
            assert!(label.parts.is_empty() && label.notice.unwrap().starts_with("all of"), "{broken}");
        }
        let large = format!("{{}}{}", " ".repeat(LARGEST));
        assert!(parse_label(&large).parts.is_empty() && parse_label(large.trim()).parts.len() == 1);
        let half = parse_label(r#"[1,{"init":true}]"#);
        assert!(half.parts.len() == 1 && half.notice.unwrap().starts_with("a part of"));
    }
}

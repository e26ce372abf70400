//! `healthcheck` of a service.

use std::time::Duration;

use serde_json::{Map, Value};

use super::yaml::{is_true, text, texts};
use crate::setup::service::Health;

/// What compose takes where nothing is written.
const INTERVAL: Duration = Duration::from_secs(30);
const RETRIES: u32 = 3;

/// Reads it; none where there is none, or its test comes from the image.
pub(super) fn read(service: &Map<String, Value>) -> Option<Health> {
    let check = service.get("healthcheck")?.as_object()?;
    if check.get("disable").is_some_and(is_true) {
        return None;
    }
    let test = match check.get("test")? {
        list @ Value::Array(_) => Health::test(&texts(list)),
        script => Health::test(&["CMD-SHELL".to_owned(), text(script)?]),
    };
    let time = |key: &str| check.get(key).and_then(text).and_then(|text| humantime::parse_duration(&text).ok());
    let retries = check.get("retries").and_then(text).and_then(|number| number.parse().ok());
    Some(Health::new(
        test?,
        time("start_period").unwrap_or_default(),
        time("interval").unwrap_or(INTERVAL),
        time("timeout").unwrap_or(INTERVAL),
        retries.unwrap_or(RETRIES),
    ))
}

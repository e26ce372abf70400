//! Waiting until a service is there.

use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::engine::client::Client;
use crate::error::{Error, Kind, Result};
use crate::setup::service::{Condition, Health, Service};
use crate::sys::signal::is_asked_to_end;

/// How often it is asked.
const PAUSE: Duration = Duration::from_millis(300);
/// For a service whose end is waited for: a migration takes its time.
const TO_THE_END: Duration = Duration::from_secs(900);

/// Waits for what those who depend on it wait for. Bounded; a signal ends it.
pub(super) fn until_there(client: &Client, container: &str, service: &Service) -> Result<()> {
    match service.condition {
        Condition::Started => Ok(()),
        Condition::Healthy => until_healthy(client, container, service),
        Condition::Completed => until_completed(client, container, service),
    }
}

fn until_healthy(client: &Client, container: &str, service: &Service) -> Result<()> {
    let name = &service.name;
    let health = service.health.clone().or_else(|| of_image(client, container)).ok_or_else(|| {
        Error::of(Kind::NotStarted, format!("the service {name} has no health check, and others wait for it"))
            .hint("give it a `healthcheck` in the compose file, or wait for `service_started`")
    })?;
    let mut question = vec!["exec", container];
    question.extend(health.test.iter().map(String::as_str));
    let deadline = Instant::now() + health.patience;
    while !client.attempt(&question) {
        if let State { running: false, exit } = state(client, container)? {
            return Err(ended(client, container, name, exit));
        }
        if Instant::now() > deadline {
            let time = humantime::format_duration(health.patience);
            return Err(with_last_words(client, container, format!("the service {name} is not healthy after {time}")));
        }
        pause()?;
    }
    Ok(())
}

fn until_completed(client: &Client, container: &str, service: &Service) -> Result<()> {
    let deadline = Instant::now() + TO_THE_END;
    loop {
        match state(client, container)? {
            State { running: false, exit: 0 } => return Ok(()),
            State { running: false, exit } => return Err(ended(client, container, &service.name, exit)),
            State { running: true, .. } if Instant::now() > deadline => {
                let time = humantime::format_duration(TO_THE_END);
                let what = format!("the service {} has not come to its end after {time}", service.name);
                return Err(with_last_words(client, container, what));
            }
            State { running: true, .. } => pause()?,
        }
    }
}

/// Engines do not run health checks everywhere: podman needs systemd for it. What the image says is asked for here.
fn of_image(client: &Client, container: &str) -> Option<Health> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase", default)]
    #[derive(Default)]
    struct Check {
        test: Vec<String>,
        start_period: u64,
        interval: u64,
        timeout: u64,
        retries: u32,
    }
    let text = client.capture(&["container", "inspect", "--format", "{{json .Config.Healthcheck}}", container]).ok()?;
    let check: Check = serde_json::from_str(text.trim()).ok()?;
    let or = |time: u64, default: u64| Duration::from_nanos(if time == 0 { default } else { time });
    let half_a_minute = 30_000_000_000;
    Some(Health::new(
        Health::test(&check.test)?,
        Duration::from_nanos(check.start_period),
        or(check.interval, half_a_minute),
        or(check.timeout, half_a_minute),
        if check.retries == 0 { 3 } else { check.retries },
    ))
}

struct State {
    running: bool,
    exit: i32,
}

fn state(client: &Client, container: &str) -> Result<State> {
    let format = "{{.State.Running}} {{.State.ExitCode}}";
    let text = client.capture(&["container", "inspect", "--format", format, container])?;
    let (running, exit) = text.trim().split_once(' ').unwrap_or_default();
    Ok(State { running: running == "true", exit: exit.parse().unwrap_or(-1) })
}

fn ended(client: &Client, container: &str, name: &str, exit: i32) -> Error {
    with_last_words(client, container, format!("the service {name} has ended with exit code {exit}"))
}

fn with_last_words(client: &Client, container: &str, what: String) -> Error {
    let error = Error::of(Kind::NotStarted, what);
    match client.last_words(container) {
        Some(said) => error.hint(format!("it said: {said}")),
        None => error,
    }
}

/// A moment, unless somebody asks us to end.
fn pause() -> Result<()> {
    if is_asked_to_end() {
        return Err(Error::of(Kind::Interrupted, "interrupted while services were starting"));
    }
    std::thread::sleep(PAUSE);
    Ok(())
}

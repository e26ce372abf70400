//! Lockfiles that are lines, read into pins.

use super::lockfiles::{Pin, Pins, origin};

/// `yarn.lock`, both formats: a header at the margin, then indented settings.
pub(super) fn yarn(text: &str) -> Pins {
    let mut pins = Pins::new();
    let mut name = String::new();
    for line in text.lines() {
        if !line.starts_with([' ', '#']) && line.trim_end().ends_with(':') {
            // Stored once for each package, and a header can be as long as the file.
            name = line.chars().take(1000).collect::<String>();
            name.truncate(name.trim_end_matches([':', ' ']).len());
            if line.len() > name.len() + 8 {
                name.push_str(&format!("… {}", line.len()));
            }
            continue;
        }
        let line = line.trim();
        let Some((key, value)) = line.split_once([' ', ':']) else { continue };
        let value = value.trim().trim_matches('"');
        if name.is_empty() || value.is_empty() {
            continue;
        }
        match key.trim_matches('"') {
            "resolved" => {
                let pin = pins.entry(name.clone()).or_default();
                (pin.origin, pin.exact) = (origin(value), value.to_owned());
            }
            "resolution" => {
                let pin = pins.entry(name.clone()).or_default();
                (pin.origin, pin.exact) = (protocol(value), value.to_owned());
            }
            "integrity" | "checksum" => pins.entry(name.clone()).or_default().sum = value.to_owned(),
            _ => {}
        }
    }
    pins
}

/// Of `name@npm:1.0.0` the registry, of others the address. Parts of the project itself come from nowhere.
fn protocol(resolution: &str) -> String {
    let source = resolution.get(1..).and_then(|rest| rest.split_once('@')).map_or("", |(_, source)| source);
    match source.split_once(':') {
        Some(("npm", _)) => "npm".to_owned(),
        Some(("workspace", _)) => String::new(),
        _ => origin(source),
    }
}

/// `go.sum`: a module and version has one checksum for ever. A second one would be accepted too, so all of them count.
pub(super) fn go_sum(text: &str) -> Pins {
    let mut pins = Pins::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        if let (Some(module), Some(version), Some(sum)) = (words.next(), words.next(), words.next()) {
            let pin: &mut Pin = pins.entry(format!("{module} {version}")).or_default();
            pin.sum.push_str(sum);
            pin.sum.push(' ');
        }
    }
    pins
}

/// `go.mod` and `go.work`: what is replaced, and by what.
pub(super) fn go_mod(text: &str) -> Pins {
    let pin = |line: &str| {
        let line = line.split("//").next().unwrap_or(line);
        let (from, to) = line.split_once("=>")?;
        let to = to.trim().to_owned();
        let from = from.trim().trim_start_matches("replace ").trim();
        Some((format!("replace {from}"), Pin { origin: to.clone(), exact: to, sum: String::new() }))
    };
    text.lines().filter_map(pin).collect()
}

/// `Gemfile.lock`: the places that gems come from.
pub(super) fn gemfile(text: &str) -> Pins {
    let urls = text.lines().filter_map(|line| line.trim().strip_prefix("remote:")).map(str::trim);
    let local = |url: &&str| !url.starts_with('.');
    urls.filter(local).map(|url| (format!("remote {url}"), place(url.trim_end_matches('/')))).collect()
}

/// `requirements.txt`: indexes, and packages given by address.
pub(super) fn requirements(text: &str) -> Pins {
    const OPTIONS: &[&str] = &["-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--trusted-host"];
    let mut pins = Pins::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let mut words = line.split([' ', '=', '\t']);
        let option = words.next().unwrap_or_default();
        let value = words.find(|word| !word.is_empty()).unwrap_or_default();
        if OPTIONS.contains(&option) {
            pins.insert(option.to_owned() + " " + value, place(value.trim_end_matches('/')));
        } else if let Some(url) = line.split_ascii_whitespace().find(|word| word.contains("://")) {
            pins.insert(url.to_owned(), place(url));
        }
    }
    pins
}

fn place(url: &str) -> Pin {
    Pin { origin: origin(url), exact: url.to_owned(), sum: "-".to_owned() }
}

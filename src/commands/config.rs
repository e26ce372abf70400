//! `cowbox config`: what counts and who says so, the profiles, a file to begin with, and its schema.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};

use serde::Serialize;
use toml::Value;

use super::context::Context;
use crate::cli::{ConfigArgs, ConfigVerb};
use crate::error::{Error, Result, show};
use crate::profile::{self, Origin, Profile, Shown};
use crate::settings::keys::KEYS;
use crate::settings::{RepoSettings, Sources, schema};
use crate::ui::{Ui, sanitize};

/// Runs the verb.
pub fn config(args: ConfigArgs, ui: &Ui) -> Result<u8> {
    let context = Context::new(ui)?;
    match args.verb.unwrap_or(ConfigVerb::Show { json: false }) {
        ConfigVerb::Show { json } => show_all(&context, json)?,
        ConfigVerb::Init => init(&context)?,
        ConfigVerb::Profiles { json } => profiles(&context, json)?,
        ConfigVerb::Schema => ui.json(&schema::schema())?,
    }
    Ok(0)
}

#[derive(Serialize)]
struct Row {
    key: &'static str,
    /// `None`: nobody says anything, and there is no one value.
    value: Option<serde_json::Value>,
    default: &'static str,
    /// `default`, a variable, or a file.
    origin: String,
}

#[derive(Serialize)]
struct Settings {
    schema: u32,
    file: String,
    settings: Vec<Row>,
}

fn show_all(context: &Context<'_>, json: bool) -> Result<()> {
    let file = &context.places.config;
    let sources = Sources::read(file, context.ui)?;
    let of_repo = context.repo().and_then(|repo| RepoSettings::read(&repo.root, context.ui))?;
    let rows = KEYS.iter().map(|key| {
        let repo = of_repo.setup.clone().filter(|_| key.name == "setup").map(Value::from);
        let said = [
            (sources.in_variable(key).cloned(), key.variable()),
            (sources.in_file(key).cloned(), show(file)),
            (repo, ".cowbox.toml".to_owned()),
        ];
        // `auto` leaves it to the repository.
        let is_said = |value: &Value| key.name != "setup" || value.as_str() != Some("auto");
        let found = said.into_iter().find_map(|(value, origin)| Some((value.filter(is_said)?, origin)));
        let (value, origin) = found.map_or((None, "default".to_owned()), |(value, origin)| (Some(value), origin));
        Row { key: key.name, value: value.and_then(|v| serde_json::to_value(v).ok()), default: key.default, origin }
    });
    let rows: Vec<Row> = rows.collect();
    if json {
        return context.ui.json(&Settings { schema: 1, file: crate::paths::text(file), settings: rows });
    }
    for row in rows {
        let value = row.value.map_or_else(|| row.default.to_owned(), |value| sanitize::text(&value.to_string()));
        context.ui.data(format!("{:<17} {value:<24} {}\n", row.key, row.origin).as_bytes())?;
    }
    Ok(())
}

fn init(context: &Context<'_>) -> Result<()> {
    let path = &context.places.config;
    if path.as_os_str().is_empty() {
        return Err(Error::new("cannot tell where your configuration would be").hint("set HOME or XDG_CONFIG_HOME"));
    }
    let dir = path.parent().unwrap_or(path);
    fs::create_dir_all(dir).map_err(|e| Error::io("create", dir, e))?;
    let made = File::options().write(true).create_new(true).open(path);
    match made.and_then(|mut file| file.write_all(schema::template().as_bytes())) {
        Ok(()) => context.ui.say(&format!("{} is written; every key in it is a comment", show(path))),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            return Err(Error::new(format!("{} is there already, and stays as it is", show(path)))
                .hint("`cowbox config` shows what it says; `man cowbox-config` lists every key"));
        }
        Err(e) => return Err(Error::io("write", path, e)),
    }
    Ok(())
}

#[derive(Serialize)]
struct Profiles {
    schema: u32,
    default: Option<String>,
    profiles: Vec<Profile>,
}

fn profiles(context: &Context<'_>, json: bool) -> Result<()> {
    let config = Sources::read(&context.places.config, context.ui)?.config()?;
    let profiles = profile::all(&config.profiles)?;
    if json {
        return context.ui.json(&Profiles { schema: 1, default: config.default_profile, profiles });
    }
    let mut text = String::new();
    for profile in profiles {
        let origin = match profile.origin {
            Origin::BuiltIn => "",
            Origin::Config => " (yours)",
            Origin::Changed => " (changed by you)",
        };
        let default = if config.default_profile.as_ref() == Some(&profile.name) { " (default)" } else { "" };
        text.push_str(&format!("{}  {}{origin}{default}\n", profile.name, sanitize::text(&profile.about)));
        let shown = |list: &[Shown]| list.iter().map(Shown::text).collect::<Vec<_>>().join(" ");
        let rows = [
            ("command", profile.command.join(" ")),
            ("shown", [shown(&profile.dirs), shown(&profile.files)].join(" ")),
            ("env", profile.env.join(" ")),
            ("hosts", profile.hosts.join(" ")),
            ("install", profile.install.unwrap_or_default()),
        ];
        for (name, value) in rows.iter().filter(|(_, value)| !value.trim().is_empty()) {
            text.push_str(&format!("  {name:<8} {}\n", sanitize::text(value.trim())));
        }
    }
    context.ui.data(text.as_bytes())?;
    context.ui.say("`shown` is copy-on-write; `env` is passed if set; `hosts` is for your information, not enforced");
    Ok(())
}

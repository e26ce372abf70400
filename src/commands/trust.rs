//! `cowbox trust`: what a repo's files ask for beyond the sandbox, shown in full, allowed or taken back.

use serde::Serialize;

use super::context::Context;
use super::environment::{self, Setting};
use crate::cli::{RunArgs, TrustArgs};
use crate::engine::detect;
use crate::error::{Error, Kind, Result};
use crate::policy::trust::{Agreed, Trust};
use crate::settings::{RepoSettings, RunSettings};
use crate::setup::choose::Choice;
use crate::setup::plan::Refused;
use crate::ui::{Ui, ask, sanitize};

/// How far a yes to a command on the host reaches.
const REACH: &str = "         your yes is for this text and for files of the repository that stand in it, as they are now;\n         \
                     files that it runs in turn are not part of it and may change later: read those, too\n";

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    asked: &'a [Refused],
    agreed: &'a [Agreed],
}

/// Runs the verb.
pub fn trust(args: TrustArgs, ui: &Ui) -> Result<u8> {
    let context = Context::new(ui)?;
    let repo = context.repo()?;
    let mut trust = Trust::load(&context.places.state, &repo.root)?;
    if args.revoke {
        let count = trust.revoke()?;
        ui.say(&match count {
            0 => "nothing was allowed to this repository".to_owned(),
            1 => "1 agreement of this repository is taken back".to_owned(),
            _ => format!("{count} agreements of this repository are taken back"),
        });
        return Ok(0);
    }
    let settings = RunSettings::resolve(&RunArgs::to_prepare(&args.as_prepare()), &context.places, ui)?;
    let setting = Setting::new(&context, &repo, &settings)?;
    let mut choice = setting.choose(&settings, &RepoSettings::read(&repo.root, ui)?)?;
    // Images and features ask for things, too. Where they cannot be reached, the file's own list is what there is.
    if choice.devcontainer.is_some()
        && let Err(error) = look(&context, &setting, &settings, &mut choice)
    {
        ui.detail(&format!("what the image and features ask for is not known: {}", error.message()));
    }
    let asked = &choice.plan.refused;
    if args.json {
        ui.json(&Document { schema: 1, asked, agreed: trust.all() })?;
        return Ok(0);
    }
    for agreed in trust.all() {
        let text = format!("allowed  {}\n{}", sanitize::text(&agreed.consent), reach(&agreed.consent));
        ui.data(text.as_bytes())?;
    }
    for refused in asked {
        let (asked, reach) = (sanitize::text(&refused.consent), reach(&refused.consent));
        ui.data(format!("asked    {asked}\n         {}\n{reach}", refused.reason).as_bytes())?;
    }
    if asked.is_empty() {
        ui.say("this repository asks for nothing that needs your consent");
        return Ok(0);
    }
    if !args.yes && !ui.can_ask() {
        let error = match asked.len() {
            1 => Error::of(Kind::Consent, "1 thing needs your consent; nothing was allowed"),
            count => Error::of(Kind::Consent, format!("{count} things need your consent; nothing was allowed")),
        };
        return Err(error.hint("`cowbox trust -y` allows exactly what is listed, until it changes"));
    }
    let mut allowed = 0;
    for refused in asked {
        if args.yes || ask::confirm(&format!("Allow {}?", sanitize::text(&refused.consent)))? {
            trust.agree(&refused.consent)?;
            allowed += 1;
        }
    }
    ui.say(&format!("{allowed} of {} allowed; `cowbox trust --revoke` takes it back", asked.len()));
    Ok(0)
}

/// Only what runs on the host can run more there.
fn reach(consent: &str) -> &'static str {
    if consent.starts_with("initializeCommand:") { REACH } else { "" }
}

fn look(context: &Context<'_>, setting: &Setting, settings: &RunSettings, choice: &mut Choice) -> Result<()> {
    let image = environment::configured_image(settings, choice).map(str::to_owned);
    let chosen = detect::choose(&settings.engine, image.as_deref(), &context.places, context.ui)?;
    setting.look(context, chosen.engine.as_ref(), settings, choice)
}

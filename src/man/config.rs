//! `cowbox-config(5)`: the user's file, key by key.

use roff::{bold, roman};

use super::Page;
use super::page::Draft;
use crate::settings::keys::{Holds, KEYS, Key, PROFILE_KEYS};

/// The page.
pub fn page() -> Page {
    let mut draft = Draft::new("cowbox-config", 5, "settings of cowbox");
    draft.heading("SYNOPSIS");
    draft.text("$XDG_CONFIG_HOME/cowbox/config.toml, by default ~/.config/cowbox/config.toml");
    draft.heading("DESCRIPTION");
    draft.text("A TOML file. A value is taken from the flag, else from the environment variable, else from the file, else it is the default. An unknown key is named in a warning, with what may have been meant; a wrong value is an error. `cowbox config` shows what counts and where it comes from, `cowbox config init` writes a file with every key in it, `cowbox config schema` prints a JSON schema for editors.");
    draft.heading("KEYS");
    for key in KEYS {
        entry(&mut draft, key, &format!("Variable: `{}`.{}", key.variable(), separator(key)));
    }
    draft.heading("PROFILES");
    draft.text("`[profiles.NAME]` is a profile for `cowbox run --profile NAME`. One that has the name of a built-in profile changes only the keys that it has. Naming a profile is your consent to what it shows and passes. Its files and variables are the agent's, not the setup's; `install` is skipped with `--setup none`, and on native where the command is found.");
    for key in PROFILE_KEYS {
        entry(&mut draft, key, "");
    }
    draft.text("`default-profile` counts for a run without a command and without `--profile`; `--profile none` starts a shell.");
    draft.heading("THE REPOSITORY'S FILE");
    draft.text("`.cowbox.toml` in the root of a repository is not trusted. It may say `setup`, which runs inside the sandbox. Everything else, profiles first of all, is not followed, with a warning.");
    draft.heading("EXAMPLES");
    draft.lines([
        "engine = \"podman\"",
        "network = \"none\"",
        "default-profile = \"claude\"",
        "",
        "[native]",
        "mask-more = [\".config/my-tool\"]",
        "",
        "[profiles.my-agent]",
        "command = [\"my-agent\", \"--yes\"]",
        "dirs = [\"~/.my-agent\"]",
        "env = [\"MY_AGENT_TOKEN\"]",
        "install = \"npm install --global --prefix ~/.local my-agent\"",
    ]);
    draft.finish(&["cowbox.1", "cowbox-config.1", "cowbox-run.1", "cowbox-devcontainer.7"])
}

fn entry(draft: &mut Draft, key: &Key, more: &str) {
    let choice = match key.holds {
        Holds::Choice(words) => format!(" One of {}.", words.join(", ")),
        _ => String::new(),
    };
    let text = format!("{}{choice} Default: {}. {more}", key.about, key.default);
    draft.entry(vec![bold(key.name), roman(format!(" = {}", key.example))], text.trim());
}

/// How a variable holds a list.
fn separator(key: &Key) -> &'static str {
    match key.holds {
        Holds::Words => " There commas separate.",
        Holds::Paths => " There colons separate.",
        _ => "",
    }
}

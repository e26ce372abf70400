//! `cowbox(1)` and one page a verb, from the types of the command line.

use clap::{Arg, Command};
use roff::{Inline, bold, roman};

use super::Page;
use super::page::{Draft, variable};
use crate::settings::keys::KEYS;

/// All of them.
pub fn pages() -> Vec<Page> {
    let mut root = crate::cli::command();
    root.build();
    let verbs = root.get_subcommands().filter(|verb| verb.get_name() != "help" && !verb.is_hide_set());
    let mut pages = vec![of_cowbox(&root)];
    pages.extend(verbs.map(of_verb));
    pages
}

fn of_cowbox(root: &Command) -> Page {
    let mut draft = Draft::new("cowbox", 1, &about(root));
    draft.heading("SYNOPSIS").entry(vec![bold("cowbox"), roman(" [options] "), variable("verb"), roman(" [...]")], "");
    describe(&mut draft, root);
    draft.heading("VERBS");
    for verb in root.get_subcommands().filter(|verb| verb.get_name() != "help") {
        draft.entry(vec![bold(format!("cowbox-{}", verb.get_name())), roman("(1)")], &about(verb));
    }
    draft.heading("OPTIONS");
    options(&mut draft, root);
    draft.heading("EXIT STATUS");
    draft.text("`run`, `exec` and `shell` end with the command's own status, 128+n when signal n ended it, and");
    draft.entries([
        ("124", "The time of --timeout was up; the whole tree was ended."),
        ("125", "cowbox or the engine failed before the command started."),
        ("126, 127", "The command cannot be executed; it was not found."),
    ]);
    draft.text("Other verbs end with");
    draft.entries([
        ("0", "Done."),
        ("1", "Failed; with `diff --exit-code`: there are changes."),
        ("2", "Wrong usage."),
        ("3", "Refused because of conflicts."),
        ("4", "Refused because consent is missing."),
        ("130", "Interrupted."),
    ]);
    draft.heading("ENVIRONMENT");
    draft.text("Every key of the configuration has a variable, which wins over the file:");
    for key in KEYS {
        draft.entry(
            vec![bold(key.variable())],
            &format!("As the key `{}` of cowbox-config(5). {}", key.name, key.about),
        );
    }
    draft.text("Others:");
    draft.entries([
        ("COWBOX_STATE_DIR", "Where sessions are kept, instead of $XDG_STATE_HOME/cowbox."),
        ("COWBOX_CACHE_DIR", "Where caches are kept, instead of $XDG_CACHE_HOME/cowbox."),
        ("COWBOX_PAGER, PAGER", "What shows a diff on a terminal; `cat` or nothing: no pager. Default: `less -FRX`."),
        ("NO_COLOR, CLICOLOR_FORCE, FORCE_COLOR", "Never and always colours, unless --color says otherwise."),
    ]);
    draft.heading("FILES");
    draft.entries([
        ("$XDG_CONFIG_HOME/cowbox/config.toml", "Your settings: see cowbox-config(5)."),
        (".cowbox.toml", "The repository's settings, which are not trusted."),
        ("$XDG_STATE_HOME/cowbox", "Sessions with their changes. They cannot be made again."),
        ("$XDG_CACHE_HOME/cowbox", "What can."),
    ]);
    examples(&mut draft, root);
    draft.finish(&["cowbox-run.1", "cowbox-diff.1", "cowbox-apply.1", "cowbox-config.5", "cowbox-devcontainer.7"])
}

fn of_verb(verb: &Command) -> Page {
    let name = format!("cowbox-{}", verb.get_name());
    let mut draft = Draft::new(&name, 1, &about(verb));
    draft.heading("SYNOPSIS").entry(synopsis(verb), "");
    describe(&mut draft, verb);
    let inner: Vec<&Command> = verb.get_subcommands().filter(|inner| inner.get_name() != "help").collect();
    if !inner.is_empty() {
        draft.heading("VERBS");
        for inner in &inner {
            if has_page(inner) {
                draft.entry(synopsis_of(inner, &[bold(inner.get_name())]), &about(inner));
                continue;
            }
            let words = inner.get_arguments().filter(|arg| !arg.is_global_set() && arg.get_id() != "help");
            let words = words.flat_map(|arg| [roman(" ["), bold(title(arg)), roman("]")]);
            draft.entry(std::iter::once(bold(inner.get_name())).chain(words).collect(), &about(inner));
        }
    }
    draft.heading("OPTIONS");
    options(&mut draft, verb);
    for inner in inner.iter().filter(|inner| has_page(inner)) {
        draft.heading(&format!("OPTIONS OF {}", inner.get_name().to_uppercase()));
        options(&mut draft, inner);
    }
    examples(&mut draft, verb);
    draft.finish(&["cowbox.1", "cowbox-config.5"])
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default().trim_end_matches('.').to_owned()
}

fn describe(draft: &mut Draft, command: &Command) {
    let text = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    draft.heading("DESCRIPTION");
    for paragraph in text.split("\n\n") {
        let text = paragraph.replace('\n', " ");
        let end = if text.ends_with('.') { "" } else { "." };
        draft.text(&format!("{text}{end}"));
    }
}

fn synopsis(verb: &Command) -> Vec<Inline> {
    synopsis_of(verb, &[bold(format!("cowbox {}", verb.get_name()))])
}

fn synopsis_of(verb: &Command, name: &[Inline]) -> Vec<Inline> {
    let mut words = [name, &[roman(" [options]")]].concat();
    if verb.has_subcommands() {
        words.extend([roman(" ["), variable("verb"), roman("]")]);
    }
    for arg in verb.get_positionals() {
        let many = if arg.get_num_args().is_some_and(|range| range.max_values() > 1) { "..." } else { "" };
        let escape = if arg.is_last_set() { "-- " } else { "" };
        let (open, close) = if arg.is_required_set() { (" ", "") } else { (" [", "]") };
        words.extend([roman(format!("{open}{escape}")), variable(&value_name(arg)), roman(format!("{many}{close}"))]);
    }
    words
}

fn value_name(arg: &Arg) -> String {
    let names = arg.get_value_names().map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
    names.unwrap_or_else(|| arg.get_id().to_string())
}

fn title(arg: &Arg) -> String {
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    short.into_iter().chain(long).collect::<Vec<_>>().join(", ")
}

/// Whether a verb of a verb has more to say than a line.
fn has_page(inner: &Command) -> bool {
    inner.get_positionals().next().is_some()
}

fn options(draft: &mut Draft, command: &Command) {
    for arg in command.get_positionals().chain(command.get_opts()).chain(command.get_arguments().filter(is_flag)) {
        if arg.is_hide_set() {
            continue;
        }
        let value = arg.is_positional() || arg.get_action().takes_values();
        let mut name = vec![];
        if !arg.is_positional() {
            name.push(bold(title(arg)));
        }
        if value {
            let between = match (arg.is_positional(), arg.is_require_equals_set()) {
                (true, _) => "",
                (_, true) => "[=",
                _ => " ",
            };
            name.extend([roman(between), variable(&value_name(arg))]);
            if arg.is_require_equals_set() {
                name.push(roman("]"));
            }
        }
        draft.entry(name, &help(arg));
    }
}

fn is_flag(arg: &&Arg) -> bool {
    !arg.is_positional() && !arg.get_action().takes_values()
}

/// Its help as sentences, with what it may be and where else it can be said.
fn help(arg: &Arg) -> String {
    if arg.get_id() == "help" {
        return "Print help.".to_owned();
    }
    let sentence = |text: String| if text.ends_with('.') || text.is_empty() { text } else { format!("{text}.") };
    let mut text = sentence(arg.get_help().map(ToString::to_string).unwrap_or_default());
    let values = arg.get_possible_values();
    if arg.get_action().takes_values() && !values.is_empty() {
        let one = |value: &clap::builder::PossibleValue| match value.get_help() {
            Some(about) => format!("`{}` ({about})", value.get_name()),
            None => format!("`{}`", value.get_name()),
        };
        let all: Vec<String> = values.iter().filter(|value| !value.is_hide_set()).map(one).collect();
        text.push_str(&format!(" One of {}.", all.join(", ")));
    }
    let defaults: Vec<String> = arg.get_default_values().iter().map(|v| v.to_string_lossy().into_owned()).collect();
    if arg.get_action().takes_values() && !defaults.is_empty() {
        text.push_str(&format!(" Default: {}.", defaults.join(", ")));
    }
    if let Some(variable) = arg.get_env() {
        text.push_str(&format!(" Variable: `{}`.", variable.to_string_lossy()));
    }
    text
}

/// `after_help` is a list of examples, and perhaps words after an empty line.
fn examples(draft: &mut Draft, command: &Command) {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut parts = text.split("\n\n");
    let examples = parts.next().unwrap_or_default();
    draft.heading("EXAMPLES");
    draft.lines(examples.lines().skip(1).map(|line| line.strip_prefix("  ").unwrap_or(line)));
    for part in parts {
        draft.text(part);
    }
}

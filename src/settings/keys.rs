//! Every key of the user's file, once: the file, the schema, the man page and the documents all follow this list.

/// What a key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Text.
    Text,
    /// A path.
    Path,
    /// A list of words; in a variable they are separated by commas.
    Words,
    /// A list of paths; in a variable they are separated by colons.
    Paths,
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// With its table: `native.mask`.
    pub name: &'static str,
    /// What it holds.
    pub holds: Holds,
    /// What counts when nobody says anything, in words.
    pub default: &'static str,
    /// A value as the file has it.
    pub example: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
}

const fn key(
    name: &'static str,
    holds: Holds,
    default: &'static str,
    example: &'static str,
    about: &'static str,
) -> Key {
    Key { name, holds, default, example, about }
}

/// Keys of the file, those of a table after all others.
pub const KEYS: &[Key] = &[
    key(
        "engine",
        Holds::Choice(&["auto", "podman", "docker", "native"]),
        "auto",
        r#""podman""#,
        "What runs the sandbox; auto: the first of podman, docker, native that works.",
    ),
    key("image", Holds::Text, "one of cowbox's own", r#""debian:12""#, "Image for podman and docker."),
    key("containerfile", Holds::Path, "none", r#""/home/me/Containerfile""#, "Or a file to build the image from."),
    key("base-image", Holds::Text, "ubuntu:24.04", r#""debian:12""#, "What cowbox's own images start from."),
    key(
        "setup",
        Holds::Text,
        "auto",
        r#""make deps""#,
        "How the environment is prepared: auto (by what the repository says), none, or a command.",
    ),
    key("setup-env", Holds::Words, "none", r#"["NPM_TOKEN"]"#, "Variables for the setup alone, KEY or KEY=VALUE."),
    key(
        "feature-registry",
        Holds::Text,
        "none",
        r#""registry.example""#,
        "What short names of dev container features stand for.",
    ),
    key("network", Holds::Choice(&["none", "full"]), "full", r#""none""#, "Network of the command."),
    key(
        "on-exit",
        Holds::Choice(&["ask", "apply", "discard", "keep"]),
        "ask on a terminal, else keep",
        r#""keep""#,
        "What happens with the changes when the command ends.",
    ),
    key(
        "viewer",
        Holds::Text,
        "none: the pager",
        r#""delta""#,
        "What diff is shown with on a terminal; with {a} and {b} in it, it compares two directories.",
    ),
    key(
        "default-profile",
        Holds::Text,
        "none: a shell",
        r#""claude""#,
        "Profile of a run that names neither a profile nor a command.",
    ),
    key(
        "native.mask",
        Holds::Paths,
        "see docs/configuration.md",
        r#"[".ssh"]"#,
        "What native hides, instead of its own list.",
    ),
    key("native.mask-more", Holds::Paths, "none", r#"[".config/my-tool"]"#, "What native hides besides."),
];

/// Keys of `[profiles.NAME]`. They have no variables.
pub const PROFILE_KEYS: &[Key] = &[
    key("about", Holds::Text, "none", r#""My agent""#, "What it is, in a few words."),
    key("command", Holds::Words, "needed", r#"["my-agent", "--yes"]"#, "What is started; words after `--` follow."),
    key(
        "dirs",
        Holds::Paths,
        "none",
        r#"["~/.my-agent"]"#,
        "Directories of your home that it finds in its own, copy-on-write; SRC:~/DST for one from elsewhere.",
    ),
    key("files", Holds::Paths, "none", r#"["~/.my-agent.json"]"#, "Files, likewise: it gets a copy at every start."),
    key("env", Holds::Words, "none", r#"["MY_AGENT_TOKEN"]"#, "Variables that it gets, by name, if they are set."),
    key(
        "hosts",
        Holds::Words,
        "none",
        r#"["api.example"]"#,
        "Hosts that it talks to. For your information: not enforced.",
    ),
    key("runtimes", Holds::Words, "none", r#"["node"]"#, "Languages that cowbox's own image must have for it."),
    key(
        "install",
        Holds::Text,
        "none",
        r#""npm install --global --prefix ~/.local my-agent""#,
        "Shell command that gets it into the environment, once; ~/.local/bin is in PATH.",
    ),
];

impl Key {
    /// The variable that says the same.
    pub fn variable(&self) -> String {
        format!("COWBOX_{}", self.name.replace(['.', '-'], "_").to_uppercase())
    }
}

/// The key of that name.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

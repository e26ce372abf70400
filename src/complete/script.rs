//! The scripts that teach shells to ask. They are the files in `completions/`, and hold no knowledge of their own.

use super::Shell;

/// File names, as packages install them, and the shells that they are for.
pub const FILES: [(&str, Shell); 3] =
    [("cowbox.bash", Shell::Bash), ("_cowbox", Shell::Zsh), ("cowbox.fish", Shell::Fish)];

/// The script of a shell.
pub fn script(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => include_str!("../../completions/cowbox.bash"),
        Shell::Zsh => include_str!("../../completions/_cowbox"),
        Shell::Fish => include_str!("../../completions/cowbox.fish"),
    }
}

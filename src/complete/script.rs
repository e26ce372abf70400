//! The scripts that teach shells to ask. They are the files in `completions/`, and hold no knowledge of their own.

use super::Shell;

/// The script of a shell.
pub fn script(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => include_str!("../../completions/cowbox.bash"),
        Shell::Zsh => include_str!("../../completions/_cowbox"),
        Shell::Fish => include_str!("../../completions/cowbox.fish"),
    }
}

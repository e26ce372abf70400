//! Options of `completions` and `man`.

use std::path::PathBuf;

use clap::Args;

use crate::complete::Shell;

/// `completions`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cowbox completions bash > ~/.local/share/bash-completion/completions/cowbox
  cowbox completions zsh > ~/.zfunc/_cowbox          with ~/.zfunc in fpath, before compinit
  cowbox completions fish > ~/.config/fish/completions/cowbox.fish")]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// `man`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cowbox man /tmp/cowbox-man         one file a page
  man -l /tmp/cowbox-man/cowbox-run.1")]
pub struct ManArgs {
    /// Directory to write into; made if it is not there
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}

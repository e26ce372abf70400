//! `cowbox completions` and `cowbox man`: documents for other programs.

use std::fs;

use crate::cli::{CompletionsArgs, ManArgs};
use crate::complete;
use crate::error::{Error, Result};
use crate::man;
use crate::ui::Ui;

/// Prints a script.
pub fn completions(args: CompletionsArgs, ui: &Ui) -> Result<u8> {
    ui.data(complete::script(args.shell).as_bytes())?;
    Ok(0)
}

/// Writes the pages.
pub fn man(args: ManArgs, ui: &Ui) -> Result<u8> {
    let pages = man::pages();
    fs::create_dir_all(&args.dir).map_err(|e| Error::io("create", &args.dir, e))?;
    for page in &pages {
        let path = args.dir.join(page.file());
        fs::write(&path, &page.text).map_err(|e| Error::io("write", &path, e))?;
    }
    ui.say(&format!("{} pages written to {}", pages.len(), crate::error::show(&args.dir)));
    Ok(0)
}

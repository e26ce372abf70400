//! placeholder

use crate::cli::DoctorArgs;
use crate::error::Result;
use crate::ui::Ui;

/// Runs the verb.
pub fn doctor(_args: DoctorArgs, _ui: &Ui) -> Result<u8> {
    Ok(0)
}

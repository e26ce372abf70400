//! JSON with comments, read strictly, with the place of an error.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::error::{Error, Result, show};
use crate::jsonc::strict;
use crate::ui::sanitize;

/// No feature and no lock file comes near this.
const MOST: usize = 4 << 20;

/// Reads `content`, which came from `from`.
pub(super) fn parse<T: DeserializeOwned>(from: &Path, content: &[u8]) -> Result<T> {
    let text = std::str::from_utf8(content).map_err(|_| Error::new(format!("{} is not text", show(from))))?;
    if text.len() > MOST {
        return Err(Error::new(format!("{} is too large", show(from))));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    jsonc_parser::parse_to_serde_value(text, &strict()).map_err(|e| {
        let place = format!("{}:{}:{}", show(from), e.line_display(), e.column_display());
        Error::new(format!("{place}: {}", sanitize::text(&e.kind().to_string())))
    })
}

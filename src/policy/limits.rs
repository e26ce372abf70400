//! Limits on what the command may use, and how they are written.

use serde::{Deserialize, Serialize};

/// Limits as asked for; an engine that cannot enforce one must refuse.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Processors.
    pub cpus: Option<f64>,
    /// Processes and threads.
    pub pids: Option<u32>,
}

impl Limits {
    /// Whether anything was asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Reads `512m`, `2g`, `1073741824`.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let (number, unit) = lower.split_at(lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len()));
    let help = || "write for instance 512m or 2g".to_owned();
    let factor: u64 = match unit {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return Err(help()),
    };
    let value: u64 = number.parse().map_err(|_| help())?;
    value.checked_mul(factor).filter(|size| *size > 0).ok_or_else(help)
}

/// Reads `1.5`.
pub fn parse_cpus(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(n) if n.is_finite() && n > 0.0 => Ok(n),
        _ => Err("write for instance 2 or 1.5".into()),
    }
}

/// Writes a size for people: `1.5 MB`.
pub fn show_size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_engines_read_them() {
        assert_eq!(parse_size("512m"), Ok(512 << 20));
        assert_eq!(parse_size("2g"), Ok(2 << 30));
        assert_eq!(parse_size("2GiB"), Ok(2 << 30));
        assert_eq!((parse_size("1000"), parse_size("7B"), parse_size("1tb")), (Ok(1000), Ok(7), Ok(1 << 40)));
        for bad in ["", "0", "g", "-1g", "1.5g", "99999999999t", "2x", "2gg", "2gm", "2ib", "+2g"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn cpus_are_positive_numbers() {
        assert_eq!(parse_cpus("1.5"), Ok(1.5));
        for bad in ["0", "-1", "nan", "inf", "many"] {
            assert!(parse_cpus(bad).is_err(), "{bad}");
        }
    }
}

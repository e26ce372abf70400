//! `hostRequirements`: what a repo would like the machine to have.

use super::node::{At, Data, Problem};

/// Wishes; the largest of each counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Requirements {
    pub(super) cpus: u64,
    pub(super) memory: u64,
    pub(super) storage: u64,
    pub(super) gpu: Gpu,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gpu {
    #[default]
    No,
    Optional,
    Required,
}

impl Requirements {
    pub(super) fn read(at: &At<'_>) -> Result<Self, Problem> {
        at.entries()?;
        Ok(Self {
            cpus: at.get("cpus").map_or(Ok(0), |at| at.count())?,
            memory: at.get("memory").map_or(Ok(0), |at| size(&at))?,
            storage: at.get("storage").map_or(Ok(0), |at| size(&at))?,
            gpu: at.get("gpu").map_or(Ok(Gpu::No), |at| gpu(&at))?,
        })
    }

    pub(super) fn max(&self, other: &Self) -> Self {
        Self {
            cpus: self.cpus.max(other.cpus),
            memory: self.memory.max(other.memory),
            storage: self.storage.max(other.storage),
            gpu: self.gpu.max(other.gpu),
        }
    }

    /// What a host with so much does not have, in words; none if all is well or not known.
    pub(super) fn missing(&self, cpus: Option<u64>, memory: Option<u64>) -> Option<String> {
        let mut wants = Vec::new();
        if let Some(has) = cpus.filter(|has| *has < self.cpus) {
            wants.push(format!("{} cpus (there are {has})", self.cpus));
        }
        if let Some(has) = memory.filter(|has| *has < self.memory) {
            wants.push(format!("{} of memory (there are {})", shown(self.memory), shown(has)));
        }
        if self.gpu == Gpu::Required {
            wants.push("a GPU (none is passed in)".to_owned());
        }
        (!wants.is_empty()).then(|| format!("the devcontainer asks for {}", wants.join(", ")))
    }
}

fn gpu(at: &At<'_>) -> Result<Gpu, Problem> {
    match &at.node.data {
        Data::Bool(false) => Ok(Gpu::No),
        Data::Bool(true) | Data::Map(_) => Ok(Gpu::Required),
        Data::Text(text) if text == "optional" => Ok(Gpu::Optional),
        _ => at.must_be("true, false, \"optional\" or an object"),
    }
}

/// A number of bytes, or with `kb`, `mb`, `gb`, `tb`.
fn size(at: &At<'_>) -> Result<u64, Problem> {
    let Data::Text(text) = &at.node.data else { return at.count() };
    let lower = text.to_ascii_lowercase();
    let (number, unit) = lower.split_at(lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len()));
    let shift = match unit {
        "" => Some(0),
        "kb" => Some(10),
        "mb" => Some(20),
        "gb" => Some(30),
        "tb" => Some(40),
        _ => None,
    };
    let bytes = number.parse::<u64>().ok().zip(shift).and_then(|(n, shift)| n.checked_mul(1 << shift));
    bytes.map_or_else(|| at.must_be("a size like \"4gb\""), Ok)
}

fn shown(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.into_iter().find(|(shift, _)| bytes >> shift > 0) {
        Some((shift, unit)) => format!("{:.1} {unit}", bytes as f64 / (1u64 << shift) as f64),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::node::Node;
    use super::*;

    fn read(value: Value) -> Result<Requirements, String> {
        let node = Node::of(&json!({ "r": value }));
        Requirements::read(&At::top(&node).get("r").unwrap()).map_err(|problem| problem.what)
    }

    #[test]
    fn sizes_have_units_and_bounds() {
        assert_eq!(read(json!({ "memory": "4gb", "storage": "10" })).unwrap().memory, 4294967296);
        assert_eq!(read(json!({ "memory": 5 })).unwrap().memory, 5);
        for wrong in ["4 gb", "gb", "-1", "4pb", "99999999999tb", "é"] {
            assert!(read(json!({ "memory": wrong })).unwrap_err().contains("`r.memory` must be a size"), "{wrong}");
        }
        assert!(read(json!([])).is_err());
    }

    #[test]
    fn the_largest_of_each_counts() {
        let a = read(json!({ "cpus": 2, "memory": "8gb", "gpu": "optional" })).unwrap();
        let b = read(json!({ "cpus": 4, "memory": "4gb", "gpu": false })).unwrap();
        let both = a.max(&b);
        assert_eq!((both.cpus, both.memory, both.gpu), (4, 8 << 30, Gpu::Optional));
        assert_eq!(both.max(&read(json!({ "gpu": { "cores": 1 } })).unwrap()).gpu, Gpu::Required);
    }

    #[test]
    fn only_what_is_missing_is_said() {
        let wants = read(json!({ "cpus": 4, "memory": "8gb" })).unwrap();
        assert_eq!(wants.missing(Some(8), Some(16 << 30)), None);
        assert_eq!(wants.missing(None, None), None);
        let text = "the devcontainer asks for 4 cpus (there are 2), 8.0 GiB of memory (there are 1.5 GiB)";
        assert_eq!(wants.missing(Some(2), Some(3 << 29)).unwrap(), text);
    }
}

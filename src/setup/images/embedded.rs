//! The files of `containerfiles/`, as they were when this binary was made.

/// What one image is built from.
#[derive(Debug)]
pub struct ImageFiles {
    /// `python`, and part of the tag.
    pub name: &'static str,
    /// The containerfile.
    pub containerfile: &'static str,
    /// The script that it copies in and runs.
    pub install: &'static str,
}

macro_rules! image {
    ($name:literal) => {
        ImageFiles {
            name: $name,
            containerfile: include_str!(concat!("../../../containerfiles/", $name, ".containerfile")),
            install: include_str!(concat!("../../../containerfiles/install/", $name)),
        }
    };
}

/// What all others start from.
pub const BASE: ImageFiles = image!("base");

/// Functions that every script uses.
pub const LIBRARY: &str = include_str!("../../../containerfiles/install/lib.sh");

/// In the order in which they lie on each other, the common ones below: so chains share more.
pub const RUNTIMES: [ImageFiles; 12] = [
    image!("python"),
    image!("node"),
    image!("go"),
    image!("rust"),
    image!("java"),
    image!("ruby"),
    image!("php"),
    image!("cpp"),
    image!("elixir"),
    image!("dotnet"),
    image!("deno"),
    image!("bun"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_containerfile_says_how_to_build_and_check_it_and_suits_old_builders() {
        for image in RUNTIMES.iter().chain([&BASE]) {
            let (name, text) = (image.name, image.containerfile);
            assert!(text.contains(&format!("# Build: podman build -f {name}.containerfile")), "{name}");
            assert!(text.contains(&format!("# Check: podman run --rm localhost/cowbox/{name} ")), "{name}");
            assert!(text.contains("\nUSER agent\n"), "{name}");
            assert!(!text.contains("<<") && !text.contains("--mount"), "{name}: docker 20.10 knows neither");
            assert!(image.install.contains(". /usr/local/lib/cowbox/lib.sh"), "{name}");
            assert!(image.install.ends_with("\ntidy\n"), "{name}");
        }
    }

    #[test]
    fn every_script_is_understood_by_a_plain_shell() {
        let scripts = RUNTIMES.iter().chain([&BASE]).map(|image| (image.name, image.install));
        for (name, text) in scripts.chain([("lib.sh", LIBRARY)]) {
            let dir = tempfile::tempdir().unwrap();
            let file = dir.path().join(name);
            std::fs::write(&file, text).unwrap();
            let checked = std::process::Command::new("sh").arg("-n").arg(&file).output().unwrap();
            assert!(checked.status.success(), "{name}: {}", String::from_utf8_lossy(&checked.stderr));
        }
    }
}

//! The chain of images for what a repo needs.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::embedded::{BASE, ImageFiles, LIBRARY, RUNTIMES};
use super::version;
use crate::error::{Error, Result, show};
use crate::setup::key::hex;
use crate::setup::plan::Runtime;
use crate::ui::sanitize;

/// Images to build, each on top of the one before.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// In the order of their building; the first is `base`.
    pub steps: Vec<ImageStep>,
    /// What the user should know, one line each.
    pub notices: Vec<String>,
}

/// One image of a chain.
#[derive(Clone, Debug)]
pub struct ImageStep {
    /// Its name for a person: `base`, `python 3.12`.
    pub title: String,
    /// `localhost/cowbox/<name>:<hash of everything that it is made of>`
    pub tag: String,
    /// `--build-arg`
    pub args: Vec<(&'static str, String)>,
    files: &'static ImageFiles,
    /// Certificates to trust; only `base` has some.
    ca: Option<Vec<u8>>,
}

impl Recipe {
    /// The tag of the image that has everything.
    pub fn image(&self) -> &str {
        self.steps.last().map_or("", |step| &step.tag)
    }
}

/// What to build for some runtimes. `base`: what to start from, instead of Ubuntu; `ca`: certificates in PEM
/// that the images are to trust. The order of `runtimes` does not matter, but for two of the same name.
pub fn recipe(runtimes: &[Runtime], base: Option<&str>, ca: Option<&[u8]>) -> Result<Recipe> {
    if let Some(unknown) = runtimes.iter().find(|r| RUNTIMES.iter().all(|known| known.name != r.name)) {
        let names: Vec<&str> = RUNTIMES.iter().map(|known| known.name).collect();
        let name = sanitize::text(&unknown.name);
        return Err(Error::new(format!("there is no image for the runtime `{name}`"))
            .hint(format!("there are {}; name another image with `--image`", names.join(", "))));
    }
    let mut notices = Vec::new();
    let mut steps = vec![ImageStep::new(&BASE, base.map(|base| ("BASE", base.to_owned())), "", ca)];
    for files in &RUNTIMES {
        let asked: Vec<&Runtime> = runtimes.iter().filter(|r| r.name == files.name).collect();
        let Some(chosen) = choose(&asked, &mut notices) else { continue };
        let version = version::argument(chosen)?;
        let below = steps.last().map(|step| step.tag.clone()).unwrap_or_default();
        steps.push(ImageStep::new(files, Some(("BASE", below)), &version, None));
    }
    Ok(Recipe { steps, notices })
}

/// One version of each fits into an image: a pin before a floor, else the first.
fn choose<'a>(asked: &[&'a Runtime], notices: &mut Vec<String>) -> Option<&'a Runtime> {
    let rank = |r: &&&Runtime| match (&r.version, r.floor) {
        (Some(_), false) => 0,
        (Some(_), true) => 1,
        (None, _) => 2,
    };
    let chosen = *asked.iter().min_by_key(rank)?;
    let version = |r: &Runtime| sanitize::text(r.version.as_deref().unwrap_or_default());
    for other in asked.iter().filter(|r| r.version.is_some() && !r.floor && r.version != chosen.version) {
        notices.push(format!(
            "the image has {} {} ({}), not {} ({})",
            chosen.name,
            version(chosen),
            show(&chosen.from),
            version(other),
            show(&other.from)
        ));
    }
    Some(chosen)
}

impl ImageStep {
    fn new(files: &'static ImageFiles, base: Option<(&'static str, String)>, version: &str, ca: Option<&[u8]>) -> Self {
        let ca = ca.filter(|pem| !pem.is_empty()).map(<[u8]>::to_vec);
        let mut args: Vec<(&'static str, String)> = base.into_iter().collect();
        if !version.is_empty() {
            args.push(("VERSION", version.to_owned()));
        }
        let mut hash = Sha256::new();
        let mut add = |part: &[u8]| {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        };
        let is_base = files.name == BASE.name;
        for text in [files.containerfile, files.install, if is_base { LIBRARY } else { "" }] {
            add(text.as_bytes());
        }
        for (name, value) in &args {
            add(name.as_bytes());
            add(value.as_bytes());
        }
        add(ca.as_deref().unwrap_or_default());
        let hash = hex(&hash.finalize())[..16].to_owned();
        let title = if version.is_empty() { files.name.to_owned() } else { format!("{} {version}", files.name) };
        Self { title, tag: format!("localhost/cowbox/{}:{hash}", files.name), args, files, ca }
    }

    /// The name of its containerfile in the context.
    pub fn file_name(&self) -> String {
        format!("{}.containerfile", self.files.name)
    }

    /// Lays its context down in an empty directory.
    pub fn write_context(&self, dir: &Path) -> Result<()> {
        let put = |name: &str, content: &[u8]| {
            let file = dir.join(name);
            let parent = file.parent().map_or(Ok(()), fs::create_dir_all);
            parent.and_then(|()| fs::write(&file, content)).map_err(|e| Error::io("write", &file, e))
        };
        put(&self.file_name(), self.files.containerfile.as_bytes())?;
        put(&format!("install/{}", self.files.name), self.files.install.as_bytes())?;
        if self.files.name == BASE.name {
            put("install/lib.sh", LIBRARY.as_bytes())?;
            // Always there: the builders do not agree on copying what may be missing.
            put("ca/host.crt", self.ca.as_deref().unwrap_or_default())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime(name: &str, version: Option<&str>) -> Runtime {
        Runtime { name: name.into(), version: version.map(str::to_owned), floor: false, from: "file".into() }
    }

    fn tags(runtimes: &[Runtime], base: Option<&str>, ca: Option<&[u8]>) -> Vec<String> {
        recipe(runtimes, base, ca).unwrap().steps.into_iter().map(|step| step.tag).collect()
    }

    #[test]
    fn the_same_needs_give_the_same_tags_in_any_order() {
        let (python, node) = (runtime("python", Some("3.12")), runtime("node", None));
        let one = tags(&[python.clone(), node.clone()], None, None);
        assert_eq!(one, tags(&[node, python], None, None));
        let names: Vec<&str> = one.iter().map(|tag| tag.split([':', '/']).nth(2).unwrap()).collect();
        assert_eq!(names, ["base", "python", "node"]);
        assert!(
            one.iter().all(|tag| tag.starts_with("localhost/cowbox/") && tag.rsplit(':').next().unwrap().len() == 16)
        );
    }

    #[test]
    fn chains_share_what_is_below_and_a_change_moves_what_is_above() {
        let plain = tags(&[runtime("python", None), runtime("node", None)], None, None);
        let pinned = tags(&[runtime("python", None), runtime("node", Some("22"))], None, None);
        assert_eq!(plain[..2], pinned[..2]);
        assert_ne!(plain[2], pinned[2]);
        let lower = tags(&[runtime("python", Some("3.9")), runtime("node", None)], None, None);
        assert_eq!(plain[0], lower[0]);
        assert!(plain[1] != lower[1] && plain[2] != lower[2]);
        for other in [tags(&[], Some("debian:12"), None), tags(&[], None, Some(b"pem"))] {
            assert_ne!(plain[0], other[0]);
        }
        assert_eq!(plain[0], tags(&[], None, Some(b""))[0]);
    }

    #[test]
    fn each_step_starts_from_the_one_below() {
        let recipe = recipe(&[runtime("rust", Some("nightly"))], Some("debian:12"), None).unwrap();
        assert_eq!(recipe.steps[0].args, [("BASE", "debian:12".to_owned())]);
        let below = recipe.steps[0].tag.clone();
        assert_eq!(recipe.steps[1].args, [("BASE", below), ("VERSION", "nightly".to_owned())]);
        assert_eq!(recipe.steps[1].title, "rust nightly");
        assert_eq!(recipe.image(), recipe.steps[1].tag);
    }

    #[test]
    fn a_runtime_without_an_image_and_a_pin_that_is_none_are_errors_that_name_them() {
        let error = recipe(&[runtime("cobol\x1b", None)], None, None).unwrap_err();
        assert!(error.message().contains("cobol\\u{1b}") && error.hints()[0].contains("python"), "{error}");
        let error = recipe(&[runtime("node", Some("$(id)"))], None, None).unwrap_err();
        assert!(error.message().contains("file asks for node `$(id)`"), "{error}");
    }

    #[test]
    fn of_two_pins_the_first_is_taken_and_the_other_is_told() {
        let mut floor = runtime("node", Some("16"));
        floor.floor = true;
        let both = recipe(&[floor, runtime("node", Some("20")), runtime("node", Some("22"))], None, None).unwrap();
        assert_eq!(both.steps[1].title, "node 20");
        assert_eq!(both.notices, ["the image has node 20 (file), not 22 (file)"]);
    }

    #[test]
    fn the_context_has_what_the_containerfile_copies() {
        let dir = tempfile::tempdir().unwrap();
        let recipe = recipe(&[runtime("go", None)], None, Some(b"pem")).unwrap();
        for (number, step) in recipe.steps.iter().enumerate() {
            let dir = dir.path().join(number.to_string());
            step.write_context(&dir).unwrap();
            let text = fs::read_to_string(dir.join(step.file_name())).unwrap();
            let copied = text.lines().find_map(|line| line.strip_prefix("COPY ")).unwrap();
            let mut sources: Vec<&str> = copied.split(' ').collect();
            sources.pop();
            assert!(sources.iter().all(|source| dir.join(source).exists()), "{copied}");
        }
        assert_eq!(fs::read(dir.path().join("0/ca/host.crt")).unwrap(), b"pem");
    }
}

//! What a repo's Dockerfile may ask podman for.
//!
//! Its builder has let builds out to the host more than once: the mount of a step follows a link, the name of a cache leads
//! up the tree, an image can be an archive of the host that brings along the names of others. A version does not tell
//! what a distribution has mended, so only forms that none of this works with are passed on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::engine::image::is_file_of_host;
use crate::error::{Error, Result};
use crate::ui::sanitize;

/// More than anybody writes, continued lines counted once for each line of theirs.
const MOST_BYTES: usize = 16 << 20;
/// Variables that stand for variables.
const DEEPEST: usize = 4;

/// A Dockerfile with what is known about its build.
#[derive(Clone, Copy)]
pub(super) struct Dockerfile<'a> {
    /// Its text.
    pub(super) text: &'a str,
    /// Values of its arguments.
    pub(super) args: &'a BTreeMap<String, String>,
    /// Whether a path of the context leads through no link.
    pub(super) is_plain: &'a dyn Fn(&Path) -> bool,
}

impl Dockerfile<'_> {
    /// An error for what could reach the host.
    pub(super) fn check(&self) -> Result<()> {
        let mut left = MOST_BYTES;
        // Either may continue a line; which one does, the file itself decides.
        for escape in ['\\', '`'] {
            let instructions: Vec<String> = self.at_every_line(escape, &mut left)?;
            let defaults = defaults(&instructions);
            instructions.iter().try_for_each(|line| self.instruction(line, &defaults))?;
        }
        Ok(())
    }

    /// The same for what an image has whoever builds on it do.
    pub(super) fn check_trigger(&self, line: &str) -> Result<()> {
        Dockerfile { text: line, ..*self }.check()
    }

    /// Images that it may build on or copy from, by the names that the builder will use, and whether one of its own
    /// stages has the name.
    pub(super) fn images(&self) -> Result<BTreeMap<String, bool>> {
        let (mut found, mut stages, mut left) = (BTreeSet::new(), BTreeSet::new(), MOST_BYTES);
        for escape in ['\\', '`'] {
            let instructions = self.at_every_line(escape, &mut left)?;
            let is_from = |line: &String| first_word(line).0.eq_ignore_ascii_case("FROM");
            let global = instructions.iter().position(is_from).unwrap_or(instructions.len());
            let defaults = defaults(&instructions[..global]);
            for line in &instructions {
                let (name, rest) = first_word(line);
                let (flags, words): (Vec<&str>, Vec<&str>) =
                    rest.split_whitespace().partition(|word| word.starts_with("--"));
                let image = match (name.to_ascii_uppercase().as_str(), words.as_slice()) {
                    ("FROM", [image]) => Some(*image),
                    ("FROM", [image, word, stage]) if word.eq_ignore_ascii_case("as") => {
                        stages.insert(stage.to_ascii_lowercase());
                        Some(*image)
                    }
                    ("COPY" | "ADD", _) => flags.iter().find_map(|flag| flag.strip_prefix("--from=")),
                    _ => None,
                };
                found.extend(image.map(|image| self.expanded(image, &defaults, 0)));
            }
        }
        let is_stage = |name: &str| {
            stages.contains(&name.to_ascii_lowercase()) || name == "scratch" || name.bytes().all(|b| b.is_ascii_digit())
        };
        Ok(found.into_iter().map(|name| (name.clone(), is_stage(&name))).collect())
    }

    /// What it copies and mounts of its context, by the names that stand there; nothing of what is too large.
    pub(super) fn sources(&self) -> BTreeSet<String> {
        let (mut found, mut left) = (BTreeSet::new(), MOST_BYTES);
        for escape in ['\\', '`'] {
            let instructions = self.at_every_line(escape, &mut left).unwrap_or_default();
            let defaults = defaults(&instructions);
            let named = instructions.iter().flat_map(|line| {
                let (name, rest) = first_word(line);
                match name.to_ascii_uppercase().as_str() {
                    "COPY" | "ADD" => copied(rest),
                    "RUN" => mounted(rest),
                    _ => Vec::new(),
                }
            });
            found.extend(named.map(|source| self.expanded(&source, &defaults, 0)));
        }
        found
    }

    /// Every line begins an instruction here: what ends the text of a script is not worth knowing.
    fn at_every_line(&self, escape: char, left: &mut usize) -> Result<Vec<String>> {
        let text = self.text.strip_prefix('\u{feff}').unwrap_or(self.text);
        let lines: Vec<&str> = text.lines().collect();
        let mut instructions = Vec::with_capacity(lines.len());
        for start in 0..lines.len() {
            let whole = joined(&lines[start..], escape);
            *left = left.checked_sub(whole.len()).ok_or_else(|| refusal("it is too large"))?;
            instructions.push(whole);
        }
        Ok(instructions)
    }

    fn expanded(&self, image: &str, defaults: &[(String, String)], depth: usize) -> String {
        let Some((head, after)) = image.split_once('$').filter(|_| depth < 2 * DEEPEST) else {
            return image.to_owned();
        };
        let Some(Variable { name, word, if_set, rest }) = Variable::parse(after) else { return image.to_owned() };
        let written = || defaults.iter().rev().find(|(own, _)| own == name).map(|(_, value)| value.as_str());
        let value = self.args.get(name).map(String::as_str).or_else(written).filter(|value| !value.is_empty());
        let value = if if_set { value.and(Some(word)) } else { value.or(Some(word)) };
        self.expanded(&format!("{head}{}{rest}", value.unwrap_or_default()), defaults, depth + 1)
    }

    fn instruction(&self, line: &str, defaults: &[(String, String)]) -> Result<()> {
        let (name, rest) = first_word(line);
        let flags = || rest.split_whitespace().take_while(|word| word.starts_with("--"));
        match name.to_ascii_uppercase().as_str() {
            "ONBUILD" => self.instruction(rest, defaults),
            "RUN" => flags().try_for_each(|flag| self.flag_of_run(flag)),
            "COPY" | "ADD" => flags().try_for_each(|flag| match flag.strip_prefix("--from=") {
                Some(image) if image.contains('$') => Err(refusal(flag)),
                Some(image) => self.image(image, &[], 0),
                None if flag.contains(['"', '\'', '\\', '`']) => Err(refusal(flag)),
                None => Ok(()),
            }),
            "FROM" => match rest.split_whitespace().find(|word| !word.starts_with("--")) {
                Some(image) => self.image(image, defaults, 0),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn flag_of_run(&self, flag: &str) -> Result<()> {
        let is_odd = flag.contains(['"', '\'', '\\', '`', '$']);
        let allowed = match flag.strip_prefix("--mount=") {
            Some(mount) => self.is_harmless_mount(mount),
            None => matches!(flag, "--network=none" | "--network=default"),
        };
        if is_odd || !allowed { Err(refusal(flag)) } else { Ok(()) }
    }

    /// Memory, a cache of its own, or a part of the context to be read.
    fn is_harmless_mount(&self, mount: &str) -> bool {
        let fields: Vec<(&str, &str)> =
            mount.split(',').map(|field| field.split_once('=').unwrap_or((field, ""))).collect();
        let kind = fields.iter().find(|(key, _)| *key == "type").map_or("bind", |(_, value)| value);
        fields.iter().all(|(key, value)| match (*key, kind) {
            ("type", _) => *value == kind,
            ("target" | "dst" | "destination", _) => !value.split('/').any(|part| part == ".."),
            ("ro" | "readonly", _) => true,
            ("source" | "src", "bind") => (self.is_plain)(Path::new(value.trim_start_matches('/'))),
            ("id", "cache") => !value.starts_with('.') && !value.contains("..") && value.chars().all(is_of_id),
            ("sharing" | "mode" | "uid" | "gid", "cache") | ("size", "tmpfs") => true,
            ("id" | "required" | "mode" | "uid" | "gid", "secret" | "ssh") => true,
            _ => false,
        })
    }

    /// Fails for a file of the host, and where nobody can tell.
    fn image(&self, image: &str, defaults: &[(String, String)], depth: usize) -> Result<()> {
        let head = &image[..image.find([':', '/', '@', '$']).unwrap_or(image.len())];
        let unclear = || refusal(image);
        if image.contains(['"', '\'', '\\', '`']) || is_file_of_host(image) {
            return Err(unclear());
        }
        let Some(after) = image[head.len()..].strip_prefix('$') else { return Ok(()) };
        if depth == DEEPEST {
            return Err(unclear());
        }
        let Variable { name, word, rest, .. } = Variable::parse(after).ok_or_else(unclear)?;
        let given = self.args.get(name).map(String::as_str);
        let written = defaults.iter().filter(|(own, _)| own == name).map(|(_, value)| value.as_str());
        let values: BTreeSet<&str> = given.into_iter().chain(written).chain([word, ""]).collect();
        if values.len() > 16 {
            return Err(unclear());
        }
        values.into_iter().try_for_each(|value| self.image(&format!("{head}{value}{rest}"), defaults, depth + 1))
    }
}

/// The sources of COPY and ADD, in either form.
fn copied(rest: &str) -> Vec<String> {
    let (mut words, mut is_of_context) = (rest, true);
    while words.starts_with("--") {
        let (flag, more) = first_word(words);
        is_of_context &= !flag.starts_with("--from=");
        words = more;
    }
    let list: Option<Vec<String>> = serde_json::from_str(words).ok();
    let mut all = list.unwrap_or_else(|| words.split_whitespace().map(str::to_owned).collect());
    all.pop();
    if is_of_context { all } else { Vec::new() }
}

/// The sources of a step's binds.
fn mounted(rest: &str) -> Vec<String> {
    let flags = rest.split_whitespace().take_while(|word| word.starts_with("--"));
    let sources = flags.filter_map(|flag| flag.strip_prefix("--mount=")).filter_map(|mount| {
        let value = |keys: &[&str]| {
            let mut fields = mount.split(',').filter_map(|field| field.split_once('='));
            fields.find_map(|(key, value)| keys.contains(&key).then_some(value))
        };
        let is_of_context = value(&["type"]).is_none_or(|kind| kind == "bind") && value(&["from"]).is_none();
        value(&["source", "src"]).filter(|_| is_of_context).map(str::to_owned)
    });
    sources.collect()
}

fn is_of_id(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// An instruction from its first line on, comments and empty lines in it left out.
fn joined(lines: &[&str], escape: char) -> String {
    let mut whole = String::new();
    for (number, line) in lines.iter().enumerate() {
        let is_comment = line.trim_start().starts_with('#') || line.trim().is_empty();
        if number > 0 && is_comment {
            continue;
        }
        match line.trim_end().strip_suffix(escape) {
            Some(part) => whole.push_str(part),
            None => {
                whole.push_str(line);
                break;
            }
        }
        if number == 0 && is_comment {
            break;
        }
    }
    whole
}

fn first_word(line: &str) -> (&str, &str) {
    let line = line.trim();
    line.split_once(char::is_whitespace).map_or((line, ""), |(word, rest)| (word, rest.trim_start()))
}

/// What arguments are if nobody says otherwise.
fn defaults(instructions: &[String]) -> Vec<(String, String)> {
    let args = instructions.iter().map(|line| first_word(line)).filter(|(name, _)| name.eq_ignore_ascii_case("ARG"));
    let pairs = args.flat_map(|(_, rest)| rest.split_whitespace()).filter_map(|word| word.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.trim_matches(['"', '\'']).to_owned())).collect()
}

/// What stands after a `$`.
struct Variable<'a> {
    name: &'a str,
    /// Its value if it is not set, or else if it is.
    word: &'a str,
    if_set: bool,
    rest: &'a str,
}

impl<'a> Variable<'a> {
    /// None for what a shell would have to read.
    fn parse(text: &'a str) -> Option<Self> {
        let length = |text: &str| text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
        let Some(inner) = text.strip_prefix('{') else {
            let (name, rest) = text.split_at(length(text));
            return (!name.is_empty()).then_some(Self { name, word: "", if_set: false, rest });
        };
        let (inner, rest) = inner.split_once('}')?;
        let (name, operator) = inner.split_at(length(inner));
        let word = match operator {
            "" => "",
            _ => [":-", ":+", "-", "+"].iter().find_map(|mark| operator.strip_prefix(mark))?,
        };
        let if_set = operator.trim_start_matches(':').starts_with('+');
        (!name.is_empty()).then_some(Self { name, word, if_set, rest })
    }
}

fn refusal(what: &str) -> Error {
    let shown: String = what.chars().take(120).collect();
    Error::new(format!("a build with podman could reach the host by this: `{}`", sanitize::text(&shown)))
        .hint("look at the Dockerfile; if it is to be trusted, build it with `podman build` and name it with `--image`")
        .hint("or leave that out of it: a mount may only be a `cache`, a `tmpfs`, or a `bind` of the context to read")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<()> {
        let args = BTreeMap::from([("GIVEN".to_owned(), "docker-archive".to_owned())]);
        let is_plain = |path: &Path| path != Path::new("link");
        Dockerfile { text, args: &args, is_plain: &is_plain }.check()
    }

    #[test]
    fn what_people_write_is_let_through() {
        for text in [
            "FROM debian:12 AS a\nRUN apt-get update \\\n  && true\nCOPY --from=a --chown=1:1 /x /y\n",
            "FROM docker:24-dind\nFROM registry.example:5000/a/b@sha256:0\n",
            "ARG VARIANT=\"3.12\"\nARG BASE=registry.example/python\nFROM ${BASE}:${VARIANT}\n",
            "ARG R\nFROM ${R:-registry.example}/x\nFROM base-${TARGETARCH} AS final\nFROM --platform=$BUILDPLATFORM go:1\n",
            "RUN --mount=type=cache,target=/root/.cache/pip,sharing=locked --network=none pip install x\n",
            "RUN --mount=type=bind,source=requirements.txt,target=/tmp/r.txt \\\n # why\n --mount=type=tmpfs,target=/t true\n",
            "# RUN --mount=type=bind,from=a,target=/x ls\n",
        ] {
            check(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        }
    }

    #[test]
    fn a_mount_that_leads_out_is_refused_in_every_spelling() {
        for text in [
            "RUN --mount=type=bind,source=link,target=/x ls",
            "run --mount=type=bind,src=/link,target=/x ls",
            "RUN --mount=target=/x,from=a ls",
            "RUN --mount=type=bind,target=/x,rw ls",
            "RUN --mount=type=bind,target=/x,bind-propagation=shared ls",
            "RUN --mount=type=cache,id=../../home,target=/x ls",
            "RUN --mount=type=cache,target=/x,source=l ls",
            "RUN --mount=type=cache,target=/../../x ls",
            "RUN --mount=type=cache,type=bind,target=/x,from=a ls",
            "RUN --mo\"unt\"=type=bind,from=a,target=/x ls",
            "RUN --network=none --mo\\\nunt=type=bind,from=a,target=/x ls",
            "# escape=`\nRUN `\n\n# why\n --mount=type=bind,from=a,target=/x ls",
            "RU\\\nN --mount=type=bind,from=a,target=/x ls",
            "ONBUILD RUN --mount=type=bind,from=a,target=/x ls",
            "RUN <<'E\\'\nE\\\nRUN --mount=type=bind,from=a,target=/x ls",
            "RUN --network=host ls",
            "RUN --security=insecure ls",
        ] {
            let error = check(text).expect_err(text);
            assert!(error.message().contains("could reach the host"), "{error}");
        }
    }

    #[test]
    fn an_archive_of_the_host_is_no_image() {
        for text in [
            "FROM docker-archive:/tmp/x.tar",
            "FROM oci:/tmp/x",
            "COPY --from=dir:/tmp/x / /",
            "COPY --from=$X / /",
            "ARG A=docker-archive:/x\nFROM $A",
            "ARG A=docker-\nARG B=archive:/x\nFROM ${A}${B}",
            "ARG B=archive\nFROM docker-${B}:/x",
            "ARG A=$B\nARG B=oci:/x\nFROM $A",
            "ARG GIVEN=debian\nFROM ${GIVEN}:/x.tar",
            "FROM ${NONE:-oci:/x}",
            "FROM ${NONE}oci-archive:/x",
            "FROM ${NONE#x}debian",
            "FROM \"oci:/x\"",
        ] {
            assert!(check(text).is_err(), "{text}");
        }
    }

    #[test]
    fn images_are_named_as_the_builder_will_name_them() {
        let args = BTreeMap::from([("TAG".to_owned(), "2".to_owned())]);
        let text = "ARG TAG=1\nARG BASE=\"a/b\"\nFROM ${BASE}:$TAG AS x\nARG BASE=other\nFROM \\\n ${NONE:-c}${TAG:+d}\n\
                    COPY --from=e:1 / /\nFROM x\nfrom os import path\n";
        let images = Dockerfile { text, args: &args, is_plain: &|_| true }.images().unwrap();
        assert!(["a/b:2", "cd", "e:1"].iter().all(|name| images.get(*name) == Some(&false)), "{images:?}");
        assert_eq!((images.get("x"), images.get("os")), (Some(&true), None));
    }

    #[test]
    fn a_file_that_would_take_for_ever_is_refused() {
        assert!(check(&"ARG a \\\n".repeat(20_000)).is_err());
    }
}

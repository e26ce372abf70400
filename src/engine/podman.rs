//! podman, rootless first.
//!
//! The overlay is podman's own `:O` volume, which costs no further call; where that would not be the kernel's
//! overlay, a `local` volume, which always is. The image's user is mapped to the invoking user, so that what the
//! command creates belongs to that user on the host.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::client::Client;
use super::facts::Facts;
use super::image::{Identity, ImageFacts, Images};
use super::oci::beside::{Beside, Meeting, Scene};
use super::oci::hook::{self, HookMount, Looks};
use super::oci::{self, Attached, Behind, Links, capabilities};
use super::{Engine, EngineRecord, ExecSpec, Kind, OnCreated, Sandbox};
use crate::error::{Error, Result};
use crate::plan::{Overlay, Plan};
use crate::session::Record;
use crate::ui::Ui;

/// podman, asked and found working.
#[derive(Debug)]
pub struct Podman {
    client: Client,
    facts: Facts,
    cache: PathBuf,
}

impl Podman {
    /// With what it said about itself.
    pub fn new(client: Client, facts: Facts, cache: &Path) -> Self {
        Self { client, facts, cache: cache.to_path_buf() }
    }

    fn images(&self) -> Images<'_> {
        Images::new(&self.client, self.facts.graph_root.as_deref().unwrap_or_default(), &self.cache)
    }

    fn identity(&self, plan: &Plan, ui: &Ui) -> Result<Identity> {
        let name = plan.image.as_deref().unwrap_or_default();
        let images = self.images();
        let mut image = images.get(name, ui)?;
        let user = plan.user.clone().unwrap_or_else(|| image.facts.user.clone());
        images.identity(name, &mut image, &user)
    }

    /// Whether the overlays must be volumes. `:O` is left to podman's `mount_program`, and fuse-overlayfs writes marks
    /// of its own kind, loses links and has lost data; and to the OCI runtime, and gVisor would show an empty directory.
    /// A volume is mounted by podman itself, with the kernel's overlay.
    fn needs_volumes(&self, plan: &Plan) -> bool {
        plan.runtime.is_some() || !self.facts.kernel_overlay || has_mounts_in_a_stack(plan)
    }

    /// `SRC:DST:O,…`. Rootless podman adds `userxattr` by itself. Rootful it does not, and takes no
    /// further options; but it does not escape a comma in SRC either, so the option rides there.
    /// The link exists under both names: should a later podman escape it, the repo is still what is
    /// below, and the reader refuses an upper with marks of another kind.
    fn overlay_argument(&self, number: usize, overlay: &Overlay, links: &Links, session_dir: &Path) -> Result<String> {
        let mut source = links.link(&format!("{number}"), overlay.bottom())?;
        if !self.facts.rootless {
            source = links.link(&format!("{number},userxattr"), overlay.bottom())?;
        }
        Ok(format!(
            "--volume={source}:{}:O,upperdir={},workdir={}",
            overlay.target.display(),
            links.in_session(&overlay.upper, session_dir),
            links.in_session(&overlay.work, session_dir)
        ))
    }
}

impl Engine for Podman {
    fn record(&self) -> EngineRecord {
        EngineRecord { kind: Kind::Podman, version: self.facts.version.clone(), rootless: self.facts.rootless }
    }

    fn describe(&self) -> String {
        let mode = if self.facts.rootless { "rootless" } else { "rootful" };
        format!("podman {} ({mode}, overlay)", self.facts.version)
    }

    fn prepare(&self, plan: &mut Plan, ui: &Ui) -> Result<()> {
        oci::check_targets(plan)?;
        if !plan.limits.is_empty() && !self.facts.limits {
            return Err(Error::new("rootless podman cannot enforce --memory, --cpus or --pids here: the cgroup controllers are not delegated to you")
                .hint("leave the limit out, use rootful podman or docker, or set up cgroup v2 delegation"));
        }
        let who = self.identity(plan, ui)?;
        plan.user = Some(format!("{}:{}", who.uid, who.gid));
        Ok(())
    }

    fn client(&self) -> Option<&Client> {
        Some(&self.client)
    }

    fn image_facts(&self, name: &str) -> Result<Option<ImageFacts>> {
        Ok(self.images().find(name).map(|image| image.facts))
    }

    fn start(&self, plan: &Plan, container: &str, created: OnCreated<'_>) -> Result<Box<dyn Sandbox>> {
        oci::check_workdir(plan)?;
        let links = Links::new(&plan.session_dir)?;
        let mut command = self.client.command();
        let stacks: Vec<HookMount> = plan
            .overlays()
            .iter()
            .enumerate()
            .filter(|(_, overlay)| overlay.lowers.len() > 1 && !self.needs_volumes(plan))
            .map(|(number, overlay)| {
                let options = kernel_options(number, overlay, &links, &plan.session_dir)?;
                Ok(HookMount { target: overlay.target.clone(), options })
            })
            .collect::<Result<_>>()?;
        let overlays = plan.overlays();
        let who = self.planned_identity(plan);
        // A runtime of the user's may know no hooks.
        let has_hooks = plan.runtime.is_none();
        let looks = if self.needs_volumes(plan) && has_hooks { looks(&overlays, who)? } else { Vec::new() };
        if !stacks.is_empty() || !looks.is_empty() {
            let dir = plan.session_dir.join("hooks");
            hook::write(&dir, &stacks, &looks)?;
            command.arg(format!("--hooks-dir={}", links.in_session(&dir, &plan.session_dir)));
        }
        // conmon drops a file `oom` where it stands when the kernel kills for memory: not in `/`.
        command.current_dir(&plan.session_dir);
        if let Some(runtime) = &plan.runtime {
            command.arg("--runtime").arg(runtime);
        }
        command.args(["run", "--rm", "--pull=never", "--log-driver=none", "--http-proxy=false", "--interactive"]);
        command.arg(format!("--name={container}"));
        if plan.terminal {
            command.args(["--tty", "--detach-keys="]);
        }
        let meeting = Meeting::of(Kind::Podman, plan, container, &links)?;
        oci::add_policy(&mut command, plan);
        command.args(meeting.arguments(plan.network, plan.service.as_deref()));
        oci::add_options(&mut command, Kind::Podman, plan, &meeting);
        command.args(capabilities::arguments(Kind::Podman, &plan.container));
        if !self.facts.rootless && who.uid != 0 && oci::forbids_new_privileges(plan) {
            command.arg("--security-opt=no-new-privileges");
        }
        command.args(user_arguments(self.facts.rootless, who));
        let volumes = if self.needs_volumes(plan) {
            Some(Volumes::create(&self.client, container, &overlays, &links, plan)?)
        } else {
            None
        };
        for (number, overlay) in overlays.iter().enumerate() {
            match &volumes {
                Some(volumes) => {
                    let nocopy = if plan.runtime.is_none() && is_empty(overlay) { ":nocopy" } else { "" };
                    command.arg(format!("--volume={}:{}{nocopy}", volumes.names[number], overlay.target.display()));
                }
                // The hook's, see below.
                None if overlay.lowers.len() > 1 => {}
                None => {
                    command.arg(self.overlay_argument(number, overlay, &links, &plan.session_dir)?);
                }
            }
        }
        let modes = if volumes.is_some() && !has_hooks { root_modes(&overlays)? } else { Vec::new() };
        let ready = oci::finish(command, plan, &self.cache, &links, &modes)?;
        created(None)?;
        let scene =
            Scene { client: &self.client, kind: Kind::Podman, plan, container, links: &links, cache: &self.cache };
        let beside = Beside::start(&scene, &meeting)?;
        let behind = Behind::Container(container.to_owned());
        Ok(Box::new(Attached::spawn(&self.client, ready, behind, Some(links))?.with(beside).with(volumes)))
    }

    fn is_ready(&self, container: &str) -> bool {
        oci::is_running(&self.client, container)
    }

    fn exec(&self, record: &Record, spec: &ExecSpec<'_>) -> Result<Box<dyn Sandbox>> {
        oci::exec(&self.client, record, spec, "--detach-keys=")
    }

    fn exec_prefix(&self, record: &Record) -> Result<Vec<OsString>> {
        Ok(oci::exec_prefix(&self.client, record))
    }

    fn sweep(&self, record: &Record) -> Result<()> {
        if let Some(container) = record.incarnation.as_ref().and_then(|i| i.container.as_deref()) {
            oci::remove(&self.client, container);
            oci::beside::sweep(&self.client, container);
        }
        Ok(())
    }

    fn reclaim(&self, _dir: &Path) -> Result<()> {
        Ok(())
    }
}

impl Podman {
    /// `prepare` left the numbers in the plan.
    fn planned_identity(&self, plan: &Plan) -> Identity {
        let text = plan.user.as_deref().unwrap_or("0:0");
        let (uid, gid) = text.split_once(':').unwrap_or((text, "0"));
        Identity { uid: uid.parse().unwrap_or(0), gid: gid.parse().unwrap_or(0) }
    }
}

/// How the host user appears inside.
fn user_arguments(rootless: bool, who: Identity) -> Vec<String> {
    let user = format!("--user={}:{}", who.uid, who.gid);
    if who.uid == 0 {
        return vec![user];
    }
    if rootless {
        return vec![user, format!("--userns=keep-id:uid={},gid={}", who.uid, who.gid)];
    }
    // What keep-id does, spelled out: podman has it for rootless only.
    let map = |flag: &str, id: u32| {
        let below = (id > 0).then(|| format!("{flag}=0:1:{id}"));
        let own = format!("{flag}={id}:0:1");
        let above = format!("{flag}={}:{}:{}", id + 1, id + 1, 65536u32.saturating_sub(id + 1).max(1));
        below.into_iter().chain([own, above])
    };
    let maps = map("--uidmap", who.uid).chain(map("--gidmap", who.gid));
    std::iter::once(user).chain(maps).collect()
}

/// Whether something is mounted inside of an overlay with several layers below: the hook, which comes last,
/// would cover it.
fn has_mounts_in_a_stack(plan: &Plan) -> bool {
    let overlays = plan.overlays();
    let mounts = || plan.mounts.iter().map(|m| &m.target).chain(&plan.tmpfs);
    let targets = || overlays.iter().map(|o| &o.target).chain(mounts());
    overlays
        .iter()
        .filter(|overlay| overlay.lowers.len() > 1)
        .any(|overlay| targets().any(|target| *target != overlay.target && target.starts_with(&overlay.target)))
}

/// An overlay as the kernel takes it.
fn kernel_options(number: usize, overlay: &Overlay, links: &Links, session_dir: &Path) -> Result<String> {
    let name = |(layer, path): (usize, &PathBuf)| links.link(&format!("stack{number}-{layer}"), path);
    let lowers: Vec<String> = overlay.lowers.iter().enumerate().map(name).collect::<Result<_>>()?;
    Ok(format!(
        "lowerdir={},upperdir={},workdir={},userxattr",
        lowers.join(":"),
        links.in_session(&overlay.upper, session_dir),
        links.in_session(&overlay.work, session_dir)
    ))
}

/// How the overlays' roots have to look: podman gives a volume owner and mode of the image's directory there.
fn looks(overlays: &[Overlay], owner: Identity) -> Result<Vec<Looks>> {
    let one = |overlay: &Overlay| Ok(Looks { target: overlay.target.clone(), mode: mode(&overlay.upper)?, owner });
    overlays.iter().map(one).collect()
}

/// Has the helper do the same, as far as it may.
fn root_modes(overlays: &[Overlay]) -> Result<Vec<String>> {
    let mut words = Vec::new();
    for Overlay { upper, target, .. } in overlays {
        words.extend(["mode".into(), mode(upper)?.to_string(), target.display().to_string()]);
    }
    Ok(words)
}

fn mode(dir: &Path) -> Result<u32> {
    Ok(std::fs::metadata(dir).map_err(|e| Error::io("read", dir, e))?.permissions().mode() & 0o7777)
}

/// Whether podman would copy the image's directory into the upper: it does so for a volume that is empty. Only then is
/// it told not to, for it tells the OCI runtime too, and gVisor knows no such option.
fn is_empty(overlay: &Overlay) -> bool {
    let empty = |dir: &PathBuf| std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
    overlay.lowers.iter().all(empty)
}

/// Overlays as `local` volumes.
struct Volumes {
    client: Client,
    names: Vec<String>,
}

impl Volumes {
    fn create(client: &Client, container: &str, overlays: &[Overlay], links: &Links, plan: &Plan) -> Result<Self> {
        oci::remove_volumes(client, container);
        let mut made = Self { client: client.clone(), names: Vec::new() };
        for (number, overlay) in overlays.iter().enumerate() {
            let name = format!("{container}-{number}");
            let options = format!("o={}", kernel_options(number, overlay, links, &plan.session_dir)?);
            client.capture(&[
                "volume",
                "create",
                "--label",
                &oci::owner_label(container),
                "--opt",
                "type=overlay",
                "--opt",
                "device=overlay",
                "--opt",
                &options,
                &name,
            ])?;
            made.names.push(name);
        }
        Ok(made)
    }
}

impl Drop for Volumes {
    fn drop(&mut self) {
        for name in &self.names {
            // More than once: podman stumbles when containers come and go at the same time.
            let remove = || self.client.attempt(&["volume", "rm", "--force", name]);
            let _ = remove() || remove() || remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_of_the_image_is_the_caller_outside() {
        let words = |rootless, uid, gid| user_arguments(rootless, Identity { uid, gid });
        assert_eq!(words(true, 0, 0), ["--user=0:0"]);
        assert_eq!(words(true, 1000, 100), ["--user=1000:100", "--userns=keep-id:uid=1000,gid=100"]);
        // Rootful podman has no keep-id: every other id inside is another one outside.
        let maps = ["--uidmap=0:1:1000", "--uidmap=1000:0:1", "--uidmap=1001:1001:64535"];
        assert_eq!(words(false, 1000, 1000)[1..4], maps);
        assert_eq!(words(false, 0, 0), ["--user=0:0"]);
    }
}

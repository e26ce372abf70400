//! docker, through its daemon's `local` volume driver: the daemon mounts the overlay.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::client::Client;
use super::facts::Facts;
use super::image::{self, EmptyImage, ImageFacts};
use super::oci::beside::{Beside, Meeting, Scene};
use super::oci::{self, Attached, Behind, Links, capabilities};
use super::{Engine, EngineRecord, ExecSpec, Kind, OnCreated, Sandbox, guest};
use crate::error::{Error, Result};
use crate::plan::{Overlay, Plan};
use crate::session::Record;
use crate::ui::Ui;

/// Docker takes no empty value here; nobody types this.
const DETACH_KEYS: &str = "--detach-keys=ctrl-@,ctrl-^,ctrl-],ctrl-_";

/// docker, asked and found working.
#[derive(Debug)]
pub struct Docker {
    client: Client,
    facts: Facts,
    cache: PathBuf,
}

impl Docker {
    /// With what it said about itself.
    pub fn new(client: Client, facts: Facts, cache: &Path) -> Self {
        Self { client, facts, cache: cache.to_path_buf() }
    }

    /// Asks the daemon itself: a client process for one answer costs more than the answer.
    fn inspect(&self, name: &str) -> Option<ImageFacts> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | ':' | '_' | '-' | '@');
        let socket = self.facts.socket.as_deref().filter(|_| name.chars().all(plain));
        let answer = socket.and_then(|socket| http_get(socket, &format!("/images/{name}/json")).ok());
        match answer {
            Some((200, body)) => ImageFacts::parse(&body).ok(),
            Some((404, _)) => None,
            _ => {
                let text = self.client.capture(&["image", "inspect", "--format", "{{json .}}", name]).ok()?;
                ImageFacts::parse(text.lines().next().unwrap_or_default()).ok()
            }
        }
    }

    /// The command runs as the caller unless `--user` says otherwise.
    fn user(&self, plan: &Plan) -> String {
        match plan.user.as_deref() {
            Some("root") => "0:0".into(),
            Some(user) => user.to_owned(),
            // A rootless daemon maps root inside to the user outside.
            None if self.facts.rootless => "0:0".into(),
            None => format!("{}:{}", rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw()),
        }
    }

    fn overlay_argument(
        container: &str,
        number: usize,
        overlay: &Overlay,
        links: &Links,
        session_dir: &Path,
    ) -> Result<String> {
        let name = |(layer, path): (usize, &PathBuf)| links.link(&format!("{number}-{layer}"), path);
        let lowers: Vec<String> = overlay.lowers.iter().enumerate().map(name).collect::<Result<_>>()?;
        // `volume-nocopy`: over an empty repo docker would copy the image's directory into the upper.
        Ok(format!(
            "type=volume,dst={},volume-label={},volume-nocopy,volume-driver=local,volume-opt=type=overlay,volume-opt=device=overlay,\"volume-opt=o=lowerdir={},upperdir={},workdir={},userxattr,redirect_dir=nofollow,metacopy=off,index=off\"",
            overlay.target.display(),
            oci::owner_label(container),
            lowers.join(":"),
            links.in_session(&overlay.upper, session_dir),
            links.in_session(&overlay.work, session_dir)
        ))
    }
}

impl Engine for Docker {
    fn record(&self) -> EngineRecord {
        EngineRecord { kind: Kind::Docker, version: self.facts.version.clone(), rootless: self.facts.rootless }
    }

    fn describe(&self) -> String {
        let mode = if self.facts.rootless { "rootless" } else { "daemon" };
        format!("docker {} ({mode}, overlay)", self.facts.version)
    }

    fn prepare(&self, plan: &mut Plan, ui: &Ui) -> Result<()> {
        oci::check_targets(plan)?;
        plan.user = Some(self.user(plan));
        if plan.env.get("HOME").is_none() && !self.facts.rootless {
            // The caller's number has no home in the image; `/tmp` is the one place it can write to.
            if plan.user.as_deref().is_some_and(|u| !u.starts_with("0:") && u != "0") {
                plan.env.set("HOME", "/tmp");
            }
        }
        let name = plan.image.clone().unwrap_or_default();
        if self.inspect(&name).is_none() {
            image::pull(&self.client, &name, ui)?;
        }
        Ok(())
    }

    fn client(&self) -> Option<&Client> {
        Some(&self.client)
    }

    fn image_facts(&self, name: &str) -> Result<Option<ImageFacts>> {
        Ok(self.inspect(name))
    }

    fn start(&self, plan: &Plan, container: &str, created: OnCreated<'_>) -> Result<Box<dyn Sandbox>> {
        oci::check_workdir(plan)?;
        let links = Links::new(&plan.session_dir)?;
        let mut command = self.client.command();
        command.args(["run", "--rm", "--pull=never", "--interactive"]).arg(format!("--name={container}"));
        if plan.terminal {
            command.args(["--tty", DETACH_KEYS]);
        }
        if let Some(runtime) = &plan.runtime {
            command.arg(format!("--runtime={runtime}"));
        }
        let meeting = Meeting::of(Kind::Docker, plan, container, &links)?;
        oci::add_policy(&mut command, plan);
        command.args(meeting.arguments(plan.network, plan.service.as_deref()));
        oci::add_options(&mut command, Kind::Docker, plan, &meeting);
        command.args(capabilities::arguments(Kind::Docker, &plan.container));
        let user = plan.user.clone().unwrap_or_default();
        let is_root = user == "0" || user.starts_with("0:");
        if !is_root && oci::forbids_new_privileges(plan) {
            command.arg("--security-opt=no-new-privileges");
        }
        command.arg(format!("--user={user}"));
        for (number, overlay) in plan.overlays().iter().enumerate() {
            command.arg("--mount").arg(Self::overlay_argument(container, number, overlay, &links, &plan.session_dir)?);
        }
        let ready = oci::finish(command, plan, &self.cache, &links, &[])?;
        created(None)?;
        let scene =
            Scene { client: &self.client, kind: Kind::Docker, plan, container, links: &links, cache: &self.cache };
        let beside = Beside::start(&scene, &meeting)?;
        let behind = Behind::Container(container.to_owned());
        Ok(Box::new(Attached::spawn(&self.client, ready, behind, Some(links))?.with(beside)))
    }

    fn is_ready(&self, container: &str) -> bool {
        oci::is_running(&self.client, container)
    }

    fn exec(&self, record: &Record, spec: &ExecSpec<'_>) -> Result<Box<dyn Sandbox>> {
        oci::exec(&self.client, record, spec, DETACH_KEYS)
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

    /// Has the daemon give everything below `dir` to the caller.
    fn reclaim(&self, dir: &Path) -> Result<()> {
        // The session's own image may be gone by now.
        let image = EmptyImage::import(&self.client)?;
        let links = Links::new(dir)?;
        let source = links.in_session(dir, dir);
        let mut args: Vec<String> =
            ["run", "--rm", "--pull=never", "--network=none", "--read-only", "--user=0:0"].map(Into::into).to_vec();
        args.extend(
            ["--cap-drop=ALL", "--cap-add=CHOWN", "--cap-add=DAC_OVERRIDE", "--cap-add=FOWNER"].map(Into::into),
        );
        args.push("--security-opt=no-new-privileges".into());
        args.push(format!("--mount=type=bind,src={source},dst=/.cowbox/session"));
        args.extend(["--mount".into(), oci::guest_mount(&self.cache, &links)?]);
        args.extend(["--entrypoint".into(), guest::INSIDE.into()]);
        args.push(image.name().to_owned());
        let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        args.extend(["give".into(), uid.to_string(), gid.to_string(), "/.cowbox/session".into()]);
        self.client.capture_slowly(&args).map_err(|e| {
            Error::new(format!("the docker daemon could not hand the session's files over: {}", e.message()))
                .hint("`cowbox doctor` checks the daemon")
        })?;
        Ok(())
    }
}

/// Status and body of a GET over a unix socket.
fn http_get(socket: &str, path: &str) -> std::io::Result<(u16, String)> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: docker\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(1 << 20).read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    Ok((status.ok_or_else(|| std::io::Error::other("not HTTP"))?, body.to_owned()))
}

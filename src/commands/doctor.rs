//! `cowbox doctor`: tries everything, and says what to do about each failure.

use std::fs;
use std::path::Path;

use serde::Serialize;

use super::context::Context;
use crate::cli::DoctorArgs;
use crate::engine::idmap::IdMap;
use crate::engine::{Kind, client::Client, detect, probe};
use crate::error::{Kind as ErrorKind, Result, reason, show};
use crate::layer::filesystem::CANNOT_HOLD;
use crate::policy::limits::show_size;
use crate::sys::landlock;
use crate::ui::Ui;

/// Below this a session may run out of room.
const LITTLE_SPACE: u64 = 1 << 30;

#[derive(Serialize)]
struct Report {
    schema: u32,
    ok: bool,
    /// The engine that `run` would take.
    engine: Option<String>,
    checks: Vec<Check>,
}

/// One thing that was tried.
#[derive(Serialize)]
struct Check {
    name: &'static str,
    status: Status,
    detail: String,
    /// What mends it.
    fix: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Warn,
    Fail,
}

impl Check {
    fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, status: Status::Ok, detail: detail.into(), fix: None }
    }

    fn warn(name: &'static str, detail: impl Into<String>, fix: &str) -> Self {
        Self { name, status: Status::Warn, detail: detail.into(), fix: Some(fix.to_owned()) }
    }

    fn fail(name: &'static str, detail: impl Into<String>, fix: String) -> Self {
        Self { name, status: Status::Fail, detail: detail.into(), fix: Some(fix) }
    }
}

/// Runs the verb.
pub fn doctor(args: DoctorArgs, ui: &Ui) -> Result<u8> {
    let context = Context::new(ui)?;
    // What was remembered is exactly what is in doubt.
    detect::forget(&context.places.cache);
    let engines = [Kind::Podman, Kind::Docker, Kind::Native].map(|kind| (kind, try_engine(&context, kind)));
    let first = engines.iter().find(|(_, check)| check.status == Status::Ok).map(|(kind, _)| kind.to_string());
    let mut checks: Vec<Check> = engines.into_iter().map(|(_, check)| check).collect();
    checks.extend([kernel(), sub_ids(), abstract_sockets(), space(&context.places.state), git()]);
    let report = Report { schema: 1, ok: first.is_some(), engine: first, checks };
    if args.json {
        ui.json(&report)?;
    } else {
        ui.data(text(&report).as_bytes())?;
    }
    Ok(if report.ok { 0 } else { ErrorKind::Failed.exit_code() })
}

fn try_engine(context: &Context<'_>, kind: Kind) -> Check {
    let name = match kind {
        Kind::Podman => "podman",
        Kind::Docker => "docker",
        Kind::Native => "native",
    };
    let places = &context.places;
    // Opening an engine that nothing is remembered of tries it; native is tried here.
    let opened = detect::open(kind, places, context.ui).and_then(|engine| match kind {
        Kind::Native => probe::try_out(engine.as_ref(), None, places, context.ui)
            .map(|()| engine)
            .map_err(|e| e.message().to_owned()),
        _ => Ok(engine),
    });
    match opened {
        Ok(engine) => Check::ok(name, engine.describe()),
        Err(why) => Check::fail(name, &why, fix(kind, &why)),
    }
}

/// The command that mends the usual reasons.
fn fix(kind: Kind, why: &str) -> String {
    let has = |text: &str| why.to_lowercase().contains(text);
    match kind {
        _ if has(CANNOT_HOLD) || has("refuses an overlay") => {
            "set COWBOX_STATE_DIR to a directory on ext4, xfs, btrfs or tmpfs".into()
        }
        _ if has("cannot create") => "set COWBOX_STATE_DIR to a directory that you can write to".into(),
        _ if has("where this repository is not") => {
            "unset DOCKER_HOST, CONTAINER_HOST, or `docker context use default`".into()
        }
        Kind::Podman if has("not installed") => "sudo apt install podman uidmap slirp4netns".into(),
        Kind::Podman if has("newuidmap") || has("subuid") => {
            "sudo apt install uidmap && sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $USER"
                .into()
        }
        Kind::Podman => "`podman info` and `podman run` show podman's own view".into(),
        Kind::Docker if has("not installed") => "sudo apt install docker.io".into(),
        Kind::Docker if has("permission denied") => "sudo usermod -aG docker $USER, then log in again".into(),
        Kind::Docker if has("podman under another name") => "nothing to do: cowbox uses podman".into(),
        Kind::Docker => "sudo systemctl start docker".into(),
        Kind::Native => native_fix(),
    }
}

/// User namespaces are what the native engine lacks most often.
fn native_fix() -> String {
    let is = |name: &str, value: &str| {
        fs::read_to_string(format!("/proc/sys/{name}")).is_ok_and(|text| text.trim() == value)
    };
    if is("kernel/apparmor_restrict_unprivileged_userns", "1") {
        return "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0".into();
    }
    if is("kernel/unprivileged_userns_clone", "0") {
        return "sudo sysctl -w kernel.unprivileged_userns_clone=1".into();
    }
    if is("user/max_user_namespaces", "0") {
        return "sudo sysctl -w user.max_user_namespaces=15000".into();
    }
    "inside a container the native engine needs user namespaces and an unmasked /proc; run cowbox on the host".into()
}

/// Overlays in user namespaces came with 5.11, `mount_setattr` with 5.12.
fn kernel() -> Check {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map(|n| n.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version >= (5, 12) {
        Check::ok("kernel", format!("Linux {release}"))
    } else {
        Check::fail("kernel", format!("Linux {release} is older than 5.12"), "update the kernel, or use docker".into())
    }
}

fn sub_ids() -> Check {
    if IdMap::same().has_range() {
        return Check::ok("sub-ids", "the native engine can map a range of ids");
    }
    Check::warn(
        "sub-ids",
        "no newuidmap or no range in /etc/subuid: the native engine maps your own id alone, and files of others appear as nobody's",
        "sudo apt install uidmap && sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $USER",
    )
}

fn abstract_sockets() -> Check {
    if landlock::can_scope() {
        return Check::ok(
            "landlock",
            format!("ABI {}: abstract sockets of the host are closed to native sandboxes", landlock::abi()),
        );
    }
    Check::warn(
        "landlock",
        "this kernel cannot close abstract sockets of the host (an X server, a session bus) to native sandboxes with network",
        "use `--network none`, podman or docker, or Linux 6.12 with Landlock",
    )
}

fn space(state: &Path) -> Check {
    let existing = state.ancestors().find(|dir| dir.exists()).unwrap_or(state);
    match rustix::fs::statvfs(existing) {
        Err(e) => Check::fail(
            "disk space",
            format!("{}: {}", show(state), reason(&e.into())),
            "set COWBOX_STATE_DIR to a directory that you can write to".into(),
        ),
        Ok(stat) => {
            let free = stat.f_bavail * stat.f_frsize;
            let detail = format!("{} free in {}", show_size(free), show(state));
            if free < LITTLE_SPACE {
                Check::warn("disk space", detail, "cowbox gc")
            } else {
                Check::ok("disk space", detail)
            }
        }
    }
}

fn git() -> Check {
    match Client::find("git").and_then(|git| git.capture(&["--version"]).ok()) {
        Some(version) => Check::ok("git", version.trim()),
        None => Check::warn(
            "git",
            "not installed: repositories are still found, commits cannot be imported",
            "sudo apt install git",
        ),
    }
}

fn text(report: &Report) -> String {
    let mut out = String::new();
    for check in &report.checks {
        let mark = match check.status {
            Status::Ok => "ok",
            Status::Warn => "warn",
            Status::Fail => "fail",
        };
        out.push_str(&format!("{mark:5} {:12} {}\n", check.name, check.detail));
        if let Some(fix) = &check.fix {
            out.push_str(&format!("{:18} → {fix}\n", ""));
        }
    }
    match &report.engine {
        Some(engine) => out.push_str(&format!("\ncowbox run will use {engine}\n")),
        None => out.push_str("\nno engine works: mend one of the first three\n"),
    }
    out
}

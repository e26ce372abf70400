//! The built-in engine: the kernel's namespaces over the host's own root, read-only.
//!
//! `sandbox` is the parent's side, `init` the sandbox's pid 1, `root` what the sandbox sees,
//! `confine` what the command may do, `enter` a further command in a live one.

mod cgroup;
mod confine;
mod enter;
mod home;
mod ids;
mod init;
mod live;
mod pty;
mod root;
mod sandbox;
pub mod secrets;
mod sockets;
mod streams;

use std::cell::OnceCell;
use std::ffi::OsString;
use std::path::Path;

use rustix::thread::UnshareFlags;

use super::client::Client;
use super::facts::Unusable;
use super::image::ImageFacts;
use super::{Engine, EngineRecord, ExecSpec, Kind, OnCreated, Sandbox};
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::policy::Network;
use crate::session::Record;
use crate::ui::Ui;

pub use home::{
    layer as home_layer, orphans as orphaned_home_layers, remove_layer as remove_home_layer, remove_orphan,
};

/// The built-in engine.
#[derive(Debug)]
pub struct Native {
    kernel: String,
    /// Why the home cannot be copy-on-write, once somebody has asked.
    read_only: OnceCell<Option<String>>,
}

impl Native {
    /// Needs nothing but a kernel that lets us make namespaces, which starting one will show.
    pub fn open() -> Result<Self, Unusable> {
        let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
        let is_root = rustix::process::geteuid().is_root();
        let of_users =
            [("kernel/unprivileged_userns_clone", "0"), ("kernel/apparmor_restrict_unprivileged_userns", "1")];
        let of_all = [("user/max_user_namespaces", "0")];
        for (file, blocked) in of_all.into_iter().chain(of_users.into_iter().filter(|_| !is_root)) {
            let value = std::fs::read_to_string(format!("/proc/sys/{file}")).unwrap_or_default();
            if value.trim() == blocked {
                return Err(format!("user namespaces are closed to you ({} = {blocked})", file.replace('/', ".")));
            }
        }
        Ok(Self { kernel, read_only: OnceCell::new() })
    }
}

impl Native {
    fn why_read_only(&self) -> Option<&str> {
        self.read_only.get_or_init(home::why_read_only).as_deref()
    }
}

impl Engine for Native {
    fn record(&self) -> EngineRecord {
        let rootless = !rustix::process::geteuid().is_root();
        EngineRecord { kind: Kind::Native, version: self.kernel.clone(), rootless }
    }

    fn describe(&self) -> String {
        let mode = if rustix::process::geteuid().is_root() { "as root" } else { "rootless" };
        format!("native, Linux {} ({mode}, overlay)", self.kernel)
    }

    fn prepare(&self, plan: &mut Plan, ui: &Ui) -> Result<()> {
        if let Some(image) = &plan.image {
            return Err(Error::new(format!(
                "the native engine runs on this system's own files and cannot use the image {}",
                crate::ui::sanitize::text(image)
            ))
            .hint("use `--engine podman` or `--engine docker`, or leave the image out"));
        }
        if let Some(runtime) = &plan.runtime {
            return Err(Error::new(format!(
                "the native engine has no OCI runtime, so not `{}`",
                crate::ui::sanitize::text(runtime)
            ))
            .hint("use `--engine podman` or `--engine docker`"));
        }
        check_user(plan.user.as_deref())?;
        if !plan.limits.is_empty() {
            cgroup::check(&plan.limits)?;
        }
        if let Some(reason) = self.why_read_only() {
            ui.warn(&format!("your home is shown read-only: {reason}"));
        } else if let Some(reason) = home::why_in_memory(&plan.private_dirs.first().cloned().unwrap_or_default()) {
            ui.warn(&format!("changes of your home are kept in memory only: {reason}"));
        }
        Ok(())
    }

    fn client(&self) -> Option<&Client> {
        None
    }

    fn image_facts(&self, _name: &str) -> Result<Option<ImageFacts>> {
        Ok(None)
    }

    fn start(&self, plan: &Plan, _container: &str, created: OnCreated<'_>) -> Result<Box<dyn Sandbox>> {
        sandbox::start(plan, self.why_read_only().is_some(), created)
    }

    fn is_ready(&self, _container: &str) -> bool {
        // `start` returns when the sandbox is complete.
        true
    }

    fn exec(&self, record: &Record, spec: &ExecSpec<'_>) -> Result<Box<dyn Sandbox>> {
        enter::start(record, spec)
    }

    fn exec_prefix(&self, record: &Record) -> Result<Vec<OsString>> {
        // There is no other client than ourselves.
        let own = std::env::current_exe()
            .map_err(|e| Error::new(format!("cannot tell where cowbox is: {}", crate::error::reason(&e))))?;
        let mut words = vec![own.into_os_string()];
        words.extend(["exec", record.id.as_str(), "--"].map(Into::into));
        Ok(words)
    }

    fn sweep(&self, record: &Record) -> Result<()> {
        if let Some(init) = record.incarnation.as_ref().and_then(|i| i.init.as_ref()) {
            init.signal(rustix::process::Signal::KILL);
            cgroup::remove(record.id.as_str());
        }
        Ok(())
    }

    fn reclaim(&self, _dir: &Path) -> Result<()> {
        Ok(())
    }
}

/// The same id inside; or root inside, which is the same id under another name.
fn check_user(user: Option<&str>) -> Result<()> {
    let Some(user) = user else { return Ok(()) };
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let name = super::passwd::by_uid(uid).map(|e| e.name);
    let own = user == uid.to_string() || user == format!("{uid}:{gid}") || name.as_deref() == Some(user);
    if own || is_root_user(user) {
        return Ok(());
    }
    Err(Error::new(format!(
        "the native engine cannot run as `{}`: inside you are yourself",
        crate::ui::sanitize::text(user)
    ))
    .hint("leave `--user` out, use `--user root`, or an engine with images"))
}

/// Whether `--user` asks for root.
fn is_root_user(user: &str) -> bool {
    matches!(user, "root" | "0" | "0:0")
}

/// The namespaces of a sandbox: made by `sandbox`, joined by `enter`.
fn namespaces(network: Network) -> UnshareFlags {
    let own = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    if network == Network::None { own | UnshareFlags::NEWNET } else { own }
}

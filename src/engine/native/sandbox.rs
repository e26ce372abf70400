//! The parent's side of a native sandbox.

use std::path::{Path, PathBuf};

use rustix::fs::Access;
use rustix::pipe::{PipeFlags, pipe_with};

use super::confine::command_or_shell;
use super::init::Init;
use super::live::Live;
use super::root::{Home, Root};
use super::{cgroup, home, ids, namespaces, sockets, streams};
use crate::engine::idmap::Writing;
use crate::engine::{OnCreated, Sandbox};
use crate::error::{Error, Result, reason, show};
use crate::layer::create;
use crate::plan::{Overlay, Plan};
use crate::session::liveness::ProcessId;
use crate::sys::process::{Side, fork_into};

/// Starts it; returns when it is complete and its command may run. `read_only`: the home cannot be copy-on-write.
pub fn start(plan: &Plan, read_only: bool, created: OnCreated<'_>) -> Result<Box<dyn Sandbox>> {
    let os = |e: rustix::io::Errno| Error::new(format!("cannot start the sandbox: {}", reason(&e.into())));
    let (outside, inside) = streams::make(plan.terminal)?;
    let root = root(plan, read_only)?;
    let home = root.home.as_ref().and_then(|home| Some((home.lowers(), home.layer.clone()?)));
    let init = Init {
        root,
        command: command_or_shell(&plan.argv(), &plan.env),
        env: plan.env.clone(),
        network: plan.network,
        workdir: plan.workdir.clone(),
        streams: inside,
    };
    let map = ids::of(plan);
    let group =
        if plan.limits.is_empty() { None } else { Some(cgroup::Group::create(&plan.session_dir, &plan.limits)?) };
    let (go_reader, go) = pipe_with(PipeFlags::CLOEXEC).map_err(os)?;
    let (status, status_writer) = pipe_with(PipeFlags::CLOEXEC).map_err(os)?;

    let pid = match fork_into(namespaces(plan.network)) {
        Ok(Side::Child) => init.run(go_reader, status_writer),
        Ok(Side::Parent(pid)) => pid,
        Err(e) => {
            return Err(Error::new(format!("the kernel refuses a user namespace: {}", reason(&e)))
                .hint("`cowbox doctor` tells how to allow it"));
        }
    };
    drop((go_reader, status_writer));
    let mut sandbox = Live::new(pid, &plan.command, status);
    sandbox.group = group;
    // From here on dropping it ends the child. While the helpers work, so do we and pid 1.
    let writing = map.begin(pid);
    make_home_layer(home, &plan.session_dir)?;
    // Helpers that fail leave the map unwritten, and a single id needs none.
    if let Err(error) = writing.and_then(Writing::finish)
        && (!map.has_range() || map.single().write(pid).is_err())
    {
        return Err(error.hint("`cowbox doctor` tells how to allow user namespaces"));
    }
    if let Some(group) = &sandbox.group {
        group.add(pid)?;
    }
    rustix::io::write(&go, b"1").map_err(os)?;
    sandbox.expect_ready()?;
    sandbox.relay = Some(outside.connect()?);
    created(Some(ProcessId::of(pid.as_raw_pid())))?;
    rustix::io::write(&go, b"2").map_err(os)?;
    Ok(Box::new(sandbox))
}

fn root(plan: &Plan, read_only: bool) -> Result<Root> {
    let homes = home::directories();
    let home = match homes.first() {
        Some(path) => {
            let layer = home::layer(&plan.session_dir).filter(|_| !read_only);
            Some(Home { path: path.clone(), prepared: plan.home_layer.clone(), layer, read_only })
        }
        None => None,
    };
    // Relative to every home that the user has: HOME may point elsewhere for once.
    let absolute = |path: &PathBuf| match path.is_absolute() {
        true => vec![path.clone()],
        false => homes.iter().map(|home| home.join(path)).collect(),
    };
    let mut masked: Vec<PathBuf> = plan.masked.iter().flat_map(absolute).collect();
    masked.extend(plan.private_dirs.iter().cloned());
    masked.extend(sockets::listening());
    // Each mount costs every start some time; what is closed to us is closed to the command as well.
    let open = |path: &PathBuf, how| rustix::fs::access(path, how).is_ok();
    masked.retain(|path| {
        open(path, Access::EXISTS)
            && [Access::READ_OK, Access::WRITE_OK, Access::EXEC_OK].into_iter().any(|how| open(path, how))
    });
    // Where a link leads is decided here: inside, it may be one of the sandbox's making.
    let real: Vec<PathBuf> = masked.iter().filter_map(|path| path.canonicalize().ok()).collect();
    masked.extend(real);
    masked.sort();
    masked.dedup();
    unmask_what_was_asked_for(plan, &mut masked)?;
    Ok(Root {
        overlays: plan.overlays(),
        home,
        binds: plan.binds().map(|(m, ro)| (m.source.clone(), m.target.clone(), ro)).collect(),
        masked,
        as_root: rustix::process::geteuid().is_root(),
    })
}

/// A mount of the user's right over a hidden path was asked for. Anything else inside of one, the
/// repo itself included, could only be shown by showing the rest as well.
fn unmask_what_was_asked_for(plan: &Plan, masked: &mut Vec<PathBuf>) -> Result<()> {
    masked.retain(|path| !plan.mounts.iter().any(|m| m.target == *path));
    for overlay in plan.overlays() {
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        if let Some(hidden) = masked.iter().find(|path| overlay.target.starts_with(real(path)) && path.is_dir()) {
            return Err(Error::new(format!(
                "{} lies in {}, which is hidden from sandboxes",
                show(&overlay.target),
                show(hidden)
            ))
            .hint("take it off the list `native.mask` in config.toml, or use podman or docker"));
        }
    }
    Ok(())
}

fn make_home_layer(home: Option<(Vec<PathBuf>, PathBuf)>, session_dir: &Path) -> Result<()> {
    let Some((lowers, layer)) = home else { return Ok(()) };
    let (upper, work) = (layer.join("upper"), layer.join("work"));
    create::layers(&Overlay { lowers, target: PathBuf::new(), upper, work, volatile: true })?;
    if layer.starts_with(session_dir) {
        return Ok(());
    }
    // It lies elsewhere, and must go with its session.
    home::sign(&layer, session_dir).map_err(|e| Error::io("write", &layer, e))
}

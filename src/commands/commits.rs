//! `cowbox apply --commits`: commits made inside, as a new branch on the host.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::AsFd;

use rustix::process::{Resource, Rlimit, WaitOptions, setrlimit, waitpid};
use rustix::thread::UnshareFlags;

use super::context::Context;
use super::heal::Word;
use super::remember;
use crate::apply::commits::{PACK_LIMIT, PackRequest, Request, import};
use crate::cli::{self, Verb};
use crate::engine::Engine;
use crate::error::{Error, Kind, Result, reason, show};
use crate::plan::Plan;
use crate::process::supervise;
use crate::session::repos::RepoState;
use crate::session::{Session, record};
use crate::settings::RunSettings;
use crate::sys::process::{Side, exit_now, fork_into};
use crate::ui::sanitize;

/// Brings the commits in; the session's lock is held.
pub fn bring_in(context: &Context<'_>, session: &mut Session, branch: Option<&str>, word: Word) -> Result<u8> {
    let repo = session.record.repo.0.clone();
    let repo_lock = RepoState::new(&context.places.state, &repo).lock()?;
    context.heal_session(session, &repo_lock, word)?;
    let branch = branch.map_or_else(|| format!("cowbox/{}", session.name()), str::to_owned);
    let request = Request { root: &repo, session_dir: session.dir(), branch: &branch };
    let inside: &Session = session;
    let made = import(&request, &mut |request, out| pack(context, inside, request, out))?;
    if made.is_empty() {
        context.ui.say(&format!("no commits were made in session {}", session.name()));
        return Ok(0);
    }
    for one in &made {
        let place = match one.repo.as_os_str().is_empty() {
            true => String::new(),
            false => format!(" of submodule {}", show(&one.repo)),
        };
        let s = if one.count == 1 { "" } else { "s" };
        context.ui.say(&format!("{} commit{s} on the new branch {}{place}", one.count, sanitize::text(&one.branch)));
        let event = format!("commits: {} on {}", one.count, one.branch);
        session.record.history.push(record::HistoryEntry::now(event));
    }
    session.save()?;
    Ok(0)
}

/// Has git inside the sandbox write a pack. It gets no network, and only the pack comes out.
fn pack(context: &Context<'_>, session: &Session, request: &PackRequest, out: &mut File) -> Result<()> {
    let failed = |e: std::io::Error| Error::new(format!("cannot pack the commits inside: {}", reason(&e)));
    let engine = context.engine(session)?;
    let plan = plan(context, session, request, engine.as_ref())?;
    let mut stdin = tempfile::tempfile_in(session.dir()).map_err(failed)?;
    stdin.write_all(&request.stdin).and_then(|()| stdin.rewind()).map_err(failed)?;
    let code = match fork_into(UnshareFlags::empty()).map_err(failed)? {
        Side::Child => {
            let _ = setrlimit(Resource::Fsize, Rlimit { current: Some(PACK_LIMIT), maximum: Some(PACK_LIMIT) });
            let streams =
                rustix::stdio::dup2_stdin(stdin.as_fd()).and_then(|()| rustix::stdio::dup2_stdout(out.as_fd()));
            let code = match streams {
                Ok(()) => inside(&plan, engine.as_ref(), session),
                Err(_) => Kind::NotStarted.exit_code(),
            };
            exit_now(i32::from(code))
        }
        Side::Parent(child) => waitpid(Some(child), WaitOptions::empty())
            .map_err(|e| failed(e.into()))?
            .and_then(|(_, status)| status.exit_status()),
    };
    match code {
        Some(0) => Ok(()),
        Some(127) => Err(Error::new("there is no git in the sandbox to pack the commits with")
            .hint("use an image with git; the files themselves can be applied without it: `cowbox apply`")),
        _ => Err(Error::new("git inside the sandbox could not pack the commits").hint("`git fsck` inside tells why")),
    }
}

fn inside(plan: &Plan, engine: &dyn Engine, session: &Session) -> u8 {
    let go = || -> Result<u8> {
        let signals = supervise::watch()?;
        crate::layer::create::of_plan(plan)?;
        let container = format!("cowbox-{}-pack", session.record.id.as_str().to_lowercase());
        let mut sandbox = engine.start(plan, &container, &mut |_| Ok(()))?;
        Ok(supervise::wait(sandbox.as_mut(), &signals, None)?.code)
    };
    go().unwrap_or_else(|error| error.exit_code())
}

/// The session's own sandbox, for another command.
fn plan(context: &Context<'_>, session: &Session, request: &PackRequest, engine: &dyn Engine) -> Result<Plan> {
    let workspace = session.record.workspace();
    let mut words: Vec<OsString> = ["cowbox", "run", "--network", "none", "--", "git", "-C"].map(Into::into).to_vec();
    words.push(workspace.join(&request.repo).into_os_string());
    words.extend(request.args.iter().cloned());
    let args = match cli::parse(&words).map(|cli| cli.verb) {
        Ok(Verb::Run(args)) => args,
        _ => return Err(Error::new("the command for the pack cannot be read")),
    };
    let settings = RunSettings::resolve(&args, &context.places, context.ui)?;
    let mut plan = remember::plan_again(session, &args, &settings)?;
    plan.private_dirs = vec![context.places.state.clone(), context.places.cache.clone()];
    plan.workdir = workspace;
    plan.terminal = false;
    engine.prepare(&mut plan, context.ui)?;
    Ok(plan)
}

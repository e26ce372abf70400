//! One repository's commits on their way from a session to the host.

use std::fs::File;
use std::path::Path;

use super::git::HostGit;
use super::names::Named;
use super::quarantine::{Quarantine, input};
use super::{Imported, PackRequest, Packer, Request, revisions};
use crate::error::{Error, Result};
use crate::git::Id;
use crate::git::commits::Walk;
use crate::git::object::Objects;
use crate::git::place::GitPlace;
use crate::git::refs::Refs;
use crate::git::view::View;

/// Commits that are checked and wait in quarantine.
pub(super) struct Arrival {
    place: GitPlace,
    branches: Vec<Named>,
    quarantine: Quarantine,
    /// What there will be to say.
    pub(super) imported: Vec<Imported>,
}

impl Arrival {
    /// Has the pack made inside, and checks all of it. Writes nothing to the host's repository.
    pub(super) fn new(
        git: &HostGit,
        request: &Request<'_>,
        place: GitPlace,
        branches: Vec<Named>,
        walk: &Walk,
        pack: Packer<'_>,
    ) -> Result<Self> {
        let hash = place.format()?;
        let quarantine = Quarantine::new(request.session_dir, &place.host, hash)?;
        let tips: Vec<Id> = branches.iter().map(|named| named.id).collect();
        let args = ["pack-objects", "--revs", "--stdout", "--thin", "--delta-base-offset", "-q"];
        let wanted = PackRequest {
            repo: place.repo.clone(),
            args: args.map(Into::into).to_vec(),
            stdin: revisions(&tips, &walk.boundary),
        };
        let mut file = quarantine.pack_file()?;
        pack(&wanted, &mut file)?;
        quarantine.receive(git, file)?;
        let known = known(&place)?;
        let mut objects = Objects::new(hash);
        objects.add_host(&quarantine.objects())?;
        for tip in &tips {
            if objects.commit(tip)?.is_none() {
                return Err(Error::new(format!("the session's pack does not hold its commit {tip}")));
            }
        }
        quarantine.check_connected(git, &tips, &known)?;
        let mut imported = Vec::new();
        for named in &branches {
            imported.push(Imported {
                repo: place.repo.clone(),
                branch: String::from_utf8_lossy(&named.branch).into_owned(),
                tip: named.id.to_string(),
                count: quarantine.count(git, named.id, &known)?,
            });
        }
        Ok(Self { place, branches, quarantine, imported })
    }

    /// Hands the objects to the host's repository. They are not reachable yet.
    pub(super) fn move_in(&self, git: &HostGit) -> Result<()> {
        for path in self.quarantine.packs()? {
            let pack = File::open(&path).map_err(|e| Error::io("read", &path, e))?;
            git.run(&self.place.host, &["index-pack", "--stdin", "--strict"], Some(pack))
                .map_err(|e| e.context("the repository does not take the session's commits"))?;
        }
        Ok(())
    }

    /// Makes all branches or none; one that exists is never moved.
    pub(super) fn make_branches(&self, git: &HostGit, scratch: &Path) -> Result<()> {
        self.update(git, scratch, "create")
            .map_err(|e| e.context("cannot make the branch").hint("choose another with `--commits=BRANCH`"))
    }

    /// Takes the branches back, if they are still where they were put.
    pub(super) fn remove_branches(&self, git: &HostGit, scratch: &Path) {
        // The first failure is what is reported; a branch too many does no harm.
        let _ = self.update(git, scratch, "delete");
    }

    fn update(&self, git: &HostGit, scratch: &Path, verb: &str) -> Result<()> {
        let mut text = Vec::new();
        for named in &self.branches {
            text.extend_from_slice(format!("{verb} ").as_bytes());
            text.extend_from_slice(&named.full());
            text.extend_from_slice(format!("\0{}\0", named.id).as_bytes());
        }
        let args = ["update-ref", "--create-reflog", "-m", "cowbox: imported from a session", "--stdin", "-z"];
        git.run(&self.place.host, &args, Some(input(scratch, &text)?)).map(drop)
    }
}

/// What the host's refs point to, and is there.
fn known(place: &GitPlace) -> Result<Vec<Id>> {
    let refs = Refs::new(View::host(&place.host), &place.worktree, place.format()?);
    let mut ids: Vec<Id> = refs.below("refs")?.into_values().chain(refs.head()?.id).collect();
    ids.sort();
    ids.dedup();
    let objects = Objects::of_host(&place.dirs())?;
    let mut known = Vec::new();
    for id in ids {
        if objects.contains(&id)? {
            known.push(id);
        }
    }
    Ok(known)
}

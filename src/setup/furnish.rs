//! What is made ready inside before the first step: the user's own account, and places for volumes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::make::Maker;
use super::plan::{MountKind, SetupPlan};
use super::quote::quote;
use super::room::Room;
use crate::error::{Error, Kind, Result};
use crate::ui::sanitize;

/// A big home takes its time.
const LIMIT: Duration = Duration::from_secs(300);
/// Before the answer, for an image may have its shell say other things.
const MARK: &str = "cowbox-home:";

/// Gives the account `name` of the image the ids that steps run with, as the reference does it: passwd, group and
/// home. Where somebody else has that id already, only the home changes hands. Returns the home.
pub fn adopt(maker: &Maker<'_>, room: &mut Room<'_>, name: &str) -> Result<PathBuf> {
    let (uid, gid) = maker.user.and_then(|user| user.split_once(':')).unwrap_or(("0", "0"));
    let script = format!(
        r#"n={name} u={uid} g={gid} home= taken= old= passwd= group=
while IFS= read -r l; do
  IFS=: read -r a p i j c h s <<E
$l
E
  [ "$i" = "$u" ] && [ "$a" != "$n" ] && taken=1
  [ "$a" = "$n" ] && home=$h old=$j l="$a:$p:$u:$g:$c:$h:$s"
  passwd="$passwd$l
"
done </etc/passwd
[ -n "$home" ] || {{ echo {MARK}; exit; }}
while IFS= read -r l; do
  IFS=: read -r a p i m <<E
$l
E
  [ "$i" = "$g" ] && [ "$i" != "$old" ] && old=
  [ -n "$old" ] && [ "$i" = "$old" ] && l="$a:$p:$g:$m"
  group="$group$l
"
done </etc/group
[ -n "$taken" ] || {{ printf %s "$passwd" >/etc/passwd; [ -z "$old" ] || printf %s "$group" >/etc/group; }}
[ ! -d "$home" ] || chown -R "$u:$g" "$home"
echo "{MARK}$home""#,
        name = quote(name)
    );
    let answer = as_root(maker).ask(room, &script, Some(LIMIT))?;
    let home = answer.lines().find_map(|line| line.strip_prefix(MARK)).unwrap_or_default();
    if home.is_empty() {
        return Err(Error::of(Kind::NotStarted, format!("the image has no user `{}`", sanitize::text(name)))
            .hint("`remoteUser` in devcontainer.json must name a user of the image, or `--user UID:GID` another one"));
    }
    Ok(PathBuf::from(home))
}

/// Has a directory where a volume is asked for: the user's own, as it lives on the container's disk or in the workspace.
pub fn places(maker: &Maker<'_>, room: &mut Room<'_>, setup: &SetupPlan) -> Result<()> {
    let volumes = setup.mounts.iter().filter(|mount| mount.what == MountKind::Volume).map(|mount| &mount.target);
    let (within, beyond): (Vec<&String>, Vec<&String>) =
        volumes.partition(|target| Path::new(target).starts_with(maker.mount));
    let words = |targets: &[&String]| targets.iter().map(|target| quote(target)).collect::<Vec<_>>().join(" ");
    if !within.is_empty() {
        maker.ask(room, &format!("mkdir -p {}", words(&within)), Some(LIMIT))?;
    }
    if !beyond.is_empty() {
        let owner = quote(maker.user.unwrap_or("0:0"));
        let script = format!(
            "for d in {}; do [ -d \"$d\" ] || {{ mkdir -p \"$d\" && chown {owner} \"$d\"; }}; done",
            words(&beyond)
        );
        as_root(maker).ask(room, &script, Some(LIMIT))?;
    }
    Ok(())
}

/// The image's files are root's; the workspace may be closed to it.
fn as_root<'a>(maker: &Maker<'a>) -> Maker<'a> {
    Maker {
        ui: maker.ui,
        user: Some("0:0"),
        env: maker.env,
        mount: Path::new("/"),
        folder: Path::new("/"),
        secrets: maker.secrets,
        logs: maker.logs,
    }
}

//! Downloads of package managers, kept for the next time that the same repo is prepared.
//!
//! One directory a repo: what runs during a setup may write anything there, and must not reach other repos.

use std::path::Path;

use super::detect::{CachePlace, PackageCache};
use super::downloads::{self, InUse};
use super::make::Maker;
use super::quote;
use super::room::Room;
use crate::error::{Error, Result};
use crate::plan::Mount;
use crate::policy::environment::Environment;
use crate::policy::mounts::Access;

/// Where it is mounted while steps run.
const INSIDE: &str = "/.cowbox/packages";

/// The downloads of one repo.
#[derive(Debug)]
pub struct Packages {
    /// None where the tools have their own.
    place: Option<InUse>,
    caches: Vec<PackageCache>,
}

impl Packages {
    /// Those of a repo; native uses the user's own ones, copy-on-write.
    pub fn new(cache: &Path, repo: &Path, caches: &[PackageCache], native: bool) -> Result<Self> {
        if native || caches.is_empty() {
            return Ok(Self { place: None, caches: Vec::new() });
        }
        let place = downloads::use_of(cache, repo)?;
        for cache in caches {
            let dir = place.dir.join(cache.tool);
            std::fs::create_dir_all(&dir).map_err(|e| Error::io("create", &dir, e))?;
        }
        Ok(Self { place: Some(place), caches: caches.to_vec() })
    }

    /// How it gets inside.
    pub fn mount(&self) -> Option<Mount> {
        let source = self.place.as_ref()?.dir.clone();
        Some(Mount { source, target: INSIDE.into(), access: Access::Rw })
    }

    /// Tells the tools.
    pub fn add_to(&self, env: &mut Environment) {
        for cache in &self.caches {
            if let CachePlace::Variable(name) = cache.place {
                env.set(name, format!("{INSIDE}/{}", cache.tool));
            }
            cache.env.iter().for_each(|(name, value)| env.set(*name, *value));
        }
    }

    /// Brings back what tools use in place.
    pub fn restore(&self, maker: &Maker<'_>, room: &mut Room<'_>) -> Result<()> {
        self.copy(maker, room, |kept, place| format!("mkdir -p {place} && cp -a {kept}/. {place}/"))
    }

    /// Keeps it for the next time.
    pub fn save(&self, maker: &Maker<'_>, room: &mut Room<'_>) -> Result<()> {
        self.copy(maker, room, |kept, place| format!("mkdir -p {kept} && cp -a {place}/. {kept}/"))
    }

    fn copy(&self, maker: &Maker<'_>, room: &mut Room<'_>, how: impl Fn(&str, &str) -> String) -> Result<()> {
        let mut script = String::new();
        for cache in &self.caches {
            let CachePlace::Store { variable, home, parts, .. } = cache.place else { continue };
            let place = match variable {
                Some(name) => format!("${{{name}:-$HOME/{home}}}"),
                None => format!("$HOME/{home}"),
            };
            let parts: &[&str] = if parts.is_empty() { &["."] } else { parts };
            for part in parts {
                let kept = quote::quote(&format!("{INSIDE}/{}/{part}", cache.tool));
                let place = format!("\"{place}/{part}\"");
                script.push_str(&format!("{{ {} ; }} 2>/dev/null || :\n", how(&kept, &place)));
            }
        }
        if script.is_empty() {
            return Ok(());
        }
        // Only a convenience: without it everything is fetched again.
        maker.ask(room, &script, None).map(drop)
    }
}

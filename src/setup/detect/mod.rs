//! What a repo needs, told from its manifests and lock files. Nothing is run and nothing is walked: the root
//! is looked at, and one level below it only if the root has nothing.

mod caches;
mod cmake;
mod deno;
mod dotnet;
mod elixir;
mod go;
mod gradle;
mod maven;
mod node;
mod php;
mod places;
mod python;
mod recipe;
mod ruby;
mod rust;
mod unprepared;

use std::collections::BTreeSet;
use std::path::PathBuf;

pub use caches::{CachePlace, PackageCache};

use super::files::RepoFiles;
use super::pins;
use super::plan::{Runtime, Step};
use super::project::Project;
use recipe::Recipe;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detected {
    /// Per ecosystem: what installs, then what checks that it worked.
    pub steps: Vec<Step>,
    /// The runtimes that the steps need, with the version that the repo asks for.
    pub runtimes: Vec<Runtime>,
    /// Files that decided it, relative to the repo.
    pub inputs: Vec<PathBuf>,
    /// What the user should know, one line each.
    pub notices: Vec<String>,
    /// Where the tools keep what they download.
    pub caches: Vec<PackageCache>,
}

type Reader = fn(&Project<'_>) -> Option<Recipe>;

const ECOSYSTEMS: &[Reader] = &[
    python::read,
    node::read,
    deno::read,
    rust::read,
    go::read,
    ruby::read,
    maven::read,
    gradle::read,
    php::read,
    elixir::read,
    dotnet::read,
    cmake::read,
];

/// Looks at a repo.
pub fn detect(files: &RepoFiles) -> Detected {
    let mut found = Collector::default();
    let root = Project::new(files, "");
    if !found.read(&root, None) {
        let below = places::below(&root);
        for dir in &below.dirs {
            let project = Project::new(files, dir);
            found.read(&project, Some(&root));
            found.keep(project);
        }
        if below.more > 0 {
            root.notice(format!("{} more directories have projects and were not prepared", below.more));
        }
    }
    unprepared::read(&root, found.detected.steps.is_empty());
    found.keep(root);
    found.finish()
}

#[derive(Default)]
struct Collector {
    detected: Detected,
    inputs: BTreeSet<PathBuf>,
}

impl Collector {
    /// Asks every ecosystem about one directory; whether any of them is there.
    fn read(&mut self, project: &Project<'_>, root: Option<&Project<'_>>) -> bool {
        let recipes: Vec<Recipe> = ECOSYSTEMS.iter().filter_map(|reader| reader(project)).collect();
        for recipe in &recipes {
            self.detected.steps.extend(recipe.steps(project));
            for name in &recipe.runtimes {
                let pinned = pins::of(name, project).or_else(|| root.and_then(|root| pins::of(name, root)));
                let runtime = pinned.unwrap_or_else(|| unpinned(name, project.path(&recipe.evidence)));
                add(&mut self.detected.runtimes, runtime);
            }
            for cache in &recipe.caches {
                add(&mut self.detected.caches, *cache);
            }
        }
        !recipes.is_empty()
    }

    fn keep(&mut self, project: Project<'_>) {
        let (inputs, notices) = project.into_found();
        self.inputs.extend(inputs);
        for notice in notices {
            add(&mut self.detected.notices, notice);
        }
    }

    fn finish(mut self) -> Detected {
        self.detected.inputs = self.inputs.into_iter().collect();
        self.detected
    }
}

fn unpinned(name: &str, from: PathBuf) -> Runtime {
    Runtime { name: name.to_owned(), version: None, floor: false, from }
}

fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

#[cfg(test)]
mod tests;

//! .NET: restores the solution, or each project where there is none.

use super::caches;
use super::recipe::Recipe;
use crate::setup::project::Project;
use crate::setup::quote::quote;

/// Projects without a solution that are restored.
const MOST_PROJECTS: usize = 8;

pub(super) fn read(project: &Project<'_>) -> Option<Recipe> {
    let solution = [".sln", ".slnx"].iter().find_map(|end| project.ending(end).next());
    let projects = [".csproj", ".fsproj", ".vbproj"].into_iter().flat_map(|end| project.ending(end));
    // Without a name dotnet refuses to choose between several.
    let named: Vec<&str> = match solution {
        Some(solution) => vec![solution],
        None => projects.take(MOST_PROJECTS).collect(),
    };
    let first = *named.first()?;
    project.remember(&["nuget.config", "NuGet.config", "Directory.Packages.props", "Directory.Build.props"]);
    let locked = project.has("packages.lock.json");
    let each = |before: &str, after: &str| {
        let command = |file: &&str| format!("dotnet {before} {}{after}", quote(&format!("./{file}")));
        named.iter().map(command).collect::<Vec<_>>().join(" && ")
    };
    let unlocked = each("restore", "");
    Some(Recipe {
        name: "dotnet",
        evidence: first.to_owned(),
        needs: "dotnet",
        install: if locked { vec![each("restore", " --locked-mode"), unlocked] } else { vec![unlocked] },
        // Code that does not compile is no fault of the environment.
        verify: vec![each("build", " --no-restore --nologo -v:q"), "dotnet --version".to_owned()],
        env: vec![
            ("DOTNET_CLI_TELEMETRY_OPTOUT", "1"),
            ("DOTNET_NOLOGO", "1"),
            ("DOTNET_SKIP_FIRST_TIME_EXPERIENCE", "1"),
        ],
        runtimes: vec!["dotnet"],
        caches: vec![caches::NUGET],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::project::testing::Repo;

    fn of(files: &[(&str, &str)]) -> Recipe {
        read(&Project::new(&Repo::of(files).files(), "")).unwrap()
    }

    #[test]
    fn the_solution_is_restored_else_each_project() {
        assert_eq!(of(&[("b.sln", ""), ("a.csproj", "")]).install, ["dotnet restore ./b.sln"]);
        let both = of(&[("a b.csproj", ""), ("-c.fsproj", ""), ("packages.lock.json", "{}")]);
        let strict = "dotnet restore './a b.csproj' --locked-mode && dotnet restore ./-c.fsproj --locked-mode";
        assert_eq!(both.install, [strict, "dotnet restore './a b.csproj' && dotnet restore ./-c.fsproj"]);
    }
}

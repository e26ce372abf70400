use std::path::Path;

use super::*;
use crate::setup::plan::{Hook, StepCommand};
use crate::setup::project::testing::Repo;

fn of(files: &[(&str, &str)]) -> Detected {
    detect(&Repo::of(files).files())
}

fn names(detected: &Detected) -> Vec<(&str, Hook)> {
    detected.steps.iter().map(|step| (step.name.as_deref().unwrap(), step.hook)).collect()
}

#[test]
fn every_ecosystem_of_a_repo_is_installed_and_then_checked() {
    let detected = of(&[
        ("requirements.txt", ""),
        ("package.json", "{}"),
        ("deno.lock", "{}"),
        ("Cargo.toml", ""),
        ("go.mod", ""),
        ("Gemfile", ""),
        ("pom.xml", ""),
        ("composer.json", "{}"),
        ("mix.exs", ""),
        ("a.sln", ""),
        ("CMakeLists.txt", ""),
    ]);
    let ecosystems = ["python", "node", "deno", "rust", "go", "ruby", "maven", "php", "elixir", "dotnet", "cmake"];
    let expected: Vec<_> = ecosystems.iter().flat_map(|name| [(*name, Hook::Install), (*name, Hook::Verify)]).collect();
    assert_eq!(names(&detected), expected);
    let runtimes: Vec<_> = detected.runtimes.iter().map(|runtime| runtime.name.as_str()).collect();
    let all = ["python", "node", "deno", "rust", "go", "ruby", "java", "php", "elixir", "dotnet", "cpp"];
    assert_eq!(runtimes, all);
    assert!(detected.steps.iter().all(|step| step.env["CI"] == "1" && step.needs.is_some()));
}

#[test]
fn a_step_names_its_evidence_and_runs_in_the_root() {
    let detected = of(&[("package.json", "{}"), ("package-lock.json", "{}")]);
    assert_eq!(detected.steps[0].origin, "package-lock.json");
    assert_eq!(detected.steps[0].dir.as_deref(), Some(Path::new(".")));
    assert_eq!(detected.inputs, [PathBuf::from("package-lock.json"), PathBuf::from("package.json")]);
}

#[test]
fn one_level_down_is_looked_at_only_if_the_root_has_nothing() {
    let below = [("web/package.json", "{}"), ("api/go.mod", "go 1.21\n"), (".nvmrc", "20\n")];
    let detected = of(&below);
    assert_eq!(names(&detected).iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["go", "go", "node", "node"]);
    assert_eq!(detected.steps[2].dir.as_deref(), Some(Path::new("web")));
    assert_eq!(detected.steps[2].origin, "web/package.json");
    // The pin stands in the root.
    assert_eq!(detected.runtimes[1].version.as_deref(), Some("20"));
    assert!(detected.inputs.contains(&PathBuf::from(".nvmrc")));
    let detected = of(&[below.as_slice(), &[("Cargo.toml", "")]].concat());
    assert_eq!(names(&detected)[0].0, "rust");
    assert_eq!(detected.steps.len(), 2);
}

#[test]
fn some_directories_are_never_looked_into() {
    for dir in ["node_modules", "vendor", "examples", "fixtures", "tests", "testdata", ".hidden", "a/b"] {
        assert_eq!(of(&[(&format!("{dir}/package.json"), "{}")]).steps, [], "{dir}");
    }
}

#[test]
fn many_projects_are_cut_and_it_is_said() {
    let names: Vec<String> = (0..12).map(|n| format!("p{n:02}/Cargo.toml")).collect();
    let detected = of(&names.iter().map(|name| (name.as_str(), "")).collect::<Vec<_>>());
    assert_eq!(detected.steps.len(), 16);
    assert_eq!(detected.notices, ["4 more directories have projects and were not prepared"]);
}

#[test]
fn what_is_not_prepared_is_said() {
    assert!(of(&[("pixi.toml", "")]).notices[0].contains("pixi install"));
    assert!(of(&[("meson.build", ""), ("Cargo.toml", "")]).notices.is_empty());
    assert!(of(&[(".gitmodules", ""), ("Cargo.toml", "")]).notices[0].starts_with("submodules"));
}

#[test]
fn a_broken_manifest_is_said_and_the_rest_is_prepared() {
    let detected = of(&[("package.json", "{"), ("Cargo.toml", "")]);
    assert_eq!(detected.notices, ["`package.json` is broken and was not used"]);
    assert_eq!(names(&detected)[0].0, "rust");
}

#[test]
fn every_command_is_something_a_posix_shell_can_read() {
    let detected = of(&[
        ("pyproject.toml", "[project]\nname = \"it's\"\ndependencies = [\"a'b\"]\n[dependency-groups]\ndev = []"),
        ("package.json", r#"{"dependencies": {"a": "1"}, "packageManager": "pnpm@9.0.0"}"#),
        ("Gemfile", ""),
        ("Gemfile.lock", "BUNDLED WITH\n  2.4.1\n"),
        ("it's $(id).csproj", ""),
        ("composer.json", r#"{"config": {"vendor-dir": "it's"}}"#),
        ("go.work", "use ./it's"),
    ]);
    assert_eq!(detected.steps.len(), 12);
    for step in &detected.steps {
        for command in std::iter::once(&step.command).chain(&step.fallbacks) {
            let StepCommand::Shell(text) = command else { panic!("{command:?}") };
            let status = std::process::Command::new("sh").args(["-n", "-c", text]).status().unwrap();
            assert!(status.success(), "{text}");
        }
    }
}

#[test]
fn a_directory_full_of_files_hides_no_manifest() {
    for file in ["Cargo.toml", "api/Cargo.toml"] {
        let repo = Repo::of(&[(file, "")]);
        let dir = repo.path().join(file).parent().unwrap().to_path_buf();
        for n in 0..1000 {
            std::fs::write(dir.join(format!("{n}.txt")), "").unwrap();
        }
        assert_eq!(detect(&repo.files()).steps.len(), 2, "{file}");
    }
}

use super::*;
use crate::setup::project::testing::Repo;

/// `version from`, with `>=` before a floor and `-` for none.
fn pin(runtime: &str, files: &[(&str, &str)]) -> Option<String> {
    let repo = Repo::of(files);
    let files = repo.files();
    let runtime = of(runtime, &Project::new(&files, ""))?;
    let sign = if runtime.floor { ">=" } else { "" };
    Some(format!("{sign}{} {}", runtime.version.as_deref().unwrap_or("-"), runtime.from.display()))
}

/// Each file alone says its part, and of all of them the first counts.
fn in_order(runtime: &str, files: &[(&str, &str, &str)]) {
    for first in 0..files.len() {
        let mut rest: Vec<(&str, &str)> = Vec::new();
        for (name, text, _) in &files[first..] {
            // A file with two things in it is given once, as its stronger part.
            if !rest.iter().any(|(seen, _)| seen == name) {
                rest.push((name, text));
            }
        }
        let (name, _, expected) = files[first];
        assert_eq!(pin(runtime, &rest).as_deref(), Some(format!("{expected} {name}").as_str()));
    }
}

#[test]
fn files_for_all_runtimes_come_first() {
    in_order(
        "node",
        &[
            ("mise.toml", "[tools]\nnode = '21.1'", "21.1"),
            (".mise.toml", "[tools]\nnode = ['20', '18']", "20"),
            (".config/mise.toml", "[tools.node]\nversion = 'lts'", "lts"),
            (".tool-versions", "# x\nruby 3.2\nnodejs 18.17.0 16 # y", "18.17.0"),
            (".nvmrc", "v16", "16"),
        ],
    );
    assert_eq!(pin("java", &[(".tool-versions", "java temurin-21.0.2+13.0.LTS")]).unwrap(), "21.0.2 .tool-versions");
    assert_eq!(pin("go", &[("mise.toml", "[tools]\n'core:go' = 1")]).unwrap(), "1 mise.toml");
    // A file that names other tools says nothing about this one.
    assert_eq!(pin("node", &[("mise.toml", "[tools]\nruby = '3'"), (".nvmrc", "20")]).unwrap(), "20 .nvmrc");
}

#[test]
fn python() {
    in_order(
        "python",
        &[
            (".python-version", "# x\n3.12.1\n3.11\n", "3.12.1"),
            (".python-versions", "3.10", "3.10"),
            ("uv.lock", "version = 1\nrequires-python = \">=3.9\"\n", ">=3.9"),
            ("pyproject.toml", "[project]\nrequires-python = '>=3.8,<3.12'", "3.11"),
            ("Pipfile", "[requires]\npython_version = '3.7'", "3.7"),
            ("runtime.txt", "python-3.6.15", "3.6.15"),
        ],
    );
    let poetry = "[tool.poetry.dependencies]\npython = '^3.11'";
    assert_eq!(pin("python", &[("pyproject.toml", poetry)]).unwrap(), ">=3.11 pyproject.toml");
}

#[test]
fn node() {
    in_order(
        "node",
        &[
            (".nvmrc", "lts/iron\n", "20"),
            (".node-version", "v18.17.0", "18.17.0"),
            ("package.json", r#"{"volta": {"node": "16.1.0"}, "engines": {"node": ">=14"}}"#, "16.1.0"),
        ],
    );
    assert_eq!(pin("node", &[("package.json", r#"{"engines": {"node": ">=14"}}"#)]).unwrap(), ">=14 package.json");
    let dev = r#"{"devEngines": {"runtime": {"name": "node", "version": "^22"}}, "engines": {"node": ">=14"}}"#;
    assert_eq!(pin("node", &[("package.json", dev)]).unwrap(), "22 package.json");
    for (alias, version) in [("lts/*", "lts"), ("node", "latest"), ("stable", "latest"), ("lts/Hydrogen", "18")] {
        assert_eq!(pin("node", &[(".nvmrc", alias)]).unwrap(), format!("{version} .nvmrc"));
    }
}

#[test]
fn rust() {
    in_order(
        "rust",
        &[
            ("rust-toolchain.toml", "[toolchain]\nchannel = '1.80.1'\ncomponents = []", "1.80.1"),
            ("rust-toolchain", "nightly-2024-05-01-x86_64-unknown-linux-gnu\n", "nightly-2024-05-01"),
            ("Cargo.toml", "[package]\nrust-version = '1.75'", ">=1.75"),
        ],
    );
    assert_eq!(pin("rust", &[("rust-toolchain", "[toolchain]\nchannel = 'stable'")]).unwrap(), "stable rust-toolchain");
    assert_eq!(pin("rust", &[("rust-toolchain", "stable-é-日本語文字")]).unwrap(), "stable rust-toolchain");
    assert_eq!(
        pin("rust", &[("Cargo.toml", "[workspace.package]\nrust-version = '1.70'")]).unwrap(),
        ">=1.70 Cargo.toml"
    );
}

#[test]
fn go() {
    assert_eq!(pin("go", &[("go.mod", "module x\n\ngo 1.21\ntoolchain go1.22.1 // x\n")]).unwrap(), "1.22.1 go.mod");
    assert_eq!(
        pin("go", &[("go.mod", "go 1.21.0\ntoolchain default"), (".go-version", "1.20")]).unwrap(),
        ">=1.21.0 go.mod"
    );
    assert_eq!(pin("go", &[("go.work", "go 1.23\n"), ("go.mod", "go 1.21\n")]).unwrap(), ">=1.23 go.work");
    assert_eq!(pin("go", &[("go.mod", "module x\n"), (".go-version", "go1.20.3\n")]).unwrap(), "1.20.3 .go-version");
}

#[test]
fn ruby() {
    in_order(
        "ruby",
        &[
            (".ruby-version", "ruby-3.3.0\n", "3.3.0"),
            ("Gemfile", "source 'x'\nruby \"3.2.2\", engine: 'ruby'\n", "3.2.2"),
            ("Gemfile.lock", "RUBY VERSION\n   ruby 3.1.4p223\n", "3.1.4"),
        ],
    );
    assert_eq!(pin("ruby", &[("Gemfile", "ruby '~> 3.2', '>= 3.2.1' # x")]).unwrap(), ">=3.2.1 Gemfile");
    assert_eq!(pin("ruby", &[("Gemfile", "ruby file: '.ruby-version'\nrubyx '3'")]), None);
}

#[test]
fn java() {
    in_order(
        "java",
        &[
            (".java-version", "temurin-17.0.5+8", "17.0.5"),
            (".sdkmanrc", "# x\njava=21.0.2-tem\n", "21.0.2"),
            (
                "pom.xml",
                "<java.version>11</java.version><maven.compiler.source>${java.version}</maven.compiler.source>",
                ">=11",
            ),
            ("build.gradle.kts", "languageVersion = JavaLanguageVersion.of(19)", "19"),
            ("gradle/wrapper/gradle-wrapper.properties", "distributionUrl=https\\://x/gradle-4.10-bin.zip", "8"),
        ],
    );
    assert_eq!(pin("java", &[(".java-version", "1.8")]).unwrap(), "8 .java-version");
    assert_eq!(pin("java", &[("gradle/wrapper/gradle-wrapper.properties", "gradle-8.5-bin.zip")]), None);
}

#[test]
fn the_others() {
    let php = |text: &str| pin("php", &[("composer.json", text)]).unwrap();
    assert_eq!(php(r#"{"config": {"platform": {"php": "8.1.2"}}, "require": {"php": ">=7"}}"#), "8.1.2 composer.json");
    assert_eq!(php(r#"{"require": {"php": "^7.4|^8.0"}}"#), ">=8.0 composer.json");
    assert_eq!(pin("elixir", &[("mix.exs", "[app: :x, elixir: \"~> 1.14\"]")]).unwrap(), ">=1.14 mix.exs");
    assert_eq!(pin("elixir", &[(".exenv-version", "1.15.7-otp-26")]).unwrap(), "1.15.7-otp-26 .exenv-version");
    assert_eq!(
        pin("dotnet", &[("global.json", "{ // x\n\"sdk\": {\"version\": \"8.0.100\"}}")]).unwrap(),
        "8.0.100 global.json"
    );
    let later = r#"{"sdk": {"version": "8.0.100", "rollForward": "latestMajor"}}"#;
    assert_eq!(pin("dotnet", &[("global.json", later)]).unwrap(), ">=8.0.100 global.json");
    let several = "<TargetFrameworks>netstandard2.0;net48;net6.0;net10.0-windows</TargetFrameworks>";
    assert_eq!(pin("dotnet", &[("a.csproj", several)]).unwrap(), "10.0 a.csproj");
    assert_eq!(pin("deno", &[(".dvmrc", "v1.40.0")]).unwrap(), "1.40.0 .dvmrc");
    assert_eq!(pin("bun", &[("package.json", r#"{"packageManager": "bun@1.1.0"}"#)]).unwrap(), "1.1.0 package.json");
    assert_eq!(pin("cpp", &[("mise.toml", "[tools]\ncpp = '1'")]), None);
}

#[test]
fn what_is_no_version_is_said_and_pins_nothing() {
    for text in ["3.12\u{1b}[31m", "$(id)", "3.12; rm -rf /", "my-env", "lts/none", "3.12 RUN id"] {
        let repo = Repo::of(&[(".python-version", text), (".nvmrc", text)]);
        let files = repo.files();
        for runtime in ["python", "node"] {
            let project = Project::new(&files, "");
            assert_eq!(of(runtime, &project).unwrap().version, None, "{text}");
            let (_, notices) = project.into_found();
            assert!(notices.len() == 1 && notices[0].contains("is not understood") && !notices[0].contains('\u{1b}'));
        }
    }
    let repo = Repo::of(&[(".tool-versions", "python system\n")]);
    let files = repo.files();
    let project = Project::new(&files, "");
    assert_eq!(of("python", &project).unwrap().version, None);
    assert!(project.into_found().1.is_empty());
}

#[test]
fn an_unusable_first_file_is_not_overruled_by_a_weaker_one() {
    assert_eq!(pin("node", &[(".nvmrc", "$(id)"), (".node-version", "18")]).unwrap(), "- .nvmrc");
}

use super::*;
use crate::setup::project::testing::Repo;

fn of(files: &[(&str, &str)]) -> Option<Recipe> {
    read(&Project::new(&Repo::of(files).files(), ""))
}

/// The commands without what gets the program.
fn installs(files: &[(&str, &str)]) -> Vec<String> {
    let recipe = of(files).unwrap();
    recipe.install.iter().map(|command| command.split_once("node_modules && ").unwrap().1.to_owned()).collect()
}

#[test]
fn the_lock_file_says_which_manager() {
    let with = |lock: &str, text: &str| installs(&[("package.json", "{}"), (lock, text)]);
    assert_eq!(with("package-lock.json", "{}"), ["npm ci --no-audit --no-fund", "npm install --no-audit --no-fund"]);
    assert_eq!(with("npm-shrinkwrap.json", "{}")[0], "npm ci --no-audit --no-fund");
    assert_eq!(with("pnpm-lock.yaml", "")[0], "pnpm install --frozen-lockfile --prefer-offline");
    assert_eq!(with("yarn.lock", "# yarn lockfile v1\n")[0], "yarn install --frozen-lockfile --non-interactive");
    assert_eq!(
        with("yarn.lock", "__metadata:\n  version: 8\n"),
        ["yarn install --immutable", "yarn install --no-immutable"]
    );
    assert_eq!(with("bun.lock", "{}")[0], "bun install --frozen-lockfile");
    assert_eq!(with("README", ""), ["npm install --no-audit --no-fund --no-package-lock"]);
}

#[test]
fn the_field_beats_the_lock_file() {
    let manifest = r#"{"packageManager": "pnpm@9.1.0+sha512.abc"}"#;
    let recipe = of(&[("package.json", manifest), ("package-lock.json", "{}")]).unwrap();
    assert!(recipe.install[0].ends_with("&& pnpm install --no-lockfile --prefer-offline"));
    assert!(recipe.install[0].contains(" in 9.*) ;;") && recipe.install[0].contains(" pnpm@9.1.0 ;;"));
    let yarn = |version: &str| {
        let manifest = format!(r#"{{"packageManager": "yarn@{version}"}}"#);
        of(&[("package.json", &manifest), ("yarn.lock", "")]).unwrap().install.remove(0)
    };
    assert!(yarn("1.22.19").ends_with("yarn install --frozen-lockfile --non-interactive"));
    assert!(
        yarn("4.1.0").ends_with("yarn install --immutable") && yarn("4.1.0").contains(" @yarnpkg/cli-dist@4.1.0 ;;")
    );
}

#[test]
fn a_hostile_field_is_not_part_of_a_command() {
    for version in ["9.0.0; id", "$(id)", "9 9", "", "../x", "9.0.0\\nid"] {
        let manifest = format!(r#"{{"packageManager": "pnpm@{version}"}}"#);
        let command = of(&[("package.json", &manifest)]).unwrap().install.remove(0);
        assert!(command.contains(" pnpm@10 ;;") && !command.contains("id"), "{command}");
    }
}

#[test]
fn the_format_of_the_lock_says_which_pnpm() {
    for (format, accepted, package) in [
        ("5.3", "6.*", "pnpm@6"),
        ("5.4", "7.*", "pnpm@7"),
        ("'6.0'", "8.*", "pnpm@8"),
        ("'6.1'", "8.*", "pnpm@8"),
        ("'9.0'", "9.*|1[0-9].*", "pnpm@10"),
    ] {
        let lock = format!("lockfileVersion: {format}\n");
        let command = of(&[("package.json", "{}"), ("pnpm-lock.yaml", &lock)]).unwrap().install.remove(0);
        assert!(command.contains(&format!(" in {accepted}) ;;")), "{command}");
        assert!(command.contains(&format!(" {package} ;;")), "{command}");
        // Left alone, pnpm would put its store into the repo.
        assert!(command.contains("pnpm config set --global store-dir "), "{command}");
    }
}

#[test]
fn yarn_in_the_repo_is_used_as_it_is() {
    let files = [("package.json", "{}"), ("yarn.lock", ""), (".yarnrc.yml", "yarnPath: .yarn/releases/yarn 4.cjs\n")];
    let with_file = [files.as_slice(), &[(".yarn/releases/yarn 4.cjs", "")]].concat();
    let recipe = of(&with_file).unwrap();
    assert_eq!(recipe.install[0], "rm -rf node_modules && node '.yarn/releases/yarn 4.cjs' install --immutable");
    assert!(recipe.verify[0].starts_with("node '.yarn/releases/yarn 4.cjs' node -e "));
    assert!(of(&files).unwrap().install[0].ends_with("&& yarn install --immutable"));
}

#[test]
fn the_first_dependencies_are_looked_for() {
    let manifest = r#"{"dependencies": {"a": "1", "@s/b": "1", "opt": "1", "x'; id": "1", "../up": "1"},
                       "devDependencies": {"c": "1"}, "optionalDependencies": {"opt": "1"}}"#;
    let verify = of(&[("package.json", manifest)]).unwrap().verify.remove(0);
    assert!(verify.contains(r#"["@s/b","a","c"]"#), "{verify}");
    assert_eq!(of(&[("package.json", "{}")]).unwrap().verify, [r#"node -e 'require("./package.json")'"#]);
}

#[test]
fn a_broken_manifest_is_no_project_and_deno_keeps_its_own() {
    assert!(of(&[("package.json", "{"), ("package-lock.json", "{}")]).is_none());
    assert!(of(&[("package.json", "{}"), ("deno.json", "{}")]).is_none());
    assert!(of(&[("package.json", "{}"), ("deno.json", "{}"), ("package-lock.json", "{}")]).is_some());
}

#[test]
fn odd_manifests_are_harmless() {
    for manifest in ["[]", "5", "null", r#"{"dependencies": []}"#, r#"{"packageManager": {}}"#] {
        assert!(of(&[("package.json", manifest)]).is_some(), "{manifest}");
    }
}

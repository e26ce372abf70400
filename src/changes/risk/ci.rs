//! What runs on a build server, and who must review. Losing one of these counts too.

use super::codes::CI;
use super::rule::{Judge, Rule};

const fn runs(pattern: &'static str) -> Rule {
    Rule::new(pattern, Judge::AnyOrGone(CI, "says what a build server runs"))
}

const fn guards(pattern: &'static str) -> Rule {
    Rule::new(pattern, Judge::AnyOrGone(CI, "says who must review, or what is merged by itself"))
}

/// Files by name.
pub(super) const RULES: &[Rule] = &[
    runs(".github/workflows/**"),
    runs(".github/actions/**"),
    runs("action.yml"),
    runs("action.yaml"),
    runs(".forgejo/workflows/**"),
    runs(".gitea/workflows/**"),
    runs(".gitlab-ci.yml"),
    runs("*.gitlab-ci.yml"),
    runs(".gitlab/ci/**"),
    runs(".circleci/**"),
    runs("azure-pipelines*.yml"),
    runs("azure-pipelines*.yaml"),
    runs(".azure-pipelines/**"),
    runs(".azuredevops/**"),
    runs("Jenkinsfile"),
    runs("Jenkinsfile.*"),
    runs("*.jenkinsfile"),
    runs(".buildkite/**"),
    runs(".drone.yml"),
    runs(".drone.star"),
    runs(".drone.jsonnet"),
    runs(".woodpecker.yml"),
    runs(".woodpecker.yaml"),
    runs(".woodpecker/**"),
    runs(".travis.yml"),
    runs("appveyor.yml"),
    runs(".appveyor.yml"),
    runs("bitbucket-pipelines.yml"),
    runs(".cirrus.yml"),
    runs(".cirrus.star"),
    runs(".teamcity/**"),
    runs(".semaphore/**"),
    runs("codefresh.yml"),
    runs(".builds/*.yml"),
    runs(".build.yml"),
    runs("cloudbuild.yaml"),
    runs("cloudbuild.yml"),
    runs("buildspec.yml"),
    runs(".tekton/**"),
    runs(".zuul.yaml"),
    runs(".zuul.d/**"),
    runs(".prow.yaml"),
    runs(".ci/**"),
    runs("netlify.toml"),
    runs("vercel.json"),
    runs(".readthedocs.yaml"),
    runs(".readthedocs.yml"),
    runs(".goreleaser.yml"),
    runs(".goreleaser.yaml"),
    guards("CODEOWNERS"),
    guards(".github/dependabot.yml"),
    guards(".github/dependabot.yaml"),
    guards(".github/settings.yml"),
    guards("renovate.json"),
    guards("renovate.json5"),
    guards(".renovaterc"),
    guards(".renovaterc.json"),
    guards(".mergify.yml"),
];

//! `cowbox-devcontainer(7)`: dev containers as cowbox understands them.

use super::Page;
use super::page::Draft;

/// The page.
pub fn page() -> Page {
    let mut draft = Draft::new("cowbox-devcontainer", 7, "dev containers in cowbox");
    draft.heading("DESCRIPTION");
    draft.text("A repository with a dev container is prepared by it: image, features, variables, user and create hooks, once; what came of it is kept and shared between sessions. Nothing is written into the repository. `cowbox prepare --dry-run` lists what would be done, what is refused and what is ignored, each with its reason.");
    draft.heading("WHERE IT IS LOOKED FOR");
    draft.lines([".devcontainer/devcontainer.json", ".devcontainer.json", ".devcontainer/<folder>/devcontainer.json"]);
    draft.text("Where there are several, `--config NAME` names one: a folder of .devcontainer, or a file. `--setup COMMAND` and `setup` in the configuration come before; `--setup none` leaves it out. The file is JSON with comments; broken JSON is an error with its place.");
    draft.heading("WHAT IS FOLLOWED");
    draft.entries([
        (
            "image, build, dockerComposeFile with service",
            "The image, named or built. Services beside it are not started.",
        ),
        ("features, overrideFeatureInstallOrder", "Installed over the image."),
        ("onCreateCommand, updateContentCommand, postCreateCommand", "Once, when the environment is prepared."),
        ("postStartCommand, postAttachCommand", "Before every command; their output goes to stderr."),
        ("containerEnv, remoteEnv, userEnvProbe", "Variables; `null` in remoteEnv unsets one."),
        ("containerUser, remoteUser, updateRemoteUserUID", "Who hooks and the command are."),
        ("workspaceFolder, workspaceMount", "Where the repository stands inside; by default /workspaces/<name>."),
        ("mounts", "Volumes of the session and tmpfs; binds with your consent."),
        ("hostRequirements", "Checked, with a notice."),
        ("secrets", "Passed to the setup if you name them with --setup-env."),
    ]);
    draft.heading("WHAT NEEDS CONSENT");
    draft.text("What reaches out of the sandbox is left out until `cowbox trust` allows it; that yes holds for the very same text in this repository only. So it is with `initializeCommand`, binds of host paths, `privileged`, further capabilities, `securityOpt`, and the `runArgs` that are not known to be harmless. Variables of the host reach the file only from a short list.");
    draft.heading("NATIVE");
    draft.text("The native engine has no images: a dev container that names one is an error. `--image none` runs its hooks on this system's own files.");
    draft.heading("EXAMPLES");
    draft.lines([
        "cowbox prepare --dry-run           what the dev container would do",
        "cowbox trust                       what it asks for beyond the sandbox",
        "cowbox run -- make test            in it",
        "cowbox run --config api -- bash    in .devcontainer/api",
        "cowbox run --setup none -- bash    without it",
    ]);
    draft.finish(&["cowbox.1", "cowbox-prepare.1", "cowbox-trust.1", "cowbox-run.1", "cowbox-config.5"])
}

//! Node: npm and pnpm, with a package from npm's registry.

use super::{Project, serves_a_command_offline};
use crate::common::{Engine, on, on_containers};

on_containers!(a_lock_of_npm);
on!(podman: a_lock_of_pnpm);

const PACKAGE: &str = r#"{ "name": "count", "version": "1.0.0", "dependencies": { "ms": "2.1.3" } }
"#;
const APP: &str = "console.log(require('ms')(60000));\n";

const NPM_LOCK: &str = r#"{
  "name": "count",
  "version": "1.0.0",
  "lockfileVersion": 3,
  "requires": true,
  "packages": {
    "": { "name": "count", "version": "1.0.0", "dependencies": { "ms": "2.1.3" } },
    "node_modules/ms": {
      "version": "2.1.3",
      "resolved": "https://registry.npmjs.org/ms/-/ms-2.1.3.tgz",
      "integrity": "sha512-6FlzubTLZG3J2a/NVCAleEhjzq5oxgHyaCU9yYXvcLsvoVaHJq/s5xXI6/XXP6tz7R9xAOtHnSO/tXtF3WRTlA=="
    }
  }
}
"#;

fn a_lock_of_npm(engine: Engine) {
    serves_a_command_offline(
        engine,
        &Project {
            runtime: "node",
            files: &[("package.json", PACKAGE), ("package-lock.json", NPM_LOCK), ("app.js", APP)],
            evidence: "package-lock.json",
            command: "node app.js > out.txt && npm ls --offline ms",
            output: "1m\n",
        },
    );
}

const PNPM_LOCK: &str = r"lockfileVersion: '9.0'

settings:
  autoInstallPeers: true
  excludeLinksFromLockfile: false

importers:

  .:
    dependencies:
      ms:
        specifier: 2.1.3
        version: 2.1.3

packages:

  ms@2.1.3:
    resolution: {integrity: sha512-6FlzubTLZG3J2a/NVCAleEhjzq5oxgHyaCU9yYXvcLsvoVaHJq/s5xXI6/XXP6tz7R9xAOtHnSO/tXtF3WRTlA==}

snapshots:

  ms@2.1.3: {}
";

fn a_lock_of_pnpm(engine: Engine) {
    serves_a_command_offline(
        engine,
        &Project {
            runtime: "node",
            files: &[("package.json", PACKAGE), ("pnpm-lock.yaml", PNPM_LOCK), ("app.js", APP)],
            evidence: "pnpm-lock.yaml",
            command: "node app.js > out.txt && pnpm ls ms",
            output: "1m\n",
        },
    );
}

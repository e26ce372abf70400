//! What the steps of a build reach: the network that the policy gives, never the host's own loopback.

use serde_json::json;

use super::{built, run, with};
use crate::common::{Engine, Sandbox, on, on_containers};
use crate::network::{Server, connect, own_address};

on_containers!(
    a_step_reaches_the_network_and_not_the_hosts_loopback,
    a_feature_reaches_the_network_and_not_the_hosts_loopback,
    a_build_without_a_network_reaches_neither,
);
on!(podman: the_callers_way_to_isolate_builds_opens_nothing);

/// One server on the host's loopback, and one that the network leads to.
struct Servers {
    loopback: Server,
    open: Server,
}

impl Servers {
    fn start() -> Self {
        Self { loopback: Server::on("127.0.0.1"), open: Server::on(&own_address().ip().to_string()) }
    }

    /// Tries all that could be the host's loopback: itself, what rootless engines call the host, the gateway.
    fn script(&self) -> String {
        let port = self.loopback.port;
        let gateway = "$(ip route | awk '/^default/ {print $3}')";
        let places = ["127.0.0.1", "10.0.2.2", "10.0.2.3", gateway];
        let tries: Vec<String> = places.iter().map(|host| format!("({}) || true", connect(host, port))).collect();
        let open = connect(&own_address().ip().to_string(), self.open.port);
        format!("{}; ({open}) || true; echo all > /tried", tries.join("; "))
    }

    fn tried_by_a_step(&self, engine: Engine) -> Sandbox {
        let lines = "USER 0\nCOPY script /script\nRUN sh /script";
        let sandbox = built(engine, lines, json!({ "userEnvProbe": "none" }));
        sandbox.write(".devcontainer/script", self.script());
        sandbox
    }

    fn check(&self, visits_over_the_network: usize) {
        assert_eq!((self.loopback.visits(), self.open.visits()), (0, visits_over_the_network));
    }
}

fn a_step_reaches_the_network_and_not_the_hosts_loopback(engine: Engine) {
    let servers = Servers::start();
    let sandbox = servers.tried_by_a_step(engine);
    let _ = run(&sandbox, &[], &["cat", "/tried"]).output().ok().prints("all\n");
    servers.check(1);
}

fn a_feature_reaches_the_network_and_not_the_hosts_loopback(engine: Engine) {
    let servers = Servers::start();
    let sandbox = with(engine, json!({ "features": { "./nosy": {} }, "userEnvProbe": "none" }));
    super::images::feature(&sandbox, "nosy", json!({}), &servers.script());
    let _ = run(&sandbox, &[], &["cat", "/tried"]).output().ok().prints("all\n");
    servers.check(1);
}

fn a_build_without_a_network_reaches_neither(engine: Engine) {
    let servers = Servers::start();
    let sandbox = servers.tried_by_a_step(engine);
    let _ = run(&sandbox, &["--network", "none"], &["cat", "/tried"]).output().ok().prints("all\n");
    servers.check(0);
}

/// With this variable podman runs steps in the host's own network.
fn the_callers_way_to_isolate_builds_opens_nothing(engine: Engine) {
    let servers = Servers::start();
    let sandbox = servers.tried_by_a_step(engine);
    let _ = run(&sandbox, &[], &["cat", "/tried"]).env("BUILDAH_ISOLATION", "chroot").output().ok().prints("all\n");
    servers.check(1);
}

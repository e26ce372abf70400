//! `--network none` is no network, `full` is the host's reach.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{Engine, Sandbox, on, on_every_engine};

on_every_engine!(
    none_has_nothing_but_a_loopback,
    none_cannot_reach_a_server_that_full_reaches,
    the_loopback_of_none_works,
    full_is_the_default,
    the_configuration_can_say_none_and_the_flag_wins,
    a_resumed_session_keeps_its_network,
);
on!(native: none_cannot_reach_a_server_on_the_hosts_loopback);

/// A server that counts who came.
pub struct Server {
    /// Where it listens.
    pub port: u16,
    visits: Arc<AtomicUsize>,
}

impl Server {
    /// On every address of this machine.
    fn start() -> Self {
        Self::on("0.0.0.0")
    }

    /// On one address.
    pub fn on(address: &str) -> Self {
        let listener = TcpListener::bind((address, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let visits = Arc::new(AtomicUsize::new(0));
        let count = visits.clone();
        // Ends with the test process.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                count.fetch_add(1, Ordering::SeqCst);
                let _ = stream.and_then(|mut s| s.write_all(b"reached\n"));
            }
        });
        Self { port, visits }
    }

    /// How many came.
    pub fn visits(&self) -> usize {
        self.visits.load(Ordering::SeqCst)
    }
}

/// The address that the way out starts from. No packet is sent.
pub fn own_address() -> SocketAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("192.0.2.1:9").expect("this test needs a machine with a route to somewhere");
    socket.local_addr().unwrap()
}

/// Connects with what the system has: bash on the host, busybox in the images.
pub fn connect(host: &str, port: u16) -> String {
    format!(
        "if command -v bash >/dev/null; then timeout 5 bash -c 'exec 3<>/dev/tcp/{host}/{port} && cat <&3'
        else timeout 5 nc {host} {port} </dev/null; fi"
    )
}

const INTERFACES: &str = "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' | sort | tr '\\n' ' '";

fn none_has_nothing_but_a_loopback(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let interfaces = sandbox.shell(&["--network", "none"], INTERFACES).output().ok().stdout();
    // Some kernels show tunnels in every network namespace, down and without an address.
    let up: Vec<&str> = interfaces.split(' ').filter(|i| !i.is_empty() && *i != "lo").collect();
    let known = ["tunl0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0", "sit0", "ip6tnl0", "ip6gre0"];
    assert!(up.iter().all(|i| known.contains(i)), "{interfaces}");
    let routes = sandbox.shell(&["--network", "none"], "tail -n +2 /proc/net/route").output().ok();
    assert_eq!(routes.stdout(), "");
}

fn none_cannot_reach_a_server_that_full_reaches(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let server = Server::start();
    let script = connect(&own_address().ip().to_string(), server.port);
    let _ = sandbox.shell(&["--network", "full"], &script).output().ok().prints("reached\n");
    assert_eq!(server.visits(), 1);
    let output = sandbox.shell(&["--network", "none"], &script).output().prints("");
    assert!(!output.status.success());
    assert_eq!(server.visits(), 1);
}

fn none_cannot_reach_a_server_on_the_hosts_loopback(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let server = Server::start();
    let script = connect("127.0.0.1", server.port);
    let _ = sandbox.shell(&[], &script).output().ok().prints("reached\n");
    let output = sandbox.shell(&["--network", "none"], &script).output().prints("");
    assert!(!output.status.success());
    assert_eq!(server.visits(), 1);
}

fn the_loopback_of_none_works(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    // A refused connection comes back at once; a loopback that is down says that the net is unreachable.
    let script = format!("{} 2>&1; grep -c '^ *lo:' /proc/net/dev", connect("127.0.0.1", 9));
    let output = sandbox.shell(&["--network", "none"], &script).output().ok();
    assert!(!output.stdout().contains("nreachable"), "{output}");
    assert!(output.stdout().ends_with("1\n"), "{output}");
}

fn full_is_the_default(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let routes = sandbox.sh("tail -n +2 /proc/net/route | wc -l").ok();
    assert_ne!(routes.stdout().trim(), "0");
    let json = sandbox.cowbox(&["show", "--json"]).output().ok().json();
    assert_eq!(json["network"], "full");
}

fn the_configuration_can_say_none_and_the_flag_wins(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.configure("network = \"none\"\n");
    let routes = "tail -n +2 /proc/net/route | wc -l";
    let _ = sandbox.sh(routes).ok().prints("0\n");
    let output = sandbox.shell(&["--network", "full"], routes).output().ok();
    assert_ne!(output.stdout(), "0\n");
}

fn a_resumed_session_keeps_its_network(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.run(&["--network", "none", "--name", "closed"], &["true"]).output().done();
    let again = sandbox.cowbox(&["run", "--resume", "closed", "--", "sh", "-c", "tail -n +2 /proc/net/route | wc -l"]);
    let _ = again.output().ok().prints("0\n");
}

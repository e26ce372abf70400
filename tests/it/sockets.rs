//! What the command cannot reach: sockets of the host, whatever their names.

use std::fs;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{Engine, Output, Sandbox, on, on_every_engine, wait_until};
use crate::host::{outside, python};
use crate::inside::background;

on_every_engine!(sockets_of_the_host_are_closed, abstract_sockets_of_the_host_are_closed);

on!(native:
    sockets_with_blanks_in_their_names_are_closed,
    sockets_bound_by_a_relative_name_are_closed,
    sockets_that_come_and_go_keep_nobody_from_starting,
);

/// A program of perl, which every image with Debian in it has: connects to each path, and prints those that answer.
const CONNECT: &str = r#"use Socket; for my $p (@ARGV) { $p =~ s/^@/\0/; socket(my $s, AF_UNIX, SOCK_STREAM, 0);

    if (connect($s, sockaddr_un($p))) { $p =~ s/^\0/@/; print "reached $p\n" } } print "done\n""#;

/// What of these sockets can be reached from inside, by `run` and by `exec`.
#[track_caller]
fn reached(sandbox: &Sandbox, options: &[&str], sockets: &[&str]) {
    let perl = [&["perl", "-e", CONNECT], sockets].concat();
    background(sandbox, options);
    let entered = [&["exec", "it", "--"], &perl[..]].concat();
    for output in [sandbox.run(options, &perl).output(), sandbox.cowbox(&entered).output()] {
        output.prints("done\n").done();
    }
    sandbox.cowbox(&["stop", "it"]).output().done();
}

/// Outside they do answer, or the test would prove nothing.
#[track_caller]
fn answers(socket: &str) {
    let said = std::process::Command::new("perl").args(["-e", CONNECT, socket]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), format!("reached {socket}\ndone\n"));
}

fn sockets_of_the_host_are_closed(engine: Engine) {
    let sandbox = Sandbox::new(engine).with_image("debian");
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let scratch = |dir: PathBuf| tempfile::Builder::new().prefix(sandbox.id()).tempdir_in(dir).unwrap();
    let dirs: Vec<tempfile::TempDir> = [Some(sandbox.home()), Some("/tmp".into()), Some("/var/tmp".into()), runtime]
        .into_iter()
        .flatten()
        .map(scratch)
        .chain([outside()])
        .collect();
    let paths: Vec<PathBuf> = dirs.iter().map(|dir| dir.path().join("agent.sock")).collect();
    let _listeners: Vec<UnixListener> = paths.iter().map(|p| UnixListener::bind(p).unwrap()).collect();
    let mut names: Vec<String> = paths.iter().map(|p| p.to_str().unwrap().to_owned()).collect();
    // The door to being root: a daemon that starts containers.
    let docker = std::env::var("DOCKER_HOST").ok().and_then(|h| h.strip_prefix("unix://").map(str::to_owned));
    names.extend(docker.filter(|p| Path::new(p).exists()));
    names.iter().for_each(|n| answers(n));
    reached(&sandbox, &[], &names.iter().map(String::as_str).collect::<Vec<_>>());
}

/// The kernel's list of sockets is text, with blanks between its columns.
fn sockets_with_blanks_in_their_names_are_closed(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let real = outside();
    let path = real.path().join("an agent's socket ");
    let _listener = UnixListener::bind(&path).unwrap();
    answers(path.to_str().unwrap());
    reached(&sandbox, &[], &[path.to_str().unwrap()]);
}

/// And it has names as they were given to bind(2).
fn sockets_bound_by_a_relative_name_are_closed(engine: Engine) {
    struct Daemon(std::process::Child);
    impl Drop for Daemon {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
    let sandbox = Sandbox::new(engine);
    let real = outside();
    let program = "import socket, time, os; s = socket.socket(socket.AF_UNIX); s.bind('agent.sock'); s.listen(); \
                   os.rename('agent.sock', 'agent'); time.sleep(600)";
    let mut command = std::process::Command::new(python());
    let _daemon = Daemon(command.args(["-c", program]).current_dir(real.path()).spawn().unwrap());
    // Daemons also bind under one name and rename it when they listen.
    let path = real.path().join("agent");
    wait_until("the daemon to listen", || path.exists().then_some(()));
    answers(path.to_str().unwrap());
    reached(&sandbox, &[], &[path.to_str().unwrap()]);
}

/// One that is gone when its turn to be closed comes need not be closed.
fn sockets_that_come_and_go_keep_nobody_from_starting(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let real = outside();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let path = real.path().join("agent.sock");
            let mut last = None;
            while !done.load(Ordering::Relaxed) {
                // There is always one that the kernel lists, and its file half of the time.
                let next = UnixListener::bind(&path).unwrap();
                fs::remove_file(&path).unwrap();
                drop(last.replace(next));
            }
        });
        let outputs: Vec<Output> = (0..20).map(|_| sandbox.shell(&["--on-exit", "discard"], "true").output()).collect();
        done.store(true, Ordering::Relaxed);
        outputs.into_iter().for_each(Output::done);
    });
}

fn abstract_sockets_of_the_host_are_closed(engine: Engine) {
    use std::os::linux::net::SocketAddrExt;
    if engine == Engine::Native && !cowbox::sys::landlock::can_scope() {
        // Older kernels cannot; `doctor` says so.
        return;
    }
    let sandbox = Sandbox::new(engine).with_image("debian");
    let address = SocketAddr::from_abstract_name(sandbox.id()).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    let name = format!("@{}", sandbox.id());
    answers(&name);
    reached(&sandbox, &["--network", "full"], &[&name]);
}

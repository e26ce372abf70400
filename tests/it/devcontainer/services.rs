//! Services of a compose file beside the sandbox: reached by name, there as long as the run, no way to the host.

use std::os::unix::process::ExitStatusExt;

use nix::sys::signal::Signal;

use super::{image, up};
use crate::common::{Engine, Sandbox, container_name, engine_call, leftovers, on_containers, wait_until};

on_containers!(
    setup_and_command_reach_a_service_by_its_name,
    without_a_network_services_are_reached_and_nothing_else,
    a_service_that_ended_well_is_waited_for_and_shares_its_volume,
    a_service_that_fails_is_named_with_its_last_words,
    a_service_that_is_never_healthy_is_given_up,
    an_interrupt_ends_the_wait_for_a_service,
    a_service_without_an_image_is_named,
    a_resumed_session_has_its_services_again,
    stop_ends_services_too,
    services_of_a_killed_cowbox_are_swept,
    a_service_sees_the_host_only_with_consent,
    what_the_setup_wrote_to_a_service_is_there_for_every_command,
    an_environment_whose_volumes_are_gone_is_prepared_again,
    volumes_of_a_setup_that_failed_or_was_killed_go,
);

/// Asks the service `db` by its name.
const GET: &str = "wget -qO- http://db:8080";

/// Lines of a service that serves what the script writes to `/www/index.html`, and is healthy when it does.
fn web(script: &str, more: &str) -> String {
    format!(
        "    image: {}\n    command: [sh, -c, 'mkdir -p /www; {script}; exec httpd -f -p 8080 -h /www']\n    \
         healthcheck: {{test: [CMD, wget, -qO-, 'http://127.0.0.1:8080'], interval: 1s, retries: 20}}\n{more}",
        image("tiny")
    )
}

/// A repo whose sandbox is the service `app`, with these others.
fn beside(engine: Engine, app: &str, others: &str, hook: &str) -> Sandbox {
    let sandbox = Sandbox::new(engine);
    let app = format!("    image: {}\n    volumes: ['.:/code']\n{app}", image("tiny"));
    sandbox.write("compose.yml", format!("services:\n  app:\n{app}{others}"));
    let config = serde_json::json!({
        "dockerComposeFile": "../compose.yml", "service": "app", "workspaceFolder": "/code", "userEnvProbe": "none",
        "postCreateCommand": hook,
    });
    sandbox.write(".devcontainer/devcontainer.json", config.to_string());
    sandbox
}

const HEALTHY: &str = "    depends_on: {db: {condition: service_healthy}}\n";

fn with_db(engine: Engine, hook: &str) -> Sandbox {
    let db = web("echo hello $$WHO > /www/index.html", "    environment: {WHO: '${WHO:-you}'}\n");
    beside(engine, HEALTHY, &format!("  db:\n{db}"), hook)
}

fn setup_and_command_reach_a_service_by_its_name(engine: Engine) {
    let sandbox = with_db(engine, &format!("{GET} > made"));
    let output = up(&sandbox, &[], &format!("cat made; {GET}; echo x > mine")).output().ok();
    let _ = output.prints("hello you\nhello you\n").says("services beside the sandbox: db");
    assert_eq!(sandbox.changes(), ["A  mine"]);
    sandbox.check_leftovers();
    let plan = sandbox.cowbox(&["prepare", "--dry-run", "--json", "--engine", engine.name()]).output().ok().json();
    assert_eq!(plan["services"], serde_json::json!(["db"]));
}

fn without_a_network_services_are_reached_and_nothing_else(engine: Engine) {
    let sandbox = with_db(engine, "");
    let script = format!("{GET}; ip -o addr | grep -v ' lo ' ; ip route; true");
    let _ = up(&sandbox, &["--network", "none"], &script).output().ok().prints("hello you\n");
}

fn a_service_that_ended_well_is_waited_for_and_shares_its_volume(engine: Engine) {
    let migrate = format!(
        "  migrate:\n    image: {}\n    command: sh -c 'sleep 1; echo migrated > /data/index.html'\n    volumes: ['data:/data']\n",
        image("tiny")
    );
    let db = "    volumes: ['data:/www']\n    depends_on: {migrate: {condition: service_completed_successfully}}\n";
    let others = format!("{migrate}  db:\n{}volumes:\n  data:\n", web("true", db));
    let sandbox = beside(engine, HEALTHY, &others, "");
    let _ = up(&sandbox, &[], GET).output().ok().prints("migrated\n");
    sandbox.check_leftovers();
    assert!(leftovers::volumes(engine).iter().all(|owner| *owner != container_name(&sandbox.session_ids()[0])));
}

fn a_service_that_fails_is_named_with_its_last_words(engine: Engine) {
    let others = format!("  db:\n    image: {}\n    command: sh -c 'echo no such disk >&2; exit 3'\n", image("tiny"));
    let app = "    depends_on: {db: {condition: service_completed_successfully}}\n";
    let sandbox = beside(engine, app, &others, "");
    let output = up(&sandbox, &[], "echo never").output().code(125).prints("");
    let _ = output.says("the service db has ended with exit code 3").says("it said: no such disk");
    assert!(sandbox.session_ids().is_empty(), "nothing ran");
}

fn a_service_that_is_never_healthy_is_given_up(engine: Engine) {
    let db = format!(
        "  db:\n    image: {}\n    command: sleep 600\n    healthcheck: {{test: 'exit 1', interval: 1s, timeout: 1s, retries: 1}}\n",
        image("tiny")
    );
    let sandbox = beside(engine, HEALTHY, &db, "");
    let _ =
        up(&sandbox, &[], "echo never").output().code(125).prints("").says("the service db is not healthy after 5s");
}

fn an_interrupt_ends_the_wait_for_a_service(engine: Engine) {
    let db = "    command: sleep 600\n    healthcheck: {test: 'exit 1', interval: 1m, retries: 9}\n";
    let sandbox = beside(engine, HEALTHY, &format!("  db:\n    image: {}\n{db}", image("tiny")), "");
    let running = up(&sandbox, &[], "echo never").spawn();
    let is_there = |id: &String| leftovers::containers(engine).contains(&format!("{}-0", container_name(id)));
    wait_until("the service", || sandbox.session_ids().iter().any(is_there).then_some(()));
    running.signal(Signal::SIGINT);
    let output = running.wait();
    assert_eq!((output.status.signal(), output.stdout().as_str()), (Some(2), ""), "{}", output.stderr());
    assert!(sandbox.session_ids().is_empty(), "nothing ran");
}

fn a_service_without_an_image_is_named(engine: Engine) {
    let sandbox = beside(engine, "    depends_on: [db]\n", "  db:\n    image: localhost/not/there\n", "");
    let _ =
        up(&sandbox, &[], "true").output().code(125).says("the service db: the image localhost/not/there is not here");
}

fn a_resumed_session_has_its_services_again(engine: Engine) {
    let sandbox = with_db(engine, "");
    up(&sandbox, &["--name", "it"], &format!("{GET} > first")).output().done();
    let _ =
        up(&sandbox, &["--resume", "it"], &format!("cat first; {GET}")).output().ok().prints("hello you\nhello you\n");
}

fn stop_ends_services_too(engine: Engine) {
    let sandbox = with_db(engine, "");
    up(&sandbox, &["--detach", "--name", "it"], "sleep 600").output().done();
    let id = sandbox.session_ids().remove(0);
    let service = format!("{}-0", container_name(&id));
    assert!(leftovers::containers(engine).contains(&service));
    let _ = sandbox.cowbox(&["exec", "it", "--", "sh", "-c", GET]).output().ok().prints("hello you\n");
    sandbox.cowbox(&["stop", "it"]).output().done();
    sandbox.check_leftovers();
}

fn services_of_a_killed_cowbox_are_swept(engine: Engine) {
    let sandbox = with_db(engine, "");
    let mut running = up(&sandbox, &[], "echo up; while :; do sleep 1; done").spawn();
    running.expect("up");
    let id = sandbox.session_ids().remove(0);
    running.signal(Signal::SIGKILL);
    drop(running);
    wait_until("the sandbox to end", || (!leftovers::containers(engine).contains(&container_name(&id))).then_some(()));
    sandbox.cowbox(&["gc"]).output().done();
    assert_eq!(sandbox.record(&id).unwrap()["state"], "stopped");
    sandbox.check_leftovers();
}

fn a_service_sees_the_host_only_with_consent(engine: Engine) {
    let show = "cat /conf/word /etc-of-host/hostname > /www/index.html 2>/dev/null; touch /conf/new 2>/dev/null";
    let more = "    volumes: ['./conf:/conf', '/etc:/etc-of-host']\n    ports: ['127.0.0.1:8099:8080']\n    privileged: true\n";
    let sandbox = beside(engine, HEALTHY, &format!("  db:\n{}", web(show, more)), "");
    sandbox.write("conf/word", "of the repo\n");
    let output = up(&sandbox, &[], GET).output().ok().prints("");
    let output = output.says("left out: services.db.volumes[0]").says("left out: services.db.volumes[1]");
    let _ = output.says("left out: services.db.ports").says("left out: services.db.privileged");
    let asked = sandbox.cowbox(&["trust", "--json"]).output().ok().json()["asked"].clone();
    let bind = asked.as_array().unwrap().iter().find(|one| one["key"] == "services.db.volumes[0]").unwrap();
    assert!(bind["consent"].as_str().unwrap().ends_with("/conf:/conf:ro"), "{bind}");
    // One by one would need a terminal; what widens rights stays out of this test.
    sandbox.change_repo(|repo| {
        let text = std::fs::read_to_string(repo.join("compose.yml")).unwrap();
        let text = text.replace(", '/etc:/etc-of-host'", "").replace("    privileged: true\n", "");
        std::fs::write(repo.join("compose.yml"), text.replace("    ports: ['127.0.0.1:8099:8080']\n", "")).unwrap();
    });
    sandbox.cowbox(&["trust", "-y"]).output().done();
    let _ = up(&sandbox, &[], GET).output().ok().prints("of the repo\n");
    assert!(!sandbox.repo().join("conf/new").exists(), "the repo can only be read");
}

/// A service that keeps every new row it is sent, in a volume `data`, in one that its image declares, and in neither. Files
/// and directories of it belong to somebody, and it tells how they look when it starts.
fn database(engine: Engine, hook: &str) -> Sandbox {
    let script = "cd /data; [ -e own ] || { echo x > own; chown 5:7 own .; chmod 640 own; chmod 751 .; }; \
                  stat -c \"%u:%g %a\" . own > looks; echo . > index.html; \
                  (while :; do nc -l -p 9000 > /row; \
                  for f in rows /auto/rows /rows; do grep -qxf /row $$f 2>/dev/null || cat /row >> $$f; done; \
                  cat rows /auto/rows /rows looks > all; done) & exec httpd -f -p 8080 -h /data";
    let db = format!(
        "  db:\n    build: db\n    user: '0'\n    command: [sh, -c, '{script}']\n    volumes: ['data:/data']\n    \
         healthcheck: {{test: [CMD, wget, -qO-, 'http://127.0.0.1:8080'], interval: 1s, retries: 20}}\nvolumes:\n  data:\n"
    );
    let sandbox = beside(engine, HEALTHY, &db, hook);
    sandbox.write("db/Dockerfile", format!("FROM {}\nVOLUME /auto\nSTOPSIGNAL SIGKILL\n", image("tiny")));
    sandbox
}

/// Sends a row until it has arrived: a service is healthy before all of it listens.
fn send(row: &str) -> String {
    let seen = format!("wget -qO- http://db:8080/all 2>/dev/null | grep -q {row}");
    format!("n=0; until {seen} || [ $n = 20 ]; do echo {row} | timeout 1 nc db 9000; sleep 0.2; n=$((n+1)); done")
}

fn what_the_setup_wrote_to_a_service_is_there_for_every_command(engine: Engine) {
    let sandbox = database(engine, &send("setup"));
    let script = format!("{}; wget -qO- http://db:8080/all", send("mine"));
    // Both volumes have it, the disk of the container has only what is new; and nothing is left of the run before.
    let expected = "setup\nmine\nsetup\nmine\nmine\n5:7 751\n5:7 640\n";
    for _ in 0..2 {
        let _ = up(&sandbox, &["--name", "it"], &script).output().ok().prints(expected);
        let _ = up(&sandbox, &["--resume", "it"], &script).output().ok().prints(expected);
        sandbox.check_leftovers();
        sandbox.cowbox(&["discard", "-y", "it"]).output().done();
    }
    let _ = up(&sandbox, &["--network", "none"], &script).output().ok().prints(expected);
    assert_eq!(sandbox.prepared().len(), 1, "prepared once");
}

fn an_environment_whose_volumes_are_gone_is_prepared_again(engine: Engine) {
    let sandbox = database(engine, &send("setup"));
    up(&sandbox, &[], "true").output().done();
    let kept: Vec<String> = serde_json::from_value(sandbox.prepared()[0]["volumes"].clone()).unwrap();
    assert_eq!(kept.len(), 2, "{kept:?}");
    for name in kept {
        engine_call(engine, &["volume", "rm", &name]).unwrap();
    }
    let output = up(&sandbox, &[], "wget -qO- http://db:8080/rows").output().ok().prints("setup\n");
    let _ = output.says("preparing again: its volumes are gone");
}

fn volumes_of_a_setup_that_failed_or_was_killed_go(engine: Engine) {
    let kept = |key: &str| {
        let all = engine_call(engine, &["volume", "ls", "--quiet", "--filter", "label=cowbox-prepared"]).unwrap();
        all.lines().filter(|name| name.contains(key)).count()
    };
    let sandbox = database(engine, "exit 3");
    let _ = up(&sandbox, &[], "true").output().code(125);
    let own = sandbox.session_ids().remove(0);
    let key = sandbox.record(&own).unwrap()["setup"]["key"].as_str().unwrap().trim_end_matches(".failed").to_owned();
    assert_eq!(kept(&key), 0);
    let sandbox = database(engine, "sleep 600");
    let running = up(&sandbox, &[], "true").spawn();
    let names = || std::fs::read_dir(sandbox.prepared_dir()).into_iter().flatten().flatten();
    let unfinished = || names().find_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".new")?.to_owned()));
    let key = wait_until("the setup", unfinished);
    let logs = sandbox.prepared_dir().join(format!("{key}.new/logs"));
    let steps = || std::fs::read_dir(&logs).into_iter().flatten().flatten();
    let is_step = |entry: std::fs::DirEntry| entry.file_name().to_str().is_some_and(|name| name.starts_with("01-"));
    wait_until("its step", || steps().any(is_step).then_some(()));
    assert_eq!(kept(&key), 2);
    running.signal(Signal::SIGKILL);
    drop(running);
    wait_until("gc to clear it", || {
        sandbox.cowbox(&["gc"]).output().done();
        (kept(&key) == 0).then_some(())
    });
}

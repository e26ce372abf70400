//! The command's variables: an allow-list, and what `--env` names. Values are kept to themselves.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use crate::common::{Engine, Process, Sandbox, on, on_containers, on_every_engine};

on_every_engine!(
    only_what_is_allowed_gets_in,
    env_sets_and_passes_on,
    values_arrive_as_they_are,
    a_value_is_on_no_argument_list_and_in_no_file,
    exec_gets_the_allowed_ones_too,
);
on_containers!(what_engines_would_change_is_refused);
on!(native: a_value_that_is_not_text_arrives_as_it_is);

fn only_what_is_allowed_gets_in(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let secrets =
        ["SECRET_TOKEN", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "http_proxy", "HTTPS_PROXY"];
    let allowed = [("LC_ALL", "C"), ("LC_TIME", "de_DE"), ("TZ", "UTC"), ("COLORTERM", "truecolor"), ("NO_COLOR", "1")];
    let mut run = sandbox.run(&[], &["env"]);
    for name in secrets {
        run = run.env(name, "planted-by-the-test");
    }
    for (name, value) in allowed {
        run = run.env(name, value);
    }
    let seen = run.output().ok().stdout();
    assert!(!seen.contains("planted-by-the-test"), "{seen}");
    for (name, value) in allowed.iter().chain(&[("TERM", "dumb"), ("LANG", "C.UTF-8")]) {
        assert!(seen.lines().any(|l| l == format!("{name}={value}")), "{name} in\n{seen}");
    }
    for name in ["COWBOX_", "DOCKER_HOST", "XDG_"] {
        assert!(!seen.lines().any(|l| l.starts_with(name)), "{name} in\n{seen}");
    }
}

fn env_sets_and_passes_on(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let options =
        ["--env", "GIVEN=by flag", "--env", "PASSED", "--env", "UNSET", "--env", "LANG=xx", "--env", "EMPTY="];
    let script = r#"echo "[$GIVEN] [$PASSED] [${UNSET-unset}] [$LANG] [${EMPTY-unset}]""#;
    let output = sandbox.shell(&options, script).env("PASSED", "by name").env("GIVEN", "wrong").output().ok();
    let _ = output.prints("[by flag] [by name] [unset] [xx] []\n");
    for bad in ["", "=x"] {
        let _ = sandbox.run(&["--env", bad], &["true"]).output().code(125).says("--env");
    }
}

const ODD: [&str; 14] = [
    "plain",
    "  spaces around  ",
    "'single' \"double\" `back`",
    "$HOME ${X} $(id)",
    "a=b=c",
    "# no comment",
    "back\\slash \\n",
    "tab\there",
    "two\nlines\n",
    "carriage\r",
    "ünïcödé 日本",
    "*",
    "-x --y",
    "trailing backslash\\",
];

fn values_arrive_as_they_are(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let options: Vec<String> = ODD.iter().enumerate().map(|(i, value)| format!("--env=ODD{i}={value}")).collect();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let script: String = (0..ODD.len()).map(|i| format!("printf '[%s]' \"$ODD{i}\"; ")).collect();
    let expected: String = ODD.iter().map(|value| format!("[{value}]")).collect();
    let _ = sandbox.shell(&options, &script).output().ok().prints(&expected);
    // The same by name.
    let options: Vec<String> = (0..ODD.len()).map(|i| format!("--env=ODD{i}")).collect();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let mut run = sandbox.shell(&options, &script);
    for (i, value) in ODD.iter().enumerate() {
        run = run.env(&format!("ODD{i}"), value);
    }
    let _ = run.output().ok().prints(&expected);
}

fn a_value_is_on_no_argument_list_and_in_no_file(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let secret = format!("secret-{}", sandbox.id());
    let script = "echo ${#TOKEN} ${#LINES2}; read line";
    let run = sandbox.shell(&["--env", "TOKEN", "--env", "LINES2"], script);
    let mut running = run.env("TOKEN", &secret).env("LINES2", format!("a\n{secret}")).spawn();
    running.expect(&format!("{} {}", secret.len(), secret.len() + 2));
    for process in Process::with(&secret) {
        assert!(!process.arguments.contains(&secret), "{process:?}");
    }
    let holds = |bytes: &[u8]| bytes.windows(secret.len()).any(|w| w == secret.as_bytes());
    let check_files = || {
        let mut left = vec![sandbox.state(), sandbox.cache()];
        while let Some(path) = left.pop() {
            let Ok(meta) = fs::symlink_metadata(&path) else { continue };
            if meta.is_dir() {
                left.extend(fs::read_dir(&path).into_iter().flatten().map(|e| e.unwrap().path()));
            } else if meta.is_file() {
                assert!(!holds(&fs::read(&path).unwrap_or_default()), "{}", path.display());
            }
        }
    };
    check_files();
    running.write("\n");
    let output = running.wait().ok();
    assert!(!holds(&output.stderr));
    check_files();
    // Its name is no secret.
    let json = sandbox.cowbox(&["show", "--json"]).output().ok().json();
    assert!(json["env"].as_array().unwrap().iter().any(|name| name == "TOKEN"), "{json}");
}

fn exec_gets_the_allowed_ones_too(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut running = sandbox.shell(&["--name", "live"], "echo ready; read line").spawn();
    running.expect("ready");
    let exec = sandbox.cowbox(&["exec", "live", "--", "env"]).env("SECRET_TOKEN", "planted").env("LC_ALL", "C");
    let seen = exec.output().ok().stdout();
    assert!(seen.contains("LC_ALL=C\n") && !seen.contains("planted"), "{seen}");
    running.write("\n");
    let _ = running.wait().ok();
}

fn what_engines_would_change_is_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let bad = sandbox.run(&[], &[]).arg("--env").arg(OsStr::from_bytes(b"BAD=\xff")).args(&["--", "true"]);
    let _ = bad.output().code(125).says("BAD").says("UTF-8");
    assert_eq!(sandbox.session_ids(), Vec::<String>::new());
    // Podman would take a star for "all that begin with".
    let _ = sandbox.run(&["--env", "SECRET*"], &["true"]).env("SECRET1", "x").output().code(125).says("SECRET*");
}

fn a_value_that_is_not_text_arrives_as_it_is(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let run = sandbox.run(&[], &[]).arg("--env").arg(OsStr::from_bytes(b"BAD=a\xff\xfeb"));
    let _ = run.args(&["--", "sh", "-c", "printf %s \"$BAD\""]).output().ok().prints(b"a\xff\xfeb");
}

//! `expect.tests`: what counts as a report of the command's tests.

use super::Tasks;
use crate::common::{Engine, on, on_every_engine};

on_every_engine!(a_report_counts_only_if_the_command_wrote_it);
on!(native: what_is_no_report_fails, a_report_that_nobody_may_read_is_the_agents_all_the_same);

const GOOD: &str = "<testsuite><testcase classname='t' name='a'/></testsuite>\n";
const NOT_WRITTEN: &str = "the report r.xml was not written by the command";

fn body(repo: &str, rest: &str) -> String {
    format!("repo: {{path: ../{repo}, ref: main}}\nexpect: {{tests: {{report: r.xml, pass: [t.a]}}}}\n{rest}\n")
}

fn a_report_counts_only_if_the_command_wrote_it(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.code("code", &[("good.xml", GOOD), (".gitignore", "r.xml\n")]);
    tasks.code("committed", &[("good.xml", GOOD), ("r.xml", GOOD)]);
    let setup = |commands: &str| format!("setup: {{convention: none, commands: [{commands}]}}\n");
    let none = setup("");
    let agent = |command: &str| format!("{none}agent: {{network: none, command: \"{command}\"}}\n");
    let run = |command: &str| format!("run: {{command: '{command}'}}");
    let refused = [
        ("of-repo", "committed", none.clone() + &run("true")),
        ("copied-up", "committed", none.clone() + &run("chmod 600 r.xml; ln r.xml x; rm x")),
        ("of-setup", "code", setup("'cp good.xml r.xml'") + &run("true")),
        ("of-agent", "code", agent("cp good.xml r.xml") + &run("true")),
        (
            // Its time lies ahead, and what the command does away with is another name of it.
            "dated",
            "code",
            agent("cp good.xml r.xml; touch -d '2099-01-01 00:00:00' r.xml; ln r.xml cache")
                + &run("rm cache; chmod 600 r.xml"),
        ),
    ];
    for (name, repo, rest) in refused {
        assert_eq!(tasks.one(name, &body(repo, &rest)).is("failed").reason(), NOT_WRITTEN, "{name}");
    }
    let taken = [
        ("written", "code", none.clone() + &run("cp good.xml r.xml")),
        ("over-repo", "committed", none.clone() + &run("cat good.xml > r.xml")),
        ("over-agent", "code", agent("cat good.xml > r.xml") + &run("cat good.xml > r.xml")),
        ("moved", "code", agent("cp good.xml other.xml") + &run("mv other.xml r.xml")),
    ];
    for (name, repo, rest) in taken {
        tasks.one(name, &body(repo, &rest)).is("passed");
    }
    tasks.nothing_is_left();
}

fn what_is_no_report_fails(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.code("code", &[("good.xml", GOOD)]);
    let line = "is not well-formed XML (line 1)";
    for (name, command, why) in [
        ("cut-off", "head -c 40 good.xml > r.xml", line),
        ("two", "cat good.xml good.xml > r.xml", "is not well-formed XML (line 2)"),
        ("said", "echo all tests pass > r.xml", line),
        (
            "doctype",
            "(echo \"<!DOCTYPE x SYSTEM \\\"/etc/passwd\\\">\"; cat good.xml) > r.xml",
            "has a DOCTYPE, which is not read",
        ),
        ("large", "truncate -s 65M r.xml", "is larger than 64 MiB"),
        ("link", "ln -s good.xml r.xml", "must be a file: no link, and behind none"),
    ] {
        let rest = format!("setup: {{convention: none}}\nrun:\n  command: |\n    {command}");
        let run = tasks.one(name, &body("code", &rest)).is("failed");
        assert_eq!(run.reason(), format!("the report r.xml {why}"), "{name}");
    }
}

fn a_report_that_nobody_may_read_is_the_agents_all_the_same(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.code("code", &[("good.xml", GOOD)]);
    let rest = "setup: {convention: none}\nrun: {command: 'chmod 700 d'}\n\
        agent: {network: none, command: 'mkdir d; cp good.xml d/r.xml; chmod 0 d/r.xml d'}";
    let task = body("code", rest).replace("report: r.xml", "report: d/r.xml");
    let run = tasks.one("closed", &task).is("failed");
    assert_eq!(run.reason(), "the report d/r.xml was not written by the command");
}

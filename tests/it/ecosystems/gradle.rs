//! Gradle. Neither its packages nor a Gradle of this decade are within reach of every test machine: the
//! distribution's has to do, and what the project needs is a part of itself.

use super::{Project, serves_a_command_offline};
use crate::common::{Engine, on};

on!(podman: a_build_of_two_projects);

const BUILD: &str = "allprojects { if (project.hasProperty('built')) buildDir = built + '/' + name }
apply plugin: 'application'
mainClassName = 'Count'
dependencies { compile project(':words') }
";

const COUNT: &str = "public class Count {
    public static void main(String[] args) { System.out.println(Words.greeting()); }
}
";

const WORDS: &str = r#"public class Words {
    public static String greeting() { return "hello"; }
}
"#;

fn a_build_of_two_projects(engine: Engine) {
    serves_a_command_offline(
        engine,
        &Project {
            runtime: "java",
            files: &[
                // The same as Maven's project asks for, so that one image serves both.
                (".java-version", "17\n"),
                ("build.gradle", BUILD),
                ("settings.gradle", "include 'words'\n"),
                ("src/main/java/Count.java", COUNT),
                ("words/build.gradle", "apply plugin: 'java'\n"),
                ("words/src/main/java/Words.java", WORDS),
            ],
            evidence: "build.gradle",
            command: "gradle --no-daemon --offline -q -Pbuilt=/tmp/built --project-cache-dir /tmp/cache run > out.txt",
            output: "hello\n",
        },
    );
}

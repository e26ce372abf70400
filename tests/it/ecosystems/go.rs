//! Go. Its module proxy is not within reach of every test machine, so the module that is needed is in the repo.

use super::{Project, serves_a_command_offline};
use crate::common::{Engine, on};

on!(podman: a_module_that_needs_another);

const MOD: &str = r"module example.com/count

go 1.19

require example.com/words v1.0.0

replace example.com/words => ./words
";

const MAIN: &str = "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/words\"\n)\n\nfunc main() {\n\tfmt.Println(words.Greeting())\n}\n";

fn a_module_that_needs_another(engine: Engine) {
    serves_a_command_offline(
        engine,
        &Project {
            runtime: "go",
            files: &[
                ("go.mod", MOD),
                ("main.go", MAIN),
                ("words/go.mod", "module example.com/words\n\ngo 1.19\n"),
                ("words/words.go", "package words\n\nfunc Greeting() string { return \"hello\" }\n"),
            ],
            evidence: "go.mod",
            command: "go run . > out.txt",
            output: "hello\n",
        },
    );
}

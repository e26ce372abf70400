//! Ruby. Its gems are not within reach of every test machine, so the one that is needed is in the repo.

use super::{Project, serves_a_command_offline};
use crate::common::{Engine, on};

on!(podman: a_lock_of_bundler);

const LOCK: &str = r"PATH
  remote: words
  specs:
    words (1.0.0)

GEM
  remote: https://rubygems.org/
  specs:

PLATFORMS
  ruby

DEPENDENCIES
  words!
";

const SPEC: &str = r#"Gem::Specification.new do |s|
  s.name = "words"
  s.version = "1.0.0"
  s.summary = "words"
  s.authors = ["somebody"]
  s.files = ["lib/words.rb"]
end
"#;

fn a_lock_of_bundler(engine: Engine) {
    serves_a_command_offline(
        engine,
        &Project {
            runtime: "ruby",
            files: &[
                ("Gemfile", "source \"https://rubygems.org\"\n\ngem \"words\", path: \"words\"\n"),
                ("Gemfile.lock", LOCK),
                ("words/words.gemspec", SPEC),
                ("words/lib/words.rb", "module Words\n  def self.greeting = \"hello\"\nend\n"),
            ],
            evidence: "Gemfile.lock",
            command: "bundle exec ruby -e 'require \"words\"; puts Words.greeting' > out.txt",
            output: "hello\n",
        },
    );
}

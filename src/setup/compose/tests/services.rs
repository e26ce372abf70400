//! The named service, and those beside it.

use std::path::PathBuf;

use super::*;
use crate::setup::plan::BuildRequest;
use crate::setup::service::Condition;

#[test]
fn the_named_service_is_read() {
    let composed = World::app(
        "user: node\nworking_dir: /work\ncommand: sleep 'in finity'\nentrypoint: [a, b]\nenvironment: {A: 1}",
    )
    .read();
    assert_eq!(composed.image, ImageRequest::Named("base".to_owned()));
    assert_eq!((composed.user.as_deref(), composed.working_dir.as_deref()), (Some("node"), Some("/work")));
    assert_eq!(composed.command.unwrap(), ["sleep", "in finity"]);
    assert_eq!(composed.entrypoint.unwrap(), ["a", "b"]);
    assert_eq!((composed.ignored, composed.refused, composed.notices), (vec![], vec![], vec![]));
    assert_eq!(composed.inputs, [PathBuf::from(".devcontainer/compose.yml")]);
}

#[test]
fn an_unknown_service_is_an_error_that_lists_the_known_ones() {
    let world = World::new("services: {web: {image: a}, db: {image: b}}");
    let error = world.read_as("app").unwrap_err();
    assert!(error.message().contains("`app`") && error.hints()[0].contains("db, web"));
    assert!(World::new("{}").read_as("app").unwrap_err().hints()[0].contains("none"));
}

fn build(lines: &str) -> Result<BuildRequest> {
    let composed = World::new(&format!("services:\n  app:\n    image: name\n    build:{lines}\n")).read_as("app")?;
    match composed.image {
        ImageRequest::Build(request) => Ok(request),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_build_is_relative_to_the_first_file_and_its_dockerfile_to_the_context() {
    let request = build(" .").unwrap();
    assert_eq!((request.context, request.dockerfile), (".devcontainer".into(), ".devcontainer/Dockerfile".into()));
    let lines = "\n      context: ..\n      dockerfile: .devcontainer/Dev\n      target: dev\n      args: [A=1, B]\n      cache_from: x";
    let request = build(lines).unwrap();
    assert_eq!((request.context, request.dockerfile), ("".into(), ".devcontainer/Dev".into()));
    assert_eq!(request.target.as_deref(), Some("dev"));
    assert_eq!(request.args, BTreeMap::from([("A".to_owned(), "1".to_owned())]));
    assert_eq!(request.cache_from, ["x"]);
}

#[test]
fn a_build_outside_of_the_repo_is_an_error() {
    for lines in [
        " ../..",
        " /etc",
        " https://host.example/x.git",
        " git@host.example:x",
        "\n      context: .\n      dockerfile: ../../x",
        "\n      context: .\n      dockerfile: /etc/x",
        "\n      dockerfile_inline: FROM x",
    ] {
        assert!(build(lines).is_err(), "{lines}");
    }
    assert!(World::new("services: {app: {}}").why().contains("neither `image` nor `build`"));
}

#[test]
fn what_a_build_wants_besides_is_listed() {
    let world = World::new("services: {app: {build: {context: ., network: host, ssh: [default], args: [TOKEN]}}}");
    let composed = world.read();
    assert_eq!(
        left(&composed),
        ["services.app.build.args.TOKEN", "services.app.build.network", "services.app.build.ssh"]
    );
}

const SHOP: &str = "
services:
  app: {image: base, depends_on: [web, cache]}
  web: {image: web, depends_on: {db: {condition: service_healthy}}}
  db: {image: db, command: postgres -c 'a b', user: postgres, environment: [PW=x], restart: always, ports: ['1:1']}
  cache: {build: ./cache}
  mail: {image: mail}
  other: {image: other, depends_on: [mail]}
";

#[test]
fn what_it_depends_on_runs_beside_it_deepest_first() {
    let composed = World::new(SHOP).read();
    let mut order = names(&composed.services);
    assert!(order.iter().position(|n| *n == "db") < order.iter().position(|n| *n == "web"));
    order.sort_unstable();
    assert_eq!(order, ["cache", "db", "web"]);
    let db = composed.services.iter().find(|service| service.name == "db").unwrap();
    assert_eq!(db.command.as_ref().unwrap(), &["postgres", "-c", "a b"]);
    assert_eq!((db.env["PW"].as_str(), db.user.as_deref(), db.image.as_deref()), ("x", Some("postgres"), Some("db")));
    let cache = composed.services.iter().find(|service| service.name == "cache").unwrap();
    assert_eq!(cache.build.as_ref().unwrap().context, PathBuf::from(".devcontainer/cache"));
    assert_eq!((left(&composed), refused(&composed)), (vec!["services.db.restart"], vec!["services.db.ports: 1:1"]));
    assert_eq!((db.condition, cache.condition), (Condition::Healthy, Condition::Started));
    assert!(composed.notices[0].contains("not started: mail, other"));
}

#[test]
fn services_that_are_asked_for_come_with_what_they_depend_on() {
    let mut world = World::new(SHOP);
    world.run_services = vec!["other".to_owned(), "app".to_owned()];
    let composed = world.read();
    assert_eq!(composed.services.len(), 5);
    assert_eq!(names(&composed.services)[3..], ["mail", "other"]);
    world.run_services = vec!["gone".to_owned()];
    assert!(world.why().contains("`gone`"));
}

#[test]
fn services_that_wait_for_each_other_are_an_error() {
    let circle = World::new("services: {app: {image: a, depends_on: [b]}, b: {image: b, depends_on: [app]}}");
    assert_eq!(circle.why(), "these services wait for each other: app → b → app");
    let missing = World::new("services: {app: {image: a, depends_on: [b]}}");
    assert!(missing.why().contains("no service `b`"));
    let optional = World::new("services: {app: {image: a, depends_on: {b: {required: false}}}}");
    assert!(optional.read().services.is_empty());
}

#[test]
fn without_a_named_file_the_standard_ones_are_read() {
    let mut world = World::new("{}").with("docker-compose.yml", "services: {app: {image: one, user: u}}");
    world.files = Vec::new();
    assert_eq!(world.read().image, ImageRequest::Named("one".to_owned()));
    world.write("docker-compose.override.yml", "services: {app: {image: two}}");
    let composed = world.read();
    assert_eq!((composed.image, composed.user.as_deref()), (ImageRequest::Named("two".to_owned()), Some("u")));
    world.write(".env", "COMPOSE_FILE=a.yml:b.yml\n");
    world.write("a.yml", "services: {app: {image: three}}");
    assert!(world.why().contains("no b.yml"));
    world.write("b.yml", "services: {app: {working_dir: /w}}");
    assert_eq!(world.read().image, ImageRequest::Named("three".to_owned()));
}

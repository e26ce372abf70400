//! Maven. Its central repository is not within reach of every test machine, but the distribution has one in its
//! packages. They go on top of our image, and the project has them for a mirror.

use super::{Project, prepare, serves_a_command_in};
use crate::common::{Engine, Sandbox, on};

on!(podman: a_pom_with_tests);

/// The distribution has it.
const JAVA: (&str, &str) = (".java-version", "17\n");

/// What a plain project takes from the central repository. One step: the stages of several can outlive the image
/// where podman is asked for other things meanwhile.
const PACKAGES: &str = "RUN sudo apt-get update -qq && sudo apt-get install -y -qq --no-install-recommends \\
    libmaven-clean-plugin-java libmaven-resources-plugin-java libmaven-compiler-plugin-java libsurefire-java \\
    libmaven-jar-plugin-java libmaven-install-plugin-java libmaven-deploy-plugin-java libmaven-site-plugin-java \\
    libmaven-dependency-plugin-java libcommons-lang3-java junit4
";

const SETTINGS: &str = "<settings>
  <mirrors>
    <mirror><id>distribution</id><mirrorOf>*</mirrorOf><url>file:///usr/share/maven-repo</url></mirror>
  </mirrors>
</settings>
";

/// `3.x` and `4.x` are the distribution's names for whichever it has. The plugin for sites is the only one that it
/// does not have under the version that Maven asks for by itself.
const POM: &str = "<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>com.example</groupId>
  <artifactId>count</artifactId>
  <version>1.0</version>
  <properties>
    <maven.compiler.source>11</maven.compiler.source>
    <maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
    <built>target</built>
  </properties>
  <dependencies>
    <dependency><groupId>org.apache.commons</groupId><artifactId>commons-lang3</artifactId><version>3.x</version></dependency>
    <dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version><scope>test</scope></dependency>
  </dependencies>
  <build>
    <directory>${built}</directory>
    <pluginManagement>
      <plugins><plugin><artifactId>maven-site-plugin</artifactId><version>3.12.1</version></plugin></plugins>
    </pluginManagement>
  </build>
</project>
";

const COUNT: &str = r#"import org.apache.commons.lang3.StringUtils;

class Count {
    static String greeting() { return StringUtils.reverse("olleh"); }
}
"#;

/// Says that it was run. The setup, which has to get what runs tests, must not run it.
const TEST: &str = r#"import java.nio.file.Files;
import java.nio.file.Path;

public class CountTest {
    @org.junit.Test
    public void greets() throws Exception { Files.writeString(Path.of("out.txt"), Count.greeting() + "\n"); }
}
"#;

fn a_pom_with_tests(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let file = sandbox.root().join("image/Containerfile");
    std::fs::create_dir(file.parent().unwrap()).unwrap();
    std::fs::write(&file, format!("FROM {}\n{PACKAGES}", image(engine))).unwrap();
    sandbox.configure(&format!("containerfile = \"{}\"\n", file.display()));
    serves_a_command_in(
        &sandbox,
        &Project {
            runtime: "java",
            files: &[
                JAVA,
                ("pom.xml", POM),
                (".mvn/maven.config", "--settings\n.mvn/settings.xml\n"),
                (".mvn/settings.xml", SETTINGS),
                ("src/main/java/Count.java", COUNT),
                ("src/test/java/CountTest.java", TEST),
            ],
            evidence: "pom.xml",
            command: "mvn -o -q -B -Dbuilt=/tmp/target test",
            output: "hello\n",
        },
    );
}

/// The name of our image for this project, which is here then.
fn image(engine: Engine) -> String {
    let sandbox = Sandbox::new(engine);
    sandbox.write(JAVA.0, JAVA.1);
    sandbox.write("pom.xml", POM);
    let prepared = prepare(&sandbox, "java", &["--setup", "true", "--json"]).ok().json();
    prepared["image"].as_str().unwrap().to_owned()
}

//! maven: a library with nothing below it.

use super::{World, built, expect_gap};

const POM: &str = r#"<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>test</groupId>
  <artifactId>hello</artifactId>
  <version>0</version>
  <properties>
    <maven.compiler.source>11</maven.compiler.source>
    <maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-api</artifactId>
      <version>${harness.version}</version>
    </dependency>
  </dependencies>
</project>
"#;

#[test]
fn a_server_is_built_against_versions_of_an_artifact() {
    let world = World::new();
    world.write("server/pom.xml", POM);
    world.write(
        "server/src/main/java/Hello.java",
        "class Hello { org.slf4j.spi.LoggingEventBuilder since2; }\n",
    );
    world.write(
        "slf4j.toml",
        "schema = 2\n[source]\nversions = [\"2.0.17\", \"2.0.99\"]\n\
         [source.maven]\ngroup = \"org.slf4j\"\nartifact = \"slf4j-api\"\nserver = \"server\"\n\
         [build]\nnetwork = false\n[start]\ncmd = [\"java\", \"-cp\", \"{out}/lib/*\", \"Hello\", \"{port}\"]\n",
    );
    let cells = built(&world, "slf4j.toml");
    let artifact = &cells[0]["artifact"];
    assert_eq!(
        artifact["dependencies"],
        serde_json::json!({ "org.slf4j:slf4j-api": "2.0.17" }),
        "{}",
        cells[0]
    );
    let lib = world
        .path()
        .join(artifact["out"].as_str().unwrap())
        .join("lib");
    assert!(lib.join("hello-0.jar").is_file() && lib.join("slf4j-api-2.0.17.jar").is_file());
    expect_gap(&cells[1], "not-found", "has no version 2.0.99");
}

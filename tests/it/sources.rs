//! Sources and their registries.

use crate::world::World;

#[test]
fn a_lists_command_names_the_versions_and_its_failure_is_told() {
    let world = World::new();
    let matrix = |command: &str| {
        let text = format!(
            "schema = 2\n[source]\nversions = \">=1.1\"\n[source.list]\ncommand = {command}\n\
             [start]\ncmd = [\"true\"]\n"
        );
        world.write("list.toml", &text);
    };
    world.write("releases.txt", "# ours\n1.0.0\n\n1.2.0\n 1.1.0 \n");
    matrix(r#"["cat", "releases.txt"]"#);
    let said = world.run(&["check", "list.toml"]).expect(0).stdout;
    // In the order of the list, which is what decides where no other order is asked for.
    assert!(
        said.contains("  in   1.2.0\n  in   1.1.0\n  out  1.0.0"),
        "{said}"
    );
    matrix(r#"{ shell = "echo asking; echo 'error: no such remote' >&2; exit 3" }"#);
    let said = world.run(&["check", "list.toml"]).expect(128).stderr;
    for part in [
        "`source.list.command` failed",
        "exit code 3",
        "error: no such remote",
    ] {
        assert!(said.contains(part), "{said}");
    }
    matrix(r#"["printf", "1.2.0\\n1.2.0\\n"]"#);
    let said = world.run(&["check", "list.toml"]).expect(128).stderr;
    assert!(said.contains("`1.2.0` twice"), "{said}");
}

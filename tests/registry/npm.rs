//! npm: a library with nothing below it.

use super::{World, built, expect_gap};

#[test]
fn versions_of_a_library_are_installed_beside_a_server() {
    let world = World::new();
    world.write("server/hello.js", "require('utils-merge');\n");
    world.write("server/node_modules/left/behind.js", "");
    world.write(
        "library.toml",
        "schema = 2\n[source]\nversions = [\"1.0.0\", \"1.0.1\", \"1.0.99\"]\n\
         [source.npm]\npackage = \"utils-merge\"\nserver = \"server\"\n\
         [build]\nnetwork = false\n[start]\ncmd = [\"node\", \"{work}/hello.js\", \"{port}\"]\n",
    );
    let cells = built(&world, "library.toml");
    for (cell, version) in cells.iter().zip(["1.0.0", "1.0.1"]) {
        let artifact = &cell["artifact"];
        assert_eq!(artifact["dependencies"]["utils-merge"], version, "{cell}");
        let work = world.path().join(artifact["work"].as_str().unwrap());
        assert!(work.join("node_modules/utils-merge/index.js").is_file());
        assert!(work.join("hello.js").is_file() && !work.join("node_modules/left").exists());
    }
    expect_gap(&cells[2], "not-found", "has no version 1.0.99");
}

#[test]
fn what_a_package_needs_and_nobody_has_is_a_gap_in_npms_words() {
    let world = World::new();
    world.write("hello.js", "");
    world.write(
        "library.toml",
        "schema = 2\n[source]\nversions = [\"1.0.1\"]\n\
         [source.npm]\npackage = \"utils-merge\"\nserver = \"hello.js\"\nwith = [\"ee-first@99.0.0\"]\n\
         [start]\ncmd = [\"node\", \"{work}/hello.js\", \"{port}\"]\n",
    );
    let ended = world.run(&["build", "library.toml"]).expect(125);
    let gap = "fetch: not-found: npm could not fetch utils-merge@1.0.1: No matching version found for ee-first@99.0.0.";
    assert!(ended.stdout.contains(gap), "{}", ended.stdout);
}

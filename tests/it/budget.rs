//! A run that is given so much time.

use crate::world::{HARNESS, World};

/// A world with a matrix of two equal servers that nothing short of a thousand sessions would tell apart or alike.
fn world() -> World {
    let world = World::new();
    let text = format!(
        r#"
schema = 4
title = "equal servers"
[source]
versions = ["a", "b"]
[source.list]
[start]
cmd = ["{HARNESS}", "known-server", "--listen", "{{host}}:{{port}}"]
[load]
connections = 2
duration = "100ms"
window = "50ms"
warmup = {{ answers = 20, at_most = "400ms" }}
[sessions]
count = 1000
solo = 1
[verdict]
same_within = "0.01%"
min_effect = "50%"
"#
    );
    world.write("equal.toml", &text);
    world
}

#[test]
fn a_run_ends_in_time_and_says_what_it_still_needs() {
    let world = world();
    let ended = world
        .run(&["run", "equal.toml", "--budget", "4s"])
        .expect(125);
    let sessions = world.count("equal", "session");
    assert!((3..1000).contains(&sessions), "{sessions}");
    assert_eq!(world.count("equal", "summary"), 1, "it has ended by itself");
    assert!(ended.stdout.contains("unknown"), "{}", ended.stdout);
    world.expect_no_process();
}

#[test]
fn what_the_time_does_not_reach_is_a_gap_that_says_so() {
    let world = world();
    let ended = world
        .run(&["run", "equal.toml", "--budget", "1ms"])
        .expect(125);
    assert_eq!(world.count("equal", "session"), 0);
    assert_eq!(world.count("equal", "gap"), 2);
    assert!(
        ended
            .stdout
            .contains("the time was up before it was measured"),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains("--budget"), "{}", ended.stdout);
}

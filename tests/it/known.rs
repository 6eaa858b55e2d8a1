//! Gaps that are accepted, and gaps that heal.

use crate::world::World;

fn quick(world: &World) -> String {
    let ended = world.run(&["run", "faults.toml", "--quick", "--format", "md"]);
    assert!(
        [Some(0), Some(1), Some(125)].contains(&ended.code),
        "{}",
        ended.stderr
    );
    ended.stdout
}

#[test]
fn an_accepted_gap_is_known_and_one_that_heals_is_news() {
    let world = World::new();
    world.write_faults(&["steady", "build_fail"], "");
    let first = quick(&world);
    assert!(
        first.contains("1 gap,") && !first.contains("## News"),
        "{first}"
    );

    let reason = ["--matrix", "faults.toml", "--reason", "never built"];
    world
        .run(&[&["ack", "build_fail"], &reason[..]].concat())
        .expect(0);
    let listed = world.run(&["ack"]).expect(0).stdout;
    assert!(
        listed.contains("faults  build_fail  build failed  never built"),
        "{listed}"
    );
    let report = world.run(&["report", "faults.toml"]).stdout;
    assert!(
        report.contains("1 gap (1 known)") && report.contains("Known: never built"),
        "{report}"
    );

    world.change(
        "fault.rs",
        "compile_error!(\"this version does not build\");",
        "",
    );
    let healed = quick(&world);
    assert!(
        healed.contains("- build\\_fail has a number again"),
        "{healed}"
    );

    let removed = [&["ack", "build_fail", "--remove"], &reason[..2]].concat();
    world.run(&removed).expect(0);
    world.run(&removed).expect(129);
    world
        .run(&[&["ack", "build_fail"], &reason[..2]].concat())
        .expect(129);
    assert!(
        world
            .run(&["ack"])
            .expect(0)
            .stdout
            .contains("no gap is acknowledged")
    );
}

#[test]
fn a_broken_list_of_accepted_gaps_is_named() {
    let world = World::new();
    world.write("reports/acknowledged.json", "[{]");
    let ended = world.run(&["ack"]).expect(128);
    assert!(
        ended.stderr.contains("acknowledged.json is not a list"),
        "{}",
        ended.stderr
    );
}

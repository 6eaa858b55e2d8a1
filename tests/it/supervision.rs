//! Whatever is started below a supervisor ends with whoever started it.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::time::Duration;

use harness::matrix::StopSignal;
use harness::process::{self, Captured, Child, Ended, Limit, Limits, Spec};

use crate::world::{HARNESS, World};

const SOON: Duration = Duration::from_secs(20);

/// Returns a line for the shell, to be run in a world.
pub(crate) fn shell(world: &World, line: &str) -> Spec {
    process::use_supervisor(HARNESS);
    let path = std::env::var("PATH").unwrap();
    Spec {
        program: "sh".to_owned(),
        args: vec!["-c".to_owned(), line.to_owned()],
        cwd: world.path().to_owned(),
        env: BTreeMap::from([
            ("PATH".to_owned(), path),
            ("GIVEN".to_owned(), "yes".to_owned()),
        ]),
        ..Spec::default()
    }
}

#[tokio::test]
async fn what_a_program_says_is_captured_however_much_it_is() {
    let world = World::new();
    let line =
        "i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done; echo wrong >&2; exit 7";
    let captured = process::capture(&shell(&world, line), SOON).await.unwrap();
    assert_eq!(captured.ended, Ended::Code(7));
    assert_eq!(captured.stdout.len(), 20_000 * 11);
    assert_eq!(captured.stderr, "wrong\n");
}

#[tokio::test]
async fn a_child_sees_the_environment_it_is_given_and_nothing_else() {
    let world = World::new();
    let Captured { stdout, .. } = process::capture(&shell(&world, "echo $GIVEN; env"), SOON)
        .await
        .unwrap();
    assert!(stdout.starts_with("yes\n"), "{stdout}");
    assert!(!stdout.contains("CARGO"), "{stdout}");
}

#[tokio::test]
async fn a_program_that_is_missing_is_no_exit_code() {
    let world = World::new();
    let mut spec = shell(&world, "");
    spec.program = "no-such-program".to_owned();
    let captured = process::capture(&spec, SOON).await.unwrap();
    assert!(
        matches!(captured.ended, Ended::NotStarted(_)),
        "{captured:?}"
    );
}

#[tokio::test]
async fn at_its_deadline_a_program_is_killed_with_its_daemons() {
    let world = World::new();
    let spec = shell(&world, "setsid sleep 600 & sleep 600");
    let log = world.path().join("log");
    let ended = process::run(&spec, &log, Duration::from_millis(300))
        .await
        .unwrap();
    assert_eq!(ended, Ended::TimedOut);
    world.expect_no_process();
}

#[tokio::test]
async fn a_program_that_ends_by_itself_leaves_no_daemon() {
    let world = World::new();
    let spec = shell(&world, "setsid sleep 600 & echo started");
    let captured = process::capture(&spec, SOON).await.unwrap();
    assert_eq!(
        (captured.ended, captured.stdout.as_str()),
        (Ended::Code(0), "started\n")
    );
    assert_eq!(
        world.processes(),
        Vec::<String>::new(),
        "they are gone before the end is told"
    );
}

#[tokio::test]
async fn a_crowd_of_processes_is_ended_at_its_limit() {
    let world = World::new();
    let mut spec = shell(
        &world,
        "i=0; while [ $i -lt 40 ]; do setsid sleep 600 & i=$((i+1)); done; wait",
    );
    spec.limits.processes = Some(30);
    let captured = process::capture(&spec, SOON).await.unwrap();
    assert_eq!(captured.ended, Ended::OverLimit(Limit::Processes));
    assert_eq!(world.processes(), Vec::<String>::new());
}

#[tokio::test]
async fn what_is_captured_is_cut_at_its_limit() {
    let world = World::new();
    let mut spec = shell(&world, "yes >&2 & yes");
    spec.limits = Limits {
        log_bytes: Some(1000),
        ..Limits::default()
    };
    let captured = process::capture(&spec, SOON).await.unwrap();
    assert_eq!(captured.ended, Ended::OverLimit(Limit::Log));
    assert!(captured.stdout.len() <= 1000 && captured.stderr.len() <= 1000);
}

#[tokio::test]
async fn a_program_that_ignores_the_signal_is_killed_after_its_grace() {
    let world = World::new();
    let log = world.path().join("log");
    let spec = shell(
        &world,
        "trap '' TERM; echo ready; while :; do sleep 600; done",
    );
    let child = Child::spawn(&spec, &log, &log).await.unwrap().unwrap();
    wait_for(&log, "ready").await;
    let ended = child
        .stop(StopSignal::Term, Duration::from_millis(100))
        .await;
    assert_eq!(ended, Ended::Signal(9));
    assert_eq!(world.processes(), Vec::<String>::new());
}

#[tokio::test]
async fn the_signal_is_the_one_that_was_asked_for() {
    let world = World::new();
    let log = world.path().join("log");
    let spec = shell(
        &world,
        "trap 'exit 5' INT; echo ready; while :; do sleep 0.01; done",
    );
    let child = Child::spawn(&spec, &log, &log).await.unwrap().unwrap();
    wait_for(&log, "ready").await;
    let ended = child.stop(StopSignal::Int, SOON).await;
    assert_eq!(ended, Ended::Code(5));
}

#[test]
fn a_panic_takes_every_server_with_it() {
    let world = World::new();
    let log = world.path().join("log");
    let spec = shell(&world, "setsid sleep 600 & echo ready; sleep 600");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let panicked = std::panic::catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async {
            let _child = Child::spawn(&spec, &log, &log).await.unwrap().unwrap();
            wait_for(&log, "ready").await;
            panic!("a bug in Harness");
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(
        world.processes(),
        Vec::<String>::new(),
        "dropping waits until they are gone"
    );
}

#[tokio::test]
async fn a_supervisor_that_is_killed_itself_takes_its_group_along() {
    let world = World::new();
    let log = world.path().join("log");
    let spec = shell(&world, "echo ready; sleep 600");
    let child = Child::spawn(&spec, &log, &log).await.unwrap().unwrap();
    wait_for(&log, "ready").await;
    rustix::process::kill_process(child.root(), rustix::process::Signal::KILL).unwrap();
    drop(child);
    world.expect_no_process();
}

/// Waits until a program has said a word.
pub(crate) async fn wait_for(log: &Path, word: &str) {
    let deadline = tokio::time::Instant::now() + SOON;
    while !std::fs::read_to_string(log)
        .unwrap_or_default()
        .contains(word)
    {
        assert!(
            tokio::time::Instant::now() < deadline,
            "the program never said {word}"
        );
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

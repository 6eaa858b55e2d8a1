//! What a server's process tree uses, with children that begin and end while it is measured.

use std::path::{Path, PathBuf};
use std::time::Duration;

use harness::matrix::StopSignal;
use harness::outcome::Resources;
use harness::process::Child;
use harness::serve::meter::Meters;
use harness::serve::tree::Tree;

use crate::supervision::{shell, wait_for};
use crate::world::{World, until};

/// Keeps a CPU busy for about a tenth of a second: ten of the ticks in which the kernel tells what ended children used.
const BURN: &str = "i=0; while [ $i -lt 120000 ]; do i=$((i+1)); done";
/// How far the kernel's ticks may lead astray, s: two for each of a parent's sums, and one on each CPU.
const TICKS: f64 = 0.05;

/// A program that says `ready`, does its work once it is told to, says `done`, and waits to be ended.
struct Worker {
    child: Child,
    tree: Tree,
    world: World,
    log: PathBuf,
}

impl Worker {
    async fn start(mut tree: Tree, work: &str) -> Self {
        let world = World::new();
        let log = world.path().join("log");
        let line = format!("mkfifo go end; echo ready; read x < go; {work}; read x < end");
        let child = tree.spawn(&shell(&world, &line), &log).await;
        let child = child.unwrap().unwrap();
        wait_for(&log, "ready").await;
        Self {
            child,
            tree,
            world,
            log,
        }
    }

    /// Lets it work and returns what it used meanwhile, by one meter that looks all the time and by one that does not.
    async fn work(&self) -> [Resources; 2] {
        let mut meters = [Meters::new([&self.tree]), Meters::new([&self.tree])];
        meters.iter_mut().for_each(Meters::begin);
        let [often, seldom] = &mut meters;
        let mut sum = 0.0;
        std::fs::write(self.world.path().join("go"), "go\n").unwrap();
        while !self.said().contains("done") {
            sum += often.sample()[0];
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        if let Ok(daemon) = std::fs::read_to_string(self.world.path().join("daemon")) {
            let process = Path::new("/proc").join(daemon.trim());
            until("the daemon is gone", || !process.exists());
        }
        sum += often.sample()[0];
        let all = seldom.sample()[0];
        let used = meters.map(|meters| meters.finish().remove(0));
        assert!((used[0].cpu_seconds - sum).abs() < 1e-6, "{used:?} {sum}");
        assert!((used[1].cpu_seconds - all).abs() < 1e-6, "{used:?} {all}");
        used
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    async fn end(self) {
        self.child.stop(StopSignal::Term, Duration::ZERO).await;
    }
}

/// Returns what the shell's `times` says: its own CPU time with that of the children it has waited for, s.
fn told(said: &str) -> f64 {
    let times = said.lines().filter(|line| line.ends_with('s'));
    let seconds = times.flat_map(str::split_whitespace).map(|time| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60.0 + seconds.parse::<f64>().unwrap()
    });
    seconds.sum()
}

#[track_caller]
fn assert_used(used: &[Resources; 2], seconds: f64) {
    assert!(seconds > TICKS, "it did no work: {seconds}");
    for one in used {
        let difference = one.cpu_seconds - seconds;
        assert!(difference.abs() < TICKS, "{seconds} against {one:?}");
    }
}

/// What a worker is to do; each line tells what it used.
const FAMILIES: [&str; 3] = [
    // Children that end, one after another and within one another.
    "(BURN); (BURN; (BURN); :); times; echo done",
    // A child that begins and goes on.
    "(BURN; times; echo done; exec sleep 600) & :",
    // One whose parent is gone.
    "(setsid sh -c 'BURN; times; echo $$ > daemon; echo done' &) ; :",
];

#[tokio::test]
async fn children_that_begin_and_end_are_counted_once_by_what_each_process_tells() {
    for family in FAMILIES {
        let worker = Worker::start(Tree::default(), &family.replace("BURN", BURN)).await;
        let used = worker.work().await;
        assert_used(&used, told(&worker.said()));
        worker.end().await;
    }
}

#[tokio::test]
async fn children_that_begin_and_end_are_counted_once_by_a_group() {
    for family in FAMILIES {
        let worker = Worker::start(Tree::new(), &family.replace("BURN", BURN)).await;
        let used = worker.work().await;
        assert_used(&used, told(&worker.said()));
        worker.end().await;
    }
}

#[tokio::test]
async fn a_child_that_nobody_waits_for_takes_nothing_away() {
    // Where this signal is ignored, nobody is told what a child used.
    let work = format!("{BURN}; (exec sleep 0.01); times; echo done");
    let line = format!("trap '' CHLD; {work}");
    let worker = Worker::start(Tree::default(), &line).await;
    let used = worker.work().await;
    assert_used(&used, told(&worker.said()));
    worker.end().await;
}

#[tokio::test]
async fn switches_memory_threads_and_processes_are_those_of_the_whole_tree() {
    // At each turn the shell gives up the CPU to wait for a child.
    let turns = "for turn in 1 2 3 4 5 6 7 8 9; do sleep 0.002; done";
    let work = format!("{turns}; sleep 600 & {BURN}; echo done");
    let worker = Worker::start(Tree::new(), &work).await;
    let [used, _] = worker.work().await;
    assert!(used.voluntary_switches >= 5, "{used:?}");
    assert_eq!((used.processes, used.threads), (2, 2), "{used:?}");
    assert!(used.rss_mean_bytes > 100_000, "{used:?}");
    assert!(used.rss_peak_bytes >= used.rss_mean_bytes, "{used:?}");
    assert!(used.pss_bytes > Some(0), "{used:?}");
    assert!(used.pss_peak_bytes >= used.pss_bytes, "{used:?}");
    worker.end().await;
}

#[tokio::test]
async fn several_programs_of_one_server_are_one_tree() {
    let world = World::new();
    let mut tree = Tree::new();
    let mut children = Vec::new();
    for number in 0..2 {
        let log = world.path().join(format!("log{number}"));
        let spec = shell(&world, "echo ready; exec sleep 600");
        children.push(tree.spawn(&spec, &log).await.unwrap().unwrap());
        wait_for(&log, "ready").await;
    }
    let mut meters = Meters::new([&tree]);
    meters.begin();
    assert_eq!(meters.finish()[0].processes, 2);
}

#[test]
fn nothing_is_known_of_a_server_that_somebody_else_has_started() {
    let tree = Tree::default();
    let mut meters = Meters::new([&tree]);
    meters.begin();
    assert_eq!(meters.sample(), [0.0]);
    assert_eq!(meters.finish(), [Resources::default()]);
}

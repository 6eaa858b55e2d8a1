//! Servers with a malice under a real load: each fails in its own way, and none costs the client memory or time.

mod servers;

use std::collections::BTreeMap;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use harness::load::{Expected, Running, Schedule, Target, start};
use harness::matrix::{Manner, Stop, Workload};
use harness::outcome::{ErrorKind, LoadFigures};

use rustix::process::Signal;

use crate::world::{World, send, until};
use servers::{BODY, CASES, Case, HELLO, Malice, Server};

/// The longest wait for one answer.
const TIMEOUT: Duration = Duration::from_millis(150);
/// Connections to each server.
const CONNECTIONS: u32 = 2;
/// Failures, or right answers, of each server that are waited for.
const ENOUGH: u64 = 8;
/// The most memory of the whole program: less than twice what it has before its first load.
const MOST_MEMORY: u64 = 48 << 20;

fn workload(method: &str) -> Workload {
    Workload {
        name: "malice".to_owned(),
        method: method.to_owned(),
        path: "/".to_owned(),
        headers: BTreeMap::new(),
        body: None,
        connections: CONNECTIONS,
        keep_alive: true,
        stop: Stop::Duration(Duration::MAX),
        warmup_answers: 0,
        warmup_at_most: Duration::ZERO,
        window: Duration::from_millis(50),
        timeout: TIMEOUT,
        max_error_rate: 0.0,
        manner: Manner::default(),
    }
}

/// Loads a server of each malice at once.
fn load(workload: &Workload, malices: &[Malice]) -> (Running, Vec<Server>) {
    let servers: Vec<Server> = malices
        .iter()
        .map(|&malice| Server::start(malice, 0))
        .collect();
    let targets: Vec<Target> = servers.iter().map(target).collect();
    let cpus = [first_cpu()];
    let running = start(workload, &targets, &cpus, Schedule::Together).unwrap();
    (running, servers)
}

fn target(server: &Server) -> Target {
    Target {
        addresses: vec![server.address.into()],
        status: 200,
        expected: vec![Expected {
            length: Some(BODY.len() as u64),
            body: None,
        }],
    }
}

/// The first CPU that this process may use.
fn first_cpu() -> usize {
    let set = rustix::thread::sched_getaffinity(None).unwrap();
    (0..rustix::thread::CpuSet::MAX_CPU)
        .find(|&cpu| set.is_set(cpu))
        .unwrap()
}

fn until_enough(running: &Running) {
    until("each server has failed or answered often enough", || {
        let counts = running.counts();
        let mut each = counts.iter().zip(CASES);
        each.all(|(counts, case)| {
            let count = if case.kinds.is_empty() {
                counts.answers
            } else {
                counts.failed
            };
            count >= ENOUGH
        })
    });
}

/// Fails unless a server's requests came to what they must.
fn assert_ends(case: &Case, figures: &LoadFigures) {
    let kinds: Vec<ErrorKind> = figures.errors.keys().copied().collect();
    let name = case.name;
    assert!(
        kinds.iter().all(|kind| case.kinds.contains(kind)),
        "{name}: {figures:?}"
    );
    assert_eq!(kinds.is_empty(), case.kinds.is_empty(), "{name}");
    assert_eq!(figures.resent > 0, case.drops_kept(), "{name}");
}

/// Returns how often requests that get no answer can fail in a time, with the pause after each failure.
fn most_failures(time: Duration) -> u64 {
    // 5, 10, 20, 40 and 80 ms, then 100.
    let each = 6 + time.as_millis() / 100;
    u64::from(CONNECTIONS) * u64::try_from(each).unwrap()
}

#[test]
fn each_malice_is_a_failure_of_its_kind_and_spoils_no_other_server() {
    let malices: Vec<Malice> = CASES.iter().map(|case| case.malice).collect();
    let began = Instant::now();
    let (running, _servers) = load(&workload("GET"), &malices);
    until_enough(&running);
    let figures = running.stop();
    let most = most_failures(began.elapsed());
    for (case, figures) in CASES.iter().zip(figures) {
        assert_ends(case, &figures);
        let spins = figures.failed() > most && figures.answers == 0 && !case.answers_wrongly();
        assert!(!spins, "{}: {figures:?}", case.name);
    }
}

#[test]
fn no_malice_holds_up_a_load_of_another_manner() {
    let plain = workload("GET");
    let manner = |pipeline, rate| Manner {
        pipeline,
        rate,
        ..Manner::default()
    };
    let manners = [
        (manner(Some(4), None), true),
        (manner(None, Some(100)), true),
        (manner(None, None), false),
    ];
    let malices: Vec<Malice> = CASES.iter().map(|case| case.malice).collect();
    for (manner, keep_alive) in manners {
        let workload = Workload {
            manner,
            keep_alive,
            ..plain.clone()
        };
        let (running, _servers) = load(&workload, &malices);
        until("each request has failed or is answered", || {
            let counts = running.counts();
            counts.iter().all(|one| one.answers + one.failed >= ENOUGH)
        });
        for (case, figures) in CASES.iter().zip(running.stop()) {
            let own = figures.errors.contains_key(&ErrorKind::Client);
            assert!(!own, "{}: {figures:?}", case.name);
        }
    }
}

#[test]
fn an_answer_to_head_with_a_body_is_none() {
    let (running, _servers) = load(&workload("HEAD"), &[Malice::Says(HELLO)]);
    until("it has failed", || running.counts()[0].failed >= ENOUGH);
    let kinds = running.stop().remove(0).errors;
    assert_eq!(
        kinds.into_keys().collect::<Vec<_>>(),
        [ErrorKind::Malformed]
    );
}

/// Servers that are as bad to the first connection as to any other, and how what is asked before the load must end.
const AT_ONCE: [(&str, &str); 10] = [
    ("folded", "measured"),
    ("garbage", "start: not-ready"),
    ("silent", "start: not-ready"),
    ("ignores", "start: not-ready"),
    ("endless-size", "start: not-ready"),
    ("endless-interim", "start: not-ready"),
    ("endless-headers", "start: not-ready"),
    ("endless-body", "check: wrong-answer"),
    ("resets-first", "start: not-ready"),
    ("wrong-status", "check: wrong-answer"),
];

/// Connections that come before the load: one to see that somebody listens, and one with a request.
const BEFORE_LOAD: usize = 2;

/// A version of a run: its name, its server, and what must become of its first launch.
struct Version {
    name: String,
    server: Server,
    state: &'static str,
}

/// Starts a server of each malice that does right until the load begins, and some that do not.
fn versions() -> Vec<Version> {
    let of_interest = |case: &&Case| case.state() != "measured" || case.name == "hello";
    let under_load = CASES.iter().filter(of_interest).map(|case| Version {
        name: case.name.to_owned(),
        server: Server::start(case.malice, BEFORE_LOAD),
        state: case.state(),
    });
    let at_once = AT_ONCE.iter().map(|&(name, state)| {
        let case = CASES.iter().find(|case| case.name == name).unwrap();
        Version {
            name: format!("{name}-at-once"),
            server: Server::start(case.malice, 0),
            state,
        }
    });
    under_load.chain(at_once).collect()
}

fn matrix(versions: &[Version]) -> String {
    let address = |version: &Version| format!("{} = \"{}\"", version.name, version.server.address);
    let addresses: Vec<String> = versions.iter().map(address).collect();
    format!(
        r#"schema = 2
[source.attach]
addresses = {{ {} }}
[ready]
timeout = "50ms"
[check]
body = "{BODY}"
[load]
connections = {CONNECTIONS}
duration = "100ms"
window = "20ms"
warmup = {{ answers = 1, at_most = "10ms" }}
timeout = "80ms"
"#,
        addresses.join(", ")
    )
}

/// Returns the most memory that a running program has used so far, bytes; none of one that has ended.
fn most_memory(child: &Child) -> Option<u64> {
    let process = procfs::process::Process::new(child.id().cast_signed()).ok()?;
    Some(process.status().ok()?.vmhwm? * 1024)
}

#[test]
fn in_a_whole_run_each_malice_is_a_gap_and_costs_no_memory() {
    let world = World::new();
    let versions = versions();
    world.write("malice.toml", &matrix(&versions));
    let mut child = world
        .harness(&["run", "malice.toml"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut peak_bytes = 0;
    // What comes after the first launches is no news, and is not waited for.
    until("each version was launched", || {
        peak_bytes = most_memory(&child).unwrap_or(peak_bytes);
        world.count("malice", "session") >= versions.len()
    });
    send(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));

    let found = first_launches(&world);
    let expected = versions
        .iter()
        .map(|version| (version.name.clone(), version.state.to_owned()));
    assert_eq!(found, expected.collect::<BTreeMap<_, _>>());
    assert!((1..MOST_MEMORY).contains(&peak_bytes), "{peak_bytes}");
}

/// Returns what came of each version's first launch.
fn first_launches(world: &World) -> BTreeMap<String, String> {
    let records = world.records("malice");
    let cells = records[0]["cells"].as_array().unwrap();
    let mut found = BTreeMap::new();
    for record in records
        .iter()
        .filter(|record| record["record"] == "session")
    {
        let launch = &record["launches"][0];
        let cell = usize::try_from(launch["cell"].as_u64().unwrap()).unwrap();
        let text = |key: &str| launch["gap"][key].as_str().unwrap().to_owned();
        let state = if launch["gap"].is_object() {
            format!("{}: {}", text("stage"), text("kind"))
        } else {
            "measured".to_owned()
        };
        let name = cells[cell]["id"].as_str().unwrap();
        found.entry(name.to_owned()).or_insert(state);
    }
    found
}

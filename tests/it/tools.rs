//! Other programs that send the requests, through the whole program, against a server of the test's own that counts.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::world::World;

const CONNECTIONS: u64 = 4;

/// A server in threads of the test, which counts whole answers.
struct Counting {
    port: u16,
    answers: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Counting {
    /// Starts it; each connection falls silent after so many answers.
    fn start(silent_after: u64) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (answers, stop) = (
            Arc::new(AtomicU64::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let (counter, stopped) = (Arc::clone(&answers), Arc::clone(&stop));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let counter = Arc::clone(&counter);
                std::thread::spawn(move || serve(stream, &counter, silent_after));
            }
        });
        Self {
            port,
            answers,
            stop,
        }
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // The last connection wakes it up.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
    }
}

/// Answers one connection as HTTP/1.0 and 1.1 have it; nothing once it is closed.
fn serve(stream: TcpStream, answers: &AtomicU64, silent_after: u64) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut writer = stream.try_clone().ok()?;
    let mut lines = BufReader::new(stream).lines();
    for _ in 0..silent_after {
        let first = lines.next()?.ok()?;
        let mut kept = first.ends_with("HTTP/1.1");
        for line in lines.by_ref() {
            match line.ok()?.to_ascii_lowercase().as_str() {
                "" => break,
                "connection: close" => kept = false,
                "connection: keep-alive" => kept = true,
                _ => {}
            }
        }
        // Work to do, so that it is the server and not the program that sets the pace.
        std::thread::sleep(Duration::from_micros(500));
        answers.fetch_add(1, Ordering::Relaxed);
        let connection = if kept { "keep-alive" } else { "close" };
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: {connection}\r\n\r\n");
        writer.write_all((head + "Hello World\n").as_bytes()).ok()?;
        if !kept {
            return None;
        }
    }
    // Until the other side closes it.
    lines.last().map(drop)
}

const COLD: &str = "warmup = { at_most = \"0s\" }";

/// Writes a matrix of one server that runs already.
fn write(world: &World, port: u16, load: &str) {
    let text = format!(
        r#"schema = 1
[source.attach]
addresses = {{ own = "127.0.0.1:{port}" }}
[check]
body = "Hello World\n"
[load]
connections = {CONNECTIONS}
{load}
[sessions]
design = "solo"
count = 3
solo = 1
"#
    );
    world.write("tool.toml", &text);
}

fn sessions(world: &World) -> Vec<serde_json::Value> {
    let records = world.records("tool").into_iter();
    let sessions: Vec<_> = records
        .filter(|record| record["record"] == "session")
        .collect();
    assert!(!sessions.is_empty(), "a session was held");
    sessions
}

fn is_there(tool: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {tool}")])
        .output();
    found.unwrap().status.success()
}

/// Loads the counting server with a program and holds what that says against what the server counted. A program that
/// is not on this machine is left out: the texts that it prints are tested all the same.
fn counts_as_the_server_does(tool: &str, load: &str) {
    if !is_there(tool) {
        return;
    }
    let world = World::new();
    let server = Counting::start(u64::MAX);
    write(&world, server.port, &format!("tool = \"{tool}\"\n{load}"));
    let ended = world.run(&["run", "tool.toml"]);
    assert_eq!(ended.code, Some(125), "{ended:?}");
    let (mut told, mut loads) = (0, 0);
    for session in sessions(&world) {
        let engine = session["client"]["engine"].as_str().unwrap();
        assert!(engine.starts_with(tool), "{engine}");
        let sample = &session["launches"][0]["sample"];
        assert!(sample.is_object(), "no sample: {session}");
        assert_eq!(sample["load"].get("errors"), None, "{sample}");
        let warmup = sample["warmup_answers"].as_u64().unwrap();
        told += sample["load"]["answers"].as_u64().unwrap() + warmup;
        loads += 1 + u64::from(warmup > 0);
        assert!(
            session["windows"][0]["client_cpu_seconds"]
                .as_f64()
                .unwrap()
                > 0.0
        );
        assert!(session["client_share"].as_f64().unwrap() > 0.0);
    }
    let log = world.run(&["log", "own", "--matrix", "tool.toml", "--load"]);
    let log = log.expect(0).stdout;
    assert!(log.contains(" fetches/sec, one each "), "{log}");
    let counted = server.answers.load(Ordering::Relaxed);
    // The probes before and after each, and what was under way when a load ended.
    let range = told..=told + loads * (10 + CONNECTIONS);
    assert!(range.contains(&counted), "{counted} is not in {range:?}");
}

#[test]
fn wrk_counts_as_the_server_does() {
    counts_as_the_server_does("wrk", &format!("duration = \"1s\"\n{COLD}"));
}

#[test]
fn wrk_counts_as_the_server_does_without_keep_alive() {
    counts_as_the_server_does(
        "wrk",
        &format!("duration = \"1s\"\nkeep_alive = false\n{COLD}"),
    );
}

#[test]
fn ab_counts_as_the_server_does() {
    counts_as_the_server_does("ab", &format!("requests = 2000\n{COLD}"));
}

#[test]
fn hey_counts_as_the_server_does_with_a_warm_up() {
    counts_as_the_server_does(
        "hey",
        "duration = \"300ms\"\nwarmup = { answers = 10, at_most = \"10ms\" }",
    );
}

#[test]
fn h2load_counts_as_the_server_does() {
    counts_as_the_server_does("h2load", &format!("duration = \"300ms\"\n{COLD}"));
}

#[test]
fn oha_counts_as_the_server_does() {
    counts_as_the_server_does("oha", &format!("duration = \"300ms\"\n{COLD}"));
}

#[test]
fn a_missing_program_is_named_before_anything_is_built() {
    let world = World::new();
    write(&world, 9, "tool = \"ab\"\nrequests = 2000");
    let mut command = world.harness(&["run", "tool.toml"]);
    // Nothing is found here, so a machine that has it is like one that has not.
    let ended = command.env("PATH", world.path()).output().unwrap();
    let ended = crate::world::Ended::of(ended).expect(128);
    for part in ["`ab`", "apt install apache2-utils"] {
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
    assert_eq!(world.journal("tool"), None);
}

#[test]
fn a_server_that_falls_silent_is_a_gap_though_the_program_says_nothing_of_it() {
    if !is_there("wrk") {
        return;
    }
    let world = World::new();
    let server = Counting::start(100);
    let load = format!("tool = \"wrk\"\nduration = \"1s\"\n{COLD}");
    write(&world, server.port, &load);
    let ended = world.run(&["run", "tool.toml"]).expect(125);
    assert!(ended.stdout.contains("load stalled"), "{ended:?}");
    let gap = &sessions(&world)[0]["launches"][0]["gap"];
    let cause = gap["cause"].as_str().unwrap();
    assert!(cause.contains("were under way on average"), "{cause}");
}

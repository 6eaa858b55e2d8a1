//! A thousand nights of three hundred versions: `cargo bench --bench nights`.
//!
//! It writes the ledger of so many nights and as many journals, and prints how long the last night's report and the first
//! page of `harness serve` take, and the memory of it.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "it writes files, looks at the clock, and prints what it saw"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use harness::nightly::ledger::Ledger;
use harness::nightly::{Level, Measured, Night, Outcome, Seen, Story};
use harness::report::nightly;
use harness::verdict::{Metric, Verdict};
use jiff::Timestamp;

const NIGHTS: u32 = 1000;
const VERSIONS: u32 = 300;
/// Seconds of a day.
const DAY: i64 = 86_400;

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let root = folder.path();
    let path = root.join("reports/nightly/hello.jsonl");
    let mut ledger = Ledger::open(&path)?;
    for number in 0..NIGHTS {
        ledger.add(night(number)?)?;
    }
    let bytes = std::fs::metadata(&path)?.len();
    println!(
        "ledger of {NIGHTS} nights of {VERSIONS} versions: {} MiB",
        bytes >> 20
    );
    drop(ledger);
    let begun = Instant::now();
    let ledger = Ledger::open(&path)?;
    let told = ledger.nights.len() - 1;
    let story = Story::new("hello", &ledger.nights, told, &|_| None).context("there are nights")?;
    let report = nightly::markdown("2026-01-01", &[story]);
    println!(
        "report of the last night: {:?}, {} bytes",
        begun.elapsed(),
        report.len()
    );
    println!("peak resident set so far: {}", peak()?);
    println!("first page of harness serve: {:?}", first_page(root)?);
    Ok(())
}

fn night(number: u32) -> Result<Night> {
    let started = Timestamp::from_second(i64::from(number) * DAY + 1_700_000_000)?;
    let name = |version: u32| format!("1.{version}.0");
    let rate = |version: u32| 8000.0 + f64::from((version * 37 + number * 101) % 97);
    let levels = (0..VERSIONS).map(|version| Level {
        cell: name(version),
        commit: None,
        fetches_per_second: rate(version),
    });
    let steps = (1..VERSIONS).map(|version| {
        // One in fifty is worse one night and better another.
        let flagged = (version + number).is_multiple_of(50);
        let effect = if flagged { -0.05 } else { 0.001 };
        Seen {
            baseline: name(version - 1),
            candidate: name(version),
            main: true,
            metric: Metric::Throughput,
            verdict: if flagged {
                Verdict::Regression
            } else {
                Verdict::Same
            },
            effect: Some(effect),
            interval: Some((effect - 0.01, effect + 0.01)),
            confirmed: flagged.then_some(true),
        }
    });
    let measured = Measured {
        run: format!("run-{number}"),
        min_effect: 0.01,
        steps: steps.collect(),
        gaps: Vec::new(),
        levels: levels.collect(),
        waiting: 0,
        health: None,
        notes: Vec::new(),
    };
    Ok(Night {
        started,
        outcome: Outcome::Measured(measured),
    })
}

/// Returns the greatest resident set of this process as the kernel has it.
fn peak() -> Result<String> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let line = line.context("the kernel tells the peak")?;
    Ok(line.trim_start_matches("VmHWM:").trim().to_owned())
}

/// Returns how long the first page takes where there is a journal for each night.
fn first_page(root: &Path) -> Result<Duration> {
    let journals = root.join("reports/data/hello");
    std::fs::create_dir_all(&journals)?;
    for number in 0..NIGHTS {
        std::fs::write(
            journals.join(format!("2026{number:04}T020000Z-host-0000.jsonl")),
            "{}\n",
        )?;
    }
    std::fs::write(root.join("harness.toml"), "schema = 1\n")?;
    let mut server = Command::new(env!("CARGO_BIN_EXE_harness"))
        .args(["serve", "--port", "0"])
        .current_dir(root)
        .stdout(Stdio::piped())
        .spawn()?;
    let taken = ask(&mut server);
    server.kill()?;
    server.wait()?;
    taken
}

fn ask(server: &mut std::process::Child) -> Result<Duration> {
    let stdout = server.stdout.take().context("its output is a pipe")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    let port = line
        .split(['/', ':'])
        .find_map(|word| word.parse::<u16>().ok());
    let begun = Instant::now();
    let mut stream = TcpStream::connect(("127.0.0.1", port.context("it says its port")?))?;
    stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut page = String::new();
    stream.read_to_string(&mut page)?;
    anyhow::ensure!(page.starts_with("HTTP/1.1 200"), "{page}");
    Ok(begun.elapsed())
}

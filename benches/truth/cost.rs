//! What an answer of the known server costs: instructions by callgrind, CPU time by the kernel's clock.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use harness::journal::CpuPlan;
use harness::known::{KNOWN, trial};
use harness::{load, progress, serve};
use regex::Regex;

use crate::common::{HARNESS, Server, busy_since};
use crate::spread::median_and_range;

/// Requests of the two counts, of whose difference the start of the server is no part.
const REQUESTS: [u32; 2] = [50, 250];
/// Connections of a solo trial, as many as in a race.
pub(crate) const CONNECTIONS: u32 = 32;
/// Length of a solo trial.
const TRIAL: Duration = Duration::from_secs(1);
/// Longest wait for a server under callgrind to listen.
const PATIENCE: Duration = Duration::from_mins(1);

/// What an answer costs.
pub(crate) struct Cost {
    /// Instructions of an answer of each server, the baseline first.
    pub(crate) instructions: Vec<f64>,
    /// Those of a server that turns twice as often as the baseline.
    double: f64,
    /// CPU time of an answer of the baseline and of that server, µs: median, least, greatest.
    cpu_us: [(f64, f64, f64); 2],
}

impl Cost {
    /// Measures the servers that turn so often; the first is the baseline.
    pub(crate) async fn measure(
        turns: &[u64],
        trials: u32,
        (cpus, folder): (&CpuPlan, &Path),
    ) -> Result<Self> {
        let mut instructions = Vec::new();
        for &turns in turns {
            progress::line(&format!("counting instructions with {turns} turns"));
            instructions.push(per_answer(turns, folder)?);
        }
        let twice = turns[0] * 2;
        let double = per_answer(twice, folder)?;
        let mut cpu_us = [Vec::new(), Vec::new()];
        for trial in 1..=trials {
            progress::line(&format!("solo trial {trial} of {trials}"));
            cpu_us[0].push(solo(turns[0], cpus, folder).await?);
            cpu_us[1].push(solo(twice, cpus, folder).await?);
        }
        let spread = |values: &Vec<f64>| median_and_range(values).context("no solo trials");
        Ok(Self {
            instructions,
            double,
            cpu_us: [spread(&cpu_us[0])?, spread(&cpu_us[1])?],
        })
    }

    /// Returns the true effect of one server against the baseline.
    ///
    /// What an instruction costs is not taken from a server without turns: that one keeps the client awake, and the
    /// others have to wake it for each answer, so that the kernel's part of an answer is another.
    pub(crate) fn truth(&self, place: usize) -> f64 {
        let [(baseline, ..), (double, ..)] = self.cpu_us;
        let instruction = (double - baseline) / (self.double - self.instructions[0]);
        let more = (self.instructions[place] - self.instructions[0]) * instruction;
        -((baseline + more) / baseline).ln()
    }

    /// Returns the effect that it would be if all CPU time were that of the server's own instructions.
    pub(crate) fn by_instructions(&self, place: usize) -> f64 {
        -(self.instructions[place] / self.instructions[0]).ln()
    }

    /// Says how much of the CPU time is not the loop's.
    pub(crate) fn in_words(&self) -> String {
        let [baseline, double] = self.cpu_us;
        format!(
            "CPU time of an answer alone: {:.2} µs ({:.2}–{:.2}) with the baseline's turns, {:.2} µs ({:.2}–{:.2}) with twice \
             as many: {:.1} % of the baseline's is not the loop's.",
            baseline.0,
            baseline.1,
            baseline.2,
            double.0,
            double.1,
            double.2,
            (2.0 * baseline.0 - double.0) / baseline.0 * 100.0
        )
    }
}

/// Returns the instructions of one answer.
fn per_answer(turns: u64, folder: &Path) -> Result<f64> {
    let [few, many] = REQUESTS;
    let counted = |requests| instructions(turns, requests, folder);
    Ok((counted(many)? - counted(few)?) / f64::from(many - few))
}

/// Returns the instructions of a whole server that was asked so often.
fn instructions(turns: u64, requests: u32, folder: &Path) -> Result<f64> {
    let address = serve::free_address()?;
    let out = folder.join("callgrind.out");
    let mut server = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .args([HARNESS, KNOWN])
        .args([format!("--listen={address}"), format!("--turns={turns}")])
        .stdin(Stdio::piped())
        .spawn()
        .context("valgrind")?;
    let asked = ask(address, requests);
    // The server ends with its standard input, which waiting closes.
    let ended = server.wait()?;
    asked?;
    ensure!(ended.success(), "the server under callgrind: {ended}");
    let text = std::fs::read_to_string(&out)?;
    let found = Regex::new(r"(?m)^(?:summary|totals): (\d+)")?.captures(&text);
    let total = found.context("callgrind has written no sum")?;
    Ok(total[1].parse()?)
}

/// Asks one request after the other on one connection.
fn ask(address: SocketAddr, requests: u32) -> Result<()> {
    let begun = Instant::now();
    while !serve::is_taken(&address.into()) {
        ensure!(begun.elapsed() < PATIENCE, "nothing listens on {address}");
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut buffer = [0; 1024];
    for _ in 0..requests {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: known\r\n\r\n")?;
        let length = stream.read(&mut buffer)?;
        ensure!(
            buffer[..length].ends_with(b"Hello World\n"),
            "no whole answer"
        );
    }
    Ok(())
}

/// Returns the CPU time per answer of a server alone, µs.
async fn solo(turns: u64, cpus: &CpuPlan, folder: &Path) -> Result<f64> {
    let server = Server::known(&["--turns", &turns.to_string()], &cpus.server, folder).await?;
    let workload = trial::workload(CONNECTIONS);
    let running = load::start(
        &workload,
        &[trial::target(server.address)],
        &cpus.load,
        load::Schedule::Together,
    )?;
    tokio::time::sleep(TRIAL / 2).await;
    let (before, begun) = (trial::answers(server.address)?, server.now());
    tokio::time::sleep(TRIAL).await;
    let seconds = begun.1.elapsed().as_secs_f64();
    let busy = busy_since(begun);
    let given = trial::answers(server.address)? - before;
    drop(running);
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    let answers = given as f64;
    Ok(busy * seconds * 1e6 / answers)
}

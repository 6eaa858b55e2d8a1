//! The engine beside other load generators: `cargo bench --bench load`.
//!
//! In turn, in rounds of random order, each loads the same pinned servers from one pinned CPU for two seconds. The CPU
//! time of each is what the kernel says of its ended process; the engine runs in a process of its own for that.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark measures the real machine and prints what it found"
)]

mod common;
#[path = "common/clients.rs"]
mod clients;
#[path = "common/spread.rs"]
mod spread;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use clap::Parser;
use clients::{Client, Mode, Seen, Trial};
use common::{Server, busy_since};
use harness::journal::CpuPlan;
use harness::known::trial;
use harness::{host, progress};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

const NGINX: &str = "\
daemon off; worker_processes 1; pid nginx.pid; error_log stderr;
events { worker_connections 4096; }
http {
  access_log off; keepalive_requests 1000000000;
  server { listen 127.0.0.1:PORT reuseport; location / { return 200 \"hello world\\n\"; } }
}
";

#[derive(Debug, Parser)]
struct Options {
    /// Rounds: in each every client loads every server once.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Length of each load, s.
    #[arg(long, default_value_t = 2)]
    seconds: u32,
    /// Seed of the orders.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Loads as the engine of this name and says what it saw, as JSON: the benchmark's own child.
    #[arg(long, hide = true)]
    engine: Option<String>,
    #[command(flatten)]
    child: clients::Child,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The place of the server that counts its answers.
const COUNTING: usize = 0;

/// What each client saw of each server in each mode, round by round.
type Results = BTreeMap<(usize, Mode, Client), Vec<Seen>>;

fn main() -> Result<()> {
    let options = Options::parse();
    match &options.engine {
        Some(engine) => clients::run_engine(engine, &options.child),
        None => tokio::runtime::Runtime::new()?.block_on(run(&options)),
    }
}

async fn run(options: &Options) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let cpus = host::cpu_plan(None, None)?;
    let cpu = *cpus.load.last().context("no CPU for the load")?;
    let servers = servers(&cpus, folder.path()).await?;
    let mut random = Pcg64::seed_from_u64(options.seed);
    let mut results = Results::new();
    for round in 1..=options.rounds {
        for (place, mode) in (0..servers.len()).flat_map(|it| [(it, Mode::Kept), (it, Mode::New)]) {
            let (name, server) = &servers[place];
            let (rounds, manner) = (options.rounds, mode.name());
            progress::line(&format!("round {round} of {rounds}: {name}, {manner}"));
            let trial = Trial {
                address: server.address,
                mode,
                seconds: options.seconds,
                cpu,
            };
            for client in shuffled(mode, &mut random) {
                let seen = seen(client, &trial, server, place == COUNTING).await?;
                results.entry((place, mode, client)).or_default().push(seen);
            }
        }
    }
    let names: Vec<&str> = servers.iter().map(|(name, _)| *name).collect();
    print_all(&names, &results);
    Ok(())
}

/// Returns the clients that are here and can load in this mode, in random order.
fn shuffled(mode: Mode, random: &mut Pcg64) -> Vec<Client> {
    let able = |client: &Client| client.is_here() && client.can(mode);
    let mut clients: Vec<Client> = Client::ALL.into_iter().filter(able).collect();
    clients.shuffle(random);
    clients
}

/// Starts the servers, each on the servers' first CPU; they idle when they are not loaded.
async fn servers(cpus: &CpuPlan, folder: &Path) -> Result<Vec<(&'static str, Server)>> {
    let cpu = &cpus.server[..1];
    let mut servers = vec![("known server", Server::known(&[], cpu, folder).await?)];
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("servers/hello.js");
    let script = script.to_str().context("the path is not UTF-8")?;
    // The shell fills the port into the file, as nginx takes it from nowhere else.
    std::fs::write(folder.join("nginx.template"), NGINX)?;
    let nginx = format!(
        "sed s/PORT/{{port}}/ nginx.template > nginx.conf && exec nginx -p {0} -c {0}/nginx.conf",
        folder.display()
    );
    for (name, words) in [
        ("nginx", ["sh", "-c", &nginx]),
        ("Node.js", ["node", script, "{port}"]),
    ] {
        match Server::start(&words, cpu, folder).await {
            Ok(server) => servers.push((name, server)),
            Err(error) => progress::line(&format!("without {name}: {error:#}")),
        }
    }
    Ok(servers)
}

/// Lets one client load one server; what it says is held against the server's count where the server counts. A client
/// that fails is told in the table like one that counts wrong.
async fn seen(client: Client, trial: &Trial, server: &Server, counts: bool) -> Result<Seen> {
    let before = counts.then(|| trial::answers(trial.address)).transpose()?;
    let begun = server.now();
    let mut seen = client.load(trial).await.unwrap_or_else(|error| Seen {
        wrong: vec![format!("{error:#}")],
        ..Seen::default()
    });
    seen.server_busy = busy_since(begun);
    if let Some(before) = before {
        let given = trial::answers(trial.address)? - before;
        let unread = given.checked_sub(seen.answers);
        if unread.is_none_or(|unread| unread > u64::from(clients::CONNECTIONS)) {
            let counted = format!("counted {} answers of {given}", seen.answers);
            seen.wrong.push(counted);
        }
    }
    Ok(seen)
}

fn print_all(servers: &[&str], results: &Results) {
    for (place, server) in servers.iter().enumerate() {
        for mode in [Mode::Kept, Mode::New] {
            println!(
                "### {server}, {}\n\n{}",
                mode.name(),
                table(results, place, mode)
            );
        }
    }
    for client in Client::ALL.iter().filter(|client| !client.is_here()) {
        println!("Not installed: {}.", client.name());
    }
    println!(
        "{} connections. {}",
        clients::CONNECTIONS,
        common::machine()
    );
}

fn table(results: &Results, place: usize, mode: Mode) -> String {
    let of = |client: Client| {
        results
            .get(&(place, mode, client))
            .map_or(&[][..], Vec::as_slice)
    };
    let yardstick = of(Client::YARDSTICK);
    let rows: Vec<Vec<String>> = Client::ALL
        .iter()
        .filter(|client| !of(**client).is_empty())
        .map(|client| row(*client, of(*client), yardstick))
        .collect();
    let heads = [
        "client",
        "answers/s",
        "÷ wrk",
        "CPU µs/answer",
        "÷ wrk",
        "server busy %",
        "wrong",
    ];
    common::table(&heads, &rows)
}

/// Returns a client's medians with their ranges. Rounds in which something was wrong are told and not averaged.
fn row(client: Client, all: &[Seen], yardstick: &[Seen]) -> Vec<String> {
    let column = |value: fn(&Seen) -> f64, decimals: usize| {
        let right = all.iter().filter(|seen| seen.wrong.is_empty());
        let values: Vec<f64> = right.map(value).collect();
        let pairs = all.iter().zip(yardstick);
        let both = pairs.filter(|(seen, yard)| seen.wrong.is_empty() && yard.wrong.is_empty());
        let ratios: Vec<f64> = both.map(|(seen, yard)| value(seen) / value(yard)).collect();
        let text = |values: &[f64], decimals: usize| match spread::median_and_range(values) {
            Some((median, least, most)) => {
                format!("{median:.decimals$} ({least:.decimals$}–{most:.decimals$})")
            }
            None => "–".to_owned(),
        };
        [text(&values, decimals), text(&ratios, 2)]
    };
    let wrong: Vec<&str> = all
        .iter()
        .flat_map(|seen| &seen.wrong)
        .map(String::as_str)
        .collect();
    let [rate, rate_ratio] = column(Seen::rate, 0);
    let [cpu, cpu_ratio] = column(Seen::cpu_us, 2);
    let [busy, _] = column(|seen| seen.server_busy * 100.0, 0);
    vec![
        client.name(),
        rate,
        rate_ratio,
        cpu,
        cpu_ratio,
        busy,
        wrong.join("; "),
    ]
}

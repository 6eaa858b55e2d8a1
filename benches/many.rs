//! Many connections: `cargo bench --bench many` holds 10,000 of them for a minute at the highest rate, and says whether
//! the client's memory stays under 200 MB and its count is the server's. It fails if not.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark measures the real machine and prints what it found"
)]

mod common;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use common::{Server, busy_since};
use harness::known::trial;
use harness::outcome::LoadFigures;
use harness::{host, load, progress};

/// Peak memory of the client that may not be reached, MB.
const MOST_MEMORY: u64 = 200;

#[derive(Debug, Parser)]
struct Options {
    /// Connections at once.
    #[arg(long, default_value_t = 10_000)]
    connections: u32,
    /// Length of the load, s.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    host::allow_open_files(u64::from(options.connections) + 512)?;
    let cpus = host::cpu_plan(None, None)?;
    let folder = tempfile::tempdir()?;
    let server = Server::known(&[], &cpus.server, folder.path()).await?;
    let begun = server.now();
    let target = trial::target(server.address);
    let running = load::start(
        &trial::workload(options.connections),
        &[target],
        &cpus.load,
        load::Schedule::Together,
    )?;
    for second in 1..=options.seconds {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if second % 10 == 0 || second == options.seconds {
            progress::line(&format!("{second} of {} s", options.seconds));
        }
    }
    let figures = running.stop().pop().context("no figures")?;
    let busy = busy_since(begun);
    let given = trial::answers(server.address)?;
    report(&options, &figures, (given, busy))
}

fn report(options: &Options, figures: &LoadFigures, (given, busy): (u64, f64)) -> Result<()> {
    let status = procfs::process::Process::myself()?.status()?;
    let memory = status.vmhwm.context("no VmHWM")? / 1000;
    let row = vec![
        options.connections.to_string(),
        format!("{:.1}", figures.seconds),
        format!("{:.0}", figures.fetches_per_second()),
        figures.answers.to_string(),
        given.to_string(),
        common::in_words(&figures.errors).unwrap_or_else(|| "0".to_owned()),
        format!("{memory} MB"),
        format!("{:.0} %", busy * 100.0),
    ];
    let heads = [
        "connections",
        "seconds",
        "answers/s",
        "answers, by the client",
        "by the server",
        "failed",
        "client's peak memory",
        "server busy",
    ];
    print!("{}", common::table(&heads, &[row]));
    println!("\n{}", common::machine());
    let unread = given.checked_sub(figures.answers);
    let most = u64::from(options.connections);
    ensure!(
        unread.is_some_and(|unread| unread <= most),
        "the counts differ by more than what was under way"
    );
    ensure!(figures.errors.is_empty(), "requests failed");
    ensure!(
        memory < MOST_MEMORY,
        "the client took more than {MOST_MEMORY} MB"
    );
    Ok(())
}

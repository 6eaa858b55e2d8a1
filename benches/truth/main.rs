//! Race against truth: `cargo bench --bench truth`.
//!
//! Servers that differ by a known amount of CPU work race through the whole pipeline, `harness run`, and the effects it
//! reads are held against the truth. The known server turns a loop before each answer, and every turn is the same few
//! instructions. The loop takes most of an answer's CPU time, so that what the kernel does for it, which no count of
//! instructions shows, is a small part that is measured once. The truth is then
//!
//! ```text
//! effect = −ln((K + I c) ÷ (K + I₀ c))
//! ```
//!
//! with I the instructions of an answer, counted by callgrind, I₀ those of the baseline, c the CPU time of one
//! instruction of the loop and K the rest of an answer's CPU time. c and K come from the CPU time per answer of two
//! servers alone, with the baseline's turns and with twice as many.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark measures the real machine and prints what it found"
)]

#[path = "../common/mod.rs"]
mod common;
mod cost;
mod latency;
mod races;
#[path = "../common/spread.rs"]
mod spread;

use anyhow::Result;
use clap::Parser;
use cost::Cost;
use harness::host;
use harness::verdict::Comparison;

/// Extra work of the servers that race, percent of the baseline's turns.
const EXTRA: [u64; 6] = [0, 1, 2, 5, 10, 25];

#[derive(Debug, Parser)]
struct Options {
    /// Turns of the loop before each answer of the baseline.
    #[arg(long, default_value_t = 40_000)]
    turns: u64,
    /// Race sessions of each pair.
    #[arg(long, default_value_t = 10)]
    sessions: u32,
    /// Measured part of a session, ms.
    #[arg(long, default_value_t = 2000)]
    milliseconds: u64,
    /// Solo trials for the CPU time of an answer.
    #[arg(long, default_value_t = 7)]
    trials: u32,
    /// Seed of the runs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    let folder = tempfile::tempdir()?;
    let cpus = host::cpu_plan(None, None)?;
    let turns = EXTRA.map(|percent| options.turns * (100 + percent) / 100);
    let cost = Cost::measure(&turns, options.trials, (&cpus, folder.path())).await?;
    let effects = races::of_work(&turns, &options, folder.path())?;
    print_work(&cost, &effects);
    let effects = races::of_threads(&options, folder.path())?;
    print_threads(&effects);
    println!("{}", latency::table(&cpus, folder.path()).await?);
    println!("{}", common::machine());
    Ok(())
}

fn print_work(cost: &Cost, effects: &[Comparison]) {
    let heads = [
        "extra turns",
        "instructions/answer",
        "by instructions alone",
        "truth",
        "race",
        "off",
        "allowed",
        "within",
        "verdict, by",
    ];
    let rows: Vec<Vec<String>> = effects
        .iter()
        .map(|effect| {
            let place = effect.pair.candidate;
            let extra = EXTRA.get(place - 1).copied().unwrap_or_default();
            work_row((extra, place - 1), cost, effect)
        })
        .collect();
    println!(
        "### Extra work in `race`\n\n{}",
        common::table(&heads, &rows)
    );
    println!("{}\n", cost.in_words());
}

/// Returns one server's row; effects in percent of a log ratio.
fn work_row((extra, place): (u64, usize), cost: &Cost, effect: &Comparison) -> Vec<String> {
    let truth = cost.truth(place) * 100.0;
    let allowed = 0.5 + 0.05 * truth.abs();
    let read = effect.effect.map(|read| read * 100.0);
    let off = read.map(|read| read - truth);
    let within = off.is_some_and(|off| off.abs() <= allowed);
    vec![
        format!("{extra} %"),
        format!("{:.0}", cost.instructions[place]),
        format!("{:+.2} %", cost.by_instructions(place) * 100.0),
        format!("{truth:+.2} %"),
        races::read(effect),
        off.map_or("–".to_owned(), |off| format!("{off:+.2}")),
        format!("{allowed:.2}"),
        (if within { "yes" } else { "NO" }).to_owned(),
        races::verdict(effect),
    ]
}

fn print_threads(effects: &[(&'static str, Comparison)]) {
    let rows: Vec<Vec<String>> = effects
        .iter()
        .map(|(name, effect)| {
            let warnings = serde_json::to_string(&effect.warnings).unwrap_or_default();
            vec![
                (*name).to_owned(),
                races::read(effect),
                races::verdict(effect),
                warnings.replace('|', "/"),
            ]
        })
        .collect();
    let heads = ["against one thread", "race", "verdict, by", "warnings"];
    println!(
        "### The same work in more threads and processes\n\n{}",
        common::table(&heads, &rows)
    );
    println!(
        "The last one begins a thread that answers nothing: it does need twice the CPU time for an answer.\n"
    );
}

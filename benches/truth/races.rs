//! Races through the whole pipeline.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use harness::verdict::{Comparison, Metric, Verdict};
use harness::{journal, progress, verdict as judging};

use crate::Options;
use crate::common::HARNESS;
use crate::cost::CONNECTIONS;

/// The name of the version that all are compared with.
const BASELINE: &str = "baseline";

/// Servers that do the same work for each answer, with their arguments.
const SAME_WORK: [(&str, &str); 4] = [
    ("itself", ""),
    ("4 threads", "--threads 4"),
    ("2 processes", "--processes 2"),
    ("gains a busy thread", "--grow-after 3000"),
];

/// Races servers that turn so often against the first of them, itself among them.
pub(crate) fn of_work(turns: &[u64], options: &Options, folder: &Path) -> Result<Vec<Comparison>> {
    let names: Vec<String> = (0..turns.len())
        .map(|place| format!("work-{place}"))
        .collect();
    let each = names.iter().zip(turns);
    let mut cases: Vec<(&str, String)> = each
        .map(|(name, turns)| (name.as_str(), format!("--turns {turns}")))
        .collect();
    cases.insert(0, (BASELINE, format!("--turns {}", turns[0])));
    race("work", &cases, (options, folder))
}

/// Races servers that do the same work in more threads and processes against one that has a thread.
pub(crate) fn of_threads(
    options: &Options,
    folder: &Path,
) -> Result<Vec<(&'static str, Comparison)>> {
    let names: Vec<String> = SAME_WORK.map(|(name, _)| name.replace(' ', "-")).to_vec();
    let turns = format!("--turns {}", options.turns);
    let mut cases = vec![(BASELINE, turns.clone())];
    for (name, (_, more)) in names.iter().zip(SAME_WORK) {
        cases.push((name, format!("{turns} {more}")));
    }
    let effects = race("threads", &cases, (options, folder))?;
    let told = effects
        .into_iter()
        .map(|effect| (SAME_WORK[effect.pair.candidate - 1].0, effect));
    Ok(told.collect())
}

/// Writes a matrix of known servers with these arguments, runs it, and returns what was read.
fn race(
    title: &str,
    cases: &[(&str, String)],
    (options, folder): (&Options, &Path),
) -> Result<Vec<Comparison>> {
    progress::line(&format!("racing: {title}"));
    let file = folder.join(format!("{title}.toml"));
    std::fs::write(&file, matrix(cases, options))?;
    let seed = options.seed.to_string();
    let ended = Command::new(HARNESS)
        .args(["run", &format!("{title}.toml"), "--seed", &seed])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    ensure!(
        matches!(ended.code(), Some(0 | 1 | 125)),
        "harness run: {ended}"
    );
    let journals = journal::list(&folder.join("reports/data").join(title));
    let newest = journals.first().context("there is no journal")?;
    Ok(judging::judge(&journal::read(newest)?).comparisons)
}

fn matrix(cases: &[(&str, String)], options: &Options) -> String {
    let names: Vec<String> = cases
        .iter()
        .map(|(name, _)| format!("\"{name}\""))
        .collect();
    let branches: Vec<String> = cases
        .iter()
        .map(|(name, arguments)| format!("{name}) set -- {arguments};;"))
        .collect();
    let Options {
        sessions,
        milliseconds,
        ..
    } = options;
    format!(
        r#"schema = 1
[source]
versions = [{names}]
compare = "reference"
reference = "{BASELINE}"
[source.list]
[start]
cmd = {{ shell = 'case $HARNESS_VERSION in {branches} esac; exec "{HARNESS}" known-server --listen "$HARNESS_HOST:$HARNESS_PORT" "$@"' }}
[check]
body = "Hello World\n"
[load]
connections = {CONNECTIONS}
duration = "{milliseconds}ms"
warmup = {{ answers = 1000, at_most = "4s" }}
[sessions]
count = {sessions}
solo = 1
[verdict]
confirm = false
"#,
        names = names.join(", "),
        branches = branches.join(" "),
    )
}

/// Returns the effect with its interval, percent of a log ratio.
pub(crate) fn read(effect: &Comparison) -> String {
    match (effect.effect, effect.interval) {
        (Some(read), Some((low, high))) => format!(
            "{:+.2} % ({:+.2} to {:+.2})",
            read * 100.0,
            low * 100.0,
            high * 100.0
        ),
        _ => "–".to_owned(),
    }
}

/// Returns the verdict and the number that decided it.
pub(crate) fn verdict(effect: &Comparison) -> String {
    let verdict = match effect.verdict {
        Verdict::Regression => "regression",
        Verdict::Improvement => "improvement",
        Verdict::Same => "same",
        Verdict::Unknown => "unknown",
        Verdict::Incomparable => "incomparable",
    };
    let metric = match effect.metric {
        Metric::Throughput => "throughput",
        Metric::CpuPerAnswer => "CPU per answer",
        Metric::Memory => "memory",
        Metric::Startup => "start-up",
        Metric::Latency => "latency",
    };
    format!("{verdict}, {metric}")
}

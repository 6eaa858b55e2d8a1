//! What the load engine can do here, measured against the known server.

use std::net::SocketAddr;
use std::time::Duration;

use super::finding::{Finding, Grade, advise, finding};
use crate::error::{Error, Kind, Result};
use crate::host;
use crate::journal::CpuPlan;
use crate::known::{KNOWN, trial};
use crate::load;
use crate::matrix::{Design, StopSignal};
use crate::outcome::LoadFigures;
use crate::process::{self, Child, Spec};
use crate::progress::Progress;
use crate::serve;
use crate::verdict::signs::contradiction as contradiction_of;

/// Connections of the trial.
const CONNECTIONS: u32 = 100;
/// Open files beside them.
const OWN_FILES: u64 = 64;
/// Length of the load before the one that counts.
const WARM_UP: Duration = Duration::from_millis(300);
/// Length of the load that counts.
const MEASURED: Duration = Duration::from_secs(1);
/// Longest wait for the known server to listen.
const PATIENCE: Duration = Duration::from_secs(10);
/// The share of its CPUs from which on the client is the limit; sessions are judged by the same.
const CLIENT_BOUND: f64 = 0.95;

/// What the engine did against the known server.
#[derive(Debug, Clone, serde::Serialize)]
pub(super) struct Figures {
    /// Right answers per second.
    answers_per_second: f64,
    /// CPU time of the client for each, µs.
    client_cpu_us: f64,
    /// CPU time of the client ÷ time ÷ its CPUs.
    client_share: f64,
    /// Answers per second at which the client would have no CPU time left.
    client_limit_per_second: f64,
    /// Answers that the client counted.
    client_count: u64,
    /// Answers that the server counted, those among them that were still on their way at the end.
    server_count: u64,
    /// Requests that failed.
    failed: u64,
    /// Requests under way by Little's law: answers per second × mean latency.
    under_way: f64,
    /// Whether as many were under way as were counted.
    littles_law_holds: bool,
}

/// Tries the engine and says what it is good for.
pub(super) async fn finding_of_trial() -> Finding {
    let progress = Progress::new();
    progress.doing("loading a server of known cost for a second");
    let figures = figures().await;
    progress.finish();
    match figures {
        Ok(figures) => judged(figures),
        Err(error) => finding("load engine", Grade::Bad, error.to_string()),
    }
}

/// Judges the figures: those that contradict each other are good for nothing. Pure.
fn judged(figures: Figures) -> Finding {
    let (grade, advice) = if let Some(contradiction) = contradiction(&figures) {
        (Grade::Bad, contradiction)
    } else if figures.client_share > CLIENT_BOUND {
        (
            Grade::Note,
            "the client was the limit: give the load more CPUs (`--load-cpus`) for servers as fast as this",
        )
    } else {
        (Grade::Good, "")
    };
    let found = format!(
        "{:.0} answers/s, {:.1} µs of the client's CPU each, {:.0} % of what it has: its limit is {:.0}/s",
        figures.answers_per_second,
        figures.client_cpu_us,
        figures.client_share * 100.0,
        figures.client_limit_per_second
    );
    advise(finding("load engine", grade, found), advice).with_figures(figures)
}

/// Returns what is wrong with the figures.
fn contradiction(figures: &Figures) -> Option<&'static str> {
    let unread = figures.server_count.checked_sub(figures.client_count);
    if figures.failed > 0 {
        Some("requests to a server that cannot fail have failed: look for limits of this machine")
    } else if unread.is_none_or(|unread| unread > u64::from(CONNECTIONS)) {
        Some("the server has counted other answers than the client: do not trust any run here")
    } else if !figures.littles_law_holds {
        Some("latency and throughput contradict each other: do not trust any run here")
    } else {
        None
    }
}

async fn figures() -> Result<Figures> {
    let cpus = host::cpu_plan(None, None)?;
    host::allow_open_files(u64::from(CONNECTIONS) + OWN_FILES)?;
    let address = serve::free_address()?;
    let folder = tempfile::tempdir().map_err(cannot)?;
    let log = folder.path().join("log");
    let spec = spec(address, &cpus);
    let child = Child::spawn(&spec, &log, &log).await?.map_err(cannot)?;
    until_listening(address).await?;
    let figures = loaded(address, &cpus).await;
    child.stop(StopSignal::Term, PATIENCE).await;
    figures
}

fn cannot(error: impl std::fmt::Display) -> Error {
    Error::new(Kind::Machine, "the load engine could not be tried").because(error)
}

fn spec(address: SocketAddr, cpus: &CpuPlan) -> Spec {
    Spec {
        program: "/proc/self/exe".to_owned(),
        args: vec![KNOWN.to_owned(), format!("--listen={address}")],
        cwd: std::env::temp_dir(),
        env: process::base_environment(),
        cpus: cpus.server.clone(),
        ..Spec::default()
    }
}

async fn until_listening(address: SocketAddr) -> Result<()> {
    let begun = host::monotonic();
    while !serve::is_taken(&address.into()) {
        if host::since(begun) > PATIENCE {
            return Err(cannot(format!(
                "the known server does not listen on {address}"
            )));
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}

/// Loads the server for as short as can be to warm both up, then once more for the figures.
async fn loaded(address: SocketAddr, cpus: &CpuPlan) -> Result<Figures> {
    load_for(WARM_UP, address, cpus).await?;
    let before = trial::answers(address).map_err(cannot)?;
    let (load, cpu_us) = load_for(MEASURED, address, cpus).await?;
    let after = trial::answers(address).map_err(cannot)?;
    let rate = load.fetches_per_second();
    #[expect(clippy::cast_precision_loss, reason = "a machine has few CPUs")]
    let full = 1e6 * cpus.load.len() as f64;
    Ok(Figures {
        answers_per_second: rate,
        client_cpu_us: cpu_us,
        client_share: rate * cpu_us / full,
        client_limit_per_second: full / cpu_us,
        client_count: load.answers,
        server_count: after.saturating_sub(before),
        failed: load.failed(),
        under_way: rate * load.latency.mean / 1e3,
        littles_law_holds: contradiction_of(&load, &trial::workload(CONNECTIONS), Design::Solo)
            .is_none(),
    })
}

/// Loads the server for some time; returns the figures and the client's CPU time for an answer, µs.
async fn load_for(
    time: Duration,
    address: SocketAddr,
    cpus: &CpuPlan,
) -> Result<(LoadFigures, f64)> {
    let workload = trial::workload(CONNECTIONS);
    let running = load::start(
        &workload,
        &[trial::target(address)],
        &cpus.load,
        load::Schedule::Together,
    )
    .map_err(cannot)?;
    tokio::time::sleep(time).await;
    let answers: u64 = running.counts().iter().map(|counts| counts.answers).sum();
    let cpu = running.client_cpu();
    let figures = running.stop().pop().unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    let cpu_us = cpu.as_secs_f64() * 1e6 / answers as f64;
    Ok((figures, cpu_us))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WELL: Figures = Figures {
        answers_per_second: 50_000.0,
        client_cpu_us: 10.0,
        client_share: 0.5,
        client_limit_per_second: 100_000.0,
        client_count: 50_000,
        server_count: 50_060,
        failed: 0,
        under_way: 100.1,
        littles_law_holds: true,
    };

    fn grade(figures: Figures) -> Grade {
        judged(figures).grade
    }

    #[test]
    fn answers_on_their_way_at_the_end_are_no_contradiction() {
        assert_eq!(grade(WELL), Grade::Good);
    }

    #[test]
    fn a_client_at_its_limit_is_something_to_know() {
        let client_share = 0.97;
        assert_eq!(
            grade(Figures {
                client_share,
                ..WELL
            }),
            Grade::Note
        );
    }

    #[test]
    fn figures_that_contradict_each_other_are_bad() {
        let wrong = [
            Figures {
                server_count: 49_999,
                ..WELL
            },
            Figures {
                server_count: 50_101,
                ..WELL
            },
            Figures { failed: 1, ..WELL },
            Figures {
                littles_law_holds: false,
                ..WELL
            },
        ];
        for figures in wrong {
            assert_eq!(grade(figures.clone()), Grade::Bad, "{figures:?}");
        }
    }
}

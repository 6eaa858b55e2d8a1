//! What the engine reads of a wait whose length is known.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use harness::journal::CpuPlan;
use harness::known::trial;
use harness::load;

use crate::common::{self, Server};

/// Connections of the load: few enough that nothing but the wait counts.
const CONNECTIONS: u32 = 10;
/// Waits of the servers, ms.
const DELAYS: [u64; 3] = [1, 5, 20];
/// Length of each load.
const TIME: Duration = Duration::from_secs(2);

/// Loads servers that wait before each answer, and returns what the engine says of it.
pub(crate) async fn table(cpus: &CpuPlan, folder: &Path) -> Result<String> {
    let mut rows = Vec::new();
    for delay in DELAYS {
        let wait = format!("--delay={delay}ms");
        let server = Server::known(&[&wait], &cpus.server, folder).await?;
        let target = trial::target(server.address);
        let running = load::start(
            &trial::workload(CONNECTIONS),
            &[target],
            &cpus.load,
            load::Schedule::Together,
        )?;
        tokio::time::sleep(TIME).await;
        let figures = running.stop().pop().context("no figures")?;
        let latency = figures.latency;
        rows.push(vec![
            format!("{delay} ms"),
            format!("{:.0}", figures.fetches_per_second()),
            format!("{:.3} ms", latency.mean),
            format!("{:.3} ms", latency.p50),
            format!("{:.3} ms", latency.p99),
            common::in_words(&figures.errors).unwrap_or_else(|| "0".to_owned()),
        ]);
    }
    let heads = ["wait", "answers/s", "mean", "median", "99 %", "failed"];
    let table = common::table(&heads, &rows);
    Ok(format!(
        "### Latency of a known wait, {CONNECTIONS} connections\n\n{table}"
    ))
}

//! One session: launch, warm, measure, stop. Edge.
#![expect(
    clippy::disallowed_methods,
    reason = "a session waits for windows to pass, and drops empty logs"
)]

mod client;
mod fault;
mod measure;
mod tool;

use std::path::{Path, PathBuf};

use crate::error::{Error, Kind, Result};
use crate::host;
use crate::journal::{CpuPlan, Launch, Launched, SessionRecord, Window};
use crate::matrix::{Design, Matrix};
use crate::outcome::{Gap, GapKind, LoadFigures, Sample};
use crate::plan::SessionPlan;
use crate::serve::{self, Instance, tree};
use measure::{Measured, measure};

/// Characters of a cell's name in the name of its log.
const LOG_NAME: usize = 80;

/// What a session needs to know beside its plan.
#[derive(Debug)]
pub struct Setting<'a> {
    /// The matrix; what of it differs between cells stands in their launches.
    pub matrix: &'a Matrix,
    /// The CPUs of each side.
    pub cpus: &'a CpuPlan,
    /// How to start each cell of the plan, in its order.
    pub starts: Vec<Start<'a>>,
}

/// How to start one cell of the plan.
#[derive(Debug)]
pub struct Start<'a> {
    /// The cell's index.
    pub cell: usize,
    /// The launch.
    pub launch: serve::Launch<'a>,
}

/// Holds one session and returns what is to be written down of it.
pub async fn hold(setting: &Setting<'_>, plan: &SessionPlan, index: u32) -> Result<SessionRecord> {
    let started = host::now();
    let begun = host::monotonic();
    let mut instances = Vec::new();
    for start in &setting.starts {
        instances.push(serve::start(&start.launch).await?);
    }
    let up: Vec<&Instance> = instances.iter().flatten().collect();
    let measured = if up.len() >= least_servers(plan.design) {
        measure(setting, plan, &up).await?
    } else {
        Measured::default()
    };
    let sharing = tree::sharing(up.iter().map(|instance| &instance.tree));
    let shares = measured.shares;
    let (client, mut windows) = (measured.client.clone(), measured.windows.clone());
    let (launches, counted) = finish(setting, instances, measured).await?;
    for window in &mut windows {
        keep(window, &counted);
    }
    Ok(SessionRecord {
        index,
        purpose: plan.purpose,
        design: plan.design,
        started,
        seconds: host::since(begun).as_secs_f64(),
        launches,
        windows,
        client_share: shares.client,
        server_share: shares.servers,
        steal_share: shares.stolen,
        others_share: shares.others,
        client,
        sharing,
    })
}

/// A race with one server left is no race.
fn least_servers(design: Design) -> usize {
    match design {
        Design::Race | Design::Slices => 2,
        Design::Solo => 1,
    }
}

/// Takes the last figures of each server, stops it, and says what came of its launch. The second list runs over the
/// servers that were up and says whose figures count.
async fn finish(
    setting: &Setting<'_>,
    instances: Vec<std::result::Result<Instance, Gap>>,
    measured: Measured,
) -> Result<(Vec<Launch>, Vec<bool>)> {
    let mut finished = Vec::new();
    let mut counted = Vec::new();
    let mut results = measured.servers.into_iter();
    for (instance, start) in instances.into_iter().zip(&setting.starts) {
        let outcome = match instance {
            Err(gap) => Launched::Gap(gap),
            Ok(instance) => {
                let outcome = conclude(setting, start, instance, results.next()).await?;
                counted.push(matches!(outcome, Launched::Sample(_)));
                outcome
            }
        };
        let log = kept(&start.launch.log);
        finished.push(Launch {
            cell: start.cell,
            outcome,
            log,
        });
    }
    Ok((finished, counted))
}

/// Returns the log if the server wrote anything; an empty one is not kept.
fn kept(log: &Path) -> Option<PathBuf> {
    if std::fs::metadata(log).is_ok_and(|file| file.len() > 0) {
        return Some(log.to_owned());
    }
    // One that cannot be removed does no harm.
    drop(std::fs::remove_file(log));
    None
}

/// Says what came of one server that was up, and stops it.
async fn conclude(
    setting: &Setting<'_>,
    start: &Start<'_>,
    mut instance: Instance,
    result: Option<measure::Server>,
) -> Result<Launched> {
    let outcome = match result {
        None => Err(Gap::new(
            GapKind::Interrupted,
            "no other server was left to race against",
        )),
        Some(result) => judge_launch(setting, start, &mut instance, result).await?,
    };
    let log = &start.launch.log;
    instance.stop(&start.launch).await;
    Ok(match outcome {
        Ok(sample) => Launched::Sample(Box::new(sample)),
        Err(gap) if gap.kind == GapKind::Interrupted => Launched::Gap(gap),
        Err(gap) => {
            let errors = serve::diagnosis_of(log).errors;
            Launched::Gap(gap.with_errors(errors).with_log(log))
        }
    })
}

/// Returns a launch's sample, or the gap if it did not answer rightly all the time.
async fn judge_launch(
    setting: &Setting<'_>,
    start: &Start<'_>,
    instance: &mut Instance,
    result: measure::Server,
) -> Result<std::result::Result<Sample, Gap>> {
    if fault::is_clients(&result.load) {
        return Err(client_failed(&result.load));
    }
    let failed = result.load.failed() > 0 || result.gap.is_some();
    let ended = instance.has_ended(&start.launch, failed).await;
    // A server that has died is a better reason than what another program made of that.
    let doubted = result.gap.clone().filter(|_| ended.is_none());
    let fault = || fault::under_load(&result, ended, &setting.matrix.load);
    if let Some(gap) = doubted.or_else(fault) {
        return Ok(Err(gap));
    }
    if let Err(gap) = instance.check_again(&start.launch).await {
        return Ok(Err(gap));
    }
    Ok(Ok(Sample {
        load: result.load,
        resources: result.resources,
        startup_ms: instance.startup.as_secs_f64() * 1e3,
        warmup_answers: result.warmup_answers,
        steady: result.steady,
    }))
}

fn client_failed(load: &LoadFigures) -> Error {
    Error::new(Kind::Machine, "the load itself failed, not the server")
        .because(format!(
            "system calls of the client failed{}",
            fault::in_words(load)
        ))
        .hint("`harness doctor` shows the limits of this machine, `ulimit -n` that of open files")
}

/// Drops from a window the servers whose launch did not count, so that its lists run over the samples.
fn keep(window: &mut Window, counted: &[bool]) {
    let mut kept = counted.iter();
    window
        .answers
        .retain(|_| kept.next().copied().unwrap_or(false));
    let mut kept = counted.iter();
    window
        .cpu_seconds
        .retain(|_| kept.next().copied().unwrap_or(false));
}

/// Returns where a launch's log goes: `<logs>/<session>-<number of the cell>-<its name>.log`.
pub fn log_path(logs: &Path, index: u32, cell: (usize, &str)) -> PathBuf {
    let safe: String = cell
        .1
        .chars()
        .take(LOG_NAME)
        .map(|c| {
            if c.is_ascii_alphanumeric() || "._-=".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    logs.join(format!("{index:04}-{}-{safe}.log", cell.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_keeps_only_the_servers_whose_launch_counts() {
        let mut window = Window {
            seconds: 0.25,
            answers: vec![1, 2, 3],
            cpu_seconds: vec![0.1, 0.2, 0.3],
            client_cpu_seconds: 0.1,
            stolen_seconds: 0.0,
            others_seconds: 0.0,
        };
        keep(&mut window, &[true, false, true]);
        assert_eq!(
            (window.answers, window.cpu_seconds),
            (vec![1, 3], vec![0.1, 0.3])
        );
    }

    #[test]
    fn logs_of_two_cells_never_share_a_name() {
        let one = log_path(Path::new("logs"), 3, (0, "1/2"));
        let other = log_path(Path::new("logs"), 3, (1, "1_2"));
        assert_ne!(one, other);
        let long = log_path(Path::new("logs"), 3, (1, &"x".repeat(4000)));
        assert!(long.file_name().unwrap().len() < 255);
    }
}

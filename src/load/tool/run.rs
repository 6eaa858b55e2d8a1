//! Runs a program that sends the requests, and reads what it said. Edge.
#![expect(
    clippy::disallowed_methods,
    reason = "the programs read and write files in a folder of their own"
)]

use std::path::Path;
use std::time::Duration;

use super::{Aim, Asked, Doubt, Misread, Program, Said, doubt, kind_of};
use crate::error::{Error, Kind, Result};
use crate::matrix::{Stop, Workload};
use crate::outcome::{ErrorKind, Gap, GapKind, LoadFigures, Outcome};
use crate::process::{self, Captured, Ended, Spec};

/// Longest wait for a program to tell its version.
const PATIENCE: Duration = Duration::from_secs(30);
/// How much longer than its load a program may take.
const GRACE: Duration = Duration::from_secs(10);
/// Longest load that counts requests.
const LONGEST_LOAD: Duration = Duration::from_mins(10);
/// Characters of what a program complained of that are shown.
const SHOWN: usize = 300;

/// A load that a program has brought to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// What it counted.
    pub figures: LoadFigures,
    /// CPU time that it used.
    pub cpu: Duration,
    /// The CPUs that it was pinned to.
    pub cpus: Vec<usize>,
}

/// What a program is, as far as it tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its name, with its version where it tells one.
    pub engine: String,
    /// What is to be said about that.
    pub note: Option<String>,
}

/// Finds out which version of a program is there; one that is missing is the machine's fault.
pub async fn find(program: &Program) -> Result<Found> {
    let question = program.version.unwrap_or("-h");
    let captured = ask(program, vec![question.to_owned()], (Path::new("/"), &[])).await?;
    let known = program.version.is_some();
    // Some end with an error after they have told it.
    let version = Program::version_in(&(captured.stdout + &captured.stderr));
    Ok(match version.filter(|_| known) {
        Some(version) => Found {
            engine: format!("{} {version}", program.name),
            note: (!program.knows(&version)).then(|| {
                let (name, major) = (program.name, program.major);
                format!("{name} {version} may tell its figures in other words than {name} {major}")
            }),
        },
        None => Found {
            engine: program.name.to_owned(),
            note: Some(format!("{} does not tell its version", program.name)),
        },
    })
}

/// Loads one server with a program, pinned to `cpus`, and returns what came of it, or why that does not count.
///
/// An error means that nothing it says is understood, or that it cannot be run here.
pub async fn run(
    program: &Program,
    workload: &Workload,
    (aim, body_length): (&Aim, Option<u64>),
    cpus: &[usize],
) -> Result<Outcome<Ran>> {
    let call = program.call(workload, aim);
    let cpus = &cpus[..call.threads.min(cpus.len())];
    let folder = tempfile::tempdir().map_err(|error| unusable(program, error))?;
    for (name, content) in &call.files {
        std::fs::write(folder.path().join(name), content)
            .map_err(|error| unusable(program, error))?;
    }
    let deadline = deadline(workload, aim.stop);
    let spec = spec(program, call.args.clone(), (folder.path(), cpus));
    let (captured, cpu) = process::capture_with_cpu(&spec, deadline).await?;
    let written = call.writes.map(|name| folder.path().join(name));
    // A program that has given up has written none.
    let written = written.and_then(|file| std::fs::read_to_string(file).ok());
    let text = format!(
        "{}\n{}\n{}",
        captured.stdout,
        captured.stderr,
        written.unwrap_or_default()
    );
    let asked = Asked {
        connections: workload.connections,
        stop: aim.stop,
        body_length: body_length.filter(|_| aim.same_length && workload.method != "HEAD"),
        least_busy: program.least_busy(workload),
    };
    let outcome = conclude(program, (&captured, &text), &asked, deadline)?;
    Ok(outcome.map(|said| Ran {
        figures: figures(said, workload, cpus.len()),
        cpu,
        cpus: cpus.to_vec(),
    }))
}

fn deadline(workload: &Workload, stop: Stop) -> Duration {
    let load = match stop {
        Stop::Duration(duration) => duration + workload.timeout * 2,
        Stop::Requests(_) => LONGEST_LOAD,
    };
    load + GRACE
}

/// Says what came of a program. Pure.
fn conclude(
    program: &Program,
    (captured, text): (&Captured, &str),
    asked: &Asked,
    deadline: Duration,
) -> Result<Outcome<Said>> {
    let name = program.name;
    match &captured.ended {
        Ended::Code(_) => {}
        Ended::TimedOut => {
            let cause = format!("`{name}` did not end within {} s", deadline.as_secs());
            return Ok(Err(Gap::new(GapKind::Stalled, cause)));
        }
        Ended::OverLimit(_) => {
            let cause = format!("`{name}` complained without end: {}", complaint(captured));
            return Ok(Err(Gap::new(GapKind::Errors, cause)));
        }
        Ended::Signal(signal) => {
            let why = complaint(captured);
            let cause = format!("`{name}` itself ended by signal {signal}: {why}");
            return Ok(Err(Gap::new(GapKind::GeneratorBound, cause)));
        }
        Ended::NotStarted(reason) => return Err(missing(program, reason)),
    }
    let said = match program.read(text) {
        Ok(said) => said,
        Err(Misread::GaveUp { why, answers }) => return gave_up(program, &why, answers).map(Err),
        Err(misread) => return Err(not_understood(program, captured, &misread)),
    };
    Ok(match doubt(&said, asked) {
        None => Ok(said),
        Some(doubt) => Err(gap_of(name, &doubt)),
    })
}

fn gap_of(name: &str, doubt: &Doubt) -> Gap {
    let (kind, why) = match doubt {
        Doubt::Contradiction(why) => (GapKind::GeneratorBound, why),
        Doubt::Length(why) => (GapKind::Errors, why),
        Doubt::Idle(why) => (GapKind::Stalled, why),
    };
    Gap::new(kind, format!("`{name}` cannot be believed: {why}"))
}

/// Returns the gap of a load that the program gave up; its own failures are the machine's.
fn gave_up(program: &Program, why: &str, answers: u64) -> Result<Gap> {
    let name = program.name;
    let cause = format!("`{name}` gave up after {answers} answers: {why}");
    let kind = match kind_of(why) {
        ErrorKind::PortsExhausted => GapKind::PortsExhausted,
        ErrorKind::Timeout => GapKind::Stalled,
        ErrorKind::Client => {
            return Err(Error::new(Kind::Machine, cause).hint("harness doctor"));
        }
        ErrorKind::Refused
        | ErrorKind::Reset
        | ErrorKind::Closed
        | ErrorKind::Short
        | ErrorKind::Malformed
        | ErrorKind::BadStatus
        | ErrorKind::BadLength
        | ErrorKind::BadBody => GapKind::Errors,
    };
    Ok(Gap::new(kind, cause))
}

/// Adds to the figures what is known without the program.
fn figures(said: Said, workload: &Workload, threads: usize) -> LoadFigures {
    let mut figures = said.figures;
    if figures.connections_opened == 0 {
        let connections = u64::from(workload.connections);
        let each = if workload.keep_alive {
            0
        } else {
            said.requests
        };
        figures.connections_opened = connections.max(each);
        figures.connections_measured = figures.connections_opened;
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "there are as many threads as CPUs"
    )]
    let threads = threads as f64;
    figures.thread_seconds = figures.seconds * threads;
    figures
}

async fn ask(program: &Program, args: Vec<String>, place: (&Path, &[usize])) -> Result<Captured> {
    let captured = process::capture(&spec(program, args, place), PATIENCE).await?;
    match &captured.ended {
        Ended::NotStarted(reason) => Err(missing(program, reason)),
        Ended::Code(_) | Ended::Signal(_) | Ended::TimedOut | Ended::OverLimit(_) => Ok(captured),
    }
}

fn spec(program: &Program, args: Vec<String>, (cwd, cpus): (&Path, &[usize])) -> Spec {
    let mut env = process::base_environment();
    // Figures with a decimal point.
    env.insert("LC_ALL".to_owned(), "C".to_owned());
    Spec {
        program: program.name.to_owned(),
        args,
        cwd: cwd.to_owned(),
        env,
        cpus: cpus.to_vec(),
        ..Spec::default()
    }
}

fn missing(program: &Program, reason: &str) -> Error {
    let name = program.name;
    Error::new(
        Kind::Machine,
        format!("`{name}` is to send the requests and cannot be started"),
    )
    .because(reason)
    .hint(format!(
        "{}; or take `load.tool` out of the matrix",
        program.install
    ))
}

fn unusable(program: &Program, error: std::io::Error) -> Error {
    let what = format!("cannot make a folder for `{}` to run in", program.name);
    Error::new(Kind::Machine, what).because(error)
}

fn not_understood(program: &Program, captured: &Captured, misread: &Misread) -> Error {
    let name = program.name;
    let error = Error::new(
        Kind::Machine,
        format!("what `{name}` says of the load is not understood"),
    );
    let error = match &captured.ended {
        Ended::Code(0) => error.because(misread),
        Ended::Code(code) => error
            .because(format!("it ended with exit code {code}"))
            .because(complaint(captured)),
        Ended::Signal(_) | Ended::TimedOut | Ended::OverLimit(_) | Ended::NotStarted(_) => error,
    };
    error.hint(format!(
        "try version {} of `{name}`, or take `load.tool` out of the matrix",
        program.major
    ))
}

/// Returns the first line that a program complained with, or the last that it said.
fn complaint(captured: &Captured) -> String {
    let complaints = captured.stderr.lines().map(str::trim);
    let said = captured.stdout.lines().rev().map(str::trim);
    let mut lines = complaints.chain(said).filter(|line| !line.is_empty());
    let line = lines.next().unwrap_or("it said nothing");
    line.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::tool::program;
    use crate::matrix::Tool;

    fn said(tool: Tool, ended: Ended, stdout: &str) -> Result<Outcome<Said>> {
        let captured = Captured {
            ended,
            stdout: stdout.to_owned(),
            stderr: "boom\n".to_owned(),
        };
        let asked = Asked {
            connections: 8,
            stop: Stop::Duration(Duration::from_secs(1)),
            body_length: Some(12),
            least_busy: 0.25,
        };
        let program = program(tool).unwrap();
        conclude(program, (&captured, stdout), &asked, GRACE)
    }

    fn gap(tool: Tool, ended: Ended, stdout: &str) -> Gap {
        said(tool, ended, stdout).unwrap().unwrap_err()
    }

    #[test]
    fn a_program_that_ends_badly_leaves_a_gap_and_no_figures() {
        let kind = |ended| gap(Tool::Wrk, ended, "").kind;
        assert_eq!(kind(Ended::TimedOut), GapKind::Stalled);
        assert_eq!(kind(Ended::Signal(6)), GapKind::GeneratorBound);
        let limit = process::Limit::Log;
        assert_eq!(kind(Ended::OverLimit(limit)), GapKind::Errors);
        assert!(gap(Tool::Wrk, Ended::Signal(6), "").cause.contains("boom"));
    }

    #[test]
    fn what_is_not_understood_stops_the_run() {
        let error = said(Tool::Wrk, Ended::Code(0), "hello\n").unwrap_err();
        assert_eq!(error.kind, Kind::Machine);
        assert!(error.to_string().contains("… requests in"), "{error}");
        let error = said(Tool::Wrk, Ended::Code(1), "usage\n").unwrap_err();
        assert!(error.to_string().contains("exit code 1"), "{error}");
        assert!(error.to_string().contains("boom"), "{error}");
    }

    #[test]
    fn giving_up_is_a_gap_that_says_why() {
        let refused = "unable to connect to 127.0.0.1:1 Connection refused\n";
        let gap = gap(Tool::Wrk, Ended::Code(1), refused);
        assert_eq!(gap.kind, GapKind::Errors);
        assert!(gap.cause.contains("Connection refused"), "{}", gap.cause);
    }

    #[test]
    fn a_missing_program_is_named_with_how_to_get_it() {
        let reason = "No such file or directory".to_owned();
        let error = said(Tool::Ab, Ended::NotStarted(reason), "").unwrap_err();
        assert!(
            error.to_string().contains("apt install apache2-utils"),
            "{error}"
        );
    }
}

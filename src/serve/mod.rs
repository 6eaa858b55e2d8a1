//! Artifact → instance: start, ready, check, resources, stop. Edge.
#![expect(
    clippy::disallowed_methods,
    reason = "starting servers and asking them is this module's work"
)]

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;

use crate::build::diagnosis::{Diagnosis, Nature, diagnose};
use crate::build::log;
use crate::error::{Error, Kind, Result};
use crate::host;
use crate::matrix::{Check, Ready, StopSignal, Workload};
use crate::outcome::{Class, Gap, GapKind, Outcome};
use crate::process::{Child, Ended, Spec};
use crate::source;

mod counters;
mod ledger;
pub mod meter;
pub mod probe;
pub mod tree;

use probe::{Answer, Trouble};
use tree::Tree;

/// Pause between two looks whether the server is ready: at first short, because start-up time is measured by it, and
/// longer for a server that is slow to start anyway.
const POLL: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));
/// How long the short pause lasts.
const POLL_SHORT: Duration = Duration::from_secs(2);
/// Shortest time that an answer of the probe is given, at the deadline too.
const LEAST_ANSWER: Duration = Duration::from_millis(250);
/// How long the end of a server may take to be told of, once connections to it have failed.
const END_TOLD: Duration = Duration::from_millis(500);
/// Longest wait for one answer of the probe.
const ANSWER: Duration = Duration::from_secs(5);
/// Longest wait for the port to be free again.
const PORT_FREE: Duration = Duration::from_secs(2);

/// What is needed to start one server.
#[derive(Debug, Clone)]
pub struct Launch<'a> {
    /// The command, rendered with the port; none for a server that runs already.
    pub spec: Option<Spec>,
    /// Where it will listen.
    pub address: SocketAddr,
    /// Where its output goes.
    pub log: PathBuf,
    /// How to see that it is ready.
    pub ready: &'a Ready,
    /// What a right answer is.
    pub check: &'a Check,
    /// The request.
    pub workload: &'a Workload,
    /// The signal that asks it to end, and how long it may take before it is killed.
    pub stop: (StopSignal, Duration),
}

/// One running server with everything below it. Dropping it kills all of that.
#[derive(Debug)]
pub struct Instance {
    /// None for a server that somebody else has started, and stops.
    child: Option<Child>,
    /// Its processes. They end before this is dropped, and with it their control group.
    pub tree: Tree,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its log.
    pub log: PathBuf,
    /// From the start of the process to the first right answer.
    pub startup: Duration,
    /// The bodies of the right answers, one for each path of the load in its order.
    pub bodies: Vec<Bytes>,
}

/// Returns a loopback address with a port that nobody holds now.
pub fn free_address() -> Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map_err(|error| {
            Error::new(Kind::Machine, "cannot get a free port on 127.0.0.1")
                .because(error)
                .hint("harness doctor")
        })
}

/// Returns whether something answers on the address.
pub fn is_taken(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_ok()
}

/// Starts a server, unless it runs already, and waits for its first right answer.
pub async fn start(launch: &Launch<'_>) -> Result<Outcome<Instance>> {
    match &launch.spec {
        Some(spec) => start_own(launch, spec).await,
        None => Ok(attach(launch).await),
    }
}

/// Waits for a right answer of a server that runs already. Nothing is known of its processes.
async fn attach(launch: &Launch<'_>) -> Outcome<Instance> {
    let first = until_ready(launch, host::monotonic()).await?;
    Ok(Instance {
        child: None,
        tree: Tree::default(),
        address: launch.address,
        log: launch.log.clone(),
        startup: Duration::ZERO,
        bodies: bodies(launch, first).await?,
    })
}

async fn start_own(launch: &Launch<'_>, spec: &Spec) -> Result<Outcome<Instance>> {
    if is_taken(launch.address) {
        return Ok(Err(port_taken(launch.address)));
    }
    // What a killed session has left there would be taken for this launch's words.
    drop(std::fs::remove_file(&launch.log));
    let mut tree = Tree::new();
    let mut child = match tree.spawn(spec, &launch.log).await? {
        Ok(child) => child,
        // A program that is looked for on the path is a tool of the machine's, not a part of the version.
        Err(reason) if !spec.program.contains('/') => {
            return Err(source::cannot_start(&spec.program, &reason));
        }
        Err(reason) => return Ok(Err(not_started(launch, &spec.program, &reason))),
    };
    let answer = tokio::select! {
        answer = until_ready(launch, child.started()) => answer,
        ended = child.ended() => Err(exited(launch, &ended)),
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(gap) => return Ok(Err(gap.with_log(&launch.log))),
    };
    let startup = host::monotonic().saturating_sub(child.started());
    if !tree.listens_on(launch.address.port()) {
        return Ok(Err(port_taken(launch.address).with_log(&launch.log)));
    }
    let bodies = match bodies(launch, answer).await {
        Ok(bodies) => bodies,
        Err(gap) => return Ok(Err(gap.with_log(&launch.log))),
    };
    Ok(Ok(Instance {
        tree,
        address: launch.address,
        log: launch.log.clone(),
        startup,
        bodies,
        child: Some(child),
    }))
}

impl Instance {
    /// Asks once more for a right answer to each path: a server that stopped giving one under load was not measured.
    pub async fn check_again(&self, launch: &Launch<'_>) -> Outcome<()> {
        for (path, check) in checks(launch) {
            let asked = probe::ask(self.address, path, launch.workload, &check, ANSWER);
            if let Err(trouble) = asked.await {
                return Err(after_the_load(&trouble));
            }
        }
        Ok(())
    }

    /// Returns how the server ended, if it has. Where connections to it have failed, that may take a moment to be told.
    pub async fn has_ended(&mut self, connections_failed: bool) -> Option<Ended> {
        let patience = if connections_failed {
            END_TOLD
        } else {
            Duration::ZERO
        };
        let child = self.child.as_mut()?;
        // A report that is there already is read at once, whatever the patience.
        tokio::time::timeout(patience, child.ended()).await.ok()
    }

    /// Stops the server with everything below it and waits until its port is free again. One that somebody else has
    /// started goes on.
    pub async fn stop(self, (signal, grace): (StopSignal, Duration)) {
        let Some(child) = self.child else { return };
        child.stop(signal, grace).await;
        let deadline = host::monotonic() + PORT_FREE;
        while is_taken(self.address) && host::monotonic() < deadline {
            tokio::time::sleep(POLL.0).await;
        }
    }
}

/// Returns the gap of a server that gives no right answer any more.
fn after_the_load(trouble: &Trouble) -> Gap {
    match trouble {
        Trouble::Refused => Gap::new(GapKind::Crashed, "nothing listens any more after the load"),
        Trouble::NoAnswer(why) => {
            Gap::new(GapKind::Stalled, format!("no answer after the load: {why}"))
        }
        Trouble::Wrong(why) => Gap::new(GapKind::WrongAnswer, format!("after the load: {why}")),
    }
}

/// Returns the paths of the load with what a right answer to each is: the matrix says the body of the first one's only.
fn checks<'a>(launch: &Launch<'a>) -> impl Iterator<Item = (&'a str, Check)> {
    let others = Check {
        body: None,
        body_regex: None,
        ..launch.check.clone()
    };
    let first = std::iter::once(launch.check.clone()).chain(std::iter::repeat(others));
    launch.workload.paths().zip(first)
}

/// Asks the other paths of the load once each, and returns the bodies of all.
async fn bodies(launch: &Launch<'_>, first: Answer) -> Outcome<Vec<Bytes>> {
    let mut bodies = vec![first.body];
    for (path, check) in checks(launch).skip(1) {
        let asked = probe::ask(launch.address, path, launch.workload, &check, ANSWER);
        let why = match asked.await {
            Ok(answer) => {
                bodies.push(answer.body);
                continue;
            }
            Err(Trouble::Wrong(why)) => {
                return Err(Gap::new(GapKind::WrongAnswer, format!("{path}: {why}")));
            }
            Err(Trouble::Refused) => "nothing listens any more".to_owned(),
            Err(Trouble::NoAnswer(why)) => why,
        };
        let gap = Gap::new(GapKind::NotReady, format!("{path}: {why}"));
        return Err(with_diagnosis(gap, launch));
    }
    Ok(bodies)
}

/// Asks until the right answer comes or the time is up: first on the path that tells that the server is ready, where
/// that is another one, then on the path of the load.
async fn until_ready(launch: &Launch<'_>, started: Duration) -> Outcome<Answer> {
    let deadline = started + launch.ready.timeout;
    let workload = launch.workload;
    if launch.ready.path != workload.path {
        let check = Check {
            status: launch.check.status,
            body: None,
            body_regex: None,
            same_length: false,
            same_body: false,
        };
        until_answered(launch, &launch.ready.path, &check, (started, deadline)).await?;
    }
    until_answered(launch, &workload.path, launch.check, (started, deadline)).await
}

async fn until_answered(
    launch: &Launch<'_>,
    path: &str,
    check: &Check,
    (started, deadline): (Duration, Duration),
) -> Outcome<Answer> {
    let mut wrong = None;
    loop {
        let left = deadline.saturating_sub(host::monotonic());
        let timeout = left.clamp(LEAST_ANSWER, ANSWER);
        let trouble = match probe::ask(launch.address, path, launch.workload, check, timeout).await
        {
            Ok(answer) => return Ok(answer),
            Err(trouble) => trouble,
        };
        // A wrong answer says more than the silence at the deadline.
        if matches!(trouble, Trouble::Wrong(_)) {
            wrong = Some(trouble.clone());
        }
        let pause = if host::since(started) < POLL_SHORT {
            POLL.0
        } else {
            POLL.1
        };
        if left <= pause {
            return Err(not_ready(launch, &wrong.unwrap_or(trouble)));
        }
        tokio::time::sleep(pause).await;
    }
}

fn not_ready(launch: &Launch<'_>, trouble: &Trouble) -> Gap {
    let waited = launch.ready.timeout;
    match trouble {
        Trouble::Refused => {
            let cause = format!("nothing listens on {} after {waited:?}", launch.address);
            with_diagnosis(Gap::new(GapKind::NotReady, cause), launch)
        }
        Trouble::NoAnswer(why) => {
            let cause = format!("no right answer within {waited:?}: {why}");
            with_diagnosis(Gap::new(GapKind::NotReady, cause), launch)
        }
        Trouble::Wrong(why) => Gap::new(GapKind::WrongAnswer, why.clone()),
    }
}

/// Returns the gap of a server that ended before it answered, from its log.
pub fn exited(launch: &Launch<'_>, ended: &Ended) -> Gap {
    let how = how_it_ended(ended);
    let diagnosis = diagnosis_of(&launch.log);
    if diagnosis.nature == Nature::Port {
        return port_taken(launch.address).with_errors(diagnosis.errors);
    }
    let cause = match diagnosis.in_one_line() {
        None => format!("the server {how} before it answered"),
        Some(cause) => format!("the server {how} before it answered: {cause}"),
    };
    Gap::new(GapKind::Exited, cause)
        .with_hint(diagnosis.hint)
        .with_errors(diagnosis.errors)
}

/// Returns a phrase for the end of a process: "ended with code 1".
pub fn how_it_ended(ended: &Ended) -> String {
    match ended {
        Ended::Code(code) => format!("ended with code {code}"),
        Ended::Signal(signal) => format!("was killed by signal {signal}"),
        Ended::TimedOut => "was killed at its deadline".to_owned(),
        Ended::OverLimit(limit) => format!("was killed as it {limit}"),
        Ended::NotStarted(reason) => format!("could not be started: {reason}"),
    }
}

fn not_started(launch: &Launch<'_>, program: &str, reason: &str) -> Gap {
    let diagnosis = diagnose(reason);
    let cause = format!("cannot start `{program}`: {reason}");
    let cause = diagnosis.explaining(&cause);
    Gap::new(GapKind::Exited, cause)
        .with_hint(diagnosis.hint)
        .with_log(&launch.log)
}

fn port_taken(address: SocketAddr) -> Gap {
    Gap::new(
        GapKind::PortTaken,
        format!("another program listens on {address}"),
    )
    .with_class(Class::Transient)
}

fn with_diagnosis(gap: Gap, launch: &Launch<'_>) -> Gap {
    gap.with_errors(diagnosis_of(&launch.log).errors)
}

/// Returns what a server's log says of its failure.
pub fn diagnosis_of(log: &Path) -> Diagnosis {
    diagnose(&log::read_ends(log, 0).unwrap_or_default())
}

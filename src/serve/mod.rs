//! Artifact → instance: start, ready, check, resources, stop. Edge.
#![expect(
    clippy::disallowed_methods,
    reason = "starting servers and asking them is this module's work"
)]

use std::future::poll_fn;
use std::path::Path;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;

use crate::address::Address;
use crate::build::diagnosis::{Diagnosis, Nature, diagnose};
use crate::build::log;
use crate::error::Result;
use crate::host;
use crate::matrix::{Check, StopSignal};
use crate::outcome::{Class, Gap, GapKind, Outcome};
use crate::process::{Child, Ended, Spec};
use crate::source;

mod counters;
mod launch;
mod ledger;
mod listening;
pub mod meter;
mod place;
pub mod probe;
pub mod tree;

pub use launch::{Launch, Place};
pub use place::{Places, free_address, is_taken};
use probe::Trouble;
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

/// One running server with everything below it. Dropping it kills all of that.
#[derive(Debug)]
pub struct Instance {
    /// One for each instance of the cell; none of a server that somebody else has started, and stops.
    children: Vec<Child>,
    /// Its processes. They end before this is dropped, and with it their control group.
    pub tree: Tree,
    /// Where it listens.
    pub addresses: Vec<Address>,
    /// From the start of the first process to the first right answer of the last one to give it.
    pub startup: Duration,
    /// The bodies of the right answers, one for each path of the load in its order.
    pub bodies: Vec<Bytes>,
}

/// Starts a server, unless it runs already, and waits for its first right answer.
pub async fn start(launch: &Launch<'_>) -> Result<Outcome<Instance>> {
    launch.remove_logs();
    let started = start_all(launch).await?;
    if started.is_err() {
        // Whatever was started has ended by now.
        launch.gather_logs();
    }
    Ok(started)
}

async fn start_all(launch: &Launch<'_>) -> Result<Outcome<Instance>> {
    let mut children = Vec::new();
    let mut tree = Tree::new();
    for (instance, place) in launch.instances.iter().enumerate() {
        let Some(spec) = &place.spec else { continue };
        if is_taken(&place.address) {
            return Ok(Err(port_taken(&place.address)));
        }
        match spawn(launch, instance, spec, &mut tree).await? {
            Ok(child) => children.push(child),
            Err(gap) => return Ok(Err(gap)),
        }
    }
    Ok(when_ready(launch, children, tree).await)
}

async fn spawn(
    launch: &Launch<'_>,
    instance: usize,
    spec: &Spec,
    tree: &mut Tree,
) -> Result<Outcome<Child>> {
    let log = launch.log_of(instance);
    match tree.spawn(spec, &log).await? {
        Ok(child) => Ok(Ok(child)),
        // A program that is looked for on the path is a tool of the machine's, not a part of the version.
        Err(reason) if !spec.program.contains('/') => {
            Err(source::cannot_start(&spec.program, &reason))
        }
        Err(reason) => Ok(Err(not_started(launch, &spec.program, &reason))),
    }
}

/// Waits until every instance has given a right answer. Nothing is known of the processes of a server that runs already.
async fn when_ready(
    launch: &Launch<'_>,
    mut children: Vec<Child>,
    tree: Tree,
) -> Outcome<Instance> {
    let began = children.iter().map(Child::started).min();
    let first = first_body(launch, &mut children, &tree).await?;
    let startup = began.map(|began| host::monotonic().saturating_sub(began));
    let addresses = launch.instances.iter().map(|place| place.address.clone());
    let addresses: Vec<Address> = addresses.collect();
    // An old or foreign server that answers there would be measured in the version's name.
    let own = tree.listening();
    let foreign = |address: &&Address| !own.iter().any(|listening| listening.takes(address));
    if let Some(taken) = addresses.iter().find(foreign)
        && !children.is_empty()
    {
        return Err(port_taken(taken).with_log(&launch.log));
    }
    Ok(Instance {
        children,
        tree,
        addresses,
        startup: startup.unwrap_or_default(),
        bodies: bodies(launch, first).await?,
    })
}

/// Returns the body that the first instance answers, when all of them have answered rightly.
async fn first_body(launch: &Launch<'_>, children: &mut [Child], tree: &Tree) -> Outcome<Bytes> {
    let began = children.iter().map(Child::started).min();
    let began = began.unwrap_or_else(host::monotonic);
    let mut bodies = Vec::new();
    for instance in 0..launch.instances.len() {
        let answered = tokio::select! {
            answered = until_ready(launch, instance, began) => answered,
            (ended, how) = first_end(children) => {
                return Err(exited(launch, ended, &how).with_log(&launch.log));
            }
        };
        bodies.push(answered.map_err(|trouble| {
            not_ready(launch, instance, &trouble, &tree.listening()).with_log(&launch.log)
        })?);
    }
    Ok(bodies.swap_remove(0))
}

/// Waits until one of several programs has ended, and says which and how.
async fn first_end(children: &mut [Child]) -> (usize, Ended) {
    let mut ends: Vec<_> = children
        .iter_mut()
        .map(|child| Box::pin(child.ended()))
        .collect();
    poll_fn(|context| {
        for (instance, end) in ends.iter_mut().enumerate() {
            if let Poll::Ready(ended) = end.as_mut().poll(context) {
                return Poll::Ready((instance, ended));
            }
        }
        Poll::Pending
    })
    .await
}

impl Instance {
    /// Asks once more for a right answer to each path: a server that stopped giving one under load was not measured.
    pub async fn check_again(&self, launch: &Launch<'_>) -> Outcome<()> {
        for (instance, address) in self.addresses.iter().enumerate() {
            for (path, check) in checks(launch) {
                let asked = probe::ask(address, path, launch.workload, &check, ANSWER).await;
                asked.map_err(|trouble| after_the_load(&launch.name_of(instance), trouble))?;
            }
        }
        Ok(())
    }

    /// Returns which part of the server has ended and how, in words, if any has. Where connections to it have failed,
    /// that may take a moment to be told.
    pub async fn has_ended(
        &mut self,
        launch: &Launch<'_>,
        connections_failed: bool,
    ) -> Option<String> {
        let patience = if connections_failed {
            END_TOLD
        } else {
            Duration::ZERO
        };
        if self.children.is_empty() {
            return None;
        }
        // A report that is there already is read at once, whatever the patience.
        let end = tokio::time::timeout(patience, first_end(&mut self.children)).await;
        let (instance, how) = end.ok()?;
        Some(format!(
            "{} {}",
            launch.name_of(instance),
            how_it_ended(&how)
        ))
    }

    /// Stops the server with everything below it and waits until its addresses are free again. One that somebody else has
    /// started goes on.
    pub async fn stop(self, launch: &Launch<'_>) {
        if self.children.is_empty() {
            return;
        }
        stop_all(self.children, launch.stop).await;
        let deadline = host::monotonic() + PORT_FREE;
        while self.addresses.iter().any(is_taken) && host::monotonic() < deadline {
            tokio::time::sleep(POLL.0).await;
        }
        launch.gather_logs();
    }
}

/// Stops several programs at once, so that one that takes its time keeps no other running.
async fn stop_all(children: Vec<Child>, (signal, grace): (StopSignal, Duration)) {
    let mut stopping: Vec<Pin<Box<_>>> = children
        .into_iter()
        .map(|child| Box::pin(child.stop(signal, grace)))
        .collect();
    poll_fn(|context| {
        stopping.retain_mut(|stop| stop.as_mut().poll(context).is_pending());
        if stopping.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

/// Returns the gap of a server that gives no right answer any more.
fn after_the_load(who: &str, trouble: Trouble) -> Gap {
    match trouble {
        Trouble::Refused => Gap::new(
            GapKind::Crashed,
            format!("nothing listens any more where {who} did, after the load"),
        ),
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

/// Asks the first instance for the other paths of the load once each, and returns the bodies of all.
async fn bodies(launch: &Launch<'_>, first: Bytes) -> Outcome<Vec<Bytes>> {
    let mut bodies = vec![first];
    for (path, check) in checks(launch).skip(1) {
        let address = &launch.instances[0].address;
        let asked = probe::ask(address, path, launch.workload, &check, ANSWER);
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
        let errors = diagnosis_of(&launch.log_of(0)).errors;
        return Err(Gap::new(GapKind::NotReady, format!("{path}: {why}"))
            .with_errors(errors)
            .with_log(&launch.log));
    }
    Ok(bodies)
}

/// Asks one instance until the right answer comes or the time is up: first on the path that tells that the server is
/// ready, where that is another one, then on the path of the load.
async fn until_ready(
    launch: &Launch<'_>,
    instance: usize,
    began: Duration,
) -> std::result::Result<Bytes, Trouble> {
    let workload = launch.workload;
    if launch.ready.path != workload.path {
        let check = Check {
            status: launch.check.status,
            body: None,
            body_regex: None,
            same_length: false,
            same_body: false,
        };
        until_answered(launch, instance, (&launch.ready.path, &check), began).await?;
    }
    until_answered(launch, instance, (&workload.path, launch.check), began).await
}

async fn until_answered(
    launch: &Launch<'_>,
    instance: usize,
    (path, check): (&str, &Check),
    began: Duration,
) -> std::result::Result<Bytes, Trouble> {
    let address = &launch.instances[instance].address;
    let deadline = began + launch.ready.timeout;
    let mut wrong = None;
    loop {
        let left = deadline.saturating_sub(host::monotonic());
        let timeout = left.clamp(LEAST_ANSWER, ANSWER);
        let trouble = match probe::ask(address, path, launch.workload, check, timeout).await {
            Ok(answer) => return Ok(answer.body),
            Err(trouble) => trouble,
        };
        // A wrong answer says more than the silence at the deadline.
        if matches!(trouble, Trouble::Wrong(_)) {
            wrong = Some(trouble.clone());
        }
        let pause = if host::since(began) < POLL_SHORT {
            POLL.0
        } else {
            POLL.1
        };
        if left <= pause {
            return Err(wrong.unwrap_or(trouble));
        }
        tokio::time::sleep(pause).await;
    }
}

/// Returns the gap of an instance that gave no right answer in time, given where its processes listen.
fn not_ready(
    launch: &Launch<'_>,
    instance: usize,
    trouble: &Trouble,
    listening: &[Address],
) -> Gap {
    let waited = launch.ready.timeout;
    let log = launch.log_of(instance);
    let address = &launch.instances[instance].address;
    match trouble {
        Trouble::Refused => {
            let cause = format!("nothing listens on {address} after {waited:?}");
            elsewhere(cause, listening).with_errors(diagnosis_of(&log).errors)
        }
        Trouble::NoAnswer(why) => {
            let cause = format!("no right answer within {waited:?}: {why}");
            Gap::new(GapKind::NotReady, cause).with_errors(diagnosis_of(&log).errors)
        }
        Trouble::Wrong(why) => Gap::new(GapKind::WrongAnswer, why.clone()),
    }
}

/// Returns the gap of a server that does not listen where it should, but perhaps on other addresses.
fn elsewhere(cause: String, listening: &[Address]) -> Gap {
    if listening.is_empty() {
        return Gap::new(GapKind::NotReady, cause);
    }
    let others: Vec<String> = listening.iter().map(ToString::to_string).collect();
    let cause = format!("{cause}; the server listens on {}", others.join(" and "));
    let hint = "give it its address in `[start]`: `{host}` and `{port}`, or `{socket}`; `listen` says of which kind it is";
    Gap::new(GapKind::NotReady, cause).with_hint(Some(hint.to_owned()))
}

/// Returns the gap of an instance that ended before all answered, from its log.
pub fn exited(launch: &Launch<'_>, instance: usize, ended: &Ended) -> Gap {
    let how = format!("{} {}", launch.name_of(instance), how_it_ended(ended));
    let diagnosis = diagnosis_of(&launch.log_of(instance));
    if diagnosis.nature == Nature::Port {
        return port_taken(&launch.instances[instance].address).with_errors(diagnosis.errors);
    }
    let cause = match diagnosis.in_one_line() {
        None => format!("{how} before it answered"),
        Some(cause) => format!("{how} before it answered: {cause}"),
    };
    Gap::new(GapKind::Exited, cause)
        .with_hint(diagnosis.hint)
        .with_errors(diagnosis.errors)
}

/// Returns a phrase for the end of a process: "ended with code 1".
fn how_it_ended(ended: &Ended) -> String {
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

fn port_taken(address: &Address) -> Gap {
    Gap::new(
        GapKind::PortTaken,
        format!("another program listens on {address}"),
    )
    .with_class(Class::Transient)
}

/// Returns what a server's log says of its failure.
pub fn diagnosis_of(log: &Path) -> Diagnosis {
    diagnose(&log::read_ends(log, 0).unwrap_or_default())
}

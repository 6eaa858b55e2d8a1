//! Runs made by hand for tests of whatever reads a run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;

use crate::journal::{
    Built, Client, CpuPlan, Header, Launch, Launched, Machine, MatrixFacts, Purpose, Run, SCHEMA,
    SessionRecord, Sharing, Window,
};
use crate::matrix::{Check, Compare, Design, Manner, Metric, Rule, Sessions, Stop, Workload};
use crate::outcome::{Artifact, Gap, Latency, LoadFigures, Resources, Sample, Spread};
use crate::version::{Cell, Order, Version};

/// The thresholds as they are where a matrix names none.
pub(crate) const RULE: Rule = Rule {
    alpha: 0.05,
    min_effect: 0.01,
    same_within: 0.02,
    confirm: true,
};

/// Makes a run in which every cell was built and nothing measured yet.
pub(crate) fn run(names: &[&str]) -> Run {
    let cell = |name: &&str| Cell {
        id: (*name).to_owned(),
        version: Version::semantic(name).unwrap_or_else(|| Version::listed(*name)),
        axes: BTreeMap::new(),
    };
    let cells: Vec<Cell> = names.iter().map(cell).collect();
    Run {
        builds: (0..cells.len())
            .map(|cell| (cell, Built::Artifact(artifact())))
            .collect(),
        header: header(cells),
        sessions: Vec::new(),
        given_up: BTreeMap::new(),
        step: None,
        summary: None,
        torn: false,
    }
}

/// Returns an artifact of which nothing special is known.
pub(crate) fn artifact() -> Artifact {
    Artifact {
        key: "0".repeat(64),
        src: PathBuf::from("src"),
        work: PathBuf::from("work"),
        out: PathBuf::from("out"),
        binary: None,
        seconds: 1.0,
        cached: false,
        dependencies: BTreeMap::new(),
        content: None,
        axis_programs: BTreeMap::new(),
    }
}

fn header(cells: Vec<Cell>) -> Header {
    Header {
        schema: SCHEMA,
        harness: "0.1.0".to_owned(),
        run: "20261130T020000Z-lab-1234".to_owned(),
        started: Timestamp::UNIX_EPOCH,
        command: ["harness", "run", "node.toml"].map(str::to_owned).to_vec(),
        seed: 42,
        matrix: MatrixFacts {
            name: "node".to_owned(),
            title: "Node.js hello world".to_owned(),
            file: PathBuf::from("matrices/node.toml"),
            hash: "1".repeat(64),
            commit: None,
            modified: false,
        },
        workload: workload(),
        check: Check {
            status: 200,
            body: Some("Hello World\n".to_owned()),
            body_regex: None,
            same_length: true,
            same_body: true,
        },
        workload_key: "2".repeat(64),
        sessions: Sessions {
            count: 8,
            least: 8,
            group: 4,
            solo: 3,
            design: Design::Race,
            slice: Duration::from_millis(20),
        },
        rule: RULE,
        metrics: vec![Metric::Throughput],
        machine: machine(),
        cpus: CpuPlan {
            server: vec![0],
            load: vec![1],
        },
        order: Order::Semver,
        compare: Compare::Lineage,
        cells,
        bisect: None,
        imported: None,
    }
}

fn workload() -> Workload {
    Workload {
        name: "hello".to_owned(),
        method: "GET".to_owned(),
        path: "/".to_owned(),
        headers: BTreeMap::new(),
        body: None,
        connections: 100,
        keep_alive: true,
        stop: Stop::Duration(Duration::from_secs(3)),
        warmup_answers: 2000,
        warmup_at_most: Duration::from_secs(10),
        window: Duration::from_millis(250),
        timeout: Duration::from_secs(5),
        max_error_rate: 0.0,
        manner: Manner::default(),
    }
}

fn machine() -> Machine {
    Machine {
        class: "3".repeat(64),
        host: "lab".to_owned(),
        cpu: "Example CPU 2.00GHz".to_owned(),
        cores: 2,
        memory_bytes: 8 << 30,
        kernel: "6.1.0".to_owned(),
        os: "linux".to_owned(),
        arch: "x86_64".to_owned(),
        virtualisation: Some("KVM".to_owned()),
        tools: BTreeMap::new(),
    }
}

/// Makes a sample of 10 s with this many answers per second and this much CPU time.
pub(crate) fn sample(rate: f64, cpu_seconds: f64) -> Sample {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "tests use small positive rates"
    )]
    let answers = (rate * 10.0).round() as u64;
    Sample {
        load: LoadFigures {
            answers,
            seconds: 10.0,
            body_bytes: answers * 12,
            wire_bytes: answers * 130,
            resent: 0,
            connections_opened: 100,
            connect: Spread {
                mean: 0.05,
                max: 0.9,
                min: 0.02,
                count: 100,
            },
            first_response: Spread {
                mean: 12.5,
                max: 45.0,
                min: 3.0,
                count: answers,
            },
            latency: Latency {
                // 100 connections are under way all the time.
                mean: 100.0 / rate.max(1.0) * 1e3,
                sd: 2.0,
                p50: 12.0,
                p75: 13.0,
                p90: 15.0,
                p95: 17.0,
                p99: 21.0,
                p99_9: 40.0,
                p99_99: 45.0,
                max: 46.0,
                within_sd: 0.7,
            },
            errors: BTreeMap::new(),
            ..LoadFigures::default()
        },
        resources: Resources {
            cpu_seconds,
            rss_peak_bytes: 50 << 20,
            pss_bytes: Some(40 << 20),
            threads: 11,
            processes: 1,
            ..Resources::default()
        },
        startup_ms: 45.0,
        warmup_answers: 2000,
        steady: true,
    }
}

/// Adds a session of those launches.
pub(crate) fn session(
    run: &mut Run,
    purpose: Purpose,
    design: Design,
    launches: Vec<(usize, Launched)>,
) {
    let launch = |(cell, outcome)| Launch {
        cell,
        outcome,
        log: None,
    };
    run.sessions.push(SessionRecord {
        index: u32::try_from(run.sessions.len()).unwrap(),
        purpose,
        design,
        started: Timestamp::UNIX_EPOCH,
        seconds: 15.0,
        launches: launches.into_iter().map(launch).collect(),
        windows: Vec::new(),
        client_share: 0.6,
        server_share: 0.99,
        steal_share: 0.0,
        others_share: 0.0,
        client: Client::default(),
        sharing: Sharing::default(),
    });
}

/// Adds a race with fair shares and these answers per second.
pub(crate) fn race(run: &mut Run, purpose: Purpose, rates: &[(usize, f64)]) {
    let cpu = 10.0 / crate::stats::real(rates.len());
    let launch =
        |(cell, rate): &(usize, f64)| (*cell, Launched::Sample(Box::new(sample(*rate, cpu))));
    session(
        run,
        purpose,
        Design::Race,
        rates.iter().map(launch).collect(),
    );
}

/// Adds a solo trial with this many answers per second.
pub(crate) fn solo(run: &mut Run, cell: usize, rate: f64) {
    let launched = Launched::Sample(Box::new(sample(rate, 9.9)));
    session(run, Purpose::Measure, Design::Solo, vec![(cell, launched)]);
}

/// Adds a solo trial that ended in a gap.
pub(crate) fn fail(run: &mut Run, cell: usize, gap: Gap) {
    session(
        run,
        Purpose::Measure,
        Design::Solo,
        vec![(cell, Launched::Gap(gap))],
    );
}

/// Adds to the last session a window with these answers.
pub(crate) fn window(run: &mut Run, answers: &[u64]) {
    let session = run.sessions.last_mut().unwrap();
    session.windows.push(Window {
        seconds: 0.25,
        answers: answers.to_vec(),
        cpu_seconds: vec![0.05; answers.len()],
        client_cpu_seconds: 0.1,
        stolen_seconds: 0.0,
        others_seconds: 0.0,
    });
}

/// Makes a session one of so many measured seconds.
pub(crate) fn measured_for(session: &mut SessionRecord, seconds: f64) {
    session.windows = vec![Window {
        seconds,
        answers: Vec::new(),
        cpu_seconds: Vec::new(),
        client_cpu_seconds: 0.1,
        stolen_seconds: 0.0,
        others_seconds: 0.0,
    }];
}

/// Relative noise of eight sessions, mean zero, sd about 0.6 %.
pub(crate) const NOISE: [f64; 8] = [0.004, -0.007, 0.001, 0.009, -0.003, 0.002, -0.008, 0.002];

/// Adds a solo trial of each cell and as many races of all of them as there are `noise` values. Rates are those alone;
/// the last cell gets the noise.
pub(crate) fn measure(run: &mut Run, purpose: Purpose, rates: &[(usize, f64)], noise: &[f64]) {
    if purpose == Purpose::Measure {
        for &(cell, rate) in rates {
            solo(run, cell, rate);
        }
    }
    let sharing = crate::stats::real(rates.len());
    for (index, noise) in noise.iter().enumerate() {
        let raced: Vec<(usize, f64)> = rates
            .iter()
            .enumerate()
            .map(|(place, (cell, rate))| {
                // Each cell gets the noise of another session, so that no two pairs have the same.
                let own = NOISE[(index + 3 * place) % NOISE.len()] / 2.0;
                let own = if place + 1 == rates.len() {
                    *noise
                } else {
                    own
                };
                (*cell, rate / sharing * (1.0 + own))
            })
            .collect();
        race(run, purpose, &raced);
    }
}

//! A run that is stopped after any record and goes on ends with the same sessions as one that was never stopped.
//!
//! The one seam is used here: a script of outcomes in place of real builds and servers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use harness::error::Result;
use harness::journal::{
    self, Built, Client, CpuPlan, Header, Journal, Launch, Launched, Machine, MatrixFacts, Run,
    SCHEMA, SessionRecord, Sharing, Window,
};
use harness::matrix::{Check, Compare, Design, Manner, Metric, Rule, Sessions, Stop, Workload};
use harness::outcome::{Artifact, Gap, GapKind, LoadFigures, Resources, Sample};
use harness::pipeline::{self, Bench, Recorder};
use harness::plan::SessionPlan;
use harness::verdict::{Judgement, Verdict};
use harness::version::{Cell, Order, Version};
use jiff::Timestamp;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Version 2 does not build, version 4 crashes under load, version 6 is 10 % slower.
struct Script;

impl Bench for Script {
    async fn prepare(&self, cell: usize) -> Result<Built> {
        if cell == 2 {
            return Ok(Built::Gap(Gap::new(GapKind::Failed, "it does not build")));
        }
        Ok(Built::Artifact(artifact(cell)))
    }

    async fn session(
        &self,
        plan: &SessionPlan,
        index: u32,
        _builds: &BTreeMap<usize, Built>,
    ) -> Result<SessionRecord> {
        let mut random = Pcg64::seed_from_u64(u64::from(index));
        let rates: Vec<(usize, Option<u64>)> = plan
            .cells
            .iter()
            .map(|&cell| {
                let rate = if cell >= 6 { 9_000 } else { 10_000 } + random.random_range(0..100);
                (cell, Some(rate).filter(|_| cell != 4))
            })
            .collect();
        Ok(session((plan, index), &rates))
    }
}

/// Returns what building a cell gives.
pub(crate) fn artifact(cell: usize) -> Artifact {
    Artifact {
        key: format!("{cell}"),
        src: "src".into(),
        work: "work".into(),
        out: "out".into(),
        binary: None,
        seconds: 1.0,
        cached: false,
        dependencies: BTreeMap::new(),
        content: None,
        axis_programs: BTreeMap::new(),
    }
}

/// Returns a session of a second in which each cell gave so many answers, or none because it died.
pub(crate) fn session(
    (plan, index): (&SessionPlan, u32),
    rates: &[(usize, Option<u64>)],
) -> SessionRecord {
    let answers: Vec<u64> = rates.iter().filter_map(|(_, rate)| *rate).collect();
    SessionRecord {
        index,
        purpose: plan.purpose,
        design: plan.design,
        started: Timestamp::UNIX_EPOCH,
        seconds: 1.0,
        launches: rates
            .iter()
            .map(|(cell, rate)| launch(*cell, *rate))
            .collect(),
        windows: vec![Window {
            seconds: 1.0,
            cpu_seconds: vec![0.25; answers.len()],
            answers,
            client_cpu_seconds: 0.5,
            stolen_seconds: 0.0,
            others_seconds: 0.0,
        }],
        client_share: 0.5,
        server_share: 1.0,
        steal_share: 0.0,
        others_share: 0.0,
        client: Client::default(),
        sharing: Sharing::default(),
    }
}

fn launch(cell: usize, rate: Option<u64>) -> Launch {
    let gap = || Launched::Gap(Gap::new(GapKind::Crashed, "it died"));
    let sample = |rate| {
        let load = LoadFigures {
            answers: rate,
            seconds: 1.0,
            ..LoadFigures::default()
        };
        let resources = Resources {
            cpu_seconds: 0.25,
            ..Resources::default()
        };
        let sample = Sample {
            load,
            resources,
            startup_ms: 1.0,
            warmup_answers: 1,
            steady: true,
        };
        Launched::Sample(Box::new(sample))
    };
    Launch {
        cell,
        outcome: rate.map_or_else(gap, sample),
        log: None,
    }
}

/// Returns the cell of a version.
pub(crate) fn cell(number: u64) -> Cell {
    let version = Version::semantic(&format!("{number}.0.0")).unwrap();
    Cell {
        id: version.name.clone(),
        version,
        axes: BTreeMap::new(),
    }
}

pub(crate) fn header() -> Header {
    Header {
        schema: SCHEMA,
        harness: "test".to_owned(),
        run: "test".to_owned(),
        started: Timestamp::UNIX_EPOCH,
        command: vec!["harness".to_owned(), "run".to_owned()],
        seed: 7,
        matrix: MatrixFacts {
            name: "script".to_owned(),
            title: "script".to_owned(),
            file: "script.toml".into(),
            hash: "hash".to_owned(),
            commit: None,
            modified: false,
        },
        workload: workload(),
        check: Check {
            status: 200,
            body: None,
            body_regex: None,
            same_length: true,
            same_body: false,
        },
        workload_key: "key".to_owned(),
        sessions: Sessions {
            count: 6,
            least: 6,
            group: 4,
            solo: 2,
            design: Design::Race,
            slice: std::time::Duration::from_millis(20),
        },
        rule: Rule {
            alpha: 0.05,
            min_effect: 0.01,
            same_within: 0.02,
            confirm: true,
        },
        metrics: vec![Metric::Throughput],
        machine: machine(),
        cpus: CpuPlan {
            server: vec![0],
            load: vec![1],
        },
        order: Order::Semver,
        compare: Compare::Lineage,
        cells: (0..8).map(cell).collect(),
        bisect: None,
        imported: None,
    }
}

fn workload() -> Workload {
    let seconds = std::time::Duration::from_secs;
    Workload {
        name: "hello".to_owned(),
        method: "GET".to_owned(),
        path: "/".to_owned(),
        headers: BTreeMap::new(),
        body: None,
        connections: 1,
        keep_alive: true,
        stop: Stop::Duration(seconds(1)),
        warmup_answers: 0,
        warmup_at_most: seconds(1),
        window: seconds(1),
        timeout: seconds(1),
        max_error_rate: 0.0,
        manner: Manner::default(),
    }
}

fn machine() -> Machine {
    Machine {
        class: "class".to_owned(),
        host: "host".to_owned(),
        cpu: "cpu".to_owned(),
        cores: 2,
        memory_bytes: 1,
        kernel: "kernel".to_owned(),
        os: "os".to_owned(),
        arch: "arch".to_owned(),
        virtualisation: None,
        tools: BTreeMap::new(),
    }
}

fn go_on(mut recorder: Recorder) -> (Judgement, Run) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let judgement = runtime.block_on(async {
        let bench = Arc::new(Script);
        let mut watch = |_: &pipeline::Event<'_>, _: &Run| {};
        pipeline::build(&bench, &mut recorder, 2, &mut watch)
            .await
            .unwrap();
        pipeline::measure(&*bench, &mut recorder, None, &mut watch)
            .await
            .unwrap()
    });
    (judgement, recorder.run)
}

fn whole_run(path: &Path) -> (Judgement, Run) {
    let header = header();
    let journal = Journal::create(path, &header).unwrap();
    go_on(Recorder {
        run: Run::new(header),
        journal,
    })
}

#[test]
fn stopped_after_any_record_a_run_ends_as_if_it_had_not_been() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.jsonl");
    let (judgement, whole) = whole_run(&path);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    assert!(lines.len() > 40, "{}", lines.len());
    for kept in 1..=lines.len() {
        let cut = folder.path().join(format!("{kept}.jsonl"));
        let torn = lines.get(kept).map_or("", |next| &next[..next.len() / 2]);
        std::fs::write(&cut, lines[..kept].concat() + torn).unwrap();
        let (journal, run) = Journal::resume(&cut, Timestamp::UNIX_EPOCH).unwrap();
        let (again, resumed) = go_on(Recorder { run, journal });
        assert_eq!(resumed.sessions, whole.sessions, "cut after {kept} lines");
        assert_eq!(resumed.builds, whole.builds, "cut after {kept} lines");
        assert_eq!(again, judgement, "cut after {kept} lines");
        let read = journal::read(&cut).unwrap();
        assert_eq!(
            (read.sessions, read.given_up),
            (resumed.sessions, resumed.given_up)
        );
        assert!(!read.torn);
    }
}

#[test]
fn the_script_is_judged_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let (judgement, run) = whole_run(&folder.path().join("run.jsonl"));
    let gaps: Vec<(usize, GapKind)> = judgement
        .gaps
        .iter()
        .map(|(cell, gap)| (*cell, gap.kind))
        .collect();
    assert_eq!(gaps, [(2, GapKind::Failed), (4, GapKind::Crashed)]);
    let flagged: Vec<_> = judgement
        .comparisons
        .iter()
        .filter(|pair| pair.verdict == Verdict::Regression)
        .collect();
    assert_eq!(flagged.len(), 1);
    assert_eq!(
        (flagged[0].pair.baseline, flagged[0].pair.candidate),
        (5, 6)
    );
    assert_eq!(flagged[0].confirmed, Some(true));
    let pairs: Vec<_> = judgement
        .comparisons
        .iter()
        .map(|pair| (pair.pair.baseline, pair.pair.candidate))
        .collect();
    assert_eq!(pairs, [(0, 1), (1, 3), (3, 5), (5, 6), (6, 7)]);
    assert_eq!(run.given_up.keys().collect::<Vec<_>>(), [&4]);
}

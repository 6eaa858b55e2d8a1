//! The sessions of `benches/real.sh`, as a table of one line for each launch: written from journals, and read as runs again.

use std::collections::BTreeMap;
use std::fmt::Write;

use harness::journal::{Client, Header, Launch, Launched, Purpose, Run, SessionRecord, Window};
use harness::matrix::Design;
use harness::outcome::{LoadFigures, Resources, Sample};

/// The first line of the table.
pub(crate) const HEAD: &str = "server,condition,seed,session,design,wall_s,client_share,server_share,steal_share,others_share,\
                               run_delay_s,cell,answers,measured_s,cpu_s";

/// Which run it is: server, condition, seed.
pub(crate) type Name = (String, String, u32);

/// Returns the lines of one run.
pub(crate) fn written((server, condition, seed): &Name, run: &Run) -> String {
    let mut text = String::new();
    for session in &run.sessions {
        let design = match session.design {
            Design::Race => "race",
            Design::Slices => "slices",
            Design::Solo => "solo",
        };
        let own = format!(
            "{server},{condition},{seed},{},{design},{:.3},{:.4},{:.4},{:.4},{:.4},{:.4}",
            session.index,
            session.seconds,
            session.client_share,
            session.server_share,
            session.steal_share,
            session.others_share,
            session.client.run_delay_seconds,
        );
        for launch in &session.launches {
            let Launched::Sample(sample) = &launch.outcome else {
                continue;
            };
            let (load, cpu) = (&sample.load, sample.resources.cpu_seconds);
            let (answers, seconds) = (load.answers, load.seconds);
            let _ = writeln!(
                text,
                "{own},{},{answers},{seconds:.6},{cpu:.6}",
                launch.cell
            );
        }
    }
    text
}

/// Reads all runs of a table; what is not told of a session is as if nothing had been seen.
pub(crate) fn runs(table: &str, header: &Header) -> BTreeMap<Name, Run> {
    let mut runs: BTreeMap<Name, Run> = BTreeMap::new();
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [server, condition, seed, ..] = cells[..] else {
            panic!("{line}");
        };
        let name = (server.to_owned(), condition.to_owned(), number(seed));
        let run = runs.entry(name).or_insert_with(|| {
            let mut header = header.clone();
            header.sessions.count = sessions_at_most(server, condition);
            Run::new(header)
        });
        let index: u32 = number(cells[3]);
        if run.sessions.last().is_none_or(|last| last.index != index) {
            run.sessions.push(session(&cells));
        }
        if let Some(session) = run.sessions.last_mut() {
            session.launches.push(launch(&cells));
            session.windows[0].seconds = number(cells[13]);
        }
    }
    runs
}

/// Returns how many sessions `benches/real.sh` gives a pair at most.
fn sessions_at_most(server: &str, condition: &str) -> u32 {
    match (server, condition) {
        ("compiled", "idle") => 12,
        ("compiled" | "node", _) => 36,
        (server, _) => panic!("no server {server}"),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    let number = text.parse().ok();
    number.unwrap_or_else(|| panic!("{text} is no number"))
}

fn session(cells: &[&str]) -> SessionRecord {
    let design = match cells[4] {
        "race" => Design::Race,
        "solo" => Design::Solo,
        other => panic!("no design {other}"),
    };
    SessionRecord {
        index: number(cells[3]),
        purpose: Purpose::Measure,
        design,
        started: jiff::Timestamp::UNIX_EPOCH,
        seconds: number(cells[5]),
        launches: Vec::new(),
        windows: vec![Window {
            seconds: 0.0,
            answers: Vec::new(),
            cpu_seconds: Vec::new(),
            client_cpu_seconds: 0.0,
            stolen_seconds: 0.0,
            others_seconds: 0.0,
        }],
        client_share: number(cells[6]),
        server_share: number(cells[7]),
        steal_share: number(cells[8]),
        others_share: number(cells[9]),
        client: Client {
            run_delay_seconds: number(cells[10]),
            ..Client::default()
        },
        sharing: harness::journal::Sharing::default(),
    }
}

fn launch(cells: &[&str]) -> Launch {
    let resources = Resources {
        cpu_seconds: number(cells[14]),
        ..Resources::default()
    };
    let load = LoadFigures {
        answers: number(cells[12]),
        seconds: number(cells[13]),
        ..LoadFigures::default()
    };
    Launch {
        cell: number(cells[11]),
        outcome: Launched::Sample(Box::new(Sample {
            load,
            resources,
            startup_ms: 0.0,
            warmup_answers: 0,
            steady: true,
        })),
        log: None,
    }
}

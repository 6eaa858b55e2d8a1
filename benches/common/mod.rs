//! What the benchmarks share: servers that end with them, and Markdown.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use harness::known::KNOWN;
use harness::process::{self, Child, Spec};
use harness::serve::meter::Meters;
use harness::serve::tree::Tree;
use harness::{host, serve};

/// The program under test.
pub(crate) const HARNESS: &str = env!("CARGO_BIN_EXE_harness");

/// Longest wait for a server to listen.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running server, pinned, that ends with this process however that ends.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// Dropping it stops the server.
    _child: Child,
    tree: Tree,
}

impl Server {
    /// Starts a program on the CPUs, with `{port}` in its arguments filled in, and waits until it listens.
    pub(crate) async fn start(words: &[&str], cpus: &[usize], folder: &Path) -> Result<Self> {
        process::use_supervisor(HARNESS);
        let address = serve::free_address()?;
        let filled = |word: &&str| word.replace("{port}", &address.port().to_string());
        let mut words = words.iter().map(filled);
        let spec = Spec {
            program: words.next().context("no program")?,
            args: words.collect(),
            cwd: folder.to_owned(),
            env: process::base_environment(),
            cpus: cpus.to_owned(),
            ..Spec::default()
        };
        let log = folder.join("server.log");
        let mut tree = Tree::new();
        let child = tree.spawn(&spec, &log).await?;
        let child = child.map_err(|reason| anyhow!("{}: {reason}", spec.program))?;
        let begun = Instant::now();
        while !serve::is_taken(&address.into()) {
            let said = || std::fs::read_to_string(&log).unwrap_or_default();
            ensure!(
                begun.elapsed() < PATIENCE,
                "{} does not listen: {}",
                spec.program,
                said()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(Self {
            address,
            _child: child,
            tree,
        })
    }

    /// Starts the known server.
    pub(crate) async fn known(arguments: &[&str], cpus: &[usize], folder: &Path) -> Result<Self> {
        let words = [&[HARNESS, KNOWN, "--listen", "127.0.0.1:{port}"], arguments].concat();
        Self::start(&words, cpus, folder).await
    }

    /// Returns what measures its CPU time from now on, and when that is.
    pub(crate) fn now(&self) -> Moment<'_> {
        (Meters::new([&self.tree]), Instant::now())
    }
}

/// What measures CPU time from a moment on, and the moment.
pub(crate) type Moment<'a> = (Meters<'a>, Instant);

/// Returns how much of its CPU a server has used since the moment, as a share of that time.
pub(crate) fn busy_since((mut meters, at): Moment<'_>) -> f64 {
    meters.sample()[0] / at.elapsed().as_secs_f64()
}

/// Returns a table in Markdown.
pub(crate) fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let heads: Vec<String> = heads.iter().map(|&head| head.to_owned()).collect();
    let rule: Vec<String> = heads.iter().map(|_| "---".to_owned()).collect();
    let rows = rows.iter().map(|row| line(row));
    [line(&heads), line(&rule)]
        .into_iter()
        .chain(rows)
        .collect()
}

/// Returns what the numbers were measured on, in a line.
pub(crate) fn machine() -> String {
    let machine = host::machine();
    let load = host::load_average();
    let kind = machine
        .virtualisation
        .map_or(String::new(), |kind| format!(", {kind}"));
    let (cpu, cores, kernel) = (machine.cpu, machine.cores, machine.kernel);
    format!("{cpu}, {cores} cores{kind}, Linux {kernel}; load average {load:.2} at the end")
}

/// Returns errors by kind in words; none where there were none.
pub(crate) fn in_words<K: std::fmt::Debug>(errors: &BTreeMap<K, u64>) -> Option<String> {
    let each = errors
        .iter()
        .map(|(kind, count)| format!("{count} {kind:?}"));
    let words = each.collect::<Vec<_>>().join(", ");
    (!words.is_empty()).then_some(words)
}

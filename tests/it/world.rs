//! The sealed world: a temporary folder with matrices and tiny real servers, and the real binary run inside it.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The program under test.
pub(crate) const HARNESS: &str = env!("CARGO_BIN_EXE_harness");

/// Longest wait for something that must happen.
const PATIENCE: Duration = Duration::from_mins(2);

/// A sealed folder. Dropping it fails the test if a process is left that works in it.
pub(crate) struct World {
    folder: tempfile::TempDir,
}

impl World {
    /// Makes an empty world with the faulty server's source in it.
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("harness-world-")
            .tempdir()
            .unwrap();
        let world = Self { folder };
        world.write("fault.rs", include_str!("servers/fault.rs"));
        world
    }

    /// Returns the world's folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Writes `faults.toml`: the faulty server in these versions, loaded for as short as can be.
    pub(crate) fn write_faults(&self, versions: &[&str], more: &str) -> PathBuf {
        let versions: Vec<String> = versions.iter().map(|name| format!("\"{name}\"")).collect();
        let text = format!(
            r#"schema = 1
title = "faults"

[source]
versions = [{}]
[source.list]

[build]
steps = [
  {{ shell = 'test "$HARNESS_VERSION" != build_hangs || exec sleep 600' }},
  ["rustc", "--edition=2024", "--cfg", "fault=\"{{version}}\"", "-o", "{{out}}/server", "{{matrix_dir}}/fault.rs"],
]
binary = "{{out}}/server"
inputs = ["fault.rs"]
timeout = "30s"

[start]
cmd = ["{{binary}}", "{{port}}"]
stop = {{ signal = "TERM", grace = "300ms" }}

[ready]
timeout = "10s"

[check]
body = "Hello World\n"

[load]
connections = 4
duration = "400ms"
window = "50ms"
warmup = {{ answers = 100, at_most = "600ms" }}
timeout = "5s"

{more}
"#,
            versions.join(", ")
        );
        self.write("faults.toml", &text)
    }

    /// Changes one text of a file, which must be there.
    pub(crate) fn change(&self, name: &str, from: &str, to: &str) {
        let path = self.path().join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{name} has no {from}");
        std::fs::write(path, text.replace(from, to)).unwrap();
    }

    /// Returns the real program, ready to run in this world.
    pub(crate) fn harness(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(HARNESS);
        command
            .args(arguments)
            .current_dir(self.path())
            .env_remove("HARNESS_PROJECT")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        command
    }

    /// Runs the real program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        Ended::of(self.harness(arguments).output().unwrap())
    }

    /// Starts the real program and goes on.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.harness(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Returns the processes that work in this world: their folder or their program lies in it.
    pub(crate) fn processes(&self) -> Vec<String> {
        let world = self.path().canonicalize().unwrap();
        let lies_in =
            |link: PathBuf| std::fs::read_link(link).is_ok_and(|path| path.starts_with(&world));
        std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .map(|entry| entry.path())
            .filter(|process| lies_in(process.join("cwd")) || lies_in(process.join("exe")))
            .map(|process| {
                let words = std::fs::read(process.join("cmdline")).unwrap_or_default();
                let words = String::from_utf8_lossy(&words).replace('\0', " ");
                format!("{} {words}", process.display())
            })
            .collect()
    }

    /// Waits until no process works in this world any more, which must happen soon.
    pub(crate) fn expect_no_process(&self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !self.processes().is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(self.processes(), Vec::<String>::new(), "processes are left");
    }

    /// Returns the only journal of a matrix; none before the first run.
    pub(crate) fn journal(&self, matrix: &str) -> Option<PathBuf> {
        let folder = self.path().join("reports/data").join(matrix);
        let mut paths: Vec<_> = std::fs::read_dir(folder)
            .ok()?
            .flatten()
            .map(|entry| entry.path())
            .collect();
        assert!(paths.len() < 2, "more than one journal: {paths:?}");
        paths.pop()
    }

    /// Returns the records of a matrix's journal, whole lines only.
    pub(crate) fn records(&self, matrix: &str) -> Vec<serde_json::Value> {
        let Some(path) = self.journal(matrix) else {
            return Vec::new();
        };
        let text = std::fs::read_to_string(path).unwrap();
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// Returns how many records of a kind a matrix's journal holds.
    pub(crate) fn count(&self, matrix: &str, kind: &str) -> usize {
        self.records(matrix)
            .iter()
            .filter(|record| record["record"] == kind)
            .count()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.expect_no_process();
        }
    }
}

/// How the program ended and what it said.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The exit code; none if a signal ended it.
    pub(crate) code: Option<i32>,
    /// What it wrote to stdout.
    pub(crate) stdout: String,
    /// What it wrote to stderr.
    pub(crate) stderr: String,
}

impl Ended {
    /// Reads what a finished program left.
    pub(crate) fn of(output: Output) -> Self {
        assert!(output.status.signal().is_none() || output.status.code().is_none());
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Fails unless the code is the expected one, showing what was said.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "stdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }
}

/// Waits until a condition holds, which must happen at last.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "it never came to this: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal to a process that the test started.
pub(crate) fn send(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Returns a port that nobody holds and that the system does not hand out by itself, so that no other test gets it.
pub(crate) fn unused_port() -> u16 {
    let start = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap();
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (start..start + 1000).find(is_free).unwrap()
}

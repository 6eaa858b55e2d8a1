//! `harness step` inside the real `git bisect run`: it finds what is there to be found, and whatever goes wrong with the tool
//! itself, git stops and marks no commit.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::world::{Ended, HARNESS, World, send, until};

/// Commits of the repository, `c0` to `c9`.
const COMMITS: usize = 10;
/// From this one on it is slower.
const SLOW: usize = 6;
/// These do not build, and a repair follows.
const BROKEN: [usize; 2] = [3, 4];

/// Turns of the server's loop: with those of a slow one an answer takes several times as long, on any machine.
const TURNS: (u64, u64) = (0, 5000);

/// A world with a repository whose servers turn a loop as often as a file says, and a project beside it.
struct Project {
    world: World,
}

impl Project {
    fn new() -> Self {
        Self::with(|commit| if commit < SLOW { TURNS.0 } else { TURNS.1 })
    }

    fn with(turns: impl Fn(usize) -> u64) -> Self {
        let world = World::new();
        world.write("git.config", "[protocol \"file\"]\nallow = always\n");
        let project = Self { world };
        project.git(".", &["init", "--quiet", "checkout"]);
        for commit in 0..COMMITS {
            project.commit(commit, turns(commit));
        }
        let text = format!(
            r#"
schema = 4
title = "a server"
[source.git]
repository = "../checkout"
[build]
steps = [["test", "!", "-e", "{{src}}/broken"], ["cp", "{{src}}/turns", "{{out}}/turns"]]
[start.cmd]
shell = 'exec "{HARNESS}" known-server --listen "{{host}}:{{port}}" --turns "$(cat "{{out}}/turns")"'
[load]
connections = 4
duration = "200ms"
window = "50ms"
warmup = {{ answers = 20, at_most = "1s" }}
[sessions]
count = 8
[verdict]
min_effect = "50%"
same_within = "50%"
confirm = false
"#
        );
        project.world.write("perf/server.toml", &text);
        project
    }

    fn commit(&self, number: usize, turns: u64) {
        self.world.write("checkout/turns", &format!("{turns}\n"));
        self.world.write("checkout/number", &format!("{number}\n"));
        let broken = self.world.path().join("checkout/broken");
        if BROKEN.contains(&number) {
            std::fs::write(&broken, "").unwrap();
        } else if broken.exists() {
            std::fs::remove_file(&broken).unwrap();
        }
        self.git("checkout", &["add", "--all"]);
        let subject = format!("commit {number}");
        let author = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        let commit = ["commit", "--quiet", "-m", &subject];
        self.git("checkout", &[author.as_slice(), &commit].concat());
        self.git("checkout", &["tag", &format!("c{number}")]);
    }

    /// Returns a program in the checkout that knows no configuration but the world's, and finds `harness` on its PATH.
    fn command(&self, program: &str) -> Command {
        let folder = PathBuf::from(HARNESS);
        let folder = folder.parent().unwrap().display();
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new(program);
        command
            .current_dir(self.world.path().join("checkout"))
            .env("PATH", format!("{folder}:{path}"))
            .env("GIT_CONFIG_GLOBAL", self.world.path().join("git.config"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env_remove("HARNESS_PROJECT")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        command
    }

    fn git(&self, folder: &str, arguments: &[&str]) -> String {
        let mut command = self.command("git");
        command.current_dir(self.world.path().join(folder));
        let output = command.args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn step(&self, arguments: &[&str]) -> Ended {
        let matrix = ["step", "--matrix", "../perf/server.toml"];
        let mut command = self.command(HARNESS);
        Ended::of(command.args(matrix).args(arguments).output().unwrap())
    }

    /// Begins a bisection between the first commit and the last one.
    fn begin(&self) {
        let terms = ["--term-old=fast", "--term-new=slow"];
        let start = ["bisect", "start", terms[0], terms[1], "c9", "c0"];
        self.git("checkout", &start);
    }

    /// Returns the command that has git run a command for each commit.
    fn bisect(&self, words: &[&str]) -> Command {
        let mut command = self.command("git");
        command.args(["bisect", "run"]).args(words);
        command
    }

    /// Returns the marks that git has given since the bisection began.
    fn marks(&self) -> Vec<String> {
        let log = self.git("checkout", &["bisect", "log"]);
        let begun = log.find("git bisect start").unwrap();
        let since = log[begun..].lines().filter(|line| !line.starts_with('#'));
        since.skip(1).map(str::to_owned).collect()
    }

    /// Has git run a command that must make it stop, and makes sure that no commit was marked but skipped for its own fault.
    fn stops(&self, bisect: &mut Command) -> Ended {
        let ended = Ended::of(bisect.output().unwrap());
        self.stopped(&ended);
        ended
    }

    fn stopped(&self, ended: &Ended) {
        assert_ne!(ended.code, Some(0), "{ended:?}");
        let marks = self.marks();
        let marked = marks
            .iter()
            .any(|mark| !mark.starts_with("git bisect skip"));
        assert!(!marked, "{marks:?} {ended:?}");
        assert!(!ended.stdout.contains("first slow commit"), "{ended:?}");
    }

    /// Returns the processes that are a `harness step` of this world.
    fn steps(&self) -> Vec<i32> {
        let own = |line: &String| line.contains(" step ") && line.contains("server.toml");
        let ids = self.world.processes().into_iter().filter(own);
        let id = |line: String| line.split(' ').next()?.rsplit('/').next()?.parse().ok();
        ids.filter(|line| !line.contains("bisect"))
            .filter_map(id)
            .collect()
    }
}

const STEP: [&str; 4] = ["harness", "step", "--matrix", "../perf/server.toml"];

#[test]
fn git_bisect_run_finds_the_slow_commit_over_those_that_do_not_build() {
    let project = Project::new();
    project.begin();
    let ended = Ended::of(project.bisect(&STEP).output().unwrap()).expect(0);
    let first = project.git("checkout", &["rev-parse", "c6"]);
    let found = format!("{first} is the first slow commit");
    assert!(ended.stdout.contains(&found), "{ended:?}");
    // Nothing of it is left in the checkout, and the table has git's own marks.
    assert_eq!(project.git("checkout", &["status", "--porcelain"]), "");
    let table = project.step(&["--summary"]).expect(0).stdout;
    assert!(
        table.contains("commit 6") && table.contains("like bad"),
        "{table}"
    );
    let marks = project.marks();
    for (mark, code) in [("fast", "0"), ("slow", "1"), ("skip", "125")] {
        let given = marks
            .iter()
            .filter(|line| line.starts_with(&format!("git bisect {mark}")));
        let row = |line: &&str| line.split_whitespace().rev().take(2).eq([mark, code]);
        assert_eq!(
            table.lines().filter(row).count(),
            given.count(),
            "{table}\n{marks:?}"
        );
    }
    project.git("checkout", &["bisect", "reset"]);
    let after = project
        .step(&["--summary", "--format", "json"])
        .expect(0)
        .stdout;
    let rows: Vec<serde_json::Value> = serde_json::from_str(&after).unwrap();
    assert_eq!(rows.len(), marks.len());
    assert!(rows.iter().all(|row| row["git"].is_null()), "{after}");
    project.world.expect_no_process();
}

#[test]
fn with_the_good_reference_alone_slower_is_bad() {
    let project = Project::new();
    project.begin();
    let words = [STEP.as_slice(), &["--good", "c0"]].concat();
    let ended = Ended::of(project.bisect(&words).output().unwrap()).expect(0);
    let first = project.git("checkout", &["rev-parse", "c6"]);
    assert!(
        ended
            .stdout
            .contains(&format!("{first} is the first slow commit")),
        "{ended:?}"
    );
}

#[test]
fn with_gaps_as_bad_it_finds_where_it_stopped_building() {
    let project = Project::with(|_| 0);
    // The last commit builds, so the bisection is from before the stretch to its end.
    let terms = ["--term-old=builds", "--term-new=broken"];
    project.git(
        "checkout",
        &["bisect", "start", terms[0], terms[1], "c4", "c0"],
    );
    let words = [STEP.as_slice(), &["--gap-is", "bad"]].concat();
    let ended = Ended::of(project.bisect(&words).output().unwrap()).expect(0);
    let first = project.git("checkout", &["rev-parse", "c3"]);
    assert!(
        ended
            .stdout
            .contains(&format!("{first} is the first broken commit")),
        "{ended:?}"
    );
}

#[test]
fn a_checkout_is_judged_as_it_is_and_not_touched() {
    let project = Project::with(|_| 0);
    project.git("checkout", &["checkout", "--quiet", "c1"]);
    project.world.write("checkout/turns", "5000\n");
    project.world.write("checkout/note", "mine\n");
    let before = project.git("checkout", &["status", "--porcelain"]);
    let ended = project.step(&["--good", "c0"]).expect(1);
    assert!(
        ended.stdout.contains("with changes that are not committed"),
        "{ended:?}"
    );
    assert!(
        ended.stdout.contains("exit 1: git marks it bad"),
        "{ended:?}"
    );
    assert_eq!(project.git("checkout", &["status", "--porcelain"]), before);
    // What does not build any more is skipped, whatever is committed.
    project.world.write("checkout/broken", "");
    let ended = project
        .step(&["--good", "c0", "--format", "json"])
        .expect(125);
    let told: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(told["answer"], "gap");
    assert!(
        told["why"].as_str().unwrap().starts_with("build: failed"),
        "{told}"
    );
}

#[test]
fn a_project_inside_of_the_checkout_is_in_no_commits_way() {
    let project = Project::new();
    let text = std::fs::read_to_string(project.world.path().join("perf/server.toml")).unwrap();
    project
        .world
        .write("checkout/own.toml", &text.replace("../checkout", "."));
    project.begin();
    let words = ["harness", "step", "--matrix", "own.toml"];
    let ended = Ended::of(project.bisect(&words).output().unwrap()).expect(0);
    assert!(
        ended.stdout.contains("is the first slow commit"),
        "{ended:?}"
    );
    // All that git sees is the matrix.
    let seen = project.git("checkout", &["status", "--porcelain"]);
    assert_eq!(seen, "?? own.toml");
}

#[test]
fn a_bug_a_wrong_word_and_a_missing_reference_stop_git() {
    let project = Project::new();
    project.begin();
    let ended = project.stops(project.bisect(&STEP).env("HARNESS_TEST_PANIC", "1"));
    assert!(
        ended.stderr.contains("this is a bug in Harness"),
        "{ended:?}"
    );
    for words in [
        &["--gap-is", "worse"][..],
        &["--good", "c0", "--bad", "c0"],
        &["--good", "v99"],
        &["--metric", "latency"],
        &["--only", "body=buffer"],
    ] {
        project.stops(&mut project.bisect(&[STEP.as_slice(), words].concat()));
    }
    project.stops(&mut project.bisect(&["harness", "step", "--matrix", "../nowhere.toml"]));
    let ended = project.stops(&mut project.bisect(&["harness", "step"]));
    assert!(
        ended.stderr.contains("keep the project outside"),
        "{ended:?}"
    );
    // Nor is a commit blamed for a good reference that does not build.
    let ended = project.stops(&mut project.bisect(&[STEP.as_slice(), &["--good", "c3"]].concat()));
    assert!(ended.stdout.contains("the good reference"), "{ended:?}");
}

#[test]
fn a_held_lock_stops_git() {
    let project = Project::new();
    project.begin();
    let folder = project.world.path().join("perf/.harness");
    std::fs::create_dir_all(&folder).unwrap();
    let lock = std::fs::File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let ended = project.stops(&mut project.bisect(&STEP));
    assert!(
        ended.stderr.contains("another Harness is at work"),
        "{ended:?}"
    );
}

#[test]
fn a_disk_that_is_full_stops_git() {
    let project = Project::new();
    project.begin();
    // No file may grow beyond two kilobytes, then beyond eight: what is built is kept by then, and the journal is begun.
    let limited = |blocks: u32| {
        let line = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let words = [&["sh", "-c", &line, "sh"][..], &STEP].concat();
        let ended = project.stops(&mut project.bisect(&words));
        let said = &ended.stderr;
        assert!(
            said.contains("cannot") || said.contains("could not"),
            "{ended:?}"
        );
    };
    limited(4);
    project.step(&[]);
    limited(16);
    // Nor may a result that nobody can be told count as one.
    let line = r#""$@" > /dev/full"#;
    let words = [&["sh", "-c", line, "sh"][..], &STEP].concat();
    let ended = project.stops(&mut project.bisect(&words));
    assert!(ended.stderr.contains("cannot write to stdout"), "{ended:?}");
}

#[test]
fn a_build_that_runs_out_of_room_stops_git() {
    let project = Project::with(|_| 0);
    project.world.change(
        "perf/server.toml",
        "[\"test\", \"!\", \"-e\", \"{src}/broken\"]",
        "{ shell = 'if test -e \"{src}/broken\"; then echo \"write error: No space left on device\" >&2; exit 1; fi' }",
    );
    project.git("checkout", &["checkout", "--quiet", "c3"]);
    for gap_is in ["skip", "bad"] {
        let ended = project
            .step(&["--good", "c0", "--gap-is", gap_is])
            .expect(128);
        assert!(ended.stdout.contains("no fault of the commit"), "{ended:?}");
    }
}

#[test]
fn signals_stop_git_and_leave_nothing() {
    let project = Project::with(|_| 0);
    project.world.change(
        "perf/server.toml",
        "duration = \"200ms\"",
        "duration = \"20s\"",
    );
    project.begin();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        let mut bisect = project.bisect(&STEP);
        bisect.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = bisect.spawn().unwrap();
        until("a step is under way", || !project.steps().is_empty());
        until("a server is up", || {
            let servers = project.world.processes();
            servers
                .iter()
                .any(|process| process.contains("known-server"))
        });
        for id in project.steps() {
            let id = rustix::process::Pid::from_raw(id).unwrap();
            rustix::process::kill_process(id, signal).unwrap();
        }
        let ended = Ended::of(child.wait_with_output().unwrap());
        project.stopped(&ended);
        project.world.expect_no_process();
    }
}

#[test]
fn what_was_measured_before_a_kill_is_gone_on_with() {
    let project = Project::new();
    project.git("checkout", &["checkout", "--quiet", "c7"]);
    let journal = || project.world.path().join("perf/reports/data/server-step");
    let sessions = || {
        let paths = std::fs::read_dir(journal()).into_iter().flatten().flatten();
        let texts = paths.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
        texts
            .map(|text| text.matches("\"record\":\"session\"").count())
            .sum::<usize>()
    };
    let arguments = [
        "step",
        "--matrix",
        "../perf/server.toml",
        "--good",
        "c0",
        "--bad",
        "c9",
    ];
    let mut command = project.command(HARNESS);
    command
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    until("a session is written down", || sessions() >= 1);
    send(&child, Signal::KILL);
    child.wait().unwrap();
    project.world.expect_no_process();
    let ended = project.step(&["--good", "c0", "--bad", "c9"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("going on with"), "{ended:?}");
    let journals = std::fs::read_dir(journal()).unwrap();
    assert_eq!(
        journals
            .flatten()
            .filter(|entry| entry.path().extension().is_some())
            .count(),
        1
    );
}

#[test]
fn outside_of_a_bisection_a_good_reference_must_be_named() {
    let project = Project::with(|_| 0);
    let ended = project.step(&[]).expect(128);
    assert!(
        ended.stderr.contains("there is no good reference"),
        "{ended:?}"
    );
    let ended = project.step(&["--summary"]).expect(128);
    assert!(ended.stderr.contains("no step was held yet"), "{ended:?}");
    let mut command = project.command(HARNESS);
    command.args(["step", "--good", "c0", "--matrix"]);
    command.arg(project.world.path().join("perf/server.toml"));
    // The matrix says where the checkout is, and brings its folder along.
    command.current_dir("/");
    let ended = Ended::of(command.output().unwrap());
    assert!(matches!(ended.code, Some(0 | 125)), "{ended:?}");
    assert!(project.world.path().join("perf/.harness").is_dir());
}

//! A hostile build leaves nothing behind, changes nothing outside its folder, and ends in a gap that says what it did.

use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use harness::process::{self, Closing};
use rustix::process::Signal;
use serde_json::Value;

use crate::world::{Ended, HARNESS, World, send, until};

/// A world with a folder of the user's own, `home`, and one matrix in which the version `good` builds.
struct Hostile {
    world: World,
}

impl Hostile {
    /// Writes a matrix in which each version runs a line of the shell.
    fn new(versions: &[(&str, &str)], build: &str) -> Self {
        let world = World::new();
        std::fs::create_dir(world.path().join("home")).unwrap();
        let names: Vec<&str> = versions.iter().map(|(name, _)| *name).collect();
        let lines: Vec<String> = versions
            .iter()
            .map(|(name, line)| format!("{name}) {line};;"))
            .collect();
        let text = format!(
            r#"schema = 1
[source]
versions = {names:?}
[source.list]
[build]
steps = [{{ shell = '''case $HARNESS_VERSION in {} esac''' }}]
timeout = "20s"
{build}
[start]
cmd = ["true"]
[load]
duration = "400ms"
"#,
            lines.join(" ")
        );
        world.write("hostile.toml", &text);
        Self { world }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.world.path().join(name)
    }

    fn harness(&self, arguments: &[&str]) -> Command {
        let mut command = self.world.harness(arguments);
        command.env("HOME", self.path("home"));
        command
    }

    /// Builds a version and returns its outcome, after making sure that nothing of it runs any more.
    #[track_caller]
    fn build(&self, version: &str) -> Value {
        let arguments = ["build", "hostile.toml", version, "--format", "json"];
        let ended = Ended::of(self.harness(&arguments).output().unwrap());
        assert_eq!(
            self.world.processes(),
            Vec::<String>::new(),
            "they are gone before it ends"
        );
        let line: Value = serde_json::from_str(ended.stdout.trim()).unwrap();
        line["outcome"].clone()
    }

    /// Builds a version that must end in a gap, and returns its kind, class and cause. The log is there.
    #[track_caller]
    fn gap(&self, version: &str) -> (String, String, String) {
        let gap = &self.build(version)["gap"];
        let text = |key: &str| gap[key].as_str().unwrap_or_default().to_owned();
        assert!(self.path(&text("log")).is_file(), "{gap}");
        (text("kind"), text("class"), text("cause"))
    }

    #[track_caller]
    fn artifact(&self, version: &str) {
        let outcome = self.build(version);
        assert!(outcome["artifact"].is_object(), "{outcome}");
    }

    /// Returns the one folder of a version's builds.
    fn folder(&self, version: &str) -> PathBuf {
        let builds = self.path(".harness/builds/hostile");
        let begin = format!("{version}-");
        std::fs::read_dir(builds)
            .unwrap()
            .flatten()
            .map(|entry| entry.path())
            .find(|path| path.is_dir() && name(path).starts_with(&begin))
            .unwrap()
    }
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Compiles a program of the world.
fn compile(world: &World, name: &str, source: &str) -> String {
    let source = world.write(&format!("{name}.rs"), source);
    let program = world.path().join(name);
    let compiled = Command::new("rustc")
        .args(["--edition=2024", "-o"])
        .args([&program, &source])
        .status()
        .unwrap();
    assert!(compiled.success());
    program.to_str().unwrap().to_owned()
}

#[test]
fn daemons_and_those_that_ignore_signals_are_gone_before_the_build_has_ended() {
    let hostile = Hostile::new(
        &[
            (
                "daemon",
                "(setsid sh -c 'setsid sleep 600 & sleep 600' &) ; exit 0",
            ),
            (
                "deaf",
                "trap '' TERM INT HUP; (trap '' TERM; setsid sleep 600) & false",
            ),
            ("piped", "yes | sleep 600"),
        ],
        "",
    );
    hostile.artifact("daemon");
    let (kind, class, cause) = hostile.gap("deaf");
    assert_eq!((kind.as_str(), class.as_str()), ("failed", "permanent"));
    assert!(cause.ends_with("ended with exit code 1"), "{cause}");
    hostile.world.change("hostile.toml", "\"20s\"", "\"1s\"");
    assert_eq!(hostile.gap("piped").0, "timeout");
}

/// Forks, and ends; the child leaves its session and does the same: no list of processes names it for long.
const HARE: &str = "
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **words) {
    for (int left = atoi(words[1]); left > 0; left--) {
        if (fork() > 0) _exit(0);
        setsid();
    }
}
";

#[test]
fn one_that_forks_and_ends_again_and_again_is_caught() {
    let hostile = Hostile::new(
        &[("hare", "\"$HARE\" 100000 & \"$HARE\" 100000 & exit 3")],
        "env = { HARE = \"{matrix_dir}/hare\" }",
    );
    let source = hostile.world.write("hare.c", HARE);
    let compiler = Command::new("cc")
        .arg("-o")
        .args([&hostile.path("hare"), &source])
        .status();
    assert!(compiler.unwrap().success());
    assert!(hostile.gap("hare").2.ends_with("exit code 3"));
}

#[test]
fn a_build_that_prints_a_gigabyte_leaves_a_log_of_the_length_it_may_have() {
    let hostile = Hostile::new(
        &[
            (
                "loud",
                "echo 'error: the first one' >&2; yes \"$PATH\" | head -c 1G",
            ),
            ("good", "echo short"),
        ],
        "limits = { log = \"1MiB\" }",
    );
    let outcome = hostile.build("loud");
    let gap = &outcome["gap"];
    assert_eq!(
        (&gap["kind"], &gap["class"]),
        (&"failed".into(), &"permanent".into())
    );
    let cause = gap["cause"].as_str().unwrap();
    assert!(cause.contains("printed more than 1 MiB"), "{cause}");
    assert_eq!(gap["errors"][0], "error: the first one");
    let log = hostile.path(gap["log"].as_str().unwrap());
    assert_eq!(
        log.metadata().unwrap().len(),
        1 << 20,
        "neither more nor less"
    );
    hostile.artifact("good");
}

#[test]
fn a_gap_at_a_limit_is_not_kept_when_the_limit_is_raised() {
    let hostile = Hostile::new(
        &[("loud", "yes \"$PATH\" | head -c 2M")],
        "limits = { log = \"1MiB\" }",
    );
    assert!(hostile.gap("loud").2.contains("printed more"));
    hostile.world.change("hostile.toml", "\"1MiB\"", "\"3MiB\"");
    hostile.artifact("loud");
}

#[test]
fn a_build_that_fills_the_disk_is_ended_and_its_files_are_deleted() {
    let hostile = Hostile::new(
        &[
            (
                "greedy",
                "mkdir -m 500 locked; while :; do head -c 1M /dev/zero >> $HARNESS_OUT/a; cp $HARNESS_OUT/a $TMPDIR; done",
            ),
            ("good", ":"),
        ],
        "limits = { disk = \"20MiB\" }",
    );
    let (kind, class, cause) = hostile.gap("greedy");
    assert_eq!((kind.as_str(), class.as_str()), ("failed", "permanent"));
    assert!(cause.contains("made more than 20 MiB of files"), "{cause}");
    let folder = hostile.folder("greedy");
    for part in ["src", "work", "out", "tmp"] {
        assert!(!folder.join(part).exists(), "{part} is still there");
    }
    hostile.artifact("good");
}

#[test]
fn a_build_that_eats_memory_is_ended_and_may_be_tried_again() {
    let hostile = Hostile::new(
        &[("greedy", "\"$EATER\""), ("good", ":")],
        "limits = { memory = \"200MiB\" }\nenv = { EATER = \"{matrix_dir}/eater\" }",
    );
    let eater = "fn main() { let mut all = Vec::new(); for i in 0..600 { all.push(vec![1_u8; 1 << 20]); \
        std::thread::sleep(std::time::Duration::from_millis(u64::from(i > 250) * 20)); } std::hint::black_box(all); }";
    compile(&hostile.world, "eater", eater);
    let (kind, class, cause) = hostile.gap("greedy");
    assert_eq!((kind.as_str(), class.as_str()), ("failed", "transient"));
    assert!(
        cause.contains("used more than 200 MiB of memory"),
        "{cause}"
    );
    hostile.artifact("good");
}

#[tokio::test]
async fn nothing_outside_the_builds_own_folder_is_changed() {
    process::use_supervisor(HARNESS);
    if !process::confinement_support().await.files {
        println!("skipped: this kernel cannot keep a build from writing");
        return;
    }
    let hostile = Hostile::new(
        &[
            ("writes", "echo spoilt > \"$OUTSIDE/thesis.txt\""),
            ("deletes", "rm -rf \"$OUTSIDE\""),
            ("links", "ln -s \"$OUTSIDE\" here && rm -rf here/*"),
            ("moves", "mv \"$OUTSIDE/thesis.txt\" ."),
            ("home", "echo 'evil' >> ~/.profile"),
            ("mark", "touch ../../intruder"),
            ("log", "rm -f ../build.log"),
            ("outcome", "echo forged > ../outcome.json"),
            (
                "good",
                "echo own > file && mv file $HARNESS_OUT/ && echo moment > $TMPDIR/x && echo cached > ~/.cache/x",
            ),
        ],
        "env = { OUTSIDE = \"{matrix_dir}/outside\" }",
    );
    let thesis = hostile.world.write("outside/thesis.txt", "years of work");
    let profile = hostile.world.write("home/.profile", "good\n");
    for version in [
        "writes", "deletes", "links", "moves", "home", "mark", "log", "outcome",
    ] {
        let (kind, class, cause) = hostile.gap(version);
        assert_eq!(
            (kind.as_str(), class.as_str()),
            ("failed", "permanent"),
            "{version}"
        );
        assert!(
            cause.contains("a build may write only in its own folder"),
            "{version}: {cause}"
        );
        assert_eq!(std::fs::read_to_string(&thesis).unwrap(), "years of work");
        assert_eq!(std::fs::read_to_string(&profile).unwrap(), "good\n");
    }
    hostile.artifact("good");
    let folder = hostile.folder("good");
    assert_eq!(
        std::fs::read_to_string(folder.join("out/file")).unwrap(),
        "own\n"
    );
    assert!(
        !folder.join("tmp").exists(),
        "what is needed for a moment is gone"
    );
    assert!(hostile.path("home/.cache/x").is_file(), "caches are shared");
}

#[test]
fn folders_that_a_build_write_protects_are_no_obstacle() {
    let line = "mkdir -p $TMPDIR/a/b a/b && touch a/b/c && chmod -R 500 $TMPDIR/a a && exit 1";
    let hostile = Hostile::new(&[("locks", line)], "");
    assert_eq!(hostile.gap("locks").0, "failed");
    let folder = hostile.folder("locks");
    assert!(!folder.join("tmp").exists());
    let mode = folder
        .join("work/a")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o500);
    std::fs::remove_file(folder.join("outcome.json")).unwrap();
    assert_eq!(
        hostile.gap("locks").0,
        "failed",
        "it is begun again from nothing"
    );
}

#[tokio::test]
async fn a_build_without_a_network_reaches_nobody_and_says_so() {
    process::use_supervisor(HARNESS);
    if process::confinement_support().await.network == Closing::Not {
        println!("skipped: this kernel cannot close the network");
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let hostile = Hostile::new(
        &[("calls", "\"$CALL\""), ("talks", "\"$CALL\" itself")],
        &format!(
            "env = {{ CALL = \"{{matrix_dir}}/call\", PORT = \"{}\" }}",
            listener.local_addr().unwrap().port()
        ),
    );
    compile(&hostile.world, "call", CALL);
    hostile.artifact("calls");
    let mut said = String::new();
    let (mut caller, _) = listener.accept().expect("with a network it is called");
    caller.set_nonblocking(false).unwrap();
    caller.read_to_string(&mut said).unwrap();
    assert_eq!(said, "hello");

    hostile
        .world
        .change("hostile.toml", "timeout =", "network = false\ntimeout =");
    assert_eq!(hostile.gap("calls").0, "failed");
    assert!(listener.accept().is_err(), "nobody calls any more");
    if process::confinement_support().await.network == Closing::Whole {
        hostile.artifact("talks");
    }
}

/// Calls the port, or what it itself listens on.
const CALL: &str = r#"
use std::io::Write;
use std::net::{TcpListener, TcpStream};
fn main() {
    let own = TcpListener::bind("127.0.0.1:0");
    let port = match std::env::args().nth(1) {
        Some(_) => own.as_ref().unwrap().local_addr().unwrap().port(),
        None => std::env::var("PORT").unwrap().parse().unwrap(),
    };
    TcpStream::connect(("127.0.0.1", port)).unwrap().write_all(b"hello").unwrap();
}
"#;

#[test]
fn no_secret_of_the_user_reaches_a_build_or_a_server() {
    let line = "env > $HARNESS_OUT/env; cat /proc/$PPID/environ >> $HARNESS_OUT/env; :";
    let hostile = Hostile::new(
        &[("spies", line)],
        "env = { NAMED = \"{env:NAMED_SECRET}\" }",
    );
    let server = "cmd = { shell = \"env > {matrix_dir}/server; cat /proc/$PPID/environ >> {matrix_dir}/server; exit 3\" }";
    hostile
        .world
        .change("hostile.toml", "cmd = [\"true\"]", server);
    let mut command = hostile.harness(&["run", "hostile.toml"]);
    let secrets = [
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "CARGO_REGISTRIES_X_TOKEN",
        "npm_config__authToken",
    ];
    command.envs(secrets.map(|name| (name, "hidden")));
    command.env("PIP_INDEX_URL", "https://example.invalid/simple");
    command.env("NAMED_SECRET", "given");
    let ended = Ended::of(command.output().unwrap()).expect(125);
    assert!(ended.stdout.contains("code 3"), "{ended:?}");
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    let build = read(hostile.folder("spies").join("out/env"));
    let server = read(hostile.path("server"));
    assert!(
        !build.contains("hidden") && !server.contains("hidden"),
        "{build}\n{server}"
    );
    assert!(
        build.contains("NAMED=given") && !server.contains("given"),
        "{build}\n{server}"
    );
    assert!(build.contains("PIP_INDEX_URL=") && !server.contains("PIP_INDEX_URL="));
}

#[test]
fn killed_in_a_hostile_build_nothing_runs_on_and_nothing_counts_as_built() {
    let line =
        "trap '' TERM; touch $HARNESS_OUT/half; (setsid yes > /dev/null &); setsid sleep 600; :";
    let hostile = Hostile::new(&[("daemon", line)], "");
    let mut child = hostile
        .harness(&["build", "hostile.toml"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the daemons run", || {
        let all = hostile.world.processes();
        let runs = |command| all.iter().any(|one| one.trim_end().ends_with(command));
        runs(" yes") && runs(" sleep 600")
    });
    send(&child, Signal::KILL);
    child.wait().unwrap();
    hostile.world.expect_no_process();
    assert!(hostile.folder("daemon").join("out/half").is_file());

    hostile.world.change("hostile.toml", "\"20s\"", "\"1s\"");
    assert_eq!(
        hostile.gap("daemon").0,
        "timeout",
        "it is not taken for finished"
    );
}

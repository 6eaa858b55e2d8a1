//! Running the steps of a build. Edge only by the programs that it runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::diagnosis::{self, Diagnosis, Nature};
use super::folder::cannot;
use super::template::{self, Variables};
use super::{Bench, OrStop, Stop, axis, bounds, fill, kind, limits, log};
use crate::error::{Error, Kind, Result};
use crate::matrix::{Build, Command};
use crate::outcome::{Class, Gap, GapKind};
use crate::process::{self, Ended, Spec};
use crate::source;

/// Runs the steps in order, up to the first that fails.
pub(super) async fn run(
    bench: &Bench<'_>,
    steps: &[Command],
    (variables, work): (&Variables, &Path),
) -> OrStop<()> {
    for step in steps {
        one(bench, &spec(bench, step, (variables, work))?).await?;
    }
    Ok(())
}

/// Runs one command that is no template.
pub(super) async fn plain(bench: &Bench<'_>, command: &Command, cwd: &Path) -> OrStop<()> {
    let spec = plain_spec(bench, words(command.clone())?, cwd);
    one(bench, &spec).await
}

/// Makes of program and arguments, no templates, what is run within the bounds of a build.
pub(super) fn plain_spec(bench: &Bench<'_>, words: (String, Vec<String>), cwd: &Path) -> Spec {
    let mut env = process::build_environment();
    set_temporary_folder(&mut env, &bench.folder.tmp);
    bounded(bench, words, cwd, env)
}

/// Runs program and arguments that fetch.
pub(super) async fn fetch(
    bench: &Bench<'_>,
    words: (String, Vec<String>),
    cwd: &Path,
) -> OrStop<()> {
    one(bench, &fetch_spec(bench, words, cwd)).await
}

/// Makes of program and arguments what is run to fetch: `build.network` speaks of what comes after.
pub(super) fn fetch_spec(bench: &Bench<'_>, words: (String, Vec<String>), cwd: &Path) -> Spec {
    let mut spec = plain_spec(bench, words, cwd);
    if let Some(confinement) = &mut spec.confinement {
        confinement.network = true;
    }
    spec
}

/// Runs one step.
async fn one(bench: &Bench<'_>, spec: &Spec) -> OrStop<()> {
    let path = &bench.folder.log;
    let echo = format!("$ {} {}\n", spec.program, spec.args.join(" "));
    let from = log::append(path, &echo).map_err(|error| cannot("write", path, error))?;
    let left = bench.time_left();
    let ended = if left.is_zero() {
        Ended::TimedOut
    } else {
        process::run(spec, path, left).await?
    };
    if ended == Ended::Code(0) {
        return Ok(());
    }
    let said = log::read_ends(path, from).map_err(|error| cannot("read", path, error))?;
    if matches!(ended, Ended::Code(_) | Ended::Signal(_)) && limits::is_disk_full(bench.folder) {
        let cause = format!("`{}` failed, and the disk is full", short(spec));
        let hint = Nature::Space.hint().map(str::to_owned);
        return Err(gap(Nature::Space, cause)
            .with_hint(hint)
            .with_log(path)
            .into());
    }
    Err(failed(spec, &ended, &said, &bench.matrix.build).with_log(path))
}

/// Judges how a step failed: it is the version's fault, unless a program of the machine is missing.
pub(super) fn failed(spec: &Spec, ended: &Ended, said: &str, build: &Build) -> Stop {
    let step = short(spec);
    let diagnosis = diagnosis::diagnose(said);
    let how = match ended {
        Ended::Code(code) => format!("`{step}` ended with exit code {code}"),
        Ended::Signal(9) => return killed(&step, diagnosis).into(),
        Ended::Signal(signal) => format!("`{step}` was ended by signal {signal}"),
        Ended::TimedOut => return timed_out(&step, build.timeout, diagnosis).into(),
        Ended::OverLimit(limit) => {
            let gap = limits::passed(*limit, &step, &spec.limits);
            return Stop::Limit(gap.with_errors(diagnosis.errors));
        }
        Ended::NotStarted(reason) if spec.program.contains('/') => {
            return not_started(&step, reason).into();
        }
        Ended::NotStarted(reason) => return source::cannot_start(&spec.program, reason).into(),
    };
    let cause = match diagnosis.in_one_line() {
        Some(cause) if diagnosis.nature != Nature::Other => cause,
        Some(cause) => format!("{how}; {cause}"),
        None => how,
    };
    let gap = match out_of_bounds(spec, ended, said) {
        Some(path) => kept_from_writing(&step, &path),
        None if diagnosis.nature == Nature::Network && is_offline(spec, build) => {
            kept_from_the_network(&step, &cause)
        }
        None => gap(diagnosis.nature, cause).with_hint(diagnosis.hint),
    };
    gap.with_errors(diagnosis.errors).into()
}

/// Returns whether the matrix keeps a program from the network; what fetches is not kept from it.
fn is_offline(spec: &Spec, build: &Build) -> bool {
    let is_open = spec.confinement.as_ref().is_some_and(|walls| walls.network);
    !build.network && !is_open
}

/// Returns where a step was kept from writing, if that is what its log tells.
fn out_of_bounds(spec: &Spec, ended: &Ended, said: &str) -> Option<PathBuf> {
    /// How a shell ends that was not allowed to run a program.
    const NOT_EXECUTABLE: Ended = Ended::Code(126);
    let confinement = spec.confinement.as_ref()?;
    if *ended == NOT_EXECUTABLE {
        return None;
    }
    bounds::refused(said, &spec.cwd, &confinement.writable)
}

fn kept_from_writing(step: &str, path: &Path) -> Gap {
    let cause = format!(
        "`{step}` could not write to {}: a build may write only in its own folder, and package managers in their caches",
        path.display()
    );
    let hint = "have it write below `{work}`, `{out}` or `$TMPDIR`";
    Gap::new(GapKind::Failed, cause).with_hint(Some(hint.to_owned()))
}

fn kept_from_the_network(step: &str, cause: &str) -> Gap {
    let cause =
        format!("`{step}` asked for the network, which `build.network` closes to it; {cause}");
    Gap::new(GapKind::Failed, cause).with_hint(Some("`build.network = true`".to_owned()))
}

/// The gap of a step that was killed. Nobody but the kernel, short of memory, sends that signal.
fn killed(step: &str, diagnosis: Diagnosis) -> Gap {
    let how = format!("`{step}` was killed, most likely for want of memory");
    let cause = match diagnosis.cause {
        Some(cause) => format!("{how}; {cause}"),
        None => how,
    };
    gap(Nature::Memory, cause)
        .with_hint(Nature::Memory.hint().map(str::to_owned))
        .with_errors(diagnosis.errors)
}

fn timed_out(step: &str, timeout: Duration, diagnosis: Diagnosis) -> Gap {
    let seconds = timeout.as_secs();
    let cause = format!("`{step}` did not end: the build may take {seconds} s");
    Gap::new(GapKind::Timeout, cause)
        .with_hint(Some("a longer `build.timeout`".to_owned()))
        .with_errors(diagnosis.errors)
}

fn not_started(step: &str, reason: &str) -> Gap {
    let diagnosis = diagnosis::diagnose(reason);
    let cause = diagnosis.explaining(&format!("`{step}` could not be started: {reason}"));
    Gap::new(GapKind::Failed, cause).with_hint(diagnosis.hint)
}

/// Makes the gap of a step that failed for a cause of this nature.
fn gap(nature: Nature, cause: String) -> Gap {
    match nature {
        Nature::Network => Gap::new(GapKind::Network, cause),
        // A tool or a library is soon installed, and what it is missed by fails fast.
        Nature::Program | Nature::Library => {
            Gap::new(GapKind::Failed, cause).with_class(Class::Transient)
        }
        // A port is the build's own affair; trying again would not help it.
        Nature::Port => Gap::new(GapKind::Failed, cause).with_class(Class::Permanent),
        Nature::Compiler
        | Nature::Linker
        | Nature::Dependency
        | Nature::Exception
        | Nature::Memory
        | Nature::Space
        | Nature::Other => Gap::new(GapKind::Failed, cause).with_class(nature.class()),
    }
}

/// Returns the program and its first argument, or the beginning of a shell's text: enough to know a step by.
fn short(spec: &Spec) -> String {
    let step = match spec.args.as_slice() {
        [flag, line, ..] if flag == "-c" => line.clone(),
        [first, ..] => format!("{} {first}", spec.program),
        [] => spec.program.clone(),
    };
    let words: Vec<&str> = step.split_whitespace().collect();
    words.join(" ").chars().take(60).collect()
}

/// Makes of a command of the matrix what is run: its templates filled, in the steps' folder and environment.
pub(super) fn spec(
    bench: &Bench<'_>,
    command: &Command,
    (variables, work): (&Variables, &Path),
) -> Result<Spec> {
    let words = words(fill(command, variables)?)?;
    let env = environment(bench, variables)?;
    Ok(bounded(bench, words, work, env))
}

/// Makes of program and arguments what is run: within the bounds of a build.
fn bounded(
    bench: &Bench<'_>,
    (program, args): (String, Vec<String>),
    cwd: &Path,
    env: BTreeMap<String, String>,
) -> Spec {
    Spec {
        program,
        args,
        cwd: cwd.to_owned(),
        limits: limits::limits(bench.folder, bench.matrix.build.limits),
        confinement: Some(bounds::confinement(bench, &env)),
        env,
        ..Spec::default()
    }
}

/// Returns the program and its arguments.
fn words(command: Command) -> Result<(String, Vec<String>)> {
    match command {
        Command::Argv(argv) => {
            let mut words = argv.into_iter();
            let program = words.next();
            let program = program.ok_or_else(|| {
                Error::new(Kind::Configuration, "a step of `build.steps` is empty")
            })?;
            Ok((program, words.collect()))
        }
        Command::Shell(line) => Ok(("sh".to_owned(), vec!["-c".to_owned(), line])),
    }
}

/// Returns the environment of every step: that of all children, the template's values, and the matrix's own.
fn environment(bench: &Bench<'_>, variables: &Variables) -> Result<BTreeMap<String, String>> {
    let mut env = process::build_environment();
    env.extend(variables.environment());
    set_temporary_folder(&mut env, &bench.folder.tmp);
    env.extend(kind::environment(bench));
    axis::put_first(&mut env, &bench.programs);
    for (name, value) in &bench.matrix.build.env {
        let value = template::render(value, variables)
            .map_err(|problem| super::wrong_template(value, &problem))?;
        env.insert(name.clone(), value);
    }
    Ok(env)
}

/// Gives the steps a folder for what they need for a moment. Java has to be told apart, and these two do so quietly.
fn set_temporary_folder(env: &mut BTreeMap<String, String>, folder: &Path) {
    let folder = folder.to_string_lossy();
    env.insert("TMPDIR".to_owned(), folder.clone().into_owned());
    // The scripts that read these split them at every space.
    if folder.contains(char::is_whitespace) {
        return;
    }
    let own = format!("-Djava.io.tmpdir={folder}");
    for name in ["MAVEN_OPTS", "GRADLE_OPTS"] {
        let options = match env.get(name) {
            Some(others) => format!("{others} {own}"),
            None => own.clone(),
        };
        env.insert(name.to_owned(), options);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::outcome::Stage;

    fn step(words: &[&str]) -> Spec {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        let (program, args) = super::words(Command::Argv(words)).unwrap();
        Spec {
            program,
            args,
            ..Spec::default()
        }
    }

    /// Returns a build of which nothing special is asked.
    pub(in crate::build) fn build() -> Build {
        Build {
            steps: Vec::new(),
            binary: None,
            inputs: Vec::new(),
            patches: Vec::new(),
            env: BTreeMap::new(),
            network: true,
            timeout: Duration::from_mins(10),
            limits: crate::matrix::Limits {
                memory: None,
                disk: 20 << 30,
                log: 64 << 20,
            },
            retry: crate::matrix::Retry {
                attempts: 1,
                wait: Duration::ZERO,
            },
            proof: None,
        }
    }

    fn judged(words: &[&str], ended: &Ended, said: &str) -> Gap {
        match failed(&step(words), ended, said, &build()) {
            Stop::Gap(gap) | Stop::Limit(gap) => gap,
            Stop::Error(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_compile_error_is_a_permanent_gap_with_its_cause() {
        let said = "error[E0432]: unresolved import `x`\n --> src/main.rs:1:5\n\nerror: could not compile `y`\n";
        let gap = judged(&["cargo", "build"], &Ended::Code(101), said);
        assert_eq!(
            (gap.stage, gap.kind, gap.class),
            (Stage::Build, GapKind::Failed, Class::Permanent)
        );
        assert_eq!(
            gap.cause,
            "compile error: unresolved import `x` (E0432), at src/main.rs:1"
        );
        assert_eq!(gap.errors[0], "error[E0432]: unresolved import `x`");
    }

    #[test]
    fn a_failure_that_says_nothing_known_shows_its_exit_code_and_last_words() {
        let gap = judged(&["./configure", "--fast"], &Ended::Code(3), "giving up\n");
        assert_eq!(
            gap.cause,
            "`./configure --fast` ended with exit code 3; last words: giving up"
        );
        let gap = judged(&["false"], &Ended::Code(1), "");
        assert_eq!(gap.cause, "`false` ended with exit code 1");
    }

    #[test]
    fn a_failed_network_is_a_transient_gap_of_the_fetch() {
        let gap = judged(
            &["cargo", "add"],
            &Ended::Code(101),
            "error: failed to get `x`\n  Could not resolve host: y\n",
        );
        assert_eq!(
            (gap.stage, gap.kind, gap.class),
            (Stage::Fetch, GapKind::Network, Class::Transient)
        );
    }

    #[test]
    fn a_killed_step_may_be_tried_again() {
        let gap = judged(&["make"], &Ended::Signal(9), "");
        assert_eq!((gap.kind, gap.class), (GapKind::Failed, Class::Transient));
        let gap = judged(&["make"], &Ended::Signal(11), "");
        assert_eq!((gap.kind, gap.class), (GapKind::Failed, Class::Permanent));
    }

    #[test]
    fn a_tool_that_a_script_misses_is_looked_for_again() {
        let gap = judged(
            &["sh", "-c", "cmake .."],
            &Ended::Code(127),
            "sh: 1: cmake: not found\n",
        );
        assert_eq!((gap.kind, gap.class), (GapKind::Failed, Class::Transient));
        assert_eq!(gap.cause, "program: `cmake`: not found");
        assert_eq!(
            judged(&["sh", "-c", "exit 3"], &Ended::Code(3), "").cause,
            "`exit 3` ended with exit code 3"
        );
    }

    #[test]
    fn a_step_over_its_time_is_a_timeout() {
        let gap = judged(&["make", "all"], &Ended::TimedOut, "compiling\n");
        assert_eq!(
            (gap.kind, gap.cause.as_str()),
            (
                GapKind::Timeout,
                "`make all` did not end: the build may take 600 s"
            )
        );
    }

    #[test]
    fn a_step_over_a_limit_is_not_the_gap_of_the_next_limit() {
        let said = "error[E0432]: unresolved import `x`\n";
        let over = Ended::OverLimit(process::Limit::Log);
        match failed(&step(&["make"]), &over, said, &build()) {
            Stop::Limit(gap) => assert_eq!(gap.errors, ["error[E0432]: unresolved import `x`"]),
            Stop::Gap(_) | Stop::Error(_) => panic!("it is a matter of limits"),
        }
    }

    #[test]
    fn without_a_network_its_failure_is_the_matrixs_decision() {
        let closed = Build {
            network: false,
            ..build()
        };
        let said = "error: failed to get `x`\n  Could not resolve host: y\n";
        match failed(&step(&["cargo", "build"]), &Ended::Code(101), said, &closed) {
            Stop::Gap(gap) => {
                assert_eq!((gap.kind, gap.class), (GapKind::Failed, Class::Permanent));
                assert!(
                    gap.cause.contains("`build.network` closes"),
                    "{}",
                    gap.cause
                );
            }
            Stop::Limit(_) | Stop::Error(_) => panic!("it is a plain gap"),
        }
    }

    #[test]
    fn what_fetches_is_not_kept_from_the_network() {
        let closed = Build {
            network: false,
            ..build()
        };
        let open = process::Confinement {
            writable: Vec::new(),
            network: true,
        };
        let spec = Spec {
            confinement: Some(open),
            ..step(&["mvn", "dependency:list"])
        };
        let said = "error: failed to get `x`\n  Could not resolve host: y\n";
        match failed(&spec, &Ended::Code(1), said, &closed) {
            Stop::Gap(gap) => assert_eq!(gap.kind, GapKind::Network),
            Stop::Limit(_) | Stop::Error(_) => panic!("it is a plain gap"),
        }
    }

    #[test]
    fn a_missing_tool_is_the_machines_fault_and_a_missing_script_the_versions() {
        let missing = Ended::NotStarted("No such file or directory".to_owned());
        match failed(&step(&["cmake", ".."]), &missing, "", &build()) {
            Stop::Error(error) => {
                assert_eq!(error.kind, Kind::Machine);
                assert!(error.message.contains("`cmake`") && error.hint.is_some());
            }
            Stop::Gap(gap) | Stop::Limit(gap) => panic!("{gap:?}"),
        }
        assert_eq!(judged(&["./configure"], &missing, "").kind, GapKind::Failed);
        let foreign = Ended::NotStarted("Exec format error (os error 8)".to_owned());
        let gap = judged(&["./server"], &foreign, "");
        assert_eq!(
            gap.cause,
            "`./server` could not be started: Exec format error (os error 8); it is no program for the processor of \
             this machine"
        );
        assert!(gap.hint.is_some());
    }

    #[test]
    fn a_shell_line_is_one_argument() {
        let mut variables = Variables::default();
        variables.set("version", "1.2.3");
        let line = Command::Shell("echo {version} > x".to_owned());
        let (program, args) = words(fill(&line, &variables).unwrap()).unwrap();
        assert_eq!(
            (program.as_str(), args),
            ("sh", vec!["-c".to_owned(), "echo 1.2.3 > x".to_owned()])
        );
    }
}

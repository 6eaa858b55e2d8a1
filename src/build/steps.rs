//! Running the steps of a build. Edge only by the programs that it runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::diagnosis::{self, Nature};
use super::folder::cannot;
use super::template::{self, Variables};
use super::{Bench, OrStop, Stop, fill, kind, log};
use crate::error::{Error, Kind, Result};
use crate::matrix::Command;
use crate::outcome::{Class, Gap, GapKind};
use crate::process::{self, Ended, Spec};
use crate::source;

/// Runs the steps in order, up to the first that fails.
pub(super) async fn run(
    bench: &Bench<'_>,
    steps: &[Command],
    (variables, work): (&Variables, &Path),
) -> OrStop<()> {
    let env = environment(bench, variables)?;
    for step in steps {
        let spec = Spec {
            cwd: work.to_owned(),
            env: env.clone(),
            ..spec(step, variables)?
        };
        one(bench, &spec).await?;
    }
    Ok(())
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
    match failed(spec, &ended, &said, bench.matrix.build.timeout) {
        Stop::Gap(gap) => Err(gap.with_log(path).into()),
        Stop::Error(error) => Err(error.into()),
    }
}

/// Judges how a step failed: it is the version's fault, unless a program of the machine is missing.
fn failed(spec: &Spec, ended: &Ended, said: &str, timeout: Duration) -> Stop {
    let step = short(spec);
    let diagnosis = diagnosis::diagnose(said);
    let (nature, how) = match ended {
        Ended::Code(code) => (
            diagnosis.nature,
            format!("`{step}` ended with exit code {code}"),
        ),
        // Nobody but the kernel, short of memory, sends this one.
        Ended::Signal(9) => (
            Nature::Memory,
            format!("`{step}` was killed, most likely for want of memory"),
        ),
        Ended::Signal(signal) => (
            diagnosis.nature,
            format!("`{step}` was ended by signal {signal}"),
        ),
        Ended::TimedOut => {
            let cause = format!(
                "`{step}` did not end: the build may take {} s",
                timeout.as_secs()
            );
            return Gap::new(GapKind::Timeout, cause)
                .with_errors(diagnosis.errors)
                .into();
        }
        Ended::NotStarted(reason) if spec.program.contains('/') => {
            return Gap::new(
                GapKind::Failed,
                format!("`{step}` could not be started: {reason}"),
            )
            .into();
        }
        Ended::NotStarted(reason) => return source::cannot_start(&spec.program, reason).into(),
    };
    let cause = match diagnosis.cause {
        Some(cause) if diagnosis.nature != Nature::Other => cause,
        Some(cause) => format!("{how}; {cause}"),
        None => how,
    };
    gap(nature, cause).with_errors(diagnosis.errors).into()
}

/// Makes the gap of a step that failed for a cause of this nature.
fn gap(nature: Nature, cause: String) -> Gap {
    match nature {
        Nature::Network => Gap::new(GapKind::Network, cause),
        // A tool is soon installed, and what it is missed by fails fast.
        Nature::Program => Gap::new(GapKind::Failed, cause).with_class(Class::Transient),
        // A port is the build's own affair; trying again would not help it.
        Nature::Port => Gap::new(GapKind::Failed, cause).with_class(Class::Permanent),
        Nature::Compiler
        | Nature::Linker
        | Nature::Dependency
        | Nature::Exception
        | Nature::Library
        | Nature::Memory
        | Nature::Space
        | Nature::Other => Gap::new(GapKind::Failed, cause).with_class(nature.class()),
    }
}

/// Returns the program and its first argument, or the beginning of a shell's line: enough to know a step by.
fn short(spec: &Spec) -> String {
    let step = match spec.args.as_slice() {
        [flag, line, ..] if flag == "-c" => line.clone(),
        [first, ..] => format!("{} {first}", spec.program),
        [] => spec.program.clone(),
    };
    step.chars().take(60).collect()
}

/// Fills a step's templates; its folder and environment are still to be set.
fn spec(step: &Command, variables: &Variables) -> Result<Spec> {
    let (program, args) = match fill(step, variables)? {
        Command::Argv(argv) => {
            let mut words = argv.into_iter();
            let program = words.next();
            let program = program.ok_or_else(|| {
                Error::new(Kind::Configuration, "a step of `build.steps` is empty")
            })?;
            (program, words.collect())
        }
        Command::Shell(line) => ("sh".to_owned(), vec!["-c".to_owned(), line]),
    };
    Ok(Spec {
        program,
        args,
        cwd: std::path::PathBuf::new(),
        env: BTreeMap::new(),
        cpus: Vec::new(),
    })
}

/// Returns the environment of every step: that of all children, the template's values, and the matrix's own.
fn environment(bench: &Bench<'_>, variables: &Variables) -> Result<BTreeMap<String, String>> {
    let mut env = process::base_environment();
    env.extend(variables.environment());
    env.extend(kind::environment(bench));
    for (name, value) in &bench.matrix.build.env {
        let value = template::render(value, variables)
            .map_err(|problem| super::wrong_template(value, &problem))?;
        env.insert(name.clone(), value);
    }
    Ok(env)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Stage;

    fn step(words: &[&str]) -> Spec {
        let argv = words.iter().map(|&word| word.to_owned()).collect();
        spec(&Command::Argv(argv), &Variables::default()).unwrap()
    }

    fn judged(words: &[&str], ended: &Ended, said: &str) -> Gap {
        match failed(&step(words), ended, said, Duration::from_mins(10)) {
            Stop::Gap(gap) => gap,
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
    fn a_missing_tool_is_the_machines_fault_and_a_missing_script_the_versions() {
        let missing = Ended::NotStarted("No such file or directory".to_owned());
        match failed(&step(&["cmake", ".."]), &missing, "", Duration::ZERO) {
            Stop::Error(error) => {
                assert_eq!(error.kind, Kind::Machine);
                assert!(error.message.contains("`cmake`") && error.hint.is_some());
            }
            Stop::Gap(gap) => panic!("{gap:?}"),
        }
        assert_eq!(judged(&["./configure"], &missing, "").kind, GapKind::Failed);
    }

    #[test]
    fn a_shell_line_is_one_argument() {
        let mut variables = Variables::default();
        variables.set("version", "1.2.3");
        let spec = spec(&Command::Shell("echo {version} > x".to_owned()), &variables).unwrap();
        assert_eq!(
            (spec.program.as_str(), spec.args),
            ("sh", vec!["-c".to_owned(), "echo 1.2.3 > x".to_owned()])
        );
    }
}

//! Versions listed in the matrix, or by a command of its own. Edge only by the program that it runs.

use std::collections::HashSet;
use std::path::Path;

use super::{Available, PATIENCE, cannot_start, failure};
use crate::build::diagnosis;
use crate::error::{Error, Kind, Result};
use crate::matrix::{Command, List, Wanted};
use crate::process::{self, Captured, Ended, Spec};

/// Returns the names listed: those of the matrix, or those that its command prints.
pub(super) async fn available(list: &List, wanted: &Wanted, dir: &Path) -> Result<Available> {
    let names = match &list.command {
        None => names(wanted),
        Some(command) => printed(command, dir).await?,
    };
    Ok(Available::named(names))
}

/// Returns the names of a list without a command.
fn names(wanted: &Wanted) -> Vec<String> {
    match wanted {
        Wanted::Names(names) => names.clone(),
        Wanted::All | Wanted::Range(_) => Vec::new(),
    }
}

/// Runs the list's command in the matrix's folder and returns the names that it prints.
async fn printed(command: &Command, dir: &Path) -> Result<Vec<String>> {
    let spec = spec(command, dir)?;
    let captured = process::capture(&spec, PATIENCE).await?;
    if let Ended::NotStarted(reason) = &captured.ended {
        return Err(cannot_start(&spec.program, reason));
    }
    match failure(&captured.ended) {
        None => read(&captured.stdout),
        Some(how) => Err(failed(&spec, &captured, &how)),
    }
}

fn spec(command: &Command, dir: &Path) -> Result<Spec> {
    let mut words = match command {
        Command::Argv(argv) => argv.clone(),
        Command::Shell(line) => vec!["sh".to_owned(), "-c".to_owned(), line.clone()],
    }
    .into_iter();
    let program = words.next();
    let program =
        program.ok_or_else(|| Error::new(Kind::Configuration, "`source.list.command` is empty"))?;
    Ok(Spec {
        program,
        args: words.collect(),
        cwd: dir.to_owned(),
        env: process::client_environment(),
        ..Spec::default()
    })
}

/// Reads a name a line; blank lines and those that begin with `#` say nothing.
fn read(stdout: &str) -> Result<Vec<String>> {
    let lines = stdout.lines().map(str::trim);
    let names: Vec<String> = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(*name)) {
        None => Ok(names),
        Some(twice) => Err(Error::new(
            Kind::Source,
            format!("`source.list.command` prints `{twice}` twice"),
        )
        .because("each version is measured under its own name")
        .hint("let the command print each name once")),
    }
}

/// The error for a command that failed.
fn failed(spec: &Spec, captured: &Captured, how: &str) -> Error {
    let words = std::iter::once(&spec.program).chain(&spec.args);
    let line = words.cloned().collect::<Vec<_>>().join(" ");
    let error = Error::new(Kind::Source, "`source.list.command` failed").because(how);
    let said = diagnosis::diagnose(&captured.stderr).errors;
    said.first()
        .into_iter()
        .fold(error, Error::because)
        .hint(format!("run `{line}` in {}", spec.cwd.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_come_as_listed() {
        let listed = vec!["b".to_owned(), "a".to_owned()];
        assert_eq!(names(&Wanted::Names(listed.clone())), listed);
        assert!(names(&Wanted::All).is_empty());
    }

    #[test]
    fn a_name_a_line_is_read_and_comments_are_not() {
        let names = read("# versions\nmain\n\n  topic/x \r\nv1.0\n").unwrap();
        assert_eq!(names, ["main", "topic/x", "v1.0"]);
        assert!(read("").unwrap().is_empty());
    }

    #[test]
    fn a_name_that_comes_twice_is_refused() {
        let error = read("a\nb\na\n").unwrap_err();
        assert_eq!(error.kind, Kind::Source);
        assert!(error.message.contains("`a` twice"));
    }

    #[test]
    fn a_failed_command_shows_its_error_and_how_to_repeat_it() {
        let command = Command::Argv(vec!["ls-remote".to_owned(), "--tags".to_owned()]);
        let spec = spec(&command, Path::new("/m")).unwrap();
        let captured = Captured {
            ended: Ended::Code(2),
            stdout: String::new(),
            stderr: "fetching\nerror: no such remote\n".to_owned(),
        };
        let error = failed(&spec, &captured, "it ended with exit code 2");
        assert_eq!(
            error.causes,
            ["it ended with exit code 2", "error: no such remote"]
        );
        assert_eq!(error.hint.unwrap(), "run `ls-remote --tags` in /m");
    }
}

//! Where in the source an error is, from the lines around it. Pure.

use super::finding::Finding;
use super::lines::Line;
use super::{managed, native};

/// Lines in which a stack trace names the code's own place.
const TRACE: usize = 12;
/// Lines above an exception in which Node.js and Python show its place.
const HEAD: usize = 6;

/// Returns the place in the source that the lines around a finding name, with its whole path.
pub(super) fn of(lines: &[Line], index: usize) -> Option<String> {
    let said = lines[index].said();
    if said.starts_with("error") {
        let mut below = lines[index + 1..].iter().take(3);
        return below.find_map(|line| line.said().strip_prefix("--> ").map(str::to_owned));
    }
    if let Some((before, _)) = said.split_once("undefined reference to") {
        return is_place(before).then(|| tidy(before));
    }
    if let Some((file, rest)) = said.split_once(".java:[") {
        let line = rest.split(',').next()?;
        return Some(format!("{file}.java:{line}"));
    }
    if let Some(finding) = native::compiler(said).or_else(|| managed::go(said)) {
        return before(said, &finding);
    }
    managed::exception(said)?;
    of_exception(lines, index)
}

/// Returns the place that a line names before the finding's text.
fn before(said: &str, finding: &Finding) -> Option<String> {
    let place = said[..said.find(&finding.text)?]
        .trim_end_matches("error: ")
        .trim_end_matches("fatal ");
    is_place(place).then(|| tidy(place))
}

/// Returns the place of an exception: before its name, above it, or the first of its frames below it.
fn of_exception(lines: &[Line], index: usize) -> Option<String> {
    let own = lines[index]
        .said()
        .split_once(": ")
        .map(|(before, _)| before)
        .filter(|before| is_place(before))
        .map(tidy);
    let above = || {
        lines[index.saturating_sub(HEAD)..index]
            .iter()
            .rev()
            .find_map(|line| head(line.said()))
    };
    let below = || {
        lines[index + 1..]
            .iter()
            .take(TRACE)
            .find_map(|line| frame(line.said()))
    };
    own.or_else(above).or_else(below)
}

/// Reads the place from a line of a Python traceback, or from the head of Node's report of an exception.
fn head(line: &str) -> Option<String> {
    if let Some(rest) = line.strip_prefix("File \"") {
        let (file, rest) = rest.split_once("\", line ")?;
        let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let place = format!("{file}:{number}");
        let is_pythons =
            file.starts_with('<') || (file.contains("/lib/python") && !file.contains("-packages/"));
        return (!is_pythons && is_place(&place)).then_some(place);
    }
    (line.contains('/') && !is_the_runtimes(line) && is_place(line)).then(|| tidy(line))
}

/// Reads the place from a frame below an exception: of Node.js, of Java, or of Go.
fn frame(line: &str) -> Option<String> {
    if line.starts_with('/') && line.contains(".go:") {
        let place = line.split(' ').next()?;
        return is_place(place).then(|| tidy(place));
    }
    let called = line.strip_prefix("at ")?;
    let place = called.rsplit('(').next()?.trim_end_matches(')');
    let is_node = place.starts_with('/');
    let is_java = place.contains(".java:");
    ((is_node || is_java) && !is_the_runtimes(called) && is_place(place)).then(|| tidy(place))
}

/// Returns whether a frame is in the runtime and not in the code that it runs.
fn is_the_runtimes(frame: &str) -> bool {
    let runtimes = ["node:", "internal/", "java.", "jdk.", "javax.", "sun."];
    runtimes.iter().any(|begin| frame.starts_with(begin))
}

fn is_place(text: &str) -> bool {
    file_and_line(text).is_some()
}

fn tidy(place: &str) -> String {
    place.trim().trim_end_matches(':').to_owned()
}

/// Returns a place as it is shown: a Rust path as rustc gives it, any other one by the file's name.
pub(super) fn short(place: &str) -> String {
    if place.contains(".rs:") {
        return without_column(&without_registry(place));
    }
    file_and_line(place).unwrap_or_else(|| place.to_owned())
}

/// Returns a text in which the path of a crate begins with the crate's own folder, and not with where cargo keeps it.
pub(super) fn without_registry(text: &str) -> String {
    let shortened = || {
        let (before, after) = text.split_once("/registry/src/")?;
        let (_, path) = after.split_once('/')?;
        let start = before.rfind([' ', '`', '"', '\'']).map_or(0, |at| at + 1);
        Some(format!("{}{path}", &before[..start]))
    };
    shortened().unwrap_or_else(|| text.to_owned())
}

/// Returns `file.c:12` from `/some/folder/file.c:12:34: `; none if the text does not end with a file and a line.
pub(super) fn file_and_line(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches(':');
    let name = text.rsplit('/').next().unwrap_or(text);
    let mut parts = name.split(':');
    let (file, line) = (parts.next()?, parts.next()?);
    let is_number = !line.is_empty() && line.chars().all(|digit| digit.is_ascii_digit());
    (is_number && !file.is_empty() && !file.contains(' ')).then(|| format!("{file}:{line}"))
}

/// Returns `src/main.rs:13` from `src/main.rs:13:5`.
fn without_column(place: &str) -> String {
    let mut parts = place.split(':');
    match (parts.next(), parts.next()) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(_) | None, _) => place.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(log: &str, index: usize) -> Option<String> {
        let lines: Vec<Line> = log.lines().map(Line::new).collect();
        of(&lines, index).as_deref().map(short)
    }

    #[test]
    fn frames_below_name_the_first_place_that_is_not_the_runtimes() {
        let node = "Error: x\n    at f (node:net:1:2)\n    at g (/b/server.js:3:4)\n";
        assert_eq!(place(node, 0).as_deref(), Some("server.js:3"));
        let java =
            "java.lang.Error: x\n\tat java.base/a.B.c(B.java:1)\n\tat Main.main(Main.java:4)\n";
        assert_eq!(place(java, 0).as_deref(), Some("Main.java:4"));
        let go = "panic: x\n\ngoroutine 1 [running]:\nmain.main()\n\t/b/main.go:2 +0x28\n";
        assert_eq!(place(go, 0).as_deref(), Some("main.go:2"));
    }

    #[test]
    fn a_place_in_a_crate_of_the_registry_names_the_crate() {
        let log = "error: x\n   --> /b/registry/src/host-1f/hyper-0.3.0/src/lib.rs:129:14\n";
        assert_eq!(place(log, 0).as_deref(), Some("hyper-0.3.0/src/lib.rs:129"));
        assert_eq!(
            without_registry("at `/b/registry/src/host-1f/hyper-0.3.0/Cargo.toml`: x"),
            "at `hyper-0.3.0/Cargo.toml`: x"
        );
        assert_eq!(without_registry("é/registry/src/x"), "é/registry/src/x");
    }
}

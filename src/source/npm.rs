//! The versions of an npm package, as `npm view` lists them. Edge only by the program that it runs.

use std::path::Path;

use serde::Deserialize;

use super::{Available, PATIENCE, ask, failure};
use crate::error::{Error, Kind, Result};
use crate::process::Captured;

/// Asks npm for the versions of a package.
///
/// It runs in the matrix's folder, so that an `.npmrc` of the project counts.
pub(super) async fn available(package: &str, dir: &Path) -> Result<Available> {
    let captured = ask(
        "npm",
        &["view", "--json", "--", package, "versions"],
        dir,
        PATIENCE,
    )
    .await?;
    match failure(&captured.ended) {
        None => names(&captured.stdout)
            .map(Available::named)
            .ok_or_else(|| unexpected(package, &captured)),
        Some(how) => Err(refused(package, &captured, &how)),
    }
}

/// Reads npm's list of versions: an array, or a single text where there is only one.
fn names(stdout: &str) -> Option<Vec<String>> {
    let value: serde_json::Value = serde_json::from_str(stdout).ok()?;
    if let Some(single) = value.as_str() {
        return Some(vec![single.to_owned()]);
    }
    let array = value.as_array()?;
    array
        .iter()
        .map(|name| name.as_str().map(str::to_owned))
        .collect()
}

/// What npm says of its own failure under `--json`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Refusal {
    /// `E404`, `ETARGET`, `ENOTFOUND` …
    #[serde(default)]
    pub(crate) code: String,
    /// One line for a person.
    #[serde(default)]
    pub(crate) summary: String,
}

/// Reads npm's report of its own failure; none where it made none.
pub(crate) fn refusal(stdout: &str) -> Option<Refusal> {
    #[derive(Deserialize)]
    struct Report {
        error: Refusal,
    }
    Some(serde_json::from_str::<Report>(stdout).ok()?.error)
}

/// The error for a package that npm gives no versions of.
fn refused(package: &str, captured: &Captured, how: &str) -> Error {
    let hint = format!("see what `npm view {package} versions` says");
    let Some(refusal) = refusal(&captured.stdout) else {
        return unexpected(package, captured).because(how);
    };
    let message = match refusal.code.as_str() {
        "E404" => format!("npm knows no package `{package}`"),
        _ => format!("npm could not list the versions of `{package}`"),
    };
    Error::new(Kind::Source, message)
        .because(format!("{}: {}", refusal.code, refusal.summary))
        .hint(hint)
}

/// The error for an answer of npm that says nothing we know.
fn unexpected(package: &str, captured: &Captured) -> Error {
    let error = Error::new(
        Kind::Source,
        format!("npm gave no list of the versions of `{package}`"),
    );
    let said = captured.stderr.lines().find(|line| !line.trim().is_empty());
    said.into_iter().fold(error, Error::because).hint(format!(
        "see what `npm view {package} versions --json` says"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Ended;

    #[test]
    fn a_list_of_versions_is_read() {
        assert_eq!(
            names("[\n  \"0.8.6\",\n  \"0.10.0\"\n]\n").unwrap(),
            ["0.8.6", "0.10.0"]
        );
    }

    #[test]
    fn a_single_version_is_read() {
        assert_eq!(names("\"1.0.0\"\n").unwrap(), ["1.0.0"]);
    }

    #[test]
    fn anything_else_is_no_list() {
        for text in ["", "{}", "[1]", "not json"] {
            assert_eq!(names(text), None);
        }
    }

    #[test]
    fn an_unknown_package_is_named() {
        let stdout =
            r#"{"error": {"code": "E404", "summary": "Not Found - GET …", "detail": "…"}}"#;
        let captured = Captured {
            ended: Ended::Code(1),
            stdout: stdout.to_owned(),
            stderr: String::new(),
        };
        let error = refused("nosuch", &captured, "it ended with exit code 1");
        assert_eq!(error.kind, Kind::Source);
        assert_eq!(error.message, "npm knows no package `nosuch`");
        assert_eq!(error.causes, ["E404: Not Found - GET …"]);
        assert!(error.hint.is_some());
    }

    #[test]
    fn a_failure_without_a_report_shows_how_it_ended() {
        let captured = Captured {
            ended: Ended::TimedOut,
            stdout: String::new(),
            stderr: "npm error something\n".to_owned(),
        };
        let error = refused("x", &captured, "it did not end in time");
        assert_eq!(
            error.causes,
            ["npm error something", "it did not end in time"]
        );
    }
}

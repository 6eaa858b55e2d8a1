//! The versions of an npm package, as `npm view` lists them. Edge only by the program that it runs.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::{Available, PATIENCE, ask, failure};
use crate::error::{Error, Kind, Result};
use crate::process::Captured;
use crate::version::Version;

/// Asks npm for the versions of a package, and when each was published.
///
/// It runs in the matrix's folder, so that an `.npmrc` of the project counts.
pub(super) async fn available(package: &str, dir: &Path) -> Result<Available> {
    let args = ["view", "--json", "--", package, "versions", "time"];
    let captured = ask("npm", &args, dir, PATIENCE).await?;
    match failure(&captured.ended) {
        None => versions(&captured.stdout)
            .map(Available::certain)
            .ok_or_else(|| unexpected(package, &captured)),
        Some(how) => Err(refused(package, &captured, &how)),
    }
}

/// Reads npm's answer: an object of both fields, or the versions alone where the registry tells no times.
///
/// A version that has a time and is not listed was unpublished.
fn versions(stdout: &str) -> Option<Vec<Version>> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Answer {
        Both {
            versions: Names,
            #[serde(default)]
            time: BTreeMap<String, Value>,
        },
        Versions(Names),
    }
    let (names, times) = match serde_json::from_str(stdout).ok()? {
        Answer::Both { versions, time } => (versions.into_vec(), time),
        Answer::Versions(versions) => (versions.into_vec(), BTreeMap::new()),
    };
    let dated = |name: &String| Version {
        date: times.get(name).and_then(date),
        ..Version::listed(name)
    };
    // Beside versions it tells when the package itself was made and changed.
    let gone = times
        .keys()
        .filter(|name| !names.contains(name) && Version::semantic(name).is_some())
        .map(|name| Version {
            withdrawn: Some("unpublished".to_owned()),
            ..dated(name)
        });
    Some(names.iter().map(dated).chain(gone).collect())
}

/// Names as npm writes them: an array, or a single text where there is only one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Many(Vec<String>),
}

impl Names {
    fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(name) => vec![name],
            Self::Many(names) => names,
        }
    }
}

fn date(time: &Value) -> Option<jiff::Timestamp> {
    time.as_str()?.parse().ok()
}

/// What npm says of its own failure under `--json`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Refusal {
    /// `E404`, `ETARGET`, `ENOTFOUND` …, or the exit code of a script that failed.
    #[serde(default, deserialize_with = "text_or_number")]
    pub(crate) code: String,
    /// One line for a person.
    #[serde(default)]
    pub(crate) summary: String,
    /// All that there is to say; what a script that failed has printed.
    #[serde(default)]
    pub(crate) detail: String,
}

fn text_or_number<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<String, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned))
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

    fn names(stdout: &str) -> Option<Vec<String>> {
        let names = versions(stdout)?.into_iter().map(|version| version.name);
        Some(names.collect())
    }

    #[test]
    fn a_list_of_versions_is_read() {
        let both = r#"{"versions": ["0.8.6", "0.10.0"], "time": {}}"#;
        for stdout in [both, "[\n  \"0.8.6\",\n  \"0.10.0\"\n]\n"] {
            assert_eq!(names(stdout).unwrap(), ["0.8.6", "0.10.0"]);
        }
    }

    #[test]
    fn a_single_version_is_read() {
        for stdout in ["\"1.0.0\"\n", r#"{"versions": "1.0.0"}"#] {
            assert_eq!(names(stdout).unwrap(), ["1.0.0"]);
        }
    }

    #[test]
    fn anything_else_is_no_list() {
        for text in ["", "{}", "[1]", "not json"] {
            assert_eq!(names(text), None);
        }
    }

    #[test]
    fn times_are_read_and_tell_what_was_unpublished() {
        let stdout = r#"{
            "versions": ["0.14.1"],
            "time": {
                "created": "2015-03-20T00:38:12.000Z",
                "modified": "2022-06-28T10:23:52.000Z",
                "0.12.0": "2017-01-05T09:11:02.123Z",
                "1.0.0beta": "2017-01-06T09:11:02.123Z",
                "0.14.1": "2017-07-13T23:45:31.022000+00:00"
            }
        }"#;
        let versions = versions(stdout).unwrap();
        let told: Vec<_> = versions
            .iter()
            .map(|version| {
                let date = version.date.map(|date| date.to_string());
                (version.name.as_str(), date, version.withdrawn.as_deref())
            })
            .collect();
        let date = |text: &str| Some(text.to_owned());
        assert_eq!(
            told,
            [
                ("0.14.1", date("2017-07-13T23:45:31.022Z"), None),
                (
                    "0.12.0",
                    date("2017-01-05T09:11:02.123Z"),
                    Some("unpublished")
                ),
            ]
        );
    }

    #[test]
    fn the_code_of_a_script_is_a_number() {
        let report = r#"{"error": {"code": 1, "summary": "command failed", "detail": "sh -c x"}}"#;
        let refusal = refusal(report).unwrap();
        assert_eq!(
            (refusal.code.as_str(), refusal.detail.as_str()),
            ("1", "sh -c x")
        );
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

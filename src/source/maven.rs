//! The versions of a Maven artifact, from the list that `mvn` keeps of it. Edge.

#![expect(
    clippy::disallowed_methods,
    reason = "it reads the lists in Maven's local repository"
)]

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Available, PATIENCE, ask, failure};
use crate::error::{Error, Kind, Result};
use crate::matrix::Maven;
use crate::process::Captured;

/// Lets Maven ask its repositories for the newest version, for which it fetches the lists of all of them, and reads
/// those.
///
/// Where a repository cannot be asked, an older list is used with a warning.
pub(super) async fn available(maven: &Maven, dir: &Path) -> Result<Available> {
    let answer = tempfile::NamedTempFile::new()
        .map_err(|error| cannot("make", Path::new("a file"), error))?;
    let arguments = arguments(maven, answer.path());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let captured = ask("mvn", &arguments, dir, PATIENCE).await?;
    let repository = fs::read_to_string(answer.path());
    let repository = repository.map_err(|error| cannot("read", answer.path(), error))?;
    // Without an answer there is no repository, and a relative path would be somebody else's folder.
    let names = match repository.trim() {
        "" => Vec::new(),
        path => names(&folder(maven, Path::new(path)))?,
    };
    let how = failure(&captured.ended);
    if names.is_empty() {
        return Err(unknown(maven, &captured, how));
    }
    Ok(Available {
        warnings: stale(maven, &captured, how.as_deref())
            .into_iter()
            .collect(),
        ..Available::named(names)
    })
}

/// Asks where the local repository is, and for the newest version; the answer to the first comes even if there is none
/// to the second. In the server's project, so that repositories which only its `pom.xml` names count.
fn arguments(maven: &Maven, answer: &Path) -> Vec<String> {
    let mut words = vec![
        "-B".to_owned(),
        "-U".to_owned(),
        "-Dstyle.color=never".to_owned(),
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn".to_owned(),
        format!("--file={}", maven.server.join("pom.xml").display()),
        "-Dharness.version=0".to_owned(),
    ];
    let properties = maven.properties.iter();
    words.extend(properties.map(|(name, value)| format!("-D{name}={value}")));
    words.extend([
        "help:evaluate".to_owned(),
        "-Dexpression=settings.localRepository".to_owned(),
        format!("-Doutput={}", answer.display()),
        "dependency:get".to_owned(),
        format!("-DgroupId={}", maven.group),
        format!("-DartifactId={}", maven.artifact),
        "-Dversion=LATEST".to_owned(),
        // The smallest file that a version has.
        "-Dpackaging=pom".to_owned(),
        "-Dtransitive=false".to_owned(),
    ]);
    words
}

/// Returns where the local repository keeps what it knows of the artifact.
fn folder(maven: &Maven, repository: &Path) -> PathBuf {
    let group: PathBuf = maven.group.split('.').collect();
    repository.join(group).join(&maven.artifact)
}

/// Reads the names in the lists of all repositories, each once.
fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for file in lists(folder).map_err(|error| cannot("list", folder, error))? {
        let text = fs::read_to_string(&file).map_err(|error| cannot("read", &file, error))?;
        names.extend(listed(&text));
    }
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    Ok(names)
}

/// Finds the lists: `maven-metadata-REPOSITORY.xml`. Nothing where Maven knows nothing.
fn lists(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        let is_list = entry.file_name().as_bytes().starts_with(b"maven-metadata-");
        if is_list && path.extension() == Some(OsStr::new("xml")) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Reads the names in one list.
fn listed(text: &str) -> Vec<String> {
    let inside = |text, tag: &str| between(text, &format!("<{tag}>"), &format!("</{tag}>"));
    let Some((mut rest, _)) = inside(text, "versions") else {
        return Vec::new();
    };
    let mut names = Vec::new();
    while let Some((name, after)) = inside(rest, "version") {
        names.push(name.trim().to_owned());
        rest = after;
    }
    names
}

/// Returns what stands between two marks, and all that follows.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<(&'a str, &'a str)> {
    text.split_once(begin)?.1.split_once(end)
}

fn cannot(what: &str, path: &Path, error: io::Error) -> Error {
    let message = format!("could not {what} {}", path.display());
    Error::new(Kind::Machine, message)
        .because(error)
        .hint("check the rights of Maven's local repository, and whether the disk is full")
}

/// The error for an artifact that Maven knows no versions of.
fn unknown(maven: &Maven, captured: &Captured, how: Option<String>) -> Error {
    let name = format!("{}:{}", maven.group, maven.artifact);
    let error = Error::new(Kind::Source, format!("Maven finds no versions of `{name}`"));
    let said = first(captured, "[ERROR] ", "").map(str::to_owned).or(how);
    said.into_iter().fold(error, Error::because).hint(
        "check `group` and `artifact`; repositories stand in settings.xml or the server's pom.xml",
    )
}

/// The warning for lists that could not be refreshed; none if they were.
fn stale(maven: &Maven, captured: &Captured, how: Option<&str>) -> Option<String> {
    let name = format!("{}:{}", maven.group, maven.artifact);
    // Maven goes on with what it has, and only warns.
    let why = match how {
        Some(how) => first(captured, "[ERROR] ", "").unwrap_or(how),
        None => first(
            captured,
            "[WARNING] ",
            &format!("{name}/maven-metadata.xml"),
        )?,
    };
    Some(format!(
        "Maven could not refresh what it knows of `{name}`, so newer versions may be missing: {why}"
    ))
}

/// Returns the first line of a level that names something, without its mark.
fn first<'a>(captured: &'a Captured, level: &str, named: &str) -> Option<&'a str> {
    let lines = captured.stdout.lines();
    lines
        .filter_map(|line| Some(line.split_once(level)?.1.trim()))
        .find(|text| text.contains(named) && !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Ended;
    use std::collections::BTreeMap;

    fn netty() -> Maven {
        Maven {
            group: "io.netty".to_owned(),
            artifact: "netty-codec-http".to_owned(),
            server: PathBuf::from("/m/server"),
            properties: BTreeMap::new(),
        }
    }

    fn said(stdout: &str, code: i32) -> Captured {
        Captured {
            ended: Ended::Code(code),
            stdout: stdout.to_owned(),
            stderr: String::new(),
        }
    }

    const LIST: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<metadata>
  <groupId>io.netty</groupId>
  <artifactId>netty-codec-http</artifactId>
  <versioning>
    <latest>5.0.0.Alpha2</latest>
    <release>5.0.0.Alpha2</release>
    <versions>
      <version>4.0.0.Beta1</version>
      <version>4.1.100.Final</version>
      <version>5.0.0.Alpha2</version>
    </versions>
    <lastUpdated>20240612061512</lastUpdated>
  </versioning>
</metadata>
"#;

    #[test]
    fn a_list_gives_its_versions_and_nothing_else() {
        assert_eq!(
            listed(LIST),
            ["4.0.0.Beta1", "4.1.100.Final", "5.0.0.Alpha2"]
        );
        assert!(listed("<metadata><version>1</version></metadata>").is_empty());
        assert!(listed("").is_empty());
    }

    #[test]
    fn the_lists_of_several_repositories_add_up() {
        let repository = tempfile::tempdir().unwrap();
        let folder = folder(&netty(), repository.path());
        assert!(folder.ends_with("io/netty/netty-codec-http"));
        assert!(names(&folder).unwrap().is_empty());
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("maven-metadata-central.xml"), LIST).unwrap();
        let ours =
            "<versions><version>4.1.100.Final</version><version>4.1.100.ours</version></versions>";
        fs::write(folder.join("maven-metadata-ours.xml"), ours).unwrap();
        fs::write(
            folder.join("maven-metadata-ours.xml.sha1"),
            "<versions><version>x</version></versions>",
        )
        .unwrap();
        let names = names(&folder).unwrap();
        assert_eq!(names.len(), 4);
        assert_eq!(names[3], "4.1.100.ours");
    }

    #[test]
    fn an_unknown_artifact_shows_what_maven_said() {
        let captured = said(
            "\u{1b}[0m[ERROR] Failed to execute goal x: Could not find metadata io.netty:nosuch/maven-metadata.xml\n[ERROR] \n",
            1,
        );
        let error = unknown(&netty(), &captured, failure(&captured.ended));
        assert_eq!(error.kind, Kind::Source);
        assert_eq!(
            error.causes,
            [
                "Failed to execute goal x: Could not find metadata io.netty:nosuch/maven-metadata.xml"
            ]
        );
        let silent = said("", 1);
        let error = unknown(&netty(), &silent, failure(&silent.ended));
        assert_eq!(error.causes, ["it ended with exit code 1"]);
    }

    #[test]
    fn a_list_that_was_not_refreshed_is_used_with_a_warning() {
        let warned = said(
            "\u{1b}[0m[WARNING] Could not transfer metadata org.codehaus.mojo/maven-metadata.xml from/to x\n\
             [WARNING] Could not transfer metadata io.netty:netty-codec-http/maven-metadata.xml from/to x: refused\n",
            0,
        );
        let warning = stale(&netty(), &warned, None).unwrap();
        assert!(
            warning.ends_with("io.netty:netty-codec-http/maven-metadata.xml from/to x: refused")
        );
        let failed = said("[ERROR] offline\n", 1);
        assert!(
            stale(&netty(), &failed, Some("it ended"))
                .unwrap()
                .ends_with(": offline")
        );
        assert_eq!(stale(&netty(), &said("", 0), None), None);
    }
}

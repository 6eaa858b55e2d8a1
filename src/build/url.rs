//! Fetching one version from its address. Edge.

#![expect(
    clippy::disallowed_methods,
    reason = "it puts a program in its place and reads the variables that the address names"
)]

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::download::{self, Kept, Wanted};
use super::folder::{self, Folder, cannot};
use super::leash::Leash;
use super::{Bench, Fetched, OrStop, archive, leashed};
use crate::error::{Error, Kind, Result};
use crate::matrix::Url;
use crate::matrix::template::{self, Variables};
use crate::version::Version;

/// Returns what tells one version from all others: its content, wherever it comes from.
pub(super) fn identity(url: &Url, version: &Version) -> Vec<String> {
    let strip = url.strip.map(|strip| strip.to_string());
    vec![
        "url".to_owned(),
        version.name.clone(),
        checksum(url, version).unwrap_or_default().to_owned(),
        strip.unwrap_or_default(),
    ]
}

/// Gets the version, ready for the steps: an archive is unpacked, and any other file is a program.
pub(super) async fn fetch(bench: &Bench<'_>, url: &Url) -> OrStop<Fetched> {
    let wanted = wanted(url, &bench.cell.version)?;
    let kept = download::fetch(bench, &wanted).await?;
    let (folder, strip) = (bench.folder.clone(), url.strip);
    let work = move |leash: &Leash| place(&folder, &kept, (&wanted, strip), leash);
    let binary = leashed(bench.time_left(), work).await?;
    Ok(Fetched {
        binary,
        ..bench.nothing_fetched()
    })
}

fn checksum<'url>(url: &'url Url, version: &Version) -> Option<&'url str> {
    url.sha256.get(&version.name).map(String::as_str)
}

/// Returns the file of a version.
fn wanted(url: &Url, version: &Version) -> Result<Wanted> {
    let sha256 = checksum(url, version).ok_or_else(|| {
        let message = format!("`source.url.sha256` has no checksum of {}", version.name);
        Error::new(Kind::Configuration, message).hint("add it, as `sha256sum FILE` prints it")
    })?;
    let (mut real, mut shown) = (Variables::default(), Variables::default());
    for variables in [&mut real, &mut shown] {
        variables.set("version", &version.name);
    }
    for name in template::used_environment([url.url.as_str()]) {
        shown.set(format!("env:{name}"), format!("{{env:{name}}}"));
        if let Ok(value) = std::env::var(&name) {
            real.set(format!("env:{name}"), value);
        }
    }
    let fill = |variables: &Variables| {
        template::render(&url.url, variables).map_err(|problem| {
            let message = "the address of `source.url.url` cannot be filled in";
            Error::new(Kind::Configuration, message).because(problem)
        })
    };
    Ok(Wanted {
        url: fill(&real)?,
        shown: fill(&shown)?,
        sha256: sha256.to_owned(),
    })
}

/// Puts a fetched file in its place. Returns the program if it is one.
fn place(
    folder: &Folder,
    kept: &Kept,
    (wanted, strip): (&Wanted, Option<usize>),
    leash: &Leash,
) -> OrStop<Option<PathBuf>> {
    let path = &kept.path;
    if archive::is_archive(path).map_err(|error| cannot("read", path, error))? {
        archive::unpack(path, &folder.src, strip, leash)
            .map_err(|flaw| flaw.stop(&wanted.shown, path, &folder.log))?;
        return Ok(None);
    }
    let program = folder.src.join(last_part(&wanted.url));
    copy_program(path, &program).map_err(|error| cannot("write", &program, error))?;
    Ok(Some(program))
}

/// Returns the last part of an address, without what asks or points.
fn last_part(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let rest = path.split_once("://").map_or(path, |(_, rest)| rest);
    let last = rest.split('/').skip(1).last().unwrap_or_default();
    folder::safe(if last.is_empty() { "program" } else { last })
}

/// Copies a file so that everybody may execute it.
fn copy_program(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    fs::set_permissions(to, fs::Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn url(template: &str) -> Url {
        Url {
            url: template.to_owned(),
            sha256: BTreeMap::from([("1.0.0".to_owned(), "abc".to_owned())]),
            strip: None,
        }
    }

    #[test]
    fn a_version_is_known_by_its_content_and_not_by_its_address() {
        let version = Version::listed("1.0.0");
        let one = identity(&url("http://a/{version}"), &version);
        assert_eq!(one, identity(&url("http://b/{version}"), &version));
        let mut other = url("http://a/{version}");
        other.strip = Some(0);
        assert_ne!(one, identity(&other, &version));
        other = url("http://a/{version}");
        other.sha256.insert("1.0.0".to_owned(), "def".to_owned());
        assert_ne!(one, identity(&other, &version));
    }

    #[test]
    fn what_the_environment_adds_to_an_address_is_not_shown() {
        let template = "http://{env:PATH}@h/{version}";
        let wanted = wanted(&url(template), &Version::listed("1.0.0")).unwrap();
        assert_eq!(wanted.shown, "http://{env:PATH}@h/1.0.0");
        assert!(!wanted.url.contains('{'));
        assert_eq!(wanted.sha256, "abc");
    }

    #[test]
    fn a_version_without_a_checksum_is_the_matrixs_fault() {
        let error = wanted(&url("http://a"), &Version::listed("2.0.0")).unwrap_err();
        assert_eq!(error.kind, Kind::Configuration);
    }

    #[test]
    fn a_program_is_called_like_the_last_part_of_its_address() {
        for (url, name) in [
            ("http://h/a/server-1.0", "server-1.0"),
            ("http://h/a/server?token=x/y#z", "server"),
            ("http://h/a/", "program"),
            ("http://h", "program"),
            ("http://h/..", "_.."),
            ("http://h/a%2fb", "a-2fb"),
        ] {
            assert_eq!(last_part(url), name, "{url}");
        }
    }
}

//! npm packages: one that is itself the program, or one that a server of the matrix uses. Edge only by npm.

mod library;
mod program;

use std::collections::BTreeMap;

use super::{Bench, Fetched, OrStop, Workshop};
use crate::error::{Error, Kind, Result};
use crate::matrix::Npm;
use crate::outcome::{Gap, GapKind};
use crate::source::{self, Refusal};
use crate::version::Version;

/// The oldest npm that can do all that is asked of it: before it, `npm pack` knows no `--pack-destination`.
const OLDEST: semver::Version = semver::Version::new(7, 18, 0);

/// Returns what tells one version of a package from all others, the server that uses it included.
pub(super) async fn identity(shop: &Workshop, npm: &Npm, version: &Version) -> Result<Vec<String>> {
    let mut identity = vec!["npm".to_owned(), npm.package.clone(), version.name.clone()];
    if let Some(server) = &npm.server {
        identity.extend(library::identity(shop, npm, server).await?);
    }
    Ok(identity)
}

/// Returns what the tools say of their own versions; unpacking a program changes nothing with them.
pub(super) async fn toolchain(shop: &Workshop, npm: &Npm) -> Result<Vec<String>> {
    let ask = |program: &'static str| {
        let answer = source::told(program, &["--version"], &shop.cache);
        shop.memo.once(format!("{program} --version"), answer)
    };
    let version = ask("npm").await?;
    if is_too_old(&version) {
        return Err(too_old(version.trim()));
    }
    Ok(match npm.server {
        None => Vec::new(),
        Some(_) => vec![version, ask("node").await?],
    })
}

/// Returns whether npm lacks what is asked of it; a version that is none we know how to read is given its chance.
fn is_too_old(version: &str) -> bool {
    semver::Version::parse(version.trim()).is_ok_and(|version| version < OLDEST)
}

fn too_old(version: &str) -> Error {
    Error::new(
        Kind::Machine,
        format!("npm {version} is too old: {OLDEST} or newer is needed"),
    )
    .because("an older one cannot pack into a folder, and keeps no list of what it installed")
    .hint("`npm install --global npm@latest`, or put a newer Node.js first on PATH")
}

/// Fetches a package: the program that it is, or what a server needs of it.
pub(super) async fn fetch(bench: &Bench<'_>, npm: &Npm) -> OrStop<Fetched> {
    let version = &bench.cell.version;
    if let Some(why) = &version.withdrawn {
        let cause = format!(
            "npm has no {}@{} any more: {why}",
            npm.package, version.name
        );
        return Err(Gap::new(GapKind::NotFound, cause).into());
    }
    match &npm.server {
        None => program::fetch(bench, npm).await,
        Some(server) => library::fetch(bench, npm, server).await,
    }
}

/// Adds the packages that stand beside a server.
pub(super) fn finish(npm: &Npm, fetched: Fetched) -> Fetched {
    let dependencies = match npm.server {
        None => BTreeMap::new(),
        Some(_) => library::dependencies(&fetched.work),
    };
    Fetched {
        dependencies,
        ..fetched
    }
}

/// Turns npm's report of its failure into a gap of the fetch; none where a package or this machine is at fault, of
/// which npm's own words tell more.
fn refused(spec: &str, refusal: &Refusal) -> Option<Gap> {
    let Refusal { code, summary, .. } = refusal;
    let kind = match code.as_str() {
        "E404" | "ETARGET" | "ENOVERSIONS" => GapKind::NotFound,
        "EINTEGRITY" => GapKind::Checksum,
        "ERESOLVE" | "EBADPLATFORM" | "EBADENGINE" | "EOVERRIDE" | "EJSONPARSE" | "ENOSPC"
        | "EACCES" => return None,
        // A script's exit code.
        code if code.parse::<i32>().is_ok() => return None,
        // A code that we do not know is taken for the registry's, and so tried again.
        _ => GapKind::Network,
    };
    let gap = Gap::new(kind, format!("npm could not fetch {spec}: {summary}"));
    Some(gap.with_errors(vec![format!("{code}: {summary}")]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_npm_that_lacks_an_option_is_refused_with_what_to_do() {
        for (version, old) in [
            ("6.14.18\n", true),
            ("7.17.0\n", true),
            ("7.18.0\n", false),
            ("11.19.1\n", false),
            ("strange\n", false),
        ] {
            assert_eq!(is_too_old(version), old, "{version}");
        }
        let error = too_old("6.14.18");
        assert_eq!(error.kind, Kind::Machine);
        assert!(error.message.contains("npm 6.14.18") && error.hint.is_some());
    }

    #[test]
    fn a_packages_own_fault_is_left_to_npms_words() {
        let refused = |code: &str| {
            let refusal = Refusal {
                code: code.to_owned(),
                summary: "s".to_owned(),
                detail: String::new(),
            };
            refused("x@1", &refusal)
        };
        assert_eq!(refused("ETARGET").unwrap().kind, GapKind::NotFound);
        assert_eq!(refused("UNKNOWN").unwrap().kind, GapKind::Network);
        for code in ["1", "127", "ERESOLVE", "EBADPLATFORM"] {
            assert_eq!(refused(code), None, "{code}");
        }
    }
}

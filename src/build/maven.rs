//! Building the matrix's own server against one version of a Maven artifact. Edge.

#![expect(
    clippy::disallowed_methods,
    reason = "it copies what the build left and reads what Maven resolved"
)]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use tokio::sync::Mutex;

use super::folder::{Folder, cannot};
use super::{Bench, Fetched, OrStop, Stop, Workshop, blocking, dependencies, steps, tree};
use crate::error::Result;
use crate::matrix::template::literal;
use crate::matrix::{Command, Maven};
use crate::outcome::{Class, Gap, GapKind};
use crate::source;
use crate::version::Version;

/// Held while Maven fills its local repository, which one before version 3.9 does not guard against another.
static RESOLVING: Mutex<()> = Mutex::const_new(());
/// What fetches. The version that Maven itself would take, 2.8, leaves out a part of what plugins need, so that a build without the
/// network fails wherever nothing else has fetched that before.
const PLUGIN: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1";

/// The file, in what is fetched, where Maven lists what it resolved.
const RESOLVED: &str = "dependencies.txt";

/// Returns what tells one version of an artifact from all others, the server that is built against it included.
pub(super) async fn identity(
    shop: &Workshop,
    maven: &Maven,
    version: &Version,
) -> Result<Vec<String>> {
    let mut identity = vec![
        "maven".to_owned(),
        maven.group.clone(),
        maven.artifact.clone(),
        version.name.clone(),
        shop.hash(&maven.server, tree::maven_project).await?,
    ];
    let properties = maven.properties.iter();
    identity.extend(properties.map(|(name, value)| format!("{name}={value}")));
    Ok(identity)
}

/// Asks Maven for its version and that of its Java, once in the life of the workshop.
pub(super) async fn toolchain(shop: &Workshop) -> Result<Vec<String>> {
    let ask = source::told("mvn", &["-B", "--version"], &shop.cache);
    let said = shop.memo.once("mvn --version".to_owned(), ask).await?;
    Ok(versions(&said))
}

/// Reads the lines that name Maven and Java; the others tell of the machine and its language.
fn versions(said: &str) -> Vec<String> {
    let line = |line: &str| {
        let mut names = ["Apache Maven ", "Java version: "].into_iter();
        // It switches colours off and on again even where it is told to use none.
        let start = names.find_map(|name| line.find(name))?;
        Some(line[start..].trim_end().to_owned())
    };
    said.lines().filter_map(line).collect()
}

/// Copies the server's project, lets Maven fetch all that the version needs, and says how the project is built.
pub(super) async fn fetch(bench: &Bench<'_>, maven: &Maven) -> OrStop<Fetched> {
    let (from, work) = (maven.server.clone(), bench.folder.work.clone());
    blocking(move || {
        tree::copy(&from, &work, tree::maven_project).map_err(|error| cannot("copy", &from, error))
    })
    .await?;
    let arguments = arguments(maven, &bench.cell.version);
    resolve(bench, &arguments).await?;
    Ok(Fetched {
        src: bench.folder.work.clone(),
        steps: vec![package(&arguments)],
        ..bench.nothing_fetched()
    })
}

/// Returns what every call of Maven begins with.
fn arguments(maven: &Maven, version: &Version) -> Vec<String> {
    let mut words = ["-q", "-B", "-Dstyle.color=never"]
        .map(str::to_owned)
        .to_vec();
    words.push(format!("-Dharness.version={}", version.name));
    let properties = maven.properties.iter();
    words.extend(properties.map(|(name, value)| format!("-D{name}={value}")));
    words
}

/// The step of a Maven matrix that names none.
fn package(arguments: &[String]) -> Command {
    let mut words = vec!["mvn".to_owned()];
    words.extend(arguments.iter().map(|word| literal(word)));
    words.extend(["-DskipTests", "-Dmaven.test.skip=true", "package"].map(str::to_owned));
    Command::Argv(words)
}

/// Lets Maven fetch plugins and dependencies, copies those that the server needs at run time to `{out}/lib`, and lists
/// them.
async fn resolve(bench: &Bench<'_>, arguments: &[String]) -> OrStop<()> {
    let folder = bench.folder;
    let mut words = arguments.to_vec();
    let goal = |name: &str| format!("{PLUGIN}:{name}");
    words.extend([
        goal("go-offline"),
        goal("copy-dependencies"),
        "-DincludeScope=runtime".to_owned(),
        format!("-DoutputDirectory={}", folder.out.join("lib").display()),
        goal("list"),
        format!("-DoutputFile={}", folder.src.join(RESOLVED).display()),
    ]);
    let _alone = RESOLVING.lock().await;
    let resolved = steps::fetch(bench, ("mvn".to_owned(), words), &folder.work).await;
    resolved.map_err(not_resolved)
}

/// Turns what failed here into a failure to fetch. The project's own faults have shown before, when Maven was asked for
/// the versions.
fn not_resolved(stop: Stop) -> Stop {
    match stop {
        Stop::Gap(gap) if gap.kind == GapKind::Failed && gap.class == Class::Permanent => Gap {
            kind: GapKind::NotFound,
            stage: GapKind::NotFound.stage(),
            ..gap
        }
        .into(),
        Stop::Gap(_) | Stop::Limit(_) | Stop::Error(_) => stop,
    }
}

/// Puts what the build left beside its dependencies, and reads which those are.
pub(super) async fn finish(bench: &Bench<'_>, fetched: Fetched) -> OrStop<Fetched> {
    let folder = bench.folder.clone();
    let dependencies = blocking(move || {
        gather(&folder).map_err(|error| cannot("copy what was built in", &folder.work, error))
    })
    .await?;
    Ok(Fetched {
        dependencies,
        ..fetched
    })
}

fn gather(folder: &Folder) -> io::Result<BTreeMap<String, String>> {
    let target = folder.work.join("target");
    let built = match fs::read_dir(&target) {
        // Steps of the matrix's own may have left it elsewhere.
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        entries => Some(entries?),
    };
    for entry in built.into_iter().flatten() {
        let path = entry?.path();
        // A link may lead anywhere, and this is not kept within the bounds of a build.
        if !fs::symlink_metadata(&path)?.is_file() {
            continue;
        }
        if let (Some("jar"), Some(name)) =
            (path.extension().and_then(OsStr::to_str), path.file_name())
        {
            let lib = folder.out.join("lib");
            plain_folder(&lib)?;
            let jar = lib.join(name);
            if fs::symlink_metadata(&jar).is_ok() {
                fs::remove_file(&jar)?;
            }
            fs::copy(&path, jar)?;
        }
    }
    let list = tree::read_left(&folder.src.join(RESOLVED));
    Ok(list.map_or_else(BTreeMap::new, |list| resolved(&list)))
}

/// Makes a folder, or refuses what a build has put in its place.
fn plain_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)?;
    if fs::symlink_metadata(path)?.is_dir() {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "{} is no plain folder",
        path.display()
    )))
}

/// Reads Maven's list, `GROUP:ARTIFACT:TYPE[:CLASSIFIER]:VERSION:SCOPE` a line; what only tests need is left out.
fn resolved(text: &str) -> BTreeMap<String, String> {
    let package = |line: &str| {
        // Newer ones add the module's name.
        let coordinates = line.split_whitespace().next()?;
        let parts: Vec<&str> = coordinates.split(':').collect();
        let [group, artifact, .., version, scope] = parts.as_slice() else {
            return None;
        };
        (parts.len() >= 5 && *scope != "test")
            .then(|| (format!("{group}:{artifact}"), (*version).to_owned()))
    };
    dependencies::gather(text.lines().filter_map(package))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maven_and_java_are_named_without_colours() {
        let said = "\u{1b}[1mApache Maven 3.8.7\u{1b}[m\nMaven home: /usr/share/maven\n\
            Java version: 17.0.15, vendor: Debian, runtime: /usr/lib/jvm/java-17-openjdk-amd64\n\
            Default locale: en, platform encoding: UTF-8\n";
        let versions = versions(said);
        assert!(versions[0].starts_with("Apache Maven 3.8.7"));
        assert!(versions[1].starts_with("Java version: 17.0.15"));
        assert_eq!(versions.len(), 2);
    }

    #[test]
    fn the_version_and_the_properties_go_to_maven_as_they_are() {
        let maven = Maven {
            group: "io.netty".to_owned(),
            artifact: "netty-all".to_owned(),
            server: "/m/server".into(),
            properties: BTreeMap::from([("jmh.version".to_owned(), "{1}".to_owned())]),
        };
        let arguments = arguments(&maven, &Version::listed("4.1.100.Final"));
        assert!(arguments.contains(&"-Dharness.version=4.1.100.Final".to_owned()));
        assert!(arguments.contains(&"-Djmh.version={1}".to_owned()));
        let Command::Argv(words) = package(&arguments) else {
            panic!("not a plain command")
        };
        assert!(words.contains(&"-Djmh.version={{1}}".to_owned()));
        assert_eq!(words.last().unwrap(), "package");
    }

    #[test]
    fn a_list_of_what_was_resolved_is_read() {
        let text = "\nThe following files have been resolved:\n   \
            io.netty:netty-codec-http:jar:4.1.100.Final:compile\n   \
            io.netty:netty-transport-native-epoll:jar:linux-x86_64:4.1.100.Final:runtime -- module io.netty.epoll\n   \
            org.junit.jupiter:junit-jupiter:jar:5.10.0:test\n   none\n\n";
        let resolved: Vec<(String, String)> = resolved(text).into_iter().collect();
        let version = || "4.1.100.Final".to_owned();
        assert_eq!(
            resolved,
            [
                ("io.netty:netty-codec-http".to_owned(), version()),
                (
                    "io.netty:netty-transport-native-epoll".to_owned(),
                    version()
                ),
            ]
        );
    }

    #[test]
    fn what_cannot_be_resolved_is_not_found_and_what_may_pass_stays_as_it_is() {
        let judged = |gap: Gap| match not_resolved(gap.into()) {
            Stop::Gap(gap) | Stop::Limit(gap) => gap,
            Stop::Error(error) => panic!("{error}"),
        };
        let gap = judged(Gap::new(GapKind::Failed, "no such artifact"));
        assert_eq!(gap, Gap::new(GapKind::NotFound, "no such artifact"));
        for gap in [
            Gap::new(GapKind::Network, "x"),
            Gap::new(GapKind::Timeout, "x"),
            Gap::new(GapKind::Failed, "disk full").with_class(Class::Transient),
        ] {
            assert_eq!(judged(gap.clone()), gap);
        }
    }

    #[tokio::test]
    async fn the_jars_of_the_build_lie_beside_its_dependencies() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::lock(dir.path(), "x").await.unwrap();
        folder.begin().unwrap();
        fs::create_dir_all(folder.work.join("target/classes")).unwrap();
        for name in ["hello-0.jar", "hello-0.txt"] {
            fs::write(folder.work.join("target").join(name), "x").unwrap();
        }
        fs::write(folder.src.join(RESOLVED), "   a:b:jar:1.0:compile\n").unwrap();
        assert_eq!(gather(&folder).unwrap()["a:b"], "1.0");
        assert!(folder.out.join("lib/hello-0.jar").is_file());
        assert!(!folder.out.join("lib/hello-0.txt").exists());
    }
}

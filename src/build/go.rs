//! Building with one version of a Go module, or of Go itself. Edge only by the programs that it runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::folder::cannot;
use super::{Bench, Fetched, OrStop, Stop, Workshop, log, tree};
use crate::error::{Error, Kind, Result};
use crate::matrix::{Command, Go, GoSubject};
use crate::outcome::{Gap, GapKind};
use crate::process::{Captured, Ended};
use crate::source::go::{self, LOCAL};
use crate::source::{self, PATIENCE};
use crate::version::Version;

/// Returns what tells one version from all others, the server that is built with it included.
pub(super) async fn identity(shop: &Workshop, go: &Go, version: &Version) -> Result<Vec<String>> {
    let subject = match &go.subject {
        GoSubject::Module(module) => module,
        GoSubject::Toolchain => "toolchain",
    };
    let program = go.program.as_deref().unwrap_or_default();
    // No companion has a blank in it.
    let with = go.with.join(" ");
    let mut identity = ["go", subject, &version.name, program, &with]
        .map(str::to_owned)
        .to_vec();
    if let Some(server) = &go.server {
        identity.push(shop.hash(server, tree::visible).await?);
    }
    Ok(identity)
}

/// Asks go for its version and the settings that change what it builds, once in the life of the workshop.
pub(super) async fn toolchain(shop: &Workshop) -> Result<Vec<String>> {
    let settings = [
        "env",
        "GOVERSION",
        "GOFLAGS",
        "GOEXPERIMENT",
        "CGO_ENABLED",
        "GOAMD64",
        "GOARM64",
    ];
    let find = async {
        let captured = go::ask(LOCAL, &settings, Path::new("/"), PATIENCE).await?;
        match source::failure(&captured.ended) {
            None => Ok(captured.stdout),
            Some(how) => Err(Error::new(Kind::Machine, format!("`go env` failed: {how}"))
                .because(captured.stderr.trim())
                .hint("see what `go env` says")),
        }
    };
    Ok(vec![shop.memo.once("go".to_owned(), find).await?])
}

/// Fetches the version, copies the server's project and says how it is built.
pub(super) async fn fetch(bench: &Bench<'_>, go: &Go) -> OrStop<Fetched> {
    let version = &bench.cell.version;
    match &go.subject {
        GoSubject::Module(module) => {
            let module = format!("{module}@{}", version.name);
            get(bench, LOCAL, &["mod", "download", "--", &module]).await?;
        }
        GoSubject::Toolchain => {
            let toolchain = toolchain_name(version);
            let captured = get(bench, &toolchain, &["version"]).await?;
            switched(&captured, &toolchain)?;
        }
    }
    let Some(server) = &go.server else {
        return Ok(installed(bench, go));
    };
    bench.copy(server, tree::visible).await?;
    Ok(Fetched {
        src: bench.folder.work.clone(),
        binary: Some(bench.folder.out.join("server")),
        steps: default_steps(go, version),
        ..bench.nothing_fetched()
    })
}

/// Returns the name by which the go command knows a version of itself.
fn toolchain_name(version: &Version) -> String {
    format!("go{}", version.name)
}

/// Lets the go command fetch something, where no module of the user's is around it.
async fn get(bench: &Bench<'_>, toolchain: &str, args: &[&str]) -> OrStop<Captured> {
    let captured = go::ask(toolchain, args, Path::new("/"), bench.time_left()).await?;
    let path = &bench.folder.log;
    let said = format!(
        "$ GOTOOLCHAIN={toolchain} go {}\n{}",
        args.join(" "),
        captured.stderr
    );
    log::append(path, &said).map_err(|error| cannot("write", path, error))?;
    match source::failure(&captured.ended) {
        None => Ok(captured),
        Some(how) => Err(Stop::Gap(refused(&captured, &how).with_log(path))),
    }
}

/// Turns a fetch that failed into a gap. A reason that we do not know is taken for the network's, and so tried again.
fn refused(captured: &Captured, how: &str) -> Gap {
    let lines = captured.stderr.lines().map(str::trim);
    let errors: Vec<String> = lines
        .filter(|line| !line.is_empty() && !line.starts_with("go: downloading"))
        .map(str::to_owned)
        .collect();
    let holds = |parts: &[&str]| {
        let mut errors = errors.iter();
        errors.any(|line| parts.iter().any(|part| line.contains(part)))
    };
    let kind = if captured.ended == Ended::TimedOut {
        GapKind::Network
    } else if holds(&["checksum mismatch", "SECURITY ERROR"]) {
        GapKind::Checksum
    } else if holds(&[
        "404 Not Found",
        "410 Gone",
        "unknown revision",
        "not available",
    ]) {
        GapKind::NotFound
    } else {
        GapKind::Network
    };
    let said = errors.first().map(String::as_str);
    let why = said.filter(|_| captured.ended != Ended::TimedOut);
    Gap::new(
        kind,
        format!("go could not fetch it: {}", why.unwrap_or(how)),
    )
    .with_errors(errors)
}

/// Makes sure that another toolchain answered than the one that was asked; Go before 1.21 cannot do that.
fn switched(captured: &Captured, toolchain: &str) -> Result<()> {
    let said = captured.stdout.trim();
    if said.split_whitespace().any(|word| word == toolchain) {
        return Ok(());
    }
    let message = format!("`go` cannot be told to be {toolchain}");
    Err(Error::new(Kind::Machine, message)
        .because(format!("it still says `{said}`"))
        .hint("install Go 1.21 or newer"))
}

/// The steps of a matrix that names none and has a server.
fn default_steps(go: &Go, version: &Version) -> Vec<Command> {
    let build = ["build", "-p", "{jobs}", "-o", "{out}/server"];
    match &go.subject {
        // Its sums need not hold every version.
        GoSubject::Module(_) => vec![
            command(&["get", "--", "{package}@{version}"], &go.with),
            command(
                &[&build[..], &["-buildvcs=false", "-mod=mod", "."]].concat(),
                &[],
            ),
        ],
        GoSubject::Toolchain => {
            // The commit of the folder that the cache lies in is none of the server's.
            let stamps = version.semver >= Some(semver::Version::new(1, 18, 0));
            let unstamped: &[&str] = if stamps { &["-buildvcs=false"] } else { &[] };
            let build = command(&[&build[..], unstamped, &["."]].concat(), &[]);
            let get = (!go.with.is_empty()).then(|| command(&["get", "--"], &go.with));
            get.into_iter().chain([build]).collect()
        }
    }
}

fn command(words: &[&str], more: &[String]) -> Command {
    let words = ["go"].iter().chain(words).map(|&word| word.to_owned());
    Command::Argv(words.chain(more.iter().cloned()).collect())
}

/// Says how a module that is itself the program is installed.
fn installed(bench: &Bench<'_>, go: &Go) -> Fetched {
    let path = program(go);
    let version = format!("{path}@{{version}}");
    Fetched {
        binary: Some(bench.folder.out.join("bin").join(program_name(path))),
        steps: vec![command(&["install", "-p", "{jobs}", "--", &version], &[])],
        ..bench.nothing_fetched()
    }
}

/// Returns the import path of the program of a module that is itself one.
fn program(go: &Go) -> &str {
    let module = match &go.subject {
        GoSubject::Module(module) => module,
        GoSubject::Toolchain => "",
    };
    go.program.as_deref().unwrap_or(module)
}

/// Returns what `go install` calls a program: its path's last part that is no major version.
fn program_name(path: &str) -> &str {
    let is_major = |part: &&str| {
        let digits = part.strip_prefix('v').unwrap_or_default();
        digits.parse::<u32>().is_ok_and(|major| major > 1) && !digits.starts_with(['0', '+'])
    };
    let mut parts = path.rsplit('/');
    parts.find(|part| !is_major(part)).unwrap_or(path)
}

/// Returns the environment of the steps: they run the toolchain that is measured, or the one that is installed.
pub(super) fn environment(bench: &Bench<'_>, go: &Go) -> Vec<(String, String)> {
    let toolchain = match &go.subject {
        GoSubject::Module(_) => LOCAL.to_owned(),
        GoSubject::Toolchain => toolchain_name(&bench.cell.version),
    };
    let bin = bench.folder.out.join("bin").to_string_lossy().into_owned();
    let mut environment = go::environment(&toolchain).to_vec();
    environment.push(("GOBIN".to_owned(), bin));
    environment
}

/// Notes what the program was built from. What cannot be listed does not make a build that went well a failure.
pub(super) async fn finish(fetched: Fetched) -> Fetched {
    let dependencies = dependencies(fetched.binary.as_ref()).await;
    Fetched {
        dependencies: dependencies.unwrap_or_default(),
        ..fetched
    }
}

/// Asks what the program was built from: Go's version and those of its modules.
async fn dependencies(binary: Option<&PathBuf>) -> Result<BTreeMap<String, String>> {
    let Some(binary) = binary else {
        return Ok(BTreeMap::new());
    };
    let args = ["version", "-m", "--", &binary.to_string_lossy()];
    let captured = go::ask(LOCAL, &args, Path::new("/"), PATIENCE).await?;
    Ok(built_from(&captured.stdout))
}

/// Reads the answer of `go version -m`.
fn built_from(said: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut last = String::new();
    for line in said.lines() {
        let words: Vec<&str> = line.split('\t').collect();
        match words.as_slice() {
            [first] => {
                let version = first.rsplit_once(": go").map(|(_, version)| version);
                found.extend(version.map(|version| ("go".to_owned(), version.to_owned())));
            }
            // A program that is itself the module has a version; a server's project has none.
            ["", "dep" | "mod", name, version, ..] if *version != "(devel)" => {
                (*name).clone_into(&mut last);
                found.insert(last.clone(), (*version).to_owned());
            }
            // The module above is another one in truth.
            ["", "=>", name, version, ..] => {
                found.insert(last.clone(), format!("{name} {version}"));
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn go(subject: GoSubject, with: &[&str]) -> Go {
        Go {
            subject,
            server: Some(PathBuf::from("/server")),
            program: None,
            with: with.iter().map(|&word| word.to_owned()).collect(),
        }
    }

    fn lines(go: &Go, version: &str) -> Vec<String> {
        let line = |step: &Command| match step {
            Command::Argv(words) => words.join(" "),
            Command::Shell(line) => line.clone(),
        };
        let version = Version::semantic(version).unwrap();
        default_steps(go, &version).iter().map(line).collect()
    }

    #[test]
    fn a_module_is_required_and_the_server_built() {
        let module = GoSubject::Module("example.org/x".to_owned());
        assert_eq!(
            lines(&go(module, &["example.org/y@v1.0.0"]), "v1.2.3"),
            [
                "go get -- {package}@{version} example.org/y@v1.0.0",
                "go build -p {jobs} -o {out}/server -buildvcs=false -mod=mod ."
            ]
        );
    }

    #[test]
    fn a_toolchain_builds_the_server_as_it_is() {
        let build = "go build -p {jobs} -o {out}/server -buildvcs=false .";
        assert_eq!(lines(&go(GoSubject::Toolchain, &[]), "1.21.13"), [build]);
        assert_eq!(
            lines(
                &go(GoSubject::Toolchain, &["example.org/y@v1.0.0"]),
                "1.21.13"
            ),
            ["go get -- example.org/y@v1.0.0", build]
        );
        let old = "go build -p {jobs} -o {out}/server .";
        assert_eq!(lines(&go(GoSubject::Toolchain, &[]), "1.17.13"), [old]);
    }

    #[test]
    fn a_program_is_called_as_go_install_calls_it() {
        for (path, name) in [
            ("github.com/rakyll/hey", "hey"),
            ("github.com/jstemmer/go-junit-report/v2", "go-junit-report"),
            ("example.org/x/cmd/serve", "serve"),
            ("example.org/v1", "v1"),
            ("example.org/v02", "v02"),
            ("v2", "v2"),
        ] {
            assert_eq!(program_name(path), name, "{path}");
        }
    }

    fn captured(stdout: &str, stderr: &str) -> Captured {
        Captured {
            ended: Ended::Code(1),
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
        }
    }

    #[test]
    fn a_refused_fetch_becomes_the_right_gap() {
        let reading = "go: example.org/x@v9.9.9: reading https://proxy.example/x/@v/v9.9.9.info:";
        for (stderr, kind) in [
            (format!("{reading} 404 Not Found\n\tserver response: not found: unknown revision v9.9.9\n"), GapKind::NotFound),
            (format!("{reading} 403 Forbidden\n\tserver response: This module version is not available.\n"), GapKind::NotFound),
            (format!("{reading} 502 Bad Gateway\n"), GapKind::Network),
            ("go: example.org/x@v1.0.0: Get \"http://127.0.0.1:9/x\": dial tcp 127.0.0.1:9: connect: connection refused\n".to_owned(), GapKind::Network),
            ("verifying example.org/x@v1.0.0: checksum mismatch\n\tdownloaded: h1:a\n\tgo.sum: h1:b\n".to_owned(), GapKind::Checksum),
        ] {
            let gap = refused(&captured("", &stderr), "it ended with exit code 1");
            assert_eq!(gap.kind, kind, "{stderr}");
            assert!(gap.cause.starts_with("go could not fetch it: "), "{}", gap.cause);
        }
        let slow = Captured {
            ended: Ended::TimedOut,
            ..captured("", "go: downloading go1.21.13 (linux/amd64)\n")
        };
        let gap = refused(&slow, "it did not end in time");
        assert_eq!(gap.kind, GapKind::Network);
        assert_eq!(gap.cause, "go could not fetch it: it did not end in time");
    }

    #[test]
    fn a_go_that_stays_what_it_is_is_the_machines_fault() {
        let old = captured("go version go1.19.8 linux/amd64\n", "");
        assert!(switched(&old, "go1.19.8").is_ok());
        let error = switched(&old, "go1.21.13").unwrap_err();
        assert_eq!(error.kind, Kind::Machine);
        assert_eq!(error.message, "`go` cannot be told to be go1.21.13");
        assert!(switched(&old, "go1.19").is_err());
    }

    #[test]
    fn what_a_program_was_built_from_is_read() {
        let said = "/out/server: go1.26.8\n\tpath\texample.org/hello\n\tmod\texample.org/hello\t(devel)\t\n\
                    \tdep\tgithub.com/andybalholm/brotli\tv1.0.2\th1:JKnh=\n\
                    \tdep\tgithub.com/valyala/fasthttp\tv1.31.0\n\t=>\t../fork\t(devel)\t\n\
                    \tbuild\t-compiler=gc\n\tbuild\tGOOS=linux\n";
        let found: Vec<(String, String)> = built_from(said).into_iter().collect();
        let expected = [
            ("github.com/andybalholm/brotli", "v1.0.2"),
            ("github.com/valyala/fasthttp", "../fork (devel)"),
            ("go", "1.26.8"),
        ];
        assert_eq!(
            found,
            expected.map(|(name, version)| (name.to_owned(), version.to_owned()))
        );
        let installed =
            "bin/x: go1.26.8\n\tpath\texample.org/x\n\tmod\texample.org/x\tv1.0.0\th1:a=\n";
        assert_eq!(built_from(installed)["example.org/x"], "v1.0.0");
        assert!(built_from("").is_empty());
    }
}

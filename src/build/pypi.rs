//! Installing one version of a Python package into a virtual environment. Edge only by the programs that it runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::folder::cannot;
use super::{Bench, Fetched, OrStop, Workshop, log, steps};
use crate::error::{Error, Kind, Result};
use crate::matrix::{Command, Installer, Pypi};
use crate::process::{self, Captured};
use crate::source::pypi::{Interpreter, interpreter, read_interpreter};
use crate::source::{self, PATIENCE};
use crate::version::Version;

/// Returns what tells one version of a package from all others, its companions included.
pub(super) fn identity(pypi: &Pypi, version: &Version) -> Vec<String> {
    let installer = match pypi.installer {
        Installer::Pip => "pip",
        Installer::Uv => "uv",
    };
    // No companion has a blank in it.
    let with = pypi.with.join(" ");
    ["pypi", &pypi.package, &version.name, installer, &with]
        .map(str::to_owned)
        .to_vec()
}

/// Asks the interpreter and the installer for their versions, once in the life of the workshop.
pub(super) async fn toolchain(
    shop: &Workshop,
    pypi: &Pypi,
    matrix_dir: &Path,
) -> Result<Vec<String>> {
    let mut toolchain = vec![about(shop, pypi, matrix_dir).await?];
    if pypi.installer == Installer::Uv {
        let uv = source::told("uv", &["--version"], Path::new("/"));
        toolchain.push(shop.memo.once("uv".to_owned(), uv).await?);
    }
    Ok(toolchain)
}

/// Returns what the interpreter says of itself.
async fn about(shop: &Workshop, pypi: &Pypi, matrix_dir: &Path) -> Result<String> {
    let question = format!("python {} in {}", pypi.python, matrix_dir.display());
    shop.memo
        .once(question, interpreter(pypi, matrix_dir))
        .await
}

/// Makes a virtual environment and says how the version comes into it.
pub(super) async fn fetch(bench: &Bench<'_>, pypi: &Pypi) -> OrStop<Fetched> {
    let python = python_of(bench, pypi).await?;
    let venv = bench.folder.work.join("venv");
    make(bench, (pypi.installer, &python.path), &venv).await?;
    Ok(Fetched {
        binary: Some(program(&bench.folder.work)),
        steps: default_steps(pypi, bench.matrix.build.env.is_empty()),
        ..bench.nothing_fetched()
    })
}

async fn python_of(bench: &Bench<'_>, pypi: &Pypi) -> Result<Interpreter> {
    let about = about(bench.shop, pypi, &bench.matrix.dir).await?;
    read_interpreter(pypi, &about)
}

/// Returns the interpreter of the virtual environment in a work folder.
fn program(work: &Path) -> PathBuf {
    work.join("venv/bin/python")
}

/// Makes the virtual environment. No version is at fault if that fails.
async fn make(
    bench: &Bench<'_>,
    (installer, python): (Installer, &str),
    venv: &Path,
) -> Result<()> {
    let venv = venv.to_string_lossy();
    let (program, args) = match installer {
        Installer::Pip => (python, vec!["-m", "venv", &venv]),
        Installer::Uv => ("uv", vec!["venv", "--python", python, &venv]),
    };
    // Where no folder of the user's is taken for one of modules.
    let captured = source::ask(program, &args, Path::new("/"), bench.time_left()).await?;
    let path = &bench.folder.log;
    let said = format!(
        "$ {program} {}\n{}{}",
        args.join(" "),
        captured.stdout,
        captured.stderr
    );
    log::append(path, &said).map_err(|error| cannot("write", path, error))?;
    source::failure(&captured.ended).map_or(Ok(()), |how| {
        let message = format!("`{program} {}` made no virtual environment", args.join(" "));
        Err(Error::new(Kind::Machine, message)
            .because(last_words(&captured).unwrap_or(&how))
            .hint("run it by hand in an empty folder"))
    })
}

fn last_words(captured: &Captured) -> Option<&str> {
    let lines = captured.stderr.lines().chain(captured.stdout.lines());
    lines.map(str::trim).rfind(|line| !line.is_empty())
}

/// The steps of a matrix that names none: they find the virtual environment's own programs first.
///
/// The installers keep what they compiled, and know nothing of the environment in which they did: where the matrix
/// has one of its own, nothing of that is used.
fn default_steps(pypi: &Pypi, usual_environment: bool) -> Vec<Command> {
    let (install, afresh): (&[&str], &str) = match pypi.installer {
        Installer::Pip => {
            let quiet = "--disable-pip-version-check";
            (&["pip", "install", "--no-input", quiet], "--no-cache-dir")
        }
        Installer::Uv => (&["uv", "pip", "install"], "--no-cache"),
    };
    let afresh = (!usual_environment).then_some(afresh);
    let words = install.iter().copied().chain(afresh);
    let words = words
        .chain(["--", "{package}=={version}"])
        .map(str::to_owned);
    vec![Command::Argv(words.chain(pypi.with.clone()).collect())]
}

/// Returns the environment of the steps: the virtual environment is an active one.
pub(super) fn environment(work: &Path) -> Vec<(String, String)> {
    let venv = work.join("venv").to_string_lossy().into_owned();
    let path = process::base_environment()
        .remove("PATH")
        .unwrap_or_default();
    vec![
        ("PATH".to_owned(), format!("{venv}/bin:{path}")),
        ("VIRTUAL_ENV".to_owned(), venv),
    ]
}

/// Notes what is installed beside the version. What cannot be listed does not make a build that went well a failure.
pub(super) async fn finish(bench: &Bench<'_>, pypi: &Pypi, fetched: Fetched) -> Fetched {
    Fetched {
        dependencies: dependencies(bench, pypi).await.unwrap_or_default(),
        ..fetched
    }
}

/// Asks what is installed beside the version. Whoever is asked may run code of what is installed, so it is kept within
/// the bounds of a build.
async fn dependencies(bench: &Bench<'_>, pypi: &Pypi) -> Result<BTreeMap<String, String>> {
    let python = program(&bench.folder.work);
    let python = python.to_string_lossy();
    let (tool, args) = match pypi.installer {
        Installer::Pip => {
            let quiet = "--disable-pip-version-check";
            (
                &*python,
                vec!["-m", "pip", "list", quiet, "--format", "json"],
            )
        }
        Installer::Uv => (
            "uv",
            vec!["pip", "list", "--python", &python, "--format", "json"],
        ),
    };
    let args = args.into_iter().map(str::to_owned).collect();
    let spec = steps::plain_spec(bench, (tool.to_owned(), args), &bench.folder.work);
    let captured = process::capture(&spec, PATIENCE).await?;
    let mut installed = installed(&captured.stdout);
    installed.insert("python".to_owned(), python_of(bench, pypi).await?.version);
    Ok(installed)
}

/// Reads a list of installed packages. Their names are made alike, since a package may write its own in another way
/// from one version to the next.
fn installed(list: &str) -> BTreeMap<String, String> {
    #[derive(Deserialize)]
    struct Package {
        name: String,
        version: String,
    }
    let packages: Vec<Package> = serde_json::from_str(list).unwrap_or_default();
    let pairs = packages.into_iter().map(|package| {
        let name = package.name.to_lowercase().replace(['_', '.'], "-");
        (name, package.version)
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pypi(installer: Installer) -> Pypi {
        Pypi {
            package: "uvicorn[standard]".to_owned(),
            python: "python3".to_owned(),
            installer,
            with: vec!["h11<1".to_owned()],
        }
    }

    fn line(steps: &[Command]) -> String {
        match steps {
            [Command::Argv(words)] => words.join(" "),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_version_is_installed_with_its_companions() {
        assert_eq!(
            line(&default_steps(&pypi(Installer::Pip), true)),
            "pip install --no-input --disable-pip-version-check -- {package}=={version} h11<1"
        );
        assert_eq!(
            line(&default_steps(&pypi(Installer::Uv), true)),
            "uv pip install -- {package}=={version} h11<1"
        );
    }

    #[test]
    fn an_environment_of_the_matrixs_own_compiles_afresh() {
        for (installer, option) in [
            (Installer::Pip, "--no-cache-dir"),
            (Installer::Uv, "--no-cache"),
        ] {
            let step = line(&default_steps(&pypi(installer), false));
            assert!(step.split(' ').any(|word| word == option), "{step}");
        }
    }

    #[test]
    fn installer_and_companions_are_part_of_the_identity() {
        let identity = |change: &dyn Fn(&mut Pypi)| {
            let mut pypi = pypi(Installer::Pip);
            change(&mut pypi);
            identity(&pypi, &Version::listed("0.30.0"))
        };
        let same = identity(&|_| ());
        assert_eq!(
            same,
            ["pypi", "uvicorn[standard]", "0.30.0", "pip", "h11<1"]
        );
        assert_ne!(same, identity(&|pypi| pypi.installer = Installer::Uv));
        assert_ne!(same, identity(&|pypi| pypi.with.clear()));
        assert_ne!(same, identity(&|pypi| pypi.package = "uvicorn".to_owned()));
    }

    #[test]
    fn the_installed_packages_are_read_from_pip_and_uv_alike() {
        let pip = r#"[{"name": "Flask", "version": "2.0.3"}, {"name": "typing_extensions", "version": "4.16.0"}]"#;
        let uv = r#"[{"name":"flask","version":"2.0.3"},{"name":"typing-extensions","version":"4.16.0"}]"#;
        assert_eq!(installed(pip), installed(uv));
        assert_eq!(installed(pip)["typing-extensions"], "4.16.0");
        assert!(installed("WARNING: no").is_empty());
    }
}

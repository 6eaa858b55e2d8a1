//! The versions of a Python package, as pip tells them. Edge only by the programs that it runs.

use std::path::Path;

use serde::Deserialize;

use super::{Available, PATIENCE, ask, failure, first_complaint};
use crate::error::{Error, Kind, Result};
use crate::matrix::{Installer, Pypi};
use crate::process::Captured;
use crate::version::Version;

/// A version that no package has.
const NO_VERSION: &str = "9999!0";

/// What an interpreter is asked about itself. The matrix's folder, where it runs, is none of modules.
const QUESTION: &str = r#"
import sys
sys.path.pop(0)
import json, platform
def lacks(name):
    try:
        __import__(name)
    except ImportError:
        return True
names = [name for name in ("pip", "venv", "ensurepip") if lacks(name)]
pip = None if names else __import__("ensurepip").version()
about = {"path": sys.executable, "version": platform.python_version(), "build": sys.version, "pip": pip}
print(json.dumps(dict(about, lacks=names)))
"#;

/// What an interpreter says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Interpreter {
    /// Its own path, where the matrix's may be that of a script that chooses one.
    pub(crate) path: String,
    /// Its version, `3.11.7`.
    pub(crate) version: String,
    /// What of pip and virtual environments it does not have.
    lacks: Vec<String>,
}

/// Asks for the versions.
///
/// Those for other versions of Python are among them, and so is, marked, what was yanked.
pub(super) async fn available(pypi: &Pypi, dir: &Path) -> Result<Available> {
    let about = interpreter(pypi, dir).await?;
    let path = read_interpreter(pypi, &about)?.path;
    let pip = Pip {
        pypi,
        path: &path,
        dir,
    };
    let (listed, refused) = tokio::try_join!(pip.index(), pip.impossible())?;
    let mut found = Available::certain(versions(&listed, &all(&refused)));
    if !refused.contains("(from versions:") {
        let what = "pip did not say which versions were yanked, so one that is named may be missed";
        found.warnings.push(what.to_owned());
    }
    Ok(found)
}

/// Asks the matrix's interpreter about itself, in the matrix's folder, where it may be chosen by a file.
pub(crate) async fn interpreter(pypi: &Pypi, dir: &Path) -> Result<String> {
    let captured = ask(&pypi.python, &["-c", QUESTION], dir, PATIENCE).await?;
    match failure(&captured.ended) {
        None => Ok(captured.stdout),
        Some(how) => Err(unusable(pypi, &captured.stderr, &how)),
    }
}

/// Reads what an interpreter said of itself. It is an error if it cannot do what its installer needs.
pub(crate) fn read_interpreter(pypi: &Pypi, about: &str) -> Result<Interpreter> {
    let read = serde_json::from_str(about);
    let interpreter: Interpreter =
        read.map_err(|error| unusable(pypi, about, &error.to_string()))?;
    if pypi.installer == Installer::Pip && !interpreter.lacks.is_empty() {
        let message = format!("`{}` cannot install into virtual environments", pypi.python);
        return Err(Error::new(Kind::Machine, message)
            .because(format!("it has no {}", interpreter.lacks.join(", ")))
            .hint("install what it lacks (in Debian `python3-pip` and `python3-venv`), or write `installer = \"uv\"`"));
    }
    Ok(interpreter)
}

/// The error for an interpreter that does not answer as Python 3 does.
fn unusable(pypi: &Pypi, said: &str, how: &str) -> Error {
    let message = format!("`{}` is not a Python 3 that works", pypi.python);
    let last = said.lines().rfind(|line| !line.trim().is_empty());
    let error = Error::new(Kind::Machine, message).because(last.unwrap_or(how));
    error.hint("name another with `python` in `[source.pypi]`")
}

/// The pip that knows of versions: the interpreter's own, or one that uv brings.
struct Pip<'a> {
    pypi: &'a Pypi,
    path: &'a str,
    dir: &'a Path,
}

impl Pip<'_> {
    async fn ask(&self, args: &[&str]) -> Result<Captured> {
        let python = self.path;
        match self.pypi.installer {
            // Where no folder of the user's is taken for one of modules.
            Installer::Pip => {
                let args = [&["-m", "pip"], args].concat();
                ask(python, &args, Path::new("/"), PATIENCE).await
            }
            // In the matrix's folder, so that a `uv.toml` of the project counts.
            Installer::Uv => {
                let args = [&["tool", "run", "--python", python, "pip"], args].concat();
                ask("uv", &args, self.dir, PATIENCE).await
            }
        }
    }

    /// Asks for the versions that are neither yanked nor withdrawn.
    async fn index(&self) -> Result<Vec<String>> {
        let name = name(&self.pypi.package);
        let args = [
            "index",
            "versions",
            "--disable-pip-version-check",
            "--no-input",
            "--pre",
            "--ignore-requires-python",
            "--",
            name,
        ];
        let captured = self.ask(&args).await?;
        match failure(&captured.ended) {
            None => index(&captured.stdout).ok_or_else(|| refused(name, &captured, None)),
            Some(how) => Err(refused(name, &captured, Some(how))),
        }
    }

    /// Asks for a version that cannot be: pip's refusal is the only place where it tells of yanked ones.
    async fn impossible(&self) -> Result<String> {
        let requirement = format!("{}=={NO_VERSION}", name(&self.pypi.package));
        let args = [
            "download",
            "--disable-pip-version-check",
            "--no-input",
            "--no-deps",
            "--ignore-requires-python",
            "--",
            &requirement,
        ];
        Ok(self.ask(&args).await?.stderr)
    }
}

/// Returns a package's name without its extras.
fn name(package: &str) -> &str {
    package.split('[').next().unwrap_or(package)
}

/// Reads the answer of `pip index versions`, newest first; none if it is none.
fn index(stdout: &str) -> Option<Vec<String>> {
    let line = |line: &str| line.strip_prefix("Available versions: ").map(separated);
    stdout.lines().find_map(line)
}

/// Reads every version from pip's refusal of one that cannot be: those that it looked at, and those that it did not
/// for being yanked.
fn all(refusal: &str) -> Vec<String> {
    let looked_at = |line: &str| {
        let (_, list) = line.split_once("(from versions: ")?;
        Some(separated(list.strip_suffix(')')?))
    };
    let yanked = |line: &str| {
        let (_, list) = line.split_once("Ignored the following yanked versions: ")?;
        Some(separated(list))
    };
    let lines = refusal.lines().map(str::trim_end);
    lines
        .filter_map(|line| looked_at(line).or_else(|| yanked(line)))
        .flatten()
        .collect()
}

fn separated(list: &str) -> Vec<String> {
    list.split(", ")
        .map(|name| name.trim().to_owned())
        .collect()
}

/// Makes the versions of the listed ones, oldest first, and of those that exist and are not listed: they are yanked.
fn versions(listed: &[String], all: &[String]) -> Vec<Version> {
    let yanked = all
        .iter()
        .filter(|name| !listed.contains(name) && *name != "none");
    let yanked = yanked.map(|name| Version {
        withdrawn: Some("yanked".to_owned()),
        ..Version::listed(name)
    });
    listed
        .iter()
        .rev()
        .map(Version::listed)
        .chain(yanked)
        .collect()
}

/// The error for a package that pip lists no versions of.
fn refused(package: &str, captured: &Captured, how: Option<String>) -> Error {
    let error = Error::new(
        Kind::Source,
        format!("pip could not list the versions of `{package}`"),
    );
    let said = first_complaint(captured).map(str::to_owned).or(how);
    said.into_iter().fold(error, Error::because).hint(format!(
        "see what `pip index versions {package}` says; it needs pip 21.2 or newer"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Ended;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|&name| name.to_owned()).collect()
    }

    fn pypi(installer: Installer) -> Pypi {
        Pypi {
            package: "uvicorn[standard]".to_owned(),
            python: "python3".to_owned(),
            installer,
            with: Vec::new(),
        }
    }

    #[test]
    fn the_list_of_pip_23_and_26_is_read() {
        let said = "iniconfig (2.3.1)\nAvailable versions: 2.3.1, 2.3.0, 1.0.0, 0.2.dev0, 0.1\n  INSTALLED: 2.3.1\n";
        let listed = index(said).unwrap();
        assert_eq!(listed, ["2.3.1", "2.3.0", "1.0.0", "0.2.dev0", "0.1"]);
        assert_eq!(index("ERROR: unknown command\n"), None);
    }

    #[test]
    fn what_exists_and_is_not_listed_is_yanked() {
        // pip 23 counts yanked versions among those that it looked at, pip 26 tells of them on a line of their own.
        let pip_23 = "ERROR: Could not find a version that satisfies the requirement attrs==9999!0 (from versions: 20.3.0, 21.1.0, 21.2.0)\n\
                      ERROR: No matching distribution found for attrs==9999!0\n";
        let pip_26 = "ERROR: Ignored the following yanked versions: 21.1.0\n\
                      ERROR: Could not find a version that satisfies the requirement attrs==9999!0 (from versions: 20.3.0, 21.2.0)\n\
                      ERROR: No matching distribution found for attrs==9999!0\n";
        for refusal in [pip_23, pip_26] {
            let versions = versions(&names(&["21.2.0", "20.3.0"]), &all(refusal));
            let yanked = Version {
                withdrawn: Some("yanked".to_owned()),
                ..Version::listed("21.1.0")
            };
            assert_eq!(
                versions,
                [Version::listed("20.3.0"), Version::listed("21.2.0"), yanked]
            );
        }
        let nothing = "ERROR: Could not find a version that satisfies the requirement x==9999!0 (from versions: none)\n";
        assert_eq!(versions(&[], &all(nothing)), []);
    }

    #[test]
    fn extras_are_no_part_of_the_name() {
        assert_eq!(name("uvicorn[standard]"), "uvicorn");
        assert_eq!(name("flask"), "flask");
    }

    #[test]
    fn an_interpreter_without_pip_will_do_for_uv_alone() {
        let about = r#"{"path": "/usr/bin/python3", "version": "3.11.2", "build": "3.11.2 (main)", "pip": null, "lacks": ["pip", "ensurepip"]}"#;
        let read = read_interpreter(&pypi(Installer::Uv), about).unwrap();
        assert_eq!(
            (&*read.path, &*read.version),
            ("/usr/bin/python3", "3.11.2")
        );
        let error = read_interpreter(&pypi(Installer::Pip), about).unwrap_err();
        assert_eq!(error.kind, Kind::Machine);
        assert_eq!(error.causes, ["it has no pip, ensurepip"]);
        let error = read_interpreter(&pypi(Installer::Pip), "Python 2?\n").unwrap_err();
        assert_eq!(error.message, "`python3` is not a Python 3 that works");
    }

    #[test]
    fn a_package_that_pip_does_not_know_is_named_with_what_it_said() {
        let captured = Captured {
            ended: Ended::Code(1),
            stdout: String::new(),
            stderr: "WARNING: pip index is currently an experimental command.\nERROR: No matching distribution found for nosuch\n".to_owned(),
        };
        let how = Some("it ended with exit code 1".to_owned());
        let error = refused("nosuch", &captured, how);
        assert_eq!(error.message, "pip could not list the versions of `nosuch`");
        assert_eq!(
            error.causes,
            ["ERROR: No matching distribution found for nosuch"]
        );
    }
}

//! Installing one version of a crate that is itself the program. Edge.

#![expect(
    clippy::disallowed_methods,
    reason = "it looks for the programs and the crates that cargo left"
)]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::argv;
use crate::build::folder::cannot;
use crate::build::{Bench, Fetched, OrStop, dependencies, is_program, tree};
use crate::matrix::{Command, Crates};
use crate::outcome::{Gap, GapKind, Outcome};
use crate::version::Version;

/// Says how the crate is installed; cargo fetches it by itself.
pub(super) fn fetch(bench: &Bench<'_>, crates: &Crates) -> Fetched {
    Fetched {
        steps: vec![install(crates)],
        ..bench.nothing_fetched()
    }
}

/// The step of a crates matrix without a server that names none.
fn install(crates: &Crates) -> Command {
    // Without a list of what is installed: the folder holds this one version, for good.
    let mut words = vec!["cargo", "install", "--no-track", "--root", "{out}"];
    words.extend(["--version", "={version}", "-j", "{jobs}"]);
    if crates.locked {
        words.push("--locked");
    }
    for feature in &crates.features {
        words.extend(["--features", feature]);
    }
    if let Some(bin) = &crates.bin {
        words.extend(["--bin", bin]);
    }
    words.push("{package}");
    argv(&words)
}

/// Finds the program among those that were installed.
pub(super) fn binary(bench: &Bench<'_>, crates: &Crates) -> OrStop<PathBuf> {
    let folder = bench.folder.out.join("bin");
    let installed = programs(&folder).map_err(|error| cannot("list", &folder, error))?;
    match choose(crates, &installed) {
        Ok(name) => Ok(folder.join(name)),
        Err(gap) => Err(gap.with_log(&bench.folder.log).into()),
    }
}

/// Chooses the program that is asked for, or named as the crate, or the only one.
fn choose<'a>(crates: &'a Crates, installed: &'a [String]) -> Outcome<&'a String> {
    let name = crates.bin.as_ref().unwrap_or(&crates.package);
    match installed {
        [only] if crates.bin.is_none() => Ok(only),
        several if several.contains(name) => Ok(name),
        several => Err(no_binary(name, several)),
    }
}

fn no_binary(name: &str, installed: &[String]) -> Gap {
    let found = match installed {
        [] => "no program".to_owned(),
        several => format!("{}; `source.crates.bin` names one", several.join(", ")),
    };
    let cause = format!("the build ended well, but left no program `{name}`: there is {found}");
    Gap::new(GapKind::NoBinary, cause)
}

/// Lists the programs in a folder by name; nothing where there is no folder.
fn programs(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if is_program(&entry.path()) {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Returns the crates that were compiled, from the lists of source files that the compiler leaves: `cargo install` keeps
/// no lock file.
pub(super) fn dependencies(work: &Path) -> BTreeMap<String, String> {
    // What cannot be read lists nothing: a build that went well is no failure for that.
    let lists = lists(&work.join("target")).unwrap_or_default();
    dependencies::gather(lists.iter().filter_map(|list| compiled(list)))
}

/// Reads all `*.d` files below a folder.
fn lists(target: &Path) -> io::Result<Vec<String>> {
    let mut lists = Vec::new();
    let mut open = vec![target.to_owned()];
    while let Some(folder) = open.pop() {
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let (path, kind) = entry.map(|entry| (entry.path(), entry.file_type()))?;
            if kind?.is_dir() {
                open.push(path);
            } else if path.extension() == Some(OsStr::new("d")) {
                lists.extend(tree::read_left(&path));
            }
        }
    }
    Ok(lists)
}

/// Reads name and version of the crate whose source files are listed: cargo unpacks each as `registry/src/INDEX/NAME-VERSION`.
fn compiled(list: &str) -> Option<(String, String)> {
    let (_, path) = list.split_once("/registry/src/")?;
    let folder = path.split('/').nth(1)?;
    let mut dashes = folder.match_indices('-');
    // Names have dashes, and so have versions; the version begins at the first that one can begin at.
    dashes.find_map(|(at, dash)| {
        let version = &folder[at + dash.len()..];
        Version::semantic(version).map(|_| (folder[..at].to_owned(), version.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn crates(bin: Option<&str>) -> Crates {
        Crates {
            package: "static-web-server".to_owned(),
            server: None,
            bin: bin.map(str::to_owned),
            features: Vec::new(),
            locked: true,
            with: Vec::new(),
        }
    }

    fn chosen(installed: &[&str], bin: Option<&str>) -> Result<String, String> {
        let installed: Vec<String> = installed.iter().map(|&name| name.to_owned()).collect();
        match choose(&crates(bin), &installed) {
            Ok(name) => Ok(name.clone()),
            Err(gap) => Err(gap.cause),
        }
    }

    #[test]
    fn the_program_is_the_one_asked_for_or_named_as_the_crate_or_the_only_one() {
        assert_eq!(chosen(&["sws"], None).unwrap(), "sws");
        let several = ["admin", "static-web-server", "sws"];
        assert_eq!(chosen(&several, None).unwrap(), "static-web-server");
        assert_eq!(chosen(&several, Some("admin")).unwrap(), "admin");
    }

    #[test]
    fn several_programs_of_other_names_are_a_gap_that_says_which_key_decides() {
        let cause = chosen(&["admin", "sws"], None).unwrap_err();
        let end = "`static-web-server`: there is admin, sws; `source.crates.bin` names one";
        assert!(cause.ends_with(end), "{cause}");
        let cause = chosen(&["sws"], Some("gone")).unwrap_err();
        assert!(cause.contains("`gone`: there is sws"), "{cause}");
        let cause = chosen(&[], None).unwrap_err();
        assert!(cause.ends_with("there is no program"), "{cause}");
    }

    #[test]
    fn only_what_may_be_executed_is_a_program() {
        let folder = tempfile::tempdir().unwrap();
        for (name, mode) in [("sws", 0o755), ("admin", 0o755), ("readme.txt", 0o644)] {
            let path = folder.path().join(name);
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        assert_eq!(programs(folder.path()).unwrap(), ["admin", "sws"]);
        assert!(programs(&folder.path().join("none")).unwrap().is_empty());
    }

    #[test]
    fn a_crate_is_installed_as_the_matrix_says() {
        let line = |crates: &Crates| match install(crates) {
            Command::Argv(words) => words.join(" "),
            Command::Shell(line) => line,
        };
        let plain = "cargo install --no-track --root {out} --version ={version} -j {jobs}";
        assert_eq!(line(&crates(None)), format!("{plain} --locked {{package}}"));
        let chosen = Crates {
            locked: false,
            features: vec!["basic-auth".to_owned()],
            ..crates(Some("sws"))
        };
        let options = "--features basic-auth --bin sws";
        assert_eq!(line(&chosen), format!("{plain} {options} {{package}}"));
    }

    #[test]
    fn a_compiled_crate_is_known_by_the_folder_of_its_source() {
        let list = |folder: &str| {
            format!(
                "/w/target/release/deps/x-1f.d: /home/u/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/{folder}/src/lib.rs\n\n"
            )
        };
        for (folder, name, version) in [
            ("ykdep-1.0.0", "ykdep", "1.0.0"),
            ("md-5-0.10.6", "md-5", "0.10.6"),
            ("hyper-1.0.0-rc.4", "hyper", "1.0.0-rc.4"),
            (
                "zstd-sys-2.0.16+zstd.1.5.7",
                "zstd-sys",
                "2.0.16+zstd.1.5.7",
            ),
        ] {
            let (found, of) = compiled(&list(folder)).unwrap();
            assert_eq!((found.as_str(), of.as_str()), (name, version));
        }
        assert_eq!(compiled("/w/target/release/x: src/main.rs\n"), None);
    }

    #[test]
    fn crates_are_looked_for_wherever_the_compiler_left_its_lists() {
        let work = tempfile::tempdir().unwrap();
        let deps = work
            .path()
            .join("target/x86_64-unknown-linux-musl/release/deps");
        fs::create_dir_all(&deps).unwrap();
        fs::write(
            deps.join("a-1f.d"),
            "a: /c/registry/src/i/a-1.2.3/src/lib.rs\n",
        )
        .unwrap();
        fs::write(deps.join("a-1f.rlib"), "/registry/src/i/b-1.0.0/").unwrap();
        let found = dependencies(work.path());
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [("a".to_owned(), "1.2.3".to_owned())]
        );
        let empty = tempfile::tempdir().unwrap();
        assert!(dependencies(empty.path()).is_empty());
    }
}

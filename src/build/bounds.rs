//! Where a build may write. Edge.
#![expect(
    clippy::disallowed_methods,
    reason = "package managers' caches are made where they are missing"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::Bench;
use crate::process::{Confinement, find};

/// A folder that a package manager keeps among the user's own files.
struct Cache {
    /// It is made, as the tool itself would make it, where the tool is there and the folder is not.
    tool: &'static str,
    /// The variable that says where the tool's folder is.
    variable: &'static str,
    /// Where it is in the user's own folder if the variable is not set.
    default: Option<&'static str>,
    /// What of it is cache: settings, passwords and programs that others start may lie beside it.
    parts: &'static [&'static str],
}

const fn cache(
    tool: &'static str,
    variable: &'static str,
    default: Option<&'static str>,
    parts: &'static [&'static str],
) -> Cache {
    Cache {
        tool,
        variable,
        default,
        parts,
    }
}

const WHOLE: &[&str] = &[""];
const GRADLE: &[&str] = &[
    "caches",
    "daemon",
    "jdks",
    "native",
    "notifications",
    "workers",
    "wrapper",
    ".tmp",
];
const RUSTUP: &[&str] = &["toolchains", "update-hashes", "downloads", "tmp"];

const CACHES: [Cache; 14] = [
    cache("sh", "XDG_CACHE_HOME", Some(".cache"), WHOLE),
    cache("cargo", "CARGO_HOME", Some(".cargo"), &["registry", "git"]),
    cache("rustup", "RUSTUP_HOME", Some(".rustup"), RUSTUP),
    cache("npm", "npm_config_cache", Some(".npm"), WHOLE),
    cache("yarn", "YARN_GLOBAL_FOLDER", Some(".yarn/berry"), WHOLE),
    cache(
        "pnpm",
        "npm_config_store_dir",
        Some(".local/share/pnpm"),
        WHOLE,
    ),
    cache("pip", "PIP_CACHE_DIR", None, WHOLE),
    cache("uv", "UV_CACHE_DIR", None, WHOLE),
    cache(
        "uv",
        "UV_PYTHON_INSTALL_DIR",
        Some(".local/share/uv/python"),
        WHOLE,
    ),
    cache("go", "GOPATH", Some("go"), &["pkg"]),
    cache("go", "GOMODCACHE", None, WHOLE),
    cache("go", "GOCACHE", None, WHOLE),
    cache(
        "mvn",
        "MAVEN_USER_HOME",
        Some(".m2"),
        &["repository", "wrapper"],
    ),
    cache("gradle", "GRADLE_USER_HOME", Some(".gradle"), GRADLE),
];

/// What cargo locks while it changes its caches; without them two builds at once would spoil them.
const CARGO_LOCKS: [&str; 2] = [".package-cache", ".package-cache-mutate"];

/// Returns what the steps of a build may do to the rest of the machine, in this environment.
pub(super) fn confinement(bench: &Bench<'_>, env: &BTreeMap<String, String>) -> Confinement {
    // Not the folder around them: log and outcome are Harness's own.
    let own = bench.folder;
    let mut writable: Vec<PathBuf> = [&own.src, &own.work, &own.out, &own.tmp]
        .map(Clone::clone)
        .into();
    for cache in &CACHES {
        let Some(folder) = cache.folder(env) else {
            continue;
        };
        let parts: Vec<PathBuf> = cache.parts.iter().map(|part| folder.join(part)).collect();
        let path = env.get("PATH").map_or("", String::as_str);
        if find(cache.tool, path).is_some() {
            make(&parts);
        }
        writable.extend(parts);
    }
    writable.extend(cargo_locks(env));
    Confinement {
        writable,
        network: bench.matrix.build.network,
    }
}

impl Cache {
    /// Returns where the tool's folder is; none if nobody says.
    fn folder(&self, env: &BTreeMap<String, String>) -> Option<PathBuf> {
        let named = env.get(self.variable).filter(|path| !path.is_empty());
        match named {
            Some(path) => Some(PathBuf::from(path)),
            None => Some(Path::new(env.get("HOME")?).join(self.default?)),
        }
    }
}

/// Makes folders that are missing. One that cannot be made is left out, and the tool says that it cannot write there.
fn make(folders: &[PathBuf]) {
    for folder in folders {
        drop(fs::create_dir_all(folder));
    }
}

fn cargo_locks(env: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let home = CACHES
        .iter()
        .find(|cache| cache.tool == "cargo")
        .and_then(|cache| cache.folder(env))
        .filter(|home| home.is_dir());
    let locks = home
        .iter()
        .flat_map(|home| CARGO_LOCKS.map(|name| home.join(name)));
    locks
        .inspect(|lock| drop(fs::File::options().create(true).append(true).open(lock)))
        .collect()
}

/// Returns the path outside that a step was kept from writing to, as its log tells; none if there is none.
///
/// A refusal in the log is not enough: only a path counts that this user may change, but which is not among the
/// writable ones.
pub(super) fn refused(said: &str, cwd: &Path, writable: &[PathBuf]) -> Option<PathBuf> {
    const REFUSALS: [&str; 4] = ["ermission denied", "EACCES", "AccessDenied", "os error 13"];
    /// Lines before a refusal in which its path is looked for: cargo names it in the line above.
    const ABOVE: usize = 4;
    let lines: Vec<&str> = said.lines().collect();
    let refusals = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| REFUSALS.iter().any(|refusal| line.contains(refusal)));
    let mut paths = refusals.flat_map(|(at, _)| {
        let nearby = lines[at.saturating_sub(ABOVE)..=at].iter().rev();
        nearby
            .map(|line| paths(line))
            .find(|paths| !paths.is_empty())
            .unwrap_or_default()
    });
    let writable: Vec<PathBuf> = writable.iter().map(|path| real(path)).collect();
    paths.find_map(|path| {
        let path = real(&normal(&cwd.join(path)));
        let is_inside = writable.iter().any(|inside| path.starts_with(inside));
        (!is_inside && may_change(&path)).then_some(path)
    })
}

/// Returns the paths that a line speaks of, the last one first; the program that speaks is none of them.
fn paths(line: &str) -> Vec<&str> {
    let is_between = |letter: char| letter.is_whitespace() || "'\"`‘’“”()[]<>,;=".contains(letter);
    let is_path = |word: &&str| word.contains('/') && !word.contains("://");
    let mut words: Vec<&str> = line.split(is_between).filter(is_path).collect();
    let speaks = |word: &&str| word.ends_with(':') && line.starts_with(*word);
    if words.len() > 1 && words.first().is_some_and(speaks) {
        words.remove(0);
    }
    words
        .iter()
        .rev()
        .map(|word| word.trim_end_matches([':', '.']))
        .collect()
}

/// Resolves `..` by name.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => normal.push(part),
        }
    }
    normal
}

/// Resolves the links of a path, of which the end need not be there.
fn real(path: &Path) -> PathBuf {
    let resolved = path.ancestors().find_map(|existing| {
        let rest = path.strip_prefix(existing).ok()?;
        Some(existing.canonicalize().ok()?.join(rest))
    });
    resolved.unwrap_or_else(|| path.to_owned())
}

/// Returns whether this user may write to a path, or make it.
fn may_change(path: &Path) -> bool {
    let existing = path
        .ancestors()
        .find(|ancestor| fs::symlink_metadata(ancestor).is_ok());
    existing.is_some_and(|path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &Path)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(name, path)| ((*name).to_owned(), path.display().to_string()))
            .collect()
    }

    #[test]
    fn a_cache_is_where_its_variable_says_or_in_the_users_folder() {
        let home = env(&[("HOME", Path::new("/home/a"))]);
        let folders = |env: &BTreeMap<String, String>| -> Vec<PathBuf> {
            CACHES
                .iter()
                .filter_map(|cache| cache.folder(env))
                .collect()
        };
        let all = folders(&home);
        assert!(all.contains(&PathBuf::from("/home/a/.cargo")));
        assert!(all.iter().all(|folder| folder.starts_with("/home/a/")));
        let moved = env(&[
            ("CARGO_HOME", Path::new("/c")),
            ("GOCACHE", Path::new("/g")),
        ]);
        assert_eq!(
            folders(&moved),
            [PathBuf::from("/c"), PathBuf::from("/g")],
            "without a folder of the user's own there is nothing else"
        );
    }

    #[test]
    fn cargos_locks_are_made_where_cargo_has_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let home = env(&[("HOME", dir.path())]);
        assert_eq!(cargo_locks(&home), Vec::<PathBuf>::new());
        fs::create_dir(dir.path().join(".cargo")).unwrap();
        let locks = cargo_locks(&home);
        assert_eq!(locks.len(), 2);
        assert!(locks.iter().all(|lock| lock.is_file()));
    }

    #[test]
    fn a_refused_path_is_one_outside_that_could_be_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("build"), dir.path().join("outside"));
        fs::create_dir_all(inside.join("work")).unwrap();
        fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("work/link")).unwrap();
        let path = outside.join("x/y");
        let named = path.display();
        let found = |log: &str| refused(log, &inside.join("work"), std::slice::from_ref(&inside));
        for log in [
            format!("sh: 1: cannot create {named}: Permission denied\n"),
            format!("mkdir: cannot create directory ‘{named}’: Permission denied\n"),
            format!("PermissionError: [Errno 13] Permission denied: '{named}'\n"),
            format!("npm error Error: EACCES: permission denied, mkdir '{named}'\n"),
            format!(
                "failed to create directory `{named}`\n\nCaused by:\n  Permission denied (os error 13)\n"
            ),
            format!("/usr/bin/ld: cannot open output file {named}: Permission denied\n"),
            format!("open {named}: permission denied\n"),
            format!(
                "java.nio.file.AccessDeniedException: {named}\n\tat java.base/sun.nio.fs.X(X.java:90)\n"
            ),
            "touch: cannot touch '../../outside/x/y': Permission denied\n".to_owned(),
            format!("mv: cannot move '{named}' to './y': Permission denied\n"),
            "rm: cannot remove 'link/x/y': Permission denied\n".to_owned(),
        ] {
            assert_eq!(found(&log), Some(path.clone()), "{log}");
        }
        for log in [
            format!("{named}: all is well\n"),
            "sh: 1: ./configure: Permission denied\n".to_owned(),
            format!("in {named}\ncp: cannot create regular file './x': Permission denied\n"),
            format!("{named}: cannot open ./x: Permission denied\n"),
            "connect: permission denied\n".to_owned(),
        ] {
            assert_eq!(found(&log), None, "{log}");
        }
    }
}

//! Version → artifact or gap. Edge.
//!
//! Each build has a folder of its own in the cache, named by the cell and its key. What it gave is written there last of
//! all, so that a folder without an outcome is a build that was cut short, and is begun again.

#![expect(
    clippy::disallowed_methods,
    reason = "it times builds and reads the variables that templates name"
)]

pub mod axis;
pub mod cache;
pub mod diagnosis;
pub mod log;
mod archive;
mod attach;
mod bounds;
mod crates;
mod dependencies;
mod download;
mod folder;
mod git;
mod go;
mod key;
mod kind;
mod leash;
mod limits;
mod maven;
mod memo;
mod npm;
mod patch;
mod proof;
mod pypi;
mod steps;
mod tree;
mod url;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Error, Kind, Result};
use crate::journal::Built;
use crate::matrix::template::{self, Variables};
use crate::matrix::{Command, Matrix, Proof, SourceKind};
use crate::outcome::{Artifact, Class, Gap, GapKind, Outcome, Stage};
use crate::process;
use crate::version::Cell;
use axis::Programs;
use folder::Folder;
use key::Ingredients;
use leash::Leash;
use memo::Memo;

/// Axes of a cell that its build may be called by, as all sets of them are looked for.
const MOST_AXES: usize = 8;

/// Where versions are built and kept.
#[derive(Debug, Clone)]
pub struct Workshop {
    cache: PathBuf,
    jobs: usize,
    memo: Memo,
    /// The programs of axes, or why one cannot be had.
    programs: Memo<Outcome<PathBuf>>,
}

/// Why a build ended before its end: the version's fault, or the tool's.
#[derive(Debug)]
enum Stop {
    Gap(Gap),
    /// A limit of the matrix was passed; the same build may do well with another one.
    Limit(Gap),
    Error(Error),
}

/// The result of a part of a build.
type OrStop<T> = std::result::Result<T, Stop>;

impl From<Gap> for Stop {
    fn from(gap: Gap) -> Self {
        Self::Gap(gap)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl Stop {
    /// Adds where the whole log is; an error tells of the tool and not of the log.
    fn with_log(self, log: &Path) -> Self {
        match self {
            Self::Gap(gap) => Self::Gap(gap.with_log(log)),
            Self::Limit(gap) => Self::Limit(gap.with_log(log)),
            Self::Error(error) => Self::Error(error),
        }
    }
}

/// One build in progress.
struct Bench<'a> {
    shop: &'a Workshop,
    matrix: &'a Matrix,
    cell: &'a Cell,
    folder: &'a Folder,
    jobs: usize,
    /// The programs of the axes that change what is built.
    programs: Programs,
    begun: Instant,
}

/// What a build is given beside its matrix and cell.
#[derive(Clone)]
struct Job {
    /// The folder that its own folder lies in.
    builds: PathBuf,
    /// The file or folder of this machine that the version is.
    entry: Option<PathBuf>,
    /// The programs of the axes that change what is built.
    programs: Programs,
}

/// What a source gives before any step is run.
#[derive(Debug)]
struct Fetched {
    /// The version's own folder or file.
    src: PathBuf,
    /// Where the steps run, `{work}`.
    work: PathBuf,
    /// The program that comes with it, or that the steps are known to make.
    binary: Option<PathBuf>,
    /// The steps where the matrix names none.
    steps: Vec<Command>,
    /// The version of each package that was built in, by name; known only after the steps.
    dependencies: BTreeMap<String, String>,
}

impl Workshop {
    /// Makes a workshop in the cache folder (`.harness`), which is made absolute by the caller; each build may run
    /// `jobs` compilers at once.
    pub fn new(cache: impl Into<PathBuf>, jobs: usize) -> Self {
        Self {
            cache: cache.into(),
            jobs,
            memo: Memo::default(),
            programs: Memo::default(),
        }
    }

    /// Gives the artifact or the gap of a cell: from the cache, or by fetching and building.
    ///
    /// `available` tells whether the source has the version. Gaps that trying again may fill are not kept. Another
    /// build of the same cell, in this process or another, is waited for. Dropping the future ends the build.
    pub async fn prepare(&self, matrix: &Matrix, cell: &Cell, available: bool) -> Result<Built> {
        let entry = kind::entry(matrix, cell)?;
        let is_gone = matches!(matrix.source.kind, SourceKind::Path(_)) && entry.is_none();
        if !available || is_gone {
            return Ok(Built::Gap(kind::not_found(matrix, cell)));
        }
        let programs = match axis::programs(self, matrix, cell).await {
            Ok(programs) => programs,
            Err(Stop::Gap(gap) | Stop::Limit(gap)) => return Ok(Built::Gap(gap)),
            Err(Stop::Error(error)) => return Err(error),
        };
        let job = Job {
            builds: self.cache.join("builds").join(folder::safe(&matrix.name)),
            entry,
            programs: axis::of_build(matrix, &programs),
        };
        Ok(match self.made(matrix, cell, job).await? {
            Built::Gap(gap) => Built::Gap(gap),
            // Not in the folder's outcome, which cells with other programs share.
            Built::Artifact(artifact) => Built::Artifact(Artifact {
                axis_programs: programs,
                ..artifact
            }),
        })
    }

    /// Gives what a build gives: from its folder, or by building there.
    async fn made(&self, matrix: &Matrix, cell: &Cell, job: Job) -> Result<Built> {
        let builds = &job.builds;
        std::fs::create_dir_all(builds).map_err(|error| folder::cannot("make", builds, error))?;
        let ingredients = self.ingredients(matrix, cell, job.entry.as_deref()).await?;
        let key = key::key(&ingredients);
        let folder = Folder::lock(builds, &folder::name(&build_id(matrix, cell), &key)).await?;
        if let Some(built) = folder.outcome() {
            return Ok(built);
        }
        self.build_patiently(matrix, cell, job, (&folder, key))
            .await
    }

    /// Builds, and builds again where what went wrong may pass by itself: a network that was away for a moment.
    async fn build_patiently(
        &self,
        matrix: &Matrix,
        cell: &Cell,
        job: Job,
        (folder, key): (&Folder, String),
    ) -> Result<Built> {
        let retry = matrix.build.retry;
        let mut wait = retry.wait;
        for _ in 1..retry.attempts {
            let again = (folder, key.clone());
            let built = self.build(matrix, cell, job.clone(), again).await?;
            if !may_pass(&built) {
                return Ok(built);
            }
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
        let mut built = self.build(matrix, cell, job, (folder, key)).await?;
        if let Built::Gap(gap) = &mut built
            && retry.attempts > 1
        {
            gap.cause = format!("{} (tried {} times)", gap.cause, retry.attempts);
        }
        Ok(built)
    }

    /// Builds in a folder that holds nothing worth keeping.
    async fn build(
        &self,
        matrix: &Matrix,
        cell: &Cell,
        job: Job,
        (folder, key): (&Folder, String),
    ) -> Result<Built> {
        let begun = Instant::now();
        let emptied = folder.clone();
        blocking(move || emptied.begin()).await?;
        let bench = Bench {
            shop: self,
            matrix,
            cell,
            folder,
            jobs: self.jobs,
            programs: job.programs,
            begun,
        };
        let made = bench.make(job.entry).await;
        let is_over = matches!(made, Err(Stop::Limit(_)));
        let left = folder.clone();
        blocking(move || {
            left.clear_temporary()?;
            if is_over { left.clear() } else { Ok(()) }
        })
        .await?;
        let built = match made {
            Ok(made) => Built::Artifact(Artifact {
                content: bench.content(&made).await?,
                key,
                src: made.src,
                work: made.work,
                out: folder.out.clone(),
                binary: made.binary,
                seconds: begun.elapsed().as_secs_f64(),
                cached: false,
                dependencies: made.dependencies,
                axis_programs: BTreeMap::new(),
            }),
            Err(Stop::Limit(gap)) => return Ok(Built::Gap(gap)),
            Err(Stop::Gap(gap)) => Built::Gap(gap),
            Err(Stop::Error(error)) => return Err(error),
        };
        if is_lasting(&built) {
            folder.finish(&built)?;
        }
        Ok(built)
    }
}

impl Bench<'_> {
    /// Returns what a source gives that fetches nothing: empty folders.
    fn nothing_fetched(&self) -> Fetched {
        Fetched {
            src: self.folder.src.clone(),
            work: self.folder.work.clone(),
            binary: None,
            steps: Vec::new(),
            dependencies: BTreeMap::new(),
        }
    }

    /// Copies a folder of the user's into the one where the steps run.
    async fn copy(&self, from: &Path, filter: impl tree::Filter) -> Result<()> {
        let (from, work) = (from.to_owned(), self.folder.work.clone());
        blocking(move || {
            tree::copy(&from, &work, filter).map_err(|error| folder::cannot("copy", &from, error))
        })
        .await
    }

    /// Fetches the version, runs the steps and finds the program.
    async fn make(&self, entry: Option<PathBuf>) -> OrStop<Fetched> {
        let fetched = kind::fetch(self, entry).await?;
        patch::apply(self, &fetched.src).await?;
        let folders = Folders {
            src: &fetched.src,
            work: &fetched.work,
            out: &self.folder.out,
            matrix_dir: &self.matrix.dir,
        };
        let mut variables = variables(self.matrix, self.cell, folders);
        variables.set("jobs", self.jobs.to_string());
        axis::set_programs(&mut variables, &self.programs);
        let own = &self.matrix.build.steps;
        let steps = if own.is_empty() { &fetched.steps } else { own };
        let run = steps::run(self, steps, (&variables, &fetched.work)).await;
        run.map_err(|stop| git::explain(self, stop))?;
        let fetched = kind::finish(self, fetched).await?;
        let binary = self.binary(fetched.binary.clone(), (&variables, &fetched.work))?;
        if let Some(binary) = &binary {
            variables.set("binary", binary.to_string_lossy());
        }
        proof::check(self, &variables, &fetched.work).await?;
        Ok(Fetched { binary, ..fetched })
    }

    /// Returns the hash of the program where the build has made one; what an interpreter runs is not in its program, nor
    /// what a script starts.
    async fn content(&self, made: &Fetched) -> Result<Option<String>> {
        let own = |binary: &&PathBuf| {
            let whole = binary.canonicalize();
            whole.is_ok_and(|path| {
                path.starts_with(&self.folder.out) || path.starts_with(&made.work)
            })
        };
        match made
            .binary
            .as_ref()
            .filter(own)
            .filter(|binary| !is_script(binary))
        {
            Some(binary) => hash(binary, tree::everything).await.map(Some),
            None => Ok(None),
        }
    }

    /// Returns the program to start: the one the matrix names, or the one known from the source. It must be there.
    fn binary(
        &self,
        known: Option<PathBuf>,
        (variables, work): (&Variables, &Path),
    ) -> OrStop<Option<PathBuf>> {
        let path = match &self.matrix.build.binary {
            Some(named) => {
                let rendered = template::render(named, variables)
                    .map_err(|problem| wrong_template(named, &problem))?;
                Some(work.join(rendered))
            }
            None => known,
        };
        match path {
            Some(path) if !is_program(&path) => {
                let what = if path.is_file() {
                    "may not be executed"
                } else {
                    "is not there"
                };
                let cause = format!(
                    "the build ended well, but the program {} {what}",
                    path.display()
                );
                Err(Gap::new(GapKind::NoBinary, cause)
                    .with_log(&self.folder.log)
                    .into())
            }
            path => Ok(path),
        }
    }

    /// Returns how much of the build's time is left.
    fn time_left(&self) -> Duration {
        self.matrix
            .build
            .timeout
            .saturating_sub(self.begun.elapsed())
    }
}

/// Returns the log of the newest build of a cell, whatever its key was.
pub fn newest_log(cache: &Path, matrix: &str, cell: &str) -> Option<PathBuf> {
    let begins: Vec<String> = build_ids(cell).iter().map(|id| folder::safe(id)).collect();
    let entries = std::fs::read_dir(cache.join("builds").join(folder::safe(matrix))).ok()?;
    let logs = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let name = entry.file_name().into_string().ok()?;
        // After the build's name comes the key and nothing else, or it is another one's that begins alike.
        let (begin, key) = name.rsplit_once('-')?;
        let is_own = begins.iter().any(|own| own == begin);
        let log = entry.path().join("build.log");
        let written = log.metadata().ok()?.modified().ok()?;
        let is_key = key.chars().all(|digit| digit.is_ascii_hexdigit());
        (is_own && is_key).then_some((written, log))
    });
    logs.max().map(|(_, log)| log)
}

/// Returns what the build of a cell may be called: only those of its axes that change the build are in its name.
fn build_ids(cell: &str) -> Vec<String> {
    let words: Vec<&str> = cell.split(' ').collect();
    let axes = words[1..].iter().rev();
    let axes = axes.take_while(|word| word.contains('=')).count();
    let (version, axes) = words.split_at(words.len() - axes.min(MOST_AXES));
    axes.iter().fold(vec![version.join(" ")], |ids, axis| {
        let with = ids.iter().map(|id| format!("{id} {axis}"));
        ids.iter().cloned().chain(with).collect()
    })
}

/// Returns whether a build's outcome is worth keeping: an artifact, or a gap that will not go away by itself. What a
/// registry did not give today it may give tomorrow, and asking again is cheap.
fn is_lasting(built: &Built) -> bool {
    match built {
        Built::Artifact(_) => true,
        Built::Gap(gap) => gap.class != Class::Transient && gap.stage != Stage::Fetch,
    }
}

/// Returns whether what went wrong was around the version and may be over in a moment.
fn may_pass(built: &Built) -> bool {
    match built {
        Built::Artifact(_) => false,
        Built::Gap(gap) => {
            gap.class == Class::Transient
                && matches!(gap.kind, GapKind::Network | GapKind::Checksum)
        }
    }
}

/// Returns whether a path is a file that may be executed.
fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.mode() & 0o111 != 0)
}

/// Returns whether a program is a text that another one reads.
fn is_script(path: &Path) -> bool {
    let mut begin = [0; 2];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == *b"#!"
}

/// The folders that templates name.
#[derive(Clone, Copy)]
struct Folders<'a> {
    src: &'a Path,
    work: &'a Path,
    out: &'a Path,
    matrix_dir: &'a Path,
}

/// Returns the values of the template variables of a build, but for `{jobs}`.
fn variables(matrix: &Matrix, cell: &Cell, folders: Folders<'_>) -> Variables {
    let mut variables = Variables::default();
    variables.set("version", &cell.version.name);
    if let Some(package) = matrix.source.kind.package() {
        variables.set("package", package);
    }
    let version = &cell.version;
    // A checkout has a commit too, where somebody has looked.
    if version.commit.is_some() || matches!(matrix.source.kind, SourceKind::Git(_)) {
        variables.set("commit", version.commit.as_deref().unwrap_or_default());
        variables.set("tag", version.tag.as_deref().unwrap_or_default());
    }
    for (name, path) in [
        ("src", folders.src),
        ("work", folders.work),
        ("out", folders.out),
        ("matrix_dir", folders.matrix_dir),
    ] {
        variables.set(name, path.to_string_lossy());
    }
    for (name, value) in build_axes(matrix, cell) {
        variables.set(format!("axis.{name}"), value);
    }
    for name in template::used_environment(templates(matrix)) {
        if let Ok(value) = std::env::var(&name) {
            variables.set(format!("env:{name}"), value);
        }
    }
    variables
}

/// Returns what is built, without the axes that make no difference to it: their cells share one build.
fn build_id(matrix: &Matrix, cell: &Cell) -> String {
    let axes = matrix.axes.iter().filter(|axis| axis.build);
    let values = axes.filter_map(|axis| Some((&axis.name, cell.axes.get(&axis.name)?)));
    values.fold(cell.version.name.clone(), |id, (axis, value)| {
        format!("{id} {axis}={value}")
    })
}

/// Returns the values of the axes that change what is built.
fn build_axes(matrix: &Matrix, cell: &Cell) -> BTreeMap<String, String> {
    let axes = matrix.axes.iter().filter(|axis| axis.build);
    axes.filter_map(|axis| Some((axis.name.clone(), cell.axes.get(&axis.name)?.clone())))
        .collect()
}

/// Lists all templates of a build.
fn templates(matrix: &Matrix) -> Vec<&str> {
    let build = &matrix.build;
    let proof = build.proof.iter();
    let commands = build
        .steps
        .iter()
        .chain(proof.clone().map(|proof| &proof.cmd));
    let patterns = proof.filter_map(|proof| proof.pattern.as_ref());
    let rest = build.env.values().chain(&build.binary).chain(patterns);
    let commands = commands.flat_map(Command::templates);
    commands.chain(rest.map(String::as_str)).collect()
}

/// Fills the templates of a command.
fn fill(command: &Command, variables: &Variables) -> Result<Command> {
    let render = |text: &String| {
        template::render(text, variables).map_err(|problem| wrong_template(text, &problem))
    };
    Ok(match command {
        Command::Argv(argv) => Command::Argv(argv.iter().map(render).collect::<Result<_>>()?),
        Command::Shell(line) => Command::Shell(render(line)?),
    })
}

/// The error for a template that cannot be filled: a variable of the environment that is not set.
fn wrong_template(template: &str, problem: &impl Display) -> Error {
    Error::new(
        Kind::Configuration,
        format!("the template `{template}` of `[build]` cannot be filled"),
    )
    .because(problem)
}

impl Workshop {
    /// Collects what decides a build.
    async fn ingredients(
        &self,
        matrix: &Matrix,
        cell: &Cell,
        entry: Option<&Path>,
    ) -> Result<Ingredients> {
        // Their names in place of the folders, so that the key does not depend on where the cache lies.
        let folders = Folders {
            src: Path::new("{src}"),
            work: Path::new("{work}"),
            out: Path::new("{out}"),
            matrix_dir: Path::new("{matrix_dir}"),
        };
        let mut variables = variables(matrix, cell, folders);
        variables.set("jobs", "{jobs}");
        axis::set_programs(&mut variables, &axis::placeholders(matrix));
        let render = |text: &String| {
            template::render(text, &variables).map_err(|problem| wrong_template(text, &problem))
        };
        let build = &matrix.build;
        let steps = build.steps.iter().map(|step| fill(step, &variables));
        let env = build
            .env
            .iter()
            .map(|(name, value)| Ok((name.clone(), render(value)?)));
        let mut inputs = Vec::new();
        for input in build.inputs.iter().chain(&build.patches) {
            inputs.push(self.hash(input, tree::everything).await?);
        }
        Ok(Ingredients {
            source: kind::identity(self, matrix, cell, entry).await?,
            steps: steps.collect::<Result<_>>()?,
            env: env.collect::<Result<_>>()?,
            settings: process::installer_settings(),
            binary: build.binary.as_ref().map(render).transpose()?,
            proof: proof_ingredients(build.proof.as_ref(), variables.clone())?,
            network: build.network,
            axes: axis::ingredients(matrix, cell),
            inputs,
            toolchain: self.toolchain(matrix).await?,
            platform: vec![
                std::env::consts::OS.to_owned(),
                std::env::consts::ARCH.to_owned(),
            ],
        })
    }

    /// Returns what the tools that build say of their own versions: those of the source, and those that the matrix's own
    /// steps call by name. What a step calls in turn is not seen, but for the C compiler, which many do.
    async fn toolchain(&self, matrix: &Matrix) -> Result<Vec<String>> {
        let mut versions = kind::toolchain(self, matrix).await?;
        let steps = &matrix.build.steps;
        let own = steps.iter().filter_map(|step| step.templates().next());
        let own = own.filter(|word| !word.contains(['/', '{', ' ']));
        let tools: BTreeSet<&str> = own.chain((!steps.is_empty()).then_some("cc")).collect();
        for tool in tools {
            let version = async { Ok(process::version_of(tool).await.unwrap_or_default()) };
            versions.push(
                self.memo
                    .once(format!("version of {tool}"), version)
                    .await?,
            );
        }
        Ok(versions)
    }

    /// Returns the hash of what a path of the matrix holds; it is read once in the life of the workshop.
    async fn hash(&self, path: &Path, filter: impl tree::Filter) -> Result<String> {
        self.memo
            .once(format!("hash {}", path.display()), hash(path, filter))
            .await
    }
}

/// Returns what of a proof decides the outcome of a build.
fn proof_ingredients(
    proof: Option<&Proof>,
    mut variables: Variables,
) -> Result<(Vec<Command>, Vec<String>)> {
    variables.set("binary", "{binary}");
    let command = proof
        .map(|proof| fill(&proof.cmd, &variables))
        .transpose()?;
    let pattern = proof.and_then(|proof| proof.pattern.clone());
    Ok((command.into_iter().collect(), pattern.into_iter().collect()))
}

/// Returns the hash of what a path of the matrix holds.
async fn hash(path: &Path, filter: impl tree::Filter) -> Result<String> {
    let path = path.to_owned();
    blocking(move || {
        tree::hash(&path, filter).map_err(|error| {
            Error::new(
                Kind::Configuration,
                format!("{} could not be read for the build key", path.display()),
            )
            .because(error)
            .hint("check `build.inputs` and `[source]` in the matrix")
        })
    })
    .await
}

/// Does work that blocks on the disk where it holds up nobody else.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // It was cancelled since the runtime ends, and with it this future.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Does work that blocks until it is done, its time is over, or nobody waits for it any more.
async fn leashed<T: Send + 'static>(
    time: Duration,
    work: impl FnOnce(&Leash) -> T + Send + 'static,
) -> T {
    let (leash, _holder) = Leash::new(time);
    blocking(move || work(&leash)).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{Folder as Entries, List};
    use crate::version::Version;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    const MATRIX: &str = r#"
schema = 1
[source]
versions = ["v1"]
[source.list]
[axes]
body = { values = ["a", "b"] }
features = { values = ["a", "b"], build = true }
[start]
cmd = ["server"]
[build]
timeout = "1m"
"#;

    /// A matrix with nothing in it but its source.
    fn matrix(kind: SourceKind) -> Matrix {
        let mut matrix =
            crate::matrix::parse(MATRIX, Path::new("/nowhere/test.toml"), None).unwrap();
        matrix.source.kind = kind;
        matrix
    }

    fn cell(version: &str, axes: &[(&str, &str)]) -> Cell {
        let pairs = axes
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()));
        Cell {
            id: version.to_owned(),
            version: Version::listed(version),
            axes: pairs.collect(),
        }
    }

    /// A folder of versions: a program, a script that may not be executed, and a place for the cache.
    fn versions() -> (tempfile::TempDir, Matrix, Workshop) {
        let dir = tempfile::tempdir().unwrap();
        let entries = dir.path().join("versions");
        fs::create_dir(&entries).unwrap();
        fs::write(entries.join("v1"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(entries.join("v1"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(entries.join("v2.js"), "hello").unwrap();
        let workshop = Workshop::new(dir.path().join(".harness"), 1);
        (
            dir,
            matrix(SourceKind::Path(Entries {
                dir: entries,
                copied: None,
            })),
            workshop,
        )
    }

    fn artifact(built: Built) -> Artifact {
        match built {
            Built::Artifact(artifact) => artifact,
            Built::Gap(gap) => panic!("{gap:?}"),
        }
    }

    fn gap(built: Built) -> Gap {
        match built {
            Built::Artifact(artifact) => panic!("{artifact:?}"),
            Built::Gap(gap) => gap,
        }
    }

    #[tokio::test]
    async fn a_program_of_a_folder_is_its_own_artifact() {
        let (dir, matrix, workshop) = versions();
        let built = artifact(
            workshop
                .prepare(&matrix, &cell("v1", &[]), true)
                .await
                .unwrap(),
        );
        assert_eq!(built.binary, Some(dir.path().join("versions/v1")));
        assert_eq!(built.src, dir.path().join("versions/v1"));
        let script = artifact(
            workshop
                .prepare(&matrix, &cell("v2", &[]), true)
                .await
                .unwrap(),
        );
        assert_eq!(
            (script.binary, script.src),
            (None, dir.path().join("versions/v2.js"))
        );
    }

    #[tokio::test]
    async fn a_second_time_it_comes_from_the_cache_unless_its_content_changed() {
        let (dir, matrix, workshop) = versions();
        let first = artifact(
            workshop
                .prepare(&matrix, &cell("v1", &[]), true)
                .await
                .unwrap(),
        );
        let second = artifact(
            workshop
                .prepare(&matrix, &cell("v1", &[]), true)
                .await
                .unwrap(),
        );
        assert!(!first.cached && second.cached);
        assert_eq!(
            (&first.key, &first.work, first.seconds),
            (&second.key, &second.work, second.seconds)
        );
        fs::write(dir.path().join("versions/v1"), "#!/bin/dash\n").unwrap();
        let third = artifact(
            workshop
                .prepare(&matrix, &cell("v1", &[]), true)
                .await
                .unwrap(),
        );
        assert!(!third.cached && third.key != first.key);
    }

    #[tokio::test]
    async fn a_version_that_the_source_lacks_is_a_gap_without_a_folder() {
        let (dir, matrix, workshop) = versions();
        for (version, available) in [("v1", false), ("v3", true)] {
            let gap = gap(workshop
                .prepare(&matrix, &cell(version, &[]), available)
                .await
                .unwrap());
            assert_eq!((gap.kind, gap.class), (GapKind::NotFound, Class::Permanent));
            assert!(gap.cause.ends_with(&format!("has no entry {version}")));
        }
        assert!(!dir.path().join(".harness").is_dir());
    }

    #[tokio::test]
    async fn a_named_program_that_is_not_there_is_a_gap_that_is_kept() {
        let (dir, mut matrix, workshop) = versions();
        matrix.build.binary = Some("{out}/server-{version}".to_owned());
        let first = gap(workshop
            .prepare(&matrix, &cell("v1", &[]), true)
            .await
            .unwrap());
        assert_eq!(first.kind, GapKind::NoBinary);
        assert!(first.cause.contains("out/server-v1 is not there"));
        let second = gap(workshop
            .prepare(&matrix, &cell("v1", &[]), true)
            .await
            .unwrap());
        assert_eq!(first, second);
        let builds = fs::read_dir(dir.path().join(".harness/builds/test")).unwrap();
        assert_eq!(builds.count(), 2, "one folder and its lock");
    }

    #[tokio::test]
    async fn a_named_program_that_may_not_be_executed_is_a_gap() {
        let (_dir, mut matrix, workshop) = versions();
        matrix.build.binary = Some("{src}".to_owned());
        let gap = gap(workshop
            .prepare(&matrix, &cell("v2", &[]), true)
            .await
            .unwrap());
        assert!(gap.cause.ends_with("may not be executed"));
    }

    #[tokio::test]
    async fn only_what_changes_the_build_changes_its_key() {
        let mut matrix = matrix(SourceKind::List(List { command: None }));
        matrix.build.steps = vec![Command::Shell(
            "make {version} {axis.features} -C {work} -j{jobs}".to_owned(),
        )];
        let key = async |matrix: &Matrix, version: &str, axes: &[(&str, &str)]| {
            let shop = Workshop::new("/nowhere", 1);
            let made = shop.ingredients(matrix, &cell(version, axes), None).await;
            key::key(&made.unwrap())
        };
        let plain = key(&matrix, "1", &[("body", "a"), ("features", "a")]).await;
        assert_eq!(
            plain,
            key(&matrix, "1", &[("body", "b"), ("features", "a")]).await
        );
        assert_ne!(
            plain,
            key(&matrix, "1", &[("body", "a"), ("features", "b")]).await
        );
        assert_ne!(
            plain,
            key(&matrix, "2", &[("body", "a"), ("features", "a")]).await
        );
        matrix
            .build
            .env
            .insert("CFLAGS".to_owned(), "-O2".to_owned());
        assert_ne!(
            plain,
            key(&matrix, "1", &[("body", "a"), ("features", "a")]).await
        );
    }

    #[tokio::test]
    async fn values_that_do_not_change_the_build_share_one() {
        let (dir, matrix, workshop) = versions();
        let build = async |body: &str, features: &str| {
            let cell = cell("v1", &[("body", body), ("features", features)]);
            artifact(workshop.prepare(&matrix, &cell, true).await.unwrap())
        };
        let first = build("a", "a").await;
        let second = build("b", "a").await;
        assert!(second.cached && first.work == second.work);
        let third = build("b", "b").await;
        assert!(!third.cached && first.work != third.work);
        let folder = third.work.parent().unwrap().file_name().unwrap();
        assert!(folder.to_string_lossy().starts_with("v1-features-b-"));
        let cache = dir.path().join(".harness");
        log::append(&first.work.with_file_name("build.log"), "one").unwrap();
        let newest = |cell: &str| newest_log(&cache, "test", cell);
        let of_first = Some(first.work.with_file_name("build.log"));
        assert_eq!(newest("v1 body=b features=a"), of_first);
        assert_eq!(newest("v1 body=b features=b"), None);
    }

    #[test]
    fn a_build_may_be_called_by_any_of_its_cells_axes() {
        assert_eq!(build_ids("1.0.0"), ["1.0.0"]);
        assert_eq!(build_ids("a=b"), ["a=b"]);
        assert_eq!(
            build_ids("an odd=name x y=1 z=2"),
            [
                "an odd=name x",
                "an odd=name x y=1",
                "an odd=name x z=2",
                "an odd=name x y=1 z=2"
            ]
        );
    }

    #[tokio::test]
    async fn a_program_of_an_axis_is_part_of_the_build_only_where_it_changes_it() {
        let npm = |package: &str| {
            let package = package.to_owned();
            Some(crate::matrix::Provider::Npm { package })
        };
        let mut matrix = matrix(SourceKind::List(List { command: None }));
        let key = async |matrix: &Matrix| {
            let shop = Workshop::new("/nowhere", 1);
            let cell = cell("1", &[("body", "a"), ("features", "a")]);
            key::key(&shop.ingredients(matrix, &cell, None).await.unwrap())
        };
        let plain = key(&matrix).await;
        matrix.axes[0].from = npm("node");
        assert_eq!(plain, key(&matrix).await);
        matrix.axes[1].from = npm("node");
        let with_node = key(&matrix).await;
        matrix.axes[1].from = npm("bun");
        assert!(plain != with_node && with_node != key(&matrix).await);
        matrix.build.binary = Some("{axis.features.binary}".to_owned());
        key(&matrix).await;
    }

    #[tokio::test]
    async fn an_input_that_is_missing_is_an_error_of_the_matrix() {
        let (_dir, mut matrix, workshop) = versions();
        matrix.build.inputs = vec![PathBuf::from("/nowhere/patch.diff")];
        let error = workshop
            .prepare(&matrix, &cell("v1", &[]), true)
            .await
            .unwrap_err();
        assert_eq!(error.kind, Kind::Configuration);
        assert!(error.message.contains("/nowhere/patch.diff"));
    }

    #[test]
    fn a_gap_that_may_pass_is_not_kept() {
        assert!(is_lasting(&Built::Gap(Gap::new(GapKind::Failed, "x"))));
        assert!(!is_lasting(&Built::Gap(Gap::new(GapKind::Network, "x"))));
        assert!(!is_lasting(&Built::Gap(
            Gap::new(GapKind::Failed, "x").with_class(Class::Transient)
        )));
    }
}

//! `harness step`: is what is checked out like the good reference? The helper of `git bisect run`. Glue.
//!
//! git reads the codes 1 to 127 as "bad" but for 125. So nothing here ends with one of these that is not an answer about the commit.

mod references;
mod summary;

use std::path::{Path, PathBuf};

use references::References;

use super::sides::{self, journals_of, of_folder};
use super::{Loaded, compare, load, print, run as of_run};
use crate::cli::{DataFormat, Format, GapIs, RunArgs, Selected, StepArgs};
use crate::error::{Error, Kind, Result};
use crate::exit::Exit;
use crate::host;
use crate::journal::{Built, Record, Run};
use crate::matrix::{Compare, Git, GitRefs, Matrix, Metric, Select, SourceKind, Wanted};
use crate::pipeline::{self, Recorder};
use crate::progress::Progress;
use crate::report::step as text;
use crate::source::git::checkout::Checkout;
use crate::step::{self, Asked, StepRecord};
use crate::verdict::{self, Judgement};
use crate::version::{Order, Version};
use crate::workplace::{self, Workplace};

/// Sessions at most where there is a bad reference and no number is given: to leave it open costs more than to go on.
const MOST_SESSIONS: u32 = 32;

/// The verb, in the names of its journals.
const VERB: &str = "step";

pub(super) async fn run(project: Option<&Path>, arguments: &StepArgs) -> Result<Exit> {
    let begun = host::monotonic();
    let here = workplace::current_folder()?;
    let workplace = workplace_of(project, arguments, &here)?;
    let (matrix, text) = matrix_of(&workplace, arguments, &here)?;
    let checkout = checkout(&here, &matrix)?;
    if arguments.summary {
        let name = journals_of(&matrix.name, VERB);
        return summary::show(&workplace, &name, &checkout, arguments.format);
    }
    let lock = workplace.lock()?;
    workplace.empty_scratch(&lock)?;
    fail_if_told();
    let references = References::of(&checkout, arguments, matrix.sessions.design)?;
    let mut progress = Progress::new();
    let job = Job {
        workplace: &workplace,
        arguments,
        checkout: &checkout,
        references: &references,
    };
    let sides = job
        .sides((adjusted(matrix, arguments, &references)?, text))
        .await?;
    keep_out_of_git(&workplace, &checkout, &sides)?;
    let asked = job.asked(&sides);
    let mut recorder = job.measured(sides, &asked, begun, &mut progress).await?;
    progress.finish();
    let exit = job.end(&mut recorder, asked)?;
    Ok(exit)
}

/// A step that is under way.
struct Job<'a> {
    workplace: &'a Workplace,
    arguments: &'a StepArgs,
    checkout: &'a Checkout,
    references: &'a References,
}

/// Opens the project: the one that is named, that of a matrix which lies outside of the checkout, or the nearest one.
///
/// What lies outside is there whatever commit is checked out, and what Harness writes beside it is in nobody's way.
fn workplace_of(project: Option<&Path>, arguments: &StepArgs, here: &Path) -> Result<Workplace> {
    let matrix = arguments.matrix.as_deref().filter(|_| project.is_none());
    let folder = matrix.and_then(|file| here.join(file).parent()?.canonicalize().ok());
    let checkout = Checkout::around(here);
    let is_outside = |folder: &PathBuf| {
        let root = checkout.as_ref().map(|checkout| &checkout.root);
        root.is_none_or(|root| !folder.starts_with(root))
    };
    match folder.filter(is_outside) {
        Some(folder) => Workplace::around(&folder),
        None => Workplace::open(project),
    }
}

/// Reads the matrix. Where it is missing in the middle of a bisection, the commit that is checked out has none.
fn matrix_of(workplace: &Workplace, arguments: &StepArgs, here: &Path) -> Result<(Matrix, String)> {
    let file = compare::matrix_file(workplace, arguments.matrix.as_deref());
    let is_there = file.as_ref().is_ok_and(|file| file.is_file());
    let bisection = Checkout::around(here).and_then(|checkout| checkout.bisection());
    file.and_then(|file| workplace.matrix(&file)).map_err(|error| {
        if is_there || bisection.is_none() {
            return error;
        }
        error
            .because("a bisection is under way, and the commit that is checked out may not have it")
            .hint("keep the project outside of the checkout: harness step --project ../perf/harness.toml")
    })
}

/// Finds the checkout: around the current folder, or the repository that the matrix names.
fn checkout(here: &Path, matrix: &Matrix) -> Result<Checkout> {
    let of_matrix = || match &matrix.source.kind {
        SourceKind::Git(git) => Checkout::around(Path::new(&git.repository)),
        SourceKind::Crates(_)
        | SourceKind::Npm(_)
        | SourceKind::Pypi(_)
        | SourceKind::Go(_)
        | SourceKind::Maven(_)
        | SourceKind::Url(_)
        | SourceKind::Path(_)
        | SourceKind::Attach(_)
        | SourceKind::List(_) => None,
    };
    Checkout::around(here).or_else(of_matrix).ok_or_else(|| {
        Error::new(
            Kind::Source,
            format!("{} lies in no git checkout", here.display()),
        )
        .because("`step` judges what is checked out")
        .hint("run it in a checkout, as `git bisect run harness step` does")
    })
}

/// Makes of the matrix what a step needs of it.
fn adjusted(mut matrix: Matrix, arguments: &StepArgs, references: &References) -> Result<Matrix> {
    if arguments.metric == Some(Metric::Latency) && matrix.load.manner.rate.is_none() {
        let error = Error::new(Kind::Usage, "latency decides only at a given rate")
            .because("in a closed loop it is connections ÷ throughput, no second finding");
        return Err(error.hint("give a `rate` in `[load]` of the matrix"));
    }
    let main = matrix
        .metrics
        .first()
        .copied()
        .unwrap_or(Metric::Throughput);
    // One question at a time: a commit that needs more memory is not the one that is slower.
    matrix.metrics = vec![arguments.metric.unwrap_or(main)];
    // A commit is no version, so its program cannot say that it is one.
    matrix.build.proof = None;
    matrix.source.select = Select::All;
    matrix.includes.clear();
    if references.bad.is_some() {
        matrix.sessions.group = matrix.sessions.group.max(3);
        matrix.sessions.count = matrix.sessions.count.max(MOST_SESSIONS);
        matrix.verdict.confirm = false;
    }
    of_run::adjust(&mut matrix, &how(arguments));
    Ok(matrix)
}

/// Returns how it is measured, as `run` takes it.
fn how(arguments: &StepArgs) -> RunArgs {
    RunArgs {
        selected: Selected::default(),
        quick: false,
        sessions: arguments.sessions,
        // It only has to show that there is a server to race with.
        solo: Some(1),
        seed: arguments.seed,
        budget: arguments.budget,
        fresh: false,
        server_cpus: None,
        load_cpus: None,
        bisect: false,
        format: Format::Human,
    }
}

impl Job<'_> {
    /// Loads the good reference, the checkout, and the bad reference where there is one.
    async fn sides(&self, matrix: (Matrix, String)) -> Result<Vec<Loaded>> {
        let mut sides = vec![self.reference(&matrix, &self.references.good).await?];
        sides.push(self.candidate(&matrix).await?);
        if let Some(bad) = &self.references.bad {
            sides.push(self.reference(&matrix, bad).await?);
        }
        // What the matrix itself warns of is said once.
        for side in &mut sides[1..] {
            side.warnings.clear();
        }
        Ok(sides)
    }

    /// Loads a commit of the repository that is checked out.
    async fn reference(
        &self,
        (matrix, text): &(Matrix, String),
        commit: &Version,
    ) -> Result<Loaded> {
        let mut matrix = matrix.clone();
        let hash = commit.commit.as_deref().unwrap_or_default();
        let submodules = match &matrix.source.kind {
            SourceKind::Git(git) => git.submodules,
            SourceKind::Crates(_)
            | SourceKind::Npm(_)
            | SourceKind::Pypi(_)
            | SourceKind::Go(_)
            | SourceKind::Maven(_)
            | SourceKind::Url(_)
            | SourceKind::Path(_)
            | SourceKind::Attach(_)
            | SourceKind::List(_) => true,
        };
        matrix.source.kind = SourceKind::Git(Git {
            repository: self.checkout.root.to_string_lossy().into_owned(),
            refs: GitRefs::Commits(format!("{hash}..{hash}")),
            first_parent: true,
            submodules,
        });
        matrix.source.versions = Wanted::All;
        matrix.source.order = Order::Listed;
        matrix.source.compare = Compare::Previous;
        let side = self.side(matrix, text, vec![commit.name.clone()]).await;
        side.map_err(|error| {
            let root = self.checkout.root.display();
            let tag = format!("git -C {root} tag reference {hash}");
            error.hint(format!(
                "where no branch and no tag leads to the commit, make one: {tag}"
            ))
        })
    }

    /// Loads the checkout as it is, to be built in a copy.
    async fn candidate(&self, (matrix, text): &(Matrix, String)) -> Result<Loaded> {
        let root = self.checkout.root.to_string_lossy();
        let matrix = of_folder(self.workplace, matrix.clone(), &root)?;
        let mut side = self.side(matrix, text, Vec::new()).await?;
        let head = self.checkout.head()?;
        let modified = if self.checkout.is_modified() { "+" } else { "" };
        for cell in &mut side.expansion.cells {
            let axes = cell.id.strip_prefix(&cell.version.name).unwrap_or("");
            cell.id = format!("{}{modified}{axes}", head.name);
            cell.version = Version {
                // By its folder's name it is found.
                name: cell.version.name.clone(),
                ..head.clone()
            };
        }
        Ok(side)
    }

    async fn side(&self, matrix: Matrix, text: &str, what: Vec<String>) -> Result<Loaded> {
        let selected = Selected {
            what,
            only: self.arguments.only.clone(),
            ..Selected::default()
        };
        let mut side = load(self.workplace, (matrix, text.to_owned()), &selected).await?;
        sides::keep_source(&mut side);
        let cells = side.expansion.cells.len();
        if cells != 1 {
            let message = format!("the matrix has {cells} cells for one commit");
            return Err(Error::new(Kind::Usage, message)
                .because("a step answers one question")
                .hint("name one value of each axis: --only AXIS=VALUE"));
        }
        Ok(side)
    }

    /// Returns what is asked.
    fn asked(&self, sides: &[Loaded]) -> Asked {
        let hash = |version: &Version| version.commit.clone().unwrap_or_default();
        let metrics = sides.first().map(|side| &side.matrix.metrics);
        let metric = metrics.and_then(|metrics| metrics.first().copied());
        Asked {
            good: hash(&self.references.good),
            bad: self.references.bad.as_ref().map(hash),
            metric: metric.unwrap_or(Metric::Throughput),
            invert: self.arguments.invert,
            only_gaps: self.arguments.gap_is == GapIs::Bad,
        }
    }

    /// Builds all and measures until it is clear, unless something has no number.
    async fn measured(
        &self,
        sides: Vec<Loaded>,
        asked: &Asked,
        begun: std::time::Duration,
        progress: &mut Progress,
    ) -> Result<Recorder> {
        let good = self.references.good.name.clone();
        let verb = (VERB, Compare::Reference(good));
        let how = how(self.arguments);
        let (bench, mut recorder) =
            sides::built(self.workplace, sides, verb, &how, progress).await?;
        let is_gap = |built: &Built| matches!(built, Built::Gap(_));
        if recorder.run.builds.values().any(is_gap) {
            return Ok(recorder);
        }
        let budget = self.arguments.budget;
        let budget = budget.map(|time| pipeline::Budget { begun, time });
        let mut watch = |event: &pipeline::Event<'_>, run: &Run| progress.show(event, run);
        let asks = |run: &Run, judgement: &Judgement| step::wanted(run, judgement, asked);
        pipeline::measure_what(&*bench, &mut recorder, budget, &mut watch, &asks).await?;
        Ok(recorder)
    }

    /// Writes down what it came to, and says it.
    fn end(&self, recorder: &mut Recorder, asked: Asked) -> Result<Exit> {
        let judgement = verdict::conclude(&recorder.run);
        let conclusion = step::conclude(&recorder.run, &judgement, &asked);
        let exit = conclusion.answer.exit(&asked);
        let modified = self.checkout.is_modified();
        let record = step::record(&recorder.run, conclusion, asked, modified);
        recorder.record(Record::Step(Box::new(record.clone())))?;
        recorder.record(Record::Summary(of_run::summary(&judgement, exit)))?;
        self.say(&record)?;
        Ok(exit)
    }

    fn say(&self, record: &StepRecord) -> Result<()> {
        print(&match self.arguments.format {
            DataFormat::Human => text::told(record, &self.references.terms),
            DataFormat::Json => serde_json::to_string_pretty(record).unwrap_or_default(),
        })
    }
}

/// Keeps what Harness writes inside of the checkout out of git's sight, so that it stands in no commit's way.
fn keep_out_of_git(workplace: &Workplace, checkout: &Checkout, sides: &[Loaded]) -> Result<()> {
    let name = sides.first().map_or("", |side| side.matrix.name.as_str());
    let journals = workplace.journals(&journals_of(name, VERB));
    for folder in [workplace.cache(), journals] {
        workplace::make_folder(&folder)?;
        let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        let file = folder.join(".gitignore");
        if real.starts_with(&checkout.root) && !file.is_file() {
            workplace::write(&file, "*\n")?;
        }
    }
    Ok(())
}

/// Fails as a bug would, where a test asks for it: git must never take that for an answer.
fn fail_if_told() {
    #[cfg(debug_assertions)]
    assert!(
        std::env::var_os("HARNESS_TEST_PANIC").is_none(),
        "a test asked for this panic"
    );
}

//! `harness bisect`: which commit or version between two made it slower? Glue.

use std::path::PathBuf;
use std::sync::Arc;

use super::report::width;
use super::{Loaded, compare, load, print, run as of_run};
use crate::bisect::{Ending, Unresolved, Why};
use crate::cli::{BisectArgs, Format, RunArgs, Selected};
use crate::error::{Error, Kind, Result};
use crate::exit::Exit;
use crate::host;
use crate::hunt;
use crate::journal::{Header, Hunted, Record, Run, Summary};
use crate::live::Live;
use crate::matrix::{
    Compare, Design, GitRefs, Matrix, Metric, Select, SourceKind, Wanted, did_you_mean,
};
use crate::pipeline::{Budget, Recorder};
use crate::progress::Progress;
use crate::report::Hunt;
use crate::source::git;
use crate::version::{Cell, Order};
use crate::workplace::{self, Workplace};

/// Servers of a session: a candidate and both ends.
const MEMBERS: usize = 3;

/// Sessions at most, where nobody says.
const SESSIONS: usize = 150;

/// What is searched, and how.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    pub(super) good: String,
    pub(super) bad: String,
    pub(super) first_parent: bool,
    pub(super) improvement: bool,
    pub(super) metric: Option<Metric>,
    pub(super) most_sessions: Option<u32>,
    pub(super) only: Vec<String>,
    pub(super) budget: Option<Budget>,
    pub(super) how: RunArgs,
}

pub(super) async fn run(workplace: &Workplace, arguments: &BisectArgs) -> Result<Exit> {
    let begun = host::monotonic();
    let wish = wish(arguments, begun)?;
    let lock = workplace.lock()?;
    workplace.empty_scratch(&lock)?;
    let matrix = compare::matrix_file(workplace, arguments.matrix.as_deref())?;
    let matrix = workplace.matrix(&matrix)?;
    let hunt = Box::pin(search(workplace, matrix, &wish)).await?;
    print(&match arguments.format {
        Format::Human => hunt.terminal(width()),
        Format::Json => hunt.json(),
        Format::Md => hunt.markdown(),
    })?;
    Ok(exit_of(&hunt))
}

fn wish(arguments: &BisectArgs, begun: std::time::Duration) -> Result<Wish> {
    let ends = arguments.range.split_once("..");
    let ends = ends.map(|(good, bad)| (good, bad.trim_start_matches('.')));
    let Some((good, bad)) = ends.filter(|(good, bad)| !good.is_empty() && !bad.is_empty()) else {
        let message = format!("`{}` is no range", arguments.range);
        let why = "both ends are needed: one that is good, and a later one that is not";
        let error = Error::new(Kind::Usage, message).because(why);
        return Err(error.hint("harness bisect v1.4.0..v1.5.0"));
    };
    Ok(Wish {
        good: good.to_owned(),
        bad: bad.to_owned(),
        first_parent: arguments.first_parent,
        improvement: arguments.invert,
        metric: arguments.metric,
        most_sessions: arguments.sessions,
        only: arguments.only.clone(),
        budget: arguments.budget.map(|time| Budget { begun, time }),
        how: RunArgs {
            selected: Selected::default(),
            quick: arguments.quick,
            sessions: None,
            solo: None,
            seed: arguments.seed,
            budget: None,
            fresh: arguments.fresh,
            server_cpus: None,
            load_cpus: None,
            bisect: false,
            format: arguments.format,
        },
    })
}

/// Searches, writes the report beside those of runs, and says what came of it.
pub(super) async fn search(
    workplace: &Workplace,
    (matrix, text): (Matrix, String),
    wish: &Wish,
) -> Result<Hunt> {
    let mut progress = Progress::new();
    progress.doing(&format!(
        "{}: asking what lies between {} and {}",
        matrix.title, wish.good, wish.bad
    ));
    let matrix = adjusted(matrix, wish)?;
    let (loaded, parents) = candidates(workplace, (matrix, text), wish).await?;
    loaded.warn(|text| progress.say(text));
    of_run::needs(&loaded)?;
    let header = header(workplace, &loaded, (wish, parents)).await?;
    let bench = Live::new(workplace, loaded, header.cpus.clone(), &header.run)?;
    let bench = Arc::new(bench);
    let mut recorder = begun(workplace, &bench, (header, wish), &progress).await?;
    let mut watch = |event: &crate::pipeline::Event<'_>, run: &Run, odds: &crate::bisect::Odds| {
        progress.show_hunt(event, run, odds);
    };
    let ending = hunt::hunt(&bench, &mut recorder, wish.budget, &mut watch).await?;
    progress.finish();
    ended(workplace, &mut recorder, &ending)
}

/// Lays over the matrix what a search needs of it.
fn adjusted(mut matrix: Matrix, wish: &Wish) -> Result<Matrix> {
    of_run::adjust(&mut matrix, &wish.how);
    if matrix.sessions.design == Design::Solo {
        let message = format!("{} has one server up at a time", matrix.file.display());
        let why = "a search holds each candidate against the ends at the same moment";
        let error = Error::new(Kind::Usage, message).because(why);
        return Err(error.hint("`[sessions] design = \"race\"`, or \"slices\""));
    }
    if let Some(metric) = wish.metric {
        matrix.metrics = vec![metric];
    }
    matrix.metrics.truncate(1);
    if matrix.metrics == [Metric::Latency] && matrix.load.manner.rate.is_none() {
        let message = "latency is told apart from answers per second only at a given rate";
        let hint = format!("`rate` in `[load]` of {}", matrix.file.display());
        return Err(Error::new(Kind::Usage, message).hint(hint));
    }
    matrix.sessions.group = MEMBERS;
    matrix.source.select = Select::All;
    matrix.source.compare = Compare::Previous;
    matrix.includes.clear();
    Ok(matrix)
}

/// Returns what may have done it, the good end first and the bad one last, and what each grew out of.
async fn candidates(
    workplace: &Workplace,
    matrix: (Matrix, String),
    wish: &Wish,
) -> Result<(Loaded, Vec<Vec<usize>>)> {
    let (loaded, parents) = match &matrix.0.source.kind {
        SourceKind::Git(_) => commits(workplace, matrix, wish).await?,
        SourceKind::Crates(_)
        | SourceKind::Npm(_)
        | SourceKind::Pypi(_)
        | SourceKind::Go(_)
        | SourceKind::Maven(_)
        | SourceKind::Url(_)
        | SourceKind::Path(_)
        | SourceKind::Attach(_)
        | SourceKind::List(_) => {
            let loaded = versions(workplace, matrix, wish).await?;
            let parents = 0..loaded.expansion.cells.len();
            let parents = parents.map(|cell: usize| cell.checked_sub(1).into_iter().collect());
            let parents = parents.collect();
            (loaded, parents)
        }
    };
    if loaded.expansion.cells.len() < 2 {
        let message = format!("there is nothing between {} and {}", wish.good, wish.bad);
        return Err(Error::new(Kind::Usage, message).hint("name two ends of which one is later"));
    }
    Ok((loaded, parents))
}

/// Loads the commits that the bad end grew out of and the good one did not.
async fn commits(
    workplace: &Workplace,
    (mut matrix, text): (Matrix, String),
    wish: &Wish,
) -> Result<(Loaded, Vec<Vec<usize>>)> {
    let SourceKind::Git(git) = &mut matrix.source.kind else {
        return Err(Error::new(Kind::Usage, "the source is no git repository"));
    };
    let here = |end: &str| git::checked_out(git, end).unwrap_or_else(|| end.to_owned());
    let (good, bad) = (here(&wish.good), here(&wish.bad));
    git.refs = GitRefs::Commits(format!("{good}..{bad}"));
    git.first_parent = wish.first_parent;
    let git = git.clone();
    matrix.source.order = Order::Topo;
    matrix.source.versions = Wanted::All;
    // A commit is no version, so its program cannot say that it is one.
    matrix.build.proof = None;
    let selected = Selected {
        only: wish.only.clone(),
        ..Selected::default()
    };
    let loaded = one_of_each(load(workplace, (matrix, text), &selected).await?)?;
    let cells = &loaded.expansion.cells;
    let cache = workplace.cache();
    let wanted = git::commit(&git, &cache, &good).await?;
    let hashes = cells
        .iter()
        .map(|cell| cell.version.commit.as_deref().unwrap_or(""));
    let hashes: Vec<&str> = hashes.collect();
    if hashes.first() != Some(&wanted.as_str()) {
        return Err(no_ancestor(wish, cells));
    }
    let mut parents = git::parents(&git, &cache, &hashes).await?;
    if wish.first_parent {
        for own in &mut parents {
            own.truncate(1);
        }
    }
    Ok((loaded, parents))
}

fn no_ancestor(wish: &Wish, cells: &[Cell]) -> Error {
    let Wish { good, bad, .. } = wish;
    let line = if wish.first_parent {
        " by first parents"
    } else {
        ""
    };
    let message = format!("{bad} did not grow out of {good}{line}");
    let why = "a search needs a good end that the bad one has in its history";
    let error = Error::new(Kind::Usage, message).because(why);
    match cells.first() {
        Some(fork) => error.hint(format!(
            "harness bisect {}..{bad}: there the two parted, if that is good too",
            fork.version.name
        )),
        None => error,
    }
}

/// Loads the versions between the two, in the source's order.
async fn versions(
    workplace: &Workplace,
    (matrix, text): (Matrix, String),
    wish: &Wish,
) -> Result<Loaded> {
    // Names without an order have no ranges: what the matrix lists is cut.
    let what = match matrix.source.order {
        Order::Listed => Vec::new(),
        Order::Semver
        | Order::Pep440
        | Order::Maven
        | Order::Debian
        | Order::Topo
        | Order::Date => vec![format!("{}..{}", wish.good, wish.bad)],
    };
    let selected = Selected {
        what,
        only: wish.only.clone(),
        ..Selected::default()
    };
    let mut loaded = one_of_each(load(workplace, (matrix, text), &selected).await?)?;
    let names: Vec<&str> = loaded
        .expansion
        .cells
        .iter()
        .map(|cell| cell.version.name.as_str())
        .collect();
    let place = |name: &str| {
        let place = names.iter().position(|known| *known == name);
        place.ok_or_else(|| unknown(name, &names))
    };
    let (good, bad) = (place(&wish.good)?, place(&wish.bad)?);
    if good >= bad {
        let message = format!("{} does not come before {}", wish.good, wish.bad);
        let hint = format!("harness bisect {}..{}", wish.bad, wish.good);
        return Err(Error::new(Kind::Usage, message).hint(hint));
    }
    cut(&mut loaded, good, bad);
    Ok(loaded)
}

fn unknown(name: &str, names: &[&str]) -> Error {
    let message = format!("the source has no version `{name}`");
    let near = did_you_mean(name, names.iter().copied());
    let list = || "`harness list` shows those that it has".to_owned();
    Error::new(Kind::Usage, message).hint(near.unwrap_or_else(list))
}

/// Keeps the cells from one to another.
fn cut(loaded: &mut Loaded, first: usize, last: usize) {
    let expansion = &mut loaded.expansion;
    let kept = first..=last;
    expansion.cells = expansion.cells[kept.clone()].to_vec();
    expansion.layers = expansion.layers[kept.clone()].to_vec();
    loaded.variants = loaded.variants[kept.clone()].to_vec();
    expansion.missing.retain(|cell| kept.contains(cell));
    for cell in &mut expansion.missing {
        *cell -= first;
    }
    let excluded = std::mem::take(&mut expansion.excluded).into_iter();
    let excluded = excluded.filter(|(cell, _)| kept.contains(cell));
    expansion.excluded = excluded.map(|(cell, why)| (cell - first, why)).collect();
}

/// Makes sure that there is one cell of each version.
fn one_of_each(loaded: Loaded) -> Result<Loaded> {
    let cells = &loaded.expansion.cells;
    let others = cells
        .iter()
        .filter(|cell| Some(&cell.axes) != cells.first().map(|first| &first.axes));
    let Some(other) = others.into_iter().next() else {
        return Ok(loaded);
    };
    let (name, value) = other.axes.iter().next().unwrap_or((&other.id, &other.id));
    let message = "the matrix has several cells of each version";
    let error =
        Error::new(Kind::Usage, message).because("one line of them can be searched at a time");
    Err(error.hint(format!("choose by `--only {name}={value}`")))
}

async fn header(
    workplace: &Workplace,
    loaded: &Loaded,
    (wish, parents): (&Wish, Vec<Vec<usize>>),
) -> Result<Header> {
    let mut header = of_run::header(workplace, loaded, &wish.how).await?;
    // Its journals lie beside the matrix's own, so that no report takes it for a run of the matrix.
    header.matrix.name = name(&header.matrix.name);
    header.order = Order::Listed;
    header.compare = Compare::Previous;
    header.bisect = Some(Hunted {
        parents,
        improvement: wish.improvement,
        certainty: 1.0 - header.rule.alpha,
        most_sessions: wish
            .most_sessions
            .and_then(|most| usize::try_from(most).ok())
            .unwrap_or(SESSIONS),
    });
    Ok(header)
}

/// Returns what the journals and reports of a matrix's bisections are called.
pub(super) fn name(matrix: &str) -> String {
    format!("{matrix}-bisect")
}

/// Takes up the search where it was stopped, or begins one.
async fn begun(
    workplace: &Workplace,
    bench: &Arc<Live>,
    (header, wish): (Header, &Wish),
    progress: &Progress,
) -> Result<Recorder> {
    if let Some(recorder) = of_run::go_on(workplace, &header, &wish.how)? {
        let held = recorder.run.sessions.len();
        progress.say(&format!(
            "going on with {}: {held} sessions held",
            recorder.run.header.run
        ));
        if hunt::rebuilt(bench, &recorder.run).await? {
            return Ok(recorder);
        }
        progress.say("what is built differs from what was measured so far: a new search begins");
    }
    of_run::begun(workplace, header, progress)
}

/// Writes the report, then closes the journal. One whose time was up stays open: the same command goes on with it.
fn ended(workplace: &Workplace, recorder: &mut Recorder, ending: &Ending) -> Result<Hunt> {
    let told = hunt::told(&recorder.run);
    let hunt = Hunt::new(&recorder.run, ending, (&told.odds, told.metric));
    let hunt = hunt.ok_or_else(|| Error::new(Kind::Machine, "the journal is of no search"))?;
    let file = report_file(workplace, &recorder.run);
    workplace::write(&file, &hunt.markdown())?;
    let is_open = matches!(
        ending,
        Ending::Unresolved(Unresolved {
            why: Why::OutOfTime,
            ..
        })
    );
    if !is_open {
        recorder.record(Record::Summary(Summary {
            ended: host::now(),
            exit: exit_of(&hunt).code(),
            regressions: usize::from(exit_of(&hunt) == Exit::Regression),
            compared: 1,
            gaps: hunt.tried.gaps,
        }))?;
    }
    crate::progress::line(&format!("report  {}", of_run::shown(workplace, &file)));
    Ok(hunt)
}

fn report_file(workplace: &Workplace, run: &Run) -> PathBuf {
    let name = &run.header.matrix.name;
    workplace.reports().join(format!("{name}.md"))
}

/// Returns the exit code: who made it slower was found, or nobody did, or nobody knows.
fn exit_of(hunt: &Hunt) -> Exit {
    use crate::report::Outcome;
    match hunt.outcome {
        Outcome::Found | Outcome::FoundWithinAGap if hunt.improvement => Exit::Done,
        Outcome::Found | Outcome::FoundWithinAGap => Exit::Regression,
        Outcome::NoChange => Exit::Done,
        Outcome::Unresolved => Exit::Undecided,
    }
}

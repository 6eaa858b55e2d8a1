//! One file per verb, glue only. Edge: stdout is written here.
#![expect(
    clippy::disallowed_methods,
    reason = "the verbs look at files that a person names"
)]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::{Cli, Selected, Verb};
use crate::error::{Error, Kind, Result};
use crate::exit::Exit;
use crate::matrix::expand::{self, Expansion, Selection};
use crate::matrix::{Compare, Matrix, Wanted};
use crate::process::{self, Closing};
use crate::source;
use crate::workplace::Workplace;

mod ack;
mod bisect;
mod build;
mod check;
mod clean;
mod compare;
mod doctor;
mod export;
mod history;
mod import;
mod list;
mod log;
mod nightly;
mod past;
mod report;
mod run;
mod serve;
mod shell;
mod sides;
mod step;

/// Runs the verb that was asked for.
pub async fn run(cli: Cli) -> Result<Exit> {
    let workplace = Workplace::open(cli.project.as_deref());
    match cli.verb {
        Verb::Check(arguments) if arguments.print_schema.is_some() => check::schema(&arguments),
        Verb::Run(arguments) => Box::pin(run::run(&workplace?, &arguments)).await,
        Verb::Compare(arguments) => Box::pin(compare::run(&workplace?, &arguments)).await,
        Verb::Bisect(arguments) => Box::pin(bisect::run(&workplace?, &arguments)).await,
        Verb::Step(arguments) => Box::pin(step::run(cli.project.as_deref(), &arguments)).await,
        Verb::Build(arguments) => build::run(&workplace?, &arguments).await,
        Verb::List(arguments) => list::run(&workplace?, &arguments).await,
        Verb::Check(arguments) => check::run(&workplace?, &arguments).await,
        Verb::Serve(arguments) => serve::run(workplace?, &arguments).await,
        Verb::History(arguments) => history::run(&workplace?, &arguments),
        Verb::Nightly(arguments) => Box::pin(nightly::run(&workplace?, &arguments)).await,
        Verb::Report(arguments) => report::run(&workplace?, &arguments),
        Verb::Export(arguments) => export::run(&workplace?, &arguments),
        Verb::Import(arguments) => import::run(&workplace?, &arguments),
        Verb::Log(arguments) => log::run(&workplace?, &arguments),
        Verb::Ack(arguments) => ack::run(&workplace?, &arguments),
        Verb::Clean(arguments) => clean::run(&workplace?, &arguments),
        Verb::Doctor(arguments) => doctor::run(&workplace?, &arguments).await,
        Verb::Completions(arguments) => shell::completions(&arguments),
        Verb::Man(arguments) => shell::man(&arguments),
    }
}

/// The error when the program cannot even begin.
pub fn no_runtime(error: &std::io::Error) -> Error {
    Error::new(Kind::Machine, "cannot start the program's own threads").because(error)
}

/// A matrix with the cells that were asked for.
#[derive(Debug)]
pub struct Loaded {
    /// The matrix.
    pub matrix: Matrix,
    /// The text that it was made of.
    pub text: String,
    /// Its cells, and what was left out.
    pub expansion: Expansion,
    /// For each cell the matrix as it is for that cell.
    pub variants: Vec<Arc<Matrix>>,
    /// What the source had to say, what there is to say of the cells, and what of the matrix has no effect.
    pub warnings: Vec<String>,
}

impl Loaded {
    /// Says each warning.
    fn warn(&self, say: impl Fn(&str)) {
        for warning in &self.warnings {
            say(&format!("warning: {warning}"));
        }
    }
}

/// Returns the matrices that the command line means, each with its text, without asking any source yet.
fn matrices(workplace: &Workplace, selected: &Selected) -> Result<Vec<(Matrix, String)>> {
    let named: Vec<PathBuf> = selected
        .what
        .iter()
        .filter(|word| is_matrix(word))
        .map(PathBuf::from)
        .collect();
    let files = if named.is_empty() {
        workplace.default_matrices()?
    } else {
        named
    };
    let matrices: Vec<_> = files
        .iter()
        .map(|file| workplace.matrix(file))
        .collect::<Result<_>>()?;
    let mut seen = BTreeSet::new();
    for (matrix, _) in &matrices {
        // What cannot be meant by one of them is said before the first is begun.
        selection(matrix, selected)?;
        if !seen.insert(&matrix.name) {
            return Err(Error::new(
                Kind::Usage,
                format!("two matrices are called {}", matrix.name),
            )
            .because("reports and journals are named by the matrix file, without its folder")
            .hint("rename one of the files"));
        }
    }
    Ok(matrices)
}

fn is_matrix(word: &str) -> bool {
    std::path::Path::new(word)
        .extension()
        .is_some_and(|extension| extension == "toml")
}

impl Loaded {
    /// Returns the matrix and its variants, each once.
    fn matrices(&self) -> Vec<&Matrix> {
        let mut seen = BTreeSet::new();
        let layers = self.expansion.layers.iter().zip(&self.variants);
        let variants = layers.filter(|(layers, _)| !layers.is_empty() && seen.insert(*layers));
        std::iter::once(&self.matrix)
            .chain(variants.map(|(_, variant)| variant.as_ref()))
            .collect()
    }
}

/// Asks the source which versions there are and selects among them.
async fn load(
    workplace: &Workplace,
    (matrix, text): (Matrix, String),
    selected: &Selected,
) -> Result<Loaded> {
    let selection = selection(&matrix, selected)?;
    let wanted = selection.wanted.as_ref();
    let named = named(&matrix, wanted.unwrap_or(&matrix.source.versions));
    let available = source::available(&matrix, &named, &workplace.cache()).await?;
    let expansion = expand::expand(&matrix, &available.versions, &selection)?;
    let mut warnings = [available.warnings, expansion.warnings.clone()].concat();
    warnings.extend(build_warning(&matrix).await);
    Ok(Loaded {
        variants: expansion.variants(&matrix)?,
        matrix,
        text,
        expansion,
        warnings,
    })
}

/// Returns what a user should know who wants builds kept from the network.
async fn build_warning(matrix: &Matrix) -> Option<String> {
    if matrix.build.network {
        return None;
    }
    let what = match process::confinement_support().await.network {
        Closing::Whole => return None,
        Closing::Tcp => "this machine can close TCP alone to them: UDP stays open",
        Closing::Not => "this machine has no way to keep them from it",
    };
    Some(format!(
        "`[build] network = false` does not close the network to builds: {what}; `harness doctor` says why"
    ))
}

/// Returns the versions that are asked for by name, here or there: a source may have to look for them.
fn named(matrix: &Matrix, wanted: &Wanted) -> Vec<String> {
    let mut names = match wanted {
        Wanted::Names(names) => names.clone(),
        Wanted::All | Wanted::Range(_) => Vec::new(),
    };
    names.extend(
        matrix
            .includes
            .iter()
            .map(|include| include.version.clone()),
    );
    if let Compare::Reference(name) = &matrix.source.compare {
        names.push(name.clone());
    }
    names
}

/// Makes a selection of the command line, as a matrix reads it.
fn selection(matrix: &Matrix, selected: &Selected) -> Result<Selection> {
    let versions: Vec<String> = selected
        .what
        .iter()
        .filter(|word| !is_matrix(word))
        .cloned()
        .collect();
    let only = selected
        .only
        .iter()
        .map(|text| axis_value(text))
        .collect::<Result<_>>()?;
    Ok(Selection {
        wanted: if versions.is_empty() {
            None
        } else {
            Some(expand::parse_selector(&versions, matrix.source.order)?)
        },
        select: selected
            .select
            .as_deref()
            .map(expand::parse_select)
            .transpose()?,
        last: selected.last,
        limit: selected.limit,
        only,
        skip: selected.skip.clone(),
    })
}

fn axis_value(text: &str) -> Result<(String, String)> {
    text.split_once('=')
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| {
            Error::new(
                Kind::Usage,
                format!("--only {text}: not of the form AXIS=VALUE"),
            )
            .hint("--only body=buffer")
        })
}

/// Gives each cell a twin behind all of them: two launches of one artifact are two cells of a session.
fn twice(loaded: &mut Loaded) {
    let mut twins = loaded.expansion.cells.clone();
    for twin in &mut twins {
        twin.id.push_str(" again");
    }
    loaded.expansion.cells.extend(twins);
    let variants: Vec<Arc<Matrix>> = loaded.variants.clone();
    loaded.variants.extend(variants);
}

/// Writes data to stdout. A reader that has gone away is no error; a full disk is.
fn print(text: &str) -> Result<()> {
    use std::io::{ErrorKind, Write};
    let mut stdout = std::io::stdout().lock();
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    match write!(stdout, "{text}{newline}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::new(Kind::Machine, "cannot write to stdout").because(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

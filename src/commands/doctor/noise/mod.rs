//! `harness doctor --noise`: how much two launches of the same artifact differ here, and what seeing a change costs.

mod curve;
mod figures;
mod text;
mod trials;

use std::path::{Path, PathBuf};

use super::super::run::needs;
use super::super::{Loaded, load, print, twice};
use crate::cli::{DataFormat, DoctorArgs, Selected};
use crate::error::{Error, Kind, Result};
use crate::exit::Exit;
use crate::host;
use crate::known;
use crate::live::Live;
use crate::matrix::{self, Matrix};
use crate::progress::Progress;
use crate::workplace::Workplace;
use figures::Noise;
use text::text;
use trials::Trials;

/// The matrix where none is named.
const KNOWN_MATRIX: &str = include_str!("known.toml");

pub(super) async fn run(
    workplace: &Workplace,
    file: Option<&Path>,
    arguments: &DoctorArgs,
) -> Result<Exit> {
    let matrix = match file {
        Some(file) => workplace.matrix(file)?,
        None => known_matrix(workplace)?,
    };
    let lock = workplace.lock()?;
    workplace.empty_scratch(&lock)?;
    let progress = Progress::new();
    progress.doing(&format!(
        "{}: asking which versions there are",
        matrix.0.title
    ));
    let loaded = load(workplace, matrix, &Selected::default()).await?;
    loaded.warn(|text| progress.say(text));
    let noise = Box::pin(measured(workplace, loaded, (arguments.sessions, &progress))).await?;
    progress.finish();
    print(&match arguments.format {
        DataFormat::Json => serde_json::to_string_pretty(&noise).unwrap_or_default(),
        DataFormat::Human => text(&noise),
    })?;
    Ok(Exit::Done)
}

fn known_matrix(workplace: &Workplace) -> Result<(Matrix, String)> {
    let file = workplace
        .root
        .join(PathBuf::from(known::KNOWN).with_extension("toml"));
    let matrix = matrix::parse(KNOWN_MATRIX, &file, None)?;
    Ok((matrix, KNOWN_MATRIX.to_owned()))
}

/// Builds the newest version that can be built and holds sessions of two launches of it.
async fn measured(
    workplace: &Workplace,
    mut loaded: Loaded,
    (pairs, progress): (u32, &Progress),
) -> Result<Noise> {
    needs(&loaded)?;
    let (title, rule) = (loaded.matrix.title.clone(), loaded.matrix.verdict);
    let sessions = loaded.matrix.sessions;
    let cpus = host::cpu_plan(loaded.matrix.start.cpus.clone(), None)?;
    let names: Vec<String> = loaded
        .expansion
        .cells
        .iter()
        .map(|cell| cell.id.clone())
        .collect();
    let versions = names.len();
    twice(&mut loaded);
    let run = format!("noise-{}", host::now().strftime("%Y%m%dT%H%M%SZ"));
    let bench = Live::new(workplace, loaded, cpus, &run)?;
    let mut trials = Trials::new(&bench, names, progress).await?;
    trials.hold(pairs).await?;
    let names = (title, trials.version());
    Noise::new(names, &trials.differences(), &rule, (&sessions, versions)).ok_or_else(|| {
        Error::new(
            Kind::Machine,
            "too few launches could be measured to tell the noise",
        )
        .because(format!(
            "see the servers' logs in {}",
            workplace.cache().join("logs").join(&run).display()
        ))
        .hint("harness run --quick shows whether the matrix can be measured at all")
    })
}

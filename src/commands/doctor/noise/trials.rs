//! Pairs of launches of one artifact in each design, held as a run holds its sessions.

use std::collections::BTreeMap;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::figures::Pairs;
use crate::error::{Error, Kind, Result};
use crate::host;
use crate::journal::{Built, Launched, Purpose, SessionRecord};
use crate::live::Live;
use crate::matrix::Design;
use crate::pipeline::Bench;
use crate::plan::SessionPlan;
use crate::progress::Progress;

/// The designs, which take turns in an order that is random in each round.
const DESIGNS: [Design; 3] = [Design::Race, Design::Slices, Design::Solo];

/// Sessions of two launches of one artifact.
pub(super) struct Trials<'a> {
    bench: &'a Live,
    progress: &'a Progress,
    names: Vec<String>,
    /// The version that is raced against itself.
    cell: usize,
    builds: BTreeMap<usize, Built>,
    held: BTreeMap<usize, Pairs>,
    sessions: u32,
    random: Pcg64,
}

impl<'a> Trials<'a> {
    /// Builds the newest version that can be built; behind the named cells the bench has a twin of each.
    pub(super) async fn new(
        bench: &'a Live,
        names: Vec<String>,
        progress: &'a Progress,
    ) -> Result<Self> {
        for cell in (0..names.len()).rev() {
            progress.doing(&format!("building {}", names[cell]));
            match bench.prepare(cell).await? {
                Built::Gap(gap) => {
                    progress.say(&format!("gap     {}  {}", names[cell], gap.in_one_line()));
                }
                built @ Built::Artifact(_) => {
                    let twin = cell + names.len();
                    return Ok(Self {
                        bench,
                        progress,
                        builds: BTreeMap::from([(cell, built.clone()), (twin, built)]),
                        held: BTreeMap::new(),
                        sessions: 0,
                        random: Pcg64::seed_from_u64(host::fresh_seed()),
                        cell,
                        names,
                    });
                }
            }
        }
        Err(
            Error::new(Kind::Configuration, "no version of the matrix can be built")
                .hint("harness build says why; harness doctor --noise without a matrix needs none"),
        )
    }

    /// Returns the version's name.
    pub(super) fn version(&self) -> String {
        self.names[self.cell].clone()
    }

    /// Returns what was seen in each design.
    pub(super) fn differences(&self) -> Vec<Pairs> {
        self.held.values().cloned().collect()
    }

    /// Holds so many pairs of each design.
    pub(super) async fn hold(&mut self, pairs: u32) -> Result<()> {
        let begun = host::monotonic();
        for round in 0..pairs {
            let mut designs = [0, 1, 2];
            designs.shuffle(&mut self.random);
            for place in designs {
                self.pair(place).await?;
            }
            let left = host::since(begun) / (round + 1) * (pairs - round - 1);
            let (seconds, done) = (left.as_secs(), round + 1);
            self.progress.doing(&format!(
                "round {done} of {pairs}, about {}:{:02} min left",
                seconds / 60,
                seconds % 60
            ));
        }
        Ok(())
    }

    /// Holds one pair of launches in a design.
    async fn pair(&mut self, place: usize) -> Result<()> {
        let design = DESIGNS[place];
        let mut cells = [self.cell, self.cell + self.names.len()];
        cells.shuffle(&mut self.random);
        let sessions: Vec<Vec<usize>> = match design {
            Design::Race | Design::Slices => vec![cells.to_vec()],
            Design::Solo => cells.iter().map(|cell| vec![*cell]).collect(),
        };
        let (mut rates, mut seconds) = (BTreeMap::new(), 0.0);
        for cells in sessions {
            let record = self.session(design, cells).await?;
            seconds += record.seconds;
            rates.extend(self.rates(&record));
        }
        let pairs = self.held.entry(place).or_insert_with(|| Pairs::of(design));
        pairs.add(&rates.into_values().collect::<Vec<_>>(), seconds);
        Ok(())
    }

    async fn session(&mut self, design: Design, cells: Vec<usize>) -> Result<SessionRecord> {
        let plan = SessionPlan {
            purpose: Purpose::Measure,
            design,
            cells,
            seed: self.random.random(),
        };
        let index = self.sessions;
        self.sessions += 1;
        self.bench.session(&plan, index, &self.builds).await
    }

    /// Returns the answers per second of each launch that counts.
    fn rates(&self, record: &SessionRecord) -> Vec<(usize, f64)> {
        let mut rates = Vec::new();
        for launch in &record.launches {
            match &launch.outcome {
                Launched::Sample(sample) => {
                    rates.push((launch.cell, sample.load.fetches_per_second()));
                }
                Launched::Gap(gap) => self.progress.say(&format!("failed  {}", gap.in_one_line())),
            }
        }
        rates
    }
}

//! Counts what was concluded of the pairs of `benches/real.sh`: `cargo bench --bench real`.
//!
//! It condenses the journals below `target/real` to `tests/data/real.csv`, a line for each launch, which the tests judge
//! again, and prints the table of `docs/method.md`.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "it reads journals, writes a table, and prints what it counted"
)]

#[path = "../tests/real/count.rs"]
mod count;
#[path = "../tests/real/sessions.rs"]
mod sessions;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use harness::journal::{self, Run};

const JOURNALS: &str = "target/real";
const TABLE: &str = "tests/data/real.csv";
const HEADER: &str = "tests/data/real-header.json";

fn main() -> Result<()> {
    let runs = runs()?;
    let mut table = format!("{}\n", sessions::HEAD);
    for (name, run) in &runs {
        table.push_str(&sessions::written(name, run));
    }
    let first = runs
        .values()
        .next()
        .context("benches/real.sh has not run")?;
    let mut header = first.header.clone();
    header.matrix.file = PathBuf::from("benches/real/compiled.toml");
    std::fs::write(HEADER, serde_json::to_string(&header)? + "\n")?;
    std::fs::write(TABLE, &table)?;
    // What is counted is what the table holds.
    println!(
        "{}",
        count::table(&count::count(&sessions::runs(&table, &header)))
    );
    Ok(())
}

/// Reads the finished runs below `target/real/SERVER/CONDITION/SEED`.
fn runs() -> Result<BTreeMap<sessions::Name, Run>> {
    let mut runs = BTreeMap::new();
    for server in ["compiled", "node"] {
        for condition in ["idle", "loaded"] {
            let folder = Path::new(JOURNALS).join(server).join(condition);
            for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
                let path = entry?.path();
                let seed = path.file_name().and_then(|name| name.to_str());
                let seed = seed
                    .and_then(|seed| seed.parse().ok())
                    .context("a folder is a seed")?;
                if path.join("done").exists() {
                    let name = (server.to_owned(), condition.to_owned(), seed);
                    let journals = journal::list(&path.join("reports/data").join(server));
                    let newest = journals.first().context("a finished run has a journal")?;
                    runs.insert(name, journal::read(newest)?);
                }
            }
        }
    }
    Ok(runs)
}

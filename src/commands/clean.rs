//! `harness clean`: bound the cache by size and age.

use std::time::Duration;

use super::print;
use crate::build::cache;
use crate::cli::CleanArgs;
use crate::error::Result;
use crate::exit::Exit;
use crate::workplace::Workplace;

pub(super) fn run(workplace: &Workplace, arguments: &CleanArgs) -> Result<Exit> {
    // What a run measures is in use, though nobody builds it any more.
    let _lock = if arguments.dry_run {
        None
    } else {
        Some(workplace.lock()?)
    };
    let units = cache::units(&workplace.cache());
    let days = Duration::from_hours(24) * arguments.unused_days;
    let (age, keep) = if arguments.all {
        (Duration::ZERO, 0)
    } else {
        (days, arguments.keep)
    };
    let mut lines = Vec::new();
    let mut freed = 0;
    for unit in cache::choose(&units, age, keep) {
        let name = unit
            .path
            .strip_prefix(workplace.cache())
            .unwrap_or(&unit.path);
        let gone = arguments.dry_run || cache::remove(unit)?;
        freed += if gone { unit.bytes } else { 0 };
        let what = match (arguments.dry_run, gone) {
            (true, _) => "would delete",
            (false, true) => "deleted",
            (false, false) => "in use",
        };
        lines.push(format!(
            "{what}  {}  {}",
            name.display(),
            mebibytes(unit.bytes)
        ));
    }
    let all: u64 = units.iter().map(|unit| unit.bytes).sum();
    let left = if arguments.dry_run { all } else { all - freed };
    lines.push(format!(
        "{} freed, {} left",
        mebibytes(freed),
        mebibytes(left)
    ));
    print(&lines.join("\n"))?;
    Ok(Exit::Done)
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

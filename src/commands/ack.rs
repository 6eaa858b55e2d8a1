//! `harness ack`: accept a known gap or regression, so that it is no news.

use super::past::{read_accepted, write_accepted};
use super::{print, report};
use crate::cli::AckArgs;
use crate::error::{Error, Kind, Result};
use crate::exit::Exit;
use crate::journal::{self, Run};
use crate::report::{Accepted, Acknowledgement};
use crate::verdict::state::{State, state};
use crate::verdict::{Comparison, Verdict, judge};
use crate::workplace::Workplace;

pub(super) fn run(workplace: &Workplace, arguments: &AckArgs) -> Result<Exit> {
    let mut accepted = read_accepted(workplace)?;
    if arguments.cells.is_empty() {
        print(&listed(&accepted))?;
        return Ok(Exit::Done);
    }
    let (matrix, name) = report::matrix_of(workplace, arguments.matrix.as_deref())?;
    let before = accepted.len();
    accepted.retain(|known| known.matrix != name || !arguments.cells.contains(&known.cell));
    if arguments.remove {
        if accepted.len() == before {
            let message = format!("no gap of {} is acknowledged", arguments.cells.join(", "));
            return Err(Error::new(Kind::Usage, message).hint("`harness ack` lists those that are"));
        }
    } else {
        let run = journal::read(&report::journal_of(workplace, Some(&matrix))?)?;
        for cell in &arguments.cells {
            accepted.push(accept(&run, cell, &arguments.reason)?);
        }
    }
    write_accepted(workplace, &accepted)?;
    Ok(Exit::Done)
}

/// Accepts the gap that a cell was in the newest run, or that it was worse than the one before it.
fn accept(run: &Run, cell: &str, reason: &str) -> Result<Acknowledgement> {
    let cells = &run.header.cells;
    let Some(index) = cells.iter().position(|known| known.id == cell) else {
        return Err(super::log::unknown(run, cell, "ack"));
    };
    let what = match state(run, index) {
        State::Gap(gap) => Accepted::Gap {
            stage: gap.stage,
            kind: gap.kind,
        },
        State::Measured | State::Pending => regression(run, index).ok_or_else(|| {
            let message = format!("{cell} is no gap and no regression in {}", run.header.run);
            Error::new(Kind::Usage, message)
                .because("only what is wrong can be acknowledged")
                .hint("`harness report` shows what is")
        })?,
    };
    Ok(Acknowledgement {
        matrix: run.header.matrix.name.clone(),
        cell: cell.to_owned(),
        what,
        reason: reason.to_owned(),
    })
}

/// Returns the first regression whose candidate a cell is.
fn regression(run: &Run, cell: usize) -> Option<Accepted> {
    let judgement = judge(run);
    let is_it =
        |one: &&Comparison| one.pair.candidate == cell && one.verdict == Verdict::Regression;
    let main = judgement.comparisons.iter().find(is_it);
    let found = main.or_else(|| judgement.others.iter().find(is_it))?;
    Some(Accepted::Regression {
        baseline: run.header.cells[found.pair.baseline].id.clone(),
        metric: main.is_none().then_some(found.metric),
    })
}

fn listed(accepted: &[Acknowledgement]) -> String {
    let lines = accepted.iter().map(|known| {
        let Acknowledgement {
            matrix,
            cell,
            what,
            reason,
        } = known;
        let what = match what {
            Accepted::Gap { stage, kind } => format!("{stage} {kind}"),
            Accepted::Regression { baseline, .. } => format!("worse than {baseline}"),
        };
        format!("{matrix}  {cell}  {what}  {reason}")
    });
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return "no gap is acknowledged".to_owned();
    }
    lines.join("\n")
}

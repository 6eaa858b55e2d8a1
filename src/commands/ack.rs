//! `harness ack`: accept a known gap, so that it is no news.

use super::past::{read_accepted, write_accepted};
use super::{print, report};
use crate::cli::AckArgs;
use crate::error::{Error, Kind, Result};
use crate::exit::Exit;
use crate::journal::{self, Run};
use crate::report::Acknowledgement;
use crate::verdict::state::{State, state};
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

/// Accepts the gap that a cell was in the newest run.
fn accept(run: &Run, cell: &str, reason: &str) -> Result<Acknowledgement> {
    let cells = &run.header.cells;
    let Some(index) = cells.iter().position(|known| known.id == cell) else {
        return Err(super::log::unknown(run, cell, "ack"));
    };
    match state(run, index) {
        State::Gap(gap) => Ok(Acknowledgement {
            matrix: run.header.matrix.name.clone(),
            cell: cell.to_owned(),
            stage: gap.stage,
            kind: gap.kind,
            reason: reason.to_owned(),
        }),
        State::Measured | State::Pending => {
            let message = format!("{cell} is no gap in {}", run.header.run);
            Err(Error::new(Kind::Usage, message)
                .because("only a gap can be acknowledged")
                .hint("`harness list` shows the state of each cell"))
        }
    }
}

fn listed(accepted: &[Acknowledgement]) -> String {
    let lines = accepted.iter().map(|known| {
        let Acknowledgement {
            matrix,
            cell,
            stage,
            kind,
            reason,
        } = known;
        format!("{matrix}  {cell}  {stage} {kind}  {reason}")
    });
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return "no gap is acknowledged".to_owned();
    }
    lines.join("\n")
}

//! A run made by hand, with one of everything that is exported.

use crate::journal::{Built, Purpose, Run};
use crate::outcome::{Gap, GapKind};
use crate::report::{CellState, Past, Report};
use crate::verdict::fixture::{NOISE, measure, run};
use crate::verdict::judge;

/// What a version may be called, as proptest makes it.
pub(super) const NASTY: &str = "[ -~\\n\\r\\t\\x00\\x1b\\x7f\u{85}é\u{2028}\u{fffe}😀]{1,16}";

/// Makes a run in which 1.0.0 has a number, 1.1.0 is a gap, the next is slower and the last has not been come to. The
/// matrix, its title, the slower version and what is said of the gap are called what is given.
pub(super) fn story(name: &str) -> (Run, Report) {
    let mut run = run(&["1.0.0", "1.1.0", "1.2.0", "1.3.0"]);
    let gap = Gap::new(GapKind::Failed, name).with_errors(vec![name.to_owned()]);
    run.builds.insert(1, Built::Gap(gap));
    let rates = [(0, 8000.0), (2, 7000.0)];
    measure(&mut run, Purpose::Measure, &rates, &NOISE);
    measure(&mut run, Purpose::Confirm, &rates, &NOISE);
    let header = &mut run.header;
    let cell = &mut header.cells[2];
    for text in [
        &mut header.matrix.name,
        &mut header.matrix.title,
        &mut cell.id,
        &mut cell.version.name,
    ] {
        name.clone_into(text);
    }
    let report = Report::new(&run, &judge(&run), &Past::default());
    (run, report)
}

/// Makes a report one of loads whose program told no latency, and of servers that ran already.
pub(super) fn forget(report: &mut Report) {
    for cell in &mut report.cells {
        if let CellState::Measured {
            figures: Some(figures),
            ..
        } = &mut cell.state
        {
            figures.latency_p99_ms = 0.0;
            figures.startup_ms = Some(0.0);
        }
    }
}

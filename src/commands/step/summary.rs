//! `harness step --summary`: the steps of the last bisection, beside git's own marks. Glue.

use super::references::terms;
use crate::cli::DataFormat;
use crate::commands::print;
use crate::commands::report::width;
use crate::error::{Error, Kind, Result};
use crate::exit::Exit;
use crate::journal;
use crate::report::step as text;
use crate::source::git::checkout::Checkout;
use crate::workplace::Workplace;

pub(super) fn show(
    workplace: &Workplace,
    journals: &str,
    checkout: &Checkout,
    format: DataFormat,
) -> Result<Exit> {
    let folder = workplace.journals(journals);
    let mut runs: Vec<_> = journal::list(&folder)
        .iter()
        .filter_map(|path| journal::read(path).ok())
        .collect();
    runs.reverse();
    let bisection = checkout.bisection();
    let rows = text::rows(&runs, bisection.as_ref());
    if rows.is_empty() {
        return Err(Error::new(Kind::Source, "no step was held yet")
            .because(format!("there is no journal in {}", folder.display()))
            .hint("git bisect run harness step; the same --project and --matrix show its steps"));
    }
    print(&match format {
        DataFormat::Human => text::table(&rows, &terms(bisection.as_ref()), width()),
        DataFormat::Json => serde_json::to_string_pretty(&rows).unwrap_or_default(),
    })?;
    Ok(Exit::Done)
}

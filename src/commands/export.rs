//! `harness export FORMAT`: a run as another tool reads it.

use super::past::Known;
use super::print;
use super::report::journal_of;
use crate::cli::{ExportArgs, ExportFormat};
use crate::error::Result;
use crate::exit::Exit;
use crate::export::{
    annotations, bencher, benchstat, csv, github_action_benchmark, junit, openmetrics, otava,
};
use crate::journal::{self, Run};
use crate::report::Report;
use crate::verdict::judge;
use crate::workplace::{self, Workplace};

pub(super) fn run(workplace: &Workplace, arguments: &ExportArgs) -> Result<Exit> {
    let run = journal::read(&journal_of(workplace, arguments.of.as_deref())?)?;
    let known = Known::before(workplace, &run)?;
    let report = Report::new(&run, &judge(&run), &known.past());
    let text = rendered(&run, &report, arguments.format);
    match &arguments.output {
        Some(file) => workplace::write(file, &text)?,
        None => print(&text)?,
    }
    // A regression has its code where it is found and told; here the question is whether the file is there.
    Ok(Exit::Done)
}

fn rendered(run: &Run, report: &Report, format: ExportFormat) -> String {
    match format {
        ExportFormat::Csv => csv::versions(run, report),
        ExportFormat::CsvSteps => csv::steps(run, report),
        ExportFormat::Junit => junit::render(run, report),
        ExportFormat::GithubAnnotations => annotations::render(run, report),
        ExportFormat::GithubActionBenchmark => github_action_benchmark::render(run, report),
        ExportFormat::Bencher => bencher::render(run, report),
        ExportFormat::Benchstat => benchstat::render(run, report),
        ExportFormat::Openmetrics => openmetrics::render(run, report),
        ExportFormat::Otava => otava::render(run, report),
    }
}

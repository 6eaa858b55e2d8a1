//! What is said of a version that became worse by steps too small to be flagged.

use super::words::{change_percent, is_better_smaller};
use crate::journal::Run;
use crate::verdict::{Boil, Judgement, Metric, boils};

/// Returns a sentence for each line of versions that came down so.
pub(crate) fn sentences(run: &Run, judgement: &Judgement) -> Vec<String> {
    let found = boils(&judgement.comparisons, &run.header.rule);
    found.iter().map(|boil| sentence(run, boil)).collect()
}

fn sentence(run: &Run, boil: &Boil) -> String {
    let name = |cell: usize| &run.header.cells[cell].id;
    let best = if boil.since_flag {
        "the best since the last flagged step"
    } else {
        "the best before it"
    };
    let (least, most) = (boil.interval.1, boil.interval.0);
    let percent = |effect| {
        let change = change_percent(boil.metric, effect);
        if is_better_smaller(boil.metric) {
            change
        } else {
            -change
        }
    };
    format!(
        "{} is {:.1} % ({:.1} to {:.1} %) {} than {}, {best}, though no single step between them is flagged.",
        name(boil.candidate),
        percent(boil.effect),
        percent(least),
        percent(most),
        worse(boil.metric),
        name(boil.best),
    )
}

fn worse(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput | Metric::CpuPerAnswer => "slower",
        Metric::Memory | Metric::Startup | Metric::Latency => "worse",
    }
}

#[cfg(test)]
mod tests {
    use crate::journal::Purpose;
    use crate::report::{Past, Report};
    use crate::verdict::fixture::{NOISE, measure, run};
    use crate::verdict::judge;

    #[test]
    fn a_report_tells_what_came_down_in_small_steps() {
        let mut run = run(&["1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0"]);
        let rates = [7960.0, 8000.0, 7936.0, 7872.0, 7808.0];
        let rates: Vec<(usize, f64)> = rates.into_iter().enumerate().collect();
        measure(&mut run, Purpose::Measure, &rates, &NOISE);
        let report = Report::new(&run, &judge(&run), &Past::default());
        let told = report
            .warnings
            .iter()
            .find(|sentence| sentence.starts_with("1.4.0 is 2.4 % ("));
        let told = told.unwrap_or_else(|| panic!("{:?}", report.warnings));
        assert!(told.ends_with(
            ") slower than 1.1.0, the best before it, though no single step between them is flagged."
        ));
    }
}

//! OpenMetrics text for the textfile collector of Prometheus's `node_exporter`. Pure.
//!
//! It is at once what Prometheus's older text format allows, which is what that collector reads: gauges only, no times.
//! Labels name what stays from night to night; the run's name would begin new series each night.

use super::csv::state;
use super::{figures, level, name, told};
use crate::journal::Run;
use crate::report::{CellReport, CellState, Report, Step};
use crate::stats::real;
use crate::verdict::Verdict;

/// Names and values.
type Labels = Vec<(&'static str, String)>;

/// The samples of a name.
struct Family {
    name: &'static str,
    help: &'static str,
    samples: Vec<(Labels, f64)>,
}

/// A figure of a version: its name, its help, and its value where there is one.
type Column = (&'static str, &'static str, fn(&CellReport) -> Option<f64>);

const FIGURES: [Column; 4] = [
    (
        "harness_answers_per_second",
        "Right answers per second of the server alone, fitted to solo trials and races.",
        |cell| level(cell).map(|level| level.fetches_per_second),
    ),
    (
        "harness_cpu_seconds_per_answer",
        "CPU time of the server per answer.",
        |cell| Some(figures(cell)?.cpu_us_per_answer? / 1e6),
    ),
    (
        "harness_memory_bytes",
        "Greatest resident set of the server's process tree.",
        |cell| Some(figures(cell)?.rss_peak_mib? * 1_048_576.0),
    ),
    (
        "harness_startup_seconds",
        "Time from the start of the server to its first right answer.",
        |cell| Some(figures(cell)?.startup_ms? / 1e3),
    ),
];

/// Returns the whole text.
pub fn render(run: &Run, report: &Report) -> String {
    let families = [
        of_run(run, report),
        of_versions(run, report),
        of_steps(run, report),
    ];
    let families: String = families.iter().flatten().map(Family::text).collect();
    families + "# EOF\n"
}

fn of_run(run: &Run, report: &Report) -> Vec<Family> {
    let matrix = || ("matrix", run.header.matrix.name.clone());
    let counts = |label: &'static str, words: &[String], count: &dyn Fn(&str) -> usize| {
        let sample = |word: &String| (vec![matrix(), (label, word.clone())], real(count(word)));
        words.iter().map(sample).collect()
    };
    let states = ["measured", "gap", "pending"].map(str::to_owned);
    let verdicts = [
        Verdict::Regression,
        Verdict::Improvement,
        Verdict::Same,
        Verdict::Unknown,
        Verdict::Incomparable,
    ];
    let in_state = |word: &str| {
        report
            .cells
            .iter()
            .filter(|cell| state(cell) == word)
            .count()
    };
    let with = |word: &str| {
        steps(report)
            .filter(|step| name(step.verdict) == word)
            .count()
    };
    let time = |time: jiff::Timestamp| vec![(vec![matrix()], time.as_duration().as_secs_f64())];
    vec![
        Family {
            name: "harness_run_started_timestamp_seconds",
            help: "When the run began.",
            samples: time(report.started),
        },
        Family {
            name: "harness_run_ended_timestamp_seconds",
            help: "When the run ended by itself.",
            samples: report.ended.map(time).unwrap_or_default(),
        },
        Family {
            name: "harness_versions",
            help: "Versions, with each combination of axes, by what came of them.",
            samples: counts("state", &states, &in_state),
        },
        Family {
            name: "harness_pairs",
            help: "Pairs of versions by each number that decides, by verdict.",
            samples: counts("verdict", &verdicts.map(name), &with),
        },
    ]
}

fn of_versions(run: &Run, report: &Report) -> Vec<Family> {
    let cells = || report.cells.iter();
    let mut families: Vec<Family> = FIGURES
        .iter()
        .map(|&(name, help, figure)| {
            let sample = |cell| Some((labels(run, cell), told(figure(cell))?));
            let samples = cells().filter_map(sample).collect();
            Family {
                name,
                help,
                samples,
            }
        })
        .collect();
    families.push(Family {
        name: "harness_latency_seconds",
        help: "Time from sending a request to the last byte of its answer; in a closed loop throughput, told again.",
        samples: cells().flat_map(|cell| latencies(run, cell)).collect(),
    });
    families.push(Family {
        name: "harness_gap",
        help: "1 where a version has no number, with the stage it stopped at and why.",
        samples: cells().filter_map(|cell| gap(run, cell)).collect(),
    });
    families
}

fn latencies(run: &Run, cell: &CellReport) -> Vec<(Labels, f64)> {
    let Some(figures) = figures(cell) else {
        return Vec::new();
    };
    let percentiles = [
        ("50", figures.latency_p50_ms),
        ("90", figures.latency_p90_ms),
        ("99", figures.latency_p99_ms),
    ];
    let sample = |(percentile, time): (&str, f64)| {
        let time = told(Some(time))?;
        let mut labels = labels(run, cell);
        labels.push(("percentile", percentile.to_owned()));
        Some((labels, time / 1e3))
    };
    percentiles.into_iter().filter_map(sample).collect()
}

fn gap(run: &Run, cell: &CellReport) -> Option<(Labels, f64)> {
    let CellState::Gap { gap } = &cell.state else {
        return None;
    };
    let mut labels = labels(run, cell);
    labels.push(("stage", gap.stage.to_string()));
    labels.push(("kind", gap.kind.to_string()));
    Some((labels, 1.0))
}

fn of_steps(run: &Run, report: &Report) -> Vec<Family> {
    let changes = steps(report).filter_map(|step| {
        let change = step.effect_percent? / 100.0;
        Some((of_step(run, step), change))
    });
    let bounds = steps(report).filter_map(|step| {
        let (low, high) = step.interval_percent?;
        Some([("low", low), ("high", high)].map(|(bound, percent)| {
            let mut labels = of_step(run, step);
            labels.push(("bound", bound.to_owned()));
            (labels, percent / 100.0)
        }))
    });
    let verdicts = steps(report).map(|step| {
        let mut labels = of_step(run, step);
        labels.push(("verdict", name(step.verdict)));
        (labels, 1.0)
    });
    vec![
        Family {
            name: "harness_change_ratio",
            help: "Change from the baseline to the candidate, as a share of the baseline; of CPU time that of answers per CPU second.",
            samples: changes.collect(),
        },
        Family {
            name: "harness_change_bound_ratio",
            help: "The ends of the interval of that change.",
            samples: bounds.flatten().collect(),
        },
        Family {
            name: "harness_verdict",
            help: "1 for the verdict on a pair of versions.",
            samples: verdicts.collect(),
        },
    ]
}

fn steps(report: &Report) -> impl Iterator<Item = &Step> {
    report.pairs.iter().chain(&report.others)
}

fn labels(run: &Run, cell: &CellReport) -> Labels {
    let mut labels = vec![
        ("matrix", run.header.matrix.name.clone()),
        ("version", cell.version.clone()),
    ];
    if !cell.axes.is_empty() {
        labels.push(("axes", cell.axes.clone()));
    }
    labels
}

fn of_step(run: &Run, step: &Step) -> Labels {
    vec![
        ("matrix", run.header.matrix.name.clone()),
        ("baseline", step.baseline.clone()),
        ("candidate", step.candidate.clone()),
        ("number", name(step.metric)),
    ]
}

impl Family {
    /// Returns its lines; none where it has no sample.
    fn text(&self) -> String {
        if self.samples.is_empty() {
            return String::new();
        }
        let Self { name, help, .. } = self;
        let lines: Vec<String> = self
            .samples
            .iter()
            .map(|(labels, value)| {
                let labels: Vec<String> = labels.iter().map(label).collect();
                format!("{name}{{{}}} {value}\n", labels.join(","))
            })
            .collect();
        format!(
            "# TYPE {name} gauge\n# HELP {name} {help}\n{}",
            lines.concat()
        )
    }
}

fn label((name, value): &(&str, String)) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("{name}=\"{}\"", value.replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fixture::{NASTY, forget, story};
    use super::*;

    #[test]
    fn a_story_as_node_exporter_reads_it() {
        let (run, report) = story("1.2.0 \\ \"of\"\nnew");
        insta::assert_snapshot!(render(&run, &report));
    }

    #[test]
    fn what_no_program_has_told_is_no_sample() {
        let (run, mut report) = story("1.2.0");
        forget(&mut report);
        let text = render(&run, &report);
        assert!(
            !text.contains("percentile=\"99\"") && text.contains("percentile=\"90\""),
            "{text}"
        );
        assert!(!text.contains("harness_startup_seconds"), "{text}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn any_name_is_one_label(name in NASTY) {
            let told = label(&("version", name.clone()));
            let value = told.strip_prefix("version=\"").and_then(|rest| rest.strip_suffix('"')).unwrap();
            prop_assert!(!value.contains('\n'));
            let mut read = String::new();
            let mut letters = value.chars();
            while let Some(letter) = letters.next() {
                prop_assert_ne!(letter, '"');
                read.push(match letter {
                    '\\' => match letters.next().unwrap() {
                        'n' => '\n',
                        escaped => escaped,
                    },
                    letter => letter,
                });
            }
            prop_assert_eq!(read, name);
        }
    }
}

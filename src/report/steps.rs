//! What is said of one pair.

use serde::Serialize;

use super::axes_name;
use super::words::{as_percent, count, list, p_value, percent_range, signed_percent};
use crate::journal::Run;
use crate::verdict::{Comparison, Metric, Verdict, Warning};

/// What is said of one pair.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// The earlier cell's name.
    pub baseline: String,
    /// The later cell's name.
    pub candidate: String,
    /// Their values of the axes, `body=buffer`; empty where there are no axes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub axes: String,
    /// The names of the cells between them that have no number.
    pub skipped: Vec<String>,
    /// The number that decided.
    pub metric: Metric,
    /// The conclusion.
    pub verdict: Verdict,
    /// Change of speed, percent of the baseline; negative is slower.
    pub effect_percent: Option<f64>,
    /// Its interval, percent of the baseline.
    pub interval_percent: Option<(f64, f64)>,
    /// p after correction.
    pub adjusted_p: Option<f64>,
    /// Sessions that count.
    pub sessions: usize,
    /// For `unknown`: how many more it would take.
    pub sessions_needed: Option<u32>,
    /// Whether fresh sessions confirmed a flag.
    pub confirmed: Option<bool>,
    /// Whether fresh sessions are asked for at all.
    pub confirmation_asked: bool,
    /// What a reader should know.
    pub warnings: Vec<Warning>,
}

impl Step {
    /// Names the cells of a comparison and turns its log ratios into percent.
    pub(super) fn new(run: &Run, comparison: &Comparison) -> Self {
        let name = |cell: usize| run.header.cells[cell].id.clone();
        Self {
            baseline: name(comparison.pair.baseline),
            candidate: name(comparison.pair.candidate),
            axes: axes_name(&run.header.cells[comparison.pair.candidate]).to_owned(),
            skipped: comparison
                .pair
                .skipped
                .iter()
                .map(|cell| name(*cell))
                .collect(),
            metric: comparison.metric,
            verdict: comparison.verdict,
            effect_percent: comparison.effect.map(as_percent),
            interval_percent: comparison
                .interval
                .map(|(low, high)| (as_percent(low), as_percent(high))),
            adjusted_p: comparison.adjusted_p,
            sessions: comparison.sessions,
            sessions_needed: comparison.sessions_needed,
            confirmed: comparison.confirmed,
            confirmation_asked: run.header.rule.confirm,
            warnings: comparison.warnings.clone(),
        }
    }

    /// Returns whether it is a regression or an improvement.
    pub(super) fn is_flagged(&self) -> bool {
        match self.verdict {
            Verdict::Regression | Verdict::Improvement => true,
            Verdict::Same | Verdict::Unknown | Verdict::Incomparable => false,
        }
    }

    /// Returns `20.0.0 → 21.0.0`, or `20.0.0 → 21.0.0 (body=buffer)`.
    pub(super) fn name(&self) -> String {
        let versions = [&self.baseline, &self.candidate].map(|cell| self.version(cell));
        let name = versions.join(" → ");
        if self.axes.is_empty() {
            return name;
        }
        format!("{name} ({})", self.axes)
    }

    /// Returns a cell's name without the axes, which are the same for all cells of a pair.
    fn version<'a>(&self, cell: &'a str) -> &'a str {
        cell.strip_suffix(&self.axes).unwrap_or(cell).trim_end()
    }

    /// Returns the names of the versions between them that have no number.
    pub(super) fn skipped_versions(&self) -> Vec<String> {
        let skipped = self.skipped.iter();
        skipped.map(|cell| self.version(cell).to_owned()).collect()
    }

    /// Returns what of it changed.
    pub(super) fn quantity(&self) -> &'static str {
        match self.metric {
            Metric::Throughput => "answers per second",
            Metric::CpuPerAnswer => "answers per CPU second",
        }
    }

    /// Returns the effect as `-3.1 %`, or nothing known.
    pub(super) fn effect(&self) -> String {
        self.effect_percent
            .map_or_else(|| "none".to_owned(), signed_percent)
    }

    /// Returns the verdict with what it hangs on: `unknown, about 14 more sessions would decide`.
    pub(super) fn conclusion(&self) -> String {
        match (self.verdict, self.confirmed) {
            (Verdict::Regression, _) => format!("regression, {}", self.confirmation()),
            (Verdict::Improvement, _) => format!("improvement, {}", self.confirmation()),
            (Verdict::Same, _) => "same".to_owned(),
            (Verdict::Unknown, Some(_)) => "unknown, not confirmed by fresh sessions".to_owned(),
            (Verdict::Unknown, None) => format!("unknown, {}", self.wanting()),
            (Verdict::Incomparable, _) => "incomparable".to_owned(),
        }
    }

    /// Returns what an unknown pair would take.
    fn wanting(&self) -> String {
        match (self.sessions_needed, self.adjusted_p) {
            (Some(more), _) => {
                let more = count(usize::try_from(more).unwrap_or(usize::MAX), "more session");
                format!("about {more} would decide")
            }
            (None, Some(_)) => "more than 999 more sessions would not decide".to_owned(),
            (None, None) => "too few sessions to tell".to_owned(),
        }
    }

    fn confirmation(&self) -> &'static str {
        match (self.confirmed, self.confirmation_asked) {
            (Some(true), _) => "confirmed",
            (Some(false), _) => "not confirmed",
            (None, true) => "not yet confirmed",
            (None, false) => "without confirmation",
        }
    }

    /// Returns what a flagged step is, without its name: `3.1 % fewer answers per second (…)`.
    pub(super) fn sentence(&self) -> String {
        let effect = self.effect_percent.unwrap_or(0.0);
        let direction = if effect < 0.0 { "fewer" } else { "more" };
        let mut facts: Vec<String> = Vec::new();
        facts.extend(
            self.interval_percent
                .map(|interval| magnitudes(interval, effect)),
        );
        facts.extend(self.adjusted_p.map(p_value));
        facts.push(count(self.sessions, "session"));
        facts.push(self.confirmation().to_owned());
        let quantity = self.quantity();
        let facts = facts.join(", ");
        let size = effect.abs();
        format!(
            "{size:.1} % {direction} {quantity} ({facts}){}",
            self.suspects()
        )
    }

    /// Returns `; introduced in 4.0.0, 5.0.0 or 6.0.0 (…)` where versions were skipped.
    fn suspects(&self) -> String {
        if self.skipped.is_empty() {
            return String::new();
        }
        let skipped = self.skipped_versions();
        let candidate = self.version(&self.candidate).to_owned();
        let suspects = [skipped.as_slice(), &[candidate]].concat();
        let verb = if self.skipped.len() == 1 {
            "has"
        } else {
            "have"
        };
        format!(
            "; introduced in {} ({} {verb} no number)",
            list(&suspects, "or"),
            list(&skipped, "and"),
        )
    }
}

/// Returns an interval as sizes in the direction of the effect, `2.4–3.8 %`, or with signs where it holds zero.
fn magnitudes((low, high): (f64, f64), effect: f64) -> String {
    match (low, high) {
        (low, high) if low < 0.0 && high > 0.0 => percent_range((low, high)),
        (low, high) if effect < 0.0 => format!("{:.1}–{:.1} %", -high, -low),
        (low, high) => format!("{low:.1}–{high:.1} %"),
    }
}

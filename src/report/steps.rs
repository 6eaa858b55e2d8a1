//! What is said of one pair.

use std::collections::BTreeSet;

use serde::Serialize;

use super::axes_name;
use super::words::{
    as_percent, change_in_words, change_percent, changes_percent, claim, count, is_better_smaller,
    list, p_value, percent_range, quantity, signed_percent,
};
use crate::journal::{Built, Run};
use crate::verdict::{Comparison, Metric, Verdict, Warning};
use crate::version::Pair;

/// What is said of one pair.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
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
    /// Change of that number, percent of the baseline; of CPU time per answer that of its reciprocal, answers per CPU second.
    pub effect_percent: Option<f64>,
    /// Its interval, percent of the baseline.
    pub interval_percent: Option<(f64, f64)>,
    /// Whether a positive change is for the worse.
    pub better_smaller: bool,
    /// The least size of a change that would have been seen with a chance of 80 %, percent.
    pub detectable_percent: Option<f64>,
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
    /// The commit that made it, where a bisection of the step found one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub culprit: Option<String>,
    /// Packages built into the two that differ between them, beside the version itself.
    pub dependencies: Vec<DependencyChange>,
    /// What a reader should know.
    pub warnings: Vec<Warning>,
}

/// A package that differs between two artifacts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct DependencyChange {
    /// Its name.
    pub name: String,
    /// Its version in the baseline; none if it is not in there.
    pub before: Option<String>,
    /// Its version in the candidate.
    pub after: Option<String>,
}

/// A least visible change of this size or more, percent, is as good as none.
const MOST_SHOWN: f64 = 100.0;

/// Changed packages that are named one by one.
const NAMED: usize = 8;

impl Step {
    /// Names the cells of a comparison and turns its log ratios into percent.
    pub(super) fn new(run: &Run, comparison: &Comparison) -> Self {
        let name = |cell: usize| run.header.cells[cell].id.clone();
        let better_smaller = is_better_smaller(comparison.metric);
        let change = |effect| change_percent(comparison.metric, effect);
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
            effect_percent: comparison.effect.map(change),
            interval_percent: comparison
                .interval
                .map(|ends| changes_percent(comparison.metric, ends)),
            better_smaller,
            detectable_percent: comparison.detectable.map(as_percent),
            adjusted_p: comparison.adjusted_p,
            sessions: comparison.sessions,
            sessions_needed: comparison.sessions_needed,
            confirmed: comparison.confirmed,
            confirmation_asked: run.header.rule.confirm,
            culprit: None,
            dependencies: dependency_changes(run, &comparison.pair),
            warnings: comparison.warnings.clone(),
        }
    }

    /// Returns what else differs between the two artifacts: an unpinned dependency is the commonest false culprit.
    pub(super) fn other_changes(&self) -> Option<String> {
        let named = self.dependencies.iter().take(NAMED);
        let mut changes: Vec<String> = named.map(DependencyChange::in_words).collect();
        if changes.is_empty() {
            return None;
        }
        let rest = self.dependencies.len() - changes.len();
        changes.extend((rest > 0).then(|| format!("{rest} more")));
        Some(format!(
            "other packages differ as well: {}",
            changes.join(", ")
        ))
    }

    /// Returns whether another is about the same two cells.
    pub(super) fn is_of_same_cells(&self, other: &Self) -> bool {
        self.baseline == other.baseline && self.candidate == other.candidate
    }

    /// Returns whether it is a regression or an improvement.
    pub(super) fn is_flagged(&self) -> bool {
        match self.verdict {
            Verdict::Regression | Verdict::Improvement => true,
            Verdict::Same | Verdict::Unknown | Verdict::Incomparable => false,
        }
    }

    /// Returns `20.0.0 → 21.0.0`, or `20.0.0 → 21.0.0 (body=buffer)`.
    pub(crate) fn name(&self) -> String {
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
    pub(crate) fn quantity(&self) -> &'static str {
        quantity(self.metric)
    }

    /// Returns the effect as `-3.1 %`, or nothing known.
    pub(super) fn effect(&self) -> String {
        self.effect_percent
            .map_or_else(|| "none".to_owned(), signed_percent)
    }

    /// Returns the interval as `-3.8 to -2.4 %`, or nothing known.
    pub(super) fn interval(&self) -> String {
        self.interval_percent
            .map_or_else(|| "none".to_owned(), percent_range)
    }

    /// Returns the verdict with what it hangs on: `unknown, could have seen 1.8 %, about 14 more sessions would decide`.
    pub(crate) fn conclusion(&self) -> String {
        match (self.verdict, self.confirmed) {
            (Verdict::Regression, _) => format!("regression, {}", self.confirmation()),
            (Verdict::Improvement, _) => format!("improvement, {}", self.confirmation()),
            (Verdict::Same, _) => "same".to_owned(),
            (Verdict::Unknown, Some(_)) => "unknown, not confirmed by fresh sessions".to_owned(),
            (Verdict::Unknown, None) => format!("unknown, {}", self.wanting()),
            (Verdict::Incomparable, _) => "incomparable".to_owned(),
        }
    }

    /// Returns the verdict in a few words: `regression`, `unknown, needs 14 more`.
    pub(super) fn conclusion_in_short(&self) -> String {
        match (self.verdict, self.sessions_needed) {
            (Verdict::Regression, _) => "regression".to_owned(),
            (Verdict::Improvement, _) => "improvement".to_owned(),
            (Verdict::Same, _) => "same".to_owned(),
            (Verdict::Unknown, Some(more)) => format!("unknown, needs {more} more"),
            (Verdict::Unknown, None) => "unknown".to_owned(),
            (Verdict::Incomparable, _) => "incomparable".to_owned(),
        }
    }

    /// Returns what an unknown pair could have shown and what it would take.
    fn wanting(&self) -> String {
        let more = match (self.sessions_needed, self.adjusted_p) {
            (Some(more), _) => {
                let more = count(usize::try_from(more).unwrap_or(usize::MAX), "more session");
                format!("about {more} would decide")
            }
            (None, Some(_)) => "more than 999 more sessions would not decide".to_owned(),
            (None, None) => return "too few sessions to tell".to_owned(),
        };
        match self.detectable_percent {
            Some(least) if least < MOST_SHOWN => format!("could have seen {least:.1} %, {more}"),
            Some(_) | None => more,
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

    /// Returns the whole of it in one sentence: `1.4.0 answers 3.1 % fewer requests per second than 1.3.2 (2.4 to 3.8 %,
    /// confirmed)`.
    pub(super) fn assertion(&self) -> String {
        let [baseline, candidate] =
            [&self.baseline, &self.candidate].map(|cell| self.version(cell));
        let known = || {
            format!(
                "{} {} ({})",
                self.quantity(),
                self.effect(),
                self.interval()
            )
        };
        match (self.verdict, self.effect_percent) {
            (Verdict::Regression | Verdict::Improvement, Some(effect)) => {
                let interval = self.interval_percent;
                let mut facts: Vec<String> = Vec::new();
                facts.extend(interval.map(|interval| magnitudes(interval, effect)));
                facts.push(self.confirmation().to_owned());
                let (claim, facts) = (claim(self.metric, effect), facts.join(", "));
                format!(
                    "{candidate} {claim} than {baseline} ({facts}){}",
                    self.suspects()
                )
            }
            (Verdict::Same, _) => {
                format!(
                    "{candidate} and {baseline} are the same within the margin: {}",
                    known()
                )
            }
            (Verdict::Regression | Verdict::Improvement | Verdict::Unknown, effect) => {
                let known = effect.map_or_else(String::new, |_| format!("; {}", known()));
                let conclusion = self.conclusion();
                format!(
                    "Whether {candidate} is better or worse than {baseline} is {conclusion}{known}"
                )
            }
            (Verdict::Incomparable, _) => format!("{candidate} and {baseline} may not be compared"),
        }
    }

    /// Returns what a flagged step is, without its name: `3.1 % fewer answers per second (2.4 to 3.8 %, …)`.
    pub(crate) fn sentence(&self) -> String {
        let effect = self.effect_percent.unwrap_or(0.0);
        let mut facts: Vec<String> = Vec::new();
        facts.extend(
            self.interval_percent
                .map(|interval| magnitudes(interval, effect)),
        );
        facts.extend(self.adjusted_p.map(p_value));
        facts.push(count(self.sessions, "session"));
        facts.push(self.confirmation().to_owned());
        let change = change_in_words(self.metric, effect);
        format!("{change} ({}){}", facts.join(", "), self.suspects())
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

impl DependencyChange {
    pub(super) fn in_words(&self) -> String {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => format!("{} {before} → {after}", self.name),
            (Some(before), None) => format!("{} {before} gone", self.name),
            (None, Some(after)) => format!("{} {after} new", self.name),
            (None, None) => self.name.clone(),
        }
    }
}

/// Lists the packages that differ between the artifacts of a pair, without the one whose versions they are.
pub(super) fn dependency_changes(run: &Run, pair: &Pair) -> Vec<DependencyChange> {
    let (Some(Built::Artifact(before)), Some(Built::Artifact(after))) = (
        run.builds.get(&pair.baseline),
        run.builds.get(&pair.candidate),
    ) else {
        return Vec::new();
    };
    // Where one side is not known, nothing is known to have changed.
    if before.dependencies.is_empty() || after.dependencies.is_empty() {
        return Vec::new();
    }
    let version = |cell: usize| run.header.cells[cell].version.name.trim_start_matches('v');
    let own = |change: &DependencyChange| {
        let is = |found: &Option<String>, cell| {
            found
                .as_deref()
                .is_some_and(|found| found.trim_start_matches('v') == version(cell))
        };
        is(&change.before, pair.baseline) && is(&change.after, pair.candidate)
    };
    let names: BTreeSet<&String> = before
        .dependencies
        .keys()
        .chain(after.dependencies.keys())
        .collect();
    let changes = names.into_iter().map(|name| DependencyChange {
        name: name.clone(),
        before: before.dependencies.get(name).cloned(),
        after: after.dependencies.get(name).cloned(),
    });
    changes
        .filter(|change| change.before != change.after && !own(change))
        .collect()
}

/// Returns an interval as sizes in the direction of the effect, `2.4 to 3.8 %`, or with signs where it holds zero.
pub(super) fn magnitudes((low, high): (f64, f64), effect: f64) -> String {
    match (low, high) {
        (low, high) if low < 0.0 && high > 0.0 => percent_range((low, high)),
        (low, high) if effect < 0.0 => format!("{:.1} to {:.1} %", -high, -low),
        (low, high) => format!("{low:.1} to {high:.1} %"),
    }
}

//! Two versions head to head, on one screen. Pure.

use std::fmt::Write as _;

use serde::Serialize;

use super::terminal::{GREEN, PLAIN, RED, YELLOW};
use super::words::{
    as_percent, count, is_better_smaller, number, one_line, percent_range, share, signed_percent,
};
use super::{Figures, Step, markdown, plot, warnings};
use crate::journal::{Purpose, Run};
use crate::matrix::Design;
use crate::outcome::Gap;
use crate::stats::{bca, hodges_lehmann, mean, walsh_interval};
use crate::verdict::{Comparison, Evidence, Judgement, Verdict, evidence};

/// Resamples of the second opinion: the ends of an interval at 5 % are then known to about a fiftieth of its width.
const RESAMPLES: usize = 2000;

/// Chance that a second opinion's interval misses the truth.
const LEVEL: f64 = 0.05;

/// What is said of two versions, before it is text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Duel {
    /// The matrix's title.
    pub title: String,
    /// The comparison; none where one of the two has no number.
    pub step: Option<Step>,
    /// By the other numbers that decide.
    pub others: Vec<Step>,
    /// Change of each session held to measure, percent of the baseline.
    pub measured: Vec<f64>,
    /// Change of each session held to confirm, percent of the baseline.
    pub confirmed: Vec<f64>,
    /// What other methods make of all these sessions.
    pub opinions: Vec<Opinion>,
    /// Figures of the two alone.
    pub figures: Vec<Beside>,
    /// Names of the two.
    pub names: (String, String),
    /// Least change worth a flag, as a share.
    pub min_effect: f64,
    /// Why there is no number: name and gap.
    pub gaps: Vec<(String, Gap)>,
    /// What a reader should know.
    pub warnings: Vec<String>,
    /// What it cost.
    pub cost: String,
    /// A command that repeats it.
    pub repeat: String,
}

/// A figure of both, each alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Beside {
    /// Which, with its unit.
    pub name: &'static str,
    /// The baseline's, where it is known.
    pub baseline: Option<f64>,
    /// The candidate's, where it is known.
    pub candidate: Option<f64>,
}

/// What another method makes of the sessions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Opinion {
    /// Which.
    pub method: &'static str,
    /// Its estimate, percent of the baseline.
    pub effect_percent: f64,
    /// Its interval at 95 %.
    pub interval_percent: Option<(f64, f64)>,
}

impl Duel {
    /// Returns what a run of two says, one for each combination of axes.
    pub fn all(run: &Run, judgement: &Judgement) -> Vec<Self> {
        let evidence = evidence(run);
        let mut duels: Vec<Self> = judgement
            .comparisons
            .iter()
            .map(|comparison| {
                let own = |one: &&Evidence| one.pair == comparison.pair;
                let own = evidence
                    .iter()
                    .find(|one| own(one) && one.metric == comparison.metric);
                Self::of(run, judgement, (comparison, own))
            })
            .collect();
        if duels.is_empty() {
            duels.push(Self::without_a_number(run, judgement));
        }
        duels
    }

    fn of(
        run: &Run,
        judgement: &Judgement,
        (comparison, evidence): (&Comparison, Option<&Evidence>),
    ) -> Self {
        let percent = |values: &[f64]| values.iter().map(|value| as_percent(*value)).collect();
        // As the number itself changes, and not so that negative is worse.
        let sign = if is_better_smaller(comparison.metric) {
            -1.0
        } else {
            1.0
        };
        let turned = |values: &[f64]| values.iter().map(|value| sign * value).collect();
        let (measured, confirmed): (Vec<f64>, Vec<f64>) = evidence
            .map(|evidence| (turned(&evidence.measure), turned(&evidence.confirm)))
            .unwrap_or_default();
        let pair = &comparison.pair;
        let others = judgement.others.iter().filter(|other| other.pair == *pair);
        Self {
            others: others.map(|other| Step::new(run, other)).collect(),
            step: Some(Step::new(run, comparison)),
            opinions: opinions(&[measured.as_slice(), &confirmed].concat(), run.header.seed),
            measured: percent(&measured),
            confirmed: percent(&confirmed),
            figures: figures(run, (pair.baseline, pair.candidate)),
            ..Self::frame(run, judgement, (pair.baseline, pair.candidate))
        }
    }

    fn without_a_number(run: &Run, judgement: &Judgement) -> Self {
        let last = run.header.cells.len().saturating_sub(1);
        Self::frame(run, judgement, (0, last))
    }

    /// Returns what is said whatever was found.
    fn frame(run: &Run, judgement: &Judgement, cells: (usize, usize)) -> Self {
        let name = |cell: usize| {
            run.header
                .cells
                .get(cell)
                .map_or("", |cell| cell.id.as_str())
        };
        let gaps = judgement.gaps.iter();
        Self {
            title: run.header.matrix.title.clone(),
            step: None,
            others: Vec::new(),
            measured: Vec::new(),
            confirmed: Vec::new(),
            opinions: Vec::new(),
            figures: Vec::new(),
            names: (name(cells.0).to_owned(), name(cells.1).to_owned()),
            min_effect: run.header.rule.min_effect,
            gaps: gaps
                .map(|(cell, gap)| (name(*cell).to_owned(), gap.clone()))
                .collect(),
            warnings: warnings::sentences(run, judgement),
            cost: cost(run),
            repeat: super::texts::repeat(&run.header),
        }
    }

    /// Returns the screens for a terminal that many columns wide, ending with a line break.
    pub fn terminal(duels: &[Self], width: u16, colour: bool) -> String {
        let screens = duels.iter().map(|duel| duel.screen(width, colour));
        screens.collect::<Vec<_>>().join("\n")
    }

    /// Returns the same as GitHub Markdown.
    pub fn markdown(duels: &[Self]) -> String {
        let parts = duels.iter().map(Self::as_markdown);
        parts.collect::<Vec<_>>().join("\n")
    }

    fn screen(&self, width: u16, colour: bool) -> String {
        let mut text = format!("{}\n", one_line(&self.title));
        let ink = match self.step.as_ref().map(|step| step.verdict) {
            Some(Verdict::Regression) => RED,
            Some(Verdict::Improvement) => GREEN,
            Some(Verdict::Unknown | Verdict::Incomparable) | None => YELLOW,
            Some(Verdict::Same) => "",
        };
        let (begin, end) = if colour { (ink, PLAIN) } else { ("", "") };
        for line in wrapped(&self.headline(), width) {
            let _ = writeln!(text, "{begin}{line}{end}");
        }
        text.push('\n');
        if let Some(picture) = self.picture() {
            let _ = writeln!(text, "{picture}\n");
        }
        let names = [&self.names.0, &self.names.1].map(|name| one_line(name));
        let widest = names
            .iter()
            .map(|name| name.chars().count())
            .max()
            .unwrap_or(0)
            .max(10);
        if !self.figures.is_empty() {
            let _ = writeln!(
                text,
                "{:22}{:>widest$}  {:>widest$}",
                "alone", names[0], names[1]
            );
        }
        for figure in &self.figures {
            let [before, after] = figure.in_words();
            let _ = writeln!(
                text,
                "{:22}{before:>widest$}  {after:>widest$}",
                figure.name
            );
        }
        for sentence in self.sentences() {
            for line in wrapped(&one_line(&sentence), width) {
                let _ = writeln!(text, "{line}");
            }
        }
        text
    }

    fn as_markdown(&self) -> String {
        let mut text = format!("**{}**\n\n", markdown::escape(&one_line(&self.headline())));
        if let Some(picture) = self.picture() {
            let _ = writeln!(text, "```text\n{picture}\n```\n");
        }
        if !self.figures.is_empty() {
            let names = [&self.names.0, &self.names.1].map(|name| markdown::escape(name));
            let _ = writeln!(
                text,
                "| alone | {} | {} |\n|---|---:|---:|",
                names[0], names[1]
            );
            for figure in &self.figures {
                let [before, after] = figure.in_words();
                let _ = writeln!(text, "| {} | {before} | {after} |", figure.name);
            }
            text.push('\n');
        }
        for sentence in self.sentences() {
            let _ = writeln!(text, "- {}", markdown::escape(&one_line(&sentence)));
        }
        text
    }

    /// Returns the answer in one sentence.
    fn headline(&self) -> String {
        let Some(step) = &self.step else {
            return format!("{} and {} were not compared.", self.names.0, self.names.1);
        };
        if step.is_flagged() {
            let word = if step.verdict == Verdict::Regression {
                "regression"
            } else {
                "improvement"
            };
            return format!("{}: {word}, {}", step.name(), step.sentence());
        }
        let interval = step.interval_percent.map(percent_range);
        let interval = interval.map_or_else(String::new, |range| format!(" ({range})"));
        format!(
            "{}: {}, {} {}{interval}",
            step.name(),
            step.conclusion(),
            step.quantity(),
            step.effect()
        )
    }

    fn picture(&self) -> Option<String> {
        let step = self.step.as_ref()?;
        let rows = [
            ("sessions", self.measured.as_slice()),
            ("to confirm", &self.confirmed),
        ];
        let together = (step.effect_percent?, step.interval_percent);
        Some(plot::sessions(&rows, together, self.min_effect * 100.0))
    }

    /// Returns what else there is to say, one line each.
    fn sentences(&self) -> Vec<String> {
        let mut said: Vec<String> = Vec::new();
        for other in self
            .others
            .iter()
            .filter(|other| other.effect_percent.is_some())
        {
            said.push(if other.is_flagged() {
                other.sentence()
            } else {
                format!("{}: {}", other.quantity(), other.conclusion())
            });
        }
        let opinions: Vec<String> = self.opinions.iter().map(Opinion::in_words).collect();
        if !opinions.is_empty() {
            said.push(format!("other methods, at 95 %: {}", opinions.join(", ")));
        }
        for (name, gap) in &self.gaps {
            said.push(format!("{name} has no number: {}", gap.in_one_line()));
            said.extend(
                gap.log
                    .as_ref()
                    .map(|log| format!("log: {}", log.display())),
            );
            said.extend(gap.hint.as_ref().map(|hint| format!("try: {hint}")));
        }
        said.extend(
            self.warnings
                .iter()
                .map(|warning| format!("note: {warning}")),
        );
        said.push(format!("{}; again: {}", self.cost, self.repeat));
        said
    }
}

impl Beside {
    /// Returns both as text.
    fn in_words(&self) -> [String; 2] {
        let known = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
        [self.baseline, self.candidate].map(known)
    }
}

impl Opinion {
    fn in_words(&self) -> String {
        let effect = signed_percent(self.effect_percent);
        let interval = self.interval_percent.map(percent_range);
        let interval = interval.map_or_else(String::new, |range| format!(" ({range})"));
        format!("{} {effect}{interval}", self.method)
    }
}

/// Returns what other methods make of log ratios.
fn opinions(values: &[f64], seed: u64) -> Vec<Opinion> {
    let percent = |(low, high): (f64, f64)| (as_percent(low), as_percent(high));
    let opinion = |method, effect: f64, interval: Option<(f64, f64)>| Opinion {
        method,
        effect_percent: as_percent(effect),
        interval_percent: interval.map(percent),
    };
    let ranks = hodges_lehmann(values)
        .map(|centre| opinion("by ranks", centre, walsh_interval(values, LEVEL)));
    let resampled = mean(values).map(|centre| {
        let interval = bca(values, mean, LEVEL, RESAMPLES, seed);
        opinion("by resampling", centre, interval)
    });
    ranks.into_iter().chain(resampled).collect()
}

/// Returns the figures of two cells side by side.
fn figures(run: &Run, cells: (usize, usize)) -> Vec<Beside> {
    let of = |cell| Figures::of_solo_trials(run, cell);
    let (Some(before), Some(after)) = (of(cells.0), of(cells.1)) else {
        return Vec::new();
    };
    let row = |name, of: fn(&Figures) -> Option<f64>| Beside {
        name,
        baseline: of(&before),
        candidate: of(&after),
    };
    vec![
        row("answers/s", |figures| Some(figures.fetches_per_second)),
        row("CPU per answer, µs", |figures| figures.cpu_us_per_answer),
        row("latency, median, ms", |figures| {
            Some(figures.latency_p50_ms)
        }),
        row("memory, MiB", |figures| {
            figures.pss_mib.or(figures.rss_peak_mib)
        }),
        row("start-up, ms", |figures| figures.startup_ms),
    ]
}

/// Returns how many sessions, launches and minutes it took.
fn cost(run: &Run) -> String {
    let held = |purpose, solo: bool| {
        let is = |design| (design == Design::Solo) == solo;
        let sessions = run.sessions.iter();
        sessions
            .filter(|session| session.purpose == purpose && is(session.design))
            .count()
    };
    let solo = held(Purpose::Measure, true) + held(Purpose::Confirm, true);
    let launches: usize = run
        .sessions
        .iter()
        .map(|session| session.launches.len())
        .sum();
    let seconds: f64 = run.sessions.iter().map(|session| session.seconds).sum();
    let confirm = held(Purpose::Confirm, false);
    let mut parts = vec![count(held(Purpose::Measure, false), "session")];
    parts.extend((confirm > 0).then(|| format!("{confirm} to confirm")));
    parts.push(count(solo, "solo trial"));
    let launches = match launches {
        1 => "1 launch".to_owned(),
        many => format!("{many} launches"),
    };
    parts.push(format!("{launches} in {seconds:.0} s"));
    parts.push(format!(
        "flagged from {}",
        share(run.header.rule.min_effect)
    ));
    parts.join(", ")
}

/// Breaks a text into lines of at most so many columns, at spaces.
pub(super) fn wrapped(text: &str, width: u16) -> Vec<String> {
    let width = usize::from(width.max(20));
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last > 0 && last + 1 + word.chars().count() > width {
            lines.push("    ".to_owned());
        }
        if let Some(line) = lines.last_mut() {
            if !line.trim().is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::journal::{Built, Summary};
    use crate::outcome::GapKind;
    use crate::verdict::fixture::{NOISE, measure, run};
    use crate::verdict::judge;

    /// Returns what is said of two versions with these rates, the second with this many times the usual noise.
    fn duels(rates: [f64; 2], times: f64, confirmed: bool) -> Vec<Duel> {
        let mut run = run(&["1.0.0", "./project"]);
        let rates = [(0, rates[0]), (1, rates[1])];
        let noise = NOISE.map(|noise| noise * times);
        measure(&mut run, Purpose::Measure, &rates, &noise);
        if confirmed {
            measure(&mut run, Purpose::Confirm, &rates, &noise);
        }
        told(run)
    }

    /// Returns what is said of a run that has come to its end.
    fn told(mut run: Run) -> Vec<Duel> {
        let judgement = judge(&run);
        run.summary = Some(Summary {
            ended: Timestamp::UNIX_EPOCH,
            exit: 0,
            regressions: 0,
            compared: judgement.comparisons.len(),
            gaps: judgement.gaps.len(),
        });
        Duel::all(&run, &judgement)
    }

    /// Returns the screen, which must be one.
    fn screen(duels: &[Duel]) -> String {
        let text = Duel::terminal(duels, 80, false);
        assert!(text.lines().count() <= 24, "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        text
    }

    #[test]
    fn a_regression_is_told_on_one_screen() {
        let duels = duels([8000.0, 7600.0], 1.0, true);
        insta::assert_snapshot!("regression_terminal", screen(&duels));
        insta::assert_snapshot!("regression_markdown", Duel::markdown(&duels));
        let ink = Duel::terminal(&duels, 80, true);
        assert!(ink.contains(RED) && ink.contains(PLAIN), "{ink}");
    }

    #[test]
    fn what_is_not_decided_says_what_could_have_been_seen() {
        insta::assert_snapshot!(
            "unknown_terminal",
            screen(&duels([8000.0, 7900.0], 6.0, false))
        );
    }

    #[test]
    fn one_without_a_number_is_told_with_its_reason_and_log() {
        let mut run = run(&["1.0.0", "./project"]);
        let gap = Gap::new(GapKind::Failed, "the step `make` ended with exit code 2")
            .with_hint(Some("read its log".to_owned()))
            .with_log("reports/logs/1/build.log");
        run.builds.insert(1, Built::Gap(gap));
        measure(&mut run, Purpose::Measure, &[(0, 8000.0)], &[]);
        insta::assert_snapshot!("gap_terminal", screen(&told(run)));
    }

    #[test]
    fn figures_are_numbers_for_a_program() {
        let told = serde_json::to_value(duels([8000.0, 7600.0], 1.0, true)).unwrap();
        assert_eq!(told[0]["figures"][0]["baseline"], 8000.0);
        assert_eq!(told[0]["figures"][0]["candidate"], 7600.0);
        assert_eq!(told[0]["step"]["verdict"], "regression");
    }
}

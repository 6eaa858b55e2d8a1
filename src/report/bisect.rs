//! What is said of a bisection: who it was, how sure that is, and what it took. Pure.

use std::fmt::Write as _;

use serde::Serialize;

use super::Past;
use super::compare::wrapped;
use super::gaps::{self, GapGroup};
use super::markdown::{code, escape, gaps_in_short, grid};
use super::steps::{DependencyChange, dependency_changes, magnitudes};
use super::texts;
use super::words::{
    change_percent, changes_percent, claim, count, list, one_line, percent_range, quantity,
    signed_percent,
};
use crate::bisect::{Alike, Culprit, Effect, Ending, Odds, Stage, Unresolved, Why};
use crate::journal::{Built, Hunted, Run};
use crate::matrix::Metric;
use crate::stats::real;
use crate::version::{Cell, Pair};

/// The number of the JSON form, raised by any change that an older reader would misread.
const SCHEMA: u32 = 1;

/// Suspects that are named one by one.
const NAMED: usize = 10;

/// Cells of a bar of odds.
const BAR: usize = 20;

/// What is said of a bisection, before it is Markdown, text or JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hunt {
    /// The number of this form.
    pub schema: u32,
    /// The matrix's title.
    pub title: String,
    /// The run's name, which is that of its journal.
    pub run: String,
    /// The good end's cell.
    pub good: String,
    /// The bad end's cell.
    pub bad: String,
    /// Commits or versions that could be the culprit.
    pub candidates: usize,
    /// The number that decided.
    pub metric: Metric,
    /// Whether it is what became better that is searched.
    pub improvement: bool,
    /// How it ended.
    pub outcome: Outcome,
    /// The same in one sentence.
    pub sentence: String,
    /// What the sentence leaves open, and what would help; nothing where it is decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Whom it may be, in order; nobody where there is no change.
    pub suspects: Vec<Suspect>,
    /// How sure that is: the chance that it is one of the suspects, or that there is no change that counts.
    pub odds: f64,
    /// The change, percent of the good end.
    pub effect_percent: Option<f64>,
    /// Its interval at 95 %.
    pub interval_percent: Option<(f64, f64)>,
    /// The change that fresh sessions showed, percent of what the culprit grew out of.
    pub confirmed_percent: Option<f64>,
    /// Its interval at 95 %.
    pub confirmed_interval_percent: Option<(f64, f64)>,
    /// The least change that would have been seen with a chance of 80 %, percent.
    pub detectable_percent: Option<f64>,
    /// What it took.
    pub tried: Tried,
    /// The gaps on the way, equal neighbours together.
    pub gaps: Vec<GapGroup>,
    /// Packages built into the culprit and what it grew out of that differ between the two.
    pub dependencies: Vec<DependencyChange>,
    /// A command that repeats it with the same seed.
    pub repeat: String,
}

/// How a bisection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// One commit did it.
    Found,
    /// One of several did it that nothing can tell apart.
    FoundWithinAGap,
    /// There is no change that counts.
    NoChange,
    /// It could not be decided.
    Unresolved,
}

/// One that may have done it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suspect {
    /// Its cell.
    pub cell: String,
    /// Its whole hash, in git.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// When it was made, where the source tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<jiff::Timestamp>,
    /// The first line of its message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The chance that it did it.
    pub odds: f64,
}

/// What a bisection took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tried {
    /// Commits that were built.
    pub built: usize,
    /// Commits without a number.
    pub gaps: usize,
    /// Sessions.
    pub sessions: usize,
    /// Servers launched in them.
    pub launches: usize,
    /// Time of building and measuring, s.
    pub seconds: f64,
}

/// What every sentence needs.
struct Scene<'a> {
    run: &'a Run,
    hunted: &'a Hunted,
    metric: Metric,
    odds: &'a Odds,
}

impl Hunt {
    /// Says how a bisection ended; none of a run that is no bisection. `odds` are those at its end, `metric` the number that decided.
    pub fn new(run: &Run, ending: &Ending, (odds, metric): (&Odds, Metric)) -> Option<Self> {
        let hunted = run.header.bisect.as_ref()?;
        let scene = Scene {
            run,
            hunted,
            metric,
            odds,
        };
        let mut hunt = scene.blank();
        match ending {
            Ending::Found(culprit) | Ending::FoundWithin(culprit) => {
                scene.found(&mut hunt, culprit);
            }
            Ending::NoChange(alike) | Ending::EndsAlike(alike) => {
                let differed = matches!(ending, Ending::NoChange(_));
                scene.alike(&mut hunt, alike, differed);
            }
            Ending::Unresolved(unresolved) => scene.unresolved(&mut hunt, unresolved),
        }
        Some(hunt)
    }

    /// Returns the commit that did it, in few words: `1a2b3c4d5e Copy each body twice`; none where nobody is sure.
    pub fn culprit(&self) -> Option<String> {
        match self.outcome {
            Outcome::Found | Outcome::FoundWithinAGap => {
                let named: Vec<String> = self.suspects.iter().map(Suspect::in_words).collect();
                Some(list(&named, "or"))
            }
            Outcome::NoChange | Outcome::Unresolved => None,
        }
    }

    /// Returns it as text for a terminal that many columns wide.
    pub fn terminal(&self, width: u16) -> String {
        let mut text = format!("{}: {}\n\n", self.outcome.in_words(), self.title);
        let sentences = std::iter::once(&self.sentence).chain(&self.help);
        for sentence in sentences {
            for line in wrapped(sentence, width) {
                let _ = writeln!(text, "{line}");
            }
        }
        text.push('\n');
        for (name, value) in self.facts() {
            let _ = writeln!(text, "{name:10} {value}");
        }
        if self.suspects.len() > 1 {
            let _ = write!(text, "\n{}", bars(&self.suspects));
        }
        for group in &self.gaps {
            let _ = writeln!(text, "gap        {}: {}", group.name, group.cause);
        }
        let _ = writeln!(text, "\nrepeat     {}", self.repeat);
        text
    }

    /// Returns it as GitHub Markdown to paste.
    pub fn markdown(&self) -> String {
        let mut parts = vec![
            format!("### {}: {}", self.outcome.in_words(), escape(&self.title)),
            format!("**{}**", escape(&self.sentence)),
        ];
        parts.extend(self.help.as_deref().map(escape));
        let header = ["what", "found"].map(str::to_owned);
        let facts = self.facts().into_iter();
        let rows: Vec<Vec<String>> = facts
            .map(|(name, value)| vec![escape(name), escape(&value)])
            .collect();
        parts.push(grid(&header, &rows));
        if self.suspects.len() > 1 {
            parts.push(format!(
                "```\n{}```",
                bars(&self.suspects).replace('`', "'")
            ));
        }
        if !self.gaps.is_empty() {
            parts.push(format!("Gaps on the way:\n\n{}", gaps_in_short(&self.gaps)));
        }
        parts.push(format!("Repeat this: {}", code(&self.repeat)));
        parts.join("\n\n") + "\n"
    }

    /// Returns it as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Returns what is known, by name.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        if let [only] = self.suspects.as_slice() {
            facts.push(("commit", only.in_words()));
            facts.extend(only.date.map(|date| ("made", format!("{date:.0}"))));
        }
        let ranged = |percent: Option<f64>, interval: Option<(f64, f64)>| {
            let (percent, interval) = (percent?, interval?);
            let (percent, interval) = (signed_percent(percent), percent_range(interval));
            Some(format!("{} {percent} ({interval})", quantity(self.metric)))
        };
        let effect = ranged(self.effect_percent, self.interval_percent);
        facts.extend(effect.map(|effect| ("effect", effect)));
        let fresh = ranged(self.confirmed_percent, self.confirmed_interval_percent);
        facts.extend(fresh.map(|fresh| ("confirmed", format!("{fresh} in fresh sessions"))));
        facts.push(("odds", odds_in_words(self.odds)));
        facts.push(("searched", self.searched()));
        if !self.dependencies.is_empty() {
            let changes: Vec<String> = self
                .dependencies
                .iter()
                .map(DependencyChange::in_words)
                .collect();
            facts.push(("packages", changes.join(", ")));
        }
        facts
    }

    fn searched(&self) -> String {
        let tried = &self.tried;
        let minutes = tried.seconds / 60.0;
        format!(
            "{} from {} to {}: {} built, {}, {}, {}, {minutes:.1} min",
            count(self.candidates, "candidate"),
            self.good,
            self.bad,
            tried.built,
            count(tried.gaps, "gap"),
            count(tried.sessions, "session"),
            count(tried.launches, "launch").replace("launchs", "launches"),
        )
    }
}

impl Outcome {
    const fn in_words(self) -> &'static str {
        match self {
            Self::Found => "Found",
            Self::FoundWithinAGap => "Found within a gap",
            Self::NoChange => "No change",
            Self::Unresolved => "Unresolved",
        }
    }
}

impl Suspect {
    fn in_words(&self) -> String {
        match &self.subject {
            Some(subject) => one_line(&format!("{} {subject}", self.cell)),
            None => one_line(&self.cell),
        }
    }
}

impl Scene<'_> {
    /// Returns all that is known whatever came of it.
    fn blank(&self) -> Hunt {
        let header = &self.run.header;
        let id = |cell: Option<&Cell>| cell.map(|cell| cell.id.clone()).unwrap_or_default();
        let effect = self.odds.effect;
        Hunt {
            schema: SCHEMA,
            title: header.matrix.title.clone(),
            run: header.run.clone(),
            good: id(header.cells.first()),
            bad: id(header.cells.last()),
            candidates: header.cells.len().saturating_sub(1),
            metric: self.metric,
            improvement: self.hunted.improvement,
            outcome: Outcome::Unresolved,
            sentence: String::new(),
            help: None,
            suspects: Vec::new(),
            odds: 0.0,
            effect_percent: effect.map(|effect| self.change(effect.estimate)),
            interval_percent: effect.map(|effect| self.changes(effect)),
            confirmed_percent: None,
            confirmed_interval_percent: None,
            detectable_percent: None,
            tried: self.tried(),
            gaps: gaps::groups(self.run, &crate::hunt::gaps(self.run), &Past::default()),
            dependencies: Vec::new(),
            repeat: texts::repeat(header),
        }
    }

    fn tried(&self) -> Tried {
        let built = |built: &&Built| matches!(built, Built::Artifact(_));
        let sessions = &self.run.sessions;
        let builds = self.run.builds.values().filter(built);
        let building = builds.clone().map(|built| match built {
            Built::Artifact(artifact) if !artifact.cached => artifact.seconds,
            Built::Artifact(_) | Built::Gap(_) => 0.0,
        });
        let measuring = sessions.iter().map(|session| session.seconds);
        Tried {
            built: builds.count(),
            gaps: crate::hunt::gaps(self.run).len(),
            sessions: sessions.len(),
            launches: sessions.iter().map(|session| session.launches.len()).sum(),
            seconds: building.sum::<f64>() + measuring.sum::<f64>(),
        }
    }

    /// Turns an effect into the change of the number itself, percent.
    fn change(&self, effect: f64) -> f64 {
        let sign = if self.hunted.improvement { -1.0 } else { 1.0 };
        change_percent(self.metric, sign * effect)
    }

    fn changes(&self, effect: Effect) -> (f64, f64) {
        let (low, high) = effect.interval;
        let ends = if self.hunted.improvement {
            (-high, -low)
        } else {
            (low, high)
        };
        changes_percent(self.metric, ends)
    }

    fn suspects(&self, members: &[usize]) -> Vec<Suspect> {
        let suspect = |member: &usize| {
            let version = &self.run.header.cells[*member].version;
            Suspect {
                cell: self.id(*member).to_owned(),
                commit: version.commit.clone(),
                date: version.date,
                subject: version.subject.clone(),
                odds: self.odds.commits.get(*member).copied().unwrap_or(0.0),
            }
        };
        members.iter().map(suspect).collect()
    }

    fn id(&self, cell: usize) -> &str {
        &self.run.header.cells[cell].id
    }

    fn ids(&self, cells: &[usize]) -> Vec<String> {
        cells.iter().map(|cell| self.id(*cell).to_owned()).collect()
    }

    fn found(&self, hunt: &mut Hunt, culprit: &Culprit) {
        let change = self.change(culprit.effect.estimate);
        let claim = claim(self.metric, change);
        let sure = odds_in_words(culprit.odds);
        let before = list(&self.ids(&culprit.against), "and");
        let interval = magnitudes(self.changes(culprit.effect), change);
        hunt.suspects = self.suspects(&culprit.members);
        hunt.odds = culprit.odds;
        hunt.effect_percent = Some(change);
        hunt.interval_percent = Some(self.changes(culprit.effect));
        hunt.confirmed_percent = Some(self.change(culprit.confirmed.estimate));
        hunt.confirmed_interval_percent = Some(self.changes(culprit.confirmed));
        let raced = self.id(culprit.raced);
        if culprit.members.len() == 1 {
            hunt.outcome = Outcome::Found;
            hunt.sentence = format!("{raced} {claim} than {before} ({interval}, {sure} sure)");
        } else {
            hunt.outcome = Outcome::FoundWithinAGap;
            let members = count(culprit.members.len(), "candidate");
            hunt.sentence = format!(
                "{raced} {claim} than {before} ({interval}), and what did it is one of {members} ({sure} sure)"
            );
            let help = "Those between have no number, so nothing can tell them apart; make them build or start, and search again.";
            hunt.help = Some(help.to_owned());
        }
        if let [against] = culprit.against.as_slice() {
            let pair = Pair {
                baseline: *against,
                candidate: culprit.raced,
                skipped: Vec::new(),
            };
            hunt.dependencies = dependency_changes(self.run, &pair);
        }
    }

    fn alike(&self, hunt: &mut Hunt, alike: &Alike, differed: bool) {
        hunt.outcome = Outcome::NoChange;
        hunt.odds = alike.odds;
        let (good, bad) = (hunt.good.as_str(), hunt.bad.as_str());
        hunt.effect_percent = alike.effect.map(|effect| self.change(effect.estimate));
        hunt.interval_percent = alike.effect.map(|effect| self.changes(effect));
        let worse = if self.hunted.improvement {
            "better"
        } else {
            "worse"
        };
        hunt.sentence = if differed {
            format!(
                "{bad} seemed {worse} than {good} at first, and further sessions do not show it"
            )
        } else {
            format!(
                "{bad} is not {worse} than {good}, as far as can be seen: there is nothing to search for"
            )
        };
        let seen = alike.detectable.map(f64::exp_m1);
        hunt.detectable_percent = seen.map(|seen| seen * 100.0);
        hunt.help = hunt.detectable_percent.map(|percent| {
            format!("A change of {percent:.1} % would have been seen with a chance of 80 %. More sessions would show a smaller one: `--sessions`.")
        });
    }

    fn unresolved(&self, hunt: &mut Hunt, unresolved: &Unresolved) {
        hunt.suspects = self.suspects(&unresolved.range);
        hunt.odds = unresolved.odds;
        hunt.confirmed_percent = unresolved.confirmed.map(|one| self.change(one.estimate));
        hunt.confirmed_interval_percent = unresolved.confirmed.map(|one| self.changes(one));
        let (why, help) = self.why(unresolved.why);
        let known = match unresolved.range.as_slice() {
            [] => String::new(),
            [only] => format!("; most likely it is {}", self.id(*only)),
            more => format!("; it is one of {}", count(more.len(), "candidate")),
        };
        hunt.sentence = format!("It could not be decided: {why}{known}");
        hunt.help = Some(help.to_owned());
    }

    fn why(&self, why: Why) -> (String, &'static str) {
        match why {
            Why::EndIsGap { commit } => (
                format!("{} has no number", self.id(commit)),
                "Name an end that builds and starts.",
            ),
            Why::NoNumbers => (
                "several sessions in a row gave no number".to_owned(),
                "`harness log` shows what the servers said; the machine may be too busy.",
            ),
            Why::TooManySessions => (
                "all sessions that were allowed are held".to_owned(),
                "More sessions: `--sessions`. The same command with more goes on from a new journal; what is built is kept.",
            ),
            Why::OutOfTime => (
                "the time was up".to_owned(),
                "The same command goes on where it stopped; `--budget` gives it more time.",
            ),
            Why::Futile => (
                "the sessions that are left would not decide it".to_owned(),
                "The change is small beside the noise of this machine: more sessions (`--sessions`), or a quieter machine.",
            ),
            Why::NotConfirmed => (
                "fresh sessions did not show what the search had found".to_owned(),
                "Something else than the commits changed meanwhile, or the change depends on the launch; search again with another `--seed`.",
            ),
        }
    }
}

/// Returns the odds of the likeliest suspects as bars.
fn bars(suspects: &[Suspect]) -> String {
    let mut sorted: Vec<&Suspect> = suspects.iter().collect();
    sorted.sort_by(|one, other| other.odds.total_cmp(&one.odds));
    let mut text = String::new();
    for suspect in sorted.iter().take(NAMED) {
        let _ = writeln!(text, "{}", bar(suspect.odds, &suspect.in_words()));
    }
    if sorted.len() > NAMED {
        let _ = writeln!(text, "and {} more", sorted.len() - NAMED);
    }
    text
}

/// Returns a chance with one decimal; nothing is quite sure.
fn odds_in_words(odds: f64) -> String {
    let percent = (100.0 * odds).min(99.9);
    format!("{percent:.1} %")
}

fn bar(odds: f64, name: &str) -> String {
    let filled = (0..BAR).filter(|cell| real(*cell) + 0.5 <= odds * real(BAR));
    let bar = "█".repeat(filled.count());
    format!("{bar:·<BAR$} {:>5.1} %  {name}", odds * 100.0)
}

/// Returns what a person sees while it goes on: how it stands, and the likeliest ones.
pub fn standing(run: &Run, odds: &Odds, most: usize) -> Vec<String> {
    let stage = match odds.stage {
        Stage::Ends => "do the ends differ",
        Stage::Search => "searching",
        Stage::Confirm => "confirming",
    };
    let spent = odds.spent.total();
    let left = odds.left.map_or_else(String::new, |left| {
        format!(", about {:.0} to go", left.ceil())
    });
    let range = match odds.range.len() {
        0 => String::new(),
        more => format!(", {} left", count(more, "candidate")),
    };
    let sessions = count(spent.sessions, "session");
    let mut lines = vec![format!(
        "{stage}: {sessions}{left}{range}; no change {}",
        odds_in_words(odds.no_change)
    )];
    let mut likeliest: Vec<usize> = (0..odds.commits.len()).collect();
    likeliest.sort_by(|one, other| odds.commits[*other].total_cmp(&odds.commits[*one]));
    let told = likeliest.into_iter().take(most);
    lines.extend(told.map(|cell| {
        let cell = (odds.commits[cell], &run.header.cells[cell]);
        let subject = cell.1.version.subject.as_deref().unwrap_or_default();
        bar(cell.0, &format!("{} {subject}", cell.1.id))
    }));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisect::{Count, Spent};
    use crate::journal::Purpose;
    use crate::outcome::{Gap, GapKind};
    use crate::verdict::fixture::{NOISE, measure, run};

    /// Four commits after a good one, of which the second does not build; subjects that would break a page.
    fn searched(improvement: bool) -> Run {
        let mut run = run(&["1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0"]);
        run.header.bisect = Some(Hunted {
            parents: (0..5)
                .map(|cell: usize| cell.checked_sub(1).into_iter().collect())
                .collect(),
            improvement,
            certainty: 0.95,
            most_sessions: 120,
        });
        for (cell, number) in run.header.cells.iter_mut().zip(1..) {
            cell.version.commit = Some(format!("{number:040x}"));
            cell.version.subject = Some(format!("Count `|` {number} <script> for @everybody"));
            cell.version.date = jiff::Timestamp::from_second(1_700_000_000 + number).ok();
        }
        let gap = Gap::new(GapKind::Failed, "undefined reference to `x`");
        run.builds.insert(2, Built::Gap(gap));
        measure(
            &mut run,
            Purpose::Measure,
            &[(0, 8000.0), (4, 7600.0)],
            &NOISE,
        );
        run
    }

    const EFFECT: Effect = Effect {
        estimate: -0.042,
        interval: (-0.055, -0.031),
    };

    fn spent() -> Spent {
        Spent {
            search: Count {
                sessions: 8,
                launches: 16,
            },
            ..Spent::default()
        }
    }

    fn culprit(members: Vec<usize>) -> Culprit {
        Culprit {
            raced: members.last().copied().unwrap_or(0),
            members,
            odds: 0.981,
            effect: EFFECT,
            against: vec![1],
            confirmed: Effect {
                estimate: -0.045,
                interval: (-0.08, -0.02),
            },
            spent: spent(),
        }
    }

    fn alike() -> Alike {
        Alike {
            odds: 0.97,
            effect: Some(Effect {
                estimate: -0.001,
                interval: (-0.004, 0.002),
            }),
            detectable: Some(0.009),
            spent: spent(),
        }
    }

    fn unresolved(why: Why) -> Ending {
        Ending::Unresolved(Unresolved {
            why,
            range: vec![2, 3],
            odds: 0.96,
            no_change: 0.01,
            effect: Some(EFFECT),
            confirmed: None,
            spent: spent(),
        })
    }

    fn told(ending: &Ending, improvement: bool) -> Hunt {
        let odds = Odds {
            stage: Stage::Search,
            commits: vec![0.0, 0.01, 0.06, 0.9, 0.02],
            no_change: 0.01,
            range: vec![2, 3],
            effect: Some(EFFECT),
            spent: spent(),
            left: Some(3.4),
        };
        let run = searched(improvement);
        Hunt::new(&run, ending, (&odds, Metric::Throughput)).unwrap()
    }

    #[test]
    fn each_ending_is_told_in_full() {
        let endings = [
            ("found", Ending::Found(culprit(vec![3]))),
            ("found_within", Ending::FoundWithin(culprit(vec![2, 3]))),
            ("no_change", Ending::NoChange(alike())),
            ("ends_alike", Ending::EndsAlike(alike())),
            ("unresolved", unresolved(Why::OutOfTime)),
        ];
        for (name, ending) in endings {
            let hunt = told(&ending, false);
            let text = format!("{}\n---\n{}", hunt.terminal(100), hunt.markdown());
            insta::assert_snapshot!(format!("bisect_{name}"), text);
        }
    }

    #[test]
    fn an_improvement_is_told_as_one() {
        let hunt = told(&Ending::Found(culprit(vec![3])), true);
        assert!(
            hunt.sentence.contains("4.3 % more requests per second"),
            "{}",
            hunt.sentence
        );
        assert!(hunt.interval_percent.unwrap().0 > 0.0, "{hunt:?}");
    }

    #[test]
    fn every_reason_not_to_know_says_what_would_help() {
        for why in [
            Why::EndIsGap { commit: 4 },
            Why::NoNumbers,
            Why::TooManySessions,
            Why::OutOfTime,
            Why::Futile,
            Why::NotConfirmed,
        ] {
            let hunt = told(&unresolved(why), false);
            assert!(
                hunt.sentence.ends_with("it is one of 2 candidates"),
                "{}",
                hunt.sentence
            );
            assert!(hunt.help.is_some_and(|help| help.len() > 20), "{why:?}");
            assert_eq!(hunt.outcome, Outcome::Unresolved);
        }
    }

    #[test]
    fn a_search_that_goes_on_shows_the_likeliest_ones() {
        let run = searched(false);
        let odds = Odds {
            stage: Stage::Search,
            commits: vec![0.0, 0.2, 0.5, 0.3, 0.0],
            no_change: 0.0123,
            range: vec![1, 2, 3],
            effect: None,
            spent: spent(),
            left: Some(3.4),
        };
        let lines = standing(&run, &odds, 2);
        assert_eq!(
            lines[0],
            "searching: 8 sessions, about 4 to go, 3 candidates left; no change 1.2 %"
        );
        assert!(
            lines[1].starts_with("██████████··········  50.0 %  1.2.0 "),
            "{lines:?}"
        );
        assert_eq!(lines.len(), 3);
    }
}

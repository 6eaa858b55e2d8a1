//! A night as it is told: what is new first, then what is still open, then trends, and the machine last. Pure.

use jiff::Timestamp;

use super::markdown::{code, escape, grid};
use super::plot::spark;
use super::words::{
    change_in_words, change_percent, count, is_better_smaller, number, one_line, percent_range,
    signed_percent, stopped,
};
use crate::nightly::{Health, How, Lost, Matter, Open, Recovery, Seen, Story, Trend};

/// Columns of a trend.
const COLUMNS: usize = 30;

/// Returns the first line: what a reader must know if nothing else is read.
pub fn status(stories: &[Story]) -> String {
    let sum = |of: fn(&Story) -> usize| stories.iter().map(of).sum::<usize>();
    let new = |kind: fn(&Matter) -> bool| {
        let open = stories.iter().flat_map(|story| &story.new);
        open.filter(|open| kind(&open.matter)).count()
    };
    let parts = [
        (
            new(is_failure),
            "matrix not measured",
            "matrices not measured",
        ),
        (new(is_regression), "new regression", "new regressions"),
        (new(is_gap), "new gap", "new gaps"),
        (sum(|story| story.recovered.len()), "recovery", "recoveries"),
        (sum(|story| story.open.len()), "still open", "still open"),
    ];
    let told = parts.into_iter().filter(|(many, ..)| *many > 0);
    let told: Vec<String> = told
        .map(|(many, one, more)| format!("{many} {}", if many == 1 { one } else { more }))
        .collect();
    if told.is_empty() {
        return "All well: nothing new, nothing open.".to_owned();
    }
    format!("{}.", told.join(", "))
}

/// Returns whether a matter is a regression.
pub fn is_regression(matter: &Matter) -> bool {
    matches!(matter, Matter::Regression(_))
}

/// Returns whether a matter is a gap.
pub fn is_gap(matter: &Matter) -> bool {
    matches!(matter, Matter::Gap(_))
}

/// Returns whether a matter is that nothing could be measured.
pub fn is_failure(matter: &Matter) -> bool {
    matches!(matter, Matter::Failure(_))
}

/// Returns what is news in plain lines, for a message.
pub fn news(stories: &[Story]) -> String {
    let mut lines = vec![status(stories)];
    for story in stories {
        let new = story.new.iter().map(|open| matter(&open.matter));
        let recovered = story.recovered.iter().map(recovery);
        for line in new.chain(recovered) {
            lines.push(format!("{}: {}", story.matrix, one_line(&line)));
        }
    }
    lines.join("\n")
}

/// Returns the night as GitHub Markdown, ending with a line break.
pub fn markdown(date: &str, stories: &[Story]) -> String {
    let mut parts = vec![
        format!("# Night of {date}"),
        format!("**{}**", escape(&status(stories))),
    ];
    parts.extend(stories.iter().map(of_matrix));
    parts.push(machine(stories));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n") + "\n"
}

/// Returns a section with a title, if there is anything in it.
fn section(title: &str, lines: &[String]) -> Option<String> {
    let items: Vec<String> = lines
        .iter()
        .map(|line| format!("- {}", escape(line)))
        .collect();
    (!items.is_empty()).then(|| format!("### {title}\n\n{}", items.join("\n")))
}

fn of_matrix(story: &Story) -> String {
    let new = |kind: fn(&Matter) -> bool| -> Vec<String> {
        let open = story.new.iter().filter(|open| kind(&open.matter));
        open.map(|open| matter(&open.matter)).collect()
    };
    let recovered: Vec<String> = story.recovered.iter().map(recovery).collect();
    let open: Vec<String> = story
        .open
        .iter()
        .map(|open| aged(open, story.started))
        .collect();
    let accepted = story.accepted.iter();
    let accepted: Vec<String> = accepted
        .map(|(of, reason)| format!("{} (accepted: {reason})", matter(of)))
        .collect();
    let improved: Vec<String> = story.improved.iter().map(step).collect();
    let sections = [
        section("Not measured", &new(is_failure)),
        section("New regressions", &new(is_regression)),
        section("New gaps", &new(is_gap)),
        section("Recovered", &recovered),
        section("Improvements seen tonight", &improved),
        section("Still open", &open),
        section("Accepted", &accepted),
        section("Notes", &story.notes),
        trends(&story.trends),
    ];
    let mut parts = vec![format!("## {}\n\n{}", escape(&story.matrix), counts(story))];
    parts.extend(sections.into_iter().flatten());
    parts.join("\n\n")
}

fn counts(story: &Story) -> String {
    let Some(run) = &story.run else {
        return "Nothing was measured.".to_owned();
    };
    let (measured, pairs, unknown) = story.counts;
    let said = format!(
        "{} measured, {} compared, {unknown} unknown",
        count(measured, "version"),
        count(pairs, "pair"),
    );
    let waiting = match story.waiting {
        0 => String::new(),
        some => format!("; {} that no night has come to yet", count(some, "version")),
    };
    format!("{said}{waiting}; run {}.", code(run))
}

/// Returns one sentence of something wrong.
fn matter(matter: &Matter) -> String {
    match matter {
        Matter::Regression(seen) => step(seen),
        Matter::Gap(gap) => lost(gap),
        Matter::Failure(why) => one_line(why),
    }
}

fn step(seen: &Seen) -> String {
    let Seen {
        baseline,
        candidate,
        metric,
        ..
    } = seen;
    let percent = |effect| change_percent(*metric, effect);
    let effect = seen.effect.map_or_else(String::new, |effect| {
        change_in_words(*metric, percent(effect))
    });
    let interval = seen.interval.map_or_else(String::new, |(low, high)| {
        let turned = is_better_smaller(*metric);
        let (low, high) = if turned { (high, low) } else { (low, high) };
        format!(" ({})", percent_range((percent(low), percent(high))))
    });
    let confirmed = match seen.confirmed {
        Some(true) => ", confirmed",
        Some(false) => ", not confirmed",
        None => "",
    };
    format!("{baseline} → {candidate}: {effect}{interval}{confirmed}")
}

fn lost(gap: &Lost) -> String {
    let cause = one_line(&gap.cause);
    format!("{}: {}: {cause}", gap.cell, stopped(gap.stage, gap.kind))
}

fn recovery(recovery: &Recovery) -> String {
    let since = day(recovery.since);
    let was = matter(&recovery.matter);
    match (&recovery.how, &recovery.matter) {
        (How::MadeUp { by }, _) => format!("{by} made up for it: {was} (found {since})"),
        (How::RacedAgain, _) => format!("raced again and not worse: {was} (found {since})"),
        (How::Measured, Matter::Gap(gap)) => {
            format!(
                "{} has a number again; it was a gap since {since}: {was}",
                gap.cell
            )
        }
        (How::Measured, Matter::Regression(_) | Matter::Failure(_)) => {
            format!("it can be measured again; since {since} it was not: {was}")
        }
    }
}

fn aged(open: &Open, tonight: Timestamp) -> String {
    let days = tonight.duration_since(open.since).as_hours() / 24;
    let days = usize::try_from(days).unwrap_or(0);
    format!(
        "{} (found {}, {} and {} ago)",
        matter(&open.matter),
        day(open.since),
        count(open.nights.saturating_sub(1), "night"),
        count(days, "day"),
    )
}

fn day(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}

/// Returns a table of the last nights; a night that did not measure a version leaves a gap.
fn trends(trends: &[Trend]) -> Option<String> {
    let known = trends
        .iter()
        .flat_map(|trend| trend.levels.iter().flatten());
    let known: Vec<f64> = known.copied().collect();
    let range = (
        known.iter().copied().fold(f64::INFINITY, f64::min),
        known.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    );
    let nights = trends.iter().map(|trend| trend.levels.len()).max()?;
    if nights < 2 {
        return None;
    }
    let rows: Vec<Vec<String>> = trends
        .iter()
        .map(|trend| {
            let last = trend.levels.last().copied().flatten();
            vec![
                escape(&trend.cell),
                code(&spark(&trend.levels, range, COLUMNS)),
                last.map_or_else(|| "-".to_owned(), number),
            ]
        })
        .collect();
    let header = ["version", "the last nights", "fetches/sec"].map(str::to_owned);
    Some(format!(
        "### Trends\n\nThe machine's own drift is in them; `harness history` tells it apart.\n\n{}",
        grid(&header, &rows)
    ))
}

/// Returns how the machine was, by one version against itself.
fn machine(stories: &[Story]) -> String {
    let healths = stories.iter();
    let healths = healths.filter_map(|story| Some((&story.matrix, story.health.as_ref()?)));
    let lines: Vec<String> = healths
        .map(|(matrix, health)| {
            format!("- {}: {}", escape(matrix), escape(&against_itself(health)))
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("## The machine\n\n{}", lines.join("\n"))
}

fn against_itself(health: &Health) -> String {
    let percent = |effect: f64| effect.exp_m1() * 100.0;
    let (low, high) = health.interval;
    let verdict = if health.is_wrong() {
        "a difference where there is none: one night in twenty shows one by chance, more often \
         means that this machine is not fit (`harness doctor --noise`)"
    } else {
        "no difference, as it should be"
    };
    format!(
        "{} against itself: {} ({}, {}, sd {:.1} %): {verdict}.",
        health.cell,
        signed_percent(percent(health.effect)),
        percent_range((percent(low), percent(high))),
        count(health.sessions, "session"),
        percent(health.sd),
    )
}

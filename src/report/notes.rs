//! The report as GitHub Markdown to paste, in the style `release`: one sentence, a small table, and the rest folded. Pure.

use super::fit::{COMMENT, Part, fitted};
use super::markdown::{escape, flagged, gaps_in_short, grid, method, points, repeat};
use super::release::{Against, Release, What};
use super::words::{claim, clipped, count, percent_range, quantity, signed_percent, stopped};
use super::{CellReport, CellState, Figures, Report, Step};

/// Letters of a sentence or a name at most: a journal may hold any.
const LONGEST: usize = 1000;

/// Groups of gaps that are told openly; more are folded.
const OPEN_GAPS: usize = 6;

/// A column: what it is headed with, and the figure in it where that is known.
type Figure = (&'static str, fn(&Figures) -> Option<f64>);

/// Returns the paste, ending with a line break.
pub(super) fn render(report: &Report) -> String {
    let mut parts: Vec<Part> = Vec::new();
    for (place, release) in report.releases.iter().enumerate() {
        let text = told(report, release);
        parts.push(if place == 0 {
            Part::fixed(text)
        } else {
            Part::new("further axes", 1, vec![text, String::new()])
        });
    }
    if report.releases.is_empty() {
        parts.push(Part::fixed("**No version was come to.**".to_owned()));
    }
    let title = format!("{}: {}", report.title, report.status_line());
    let notes = folded("Notes", &points(&report.warnings));
    parts.push(Part::fixed(escape(&clipped(&title, LONGEST))));
    parts.extend(steps(report));
    let (few, more) = report.gaps.split_at(report.gaps.len().min(OPEN_GAPS));
    let few = match gaps_in_short(few) {
        none if none.is_empty() => none,
        few => format!("Gaps:\n\n{few}"),
    };
    let dispensable = [
        ("gaps", 2, few),
        (
            "further gaps",
            7,
            folded("Further gaps", &gaps_in_short(more)),
        ),
        ("notes", 4, notes),
        ("method", 5, folded("How it was measured", &method(report))),
        (
            "how to repeat it",
            3,
            folded("Repeat this", &repeat(report)),
        ),
    ];
    let part = |(name, rank, text)| Part::new(name, rank, vec![text, String::new()]);
    parts.extend(dispensable.map(part));
    fitted(parts, COMMENT)
}

/// Returns text that is seen when somebody asks for it; nothing of nothing.
fn folded(summary: &str, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("<details><summary>{summary}</summary>\n\n{text}\n\n</details>")
}

/// Returns the sentences and the table of one release.
fn told(report: &Report, release: &Release) -> String {
    let axes = match release.axes.as_str() {
        "" => String::new(),
        axes => format!("{axes}: "),
    };
    let first = format!("{axes}{}.", sentence(report, release));
    let mut text = format!("**{}**", escape(&clipped(&first, LONGEST)));
    for other in others(report, release) {
        let sentence = format!("{}.", other.assertion());
        text = format!("{text} {}", escape(&clipped(&sentence, LONGEST)));
    }
    if release.against.is_empty() {
        return text;
    }
    let summed = release.against.iter().any(|one| one.pairs.len() > 1);
    let note = if summed {
        "\n\nA change over several steps is the sum of theirs; its interval holds for itself alone."
    } else {
        ""
    };
    format!("{text}\n\n{}{note}", table(report, release))
}

/// Returns what is said first of a release, without its full stop.
fn sentence(report: &Report, release: &Release) -> String {
    let cell = &report.cells[release.cell];
    if let CellState::Gap { gap } = &cell.state {
        let stopped = stopped(gap.stage, gap.kind);
        return format!("{} has no number: {stopped}: {}", cell.version, gap.cause);
    }
    match (release.compared(), release.against.first()) {
        (Some(pair), _) => report.pairs[pair].assertion(),
        (None, Some(against)) => sum(report, cell, against),
        (None, None) => format!(
            "{} is the first version with a number: there is nothing to hold it against",
            cell.version
        ),
    }
}

/// Returns what several steps together made of a version, without a full stop.
fn sum(report: &Report, cell: &CellReport, against: &Against) -> String {
    let (candidate, baseline) = (&cell.version, &report.cells[against.cell].version);
    let steps = format!("the sum of {}", count(against.pairs.len(), "step"));
    let (Some(effect), Some((low, high))) = (against.effect_percent, against.interval_percent)
    else {
        return format!("What {candidate} is against {baseline} is not known");
    };
    let interval = percent_range((low, high));
    if low < 0.0 && high > 0.0 {
        let change = signed_percent(effect);
        let quantity = quantity(against.metric);
        return format!(
            "Whether {candidate} is better or worse than {baseline} is unknown; {quantity} {change} ({interval}, {steps})"
        );
    }
    let claim = claim(against.metric, effect);
    format!("{candidate} {claim} than {baseline} ({interval}, {steps})")
}

/// Returns what is flagged by further numbers between a release and the version that it is compared with.
fn others<'a>(report: &'a Report, release: &Release) -> impl Iterator<Item = &'a Step> {
    let pair = release.compared().map(|pair| &report.pairs[pair]);
    let of_pair = move |step: &&Step| pair.is_some_and(|pair| pair.is_of_same_cells(step));
    let others = report.others.iter();
    others.filter(|step| step.is_flagged()).filter(of_pair)
}

fn table(report: &Report, release: &Release) -> String {
    let newest = &report.cells[release.cell];
    let figures: [Figure; 3] = [
        ("CPU µs/answer", |figures| figures.cpu_us_per_answer),
        ("memory MiB", |figures| {
            figures.pss_mib.or(figures.rss_peak_mib)
        }),
        ("start-up ms", |figures| figures.startup_ms),
    ];
    let cells = release.against.iter().map(|one| &report.cells[one.cell]);
    let cells: Vec<&CellReport> = std::iter::once(newest).chain(cells).collect();
    let any = |(_, take): &&Figure| {
        cells
            .iter()
            .any(|cell| cell.figures().and_then(*take).is_some())
    };
    let figures: Vec<&Figure> = figures.iter().filter(any).collect();
    let row = |cell: &&CellReport, name: String, change: [String; 3]| -> Vec<String> {
        let level = cell.level().map(|level| level.fetches_per_second);
        let known =
            |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), |it| report.shown(it));
        let entries = figures
            .iter()
            .map(|(_, take)| known(cell.figures().and_then(*take)));
        let first = [vec![name, known(level)], change.to_vec()].concat();
        first.into_iter().chain(entries).collect()
    };
    let name = clipped(&newest.version, LONGEST);
    let bold = format!("**{}**", escape(&name));
    let mut rows = vec![row(&newest, bold, [const { String::new() }; 3])];
    rows.extend(
        std::iter::zip(&release.against, &cells[1..])
            .map(|(one, cell)| row(cell, named(report, one), change(report, one))),
    );
    let change_of = format!("{} against it", escape(&name));
    let header = [
        "version",
        "fetches/sec",
        change_of.as_str(),
        "interval",
        "how sure",
    ]
    .into_iter();
    let header = header.chain(figures.iter().map(|(name, _)| *name));
    grid(&header.map(str::to_owned).collect::<Vec<_>>(), &rows)
}

/// Returns a version with what it is to the newest.
fn named(report: &Report, one: &Against) -> String {
    let what = match one.what {
        What::Asked => "as asked",
        What::Compared => report.compared_with.as_str(),
        What::LastMinor => "the last minor version",
    };
    let version = clipped(&report.cells[one.cell].version, LONGEST);
    format!("{}, {}", escape(&version), escape(what))
}

/// Returns the change against a version, its interval and how sure it is.
fn change(report: &Report, one: &Against) -> [String; 3] {
    let none = || "none".to_owned();
    let sure = match one.pairs.as_slice() {
        [pair] => report.pairs[*pair].conclusion(),
        pairs => format!("sum of {}", count(pairs.len(), "step")),
    };
    let told = |percent| format!("{} {}", signed_percent(percent), quantity(one.metric));
    [
        one.effect_percent.map_or_else(none, told),
        one.interval_percent.map_or_else(none, percent_range),
        escape(&sure),
    ]
}

/// Returns whether the sentences hold all that there is to say of a step.
fn is_told(report: &Report, step: &Step) -> bool {
    let compared = report.releases.iter().filter_map(Release::compared);
    let mut compared = compared.map(|pair| &report.pairs[pair]);
    let more = step.culprit.is_some() || step.other_changes().is_some();
    !more && compared.any(|pair| pair.is_of_same_cells(step))
}

/// Returns the flagged steps that lead to the releases, and folded those before.
fn steps(report: &Report) -> Vec<Part> {
    let ways = report.releases.iter().flat_map(|release| &release.against);
    let on_way: Vec<&Step> = ways
        .flat_map(|one| &one.pairs)
        .map(|pair| &report.pairs[*pair])
        .collect();
    let is_near = |step: &Step| on_way.iter().any(|near| near.is_of_same_cells(step));
    let (mut near, far): (Vec<&Step>, Vec<&Step>) =
        report.flagged().partition(|step| is_near(step));
    near.retain(|step| !is_told(report, step));
    let lines = |steps: &[&Step]| {
        let lines: Vec<String> = steps.iter().map(|step| flagged(step)).collect();
        lines.join("\n")
    };
    let near = if near.is_empty() {
        String::new()
    } else {
        format!("Steps on the way:\n\n{}", lines(&near))
    };
    vec![
        Part::new("steps", 2, vec![near, String::new()]),
        Part::new(
            "steps before",
            6,
            vec![folded("Steps before", &lines(&far)), String::new()],
        ),
    ]
}

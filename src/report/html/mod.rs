//! A report as one HTML file: it asks nobody for anything, and works with the keyboard and without scripts. Pure.

use std::fmt::Write as _;

use super::words::{list, number, one_line, p_value, share, stopped};
use super::{CellReport, CellState, Figures, GapGroup, Picture, Report, Step};
use crate::verdict::Verdict;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// What makes a file of its own an SVG.
const NAMESPACE: &str = " xmlns=\"http://www.w3.org/2000/svg\"";

/// Lays out a report; `root` is the way from the file's folder to that of the project, where logs are.
pub(super) fn render(report: &Report, root: &str) -> String {
    let sections = [
        steps(report),
        charts(report),
        versions(report),
        pairs(report),
        gaps(report, root),
        sentences("Warnings", &report.warnings),
        machine(report),
        sentences("Method", &report.method),
        repeat(report),
    ];
    let title = escape(&report.title);
    let news = report.news.sentences();
    let news = news.iter().map(|said| format!("<p>{}</p>\n", escape(said)));
    page(
        &report.title,
        &format!(
            "<header>\n<h1>{title}</h1>\n<p class=\"status\">{}</p>\n{}</header>\n<main id=\"main\">\n{}</main>",
            escape(&report.status_line()),
            news.collect::<String>(),
            sections.concat(),
        ),
    )
}

/// Puts a body into a whole page.
pub(crate) fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">To the figures</a>\n{body}\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        escape(title)
    )
}

/// Returns text that reads as itself in HTML, also inside an attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(character),
            character if character.is_control() => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}

/// Returns a section; nothing where there is nothing in it.
fn section(title: &str, inside: &str) -> String {
    if inside.is_empty() {
        return String::new();
    }
    format!(
        "<section>\n<h2>{}</h2>\n{inside}</section>\n",
        escape(title)
    )
}

fn sentences(title: &str, all: &[String]) -> String {
    let said = all.iter().map(|said| format!("<p>{}</p>\n", escape(said)));
    section(title, &said.collect::<String>())
}

fn steps(report: &Report) -> String {
    let item = |step: &Step| {
        format!(
            "<li><strong>{}</strong>: <span class=\"{}\">{}</span></li>\n",
            escape(&step.name()),
            class(step.verdict),
            escape(&step.sentence())
        )
    };
    let items: String = report.flagged().map(item).collect();
    if items.is_empty() {
        return section("Steps", "<p>No step is flagged.</p>\n");
    }
    section("Steps", &format!("<ul>\n{items}</ul>\n"))
}

/// Returns the charts as parts of the page, so that pointing at a version says what it is.
fn charts(report: &Report) -> String {
    let figure = |picture: Picture| {
        // Inside a page the namespace goes without saying, and nothing in the page names an address.
        let svg = picture.svg.replacen(NAMESPACE, "", 1);
        format!("<figure class=\"scroll\">\n{svg}</figure>\n")
    };
    let figures = report.pictures().into_iter().map(figure);
    section("Charts", &figures.collect::<String>())
}

/// Returns what colours a verdict; the words say it too.
fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regression => "worse",
        Verdict::Improvement => "better",
        Verdict::Same | Verdict::Unknown | Verdict::Incomparable => "plain",
    }
}

/// A column of a table: its name, and what is in it as shown and as sorted.
type Column<T> = (&'static str, fn(&T) -> (String, Option<f64>));

/// Lays out a table whose columns can be sorted. `first` makes the first entry of a row, `noted` says which rows are of note.
fn table<T>(
    (id, caption): (&str, &str),
    rows: &[T],
    columns: &[Column<T>],
    first: &dyn Fn(&T) -> String,
    noted: &dyn Fn(&T) -> bool,
) -> String {
    let mut text = format!(
        "<div class=\"scroll\">\n<table class=\"sortable\" id=\"{id}\">\n<caption>{}</caption>\n<thead><tr>",
        escape(caption)
    );
    let names = std::iter::once("version").chain(columns.iter().map(|(name, _)| *name));
    for name in names {
        let name = escape(name);
        let _ = write!(
            text,
            "<th scope=\"col\"><button type=\"button\">{name}</button></th>"
        );
    }
    text.push_str("</tr></thead>\n<tbody>\n");
    for (place, row) in rows.iter().enumerate() {
        let noted = if noted(row) { "yes" } else { "no" };
        let first = first(row);
        let _ = write!(
            text,
            "<tr data-noted=\"{noted}\"><th scope=\"row\" data-value=\"{place}\">{first}</th>"
        );
        for (_, entry) in columns {
            let (shown, value) = entry(row);
            // Numbers end below one another; words begin so.
            let value = match value.filter(|value| value.is_finite()) {
                Some(value) => format!(" class=\"number\" data-value=\"{value}\""),
                None => String::new(),
            };
            let _ = write!(text, "<td{value}>{}</td>", escape(&shown));
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody>\n</table>\n</div>\n");
    text
}

/// A version with the step to it.
type Version<'a> = (&'a CellReport, Option<&'a Step>);

fn versions(report: &Report) -> String {
    let step = |cell: &CellReport| cell.pair.and_then(|pair| report.pairs.get(pair));
    let rows: Vec<Version<'_>> = report.cells.iter().map(|cell| (cell, step(cell))).collect();
    if rows.is_empty() {
        return String::new();
    }
    let columns: [Column<Version<'_>>; 8] = [
        ("fetches/sec", |(cell, _)| shown(level(cell))),
        ("± %", |(cell, _)| {
            let error = level_error(cell);
            (error.map_or_else(String::new, share), error)
        }),
        ("change", |(_, step)| match step {
            Some(step) => (step.effect(), step.effect_percent),
            None => (String::new(), None),
        }),
        ("latency p50 ms", |(cell, _)| {
            shown(figure(cell, |figures| Some(figures.latency_p50_ms)))
        }),
        ("p99 ms", |(cell, _)| {
            shown(figure(cell, |figures| Some(figures.latency_p99_ms)))
        }),
        ("CPU µs/answer", |(cell, _)| {
            shown(figure(cell, |figures| figures.cpu_us_per_answer))
        }),
        ("peak RSS MiB", |(cell, _)| {
            shown(figure(cell, |figures| figures.rss_peak_mib))
        }),
        ("verdict", |version| (verdict(version), None)),
    ];
    let filter = "<div class=\"filter\" id=\"filter\" hidden>\n<label>Filter versions\n<input type=\"search\"></label>\n\
                  <label class=\"check\"><input type=\"checkbox\"> only steps and gaps</label>\n\
                  <span id=\"shown\" role=\"status\"></span>\n</div>\n";
    let caption = format!(
        "Every version in order, compared with {}; a gap has no number.",
        report.compared_with
    );
    let noted = |(cell, step): &Version<'_>| {
        matches!(cell.state, CellState::Gap { .. }) || step.is_some_and(Step::is_flagged)
    };
    let table = table(("versions", &caption), &rows, &columns, &named, &noted);
    section("Versions", &format!("{filter}{table}"))
}

/// Returns a version's name, which opens to all its figures.
fn named((cell, _): &Version<'_>) -> String {
    let id = escape(&cell.id);
    let CellState::Measured {
        figures: Some(figures),
        ..
    } = &cell.state
    else {
        return id;
    };
    let optional = |figure: Option<f64>| figure.map_or_else(|| "not known".to_owned(), number);
    let triple =
        |triple: &super::Triple| [triple.mean, triple.max, triple.min].map(number).join(", ");
    let rows = [
        ("solo trials", figures.trials.to_string()),
        ("bytes/sec", number(figures.bytes_per_second)),
        ("msecs/connect mean, max, min", triple(&figures.connect_ms)),
        (
            "msecs/first-response mean, max, min",
            triple(&figures.first_response_ms),
        ),
        ("latency p90 ms", number(figures.latency_p90_ms)),
        ("latency max ms", number(figures.latency_max_ms)),
        ("PSS MiB", optional(figures.pss_mib)),
        ("threads", optional(figures.threads)),
        ("start-up ms", optional(figures.startup_ms)),
    ];
    let rows = rows.map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>", escape(&value)));
    format!(
        "<details><summary>{id}</summary><dl>{}</dl></details>",
        rows.concat()
    )
}

fn shown(value: Option<f64>) -> (String, Option<f64>) {
    (value.map_or_else(|| "-".to_owned(), number), value)
}

fn level(cell: &CellReport) -> Option<f64> {
    match &cell.state {
        CellState::Measured { level, .. } => level.as_ref().map(|level| level.fetches_per_second),
        CellState::Gap { .. } | CellState::Pending => None,
    }
}

fn level_error(cell: &CellReport) -> Option<f64> {
    match &cell.state {
        CellState::Measured { level, .. } => level.as_ref()?.relative_error,
        CellState::Gap { .. } | CellState::Pending => None,
    }
}

fn figure(cell: &CellReport, of: fn(&Figures) -> Option<f64>) -> Option<f64> {
    match &cell.state {
        CellState::Measured { figures, .. } => of(figures.as_ref()?),
        CellState::Gap { .. } | CellState::Pending => None,
    }
}

fn verdict((cell, step): &Version<'_>) -> String {
    match &cell.state {
        CellState::Gap { gap } => format!("gap: {}", stopped(gap.stage, gap.kind)),
        CellState::Pending => "not come to yet".to_owned(),
        CellState::Measured { .. } => step.map_or_else(String::new, Step::conclusion),
    }
}

fn pairs(report: &Report) -> String {
    let rows: Vec<&Step> = report.pairs.iter().chain(&report.others).collect();
    if rows.is_empty() {
        return String::new();
    }
    let columns: [Column<&Step>; 6] = [
        ("change of", |step| (step.quantity().to_owned(), None)),
        ("effect", |step| (step.effect(), step.effect_percent)),
        ("interval", |step| {
            (step.interval(), step.interval_percent.map(|(low, _)| low))
        }),
        ("p (adjusted)", |step| {
            (
                step.adjusted_p.map_or_else(|| "none".to_owned(), p_value),
                step.adjusted_p,
            )
        }),
        ("sessions", |step| {
            (
                step.sessions.to_string(),
                Some(crate::stats::real(step.sessions)),
            )
        }),
        ("verdict", |step| (step.conclusion(), None)),
    ];
    let first = |step: &&Step| {
        let across = list(&step.skipped_versions(), "and");
        let across = if across.is_empty() {
            across
        } else {
            format!(" (across {across})")
        };
        escape(&format!("{}{across}", step.name()))
    };
    let caption = "Every pair, percent of the baseline.";
    let noted = |step: &&Step| step.is_flagged();
    section(
        "Pairs",
        &table(("pairs", caption), &rows, &columns, &first, &noted),
    )
}

fn gaps(report: &Report, root: &str) -> String {
    let groups = report.gaps.iter().map(|group| gap(group, root));
    section("Gaps", &groups.collect::<String>())
}

fn gap(group: &GapGroup, root: &str) -> String {
    let known = group.acknowledged.as_ref();
    let known = known.map_or_else(String::new, |reason| format!(" (known: {reason})"));
    let mut text = format!(
        "<h3><span class=\"gap\">{}</span></h3>\n<p>{}: {}{}</p>\n",
        escape(&group.name),
        escape(&stopped(group.stage, group.kind)),
        escape(&one_line(&group.cause)),
        escape(&known),
    );
    if let Some(hint) = &group.hint {
        let _ = writeln!(text, "<p>Try: {}</p>", escape(hint));
    }
    if !group.errors.is_empty() {
        let _ = writeln!(text, "<pre>{}</pre>", escape(&group.errors.join("\n")));
    }
    let link = |log: &std::path::PathBuf| {
        let path = escape(&log.display().to_string());
        let way = escape(&address(&format!("{root}{}", log.display())));
        format!("<li><a href=\"{way}\">{path}</a></li>\n")
    };
    let logs: String = group.logs.iter().map(link).collect();
    if !logs.is_empty() {
        let _ = writeln!(
            text,
            "<details><summary>Logs</summary><ul>\n{logs}</ul></details>"
        );
    }
    text
}

/// Returns a path as a relative address, with what an address gives a meaning to written as its code.
fn address(path: &str) -> String {
    let mut address = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~=+@,".contains(&byte) {
            address.push(char::from(byte));
        } else {
            let _ = write!(address, "%{byte:02X}");
        }
    }
    address
}

fn machine(report: &Report) -> String {
    let rows = report.machine.iter();
    let rows =
        rows.map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(value)));
    section(
        "Machine",
        &format!("<dl>\n{}</dl>\n", rows.collect::<String>()),
    )
}

fn repeat(report: &Report) -> String {
    let inside = format!(
        "<p>Run {} with Harness {}, begun {:.0}, seed {}.</p>\n<pre>{}</pre>\n",
        escape(&report.run),
        escape(&report.harness),
        report.started,
        report.seed,
        escape(&report.repeat)
    );
    section("Repeat this", &inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Built, Purpose};
    use crate::outcome::{Gap, GapKind};
    use crate::report::Past;
    use crate::verdict::fixture::{NOISE, measure, run};
    use crate::verdict::judge;

    /// A version that would break what it is put into, one that is slower, and a gap.
    fn report() -> Report {
        let mut run = run(&["1.0.0", "1.1.0", "<script>alert('x')</script>\"&"]);
        let gap = Gap::new(GapKind::Failed, "</pre><script>no</script>").with_log("logs/a b#c.log");
        run.builds.insert(2, Built::Gap(gap));
        measure(
            &mut run,
            Purpose::Measure,
            &[(0, 8000.0), (1, 7000.0)],
            &NOISE,
        );
        Report::new(&run, &judge(&run), &Past::default())
    }

    /// Returns the names of the elements that are open at the end, and fails where one is closed that is not open.
    fn left_open(html: &str) -> Vec<String> {
        let void = ["meta", "input", "!doctype"];
        let mut open = Vec::new();
        let html = html.replace(SCRIPT, "").replace(STYLE, "");
        for tag in html.split('<').skip(1) {
            let tag = tag.split_once('>').unwrap().0;
            let name = tag.split_whitespace().next().unwrap().to_owned();
            if tag.ends_with('/') {
                continue;
            }
            match name.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop().as_deref(), Some(name)),
                None if void.contains(&name.as_str()) => {}
                None => open.push(name),
            }
        }
        open
    }

    #[test]
    fn every_element_is_closed_and_no_value_is_an_element() {
        let html = render(&report(), "../");
        assert_eq!(left_open(&html), Vec::<String>::new());
        assert_eq!(html.matches("<script>").count(), 1, "its own and no other");
        assert!(html.contains("&lt;script&gt;alert(&#39;x&#39;)"), "{html}");
    }

    #[test]
    fn all_that_is_said_is_in_it_and_nothing_is_asked_for_elsewhere() {
        let report = report();
        let html = render(&report, "../");
        for text in [
            "1.0.0 → 1.1.0",
            "gap: build failed",
            "Repeat this",
            "only steps and gaps",
            "<h2>Charts</h2>",
            "<svg class=\"chart\"",
        ] {
            assert!(html.contains(text), "{text}");
        }
        assert!(html.contains("href=\"../logs/a%20b%23c.log\""), "{html}");
        assert_eq!(html.matches("url(").count(), html.matches("url(#").count());
        for word in ["http:", "https:", "src=", "@import"] {
            assert!(!html.contains(word), "{word}");
        }
    }
}

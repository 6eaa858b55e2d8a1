//! A history as text for a terminal, as Markdown and as JSON.

use jiff::Timestamp;

use super::markdown::{code, escape, grid};
use super::plot::{BAR, bar, spark};
use super::words::{as_percent, command, count, list, number, one_line, p_value, signed_percent};
use crate::history::{Change, History, LeftOut, Line, Of, Shape, Suspect, Why};
use crate::stats::real;

/// Columns of a picture of nights at most.
const COLUMNS: usize = 60;

/// Below so many versions in a night, the median over them is one of them.
const ENOUGH_VERSIONS: usize = 3;

/// Runs that are named one by one.
const NAMED: usize = 4;

/// So many of a hundred nights of each version have their place in a picture; the wildest may lie beyond its end.
const DRAWN: usize = 90;

impl History {
    /// Returns the history for a terminal, ending with a line break.
    pub fn terminal(&self) -> String {
        let mut lines = vec![one_line(&self.title), self.status(), String::new()];
        lines.extend(self.table());
        lines.push(String::new());
        lines.extend(self.sentences().iter().map(|one| one_line(one)));
        let notes = self.notes().into_iter();
        lines.extend(notes.map(|note| one_line(&format!("note: {note}"))));
        lines.push(String::new());
        lines.join("\n")
    }

    /// Returns the history as GitHub Markdown, ending with a line break.
    pub fn markdown(&self) -> String {
        let bullets = |heading: &str, sentences: &[String]| {
            let lines = sentences.iter().map(|one| format!("- {}", escape(one)));
            match sentences {
                [] => String::new(),
                [_, ..] => format!("## {heading}\n\n{}", lines.collect::<Vec<_>>().join("\n")),
            }
        };
        let sections = [
            format!("# History of {}", escape(&self.title)),
            escape(&self.status()),
            self.grid(),
            self.legend(),
            bullets("Changes", &self.sentences()),
            bullets("Notes", &self.notes()),
        ];
        let sections: Vec<String> = sections.into_iter().filter(|one| !one.is_empty()).collect();
        format!("{}\n", sections.join("\n\n"))
    }

    /// Returns the history as JSON, ending with a line break.
    pub fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|text| format!("{text}\n"))
    }

    fn status(&self) -> String {
        let days = match (self.nights.first(), self.nights.last()) {
            (Some(first), Some(last)) => {
                format!(", {} to {}", day(first.started), day(last.started))
            }
            _ => String::new(),
        };
        let sure = self.changes.iter().filter(|change| change.sure).count();
        format!(
            "{}{days}; {}, {} series looked at, {} and {}; {} left out.",
            count(self.nights.len(), "run"),
            count(self.versions.len(), "version"),
            self.series,
            count(sure, "change"),
            count(self.changes.len() - sure + self.suspects.len(), "suspect"),
            count(self.left_out.len(), "run"),
        )
    }

    /// Returns the machine's series and then a line for each version.
    fn table(&self) -> Vec<String> {
        let names = self.versions.iter().map(|line| line.id.chars().count());
        let width = names.max().unwrap_or(0).max("version".len());
        let columns = self.columns();
        let row = |name: &str, picture: &str, rest: &str| {
            let line = format!("{:width$}  {picture:columns$}  {rest}", one_line(name));
            line.trim_end().to_owned()
        };
        let head = format!("{:>11}  {:>4}  {:>8}", "fetches/sec", "runs", "change");
        let mut lines = Vec::new();
        if self.nights.len() > 1 {
            lines.push(row("machine", &self.machine_picture(), ""));
        }
        lines.push(row("version", "", &head));
        let end = self.end();
        lines.extend(self.versions.iter().map(|line| {
            let figures = format!(
                "{:>11}  {:>4}  {:>8}",
                number(line.fetches_per_second),
                line.measured,
                drift(line)
            );
            row(&line.id, &self.picture(line, end), &figures)
        }));
        lines.extend([String::new(), self.legend()]);
        lines
    }

    fn grid(&self) -> String {
        let header = ["", "runs, oldest first", "fetches/sec", "runs", "change"];
        let mut rows = Vec::new();
        if self.nights.len() > 1 {
            let machine = ["machine".to_owned(), code(&self.machine_picture())];
            rows.push([&machine, &[const { String::new() }; 3][..]].concat());
        }
        let end = self.end();
        rows.extend(self.versions.iter().map(|line| {
            vec![
                escape(&line.id),
                code(&self.picture(line, end)),
                number(line.fetches_per_second),
                line.measured.to_string(),
                drift(line),
            ]
        }));
        grid(&header.map(str::to_owned), &rows)
    }

    /// Returns the columns of a picture.
    fn columns(&self) -> usize {
        match self.nights.len() {
            1 => BAR,
            nights => nights.min(COLUMNS),
        }
    }

    /// Draws a version over the nights; where there is but one, as a bar beside the other versions.
    fn picture(&self, line: &Line, end: f64) -> String {
        match self.nights.len() {
            1 => bar(line.fetches_per_second, end),
            _ => spark(&line.residuals, (-end, end), COLUMNS),
        }
    }

    fn machine_picture(&self) -> String {
        let values: Vec<Option<f64>> = self.machine.iter().copied().map(Some).collect();
        spark(&values, self.machine_ends(), COLUMNS)
    }

    /// Returns the slowest and the fastest night, never nearer to the median than what is worth telling.
    fn machine_ends(&self) -> (f64, f64) {
        let least = self.min_effect.ln_1p();
        let (low, high) = (self.machine.iter().copied(), self.machine.iter().copied());
        (low.fold(-least, f64::min), high.fold(least, f64::max))
    }

    /// Returns how far the pictures of all versions go, so that they can be held against each other.
    fn end(&self) -> f64 {
        if self.nights.len() == 1 {
            let levels = self.versions.iter().map(|line| line.fetches_per_second);
            return levels.fold(0.0, f64::max);
        }
        let usual = |line: &Line| {
            let sizes = line.residuals.iter().flatten().map(|left| left.abs());
            let mut sizes: Vec<f64> = sizes.collect();
            sizes.sort_by(f64::total_cmp);
            sizes.get(sizes.len() * DRAWN / 100).copied()
        };
        let least = self.min_effect.ln_1p();
        self.versions.iter().filter_map(usual).fold(least, f64::max)
    }

    /// Returns what the pictures mean.
    fn legend(&self) -> String {
        if self.nights.len() == 1 {
            return "Bars begin at zero.".to_owned();
        }
        let (low, high) = self.machine_ends();
        let end = self.end();
        let fold = match self.nights.len() {
            nights if nights > COLUMNS => {
                format!(
                    "a column is the median of {:.0} runs",
                    real(nights) / real(COLUMNS)
                )
            }
            _ => "a column is a run".to_owned(),
        };
        let percent = |log: f64| signed_percent(as_percent(log));
        format!(
            "From left to right {fold}, · none. Machine: ▁ {}, █ {} against the median run. Versions: ▁ {} or less, █ {} or more \
             against their own level, the machine taken out.",
            percent(low),
            percent(high),
            percent(-end),
            percent(end)
        )
    }

    /// Returns what changed and what is suspected, one sentence each.
    fn sentences(&self) -> Vec<String> {
        let mut sentences: Vec<String> = self.changes.iter().map(change).collect();
        sentences.extend(self.suspects.iter().map(suspect));
        sentences.extend(self.boils.iter().cloned());
        if sentences.is_empty() {
            sentences.push("No change is seen.".to_owned());
        }
        sentences
    }

    /// Returns what a reader should know, one sentence each.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.nights.len() == 1 {
            let again =
                command(&["harness", "run", &self.file.display().to_string()].map(str::to_owned));
            notes.push(format!(
                "there is only one run to look at, so nothing can be said of a change from run to run; `{again}` makes another."
            ));
        } else if self.versions_a_night < ENOUGH_VERSIONS {
            notes.push(format!(
                "the usual run has {}: below three, what the machine does and what a version does can hardly be told apart.",
                count(self.versions_a_night, "version")
            ));
        }
        notes.extend(left_out(&self.left_out));
        notes
    }
}

fn drift(line: &Line) -> String {
    let percent = |drift| signed_percent(as_percent(drift));
    line.drift.map_or("-".to_owned(), percent)
}

fn day(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}

/// Returns when a change came; where two runs are of one day, to the minute.
fn when(change: &Change) -> String {
    if day(change.after) == day(change.on) {
        return change.on.strftime("%Y-%m-%d %H:%M").to_string();
    }
    day(change.on)
}

/// Returns `4.1 % slower` or `4.1 % faster`.
fn by(effect: f64) -> String {
    let way = if effect < 0.0 { "slower" } else { "faster" };
    format!("{:.1} % {way}", as_percent(effect).abs())
}

fn change(change: &Change) -> String {
    let what = match &change.of {
        Of::Machine => format!("the machine got {} on {}", by(change.effect), when(change)),
        Of::Version(id) => format!(
            "{id} got {} on {} against the others, though it is the same version",
            by(change.effect),
            when(change)
        ),
        Of::Pair(baseline, candidate) => format!(
            "{candidate} got {} against {baseline} on {}",
            by(change.effect),
            when(change)
        ),
    };
    let program = match change.new_program {
        None => "",
        Some(true) => "; its program is another than before, so what it is built from changed",
        Some(false) => {
            "; its program is the same, byte for byte, so what it runs on or with changed"
        }
    };
    let suspect = if change.sure { "" } else { "suspect: " };
    format!(
        "{suspect}{what} ({} before, {} since, {}){program}.",
        count(change.nights.0, "run"),
        change.nights.1,
        p_value(change.adjusted_p)
    )
}

fn suspect(suspect: &Suspect) -> String {
    let rerun = command(&suspect.rerun);
    match suspect.shape {
        Shape::Step => format!(
            "suspect: from {} on, versions are {} than those up to {}, by one value of each; `{rerun}` would decide it.",
            suspect.version,
            by(suspect.effect),
            suspect.before
        ),
        Shape::Single => format!(
            "suspect: {} alone is {} than its neighbours, which one value cannot tell from a bad moment; `{rerun}` would decide it.",
            suspect.version,
            by(suspect.effect)
        ),
    }
}

/// Returns which runs are no part of it and why, those of one reason together.
fn left_out(runs: &[LeftOut]) -> Vec<String> {
    let mut reasons: Vec<&Why> = runs.iter().map(|one| &one.why).collect();
    reasons.sort();
    reasons.dedup();
    let sentence = |why: &Why| {
        let of = runs.iter().filter(|one| one.why == *why);
        let mut names: Vec<String> = of.map(|one| one.run.clone()).collect();
        names.sort();
        let many = count(names.len(), "run");
        let more = names.len().saturating_sub(NAMED);
        names.truncate(NAMED);
        names.extend((more > 0).then(|| format!("{more} more")));
        format!(
            "{many} left out, {}: {}.",
            because(why),
            list(&names, "and")
        )
    };
    reasons.into_iter().map(sentence).collect()
}

fn because(why: &Why) -> String {
    match why {
        Why::Unreadable(error) => format!("the journal cannot be read ({error})"),
        Why::Unfinished => "not ended".to_owned(),
        Why::OtherLoad => "another load, check or generator than the newest run".to_owned(),
        Why::OtherMetric => "another number decides than in the newest run".to_owned(),
        Why::OtherMachine(facts) if facts.is_empty() => {
            "another machine than that of the newest run".to_owned()
        }
        Why::OtherMachine(facts) => format!(
            "another machine than that of the newest run ({})",
            list(facts, "and")
        ),
        Why::Unlinked => "no version was measured there that leads to the newest run".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use jiff::SignedDuration;

    use super::*;
    use crate::history::RunName;

    /// A history of so many runs of one version, in which nothing happened.
    fn quiet(runs: i64) -> History {
        let residuals: Vec<Option<f64>> =
            (0..runs).map(|run| (run % 7 != 3).then_some(0.0)).collect();
        let night = |run: i64| RunName {
            run: format!("night-{run}"),
            started: Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * run),
        };
        History {
            schema: 1,
            title: "a | b".to_owned(),
            file: PathBuf::from("a b.toml"),
            alpha: 0.05,
            min_effect: 0.01,
            machine: vec![0.0; residuals.len()],
            nights: (0..runs).map(night).collect(),
            versions_a_night: 1,
            versions: vec![Line {
                id: "1.0.0\n| x".to_owned(),
                fetches_per_second: 8000.0,
                measured: residuals.len(),
                residuals,
                drift: None,
            }],
            changes: Vec::new(),
            series: 2,
            suspects: Vec::new(),
            boils: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// A change of a version that a run of an hour later showed.
    fn change_of(of: Of) -> Change {
        Change {
            of,
            on: Timestamp::UNIX_EPOCH + SignedDuration::from_hours(3),
            after: Timestamp::UNIX_EPOCH + SignedDuration::from_hours(2),
            nights: (8, 1),
            effect: 1.03_f64.ln(),
            adjusted_p: 0.2,
            rank_p: 0.1,
            sure: false,
            new_program: Some(false),
        }
    }

    #[test]
    fn many_runs_are_folded_and_gaps_stay_gaps() {
        let text = quiet(7).terminal();
        assert!(text.contains("▅▅▅·▅▅▅"), "{text}");
        assert!(text.contains("a column is a run"), "{text}");
        let text = quiet(300).terminal();
        assert!(text.contains("a column is the median of 5 runs"), "{text}");
        let widest = text.lines().take(6).map(|line| line.chars().count()).max();
        assert!(widest.unwrap() < 110, "{text}");
    }

    #[test]
    fn any_name_leaves_lines_and_tables_whole() {
        let history = quiet(6);
        assert!(history.terminal().contains("1.0.0 | x"));
        let markdown = history.markdown();
        assert!(markdown.starts_with("# History of a \\| b\n"), "{markdown}");
        assert!(markdown.contains("\n| 1.0.0 \\| x | `"), "{markdown}");
    }

    #[test]
    fn few_versions_and_few_runs_are_noted() {
        let many = quiet(6).terminal();
        assert!(
            many.contains("note: the usual run has 1 version: below three, "),
            "{many}"
        );
        let one = quiet(1).terminal();
        assert!(
            one.contains("`harness run 'a b.toml'` makes another"),
            "{one}"
        );
        assert!(!one.contains("machine  "), "{one}");
    }

    #[test]
    fn a_suspect_of_two_runs_a_day_names_the_minute_and_what_is_known_of_the_program() {
        let told = change(&change_of(Of::Version("1.0.0".to_owned())));
        assert_eq!(
            told,
            "suspect: 1.0.0 got 3.0 % faster on 1970-01-01 03:00 against the others, though it is the same version (8 runs \
             before, 1 since, p = 0.20); its program is the same, byte for byte, so what it runs on or with changed."
        );
        let pair = Of::Pair("1.0.0".to_owned(), "1.1.0".to_owned());
        let told = change(&change_of(pair));
        assert!(
            told.starts_with("suspect: 1.1.0 got 3.0 % faster against 1.0.0 on "),
            "{told}"
        );
    }

    #[test]
    fn runs_of_one_reason_are_told_together_and_not_all_by_name() {
        let out = |run: usize, why| LeftOut {
            run: format!("night-{run}"),
            why,
        };
        let mut runs: Vec<LeftOut> = (0..6).map(|run| out(run, Why::Unfinished)).collect();
        runs.push(out(7, Why::OtherMachine(Vec::new())));
        assert_eq!(
            left_out(&runs),
            [
                "6 runs left out, not ended: night-0, night-1, night-2, night-3 and 2 more.",
                "1 run left out, another machine than that of the newest run: night-7.",
            ]
        );
    }
}

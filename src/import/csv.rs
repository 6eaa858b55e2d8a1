//! Tables with commas, such as `harness export csv` and people write.

use super::{Entry, Outcome, Wrong};
use crate::outcome::{Gap, GapKind, LoadFigures};

/// What a column is called, and where its number goes.
type Column = (&'static str, fn(&mut LoadFigures, f64));

const COLUMNS: [Column; 13] = [
    ("fetches_per_sec", |figures, number| {
        figures.told_rate = Some(number);
    }),
    ("bytes_per_sec", |figures, number| {
        figures.told_bytes_rate = Some(number);
    }),
    ("connect_mean_ms", |figures, number| {
        figures.connect.mean = number;
    }),
    ("connect_max_ms", |figures, number| {
        figures.connect.max = number;
    }),
    ("connect_min_ms", |figures, number| {
        figures.connect.min = number;
    }),
    ("first_response_mean_ms", |figures, number| {
        figures.first_response.mean = number;
    }),
    ("first_response_max_ms", |figures, number| {
        figures.first_response.max = number;
    }),
    ("first_response_min_ms", |figures, number| {
        figures.first_response.min = number;
    }),
    ("latency_mean_ms", |figures, number| {
        figures.latency.mean = number;
    }),
    ("latency_p50_ms", |figures, number| {
        figures.latency.p50 = number;
    }),
    ("latency_p90_ms", |figures, number| {
        figures.latency.p90 = number;
    }),
    ("latency_p99_ms", |figures, number| {
        figures.latency.p99 = number;
    }),
    ("latency_max_ms", |figures, number| {
        figures.latency.max = number;
    }),
];

/// Columns of words: the version, `ok` or `gap`, at which stage, and why.
const WORDS: [&str; 4] = ["version", "status", "stage", "cause"];

/// Reads each row.
pub(super) fn read(text: &str) -> Result<Vec<Entry>, Wrong> {
    let mut lines = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty());
    let (number, head) = lines.next().ok_or_else(|| Wrong::whole("it is empty"))?;
    let names = fields(number, head)?;
    if !names.iter().any(|name| name == "version") {
        return Err(Wrong::at(number, "there is no column `version`"));
    }
    let known = |name: &String| {
        WORDS.contains(&name.as_str()) || COLUMNS.iter().any(|(known, _)| known == name)
    };
    if let Some(name) = names.iter().find(|name| !known(name)) {
        let all = COLUMNS.map(|(name, _)| name).join(", ");
        let what = format!(
            "the column `{name}` is not known: beside {} there are {all}",
            WORDS.join(", ")
        );
        return Err(Wrong::at(number, what));
    }
    let rows: Vec<Entry> = lines
        .map(|(number, line)| row(number, &names, line))
        .collect::<Result<_, _>>()?;
    if rows.is_empty() {
        return Err(Wrong::whole("it has no row"));
    }
    Ok(rows)
}

fn row(number: usize, names: &[String], line: &str) -> Result<Entry, Wrong> {
    let values = fields(number, line)?;
    if values.len() != names.len() {
        let what = format!(
            "{} values stand below {} columns",
            values.len(),
            names.len()
        );
        return Err(Wrong::at(number, what));
    }
    let word = |wanted: &str| {
        let place = names.iter().position(|name| name == wanted);
        place.map_or("", |place| values[place].as_str())
    };
    let version = word("version");
    if version.is_empty() {
        return Err(Wrong::at(number, "there is no version in this row"));
    }
    let outcome = match word("status") {
        "" | "ok" => Outcome::Figures(Box::new(figures(number, names, &values)?)),
        "gap" => Outcome::Gap(gap(number, word("stage"), word("cause"))?),
        other => {
            return Err(Wrong::at(
                number,
                format!("the status `{other}` is neither `ok` nor `gap`"),
            ));
        }
    };
    Ok(Entry {
        version: Some(version.to_owned()),
        axes: Vec::new(),
        outcome,
    })
}

fn figures(number: usize, names: &[String], values: &[String]) -> Result<LoadFigures, Wrong> {
    let mut figures = LoadFigures::default();
    for (name, value) in std::iter::zip(names, values) {
        let column = COLUMNS.iter().find(|(known, _)| known == name);
        let Some((_, take)) = column.filter(|_| !value.is_empty()) else {
            continue;
        };
        let parsed: Option<f64> = value.parse().ok();
        let sound = parsed.filter(|number| number.is_finite() && *number >= 0.0);
        let wrong = || Wrong::at(number, format!("`{value}` below `{name}` is no number"));
        take(&mut figures, sound.ok_or_else(wrong)?);
    }
    if figures.told_rate.is_none() {
        return Err(Wrong::at(
            number,
            "there is no `fetches_per_sec` in this row",
        ));
    }
    Ok(figures)
}

fn gap(number: usize, stage: &str, cause: &str) -> Result<Gap, Wrong> {
    let kind = match stage {
        "" | "build" => GapKind::Failed,
        "fetch" => GapKind::NotFound,
        "start" => GapKind::Exited,
        "check" => GapKind::WrongAnswer,
        "load" => GapKind::Crashed,
        other => {
            let what = format!("the stage `{other}` is none of fetch, build, start, check, load");
            return Err(Wrong::at(number, what));
        }
    };
    let cause = if cause.is_empty() { "not told" } else { cause };
    Ok(Gap::new(kind, cause))
}

/// Splits a line at its commas; a value with commas stands in double quotes, with its own doubled.
fn fields(number: usize, line: &str) -> Result<Vec<String>, Wrong> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                push(&mut fields, '"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            letter => push(&mut fields, letter),
        }
    }
    if quoted {
        return Err(Wrong::at(number, "a quote is opened and not closed"));
    }
    Ok(fields.iter().map(|field| field.trim().to_owned()).collect())
}

fn push(fields: &mut [String], letter: char) {
    if let Some(last) = fields.last_mut() {
        last.push(letter);
    }
}

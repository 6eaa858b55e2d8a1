//! Values that are written as text: durations, percents, selections and ranges. Pure.

use std::time::Duration;

use super::diagnostic::did_you_mean;
use super::{Range, Select};

/// Why a text is not the value it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    /// What it is not, to follow the name of the value: "is not a duration".
    pub(super) what: &'static str,
    /// Why.
    pub(super) why: String,
    /// What to write.
    pub(super) help: String,
}

/// Longest duration, so that sums of durations and times stay far from any overflow.
const LONGEST: Duration = Duration::from_hours(30 * 24);

/// Reads `90s`, `250ms`, `2m` or `1h`.
pub(super) fn duration(text: &str) -> Result<Duration, Wrong> {
    let wrong = |why: &str| Wrong {
        what: "is not a duration",
        why: why.to_owned(),
        help: "write a whole number and a unit: \"250ms\", \"90s\", \"2m\" or \"1h\"".to_owned(),
    };
    let digits = text.len()
        - text
            .trim_start_matches(|letter: char| letter.is_ascii_digit())
            .len();
    let (number, unit) = text.split_at(digits);
    let milliseconds: u64 = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "" => return Err(wrong("it has no unit")),
        _ if number.is_empty() => return Err(wrong("it does not begin with a number")),
        _ => return Err(wrong("the units are `ms`, `s`, `m` and `h`")),
    };
    if number.is_empty() {
        return Err(wrong("it has no number"));
    }
    let duration = number
        .parse()
        .ok()
        .and_then(|number: u64| number.checked_mul(milliseconds));
    match duration.map(Duration::from_millis) {
        Some(duration) if duration <= LONGEST => Ok(duration),
        Some(_) | None => Err(wrong("it is longer than 30 days")),
    }
}

/// Reads `512KiB`, `64MiB` or `4GiB` as bytes.
pub(super) fn size(text: &str) -> Result<u64, Wrong> {
    let wrong = |why: &str| Wrong {
        what: "is not a size",
        why: why.to_owned(),
        help: "write a whole number and a unit: \"512KiB\", \"64MiB\" or \"4GiB\"".to_owned(),
    };
    let digits = text.len()
        - text
            .trim_start_matches(|letter: char| letter.is_ascii_digit())
            .len();
    let (number, unit) = text.split_at(digits);
    let bytes: u64 = match unit {
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "" => return Err(wrong("it has no unit")),
        _ => return Err(wrong("the units are `KiB`, `MiB` and `GiB`")),
    };
    let size = number
        .parse()
        .ok()
        .and_then(|number: u64| number.checked_mul(bytes));
    match size {
        Some(size) if size > 0 => Ok(size),
        Some(_) => Err(wrong("nothing fits into that")),
        None => Err(wrong("it has no number that fits")),
    }
}

/// Reads a percent as a share: `2%` is 0.02.
pub(super) fn percent(text: &str) -> Result<f64, Wrong> {
    let wrong = |why: &str| Wrong {
        what: "is not a percent",
        why: why.to_owned(),
        help: "write a number and a percent sign: \"2%\" or \"0.5%\"".to_owned(),
    };
    let number = text
        .strip_suffix('%')
        .ok_or_else(|| wrong("it has no percent sign"))?;
    let plain = number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    match number.parse::<f64>() {
        Ok(number) if plain => Ok(number / 100.0),
        Ok(_) | Err(_) => Err(wrong("this is not a number")),
    }
}

/// Reads `all`, `last-patch-per-minor`, `last-per-major`, `last:N` or `every:N`.
pub(super) fn select(text: &str) -> Result<Select, Wrong> {
    let counted = |rest: &str| rest.parse().ok().filter(|count: &usize| *count > 0);
    let read = match (text, text.split_once(':')) {
        ("all", _) => Some(Select::All),
        ("last-patch-per-minor", _) => Some(Select::LastPatchPerMinor),
        ("last-per-major", _) => Some(Select::LastPerMajor),
        (_, Some(("last", count))) => counted(count).map(Select::Last),
        (_, Some(("every", count))) => counted(count).map(Select::Every),
        (_, Some(_) | None) => None,
    };
    let words = [
        "all",
        "last-patch-per-minor",
        "last-per-major",
        "last:N",
        "every:N",
    ];
    read.ok_or_else(|| Wrong {
        what: "is not a selection",
        why: did_you_mean(text, words).unwrap_or_else(|| "not one of the selections".to_owned()),
        help: "write \"all\", \"last-patch-per-minor\", \"last-per-major\", \"last:5\" or \"every:10\"".to_owned(),
    })
}

/// Reads a range: a requirement in cargo's syntax, or `A..B`.
pub(super) fn range(text: &str) -> Result<Range, Wrong> {
    if let Some((first, last)) = text.split_once("..") {
        return between(first, last);
    }
    if let Ok(version) = whole(text) {
        return Err(Wrong {
            what: "is a version, not a range",
            why: "this could mean that version or all that are compatible with it".to_owned(),
            help: format!("write [\"{version}\"] for that one, or \"^{version}\" for the range"),
        });
    }
    let requirement = semver::VersionReq::parse(text).map_err(|error| Wrong {
        what: "is not a range of versions",
        why: error.to_string(),
        help: "write a range such as \"^18\", \">=0.14, <2\" or \"1.0.0..2.0.0\", or an array of names".to_owned(),
    });
    requirement.map(Range::Requirement)
}

fn between(first: &str, last: &str) -> Result<Range, Wrong> {
    let end = |text: &str| {
        whole(text).map_err(|error| Wrong {
            what: "is not a range of versions",
            why: format!("`{text}` is not a whole version: {error}"),
            help: "write both ends in full, as in \"1.0.0..2.0.0\"; both are included".to_owned(),
        })
    };
    let (first, last) = (end(first)?, end(last)?);
    if first > last {
        return Err(Wrong {
            what: "is an empty range",
            why: format!("{first} comes after {last}"),
            help: format!("write \"{last}..{first}\""),
        });
    }
    Ok(Range::Between(first, last))
}

fn whole(text: &str) -> Result<semver::Version, semver::Error> {
    let text = text.trim();
    semver::Version::parse(text.strip_prefix('v').unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_whole_number_and_a_unit() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2m"), Ok(Duration::from_mins(2)));
        assert_eq!(duration("1h"), Ok(Duration::from_hours(1)));
        let why = |text: &str| duration(text).unwrap_err().why;
        assert_eq!(why("90"), "it has no unit");
        assert_eq!(why("s"), "it has no number");
        assert_eq!(why("-1s"), "it does not begin with a number");
        assert_eq!(why("1.5s"), "the units are `ms`, `s`, `m` and `h`");
        assert_eq!(why("721h"), "it is longer than 30 days");
        assert_eq!(why("99999999999999999999h"), "it is longer than 30 days");
        assert_eq!(why(""), "it has no unit");
    }

    #[test]
    fn percents_are_shares() {
        assert_eq!(percent("2%"), Ok(0.02));
        assert_eq!(percent("0.5%"), Ok(0.005));
        for wrong in ["2", "%", "-1%", "1e3%", "inf%", "NaN%", "+1%", "1.2.3%"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn selections_are_words_with_a_count_where_one_is_needed() {
        assert_eq!(select("all"), Ok(Select::All));
        assert_eq!(select("last:5"), Ok(Select::Last(5)));
        assert_eq!(select("every:10"), Ok(Select::Every(10)));
        assert_eq!(
            select("last-per-mayor").unwrap_err().why,
            "did you mean `last-per-major`?"
        );
        for wrong in ["last:0", "last:", "every:-1", "some"] {
            assert!(select(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_range_is_a_requirement_or_two_whole_ends() {
        assert!(matches!(range(">=0.14, <2"), Ok(Range::Requirement(_))));
        assert!(matches!(range("18"), Ok(Range::Requirement(_))));
        assert!(matches!(
            range("v1.0.0..2.0.0-rc.1"),
            Ok(Range::Between(..))
        ));
        assert_eq!(
            range("1.2.3").unwrap_err().what,
            "is a version, not a range"
        );
        assert_eq!(
            range("2.0.0..1.0.0").unwrap_err().help,
            "write \"1.0.0..2.0.0\""
        );
        assert!(
            range("1.0..2.0")
                .unwrap_err()
                .why
                .starts_with("`1.0` is not a whole version")
        );
        assert!(range("newest").is_err());
    }
}

//! Values that are written as text: durations, percents, selections and ranges. Pure.

use std::time::Duration;

use super::diagnostic::did_you_mean;
use super::{Operator, Range, Select};
use crate::version::Order;

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

/// Reads a range in the syntax that an order takes: a requirement in cargo's, specifiers of PEP 440, comparisons, or of
/// any order `A..B`.
pub(super) fn range(text: &str, order: Order) -> Result<Range, Wrong> {
    let text = text.trim();
    if let Some((first, last)) = text.split_once("..") {
        return between(first.trim(), last.trim(), order);
    }
    if is_version(text, order) {
        return Err(Wrong {
            what: "is a version, not a range",
            why: "this could mean that version or all that are compatible with it".to_owned(),
            help: format!(
                "write [\"{text}\"] for that one, or \"{}\" for the range",
                range_from(text, order)
            ),
        });
    }
    let read = match order {
        Order::Pep440 => specifiers(text).map(Range::Specifiers),
        Order::Maven | Order::Debian => comparisons(text, order).map(Range::Compared),
        Order::Semver => requirement(text).map_err(|error| error.to_string()),
        // Where names have no order, those that are semantic versions still have one.
        Order::Topo | Order::Date | Order::Listed => {
            requirement(text).map_err(|_| "it is not of the form A..B".to_owned())
        }
    };
    read.map_err(|why| Wrong {
        what: "is not a range of versions",
        why,
        help: format!("write {}, or an array of names", ranges(order)),
    })
}

/// Returns what ranges look like in an order.
fn ranges(order: Order) -> &'static str {
    match order {
        Order::Semver => r#"a range such as "^18", ">=0.14, <2" or "1.0.0..2.0.0""#,
        Order::Pep440 => {
            r#"a range of the order `pep440` such as ">=2, <3", "~=2.1" or "2.0..3.0""#
        }
        Order::Maven => r#"a range of the order `maven` such as ">=4.1, <5" or "4.1..4.2""#,
        Order::Debian => r#"a range of the order `debian` such as ">=1.18, <1.22" or "1.18..1.22""#,
        Order::Topo | Order::Date | Order::Listed => r#""A..B", two versions of the list"#,
    }
}

/// Returns a range that may have been meant by a word that is no version.
pub(super) fn instead_of(word: &str, order: Order) -> String {
    match order {
        Order::Semver => format!("a range such as `^{word}`"),
        Order::Pep440
        | Order::Maven
        | Order::Debian
        | Order::Topo
        | Order::Date
        | Order::Listed => ranges(order).to_owned(),
    }
}

/// Returns a range of what goes on from a version.
fn range_from(version: &str, order: Order) -> String {
    let bare = version.strip_prefix('v').unwrap_or(version);
    match order {
        Order::Semver | Order::Topo | Order::Date | Order::Listed => format!("^{bare}"),
        Order::Pep440 | Order::Maven | Order::Debian => format!(">={bare}"),
    }
}

/// Returns whether a text is a version, which no range is; Maven's order takes anything that it is given for one.
fn is_version(text: &str, order: Order) -> bool {
    let begins = text.starts_with(|letter: char| letter.is_alphanumeric());
    begins && !text.contains(',') && order.parse(text).is_some()
}

fn requirement(text: &str) -> Result<Range, semver::Error> {
    semver::VersionReq::parse(text).map(Range::Requirement)
}

fn specifiers(text: &str) -> Result<pep440_rs::VersionSpecifiers, String> {
    let read = |one: &str| {
        let signs = "`~=`, `==`, `!=`, `<`, `<=`, `>` or `>=`";
        if !one.starts_with(['~', '=', '!', '<', '>']) {
            return Err(format!("`{one}` does not begin with {signs}"));
        }
        let parsed = one.parse::<pep440_rs::VersionSpecifier>();
        parsed.map_err(|error| error.to_string())
    };
    text.split(',').map(|one| read(one.trim())).collect()
}

fn comparisons(text: &str, order: Order) -> Result<Vec<(Operator, String)>, String> {
    let each = text.split(',');
    each.map(|one| comparison(one.trim(), order)).collect()
}

fn comparison(text: &str, order: Order) -> Result<(Operator, String), String> {
    let signs = [
        ("<=", Operator::LessOrEqual),
        ("<", Operator::Less),
        (">=", Operator::GreaterOrEqual),
        (">", Operator::Greater),
    ];
    let found = signs
        .into_iter()
        .find_map(|(sign, operator)| Some((operator, text.strip_prefix(sign)?.trim())));
    match found {
        Some((operator, name)) if is_version(name, order) => Ok((operator, name.to_owned())),
        Some((_, name)) => Err(why_no_version(name, order)),
        None => Err(format!(
            "`{text}` does not begin with `<`, `<=`, `>` or `>=`"
        )),
    }
}

fn between(first: &str, last: &str, order: Order) -> Result<Range, Wrong> {
    let example = match order {
        Order::Semver => "1.0.0..2.0.0",
        Order::Pep440 => "2.0..3.0",
        Order::Maven => "4.1..4.2",
        Order::Debian => "1.18..1.22",
        Order::Topo | Order::Date | Order::Listed => "A..B",
    };
    for end in [first, last] {
        // Whether an end is in a list is seen when the list is there.
        let known = !order.is_by_name() && !end.is_empty();
        if !known && !is_version(end, order) {
            return Err(Wrong {
                what: "is not a range of versions",
                why: why_no_version(end, order),
                help: format!("write both ends in full, as in \"{example}\"; both are included"),
            });
        }
    }
    if order.is_by_name() && order.parse(first) > order.parse(last) {
        return Err(Wrong {
            what: "is an empty range",
            why: format!("{first} comes after {last}"),
            help: format!("write \"{last}..{first}\""),
        });
    }
    Ok(Range::Between(first.to_owned(), last.to_owned()))
}

fn why_no_version(text: &str, order: Order) -> String {
    if text.is_empty() {
        return "a version is missing".to_owned();
    }
    let bare = text.strip_prefix('v').unwrap_or(text);
    match (order, semver::Version::parse(bare)) {
        (Order::Semver, Err(error)) => format!("`{text}` is not a whole version: {error}"),
        _ => format!("`{text}` is {}", order.no_place()),
    }
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
        let range = |text: &str| range(text, Order::Semver);
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
            range("v1.2.3").unwrap_err().help,
            "write [\"v1.2.3\"] for that one, or \"^1.2.3\" for the range"
        );
        assert_eq!(
            range("2.0.0..1.0.0").unwrap_err().help,
            "write \"1.0.0..2.0.0\""
        );
        assert!(
            range("1.0..2.0")
                .unwrap_err()
                .why
                .starts_with("`1.0` is not a whole version: unexpected end")
        );
        assert!(range("newest").is_err());
    }

    #[test]
    fn each_order_takes_ranges_in_its_own_syntax() {
        let pep440 = |text: &str| range(text, Order::Pep440);
        for right in [">=2,<3", "~=2.1", "!= 2.0.1", "==2.1.*"] {
            assert!(matches!(pep440(right), Ok(Range::Specifiers(_))), "{right}");
        }
        let compared = |all: &[(Operator, &str)]| {
            let all = all
                .iter()
                .map(|(operator, name)| (*operator, (*name).to_owned()));
            Ok(Range::Compared(all.collect()))
        };
        assert_eq!(
            range(">= 4.1, <5.0.0.Beta1", Order::Maven),
            compared(&[
                (Operator::GreaterOrEqual, "4.1"),
                (Operator::Less, "5.0.0.Beta1")
            ])
        );
        assert_eq!(
            range("<=1:1.22~rc1-1, >1.18", Order::Debian),
            compared(&[
                (Operator::LessOrEqual, "1:1.22~rc1-1"),
                (Operator::Greater, "1.18")
            ])
        );
        let ends = |first: &str, last: &str| Ok(Range::Between(first.to_owned(), last.to_owned()));
        assert_eq!(pep440("2.0..3.0rc1"), ends("2.0", "3.0rc1"));
        assert_eq!(range("4.1 .. 5", Order::Maven), ends("4.1", "5"));
        assert_eq!(range("zebra..ape", Order::Topo), ends("zebra", "ape"));
        assert!(matches!(
            range("^18", Order::Date),
            Ok(Range::Requirement(_))
        ));
    }

    #[test]
    fn a_range_in_the_syntax_of_another_order_says_what_this_one_takes() {
        let wrong = |text: &str, order: Order| {
            let wrong = range(text, order).unwrap_err();
            format!("{text} {}: {}; {}", wrong.what, wrong.why, wrong.help)
        };
        let messages = [
            wrong("^2", Order::Pep440),
            wrong(">=2, <3.x", Order::Pep440),
            wrong("2.1", Order::Pep440),
            wrong("2.x..3.x", Order::Pep440),
            wrong("3.0..2.0", Order::Pep440),
            wrong("~=4.1", Order::Maven),
            wrong("4.1.0.Final", Order::Maven),
            wrong(">=", Order::Maven),
            wrong("[4.1,4.2)", Order::Maven),
            wrong(">=4.1, ^5", Order::Maven),
            wrong("<stable", Order::Debian),
            wrong("stable..sid", Order::Debian),
            wrong("main", Order::Topo),
            wrong("main..", Order::Listed),
        ];
        insta::assert_snapshot!(messages.join("\n"), @r#"
        ^2 is not a range of versions: `^2` does not begin with `~=`, `==`, `!=`, `<`, `<=`, `>` or `>=`; write a range of the order `pep440` such as ">=2, <3", "~=2.1" or "2.0..3.0", or an array of names
        >=2, <3.x is not a range of versions: after parsing `3`, found `.x`, which is not part of a valid version; write a range of the order `pep440` such as ">=2, <3", "~=2.1" or "2.0..3.0", or an array of names
        2.1 is a version, not a range: this could mean that version or all that are compatible with it; write ["2.1"] for that one, or ">=2.1" for the range
        2.x..3.x is not a range of versions: `2.x` is not a version of PEP 440; write both ends in full, as in "2.0..3.0"; both are included
        3.0..2.0 is an empty range: 3.0 comes after 2.0; write "2.0..3.0"
        ~=4.1 is not a range of versions: `~=4.1` does not begin with `<`, `<=`, `>` or `>=`; write a range of the order `maven` such as ">=4.1, <5" or "4.1..4.2", or an array of names
        4.1.0.Final is a version, not a range: this could mean that version or all that are compatible with it; write ["4.1.0.Final"] for that one, or ">=4.1.0.Final" for the range
        >= is not a range of versions: a version is missing; write a range of the order `maven` such as ">=4.1, <5" or "4.1..4.2", or an array of names
        [4.1,4.2) is not a range of versions: `[4.1` does not begin with `<`, `<=`, `>` or `>=`; write a range of the order `maven` such as ">=4.1, <5" or "4.1..4.2", or an array of names
        >=4.1, ^5 is not a range of versions: `^5` does not begin with `<`, `<=`, `>` or `>=`; write a range of the order `maven` such as ">=4.1, <5" or "4.1..4.2", or an array of names
        <stable is not a range of versions: `stable` is not a version of Debian; write a range of the order `debian` such as ">=1.18, <1.22" or "1.18..1.22", or an array of names
        stable..sid is not a range of versions: `stable` is not a version of Debian; write both ends in full, as in "1.18..1.22"; both are included
        main is not a range of versions: it is not of the form A..B; write "A..B", two versions of the list, or an array of names
        main.. is not a range of versions: a version is missing; write both ends in full, as in "A..B"; both are included
        "#);
    }
}

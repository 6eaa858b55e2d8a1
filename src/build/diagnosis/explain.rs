//! From the first real error to the kind of cause in plain words and what could be tried, where it is sure. Pure.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::Nature;
use super::causes::{CAUSES, Cause};

/// What is known of one failure.
pub(super) struct Case<'a> {
    pub(super) nature: Nature,
    /// What the tool says.
    pub(super) text: &'a str,
    /// Where in the source, with its whole path.
    pub(super) place: Option<&'a str>,
    /// The lines around.
    pub(super) around: &'a str,
}

/// What can be said of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Explained {
    pub(super) explanation: Option<String>,
    pub(super) hint: Option<String>,
}

/// A cause with its patterns ready.
struct Known {
    cause: &'static Cause,
    said: Regex,
    place: Option<Regex>,
    near: Option<Regex>,
}

static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| CAUSES.iter().filter_map(known).collect());

/// Prepares a cause; a test sees to it that each of them can be.
fn known(cause: &'static Cause) -> Option<Known> {
    let optional = |pattern: &str| match pattern {
        "" => Some(None),
        pattern => Regex::new(pattern).ok().map(Some),
    };
    Some(Known {
        cause,
        said: Regex::new(cause.said).ok()?,
        place: optional(cause.place)?,
        near: optional(cause.near)?,
    })
}

/// Explains a failure by the first known cause that fits; without one, only its nature speaks.
pub(super) fn explain(case: &Case<'_>) -> Explained {
    let explained = KNOWN.iter().find_map(|known| fit(known, case));
    let mut explained = explained.unwrap_or_default();
    if explained.hint.is_none() {
        explained.hint = case.nature.hint().map(str::to_owned);
    }
    explained
}

fn fit(known: &Known, case: &Case<'_>) -> Option<Explained> {
    if !known.cause.natures.contains(&case.nature) {
        return None;
    }
    let mut captures = vec![known.said.captures(case.text)?];
    if let Some(place) = &known.place {
        captures.push(place.captures(case.place?)?);
    }
    if let Some(near) = &known.near {
        captures.push(near.captures(case.around)?);
    }
    let words = |template: &str| match template {
        "" => None,
        template => Some(fill(template, &captures)),
    };
    Some(Explained {
        explanation: words(known.cause.why),
        hint: words(known.cause.hint),
    })
}

/// Puts what the patterns caught in the place of `{name}`.
fn fill(template: &str, captures: &[Captures<'_>]) -> String {
    let names = ["name", "version"];
    names.iter().fold(template.to_owned(), |text, name| {
        let caught = captures.iter().find_map(|captures| captures.name(name));
        text.replace(
            &format!("{{{name}}}"),
            caught.map_or("", |caught| caught.as_str()),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_one_and_catches_what_its_words_need() {
        assert_eq!(KNOWN.len(), CAUSES.len());
        for known in KNOWN.iter() {
            let patterns = [Some(&known.said), known.place.as_ref(), known.near.as_ref()];
            let caught: Vec<&str> = patterns
                .into_iter()
                .flatten()
                .flat_map(|pattern| pattern.capture_names().flatten())
                .collect();
            for name in ["name", "version"] {
                let words = [known.cause.why, known.cause.hint].concat();
                let is_needed = words.contains(&format!("{{{name}}}"));
                assert_eq!(caught.contains(&name), is_needed, "{}", known.cause.said);
            }
        }
    }
}

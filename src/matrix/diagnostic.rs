//! Problems of a file and how they are shown: what, where, why, and what to do. Pure.

use std::ops::Range;
use std::path::Path;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::error::{Error, Kind};

/// Problems shown at most; garbage has one on every line.
const SHOWN: usize = 20;

/// Which of the texts a place is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// The file itself.
    File,
    /// The `harness.toml` whose defaults lie under it.
    Defaults,
}

/// A place in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Which text.
    pub(super) origin: Origin,
    /// Bytes of it.
    pub(super) span: Range<usize>,
}

/// Something wrong at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    place: Place,
    what: String,
    why: String,
    help: Option<String>,
}

/// The texts that problems point into.
#[derive(Debug, Clone, Copy)]
pub(super) struct Texts<'a> {
    /// The file's text and path.
    pub(super) file: (&'a str, &'a Path),
    /// Those of `harness.toml`.
    pub(super) defaults: Option<(&'a str, &'a Path)>,
}

impl Problem {
    /// Makes a problem: `what` heads the message, `why` stands under the place.
    pub(super) fn new(place: Place, what: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            place,
            what: what.into(),
            why: why.into(),
            help: None,
        }
    }

    /// Returns where it is.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Adds under which circumstances it is one.
    #[must_use]
    pub(super) fn under(mut self, circumstance: &str) -> Self {
        self.why = format!("{} ({circumstance})", self.why);
        self
    }

    /// Adds what to do.
    #[must_use]
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl Texts<'_> {
    /// Returns the line of a place in the file, counted from 1.
    pub(super) fn line(&self, place: &Place) -> usize {
        let before = self.file.0.get(..place.span.start).unwrap_or_default();
        before.matches('\n').count() + 1
    }

    /// Makes the error that shows all problems, in the order of their places.
    pub(super) fn error(&self, mut problems: Vec<Problem>) -> Error {
        problems.sort_by_key(|problem| (problem.place.origin, problem.place.span.start));
        problems.dedup();
        let shown: Vec<String> = problems
            .iter()
            .take(SHOWN)
            .map(|problem| self.show(problem))
            .collect();
        let mut text = shown.join("\n\n");
        if problems.len() > SHOWN {
            let more = problems.len() - SHOWN;
            text = format!("{text}\n\n… and {more} more problems");
        }
        // `check` without a file reads harness.toml and the matrices that it names.
        let is_project = self
            .file
            .1
            .file_name()
            .is_some_and(|name| name == "harness.toml");
        let file = if is_project {
            String::new()
        } else {
            format!(" {}", self.file.1.display())
        };
        let count = match problems.len() {
            1 => "this".to_owned(),
            many => format!("these {many} problems"),
        };
        Error::new(Kind::Configuration, text)
            .hint(format!("correct {count}, then `harness check{file}`"))
    }

    fn show(&self, problem: &Problem) -> String {
        let (text, path) = match (problem.place.origin, self.defaults) {
            (Origin::Defaults, Some(defaults)) => defaults,
            (Origin::File | Origin::Defaults, _) => self.file,
        };
        let path = path.display().to_string();
        let span = within(text, &problem.place.span);
        let annotation = AnnotationKind::Primary.span(span).label(&problem.why);
        let snippet = Snippet::source(text).path(&path).annotation(annotation);
        let mut group =
            Group::with_title(Level::ERROR.primary_title(&problem.what)).element(snippet);
        if let Some(help) = &problem.help {
            group = group.element(Level::HELP.message(help));
        }
        Renderer::plain().render(&[group])
    }
}

/// Cuts a span to what can be shown: inside the text, on character boundaries, of its first line only.
fn within(text: &str, span: &Range<usize>) -> Range<usize> {
    let start = text.floor_char_boundary(span.start.min(text.len()));
    let end = text.ceil_char_boundary(span.end.clamp(start, text.len()));
    let line = text[start..end]
        .find(['\n', '\r'])
        .map_or(end, |length| start + length);
    start..line
}

/// Returns the candidate that a mistyped word was probably meant to be.
pub(super) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    let distance = |candidate: &&str| {
        strsim::damerau_levenshtein(&word.to_lowercase(), &candidate.to_lowercase())
    };
    let scored = candidates
        .into_iter()
        .map(|candidate| (distance(&candidate), candidate));
    scored
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Returns "did you mean `…`?" where a candidate is near.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(word, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_near_word_is_suggested_and_a_far_one_is_not() {
        let known = ["connections", "duration", "path"];
        assert_eq!(nearest("conections", known), Some("connections"));
        assert_eq!(nearest("Path", known), Some("path"));
        assert_eq!(nearest("headers", known), None);
        assert_eq!(
            did_you_mean("pth", known).as_deref(),
            Some("did you mean `path`?")
        );
    }

    #[test]
    fn a_span_is_cut_to_characters_of_one_line() {
        assert_eq!(within("a🦀b", &(2..3)), 1..5);
        assert_eq!(within("ab\ncd", &(1..5)), 1..2);
        assert_eq!(within("ab", &(7..9)), 2..2);
        #[expect(
            clippy::reversed_empty_ranges,
            reason = "a span that must never come, and must not panic"
        )]
        let reversed = 2..1;
        assert_eq!(within("abc", &reversed), 2..2);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_span_of_any_text_can_be_shown(text in any::<String>(), start in 0_usize..99, end in 0_usize..99) {
            let texts = Texts { file: (&text, Path::new("/m/🦀.toml")), defaults: None };
            let place = Place { origin: Origin::File, span: start..end };
            let error = texts.error(vec![Problem::new(place, "what", "why").help("help")]);
            prop_assert!(error.message.contains("error: what"), "{}", error.message);
            prop_assert!(error.message.contains("help: help"), "{}", error.message);
        }
    }
}

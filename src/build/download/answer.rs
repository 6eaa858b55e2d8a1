//! What a server's answer means for a download. Pure.

use ureq::http::{HeaderMap, header};

use super::Break;
use super::shelf::Begun;
use crate::outcome::{Class, GapKind};

/// A file, or the rest of one, that follows an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Content {
    /// Where in the file it begins.
    pub(super) from: u64,
    /// How long the file is, where the server tells.
    pub(super) length: Option<u64>,
    /// What the server calls this state of the file, where it does.
    pub(super) validator: Option<String>,
}

/// Judges an answer; `begun` is the part that the request asked for the rest of.
pub(super) fn judge(
    status: u16,
    headers: &HeaderMap,
    begun: Option<&Begun>,
) -> Result<Content, Break> {
    match (status, begun) {
        (200, _) => Ok(Content {
            from: 0,
            length: text(headers, &header::CONTENT_LENGTH).and_then(|text| text.parse().ok()),
            validator: validator(headers),
        }),
        (206, Some(begun)) => rest(headers, begun),
        (416, Some(_)) => Err(Break::Changed("the file is shorter than what came of it")),
        (404 | 410, _) => Err(refused(status, GapKind::NotFound, "")),
        (401 | 403 | 407, _) => Err(refused(
            status,
            GapKind::Network,
            ", so it is refused: it is not for everybody, or needs credentials",
        )),
        (408 | 425 | 429 | 500..=599, _) => Err(Break::Passing {
            why: format!("the server answers {status}"),
            received: 0,
        }),
        _ => Err(refused(status, GapKind::Network, "")),
    }
}

fn refused(status: u16, kind: GapKind, more: &str) -> Break {
    Break::Lasting {
        kind,
        class: Class::Permanent,
        why: format!("the server answers {status}{more}"),
    }
}

/// Judges an answer that says to be the rest of a file: it must begin where the part ends and be of the same state.
fn rest(headers: &HeaderMap, begun: &Begun) -> Result<Content, Break> {
    let range = text(headers, &header::CONTENT_RANGE).and_then(range);
    let tag = text(headers, &header::ETAG).filter(|tag| begun.is_of_another(tag));
    match range {
        Some((from, length)) if from == begun.length && tag.is_none() => Ok(Content {
            from,
            length: Some(length),
            validator: Some(begun.validator.clone()),
        }),
        Some(_) | None => Err(Break::Changed(
            "the rest that the server sends is not what was asked for",
        )),
    }
}

impl Begun {
    /// Returns whether a tag says that the file is another one by now. A date is no tag, and says nothing of it.
    fn is_of_another(&self, tag: &str) -> bool {
        self.validator.starts_with('"') && self.validator != tag
    }
}

/// Reads `bytes 5-9/10`: where it begins, and how long the file is.
fn range(text: &str) -> Option<(u64, u64)> {
    let (part, whole) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = part.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    let length = last.checked_add(1)?;
    let is_rest = first <= last && (whole == "*" || whole.parse() == Ok(length));
    is_rest.then_some((first, length))
}

/// Returns what can stand in `If-Range`: a strong tag, or else a date.
fn validator(headers: &HeaderMap) -> Option<String> {
    let tag = text(headers, &header::ETAG).filter(|tag| tag.starts_with('"'));
    let validator = tag.or_else(|| text(headers, &header::LAST_MODIFIED));
    validator.map(str::to_owned)
}

fn text<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |&(name, value): &(&'static str, &str)| {
            (
                header::HeaderName::from_static(name),
                value.parse().unwrap(),
            )
        };
        pairs.iter().map(pair).collect()
    }

    fn begun() -> Begun {
        Begun {
            length: 5,
            validator: "\"v1\"".to_owned(),
        }
    }

    #[test]
    fn a_whole_file_begins_anew_whether_or_not_its_rest_was_asked_for() {
        let headers = headers(&[("content-length", "10"), ("etag", "\"v2\"")]);
        let whole = Content {
            from: 0,
            length: Some(10),
            validator: Some("\"v2\"".to_owned()),
        };
        for begun in [None, Some(&begun())] {
            assert_eq!(judge(200, &headers, begun).unwrap(), whole);
        }
    }

    #[test]
    fn a_weak_tag_is_none_and_a_date_will_do() {
        let date = "Mon, 30 Nov 2026 12:00:00 GMT";
        let weak = headers(&[("etag", "W/\"v1\""), ("last-modified", date)]);
        assert_eq!(validator(&weak).as_deref(), Some(date));
        assert_eq!(validator(&headers(&[("etag", "W/\"v1\"")])), None);
    }

    #[test]
    fn the_rest_must_begin_where_the_part_ends_and_be_of_the_same_file() {
        let rest = |pairs: &[(&'static str, &str)]| judge(206, &headers(pairs), Some(&begun()));
        for right in ["bytes 5-9/10", "bytes 5-9/*"] {
            let content = rest(&[("content-range", right), ("etag", "\"v1\"")]).unwrap();
            assert_eq!((content.from, content.length), (5, Some(10)));
        }
        for wrong in [
            "bytes 0-9/10",
            "bytes 6-9/10",
            "bytes 5-8/10",
            "bytes */10",
            "x",
        ] {
            let answer = rest(&[("content-range", wrong)]);
            assert!(matches!(answer, Err(Break::Changed(_))), "{wrong}");
        }
        let other = rest(&[("content-range", "bytes 5-9/10"), ("etag", "\"v2\"")]);
        assert!(matches!(other, Err(Break::Changed(_))));
        assert!(matches!(rest(&[]), Err(Break::Changed(_))));
    }

    #[test]
    fn what_a_server_answers_decides_whether_it_is_asked_again() {
        let none = HeaderMap::new();
        let lasting = |status| match judge(status, &none, None) {
            Err(Break::Lasting { kind, class, why }) => {
                assert_eq!(class, Class::Permanent);
                assert!(why.contains(&status.to_string()));
                kind
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(
            (lasting(404), lasting(410)),
            (GapKind::NotFound, GapKind::NotFound)
        );
        for status in [204, 206, 304, 400, 401, 403, 416, 451] {
            assert_eq!(lasting(status), GapKind::Network);
        }
        for status in [408, 429, 500, 503] {
            assert!(matches!(
                judge(status, &none, None),
                Err(Break::Passing { .. })
            ));
        }
        assert!(matches!(
            judge(416, &none, Some(&begun())),
            Err(Break::Changed(_))
        ));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_range_is_read_without_panic(text in "(bytes )?[0-9*/ -]{0,30}") {
            if let Some((first, length)) = range(&text) {
                prop_assert!(first < length);
            }
        }
    }
}

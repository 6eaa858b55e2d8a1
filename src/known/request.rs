//! Bytes → requests of HTTP/1.0 and 1.1. Pure.

use std::mem::MaybeUninit;

use httparse::Status;

use super::STATS;

/// Headers of a request at most.
const HEADERS: usize = 64;
/// Bytes of a request at most: whoever sends more is no load.
pub(super) const LONGEST: usize = 64 * 1024;

/// One whole request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    /// Its bytes, the body's among them.
    pub(super) length: usize,
    /// What becomes of the connection after the answer.
    pub(super) after: After,
    /// Whether it asks how many answers were given.
    pub(super) wants_stats: bool,
}

/// What becomes of a connection after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// It stays open.
    Open,
    /// It stays open, and a client of HTTP/1.0 is to be told so.
    OpenAsTold,
    /// It is closed.
    Closed,
}

/// The bytes are no request that this server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// Returns the first request of some bytes; none if it is not whole yet.
pub(super) fn first(bytes: &[u8]) -> Result<Option<Request>, Malformed> {
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS];
    let mut head = httparse::Request::new(&mut []);
    let length = match head.parse_with_uninit_headers(bytes, &mut headers) {
        Ok(Status::Complete(length)) => length + body_length(head.headers)?,
        Ok(Status::Partial) => usize::MAX,
        Err(_) => return Err(Malformed),
    };
    if length > bytes.len() {
        return if bytes.len() < LONGEST {
            Ok(None)
        } else {
            Err(Malformed)
        };
    }
    Ok(Some(Request {
        length,
        after: after(&head),
        wants_stats: head.path == Some(STATS),
    }))
}

fn header<'a>(headers: &'a [httparse::Header<'_>], name: &str) -> Option<&'a [u8]> {
    let mut named = headers.iter();
    let found = named.find(|header| header.name.eq_ignore_ascii_case(name));
    found.map(|header| header.value)
}

/// Returns the length of the request's body. One whose end is told in another way than by its length is not taken.
fn body_length(headers: &[httparse::Header<'_>]) -> Result<usize, Malformed> {
    if header(headers, "Transfer-Encoding").is_some() {
        return Err(Malformed);
    }
    let Some(length) = header(headers, "Content-Length") else {
        return Ok(0);
    };
    let length = str::from_utf8(length).ok();
    let length = length.and_then(|length| length.parse().ok());
    length.filter(|length| *length <= LONGEST).ok_or(Malformed)
}

fn after(head: &httparse::Request<'_, '_>) -> After {
    let wish = header(head.headers, "Connection").unwrap_or_default();
    if head.version == Some(1) {
        if wish.eq_ignore_ascii_case(b"close") {
            After::Closed
        } else {
            After::Open
        }
    } else if wish.eq_ignore_ascii_case(b"keep-alive") {
        After::OpenAsTold
    } else {
        After::Closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Request {
        let request = first(text.as_bytes()).unwrap().unwrap();
        assert_eq!(request.length, text.len());
        request
    }

    #[test]
    fn a_request_is_whole_with_its_last_byte_and_not_before() {
        let text = "POST /x HTTP/1.1\r\nHost: a\r\ncontent-length: 3\r\n\r\nabc";
        for end in 0..text.len() {
            assert_eq!(first(&text.as_bytes()[..end]), Ok(None), "{end} bytes");
        }
        only(text);
        let followed = format!("{text}GET");
        let request = first(followed.as_bytes()).unwrap().unwrap();
        assert_eq!(request.length, text.len());
    }

    #[test]
    fn the_version_and_the_header_decide_what_becomes_of_the_connection() {
        let after = |version: &str, header: &str| {
            only(&format!("GET / HTTP/{version}\r\n{header}\r\n")).after
        };
        assert_eq!(after("1.1", ""), After::Open);
        assert_eq!(after("1.1", "Connection: Close\r\n"), After::Closed);
        assert_eq!(after("1.0", ""), After::Closed);
        assert_eq!(
            after("1.0", "connection: Keep-Alive\r\n"),
            After::OpenAsTold
        );
    }

    #[test]
    fn what_is_no_request_or_too_long_is_refused() {
        let refused = [
            "nonsense with\r\n\r\n".to_owned(),
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(),
            "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n".to_owned(),
            format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n", u64::MAX),
            format!("GET / HTTP/1.1\r\nx: {}", "x".repeat(LONGEST)),
        ];
        for text in refused {
            assert_eq!(first(text.as_bytes()), Err(Malformed), "{text:.60}");
        }
    }

    #[test]
    fn the_number_of_answers_is_asked_for_by_its_path() {
        assert!(only("GET /stats HTTP/1.1\r\n\r\n").wants_stats);
        assert!(!only("GET / HTTP/1.1\r\n\r\n").wants_stats);
    }
}

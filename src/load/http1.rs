//! HTTP/1.1 as the load needs it: request bytes out, answers in. Pure.
//!
//! The parser counts bodies, holds them against what they should be and does not keep them, so an answer of any length
//! costs no memory. It takes the bytes in whatever pieces they come; the pieces never change what is read from them.

use std::mem::MaybeUninit;

use crate::address::Address;
use crate::matrix::Workload;

/// The longest head, and the longest trailer section, in bytes.
const MAX_HEAD: usize = 64 * 1024;
/// The most header lines of a head.
const MAX_HEADERS: usize = 128;
/// A head no longer than this is remembered; for longer ones comparing saves less than they take.
const KEPT_HEAD: usize = 4096;
/// The most interim answers before an answer.
const MAX_INTERIM: u8 = 16;
/// The longest chunk-size line, in bytes.
const MAX_CHUNK_LINE: u16 = 4096;
/// The most memory of a parser, in bytes: what it gathers may have room for as much again.
#[cfg(any(test, fuzzing))]
pub(crate) const MOST_KEPT: usize = 2 * (MAX_HEAD + KEPT_HEAD);
/// What every head begins with.
const PREFIX: &[u8] = b"HTTP/1.";

/// A whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The status code, never that of an interim answer.
    pub(crate) status: u16,
    /// The body's length in bytes, without framing.
    pub(crate) body_length: u64,
    /// Whether all of the body is what it should be, as far as that is long.
    pub(crate) body_right: bool,
    /// Whether the connection may carry another request.
    pub(crate) keep_alive: bool,
}

/// A whole answer and how many of the bytes just given belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Whole {
    /// The answer.
    pub(crate) answer: Answer,
    /// Bytes of the last piece up to the answer's end; what follows them was not asked for.
    pub(crate) used: usize,
}

/// The bytes are not an HTTP/1 answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// An incremental parser of the answers on one connection.
#[derive(Debug)]
pub(crate) struct Parser {
    /// Whether the requests are `HEAD`, whose answers have no body whatever their headers say.
    head_request: bool,
    state: State,
    /// The head so far, while it is in pieces.
    head: Vec<u8>,
    /// What the current answer's head says.
    current: Head,
    /// Interim answers so far in front of the current one.
    interim: u8,
    /// The current answer's body so far.
    body: Body,
    /// The last head that came in one piece: a server mostly repeats it byte for byte, and comparing is cheaper than
    /// parsing.
    known: Vec<u8>,
    known_head: Head,
}

/// A body so far.
#[derive(Debug, Clone, Copy)]
struct Body {
    length: u64,
    right: bool,
}

impl Body {
    const NOTHING: Self = Self {
        length: 0,
        right: true,
    };

    /// Counts a piece and holds it against what the body should be. What is there beyond that shows in the length.
    fn add(&mut self, piece: &[u8], expected: Option<&[u8]>) {
        if let Some(expected) = expected {
            let rest = usize::try_from(self.length).ok();
            let rest = rest.and_then(|begun| expected.get(begun..));
            let common = rest.map_or(0, |rest| rest.len().min(piece.len()));
            self.right &= rest.is_none_or(|rest| rest[..common] == piece[..common]);
        }
        self.length += piece.len() as u64;
    }
}

/// What a head says about the answer.
#[derive(Debug, Clone, Copy)]
struct Head {
    status: u16,
    keep_alive: bool,
    framing: Framing,
}

/// How the end of a body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length(u64),
    Chunked,
    UntilClose,
}

/// Where in an answer the next byte belongs.
#[derive(Debug, Clone, Copy)]
enum State {
    Head,
    /// This many body bytes are still to come.
    Length(u64),
    Chunked(Chunk),
    UntilClose,
}

/// Where in a chunked body the next byte belongs.
#[derive(Debug, Clone, Copy)]
enum Chunk {
    /// In the size, of which `line` digits were seen.
    Size { size: u64, line: u16 },
    /// After the size, in what is ignored up to the line's end.
    Extension { size: u64, line: u16 },
    /// At the line feed after the size.
    SizeEnd { size: u64 },
    /// This many bytes of the chunk are still to come.
    Data(u64),
    /// At the carriage return after the data.
    DataEnd,
    /// At the line feed after the data.
    DataLineFeed,
    /// In the trailer section, of which `seen` bytes were read.
    Trailer { seen: usize, line: Line },
    /// After the last byte.
    Done,
}

/// Where in a line of the trailer section the next byte belongs.
#[derive(Debug, Clone, Copy)]
enum Line {
    /// At its first byte.
    Start,
    /// After some text.
    Text,
    /// At the line feed of an empty line.
    EmptyEnd,
    /// At the line feed after some text.
    TextEnd,
}

impl Parser {
    /// Makes a parser for the answers to requests with this method.
    pub(crate) fn new(method: &str) -> Self {
        let nothing = Head {
            status: 0,
            keep_alive: false,
            framing: Framing::Length(0),
        };
        Self {
            head_request: method == "HEAD",
            state: State::Head,
            head: Vec::new(),
            current: nothing,
            interim: 0,
            body: Body::NOTHING,
            known: Vec::new(),
            known_head: nothing,
        }
    }

    /// Forgets an unfinished answer: the next byte begins a new one.
    pub(crate) fn reset(&mut self) {
        self.state = State::Head;
        self.forget_head();
        self.interim = 0;
        self.body = Body::NOTHING;
    }

    fn forget_head(&mut self) {
        self.head.clear();
        self.head.shrink_to(KEPT_HEAD);
    }

    /// Reads the next piece and returns the answer if it is whole now, after which the parser awaits the next one.
    ///
    /// `expected` is what the answer's body should be, where that is fixed. After an error the parser must be reset.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        expected: Option<&[u8]>,
    ) -> Result<Option<Whole>, Malformed> {
        let mut used = 0;
        while matches!(self.state, State::Head) {
            let Some(length) = self.feed_head(&bytes[used..])? else {
                return Ok(None);
            };
            used += length;
            self.begin_body()?;
        }
        let Some(length) = self.feed_body(&bytes[used..], expected)? else {
            return Ok(None);
        };
        Ok(Some(Whole {
            answer: self.complete(),
            used: used + length,
        }))
    }

    /// Takes note that the server closed the connection, and returns the answer if that is what ends it.
    pub(crate) fn finish(&mut self) -> Option<Answer> {
        matches!(self.state, State::UntilClose).then(|| self.complete())
    }

    /// Returns how much memory it has, in bytes.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn kept(&self) -> usize {
        self.head.capacity() + self.known.capacity()
    }

    /// Returns how long the body of the unfinished answer is at least: what has come, and what is promised.
    pub(crate) fn least_length(&self) -> u64 {
        let promised = match self.state {
            State::Length(left) | State::Chunked(Chunk::Data(left)) => left,
            State::Head | State::Chunked(_) | State::UntilClose => 0,
        };
        self.body.length.saturating_add(promised)
    }

    fn complete(&mut self) -> Answer {
        let answer = Answer {
            status: self.current.status,
            body_length: self.body.length,
            body_right: self.body.right,
            keep_alive: self.current.keep_alive,
        };
        self.reset();
        answer
    }

    /// Reads a head into `current` and returns how many of the bytes belong to it, once it is whole.
    fn feed_head(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        if self.head.is_empty() {
            if !self.known.is_empty() && bytes.starts_with(&self.known) {
                self.current = self.known_head;
                return Ok(Some(self.known.len()));
            }
            if let Some((length, head)) = read_head(bytes)? {
                self.remember(&bytes[..length], head);
                return Ok(Some(length));
            }
        }
        self.gather_head(bytes)
    }

    fn remember(&mut self, bytes: &[u8], head: Head) {
        self.current = head;
        if bytes.len() <= KEPT_HEAD {
            self.known.clear();
            self.known.extend_from_slice(bytes);
            self.known_head = head;
        }
    }

    /// Adds to a head that comes in pieces, and reads it when its end is there.
    fn gather_head(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        let before = self.head.len();
        let taken = bytes.len().min(MAX_HEAD - before);
        self.head.extend_from_slice(&bytes[..taken]);
        let begun = self.head.len().min(PREFIX.len());
        if self.head[..begun] != PREFIX[..begun] {
            return Err(Malformed);
        }
        let Some(end) = end_of_head(&self.head, before) else {
            return if self.head.len() < MAX_HEAD {
                Ok(None)
            } else {
                Err(Malformed)
            };
        };
        match read_head(&self.head[..end])? {
            Some((length, head)) if length == end => self.current = head,
            Some(_) | None => return Err(Malformed),
        }
        self.forget_head();
        Ok(Some(end - before))
    }

    /// Chooses how the body is read, or that another head follows.
    fn begin_body(&mut self) -> Result<(), Malformed> {
        let status = self.current.status;
        self.state = match self.current.framing {
            // Nobody asked for another protocol, so 101 is no interim answer here.
            _ if status < 100 || status == 101 => return Err(Malformed),
            _ if status < 200 && self.interim == MAX_INTERIM => return Err(Malformed),
            _ if status < 200 => {
                self.interim += 1;
                State::Head
            }
            _ if self.head_request || status == 204 || status == 304 => State::Length(0),
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Chunked(Chunk::Size { size: 0, line: 0 }),
            Framing::UntilClose => {
                self.current.keep_alive = false;
                State::UntilClose
            }
        };
        Ok(())
    }

    /// Counts body bytes and returns how many of them belong to the answer, once it is whole.
    fn feed_body(
        &mut self,
        bytes: &[u8],
        expected: Option<&[u8]>,
    ) -> Result<Option<usize>, Malformed> {
        let body = &mut self.body;
        match &mut self.state {
            State::Head => Ok(None),
            State::Length(left) => {
                let taken = up_to(*left, bytes.len());
                *left -= taken as u64;
                body.add(&bytes[..taken], expected);
                Ok((*left == 0).then_some(taken))
            }
            State::Chunked(chunk) => feed_chunks(chunk, bytes, |data| body.add(data, expected)),
            State::UntilClose => {
                body.add(bytes, expected);
                Ok(None)
            }
        }
    }
}

/// Returns the smaller of what is left and what is there.
fn up_to(left: u64, there: usize) -> usize {
    usize::try_from(left).map_or(there, |left| left.min(there))
}

/// Returns where the first head in `bytes` ends; all before `searched` is known to hold no end of it.
fn end_of_head(bytes: &[u8], searched: usize) -> Option<usize> {
    // An empty line's line feeds are up to two bytes apart, so they may lie astride the old end.
    let from = searched.saturating_sub(2);
    let mut feeds = (from..bytes.len()).filter(|&at| bytes[at] == b'\n');
    feeds.find_map(|at| match bytes[at + 1..] {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}

/// Reads a head at the beginning of `bytes`; none if it is not there as a whole and right one.
///
/// An error means a head that is whole and cannot be obeyed.
fn read_head(bytes: &[u8]) -> Result<Option<(usize, Head)>, Malformed> {
    if !bytes.starts_with(PREFIX) {
        return Ok(None);
    }
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let mut config = httparse::ParserConfig::default();
    // RFC 9112, section 5.2, has a client read them.
    config.allow_obsolete_multiline_headers_in_responses(true);
    let parsed = config.parse_response_with_uninit_headers(&mut response, bytes, &mut headers);
    let Ok(httparse::Status::Complete(length)) = parsed else {
        return Ok(None);
    };
    if length > MAX_HEAD {
        return Err(Malformed);
    }
    Ok(Some((length, understand(&response)?)))
}

/// Draws from the headers what decides the answer's end and the connection's.
fn understand(response: &httparse::Response<'_, '_>) -> Result<Head, Malformed> {
    let mut length = None;
    let mut codings = Vec::new();
    let mut close = false;
    let mut keep_alive = false;
    for header in response.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            length = Some(content_length(header.value, length)?);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            codings.extend(tokens(header.value));
        } else if header.name.eq_ignore_ascii_case("connection") {
            close |= tokens(header.value).any(|token| token.eq_ignore_ascii_case(b"close"));
            keep_alive |=
                tokens(header.value).any(|token| token.eq_ignore_ascii_case(b"keep-alive"));
        }
    }
    let modern = response.version == Some(1);
    // HTTP/1.0 has no codings: whoever sends one may mean anything by what follows.
    let lasting = modern || (keep_alive && codings.is_empty());
    Ok(Head {
        status: response.code.ok_or(Malformed)?,
        keep_alive: !close && lasting,
        framing: framing(&codings, length)?,
    })
}

/// Returns how the body's end is found. A coding says more than a length (RFC 9112, section 6.3).
fn framing(codings: &[&[u8]], length: Option<u64>) -> Result<Framing, Malformed> {
    let is_chunked = |coding: &&&[u8]| coding.eq_ignore_ascii_case(b"chunked");
    match (codings.last().filter(is_chunked), length) {
        (Some(_), _) if codings.iter().filter(is_chunked).count() > 1 => Err(Malformed),
        (Some(_), _) => Ok(Framing::Chunked),
        (None, Some(length)) if codings.is_empty() => Ok(Framing::Length(length)),
        (None, _) => Ok(Framing::UntilClose),
    }
}

/// Returns the elements of a comma-separated header value.
fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|&byte| byte == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|token| !token.is_empty())
}

/// Reads a `Content-Length`, which may be said more than once but only in one way.
fn content_length(value: &[u8], before: Option<u64>) -> Result<u64, Malformed> {
    let mut length = before;
    for element in value.split(|&byte| byte == b',') {
        let number = decimal(element.trim_ascii())?;
        if length.is_some_and(|length| length != number) {
            return Err(Malformed);
        }
        length = Some(number);
    }
    length.ok_or(Malformed)
}

fn decimal(digits: &[u8]) -> Result<u64, Malformed> {
    if digits.is_empty() {
        return Err(Malformed);
    }
    digits
        .iter()
        .try_fold(0, |number, &byte| append_digit(number, byte, 10))
}

/// Returns `number` with one more digit of the base at its end.
fn append_digit(number: u64, byte: u8, base: u32) -> Result<u64, Malformed> {
    let digit = char::from(byte).to_digit(base).ok_or(Malformed)?;
    let shifted = number.checked_mul(u64::from(base)).ok_or(Malformed)?;
    shifted.checked_add(u64::from(digit)).ok_or(Malformed)
}

/// Reads chunks, hands over their data and returns how many of the bytes belong to them, once the last is there.
fn feed_chunks(
    chunk: &mut Chunk,
    bytes: &[u8],
    mut hand_over: impl FnMut(&[u8]),
) -> Result<Option<usize>, Malformed> {
    let mut at = 0;
    while at < bytes.len() {
        if let Chunk::Data(left) = *chunk {
            let taken = up_to(left, bytes.len() - at);
            hand_over(&bytes[at..at + taken]);
            at += taken;
            let left = left - taken as u64;
            *chunk = if left == 0 {
                Chunk::DataEnd
            } else {
                Chunk::Data(left)
            };
            continue;
        }
        *chunk = after(*chunk, bytes[at])?;
        at += 1;
        if matches!(chunk, Chunk::Done) {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Returns where a byte of the framing leads.
fn after(chunk: Chunk, byte: u8) -> Result<Chunk, Malformed> {
    match (chunk, byte) {
        (Chunk::Size { size, line: 1.. } | Chunk::Extension { size, .. }, b'\r') => {
            Ok(Chunk::SizeEnd { size })
        }
        (Chunk::Size { line, .. } | Chunk::Extension { line, .. }, _) if line == MAX_CHUNK_LINE => {
            Err(Malformed)
        }
        (
            Chunk::Size {
                size,
                line: line @ 1..,
            },
            b';' | b' ' | b'\t',
        ) => Ok(Chunk::Extension {
            size,
            line: line + 1,
        }),
        (Chunk::Size { size, line }, digit) => Ok(Chunk::Size {
            size: append_digit(size, digit, 16)?,
            line: line + 1,
        }),
        (Chunk::Extension { .. }, b'\n') => Err(Malformed),
        (Chunk::Extension { size, line }, _) => Ok(Chunk::Extension {
            size,
            line: line + 1,
        }),
        (Chunk::SizeEnd { size: 0 }, b'\n') => Ok(Chunk::Trailer {
            seen: 0,
            line: Line::Start,
        }),
        (Chunk::SizeEnd { size }, b'\n') => Ok(Chunk::Data(size)),
        (Chunk::DataEnd, b'\r') => Ok(Chunk::DataLineFeed),
        (Chunk::DataLineFeed, b'\n') => Ok(Chunk::Size { size: 0, line: 0 }),
        (Chunk::Trailer { seen, line }, _) => after_in_trailer(seen, line, byte),
        (
            Chunk::SizeEnd { .. }
            | Chunk::DataEnd
            | Chunk::DataLineFeed
            | Chunk::Data(_)
            | Chunk::Done,
            _,
        ) => Err(Malformed),
    }
}

/// Returns where a byte of the trailer section leads.
fn after_in_trailer(seen: usize, line: Line, byte: u8) -> Result<Chunk, Malformed> {
    let line = match (line, byte) {
        (Line::EmptyEnd, b'\n') => return Ok(Chunk::Done),
        (Line::TextEnd, b'\n') => Line::Start,
        (Line::Start, b'\r') => Line::EmptyEnd,
        (Line::Text, b'\r') => Line::TextEnd,
        (Line::EmptyEnd | Line::TextEnd, _) | (Line::Start | Line::Text, b'\n') => {
            return Err(Malformed);
        }
        (Line::Start | Line::Text, _) => Line::Text,
    };
    if seen == MAX_HEAD {
        return Err(Malformed);
    }
    Ok(Chunk::Trailer {
        seen: seen + 1,
        line,
    })
}

/// Returns the bytes of the workload's request for a path to a server.
///
/// Headers of the workload take the place of those of the same name that would be sent otherwise.
pub(crate) fn request(workload: &Workload, path: &str, address: &Address) -> Vec<u8> {
    let body = workload.body.as_deref().unwrap_or_default();
    let mut lines = vec![format!("{} {path} HTTP/1.1", workload.method)];
    let mut add_unless_given = |name: &str, value: String| {
        if !workload
            .headers
            .keys()
            .any(|given| given.eq_ignore_ascii_case(name))
        {
            lines.push(format!("{name}: {value}"));
        }
    };
    add_unless_given("Host", address.host());
    if !workload.keep_alive {
        add_unless_given("Connection", "close".to_owned());
    }
    if workload.body.is_some() {
        add_unless_given("Content-Length", body.len().to_string());
    }
    lines.extend(
        workload
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}")),
    );
    format!("{}\r\n\r\n{body}", lines.join("\r\n")).into_bytes()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::load::reading::{Reading, read_pieces};
    use crate::matrix::{Manner, Stop};

    /// What bodies should be in these tests.
    const EXPECTED: Option<&[u8]> = Some(b"abc");

    fn read(bytes: &[u8]) -> Reading {
        read_pieces("GET", EXPECTED, [bytes])
    }

    fn read_one(text: &str) -> Answer {
        let mut reading = read(text.as_bytes());
        assert!(
            !reading.malformed && reading.at_close.is_none(),
            "{text:?} {reading:?}"
        );
        assert_eq!(reading.answers.len(), 1, "{text:?}");
        reading.answers.remove(0)
    }

    fn is_malformed(text: &str) -> bool {
        read(text.as_bytes()).malformed
    }

    #[test]
    fn an_answer_of_known_length_is_whole_at_its_last_byte() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let mut parser = Parser::new("GET");
        assert_eq!(
            parser.feed(&text.as_bytes()[..text.len() - 1], None),
            Ok(None)
        );
        let answer = Answer {
            status: 200,
            body_length: 5,
            body_right: true,
            keep_alive: true,
        };
        assert_eq!(parser.feed(b"o", None), Ok(Some(Whole { answer, used: 1 })));
    }

    #[test]
    fn a_body_is_held_against_the_expected_one_in_any_framing() {
        let right = |text: &str| {
            let reading = read(text.as_bytes());
            let answer = reading.answers.first().or(reading.at_close.as_ref());
            answer.map(|answer| answer.body_right)
        };
        for (body, expected) in [
            ("abc", true),
            ("abd", false),
            ("xbc", false),
            ("ab", true),
            ("abcd", true),
        ] {
            let length = body.len();
            let (first, rest) = body.split_at(1);
            let texts = [
                format!("Content-Length: {length}\r\n\r\n{body}"),
                format!("Transfer-Encoding: chunked\r\n\r\n{length}\r\n{body}\r\n0\r\n\r\n"),
                format!(
                    "Transfer-Encoding: chunked\r\n\r\n1\r\n{first}\r\n{}\r\n{rest}\r\n0\r\n\r\n",
                    rest.len()
                ),
                format!("\r\n{body}"),
            ];
            for text in texts {
                let text = format!("HTTP/1.1 200 OK\r\n{text}");
                assert_eq!(right(&text), Some(expected), "{text:?}");
            }
        }
    }

    #[test]
    fn bytes_after_an_answer_are_not_used_up() {
        let mut parser = Parser::new("GET");
        let whole = parser
            .feed(b"HTTP/1.1 204 No Content\r\n\r\nrest", None)
            .unwrap()
            .unwrap();
        assert_eq!(whole.used, 27);
        assert_eq!(parser.feed(b"rest", None), Err(Malformed));
    }

    #[test]
    fn a_repeated_head_is_read_as_the_first_one_was() {
        let first = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
        let other = "HTTP/1.0 404 No\r\nContent-Length: 1\r\n\r\na";
        let reading = read(format!("{first}{first}{other}{other}{first}").as_bytes());
        let statuses: Vec<u16> = reading.answers.iter().map(|answer| answer.status).collect();
        assert_eq!(statuses, [200, 200, 404, 404, 200]);
        let lengths: Vec<u64> = reading
            .answers
            .iter()
            .map(|answer| answer.body_length)
            .collect();
        assert_eq!(lengths, [2, 2, 1, 1, 2]);
    }

    #[test]
    fn keep_alive_follows_version_and_connection_header() {
        let keeps = |version: &str, header: &str| {
            read_one(&format!(
                "HTTP/{version} 200 OK\r\nContent-Length: 0\r\n{header}\r\n"
            ))
            .keep_alive
        };
        assert!(keeps("1.1", ""));
        assert!(keeps("1.1", "Connection: upgrade\r\n"));
        assert!(!keeps("1.1", "Connection: close\r\n"));
        assert!(!keeps("1.1", "connection: foo , CLOSE\r\n"));
        assert!(!keeps(
            "1.1",
            "Connection: keep-alive\r\nConnection: close\r\n"
        ));
        assert!(!keeps("1.0", ""));
        assert!(keeps("1.0", "Connection: Keep-Alive\r\n"));
        let coded = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
        assert!(!read_one(coded).keep_alive);
    }

    #[test]
    fn a_body_without_length_ends_with_the_connection() {
        let reading = read(b"HTTP/1.1 200 OK\r\n\r\nhello");
        assert_eq!(reading.answers, []);
        let answer = Answer {
            status: 200,
            body_length: 5,
            body_right: false,
            keep_alive: false,
        };
        assert_eq!(reading.at_close, Some(answer));
        let coded =
            read(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 2\r\n\r\nhello");
        assert_eq!(coded.at_close, Some(answer));
    }

    #[test]
    fn a_connection_closed_inside_an_answer_completes_nothing() {
        for text in [
            "",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        ] {
            let reading = read(text.as_bytes());
            assert!(!reading.malformed, "{text:?}");
            assert_eq!(
                (reading.answers.len(), reading.at_close),
                (0, None),
                "{text:?}"
            );
        }
    }

    #[test]
    fn chunks_are_counted_without_their_framing() {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let length = |chunks: &str| read_one(&format!("{chunked}{chunks}")).body_length;
        assert_eq!(length("5\r\nhello\r\n0\r\n\r\n"), 5);
        assert_eq!(
            length("5\r\nhello\r\nA;name=\"x\"\r\n0123456789\r\n000\r\n\r\n"),
            15
        );
        assert_eq!(length("5  \r\nhello\r\n0\r\nA: b\r\nC: d\r\n\r\n"), 5);
        let both =
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n";
        assert_eq!(
            read_one(&format!("{both}1\r\na\r\n0\r\n\r\n")).body_length,
            1
        );
    }

    #[test]
    fn broken_chunks_are_malformed() {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        for chunks in [
            "\r\n",
            "g\r\n",
            ";x\r\n",
            "-1\r\n",
            "5\nhello",
            "5;x\nhello",
            "5\rhello",
            "5\r\nhelloX",
            "5\r\nhello\rX",
            "10000000000000000\r\n",
            "0\r\n\n",
            "0\r\n\rX",
            "0\r\nA: b\n",
            "0\r\nA: b\rX",
        ] {
            assert!(is_malformed(&format!("{chunked}{chunks}")), "{chunks:?}");
        }
        assert!(!is_malformed(&format!("{chunked}FFFFFFFFFFFFFFFF\r\n")));
        let twice =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert!(is_malformed(twice));
    }

    #[test]
    fn interim_answers_are_skipped() {
        let early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
        let answer = read_one(&format!(
            "HTTP/1.1 100 Continue\r\n\r\n{early}{early}HTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nx"
        ));
        assert_eq!((answer.status, answer.body_length), (201, 1));
        assert!(is_malformed("HTTP/1.1 101 Switching Protocols\r\n\r\n"));
        assert!(is_malformed("HTTP/1.1 099 What\r\n\r\n"));
    }

    #[test]
    fn interim_answers_without_end_are_malformed() {
        let after = |count: u8| {
            let interim = "HTTP/1.1 102 Processing\r\n\r\n".repeat(usize::from(count));
            format!("{interim}HTTP/1.1 204 No Content\r\n\r\n")
        };
        let twice = after(MAX_INTERIM).repeat(2);
        assert_eq!(
            read(twice.as_bytes()).answers.len(),
            2,
            "each may have so many"
        );
        assert!(is_malformed(&after(MAX_INTERIM + 1)));
    }

    #[test]
    fn folded_header_lines_are_read_as_one() {
        let answer = read_one(
            "HTTP/1.1 200 OK\r\nConnection: foo,\r\n close\r\nContent-Length:\r\n\t2\r\n\r\nab",
        );
        assert_eq!((answer.body_length, answer.keep_alive), (2, false));
        assert!(is_malformed(
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 2\r\n\r\nab"
        ));
    }

    #[test]
    fn answers_that_never_have_a_body_end_with_their_head() {
        let promised = "Content-Length: 5\r\n\r\n";
        assert_eq!(
            read_one(&format!("HTTP/1.1 204 No Content\r\n{promised}")).body_length,
            0
        );
        assert_eq!(read_one("HTTP/1.1 304 Not Modified\r\n\r\n").body_length, 0);
        let text = format!("HTTP/1.1 200 OK\r\n{promised}");
        let reading = read_pieces("HEAD", EXPECTED, [text.as_bytes()]);
        assert_eq!(reading.answers.len(), 1);
        assert_eq!(
            (
                reading.answers[0].body_length,
                reading.answers[0].keep_alive
            ),
            (0, true)
        );
    }

    #[test]
    fn a_content_length_must_be_one_number() {
        let with = |headers: &str| format!("HTTP/1.1 200 OK\r\n{headers}\r\nab");
        for headers in [
            "Content-Length: \r\n",
            "Content-Length: -1\r\n",
            "Content-Length: +2\r\n",
            "Content-Length: 2x\r\n",
            "Content-Length: 2, 3\r\n",
            "Content-Length: 2,\r\n",
            "Content-Length: 2\r\nContent-Length: 3\r\n",
            "Content-Length: 18446744073709551616\r\n",
        ] {
            assert!(is_malformed(&with(headers)), "{headers:?}");
        }
        assert_eq!(
            read_one(&with("Content-Length: 2, 2\r\ncontent-length: 02\r\n")).body_length,
            2
        );
    }

    #[test]
    fn what_does_not_begin_like_http_is_malformed_at_once() {
        assert!(is_malformed("SSH-2.0-OpenSSH_9.2"));
        assert!(is_malformed("\r\nHTTP/1.1 200 OK\r\n\r\n"));
        assert!(is_malformed("HTTP/2 200\r\n\r\n"));
        assert!(is_malformed("HTTP/1.1 abc\r\n\r\n"));
        assert!(!is_malformed("HTTP/1.1 20"));
    }

    #[test]
    fn heads_chunk_lines_and_trailers_have_a_limit() {
        let head =
            |padding: usize| format!("HTTP/1.1 204 No\r\nA: {}\r\n\r\n", "x".repeat(padding));
        let room = MAX_HEAD - head(0).len();
        assert_eq!(read_one(&head(room)).status, 204);
        assert!(is_malformed(&head(room + 1)));
        assert!(is_malformed(&format!(
            "HTTP/1.1 200 OK\r\nA: {}",
            "x".repeat(MAX_HEAD)
        )));
        assert!(is_malformed(&format!(
            "HTTP/1.1 204 OK\r\n{}\r\n",
            "A: b\r\n".repeat(MAX_HEADERS + 1)
        )));
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let extension = |length: u16| "x".repeat(usize::from(length));
        assert!(!is_malformed(&format!(
            "{chunked}1;{}\r\n",
            extension(MAX_CHUNK_LINE - 2)
        )));
        assert!(is_malformed(&format!(
            "{chunked}1;{}\r\n",
            extension(MAX_CHUNK_LINE - 1)
        )));
        assert!(is_malformed(&format!(
            "{chunked}{}1\r\n",
            "0".repeat(usize::from(MAX_CHUNK_LINE))
        )));
        assert!(is_malformed(&format!(
            "{chunked}0\r\n{}",
            "A: b\r\n".repeat(MAX_HEAD / 6 + 1)
        )));
    }

    #[test]
    fn a_body_of_ten_gigabytes_costs_no_memory() {
        let mut parser = Parser::new("GET");
        let length = 10_u64 << 30;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        assert_eq!(parser.feed(head.as_bytes(), None), Ok(None));
        let piece = vec![0; 1 << 20];
        for _ in 1..length >> 20 {
            assert_eq!(parser.feed(&piece, None), Ok(None));
        }
        let whole = parser.feed(&piece, None).unwrap().unwrap();
        assert_eq!(
            (whole.answer.body_length, whole.used),
            (length, piece.len())
        );
        assert_eq!(parser.kept(), head.len());
    }

    #[test]
    fn a_length_is_known_before_the_body_has_come() {
        let least = |text: &str| {
            let mut parser = Parser::new("GET");
            assert_eq!(parser.feed(text.as_bytes(), None), Ok(None), "{text:?}");
            parser.least_length()
        };
        assert_eq!(least("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n"), 0);
        assert_eq!(least("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"), 9);
        assert_eq!(least("HTTP/1.1 200 OK\r\n\r\nab"), 2);
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n";
        assert_eq!(least(chunked), 2);
        assert_eq!(least(&format!("{chunked}3\r\n")), 5);
        let enormous = format!("{chunked}ffffffffffffffff\r\n");
        assert_eq!(least(&enormous), u64::MAX);
    }

    #[test]
    fn long_heads_leave_no_memory_behind() {
        let padding = "x".repeat(MAX_HEAD / 2);
        let text = format!("HTTP/1.1 200 OK\r\nA: {padding}\r\nContent-Length: 2\r\n\r\nab");
        let mut parser = Parser::new("GET");
        for piece in text.as_bytes().chunks(1000) {
            assert!(parser.feed(piece, None).is_ok());
        }
        assert!(parser.feed(text.as_bytes(), None).unwrap().is_some());
        assert!(parser.kept() <= 2 * KEPT_HEAD, "{}", parser.kept());
    }

    #[test]
    fn a_reset_parser_knows_nothing_of_the_answer_before() {
        for begun in [
            "HTTP/1.1 200 OK\r\nConte",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab",
        ] {
            let mut parser = Parser::new("GET");
            assert_eq!(parser.feed(begun.as_bytes(), None), Ok(None));
            parser.reset();
            let whole = parser
                .feed(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", None)
                .unwrap()
                .unwrap();
            assert_eq!(whole.answer.body_length, 1);
        }
    }

    fn workload(keep_alive: bool, headers: &[(&str, &str)], body: Option<&str>) -> Workload {
        let headers = headers
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()));
        Workload {
            name: "test".to_owned(),
            method: "GET".to_owned(),
            path: "/a?b=c".to_owned(),
            headers: headers.collect::<BTreeMap<_, _>>(),
            body: body.map(str::to_owned),
            connections: 1,
            keep_alive,
            stop: Stop::Requests(1),
            warmup_answers: 0,
            warmup_at_most: Duration::ZERO,
            window: Duration::ZERO,
            timeout: Duration::ZERO,
            max_error_rate: 0.0,
            manner: Manner::default(),
        }
    }

    fn request_text(workload: &Workload, address: &str) -> String {
        String::from_utf8(request(
            workload,
            &workload.path,
            &Address::Tcp(address.parse().unwrap()),
        ))
        .unwrap()
    }

    #[test]
    fn a_request_says_no_more_than_it_must() {
        let plain = request_text(&workload(true, &[], None), "127.0.0.1:80");
        assert_eq!(plain, "GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n");
        let closing = request_text(
            &workload(false, &[("Accept", "*/*")], Some("hé")),
            "[::1]:8080",
        );
        let expected = "GET /a?b=c HTTP/1.1\r\nHost: [::1]:8080\r\nConnection: close\r\nContent-Length: 3\r\n\
                        Accept: */*\r\n\r\nhé";
        assert_eq!(closing, expected);
    }

    #[test]
    fn a_header_of_the_workload_replaces_the_usual_one() {
        let text = request_text(
            &workload(true, &[("host", "example.org")], None),
            "127.0.0.1:80",
        );
        assert_eq!(text, "GET /a?b=c HTTP/1.1\r\nhost: example.org\r\n\r\n");
    }
}

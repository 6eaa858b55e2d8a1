//! What the parser makes of all that a server sends on a connection, for tests and for fuzzing. Pure.

use super::http1::{Answer, MOST_KEPT, Malformed, Parser};

/// Up to this length, bytes are given one by one as well.
const SHORT: usize = 4096;

/// Holds what the parser makes of bytes in pieces against what it makes of them as a whole.
///
/// The first three bytes say how: the method and whether there is an expected body, how many of the last bytes it is,
/// and a seed for the pieces. The rest is what the server sends.
///
/// # Panics
///
/// If the parser panics, keeps more memory than it may, or reads another thing from the pieces.
pub fn hold_pieces_against_whole(data: &[u8]) {
    let [how, length, seed, bytes @ ..] = data else {
        return;
    };
    let method = if how & 1 == 0 { "GET" } else { "HEAD" };
    let begin = bytes.len().saturating_sub(usize::from(length & 31));
    let expected = (how & 2 == 0).then_some(&bytes[begin..]);
    let whole = read_pieces(method, expected, [bytes]);
    assert_eq!(read_pieces(method, expected, pieces(bytes, *seed)), whole);
    if bytes.len() <= SHORT {
        assert_eq!(read_pieces(method, expected, bytes.chunks(1)), whole);
    }
}

/// Cuts bytes in pieces whose lengths follow from a seed; some are empty.
fn pieces(mut bytes: &[u8], seed: u8) -> impl Iterator<Item = &[u8]> {
    let mut state = u32::from(seed);
    std::iter::from_fn(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // One piece in eight may be long.
        let longest = if state >> 29 == 0 { 4096 } else { 16 };
        let length = ((state >> 8) as usize % longest).min(bytes.len());
        let more = !bytes.is_empty();
        let (piece, rest) = bytes.split_at(length);
        bytes = rest;
        more.then_some(piece)
    })
}

/// The answers on a connection and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Whole answers.
    pub(crate) answers: Vec<Answer>,
    /// Whether what followed them is none.
    pub(crate) malformed: bool,
    /// The answer that the end of the connection completed.
    pub(crate) at_close: Option<Answer>,
}

/// Reads the answers to requests with this method that come in these pieces.
pub(crate) fn read_pieces<'bytes>(
    method: &str,
    expected: Option<&[u8]>,
    pieces: impl IntoIterator<Item = &'bytes [u8]>,
) -> Reading {
    let mut parser = Parser::new(method);
    let mut answers = Vec::new();
    let mut malformed = false;
    for piece in pieces {
        malformed = read_piece(&mut parser, expected, piece, &mut answers).is_err();
        assert!(parser.kept() <= MOST_KEPT, "{} bytes", parser.kept());
        if malformed {
            break;
        }
    }
    Reading {
        at_close: if malformed { None } else { parser.finish() },
        answers,
        malformed,
    }
}

fn read_piece(
    parser: &mut Parser,
    expected: Option<&[u8]>,
    mut piece: &[u8],
    answers: &mut Vec<Answer>,
) -> Result<(), Malformed> {
    while let Some(whole) = parser.feed(piece, expected)? {
        answers.push(whole.answer);
        piece = &piece[whole.used..];
        if piece.is_empty() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What bodies should be in these tests.
    const EXPECTED: Option<&[u8]> = Some(b"abc");

    /// Header lines, right and wrong, that the parser takes notice of.
    fn header() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "Content-Length: 3\r\n",
            "Content-Length: 7\r\n",
            "Content-Length: x\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Transfer-Encoding: gzip\r\n",
            "Connection: close\r\n",
            "Date: now\n",
            "Bad Name: x\r\n",
        ])
    }

    /// Status lines and bodies, right and wrong.
    fn answer() -> impl Strategy<Value = String> {
        let status = prop::sample::select(vec![
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.0 200 OK\n",
            "HTTP/1.1 100 Continue\r\n",
            "HTTP/1.1 204 No Content\r\n",
            "HTTP/1.1 2x0\r\n",
            "\r\nHTTP/1.1 200 OK\r\n",
        ]);
        let body = prop::sample::select(vec![
            "",
            "abc",
            "abd",
            "abcdefg",
            "3\r\nabc\r\n0\r\n\r\n",
            "1;x\r\na\r\n2 \r\nbc\r\n0\r\nA: b\r\n\r\n",
            "3\r\nabcd\r\n",
        ]);
        let headers = prop::collection::vec(header(), 0..3);
        (
            status,
            headers,
            prop::sample::select(vec!["\r\n", "\n", ""]),
            body,
        )
            .prop_map(|(status, headers, end, body)| {
                format!("{status}{}{end}{body}", headers.concat())
            })
    }

    /// Cuts bytes at any places.
    fn cut(bytes: &[u8], mut places: Vec<usize>) -> Vec<&[u8]> {
        for place in &mut places {
            *place %= bytes.len() + 1;
        }
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        places
            .windows(2)
            .map(|ends| &bytes[ends[0]..ends[1]])
            .collect()
    }

    /// An answer as it must be read, its bytes for `GET`, and those for `HEAD`.
    #[derive(Debug, Clone)]
    struct Given {
        answer: Answer,
        head: String,
        body: String,
    }

    /// How the end of a right answer is told.
    #[derive(Debug, Clone, Copy)]
    enum Ending {
        Length,
        LengthTwice,
        Chunked,
        /// A length that the coding overrules.
        Overruled,
        Folded,
    }

    /// Right answers in every framing but that of the connection's end, with all that may stand around them.
    fn given() -> impl Strategy<Value = Given> {
        let ending = prop::sample::select(vec![
            Ending::Length,
            Ending::LengthTwice,
            Ending::Chunked,
            Ending::Overruled,
            Ending::Folded,
        ]);
        let status = prop::sample::select(vec![200, 201, 204, 304, 404, 500, 599]);
        let more = prop::sample::select(vec![
            "",
            "Date: Tue, 01 Jan 2030 00:00:00 GMT\r\n",
            "X: a\r\n b\r\n",
            "Server: x\n",
        ]);
        let keep_alive = any::<bool>();
        let pieces = prop::collection::vec("[ -~]{1,20}", 0..4);
        (ending, status, (more, 0..3_usize), keep_alive, pieces).prop_map(
            |(ending, status, (more, interim), keep_alive, pieces)| {
                let connection = if keep_alive {
                    ""
                } else {
                    "Connection: close\r\n"
                };
                let framing = headers_of(ending, pieces.concat().len());
                let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(interim);
                let head =
                    format!("{interim}HTTP/1.1 {status} Said\r\n{more}{connection}{framing}\r\n");
                let body = if [204, 304].contains(&status) {
                    Vec::new()
                } else {
                    pieces
                };
                Given {
                    answer: Answer {
                        status,
                        body_length: body.concat().len() as u64,
                        body_right: is_right(&body.concat()),
                        keep_alive,
                    },
                    head,
                    body: framed(ending, status, &body),
                }
            },
        )
    }

    fn headers_of(ending: Ending, length: usize) -> String {
        match ending {
            Ending::Length => format!("Content-Length: {length}\r\n"),
            Ending::LengthTwice => {
                format!("content-length: {length}, {length}\r\nContent-Length: 0{length}\r\n")
            }
            Ending::Chunked => "Transfer-Encoding: chunked\r\n".to_owned(),
            Ending::Overruled => {
                "Content-Length: 7\r\nTransfer-Encoding: x, Chunked\r\n".to_owned()
            }
            Ending::Folded => format!("Content-Length:\r\n  {length}\r\n"),
        }
    }

    fn framed(ending: Ending, status: u16, pieces: &[String]) -> String {
        match ending {
            Ending::Length | Ending::LengthTwice | Ending::Folded => pieces.concat(),
            Ending::Chunked | Ending::Overruled if [204, 304].contains(&status) => String::new(),
            Ending::Chunked | Ending::Overruled => {
                let chunk = |piece: &String| format!("{:X};a=b\r\n{piece}\r\n", piece.len());
                let chunks: String = pieces.iter().map(chunk).collect();
                format!("{chunks}0\r\nA: b\r\n\r\n")
            }
        }
    }

    /// Returns whether a body is the expected one, as far as that is long.
    fn is_right(body: &str) -> bool {
        let mut both = body.bytes().zip(EXPECTED.unwrap());
        both.all(|(byte, expected)| byte == *expected)
    }

    fn deterministic() -> ProptestConfig {
        ProptestConfig {
            failure_persistence: None,
            rng_seed: prop::test_runner::RngSeed::Fixed(7),
            cases: 2000,
            ..ProptestConfig::default()
        }
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "the seeds lie beside the fuzzing"
    )]
    fn what_fuzzing_begins_with_reads_the_same_in_pieces() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds/response_parser");
        let seeds: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().collect();
        assert!(seeds.len() > 50, "{} seeds", seeds.len());
        for seed in seeds {
            hold_pieces_against_whole(&std::fs::read(seed.path()).unwrap());
        }
    }

    proptest! {
        #![proptest_config(deterministic())]

        #[test]
        fn any_split_of_the_bytes_reads_the_same(
            answers in prop::collection::vec(answer(), 1..4),
            places in prop::collection::vec(any::<usize>(), 0..12),
        ) {
            let text = answers.concat();
            let whole = read_pieces("GET", EXPECTED, [text.as_bytes()]);
            prop_assert_eq!(&read_pieces("GET", EXPECTED, cut(text.as_bytes(), places)), &whole);
            prop_assert_eq!(&read_pieces("GET", EXPECTED, text.as_bytes().chunks(1)), &whole);
        }

        #[test]
        fn any_split_of_spoiled_bytes_reads_the_same(
            answers in prop::collection::vec(answer(), 1..4),
            spoiled in prop::collection::vec((any::<usize>(), any::<u8>()), 1..4),
            places in prop::collection::vec(any::<usize>(), 0..12),
        ) {
            let mut bytes = answers.concat().into_bytes();
            for (place, byte) in spoiled {
                let place = place % bytes.len();
                bytes[place] = byte;
            }
            let whole = read_pieces("GET", EXPECTED, [bytes.as_slice()]);
            prop_assert_eq!(&read_pieces("GET", EXPECTED, cut(&bytes, places)), &whole);
            prop_assert_eq!(&read_pieces("GET", EXPECTED, bytes.chunks(1)), &whole);
        }

        #[test]
        fn right_answers_are_read_as_they_are_given_in_any_split(
            given in prop::collection::vec(given(), 1..5),
            until_close in prop::option::of("[ -~]{0,20}"),
            places in prop::collection::vec(any::<usize>(), 0..12),
        ) {
            let mut text: String = given.iter().map(|one| one.head.clone() + &one.body).collect();
            if let Some(body) = &until_close {
                text += "HTTP/1.1 200 OK\r\n\r\n";
                text += body;
            }
            let expected = Reading {
                answers: given.iter().map(|one| one.answer).collect(),
                malformed: false,
                at_close: until_close.map(|body| Answer {
                    status: 200,
                    body_length: body.len() as u64,
                    body_right: is_right(&body),
                    keep_alive: false,
                }),
            };
            prop_assert_eq!(&read_pieces("GET", EXPECTED, cut(text.as_bytes(), places)), &expected);
            prop_assert_eq!(&read_pieces("GET", EXPECTED, text.as_bytes().chunks(1)), &expected);
        }

        #[test]
        fn answers_to_head_are_their_heads_in_any_split(
            given in prop::collection::vec(given(), 1..5),
            places in prop::collection::vec(any::<usize>(), 0..12),
        ) {
            let text: String = given.iter().map(|one| one.head.as_str()).collect();
            let without_body = |one: &Given| Answer {
                body_length: 0,
                body_right: true,
                ..one.answer
            };
            let expected: Vec<Answer> = given.iter().map(without_body).collect();
            let reading = read_pieces("HEAD", EXPECTED, cut(text.as_bytes(), places));
            prop_assert_eq!((reading.answers, reading.malformed), (expected, false));
        }
    }
}

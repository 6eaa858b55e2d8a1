//! The bytes of requests → the bytes of their answers. Pure, but that it takes as long as it is told to.

use std::hint::black_box;

use super::request::{After, Malformed, first};

const OPEN: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\nHello World\n";
const OPEN_AS_TOLD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\nConnection: keep-alive\r\n\r\nHello World\n";
const CLOSED: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\nConnection: close\r\n\r\nHello World\n";
const REFUSED: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// What came of the bytes that a connection has brought so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answered {
    /// Bytes of the requests that were whole.
    pub(super) used: usize,
    /// Answers to them; those that tell how many there were do not count.
    pub(super) count: u64,
    /// Whether the connection is to be closed after them.
    pub(super) closing: bool,
}

/// Appends the answers to the whole requests at the beginning of some bytes, each after so many turns of work. `given`
/// answers were given before.
pub(super) fn answer_all(
    bytes: &[u8],
    turns: u64,
    given: &dyn Fn() -> u64,
    answers: &mut Vec<u8>,
) -> Answered {
    let mut answered = Answered {
        used: 0,
        count: 0,
        closing: false,
    };
    while answered.used < bytes.len() && !answered.closing {
        let request = match first(&bytes[answered.used..]) {
            Ok(Some(request)) => request,
            Ok(None) => break,
            Err(Malformed) => {
                answers.extend_from_slice(REFUSED);
                answered.closing = true;
                break;
            }
        };
        answered.used += request.length;
        answered.closing = request.after == After::Closed;
        if request.wants_stats {
            say_number(given() + answered.count, answers);
        } else {
            work(turns);
            answers.extend_from_slice(answer(request.after));
            answered.count += 1;
        }
    }
    answered
}

fn answer(after: After) -> &'static [u8] {
    match after {
        After::Open => OPEN,
        After::OpenAsTold => OPEN_AS_TOLD,
        After::Closed => CLOSED,
    }
}

fn say_number(number: u64, answers: &mut Vec<u8>) {
    let body = format!("{number}\n");
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    answers.extend_from_slice((head + &body).as_bytes());
}

/// Turns a loop; each turn is the same few instructions, and none of them can be left out.
pub(super) fn work(turns: u64) {
    let mut value = 1_u64;
    for turn in 0..turns {
        value = black_box(value.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ turn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known::{BODY, STATS};

    const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

    fn answered(text: &str) -> (Answered, String) {
        let mut answers = Vec::new();
        let answered = answer_all(text.as_bytes(), 0, &|| 40, &mut answers);
        (answered, String::from_utf8(answers).unwrap())
    }

    #[test]
    fn every_answer_says_the_length_of_its_body() {
        for text in [OPEN, OPEN_AS_TOLD, CLOSED] {
            let text = str::from_utf8(text).unwrap();
            assert!(text.ends_with(&format!("\r\n\r\n{BODY}")));
            assert!(text.contains(&format!("Content-Length: {}\r\n", BODY.len())));
        }
    }

    #[test]
    fn requests_that_come_together_are_answered_together_and_the_rest_is_left() {
        let (all, answers) = answered(&format!("{GET}{GET}GET /"));
        assert_eq!(
            (all.used, all.count, all.closing),
            (2 * GET.len(), 2, false)
        );
        assert_eq!(answers.as_bytes(), [OPEN, OPEN].concat());
    }

    #[test]
    fn nothing_is_answered_after_the_one_that_closes() {
        let last = "GET / HTTP/1.0\r\n\r\n";
        let (all, answers) = answered(&format!("{last}{GET}"));
        assert_eq!((all.used, all.count, all.closing), (last.len(), 1, true));
        assert_eq!(answers.as_bytes(), CLOSED);
    }

    #[test]
    fn the_number_of_answers_does_not_count_itself() {
        let stats = format!("GET {STATS} HTTP/1.1\r\n\r\n");
        let (all, answers) = answered(&format!("{GET}{stats}{stats}"));
        assert_eq!(all.count, 1);
        assert_eq!(answers.matches("\r\n\r\n41\n").count(), 2, "{answers}");
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let (all, answers) = answered(&format!("{GET}nonsense with\r\n\r\n"));
        assert!(all.closing && all.count == 1);
        assert!(answers.as_bytes().ends_with(REFUSED));
    }
}

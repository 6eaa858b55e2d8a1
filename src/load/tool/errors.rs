//! What kind of failure a program means, from its own words. Pure.

use crate::outcome::ErrorKind;

/// Words of failures and their kinds, the first that fits.
const WORDS: [(&str, ErrorKind); 20] = [
    ("assign requested address", ErrorKind::PortsExhausted),
    ("address not available", ErrorKind::PortsExhausted),
    ("too many open files", ErrorKind::Client),
    ("cannot allocate", ErrorKind::Client),
    ("no buffer space", ErrorKind::Client),
    ("permission denied", ErrorKind::Client),
    ("refused", ErrorKind::Refused),
    ("reset by peer", ErrorKind::Reset),
    ("connection reset", ErrorKind::Reset),
    ("broken pipe", ErrorKind::Reset),
    ("timeout", ErrorKind::Timeout),
    ("timed out", ErrorKind::Timeout),
    ("deadline exceeded", ErrorKind::Timeout),
    // apr's words for the same.
    ("has expired", ErrorKind::Timeout),
    ("unexpected eof", ErrorKind::Short),
    ("reading a body", ErrorKind::Short),
    ("end of file", ErrorKind::Closed),
    ("eof", ErrorKind::Closed),
    ("closed", ErrorKind::Closed),
    ("unable to connect", ErrorKind::Refused),
];

/// Returns the kind of a failure that a program tells of in words.
///
/// What no word is known for came from reading an answer: programs write long about those.
pub fn kind_of(words: &str) -> ErrorKind {
    let words = words.to_lowercase();
    let known = WORDS.iter().find(|(part, _)| words.contains(part));
    known.map_or(ErrorKind::Malformed, |(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_have_the_kinds_that_their_words_mean() {
        let cases = [
            (
                "dial tcp 127.0.0.1:1: connect: connection refused",
                ErrorKind::Refused,
            ),
            (
                "connect: cannot assign requested address",
                ErrorKind::PortsExhausted,
            ),
            ("Get \"http://127.0.0.1:1/\": EOF", ErrorKind::Closed),
            (
                "Get \"http://127.0.0.1:1/\": unexpected EOF",
                ErrorKind::Short,
            ),
            (
                "connection closed before message completed",
                ErrorKind::Closed,
            ),
            ("error reading a body from connection", ErrorKind::Short),
            (
                "apr_pollset_poll: The timeout specified has expired (70007)",
                ErrorKind::Timeout,
            ),
            (
                "apr_socket_recv: Connection reset by peer (104)",
                ErrorKind::Reset,
            ),
            (
                "unable to connect to 127.0.0.1:1 Connection refused",
                ErrorKind::Refused,
            ),
            ("socket: Too many open files (24)", ErrorKind::Client),
            (
                "malformed HTTP status code \"nonsense\"",
                ErrorKind::Malformed,
            ),
        ];
        for (words, kind) in cases {
            assert_eq!(kind_of(words), kind, "{words}");
        }
    }
}

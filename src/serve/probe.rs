//! One request at a time, by hyper: is the server ready, and is its answer the right one?

use std::io::ErrorKind;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::Response;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::task::JoinSet;

use crate::address::Address;
use crate::dial::{self, Channel};
use crate::matrix::{Check, Protocol, Workload};
use crate::tls;

/// Bodies longer than this are wrong whatever is in them: the probe keeps the body in memory.
const LONGEST_BODY: usize = 64 << 20;
/// Where the body is known, what is longer than it and than this is not read to its end to see that it is wrong.
const LONGEST_WRONG_BODY: usize = 64 << 10;
/// The most bytes that are read ahead, and the longest head. hyper looks at all of them before it lets a time-out pass.
const READ_AHEAD: usize = 64 << 10;

/// What came back from one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The whole body.
    pub body: Bytes,
}

/// What kept one request from a right answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing listens there yet.
    Refused,
    /// A connection was made, but no whole answer came.
    NoAnswer(String),
    /// An answer came, and is not the right one, with what is wrong.
    Wrong(String),
}

/// Sends the workload's request once and holds the answer against the check.
pub async fn ask(
    address: &Address,
    path: &str,
    workload: &Workload,
    check: &Check,
    timeout: Duration,
) -> Result<Answer, Trouble> {
    let answer = fetch(address, path, workload, longest_body(check));
    let answer = match tokio::time::timeout(timeout, answer).await {
        Ok(answer) => answer?,
        Err(_) => return Err(Trouble::NoAnswer(format!("no answer within {timeout:?}"))),
    };
    match fault(&answer, check) {
        None => Ok(answer),
        Some(fault) => Err(Trouble::Wrong(fault)),
    }
}

/// Returns the length above which a body is wrong whatever is in it.
fn longest_body(check: &Check) -> usize {
    let exact = check.body.as_ref();
    exact.map_or(LONGEST_BODY, |body| body.len().max(LONGEST_WRONG_BODY))
}

async fn fetch(
    address: &Address,
    path: &str,
    workload: &Workload,
    longest: usize,
) -> Result<Answer, Trouble> {
    let no_answer = |error: hyper::Error| Trouble::NoAnswer(whole(&error));
    let request =
        dial::request(workload, path, address).map_err(|error| Trouble::NoAnswer(whole(&error)))?;
    let channel = TokioIo::new(open(address, workload).await?);
    match workload.manner.protocol {
        Protocol::Http1 => {
            let (mut sender, connection) = http1::Builder::new()
                .max_buf_size(READ_AHEAD)
                // RFC 9112, section 5.2, has a client read them.
                .allow_obsolete_multiline_headers_in_responses(true)
                .handshake(channel)
                .await
                .map_err(no_answer)?;
            exchange(sender.send_request(request), connection, longest).await
        }
        Protocol::Http2 => {
            let (mut sender, connection) = http2::handshake(TokioExecutor::new(), channel)
                .await
                .map_err(no_answer)?;
            let answer = exchange(sender.send_request(request), connection, longest).await;
            answer.map_err(over_http2)
        }
    }
}

/// Adds how it was asked, as hyper does not tell what the connection itself ended in.
fn over_http2(trouble: Trouble) -> Trouble {
    match trouble {
        Trouble::NoAnswer(why) => Trouble::NoAnswer(format!(
            "no answer over HTTP/2, which is spoken at once: {why}"
        )),
        Trouble::Refused | Trouble::Wrong(_) => trouble,
    }
}

async fn open(address: &Address, workload: &Workload) -> Result<Box<dyn Channel>, Trouble> {
    let plain = dial::connect(address).await.map_err(|error| {
        // A socket in the file system is not there before somebody listens.
        let nobody = [ErrorKind::ConnectionRefused, ErrorKind::NotFound];
        if nobody.contains(&error.kind()) {
            Trouble::Refused
        } else {
            Trouble::NoAnswer(error.to_string())
        }
    })?;
    if !workload.manner.tls {
        return Ok(plain);
    }
    let failed = |error: &dyn std::error::Error| {
        Trouble::NoAnswer(format!("the TLS handshake failed: {}", whole(error)))
    };
    let protocol = workload.manner.protocol;
    let config = tls::client(protocol).map_err(|error| failed(&error))?;
    dial::secure(plain, address, protocol, &config)
        .await
        .map_err(|error| failed(&error))
}

/// Waits for the whole answer while the connection is driven.
async fn exchange(
    response: impl Future<Output = hyper::Result<Response<Incoming>>>,
    connection: impl Future<Output = hyper::Result<()>> + Send + 'static,
    longest: usize,
) -> Result<Answer, Trouble> {
    // Dropped, also at a time-out, the set ends the connection: a server that goes on sending would keep it busy.
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let response = response
        .await
        .map_err(|error| Trouble::NoAnswer(whole(&error)))?;
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), longest).collect().await;
    let body = body.map_err(|error| {
        if error.is::<LengthLimitError>() {
            Trouble::Wrong(format!("a body of more than {longest} bytes"))
        } else {
            Trouble::NoAnswer(whole(error.as_ref()))
        }
    })?;
    Ok(Answer {
        status,
        body: body.to_bytes(),
    })
}

/// Returns an error with its chain of causes on one line.
fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

/// Returns what is wrong with an answer; none if it is right. Pure.
fn fault(answer: &Answer, check: &Check) -> Option<String> {
    if answer.status != check.status {
        return Some(format!(
            "status {} instead of {}",
            answer.status, check.status
        ));
    }
    if let Some(body) = &check.body
        && body.as_bytes() != answer.body
    {
        return Some(format!(
            "body {} instead of {}",
            shown(&answer.body),
            shown(body.as_bytes())
        ));
    }
    if let Some(pattern) = &check.body_regex
        && !regex::bytes::Regex::new(pattern).is_ok_and(|regex| regex.is_match(&answer.body))
    {
        return Some(format!(
            "body {} does not match /{pattern}/",
            shown(&answer.body)
        ));
    }
    None
}

/// Returns the beginning of a body, quoted, with its length.
fn shown(body: &[u8]) -> String {
    const SHOWN: usize = 60;
    let text = String::from_utf8_lossy(&body[..body.len().min(SHOWN)]);
    if body.len() > SHOWN {
        format!("{text:?}… ({} bytes)", body.len())
    } else {
        format!("{text:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check() -> Check {
        Check {
            status: 200,
            body: None,
            body_regex: None,
            same_body: false,
            same_length: true,
        }
    }

    fn answer(status: u16, body: &'static str) -> Answer {
        Answer {
            status,
            body: Bytes::from_static(body.as_bytes()),
        }
    }

    #[test]
    fn an_answer_is_held_against_status_body_and_pattern() {
        assert_eq!(fault(&answer(200, "Hello"), &check()), None);
        let status = fault(&answer(500, "Hello"), &check());
        assert_eq!(status.as_deref(), Some("status 500 instead of 200"));
        let exact = Check {
            body: Some("Hello".to_owned()),
            ..check()
        };
        assert_eq!(fault(&answer(200, "Hello"), &exact), None);
        let other = fault(&answer(200, "Hell"), &exact);
        assert_eq!(other.as_deref(), Some("body \"Hell\" instead of \"Hello\""));
        let pattern = Check {
            body_regex: Some("^H.*o$".to_owned()),
            ..check()
        };
        assert_eq!(fault(&answer(200, "Hello"), &pattern), None);
        assert!(fault(&answer(200, "Hello!"), &pattern).is_some());
    }

    #[test]
    fn a_long_body_is_shown_by_its_beginning_and_length() {
        let body = "x".repeat(1000);
        let text = shown(body.as_bytes());
        assert!(text.len() < 100 && text.ends_with("(1000 bytes)"), "{text}");
    }
}

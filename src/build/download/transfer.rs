//! One connection of a download. Edge.

use std::env;
use std::io::{self, Read, Write};
use std::time::Duration;

use ureq::http::Response;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body, Error as Refusal, Proxy, Timeout};

use super::answer::{Content, judge};
use super::shelf::{Begun, Shelf};
use super::{Break, Wanted};
use crate::error::{Error, Kind};
use crate::outcome::{Class, GapKind};

/// Bytes that a file may have.
const LARGEST: u64 = 4 << 30;
/// How long a server may be silent.
const SILENCE: Duration = Duration::from_secs(30);
/// How long finding and reaching a server may take, each.
const REACH: Duration = Duration::from_secs(10);

/// What connections are made with. Dropping it ends those that are open.
#[derive(Debug)]
pub(super) struct Line(Agent);

impl Line {
    /// Makes a line for a file that must be here in `time`. An encrypted one never leads to an open one.
    pub(super) fn new(url: &str, time: Duration) -> Self {
        Self::with_patience(url, time, SILENCE)
    }

    fn with_patience(url: &str, time: Duration, silence: Duration) -> Self {
        // The system's certificates, since a company's proxy may have one of its own among them.
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier);
        let config = Agent::config_builder()
            .tls_config(tls.build())
            .proxy(proxy(url))
            .https_only(url.starts_with("https:"))
            .http_status_as_error(false)
            .user_agent(concat!("harness/", env!("CARGO_PKG_VERSION")))
            .timeout_global(Some(time))
            .timeout_resolve(Some(REACH))
            .timeout_connect(Some(REACH))
            .timeout_per_read(Some(silence))
            .timeout_per_write(Some(silence));
        Self(config.build().new_agent())
    }

    /// Returns the agent that makes connections.
    pub(super) fn agent(&self) -> Agent {
        self.0.clone()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.0.clone().shutdown();
    }
}

/// Returns the proxy that the environment names, if it names one for addresses of this kind.
fn proxy(url: &str) -> Option<Proxy> {
    let own = if url.starts_with("https:") {
        ["https_proxy", "HTTPS_PROXY"]
    } else {
        ["http_proxy", "HTTP_PROXY"]
    };
    let mut names = own.iter().chain(&["all_proxy", "ALL_PROXY"]);
    let is_named = names.any(|name| env::var_os(name).is_some());
    is_named.then(Proxy::try_from_env).flatten()
}

/// Receives a file or the rest of one. Returns whether it went on with what was there.
pub(super) fn receive(agent: &Agent, shelf: &Shelf, wanted: &Wanted) -> Result<bool, Break> {
    let begun = shelf.begun(&wanted.url);
    let mut answer = ask(agent, &wanted.url, begun.as_ref())?;
    let content = judge(answer.status().as_u16(), answer.headers(), begun.as_ref())?;
    if content.length.is_some_and(|length| length > LARGEST) {
        return Err(too_large());
    }
    let mut file = shelf.open(content.from).map_err(Break::Error)?;
    let noted = shelf.note(&wanted.url, content.validator.as_deref());
    noted.map_err(Break::Error)?;
    let unwritten = |error| Break::Error(shelf.unwritten(error));
    copy(
        &mut answer.body_mut().as_reader(),
        &mut file,
        &content,
        unwritten,
    )?;
    Ok(content.from > 0)
}

/// Asks for a file, or for the rest of it if it is still the same.
fn ask(agent: &Agent, url: &str, begun: Option<&Begun>) -> Result<Response<Body>, Break> {
    // The checksum is that of the file as it lies on the server, so nothing may be packed on the way.
    let mut request = agent.get(url).header("accept-encoding", "identity");
    if let Some(begun) = begun {
        request = request
            .header("range", format!("bytes={}-", begun.length))
            .header("if-range", &begun.validator);
    }
    request.call().map_err(|error| failed(&error, 0))
}

/// Copies what follows an answer to its end.
fn copy(
    from: &mut dyn Read,
    to: &mut dyn Write,
    content: &Content,
    unwritten: impl Fn(io::Error) -> Break,
) -> Result<(), Break> {
    let mut buffer = vec![0; 64 << 10];
    let mut at = content.from;
    loop {
        let received = at - content.from;
        let read = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(&Refusal::from(error), received)),
        };
        at += read as u64;
        if at > LARGEST {
            return Err(too_large());
        }
        to.write_all(&buffer[..read]).map_err(&unwritten)?;
    }
    match content.length {
        Some(length) if at != length => Err(Break::Passing {
            why: format!("the connection ended after {at} of {length} bytes"),
            received: at - content.from,
        }),
        Some(_) | None => Ok(()),
    }
}

fn too_large() -> Break {
    lasting(format!("it has more than {} GiB", LARGEST >> 30))
}

fn lasting(why: String) -> Break {
    Break::Lasting {
        kind: GapKind::Network,
        class: Class::Permanent,
        why,
    }
}

/// Judges a failure. Texts that may hold an address are not shown, as it may hold a password.
fn failed(error: &Refusal, received: u64) -> Break {
    if matches!(error, Refusal::BadUri(_) | Refusal::Http(_)) {
        let message = "the address of `source.url.url` cannot be asked";
        let hint = "check `source.url.url`, and the variables of the environment that it uses";
        return Break::Error(Error::new(Kind::Configuration, message).hint(hint));
    }
    if matches!(error, Refusal::RequireHttpsOnly(_)) {
        return lasting("the server leads from https to an address without encryption".to_owned());
    }
    if matches!(error, Refusal::TooManyRedirects | Refusal::RedirectFailed) {
        return lasting("the server leads from address to address without end".to_owned());
    }
    Break::Passing {
        why: describe(error, received),
        received,
    }
}

fn describe(error: &Refusal, received: u64) -> String {
    let when = match received {
        0 => String::new(),
        _ => format!(" after {received} bytes"),
    };
    if let Refusal::Timeout(Timeout::Global) = error {
        format!("the time that a build may take was over{when}")
    } else if let Refusal::Timeout(_) = error {
        format!("the server was silent for too long{when}")
    } else if let Refusal::Io(error) = error {
        format!("the connection broke off{when}: {error}")
    } else {
        format!("{error}{when}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// Asks a server that gives this answer and then falls silent.
    async fn ended(answer: &'static str, url_of: fn(u16) -> String) -> Break {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            // Until the other side has had enough.
            drop(io::copy(&mut stream, &mut io::sink()));
        });
        let dir = tempfile::tempdir().unwrap();
        let shelf = Shelf::lock(dir.path(), "x").await.unwrap();
        let url = format!("http://127.0.0.1:{port}/");
        let line = Line::with_patience(&url_of(port), REACH, Duration::from_millis(200));
        let wanted = Wanted {
            shown: url.clone(),
            url,
            sha256: "x".to_owned(),
        };
        let ended = receive(&line.agent(), &shelf, &wanted).unwrap_err();
        if matches!(ended, Break::Lasting { .. }) {
            // It may never have been asked.
            drop(std::net::TcpStream::connect(("127.0.0.1", port)));
        }
        drop(line);
        server.join().unwrap();
        ended
    }

    async fn lasting_reason(answer: &'static str, url_of: fn(u16) -> String) -> String {
        let ended = ended(answer, url_of).await;
        let Break::Lasting { why, .. } = ended else {
            panic!("{ended:?}")
        };
        why
    }

    fn plain(port: u16) -> String {
        format!("http://127.0.0.1:{port}/")
    }

    #[tokio::test]
    async fn a_server_that_falls_silent_is_left() {
        for (answer, bytes) in [
            ("", 0),
            ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello", 5),
        ] {
            let ended = ended(answer, plain).await;
            let Break::Passing { why, received } = ended else {
                panic!("{ended:?}")
            };
            assert_eq!(received, bytes);
            let silent = "the server was silent for too long";
            assert!(why.starts_with(silent), "{why}");
        }
    }

    #[tokio::test]
    async fn a_file_that_says_to_be_too_large_is_refused() {
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 4294967297\r\n\r\n";
        assert_eq!(
            lasting_reason(answer, plain).await,
            "it has more than 4 GiB"
        );
    }

    #[tokio::test]
    async fn an_encrypted_download_never_goes_on_openly() {
        let secret = |port| format!("https://127.0.0.1:{port}/");
        let why = lasting_reason("", secret).await;
        assert!(why.ends_with("without encryption"), "{why}");
    }

    #[test]
    fn an_endless_file_ends_at_the_limit() {
        let content = Content {
            from: LARGEST - 10,
            length: None,
            validator: None,
        };
        let machine = |error: io::Error| panic!("{error}");
        let ended = copy(&mut io::repeat(0), &mut io::sink(), &content, machine);
        assert!(matches!(ended, Err(Break::Lasting { .. })));
    }

    #[test]
    fn a_full_disk_is_not_the_servers_fault() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let content = Content {
            from: 0,
            length: None,
            validator: None,
        };
        let full = |error: io::Error| Break::Error(Error::new(Kind::Machine, error.to_string()));
        let ended = copy(&mut io::repeat(0), &mut Full, &content, full);
        assert!(matches!(ended, Err(Break::Error(_))));
    }
}

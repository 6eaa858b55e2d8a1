//! Tiny servers on loopback with one malice each, and what each must end in.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use harness::outcome::ErrorKind;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketType, sockopt};

/// An answer's first line, and then this.
macro_rules! ok {
    ($rest:literal) => {
        concat!("HTTP/1.1 200 OK\r\n", $rest)
    };
}

/// The head of a chunked answer, and then this.
macro_rules! chunked {
    ($chunks:literal) => {
        concat!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            $chunks
        )
    };
}

/// The body of a right answer.
pub(crate) const BODY: &str = "hello";
/// A right answer.
pub(crate) const HELLO: &str = ok!("Content-Length: 5\r\n\r\nhello");
/// Between two bytes of a slow server.
const SLOWLY: Duration = Duration::from_millis(10);
/// Bytes that a server which floods writes at once, more or less.
const FLOOD: usize = 64 * 1024;

/// What a server does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Malice {
    /// Answers each request with these words.
    Says(&'static str),
    /// Answers a request with the first words and then the second ones without end.
    Floods(&'static str, &'static str),
    /// Does this with each connection.
    Does(fn(&mut TcpStream) -> io::Result<()>),
    /// Takes no connection, and lets the kernel keep as few as can be.
    Ignores,
}

/// A server by what it does, and what comes of its requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    /// What it does, in a word.
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) malice: Malice,
    /// How its requests fail, in one of these ways; none if its answers are right ones.
    pub(crate) kinds: &'static [ErrorKind],
}

const fn case(name: &'static str, malice: Malice, kinds: &'static [ErrorKind]) -> Case {
    Case {
        name,
        malice,
        kinds,
    }
}

impl Case {
    /// Returns whether it closes connections that it may keep, after an answer.
    pub(crate) fn drops_kept(&self) -> bool {
        ["closes-kept", "resets-kept"].contains(&self.name)
    }

    /// Returns whether its requests fail by whole answers, after which the client goes on at once.
    pub(crate) fn answers_wrongly(&self) -> bool {
        ["wrong-status", "wrong-length"].contains(&self.name)
    }

    /// Returns what becomes of it in a run: measured, or a gap of this stage and kind.
    pub(crate) fn state(&self) -> &'static str {
        match self.kinds {
            [] if self.drops_kept() => "load: errors",
            [] => "measured",
            [Timeout] if self.name != "speaks-first" => "load: stalled",
            _ => "load: errors",
        }
    }
}

use ErrorKind::{BadLength, BadStatus, Closed, Malformed, Reset, Short, Timeout};
use Malice::{Does, Floods, Ignores, Says};

/// All of them, each in a line.
#[rustfmt::skip]
pub(crate) const CASES: &[Case] = &[
    // Odd, and right.
    case("hello", Says(HELLO), &[]),
    case("drips-fast", Does(drip_fast), &[]),
    case("bare-lf", Says("HTTP/1.1 200 OK\nContent-Length: 5\n\nhello"), &[]),
    case("folded", Says(ok!("X: a\r\n b\r\nContent-Length:\r\n\t5\r\n\r\nhello")), &[]),
    case("length-and-chunked", Says(ok!("Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")), &[]),
    case("same-length-twice", Says(ok!("Content-Length: 5, 5\r\nContent-Length: 5\r\n\r\nhello")), &[]),
    case("no-gzip", Says(ok!("Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello")), &[]),
    case("interim", Says("HTTP/1.1 103 Hint\r\n\r\nHTTP/1.1 100 Go\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), &[]),
    // Right, but the connection is dropped without a word.
    case("closes-kept", Does(close_kept), &[]),
    case("resets-kept", Does(reset_kept), &[]),
    // Too late, or never.
    case("drips-slowly", Does(drip_slowly), &[Timeout]),
    case("silent", Says(""), &[Timeout]),
    case("ignores", Ignores, &[Timeout]),
    case("late", Does(answer_late), &[Timeout]),
    case("deaf", Does(stop_reading), &[Timeout]),
    case("half-length", Says(ok!("Content-Length: 5\r\n\r\nhe")), &[Timeout]),
    case("no-last-chunk", Says(chunked!("5\r\nhello\r\n")), &[Timeout]),
    case("coded-until-close", Says(ok!("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello")), &[Timeout]),
    case("speaks-first", Does(speak_first), &[Timeout]),
    // Without end.
    case("endless-headers", Floods(ok!(""), "A: b\r\n"), &[Malformed]),
    case("endless-header", Floods(ok!("A: "), "b"), &[Malformed]),
    case("endless-status", Floods("HTTP/1.1 200 ", "O"), &[Malformed]),
    case("endless-interim", Floods("", "HTTP/1.1 100 Continue\r\n\r\n"), &[Malformed]),
    case("endless-chunks", Floods(chunked!(""), "5\r\nhello\r\n"), &[BadLength]),
    case("endless-size", Floods(chunked!(""), "0"), &[Malformed]),
    case("endless-extension", Floods(chunked!("5;"), "x"), &[Malformed]),
    case("endless-trailers", Floods(chunked!("5\r\nhello\r\n0\r\n"), "A: b\r\n"), &[Malformed]),
    case("endless-body", Floods(ok!("\r\n"), "hello"), &[BadLength]),
    case("ten-gigabytes", Floods(ok!("Content-Length: 10737418240\r\n\r\n"), "hello"), &[BadLength]),
    case("endless-answers", Floods(HELLO, HELLO), &[Malformed]),
    // Lost.
    case("resets-first", Does(reset), &[Reset]),
    case("resets-inside", Does(reset_inside), &[Reset]),
    case("closes-first", Does(close), &[Closed, Reset]),
    case("closes-asked", Does(close_asked), &[Closed]),
    case("closes-in-head", Does(|stream| part(stream, ok!("Conte"))), &[Short]),
    case("closes-in-body", Does(|stream| part(stream, ok!("Content-Length: 5\r\n\r\nhe"))), &[Short]),
    case("closes-in-chunk", Does(|stream| part(stream, chunked!("5\r\nhe"))), &[Short]),
    case("half-closes", Does(half_close), &[Closed]),
    case("half-closes-inside", Does(half_close_inside), &[Short]),
    // More than was asked for.
    case("answers-twice", Says(ok!("Content-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")), &[Malformed]),
    case("answers-twice-apart", Does(answer_twice), &[Malformed]),
    case("too-long", Says(ok!("Content-Length: 5\r\n\r\nhello!")), &[Malformed]),
    case("no-content-but-a-body", Says("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello"), &[Malformed]),
    // No HTTP/1.
    case("garbage", Says("\u{1}\u{fffd}\u{7f}???"), &[Malformed]),
    case("http-0-9", Says("hello"), &[Malformed]),
    case("http-2", Says("\0\0\u{6}\u{4}\0\0\0\0\0\0\u{3}\0\0\0\u{64}"), &[Malformed]),
    case("http-3", Says("HTTP/3.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"), &[Malformed]),
    case("switches", Says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"), &[Malformed]),
    case("nul-in-head", Says(ok!("A: \0\r\nContent-Length: 5\r\n\r\nhello")), &[Malformed]),
    case("nul-first", Says("\0HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), &[Malformed]),
    case("space-before-colon", Says(ok!("Content-Length : 5\r\n\r\nhello")), &[Malformed]),
    // Lengths that are none.
    case("negative-length", Says(ok!("Content-Length: -5\r\n\r\nhello")), &[Malformed]),
    case("overflowing-length", Says(ok!("Content-Length: 18446744073709551621\r\n\r\nhello")), &[Malformed]),
    case("two-lengths", Says(ok!("Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello")), &[Malformed]),
    case("signed-length", Says(ok!("Content-Length: +5\r\n\r\nhello")), &[Malformed]),
    case("negative-chunk", Says(chunked!("-5\r\nhello\r\n0\r\n\r\n")), &[Malformed]),
    case("overflowing-chunk", Says(chunked!("10000000000000005\r\nhello\r\n0\r\n\r\n")), &[Malformed]),
    case("chunk-too-long", Says(chunked!("4\r\nhello\r\n0\r\n\r\n")), &[Malformed]),
    case("bare-lf-chunk", Says(chunked!("5\nhello\n0\n\n")), &[Malformed]),
    case("chunked-twice", Says(ok!("Transfer-Encoding: chunked, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")), &[Malformed]),
    // Another answer.
    case("wrong-status", Says("HTTP/1.1 500 Oh\r\nContent-Length: 5\r\n\r\nhello"), &[BadStatus]),
    case("wrong-length", Says(ok!("Content-Length: 4\r\n\r\nhell")), &[BadLength]),
];

fn reset(stream: &mut TcpStream) -> io::Result<()> {
    // Closed with no time for what is unsent, the kernel sends a reset.
    Ok(sockopt::set_socket_linger(stream, Some(Duration::ZERO))?)
}

fn reset_inside(stream: &mut TcpStream) -> io::Result<()> {
    await_request(stream)?;
    stream.write_all(&HELLO.as_bytes()[..HELLO.len() - 1])?;
    reset(stream)
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "it stands among others that may fail"
)]
fn close(_: &mut TcpStream) -> io::Result<()> {
    Ok(())
}

fn close_asked(stream: &mut TcpStream) -> io::Result<()> {
    await_request(stream)
}

/// Answers with a part of an answer and closes.
fn part(stream: &mut TcpStream, text: &str) -> io::Result<()> {
    await_request(stream)?;
    stream.write_all(text.as_bytes())
}

fn close_kept(stream: &mut TcpStream) -> io::Result<()> {
    part(stream, HELLO)
}

fn reset_kept(stream: &mut TcpStream) -> io::Result<()> {
    part(stream, HELLO)?;
    reset(stream)
}

fn half_close(stream: &mut TcpStream) -> io::Result<()> {
    await_request(stream)?;
    stream.shutdown(Shutdown::Write)?;
    until_closed(stream)
}

fn half_close_inside(stream: &mut TcpStream) -> io::Result<()> {
    part(stream, ok!("Content-Length: 5\r\n\r\nhe"))?;
    stream.shutdown(Shutdown::Write)?;
    until_closed(stream)
}

fn stop_reading(stream: &mut TcpStream) -> io::Result<()> {
    // It waits for the client's end and takes nothing of what comes before.
    let mut end = [PollFd::new(stream, PollFlags::RDHUP)];
    poll(&mut end, None)?;
    Ok(())
}

fn answer_late(stream: &mut TcpStream) -> io::Result<()> {
    until_closed(stream)?;
    stream.write_all(HELLO.as_bytes())
}

fn speak_first(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(HELLO.as_bytes())?;
    until_closed(stream)
}

fn answer_twice(stream: &mut TcpStream) -> io::Result<()> {
    loop {
        await_request(stream)?;
        stream.write_all(HELLO.as_bytes())?;
        thread::yield_now();
        stream.write_all(HELLO.as_bytes())?;
    }
}

fn drip_fast(stream: &mut TcpStream) -> io::Result<()> {
    loop {
        await_request(stream)?;
        HELLO
            .as_bytes()
            .iter()
            .try_for_each(|byte| stream.write_all(&[*byte]))?;
    }
}

fn drip_slowly(stream: &mut TcpStream) -> io::Result<()> {
    await_request(stream)?;
    HELLO.as_bytes().iter().try_for_each(|byte| {
        stream.write_all(&[*byte])?;
        pause(stream)
    })
}

/// Waits for a while, or for the end of the connection, which is an error.
fn pause(stream: &mut TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(SLOWLY))?;
    match stream.read(&mut [0]) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        Err(error) => Err(error),
    }
}

/// Answers each request with a text that may be empty.
fn say(stream: &mut TcpStream, text: &str) -> io::Result<()> {
    loop {
        await_request(stream)?;
        stream.write_all(text.as_bytes())?;
    }
}

fn flood(stream: &mut TcpStream, first: &str, again: &str) -> io::Result<()> {
    await_request(stream)?;
    stream.write_all(first.as_bytes())?;
    let much = again.repeat(FLOOD / again.len());
    loop {
        stream.write_all(much.as_bytes())?;
    }
}

/// Reads one request, which comes whole; the end of the connection is an error.
fn await_request(stream: &mut TcpStream) -> io::Result<()> {
    let mut request = [0; 4096];
    match stream.read(&mut request)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

/// Reads whatever comes until the client closes.
fn until_closed(stream: &mut TcpStream) -> io::Result<()> {
    io::copy(stream, &mut io::sink()).map(drop)
}

/// A running server. Dropping it waits until all its connections are closed.
#[derive(Debug)]
pub(crate) struct Server {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server that does right by so many connections at first.
    pub(crate) fn start(malice: Malice, honest: usize) -> Self {
        let backlog = if matches!(malice, Ignores) { 0 } else { 128 };
        let listener = listen(backlog);
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || accept(&listener, malice, honest, &stopped));
        Self {
            address,
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            drop(TcpStream::connect_timeout(&self.address, SLOWLY));
            thread.join().unwrap();
        }
    }
}

fn listen(backlog: i32) -> TcpListener {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    rustix::net::listen(&socket, backlog).unwrap();
    socket.into()
}

fn accept(listener: &TcpListener, malice: Malice, honest: usize, stopped: &AtomicBool) {
    let mut handlers: Vec<JoinHandle<()>> = Vec::new();
    for (place, stream) in listener.incoming().flatten().enumerate() {
        if stopped.load(Ordering::SeqCst) {
            break;
        }
        handlers.retain(|handler| !handler.is_finished());
        let malice = if place < honest { Says(HELLO) } else { malice };
        // The client may be gone at any time.
        handlers.push(thread::spawn(move || drop(serve(stream, malice))));
        while matches!(malice, Ignores) && !stopped.load(Ordering::SeqCst) {
            thread::park();
        }
    }
    for handler in handlers {
        handler.join().unwrap();
    }
}

fn serve(mut stream: TcpStream, malice: Malice) -> io::Result<()> {
    stream.set_nodelay(true)?;
    match malice {
        Says(text) => say(&mut stream, text),
        Floods(first, again) => flood(&mut stream, first, again),
        Does(deed) => deed(&mut stream),
        Ignores => until_closed(&mut stream),
    }
}

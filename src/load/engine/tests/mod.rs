//! The engine against tiny real servers, each named by what it does.

mod http2;
mod manners;
mod rates;
mod splits;
mod tls;
mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::Bytes;
use rustix::thread::{CpuSet, sched_getaffinity};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

use crate::address::Address;
use crate::load::{Counts, Expected, Running, Schedule, Target};
use crate::matrix::{Manner, Stop, Workload};
use crate::outcome::{ErrorKind, LoadFigures};

/// A connection's two ways.
trait Stream: Read + Write + Send {}

impl<T: Read + Write + Send> Stream for T {}

type Wire = dyn Stream;

/// What a server does with one request; false closes the connection.
type Answering = fn(&mut Wire) -> io::Result<bool>;

/// An encrypted connection that says when it ends.
struct Closing(StreamOwned<ServerConnection, TcpStream>);

impl Read for Closing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Closing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.conn.send_close_notify();
        // The client may be gone.
        drop(self.0.flush());
    }
}

/// Where a server listens.
enum Listener {
    Tcp(TcpListener),
    Tls(TcpListener, Arc<ServerConfig>),
    Unix(UnixListener, TempDir),
}

impl Listener {
    fn tcp(address: &str) -> io::Result<Self> {
        TcpListener::bind(address).map(Self::Tcp)
    }

    fn unix() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("socket")).unwrap();
        Self::Unix(listener, folder)
    }

    fn address(&self) -> Address {
        match self {
            Self::Tcp(listener) | Self::Tls(listener, _) => listener.local_addr().unwrap().into(),
            Self::Unix(_, folder) => Address::Unix(folder.path().join("socket")),
        }
    }

    fn accept(&self) -> io::Result<Box<Wire>> {
        Ok(match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                Box::new(stream)
            }
            Self::Tls(listener, config) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                let session = ServerConnection::new(Arc::clone(config)).unwrap();
                Box::new(Closing(StreamOwned::new(session, stream)))
            }
            Self::Unix(listener, _) => Box::new(listener.accept()?.0),
        })
    }
}

/// What came of a server so far.
#[derive(Default)]
struct Seen {
    asked: AtomicU64,
    opened: AtomicU64,
    stop: AtomicBool,
    /// The first lines of all requests, in order.
    requests: Mutex<Vec<String>>,
    hosts: Mutex<BTreeSet<String>>,
}

/// A server that counts; dropping it waits until all its connections are closed.
struct Server {
    address: Address,
    seen: Arc<Seen>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn new(answering: Answering) -> Self {
        Self::at(Listener::tcp("127.0.0.1:0").unwrap(), move |wire, _| {
            answering(wire)
        })
    }

    /// Starts a server at a given place, which is told the first line of each request.
    fn at(
        listener: Listener,
        answering: impl Fn(&mut Wire, &str) -> io::Result<bool> + Send + Sync + 'static,
    ) -> Self {
        let address = listener.address();
        let seen = Arc::new(Seen::default());
        let (seen_too, answering) = (Arc::clone(&seen), Arc::new(answering));
        let accept = move || {
            let mut handlers = Vec::new();
            while let Ok(mut wire) = listener.accept() {
                if seen_too.stop.load(Ordering::SeqCst) {
                    break;
                }
                seen_too.opened.fetch_add(1, Ordering::SeqCst);
                let (seen, answering) = (Arc::clone(&seen_too), Arc::clone(&answering));
                // The client may be gone at any time.
                handlers.push(thread::spawn(move || {
                    drop(serve(&mut *wire, &seen, &*answering));
                }));
            }
            for handler in handlers {
                handler.join().unwrap();
            }
        };
        Self {
            address,
            seen,
            thread: Some(thread::spawn(accept)),
        }
    }

    fn target(&self) -> Target {
        target(self.address.clone())
    }

    /// Waits until every connection is closed and returns how many whole requests came.
    fn asked(mut self) -> u64 {
        self.end();
        self.seen.asked.load(Ordering::SeqCst)
    }

    fn end(&mut self) {
        self.seen.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            match &self.address {
                Address::Tcp(address) => drop(TcpStream::connect(address)),
                Address::Unix(path) => drop(UnixStream::connect(path)),
            }
            thread.join().unwrap();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn serve(
    wire: &mut Wire,
    seen: &Seen,
    answering: &dyn Fn(&mut Wire, &str) -> io::Result<bool>,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    let mut open = true;
    while open && let Some(request) = read_request(wire, &mut bytes)? {
        seen.asked.fetch_add(1, Ordering::SeqCst);
        let line = request.lines().next().unwrap_or_default().to_owned();
        seen.requests.lock().unwrap().push(line.clone());
        let host = request
            .split("Host: ")
            .nth(1)
            .and_then(|rest| rest.lines().next());
        seen.hosts.lock().unwrap().extend(host.map(str::to_owned));
        open = answering(wire, &line)?;
    }
    Ok(())
}

/// Reads one request with its body and returns its head; none at the end of the connection. What follows it stays.
fn read_request(wire: &mut Wire, bytes: &mut Vec<u8>) -> io::Result<Option<String>> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let head = bytes
            .windows(4)
            .take(1024)
            .position(|end| end == b"\r\n\r\n");
        if let Some(end) = head {
            let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let promised = text.split("Content-Length: ").nth(1);
            let body = promised.map_or(0, |text| text.lines().next().unwrap().parse().unwrap());
            let whole: usize = end + 4 + body;
            if bytes.len() >= whole {
                bytes.drain(..whole);
                return Ok(Some(text));
            }
        }
        let length = wire.read(&mut buffer)?;
        if length == 0 {
            return Ok(None);
        }
        bytes.extend_from_slice(&buffer[..length]);
    }
}

fn say(stream: &mut Wire, text: &str) -> io::Result<bool> {
    stream.write_all(text.as_bytes())?;
    Ok(true)
}

fn hello(stream: &mut Wire) -> io::Result<bool> {
    say(stream, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
}

fn target(address: impl Into<Address>) -> Target {
    Target {
        addresses: vec![address.into()],
        status: 200,
        expected: vec![Expected {
            length: Some(5),
            body: Some(Bytes::from_static(b"hello")),
        }],
    }
}

fn workload(connections: u32, keep_alive: bool) -> Workload {
    Workload {
        name: "test".to_owned(),
        method: "GET".to_owned(),
        path: "/".to_owned(),
        headers: BTreeMap::new(),
        body: None,
        connections,
        keep_alive,
        stop: Stop::Duration(Duration::from_secs(1)),
        warmup_answers: 0,
        warmup_at_most: Duration::from_secs(1),
        window: Duration::from_millis(250),
        timeout: Duration::from_secs(10),
        max_error_rate: 0.0,
        manner: Manner::default(),
    }
}

/// The first CPUs that this process may use, some of them twice if there are too few.
fn cpus(count: usize) -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap();
    let allowed: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .collect();
    allowed.iter().copied().cycle().take(count).collect()
}

/// Looks again and again until it holds; a load that never gets there fails the test.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(30), "never: {what}");
        thread::park_timeout(Duration::from_millis(1));
    }
}

fn until_answers(running: &Running, answers: u64) {
    until("enough answers", || {
        running
            .counts()
            .iter()
            .all(|counts| counts.answers >= answers)
    });
}

fn until_failures(running: &Running, failed: u64) {
    until("enough failures", || {
        running
            .counts()
            .iter()
            .all(|counts| counts.failed >= failed)
    });
}

/// Starts a load of all targets at once.
fn start(workload: &Workload, targets: &[Target], cpus: &[usize]) -> io::Result<Running> {
    crate::load::start(workload, targets, cpus, Schedule::Together)
}

/// Loads a server until it has given so many answers and returns the figures.
fn load(workload: &Workload, server: &Server, answers: u64) -> LoadFigures {
    let running = start(workload, &[server.target()], &cpus(1)).unwrap();
    until_answers(&running, answers);
    running.stop().remove(0)
}

/// Loads a server until so many requests have failed and returns the figures.
fn load_in_vain(workload: &Workload, target: Target, failures: u64) -> LoadFigures {
    let running = start(workload, &[target], &cpus(1)).unwrap();
    until_failures(&running, failures);
    running.stop().remove(0)
}

/// Asserts that the client counted what the server did, but for requests under way when the load stopped.
fn assert_agree(figures: &LoadFigures, asked: u64, connections: u64) {
    assert_eq!(figures.failed(), 0, "{figures:?}");
    let answers = figures.answers;
    assert!(
        (answers..=answers + connections).contains(&asked),
        "{answers} answers to {asked} requests"
    );
}

#[test]
fn client_and_servers_count_the_same_over_kept_connections() {
    let servers = [Server::new(hello), Server::new(hello)];
    let targets: Vec<Target> = servers.iter().map(Server::target).collect();
    let running = start(&workload(5, true), &targets, &cpus(2)).unwrap();
    until_answers(&running, 500);
    for (server, figures) in servers.into_iter().zip(running.stop()) {
        assert_eq!((figures.connections_opened, figures.connect.count), (5, 5));
        assert_eq!(figures.body_bytes, figures.answers * 5);
        assert_eq!(figures.wire_bytes, figures.answers * 43);
        assert_eq!(figures.first_response.count, figures.answers);
        assert!(figures.first_response.mean <= figures.latency.max && figures.latency.p50 > 0.0);
        assert_eq!(server.seen.opened.load(Ordering::SeqCst), 5);
        assert_agree(&figures, server.asked(), 5);
    }
}

#[test]
fn client_and_server_count_the_same_with_a_connection_per_request() {
    let server = Server::new(hello);
    let running = start(&workload(4, false), &[server.target()], &cpus(2)).unwrap();
    until_answers(&running, 300);
    let figures = running.stop().remove(0);
    assert!((figures.answers..=figures.answers + 4).contains(&figures.connections_opened));
    assert_agree(&figures, server.asked(), 4);
}

#[test]
fn a_load_of_requests_ends_by_itself_after_as_many_answers() {
    let server = Server::new(hello);
    let stop = Stop::Requests(200);
    let running = start(
        &Workload {
            stop,
            ..workload(8, true)
        },
        &[server.target()],
        &cpus(2),
    )
    .unwrap();
    until_answers(&running, 400);
    assert!(!running.finished());
    running.begin_measuring();
    until("finished", || running.finished());
    let figures = running.stop().remove(0);
    assert_eq!(figures.answers, 200);
    assert!(figures.latency.max > 0.0 && figures.seconds > 0.0);
    assert!(server.asked() >= 400 + figures.answers);
}

#[test]
fn a_race_of_requests_goes_on_until_the_slowest_has_them() {
    fn slow(stream: &mut Wire) -> io::Result<bool> {
        (0..2000).for_each(|_| thread::yield_now());
        hello(stream)
    }
    let servers = [Server::new(slow), Server::new(hello)];
    let targets: Vec<Target> = servers.iter().map(Server::target).collect();
    let stop = Stop::Requests(50);
    let running = start(
        &Workload {
            stop,
            ..workload(2, true)
        },
        &targets,
        &cpus(1),
    )
    .unwrap();
    running.begin_measuring();
    until("finished", || running.finished());
    let figures = running.stop();
    assert!(
        figures
            .iter()
            .all(|figures| figures.answers == 50 && figures.failed() == 0)
    );
    // Each is measured until it has its answers, and goes on being loaded until the other has them.
    assert!(figures[1].seconds < figures[0].seconds);
    let [_, fast] = servers;
    assert!(fast.asked() > 50);
}

#[test]
fn measuring_forgets_what_came_before() {
    fn first_wrong(stream: &mut Wire) -> io::Result<bool> {
        static ASKED: AtomicU64 = AtomicU64::new(0);
        if ASKED.fetch_add(1, Ordering::SeqCst) >= 2 {
            return hello(stream);
        }
        say(stream, "HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nwrong")
    }
    let server = Server::new(first_wrong);
    let running = start(&workload(2, true), &[server.target()], &cpus(1)).unwrap();
    until_answers(&running, 100);
    assert_eq!(running.counts()[0].failed, 2);
    running.begin_measuring();
    let before = running.counts()[0].answers;
    until_answers(&running, before + 1000);
    let figures = running.stop().remove(0);
    assert!(figures.errors.is_empty(), "{figures:?}");
    assert!(figures.answers > 0);
    assert_eq!(figures.connections_opened, 2);
    assert!(server.asked() >= 2 + 100 + figures.answers);
}

#[test]
fn an_answer_in_pieces_counts_once() {
    fn piecemeal(stream: &mut Wire) -> io::Result<bool> {
        for piece in [
            "HTTP/1.1 200 OK\r\nConte",
            "nt-Length: 5\r\n\r\n",
            "he",
            "llo",
        ] {
            say(stream, piece)?;
            thread::yield_now();
        }
        Ok(true)
    }
    let server = Server::new(piecemeal);
    let figures = load(&workload(3, true), &server, 200);
    assert_agree(&figures, server.asked(), 3);
}

#[test]
fn chunked_answers_are_checked_by_their_data() {
    fn chunked(stream: &mut Wire) -> io::Result<bool> {
        say(
            stream,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n",
        )?;
        say(stream, "0\r\n\r\n")
    }
    let server = Server::new(chunked);
    let figures = load(&workload(3, true), &server, 200);
    assert_eq!(figures.body_bytes, figures.answers * 5);
    assert_agree(&figures, server.asked(), 3);
}

#[test]
fn a_server_that_closes_after_each_answer_gets_new_connections() {
    fn announced(stream: &mut Wire) -> io::Result<bool> {
        say(
            stream,
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
        )
    }
    fn old(stream: &mut Wire) -> io::Result<bool> {
        say(stream, "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    }
    fn until_close(stream: &mut Wire) -> io::Result<bool> {
        say(stream, "HTTP/1.1 200 OK\r\n\r\nhello").map(|_| false)
    }
    fn unannounced(stream: &mut Wire) -> io::Result<bool> {
        hello(stream).map(|_| false)
    }
    for answering in [announced, old, until_close, unannounced] {
        let server = Server::new(answering);
        let figures = load(&workload(2, true), &server, 100);
        assert!(figures.connections_opened >= figures.answers);
        assert_agree(&figures, server.asked(), 2);
    }
}

#[test]
fn wrong_answers_are_failures() {
    fn wrong_status(stream: &mut Wire) -> io::Result<bool> {
        say(stream, "HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nhello")
    }
    fn wrong_length(stream: &mut Wire) -> io::Result<bool> {
        say(stream, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!")
    }
    fn wrong_body(stream: &mut Wire) -> io::Result<bool> {
        say(stream, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhullo")
    }
    fn wrong_chunk(stream: &mut Wire) -> io::Result<bool> {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        say(stream, head)?;
        say(stream, "2\r\nhe\r\n3\r\nlla\r\n0\r\n\r\n")
    }
    fn no_http(stream: &mut Wire) -> io::Result<bool> {
        say(stream, "hello")
    }
    fn too_much(stream: &mut Wire) -> io::Result<bool> {
        say(stream, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello!")
    }
    let kinds: [(Answering, ErrorKind); 6] = [
        (wrong_status, ErrorKind::BadStatus),
        (wrong_length, ErrorKind::BadLength),
        (wrong_body, ErrorKind::BadBody),
        (wrong_chunk, ErrorKind::BadBody),
        (no_http, ErrorKind::Malformed),
        (too_much, ErrorKind::Malformed),
    ];
    for (answering, kind) in kinds {
        let server = Server::new(answering);
        let figures = load_in_vain(&workload(2, true), server.target(), 4);
        assert_eq!(figures.answers, 0, "{kind:?}");
        assert_eq!(figures.errors.keys().collect::<Vec<_>>(), [&kind]);
        assert!(figures.errors[&kind] <= server.asked());
    }
}

#[test]
fn any_length_will_do_where_none_is_expected() {
    let server = Server::new(hello);
    let target = Target {
        expected: vec![Expected::default()],
        ..server.target()
    };
    let running = start(&workload(1, true), &[target], &cpus(1)).unwrap();
    until_answers(&running, 10);
    assert_eq!(running.stop()[0].failed(), 0);
}

/// The least time in which one connection can fail five times: the delays between the failures.
const FIVE_FAILURES: Duration = Duration::from_millis(5 + 10 + 20 + 40);

#[test]
fn a_connection_closed_inside_an_answer_is_a_failure_and_no_reason_to_spin() {
    fn half(stream: &mut Wire) -> io::Result<bool> {
        say(stream, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe").map(|_| false)
    }
    let nothing: Answering = |_| Ok(false);
    for (answering, kind) in [
        (half as Answering, ErrorKind::Short),
        (nothing, ErrorKind::Closed),
    ] {
        let server = Server::new(answering);
        let began = Instant::now();
        let figures = load_in_vain(&workload(1, true), server.target(), 5);
        assert!(began.elapsed() >= FIVE_FAILURES);
        assert_eq!(figures.answers, 0);
        assert_eq!(figures.errors.keys().collect::<Vec<_>>(), [&kind]);
    }
}

#[test]
fn a_refused_connection_is_a_failure_and_no_reason_to_spin() {
    use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
    // Bound and not listening: nobody else can get the port, and the kernel refuses for us.
    let holder = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&holder, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = SocketAddr::try_from(getsockname(&holder).unwrap()).unwrap();
    for keep_alive in [true, false] {
        let began = Instant::now();
        let figures = load_in_vain(&workload(1, keep_alive), target(address), 5);
        assert!(began.elapsed() >= FIVE_FAILURES);
        assert_eq!(
            figures.errors.keys().collect::<Vec<_>>(),
            [&ErrorKind::Refused]
        );
        assert_eq!((figures.answers, figures.connections_opened), (0, 0));
    }
}

#[test]
fn a_silent_server_is_given_up_at_the_time_limit() {
    let server = Server::new(|_| Ok(true));
    let timeout = Duration::from_millis(40);
    let began = Instant::now();
    let figures = load_in_vain(
        &Workload {
            timeout,
            ..workload(2, true)
        },
        server.target(),
        4,
    );
    assert!(began.elapsed() >= timeout * 2);
    assert_eq!(
        figures.errors.keys().collect::<Vec<_>>(),
        [&ErrorKind::Timeout]
    );
}

#[test]
fn a_request_larger_than_the_sockets_buffers_is_sent_whole() {
    let server = Server::new(hello);
    let large = Workload {
        method: "POST".to_owned(),
        body: Some("x".repeat(16 << 20)),
        ..workload(2, true)
    };
    let figures = load(&large, &server, 4);
    assert_agree(&figures, server.asked(), 2);
}

#[test]
fn the_answer_to_head_has_no_body() {
    fn head_only(stream: &mut Wire) -> io::Result<bool> {
        say(stream, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
    }
    let server = Server::new(head_only);
    let method = "HEAD".to_owned();
    let target = Target {
        expected: vec![Expected {
            length: Some(0),
            body: None,
        }],
        ..server.target()
    };
    let running = start(
        &Workload {
            method,
            ..workload(2, true)
        },
        &[target],
        &cpus(1),
    )
    .unwrap();
    until_answers(&running, 50);
    assert_agree(&running.stop()[0], server.asked(), 2);
}

#[test]
fn the_threads_tell_their_cpu_time_while_they_run() {
    let server = Server::new(hello);
    let running = start(&workload(2, true), &[server.target()], &cpus(1)).unwrap();
    until("some CPU time", || running.client_cpu() > Duration::ZERO);
    let before = running.client_cpu();
    until("more CPU time", || running.client_cpu() > before);
    until("a sleep", || running.scheduling().voluntary_switches > 0);
}

#[test]
fn a_dropped_load_closes_its_connections() {
    let server = Server::new(hello);
    let running = start(&workload(3, true), &[server.target()], &cpus(2)).unwrap();
    until_answers(&running, 10);
    drop(running);
    // It returns only when every connection is closed.
    assert!(server.asked() >= 10);
}

#[test]
fn a_load_without_a_cpu_of_its_own_does_not_start() {
    let target = [target(SocketAddr::from(([127, 0, 0, 1], 9)))];
    assert_eq!(
        start(&workload(1, true), &target, &[]).unwrap_err().kind(),
        io::ErrorKind::InvalidInput
    );
    assert!(start(&workload(1, true), &target, &[CpuSet::MAX_CPU - 1]).is_err());
    assert!(start(&workload(1, true), &target, &[CpuSet::MAX_CPU]).is_err());
}

//! The known server, as a process of its own, against real sockets.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use harness::host;
use harness::known::{BODY, KNOWN, STATS, trial};
use harness::load;
use harness::serve;

use crate::world::{HARNESS, until};

const GET: &str = "GET / HTTP/1.1\r\nHost: known\r\n\r\n";

/// A known server that ends with the test.
struct Known {
    child: Child,
    address: SocketAddr,
}

impl Known {
    fn new(arguments: &[&str]) -> Self {
        let address = serve::free_address().unwrap();
        let child = Command::new(HARNESS)
            .args([KNOWN, "--listen", &address.to_string()])
            .args(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        until("the known server listens", || {
            serve::is_taken(&address.into())
        });
        Self { child, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        let patience = Some(Duration::from_secs(20));
        stream.set_read_timeout(patience).unwrap();
        stream
    }

    /// Sends a text and returns all that comes until the server closes the connection.
    fn ask(&self, text: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answers = String::new();
        stream.read_to_string(&mut answers).unwrap();
        answers
    }

    fn answers(&self) -> u64 {
        trial::answers(self.address).unwrap()
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let status = self.child.wait().unwrap();
        if !std::thread::panicking() {
            assert!(status.success(), "{status:?}");
        }
    }
}

fn bodies(answers: &str) -> usize {
    answers.matches(&format!("\r\n\r\n{BODY}")).count()
}

#[test]
fn requests_may_come_together_or_in_pieces_and_each_gets_one_answer() {
    let known = Known::new(&[]);
    let last = GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    assert_eq!(bodies(&known.ask(&format!("{GET}{GET}{last}{GET}"))), 3);

    let mut stream = known.connect();
    stream.set_nodelay(true).unwrap();
    for byte in format!("{GET}{last}").as_bytes() {
        stream.write_all(&[*byte]).unwrap();
    }
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    assert_eq!(bodies(&answers), 2);
    assert_eq!(known.answers(), 5);
}

#[test]
fn more_answers_than_a_socket_takes_at_once_all_arrive() {
    const REQUESTS: usize = 100_000;
    let known = Known::new(&[]);
    let mut stream = known.connect();
    let mut writer = stream.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        writer.write_all(GET.repeat(REQUESTS).as_bytes()).unwrap();
        writer.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    });
    // Nothing is read before the server can send no more.
    until("the server's socket is full", || {
        let before = known.answers();
        std::thread::sleep(Duration::from_millis(20));
        known.answers() == before && before > 0
    });
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    sender.join().unwrap();
    assert_eq!(bodies(&answers), REQUESTS + 1);
}

#[test]
fn a_delay_takes_time_and_keeps_the_order() {
    let known = Known::new(&["--delay", "30ms"]);
    let begun = Instant::now();
    let answers = known.ask(&format!("{GET}GET {STATS} HTTP/1.0\r\n\r\n"));
    assert!(begun.elapsed() >= Duration::from_millis(30));
    assert!(answers.ends_with(&format!(
        "{BODY}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n1\n"
    )));
}

#[test]
fn several_processes_end_with_the_one_that_started_them() {
    let known = Known::new(&["--processes", "2", "--threads", "2"]);
    let address = known.address;
    for _ in 0..20 {
        assert_eq!(bodies(&known.ask("GET / HTTP/1.0\r\n\r\n")), 1);
    }
    drop(known);
    until("all of them have ended", || {
        !serve::is_taken(&address.into())
    });
}

#[test]
fn two_thousand_connections_lose_no_count() {
    const CONNECTIONS: u32 = 2000;
    host::allow_open_files(u64::from(CONNECTIONS) + 512).unwrap();
    let known = Known::new(&[]);
    let target = trial::target(known.address);
    let cpu = host::allowed_cpus()[0];
    let running = load::start(
        &trial::workload(CONNECTIONS),
        &[target],
        &[cpu],
        load::Schedule::Together,
    )
    .unwrap();
    until("every connection has had ten answers", || {
        running.counts()[0].answers >= u64::from(CONNECTIONS) * 10
    });
    let figures = running.stop().remove(0);
    let given = known.answers();
    assert_eq!(figures.errors, BTreeMap::new());
    assert!(figures.connections_opened == u64::from(CONNECTIONS) && figures.answers > 0);
    // What was under way when the load ended was answered and not read.
    let unread = given.checked_sub(figures.answers);
    assert!(
        unread.is_some_and(|unread| unread <= u64::from(CONNECTIONS)),
        "{given} given"
    );
}

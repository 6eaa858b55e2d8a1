//! A tiny HTTP/1.1 server whose fault is chosen when it is compiled: `rustc --cfg 'fault="answers_500"' fault.rs`.
//!
//! Standard library only. `server PLACE` answers every request with "Hello World\n". The place is a port of 127.0.0.1, an
//! address with a port, or the path of a socket.
#![allow(unexpected_cfgs, unreachable_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(fault = "build_fail")]
compile_error!("this version does not build");

/// Answers of the whole process so far.
static ANSWERS: AtomicU64 = AtomicU64::new(0);

/// Answers before the server ends, with the one that shows that it is ready; none if it goes on.
const LAST: Option<u64> = if cfg!(fault = "dies_after_300") {
    Some(301)
} else if cfg!(fault = "dies_after_10000") {
    Some(10_001)
} else {
    None
};

static ONE_BY_ONE: Mutex<()> = Mutex::new(());

unsafe extern "C" {
    fn signal(number: i32, handler: usize) -> usize;
}

fn main() {
    let place = std::env::args().nth(1).expect("usage: server PLACE");
    if cfg!(fault = "exits_at_start") {
        eprintln!("error: cannot read the configuration: no such file");
        std::process::exit(3);
    }
    if cfg!(fault = "never_listens") {
        loop {
            std::thread::park();
        }
    }
    if cfg!(fault = "ignores_sigterm") {
        // SIGTERM is 15, SIG_IGN is 1.
        unsafe { signal(15, 1) };
    }
    if cfg!(fault = "forks_a_child") {
        // A daemon: a session of its own, its parent gone at once.
        let daemon = "setsid sleep 600 >/dev/null 2>&1 &";
        std::process::Command::new("sh").args(["-c", daemon]).status().expect("sh runs");
    }
    if place.starts_with('/') {
        let listener = UnixListener::bind(&place).expect("the path is free");
        for stream in listener.incoming().flatten() {
            let reader = stream.try_clone().expect("a second handle");
            std::thread::spawn(move || serve(BufReader::new(reader), stream));
        }
        return;
    }
    let host = if cfg!(fault = "listens_everywhere") { "0.0.0.0" } else { "127.0.0.1" };
    let address = if place.contains(':') { place } else { format!("{host}:{place}") };
    let listener = TcpListener::bind(address).expect("the port is free");
    let mut silent = Vec::new();
    for (count, stream) in listener.incoming().flatten().enumerate() {
        if cfg!(fault = "tells_connections") {
            println!("connection");
        }
        // The first connections are those of the probe.
        if cfg!(fault = "serves_two") && count > 5 {
            silent.push(stream);
            continue;
        }
        stream.set_nodelay(!cfg!(fault = "writes_twice")).expect("no delay");
        let reader = stream.try_clone().expect("a second handle");
        std::thread::spawn(move || serve(BufReader::new(reader), stream));
    }
}

/// Returns whether this process is the one among several that has the fault.
fn is_the_faulty_one() -> bool {
    std::env::var("HARNESS_INSTANCE").as_deref() == Ok("1")
}

fn serve(mut reader: BufReader<impl Read>, mut writer: impl Write) -> Option<()> {
    loop {
        let (path, keep_alive) = read_request(&mut reader)?;
        if path == "/health" {
            writer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").ok()?;
            continue;
        }
        if path == "/missing" {
            writer.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").ok()?;
            continue;
        }
        // Held to the end of the answer, so that the last one is out before the process ends.
        let one_by_one = LAST.map(|last| (last, ONE_BY_ONE.lock()));
        let count = ANSWERS.fetch_add(1, Ordering::Relaxed) + 1;
        if one_by_one.as_ref().is_some_and(|(last, _)| count > *last) {
            std::process::exit(9);
        }
        let dies = cfg!(fault = "dies_under_load") || cfg!(fault = "one_dies") && is_the_faulty_one();
        if dies && count > 500 {
            eprintln!("fatal: out of patience");
            std::process::exit(9);
        }
        if cfg!(fault = "stalls_under_load") && count > 500 {
            std::thread::park();
        }
        if cfg!(fault = "slow") {
            let work = (0..20_000_u64).fold(count, |sum, next| sum ^ std::hint::black_box(next));
            std::hint::black_box(work);
        }
        let answer = answer(count);
        if cfg!(fault = "writes_twice") {
            // The second piece waits until the first is acknowledged, for without TCP_NODELAY there is Nagle's algorithm.
            let (head, body) = answer.split_at(answer.len() - "Hello World\n".len());
            writer.write_all(head.as_bytes()).ok()?;
            writer.write_all(body.as_bytes()).ok()?;
        } else {
            writer.write_all(answer.as_bytes()).ok()?;
        }
        if !keep_alive {
            return None;
        }
    }
}

/// Reads one request head. Returns its path and whether the connection stays open after it, nothing at its end.
fn read_request(reader: &mut BufReader<impl Read>) -> Option<(String, bool)> {
    let mut keep_alive = true;
    let mut path = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.to_ascii_lowercase().starts_with("connection: close") {
            keep_alive = false;
        }
        if path.is_empty() {
            path = line.split(' ').nth(1).unwrap_or("/").to_owned();
        }
        if line == "\r\n" {
            return Some((path, keep_alive));
        }
    }
}

fn answer(count: u64) -> String {
    let late = count > 500;
    let (status, body) = match () {
        () if cfg!(fault = "answers_500") => ("500 Internal Server Error", "Hello World\n"),
        () if cfg!(fault = "wrong_body") => ("200 OK", "Hello Wold!\n"),
        () if cfg!(fault = "errors_under_load") && late && count % 2 == 0 => ("503 Busy", "later\n"),
        () if cfg!(fault = "wrong_body_later") && late => ("200 OK", "Hello Wold!\n"),
        () => ("200 OK", "Hello World\n"),
    };
    format!("HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

//! A web server of the tests': it answers each request by a plan, and remembers what it was asked.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// What one request is answered with.
#[derive(Clone)]
pub(crate) enum Reply {
    /// Bytes, then the end of the connection.
    Bytes(Vec<u8>),
    /// Bytes, and then silence for as long as the client stays.
    Silence(Vec<u8>),
}

/// A running server. Dropping it ends it.
pub(crate) struct Site {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
    plan: Arc<Mutex<VecDeque<Reply>>>,
    thread: Option<JoinHandle<()>>,
}

impl Site {
    /// Starts a server that gives these answers in turn, and then nothing but refusals.
    pub(crate) fn start(plan: Vec<Reply>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let plan = Arc::new(Mutex::new(VecDeque::from(plan)));
        let (asked, answers) = (Arc::clone(&requests), Arc::clone(&plan));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                let request = head(&stream);
                if request.starts_with("STOP") {
                    return;
                }
                asked.lock().unwrap().push(request);
                let reply = answers.lock().unwrap().pop_front();
                give(&stream, reply.unwrap_or_else(|| status("410 Gone")));
            }
        });
        Self {
            address,
            requests,
            plan,
            thread: Some(thread),
        }
    }

    /// Returns the address of a file here.
    pub(crate) fn url(&self, file: &str) -> String {
        format!("http://{}/{file}", self.address)
    }

    /// Adds answers to the plan.
    pub(crate) fn then(&self, reply: Reply) {
        self.plan.lock().unwrap().push_back(reply);
    }

    /// Returns the heads of the requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Ok(mut stream) = TcpStream::connect(&self.address) {
            drop(stream.write_all(b"STOP\r\n\r\n"));
        }
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Reads a request up to its empty line.
fn head(stream: &TcpStream) -> String {
    let lines = BufReader::new(stream).lines();
    let lines = lines
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty());
    lines
        .collect::<Vec<_>>()
        .join("\n")
        .to_lowercase()
        .replacen("stop", "STOP", 1)
}

fn give(mut stream: &TcpStream, reply: Reply) {
    match reply {
        Reply::Bytes(bytes) => {
            drop(stream.write_all(&bytes));
            drop(stream.shutdown(Shutdown::Write));
        }
        Reply::Silence(bytes) => drop(stream.write_all(&bytes)),
    }
    // Until the client has read it all and gone.
    drop(std::io::copy(&mut stream, &mut std::io::sink()));
}

/// Returns an answer of a status, with lines of its head and a body.
pub(crate) fn answer(status: &str, head: &[&str], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {status}\r\nconnection: close\r\n").into_bytes();
    for line in head {
        bytes.extend_from_slice(format!("{line}\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

/// Returns a whole file, in the state that the tag names.
pub(crate) fn whole(tag: &str, file: &[u8]) -> Vec<u8> {
    let length = format!("content-length: {}", file.len());
    answer("200 OK", &[&length, &format!("etag: \"{tag}\"")], file)
}

/// Returns a file from a place on.
pub(crate) fn rest(tag: &str, file: &[u8], from: usize) -> Vec<u8> {
    let range = format!(
        "content-range: bytes {from}-{}/{}",
        file.len() - 1,
        file.len()
    );
    let length = format!("content-length: {}", file.len() - from);
    let head = [range.as_str(), &length, &format!("etag: \"{tag}\"")];
    answer("206 Partial Content", &head, &file[from..])
}

/// Returns an answer with nothing in it.
pub(crate) fn status(status: &str) -> Reply {
    Reply::Bytes(answer(status, &["content-length: 0"], b""))
}

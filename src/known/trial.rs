//! How the known server is loaded and asked, for those who try something by it.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::{BODY, STATS};
use crate::load::{Expected, Target};
use crate::matrix::{Manner, Stop, Workload};

/// Longest wait for one answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns a plain closed loop of so many connections.
pub fn workload(connections: u32) -> Workload {
    Workload {
        name: "known".to_owned(),
        method: "GET".to_owned(),
        path: "/".to_owned(),
        headers: BTreeMap::new(),
        body: None,
        connections,
        keep_alive: true,
        stop: Stop::Duration(Duration::from_secs(1)),
        warmup_answers: 0,
        warmup_at_most: Duration::ZERO,
        window: Duration::from_millis(250),
        timeout: PATIENCE,
        max_error_rate: 0.0,
        manner: Manner::default(),
    }
}

/// Returns the known server as a target, which must answer rightly.
pub fn target(address: SocketAddr) -> Target {
    Target {
        addresses: vec![address.into()],
        status: 200,
        expected: vec![Expected {
            length: Some(BODY.len() as u64),
            body: None,
        }],
    }
}

/// Asks a known server of one process how many answers it has given.
pub fn answers(address: SocketAddr) -> io::Result<u64> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("GET {STATS} HTTP/1.1\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut said = String::new();
    stream.read_to_string(&mut said)?;
    let number = said
        .split_once("\r\n\r\n")
        .map_or("", |(_, body)| body.trim());
    number.parse().map_err(io::Error::other)
}

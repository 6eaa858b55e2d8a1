//! What is sent to each server and expected of it, worked out before the load begins. Pure.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use rustix::net::SocketAddrUnix;
use rustls::ClientConfig;

use super::http2::Orders;
use super::mix;
use super::pace::Rate;
use crate::address::Address;
use crate::load::http1::{Answer, request};
use crate::load::latency::nanoseconds;
use crate::load::{Expected, Schedule, Target};
use crate::matrix::{PathShare, Protocol, Stop, Workload};
use crate::outcome::ErrorKind;
use crate::tls;

/// The most requests of a round. A mix is meant to be told in shares of tens or hundreds.
const LONGEST_ROUND: u64 = 100_000;
/// An answer that is longer than it must be by more than this is not waited for; the end of any other is, as a connection
/// whose answers are whole goes on to be used.
const MUCH_TOO_LONG: u64 = 64 << 10;

/// What all threads are to do.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The servers.
    pub(super) servers: Vec<Server>,
    /// The path of each request of a round.
    pub(super) round: Vec<usize>,
    /// The method of the requests.
    pub(super) method: String,
    /// Whether a connection carries many requests.
    pub(super) keep_alive: bool,
    /// How many requests may be under way on a connection.
    pub(super) pipeline: usize,
    /// Connections to each server over all threads.
    pub(super) connections: usize,
    /// How many threads there are.
    pub(super) threads: usize,
    /// What is sent over HTTP/2, where that is the protocol.
    pub(super) http2: Option<Arc<Orders>>,
    /// How connections are encrypted, where they are.
    pub(super) tls: Option<Arc<ClientConfig>>,
    /// The given rate; none in a closed loop.
    pub(super) rate: Option<Rate>,
    /// Whether the number of answers decides the end.
    pub(super) limited: bool,
    /// Which servers are loaded when.
    pub(super) schedule: Schedule,
    /// The longest wait for one answer, ns.
    pub(super) timeout: u64,
    /// The zero of the load's clock.
    pub(super) began: Instant,
}

/// What is sent to a server and expected of it.
#[derive(Debug)]
pub(super) struct Server {
    /// Where it listens; connections go to them in turn.
    pub(super) places: Vec<Place>,
    /// The status that every answer must have.
    status: u16,
    /// What answers must be, by path.
    expected: Vec<Expected>,
}

/// One address of a server and what is sent there.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) address: Address,
    pub(super) peer: Peer,
    pub(super) script: Script,
}

/// Where a connection goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Post {
    pub(super) target: usize,
    /// Which of the target's addresses.
    pub(super) address: usize,
    /// Where in the round it begins.
    pub(super) place: usize,
}

/// An address as the kernel takes it.
#[derive(Debug)]
pub(super) enum Peer {
    Tcp(SocketAddr),
    Unix(SocketAddrUnix),
}

/// The bytes of a round's requests.
#[derive(Debug)]
pub(super) struct Script {
    text: Vec<u8>,
    /// Where each request of the round lies, and those after it that may be under way together with the last.
    spots: Vec<Range<usize>>,
}

impl Plan {
    /// Works out what so many threads are to do.
    pub(super) fn new(
        workload: &Workload,
        targets: &[Target],
        threads: usize,
        schedule: Schedule,
        began: Instant,
    ) -> io::Result<Self> {
        let only = [PathShare {
            path: workload.path.clone(),
            share: 1,
        }];
        let mix = &workload.manner.mix;
        let mix: &[PathShare] = if mix.is_empty() { &only } else { mix };
        let round = round(mix)?;
        let pipeline = workload.manner.pipeline.filter(|_| workload.keep_alive);
        let pipeline = pipeline.map_or(1, |most| most.max(1) as usize);
        let server = |target| Server::new(workload, target, mix, &round, pipeline);
        let rate = workload.manner.rate.map(|per_second| Rate {
            per_second,
            arrivals: workload.manner.arrivals,
        });
        let (protocol, tls) = (workload.manner.protocol, workload.manner.tls);
        let http2 = || Orders::new(workload, targets, mix).map(Arc::new);
        let tls = tls.then(|| tls::client(protocol).map_err(io::Error::other));
        Ok(Self {
            servers: targets.iter().map(server).collect::<io::Result<_>>()?,
            http2: (protocol == Protocol::Http2).then(http2).transpose()?,
            tls: tls.transpose()?,
            round,
            method: workload.method.clone(),
            keep_alive: workload.keep_alive,
            pipeline,
            connections: workload.connections as usize,
            threads,
            rate,
            limited: matches!(workload.stop, Stop::Requests(_)),
            schedule,
            timeout: nanoseconds(workload.timeout),
            began,
        })
    }

    /// Returns a thread's connections, one of each target in turn, so that none is opened before the others.
    pub(super) fn posts(&self, thread: usize) -> Vec<Post> {
        let post = |number: usize, target: usize| Post {
            target,
            address: number % self.servers[target].places.len(),
            // Each begins at another place of the round, so that all paths are asked for at any time.
            place: number * self.round.len() / self.connections % self.round.len(),
        };
        (thread..self.connections)
            .step_by(self.threads)
            .flat_map(|number| (0..self.servers.len()).map(move |target| (number, target)))
            .map(|(number, target)| post(number, target))
            .collect()
    }

    /// Returns whether a request may be sent again that a server may have seen already.
    pub(super) fn may_send_again(&self) -> bool {
        matches!(
            self.method.as_str(),
            "GET" | "HEAD" | "OPTIONS" | "PUT" | "DELETE"
        )
    }
}

fn round(mix: &[PathShare]) -> io::Result<Vec<usize>> {
    let shares: Vec<u32> = mix.iter().map(|path| path.share).collect();
    let whole: u64 = shares.iter().copied().map(u64::from).sum();
    if whole == 0 || whole > LONGEST_ROUND {
        let why =
            format!("the shares of the paths come to {whole}; 1 to {LONGEST_ROUND} are possible");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    Ok(mix::round(&shares))
}

impl Server {
    fn new(
        workload: &Workload,
        target: &Target,
        mix: &[PathShare],
        round: &[usize],
        pipeline: usize,
    ) -> io::Result<Self> {
        let place = |address: &Address| {
            let request = |path: &PathShare| request(workload, &path.path, address);
            let requests: Vec<_> = mix.iter().map(request).collect();
            Ok(Place {
                address: address.clone(),
                peer: Peer::new(address)?,
                script: Script::new(&requests, round, pipeline),
            })
        };
        let mut expected = target.expected.clone();
        expected.resize(mix.len(), Expected::default());
        let places: io::Result<Vec<_>> = target.addresses.iter().map(place).collect();
        Ok(Self {
            places: places?,
            status: target.status,
            expected,
        })
    }

    /// Returns what the body of a path's answers must be, where that is fixed.
    pub(super) fn body(&self, path: usize) -> Option<&[u8]> {
        self.expected[path].body.as_deref()
    }

    /// Returns how long the body of a path's answers must be, where that is fixed.
    fn length(&self, path: usize) -> Option<u64> {
        let length = self.expected[path].length;
        length.or_else(|| self.body(path).map(|body| body.len() as u64))
    }

    /// Returns whether an answer whose body has at least this length can be given up before its end.
    pub(super) fn is_much_too_long(&self, path: usize, least: u64) -> bool {
        let length = self.length(path);
        length.is_some_and(|length| least > length.saturating_add(MUCH_TOO_LONG))
    }

    /// Returns what is wrong with an answer for a path.
    pub(super) fn fault(&self, path: usize, answer: Answer) -> Option<ErrorKind> {
        if answer.status != self.status {
            return Some(ErrorKind::BadStatus);
        }
        let length = self.length(path);
        if length.is_some_and(|length| length != answer.body_length) {
            return Some(ErrorKind::BadLength);
        }
        (!answer.body_right).then_some(ErrorKind::BadBody)
    }
}

impl Peer {
    fn new(address: &Address) -> io::Result<Self> {
        Ok(match address {
            Address::Tcp(address) => Self::Tcp(*address),
            Address::Unix(path) => Self::Unix(SocketAddrUnix::new(path)?),
        })
    }
}

impl Script {
    /// Makes the script of a round, given the request for each path.
    ///
    /// Where several requests may be under way they lie one after the other, so that one call sends them all; else
    /// each path's request is there once.
    pub(super) fn new(requests: &[Vec<u8>], round: &[usize], pipeline: usize) -> Self {
        let mut script = Self {
            text: Vec::new(),
            spots: Vec::new(),
        };
        if pipeline == 1 {
            let of_path: Vec<_> = requests.iter().map(|request| script.add(request)).collect();
            let spots = round.iter().map(|&path| of_path[path].clone());
            script.spots = spots.collect();
        } else {
            let paths = round.iter().cycle().take(round.len() + pipeline - 1);
            for &path in paths {
                let spot = script.add(&requests[path]);
                script.spots.push(spot);
            }
        }
        script
    }

    fn add(&mut self, request: &[u8]) -> Range<usize> {
        let start = self.text.len();
        self.text.extend_from_slice(request);
        start..self.text.len()
    }

    /// Returns the length of the request at a place of the round.
    pub(super) fn length(&self, place: usize) -> usize {
        self.spots[place].len()
    }

    /// Returns the last `left` bytes of so many requests from a place of the round on.
    pub(super) fn rest(&self, place: usize, requests: usize, left: usize) -> &[u8] {
        let last = requests
            .checked_sub(1)
            .map(|more| &self.spots[place + more]);
        last.map_or(&[], |last| &self.text[last.end - left..last.end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(pipeline: usize) -> Script {
        Script::new(&[b"aa".to_vec(), b"b".to_vec()], &[0, 1, 0], pipeline)
    }

    #[test]
    fn requests_that_may_be_under_way_together_lie_together() {
        let script = script(3);
        assert_eq!(script.text, b"aabaaaab");
        assert_eq!(script.rest(0, 3, 5), b"aabaa");
        assert_eq!(script.rest(2, 3, 5), b"aaaab");
        assert_eq!(script.rest(2, 2, 1), b"a");
        assert_eq!(script.rest(1, 0, 0), b"");
    }

    #[test]
    fn one_at_a_time_needs_each_request_once() {
        let script = script(1);
        assert_eq!(script.text, b"aab");
        let whole = |place| script.rest(place, 1, script.length(place));
        assert_eq!([whole(0), whole(1), whole(2)], [&b"aa"[..], b"b", b"aa"]);
    }

    #[test]
    fn a_mix_that_makes_no_round_is_refused() {
        let share = |share| PathShare {
            path: "/".to_owned(),
            share,
        };
        assert!(round(&[share(0)]).is_err());
        assert!(round(&[share(u32::MAX), share(u32::MAX)]).is_err());
        assert_eq!(round(&[share(2), share(2)]).unwrap(), [0, 1]);
    }

    #[test]
    fn only_what_is_longer_by_far_is_not_waited_for() {
        let too_long = |length, least| {
            let expected = Expected { length, body: None };
            let server = Server {
                places: Vec::new(),
                status: 200,
                expected: vec![expected],
            };
            server.is_much_too_long(0, least)
        };
        assert!(!too_long(Some(5), 5 + MUCH_TOO_LONG));
        assert!(too_long(Some(5), 6 + MUCH_TOO_LONG));
        assert!(!too_long(None, u64::MAX));
        assert!(!too_long(Some(u64::MAX), u64::MAX));
    }

    #[test]
    fn a_wrong_length_goes_before_a_wrong_body() {
        let server = |expected| Server {
            places: Vec::new(),
            status: 200,
            expected: vec![expected],
        };
        let answer = Answer {
            status: 200,
            body_length: 3,
            body_right: false,
            keep_alive: true,
        };
        let body = |text: &'static str| Expected {
            length: None,
            body: Some(text.into()),
        };
        let fault = |expected, answer| server(expected).fault(0, answer);
        assert_eq!(fault(body("four"), answer), Some(ErrorKind::BadLength));
        assert_eq!(fault(body("abc"), answer), Some(ErrorKind::BadBody));
        let other = Answer {
            status: 404,
            ..answer
        };
        assert_eq!(fault(body("abc"), other), Some(ErrorKind::BadStatus));
        let right = Answer {
            body_right: true,
            ..answer
        };
        assert_eq!(fault(Expected::default(), right), None);
    }
}

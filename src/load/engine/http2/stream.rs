//! A connection that is kept up, and the requests on it.

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::task::{AbortHandle, JoinSet, spawn_local};
use tokio::time::{sleep, timeout};

use super::super::connection::Delay;
use super::super::plan::Post;
use super::super::tally::Times;
use super::crew::{Begun, Crew};
use super::failure::{Failure, kind_of};
use super::wire::Wire;
use crate::address::Address;
use crate::dial::{self, Channel};
use crate::load::http1::Answer;
use crate::matrix::Protocol;
use crate::outcome::ErrorKind;

/// How soon a server is asked again that had no room for a connection.
const ROOM: Duration = Duration::from_micros(500);

/// Runs the tasks of a connection on its own thread.
#[derive(Debug, Clone, Copy)]
struct Local;

impl<F: Future<Output: 'static> + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, future: F) {
        spawn_local(future);
    }
}

/// An open connection. Dropping it closes it.
struct Open {
    sender: SendRequest<Full<Bytes>>,
    driver: AbortHandle,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// A request that may be under way on a connection, one after the other.
struct Stream {
    crew: Rc<Crew>,
    connection: Rc<Connection>,
    /// Its number among the thread's streams.
    number: usize,
    /// A request that no server has taken yet.
    begun: Option<Begun>,
    seen: Seen,
}

/// Where a connection goes.
struct Connection {
    target: usize,
    address: usize,
    /// Where in the round its next request stands.
    place: Cell<usize>,
}

/// What a stream has seen of a connection.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    answer: bool,
    failure: bool,
}

/// What a stream does next.
enum Next {
    /// The next request.
    Ask,
    /// The same after a while.
    Rest,
    /// It waits for another connection.
    Leave,
}

/// Opens a connection again and again, and has requests sent on it.
pub(super) async fn keep_up(crew: Rc<Crew>, post: Post) {
    let connection = Rc::new(Connection {
        target: post.target,
        address: post.address,
        place: Cell::new(post.place),
    });
    let stream = |_| Stream::new(&crew, &connection);
    let mut streams: Vec<Stream> = (0..crew.orders.streams).map(stream).collect();
    let mut delay = Delay::default();
    loop {
        let seen = match open(&crew, &connection, streams[0].number).await {
            Ok(open) => {
                streams = carry_all(streams, &open).await;
                let all = streams.iter().map(|stream| stream.seen);
                all.fold(Seen::default(), Seen::and)
            }
            Err(kind) => {
                crew.failed(post.target, kind, None);
                Seen {
                    answer: false,
                    failure: true,
                }
            }
        };
        if !seen.answer && !seen.failure {
            // It was closed before it was of any use.
            crew.failed(post.target, ErrorKind::Closed, None);
        }
        if seen.answer {
            delay = Delay::default();
        }
        if seen.failure || !seen.answer {
            // Without a pause, a server that fails at once would only show how fast the client can ask.
            sleep(Duration::from_nanos(delay.next())).await;
        }
    }
}

/// Has requests sent on a connection until no stream can send any more.
async fn carry_all(streams: Vec<Stream>, open: &Open) -> Vec<Stream> {
    let mut carrying = JoinSet::new();
    for stream in streams {
        carrying.spawn_local(stream.carry(open.sender.clone()));
    }
    carrying.join_all().await
}

impl Seen {
    fn and(self, other: Self) -> Self {
        Self {
            answer: self.answer || other.answer,
            failure: self.failure || other.failure,
        }
    }
}

/// Opens a connection; the time that a handshake takes is part of it.
async fn open(crew: &Crew, connection: &Connection, stream: usize) -> Result<Open, ErrorKind> {
    let since = crew.now();
    crew.waits(stream, Some(since));
    let opened = timeout(crew.timeout(), try_open(crew, connection)).await;
    crew.waits(stream, None);
    let open = opened.map_err(|_| ErrorKind::Timeout)??;
    crew.connected(connection.target, since);
    Ok(open)
}

async fn try_open(crew: &Crew, connection: &Connection) -> Result<Open, ErrorKind> {
    let address = crew.address(connection.target, connection.address);
    let plain = connect(address).await.map_err(|error| kind_of(&error))?;
    let channel = match &crew.plan.tls {
        None => plain,
        Some(config) => dial::secure(plain, address, Protocol::Http2, config)
            .await
            .map_err(|error| kind_of(&error))?,
    };
    let wire = Wire::new(channel, crew.received(connection.target));
    let shaken = handshake(Local, TokioIo::new(wire)).await;
    let (sender, driver) = shaken.map_err(|error| match Failure::of(&error) {
        Failure::NotTaken => ErrorKind::Closed,
        Failure::Kind(kind) => kind,
    })?;
    let driver = spawn_local(async {
        // How it ended, the streams on it are told.
        drop(driver.await);
    });
    Ok(Open {
        sender,
        driver: driver.abort_handle(),
    })
}

/// Connects, as soon as the server has room for another connection.
async fn connect(address: &Address) -> io::Result<Box<dyn Channel>> {
    loop {
        match dial::connect(address).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(ROOM).await,
            connected => return connected,
        }
    }
}

impl Stream {
    fn new(crew: &Rc<Crew>, connection: &Rc<Connection>) -> Self {
        Self {
            number: crew.enlist(connection.target),
            crew: Rc::clone(crew),
            connection: Rc::clone(connection),
            begun: None,
            seen: Seen::default(),
        }
    }

    /// Sends requests on a connection until it can carry no more.
    async fn carry(mut self, mut sender: SendRequest<Full<Bytes>>) -> Self {
        self.seen = Seen::default();
        let mut delay = Delay::default();
        while !sender.is_closed() {
            let begun = match self.begun.take() {
                Some(begun) => begun,
                None => self.crew.begin(self.connection.target).await,
            };
            match self.exchange(&mut sender, begun).await {
                Next::Ask => delay = Delay::default(),
                Next::Rest => sleep(Duration::from_nanos(delay.next())).await,
                Next::Leave => break,
            }
        }
        self
    }

    /// Sends one request and counts what comes of it.
    async fn exchange(&mut self, sender: &mut SendRequest<Full<Bytes>>, mut begun: Begun) -> Next {
        let (crew, target) = (&self.crew, self.connection.target);
        let sent = crew.now();
        crew.sends(target, &mut begun, sent);
        crew.waits(self.number, Some(sent));
        let path = self.connection.next_path(&crew.plan.round);
        let asked = timeout(crew.timeout(), self.ask(sender, path)).await;
        crew.waits(self.number, None);
        match asked {
            Ok(Ok((answer, first_byte))) => {
                let times = Times {
                    since: sent,
                    first_byte,
                    last_byte: crew.now(),
                };
                crew.answered(target, begun, (path, answer), times);
                self.seen.answer = true;
                Next::Ask
            }
            Ok(Err(Failure::NotTaken)) => {
                crew.not_taken(target, &mut begun);
                self.begun = Some(begun);
                Next::Leave
            }
            Ok(Err(Failure::Kind(kind))) => {
                crew.failed(target, kind, Some(begun));
                self.seen.failure = true;
                Next::Rest
            }
            // The waiting was pause enough.
            Err(_) => {
                crew.failed(target, ErrorKind::Timeout, Some(begun));
                self.seen.failure = true;
                Next::Ask
            }
        }
    }

    /// Returns the answer to a path and when its first byte was there.
    async fn ask(
        &self,
        sender: &mut SendRequest<Full<Bytes>>,
        path: usize,
    ) -> Result<(Answer, u64), Failure> {
        let Connection {
            target, address, ..
        } = *self.connection;
        let request = self.crew.orders.requests[target][address][path].clone();
        let response = sender.send_request(request).await;
        let response = response.map_err(|error| Failure::of(&error))?;
        let first_byte = self.crew.now();
        let status = response.status().as_u16();
        let expected = self.crew.plan.servers[target].body(path);
        let read = read(response.into_body(), expected).await;
        let (body_length, body_right) = read.map_err(|error| Failure::inside(&error))?;
        let answer = Answer {
            status,
            body_length,
            body_right,
            keep_alive: true,
        };
        Ok((answer, first_byte))
    }
}

impl Connection {
    /// Returns the path of its next request.
    fn next_path(&self, round: &[usize]) -> usize {
        let place = self.place.get();
        self.place.set((place + 1) % round.len());
        round[place]
    }
}

/// Reads a body and returns its length, and whether it begins like the expected one.
async fn read(mut body: Incoming, expected: Option<&[u8]>) -> hyper::Result<(u64, bool)> {
    let (mut length, mut right) = (0, true);
    while let Some(frame) = body.frame().await {
        let frame = frame?;
        let Some(data) = frame.data_ref() else {
            continue;
        };
        right = right && expected.is_none_or(|expected| continues(expected, length, data));
        length += data.len();
    }
    Ok((length as u64, right))
}

/// Returns whether the expected body goes on with these bytes after so many.
fn continues(expected: &[u8], after: usize, bytes: &[u8]) -> bool {
    expected
        .get(after..)
        .is_some_and(|rest| rest.starts_with(bytes))
}

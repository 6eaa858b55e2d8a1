//! One thread of the known server: a request that comes alone costs one read and one write.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags};

use super::answer::{answer_all, work};
use super::connection::{Connection, accept, listen};
use super::options::Options;
use super::request::LONGEST;
use super::shared::Shared;

/// Ready connections that are told of at once.
const EVENTS: usize = 512;
/// What stands for the listening socket among the connections.
const LISTENER: u64 = u64::MAX;

/// Answers that wait.
#[derive(Debug)]
struct Delayed {
    due: Instant,
    index: usize,
    serial: u64,
    answers: Vec<u8>,
    closing: bool,
}

/// One thread's whole state.
#[derive(Debug)]
pub(super) struct Worker {
    turns: u64,
    delay: Option<Duration>,
    grow_after: Option<u64>,
    shared: Arc<Shared>,
    thread: usize,
    epoll: OwnedFd,
    listener: OwnedFd,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    opened: u64,
    /// All waits are equally long, so the first to begin is the first to end.
    delayed: VecDeque<Delayed>,
    received: Vec<u8>,
    answers: Vec<u8>,
}

impl Worker {
    /// Makes a thread's state; its socket listens from here on.
    pub(super) fn new(options: &Options, shared: &Arc<Shared>, thread: usize) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let listener = listen(options.listen)?;
        let data = epoll::EventData::new_u64(LISTENER);
        epoll::add(&epoll, &listener, data, epoll::EventFlags::IN)?;
        Ok(Self {
            turns: options.turns,
            delay: options.delay,
            grow_after: options.grow_after.filter(|_| thread == 0),
            shared: Arc::clone(shared),
            thread,
            epoll,
            listener,
            connections: Vec::new(),
            free: Vec::new(),
            opened: 0,
            delayed: VecDeque::new(),
            received: vec![0; LONGEST],
            answers: Vec::new(),
        })
    }

    /// Serves until something of its own fails; what a client does wrong ends that client's connection.
    pub(super) fn run(mut self) -> io::Result<()> {
        let nothing = epoll::Event {
            flags: epoll::EventFlags::empty(),
            data: epoll::EventData::new_u64(LISTENER),
        };
        let mut events = vec![nothing; EVENTS];
        loop {
            let ready = self.wait(&mut events)?;
            for event in &events[..ready] {
                match event.data.u64() {
                    LISTENER => self.accept_all()?,
                    index => self.serve(usize::try_from(index).map_err(io::Error::other)?),
                }
            }
            self.send_due();
            self.grow()?;
        }
    }

    fn wait(&self, events: &mut [epoll::Event]) -> io::Result<usize> {
        let left = self.delayed.front().map(|delayed| {
            let left = delayed.due.saturating_duration_since(Instant::now());
            Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(left.subsec_nanos()),
            }
        });
        match epoll::wait(&self.epoll, events, left.as_ref()) {
            Err(Errno::INTR) => Ok(0),
            ready => Ok(ready?),
        }
    }

    fn accept_all(&mut self) -> io::Result<()> {
        loop {
            match accept(&self.listener) {
                Ok(socket) => self.open(socket)?,
                Err(Errno::AGAIN) => return Ok(()),
                // The client was gone before it was accepted.
                Err(Errno::CONNABORTED | Errno::INTR | Errno::INVAL) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    fn open(&mut self, socket: OwnedFd) -> io::Result<()> {
        let index = self.free.pop().unwrap_or(self.connections.len());
        let data = epoll::EventData::new_u64(index as u64);
        epoll::add(&self.epoll, &socket, data, epoll::EventFlags::IN)?;
        if index == self.connections.len() {
            self.connections.push(None);
        }
        self.opened += 1;
        self.connections[index] = Some(Connection::new(socket, self.opened));
        Ok(())
    }

    fn close(&mut self, index: usize) {
        if self.connections[index].take().is_some() {
            self.free.push(index);
        }
    }

    /// Sends what is unsent, or else reads once.
    fn serve(&mut self, index: usize) {
        let Some(connection) = &mut self.connections[index] else {
            return;
        };
        if !connection.unsent.is_empty() {
            let sent = connection.send_rest();
            return self.sent(index, sent);
        }
        match net::recv(
            &connection.socket,
            &mut self.received[..],
            RecvFlags::empty(),
        ) {
            Ok((0, _)) => self.close(index),
            Ok((length, _)) => self.answer(index, length),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.close(index),
        }
    }

    /// Answers the requests that are whole with the bytes just read.
    fn answer(&mut self, index: usize, length: usize) {
        let Some(connection) = &mut self.connections[index] else {
            return;
        };
        let received = &self.received[..length];
        let begun = &mut connection.begun;
        let bytes = if begun.is_empty() {
            received
        } else {
            begun.extend_from_slice(received);
            begun
        };
        let given = || self.shared.answers();
        let answered = answer_all(bytes, self.turns, &given, &mut self.answers);
        if connection.begun.is_empty() {
            connection
                .begun
                .extend_from_slice(&received[answered.used..]);
        } else {
            connection.begun.drain(..answered.used);
        }
        self.shared.answered(self.thread, answered.count);
        self.hand_over(index, answered.closing);
    }

    /// Sends the answers just made, now or after the delay.
    fn hand_over(&mut self, index: usize, closing: bool) {
        let Some(connection) = &mut self.connections[index] else {
            return;
        };
        if self.answers.is_empty() {
            return;
        }
        if let Some(delay) = self.delay {
            self.delayed.push_back(Delayed {
                due: Instant::now() + delay,
                index,
                serial: connection.serial,
                answers: std::mem::take(&mut self.answers),
                closing,
            });
            return;
        }
        connection.closing = closing;
        let sent = connection.send(&self.answers);
        self.answers.clear();
        self.sent(index, sent);
    }

    fn send_due(&mut self) {
        while let Some(delayed) = self.delayed.pop_front_if(|next| next.due <= Instant::now()) {
            let connection = self.connections[delayed.index].as_mut();
            let same = connection.filter(|connection| connection.serial == delayed.serial);
            if let Some(connection) = same {
                connection.closing = delayed.closing;
                let sent = connection.send(&delayed.answers);
                self.sent(delayed.index, sent);
            }
        }
    }

    /// Goes on after sending: waits until the socket takes the rest, or closes it if nothing is to follow.
    fn sent(&mut self, index: usize, sent: rustix::io::Result<()>) {
        let Some(connection) = &mut self.connections[index] else {
            return;
        };
        let blocked = !connection.unsent.is_empty();
        if sent.is_err() || (connection.closing && !blocked) {
            return self.close(index);
        }
        if blocked == connection.blocked {
            return;
        }
        connection.blocked = blocked;
        let data = epoll::EventData::new_u64(index as u64);
        let interest = if blocked {
            epoll::EventFlags::OUT
        } else {
            epoll::EventFlags::IN
        };
        if epoll::modify(&self.epoll, &connection.socket, data, interest).is_err() {
            self.close(index);
        }
    }

    /// Begins the busy thread when its time has come.
    fn grow(&mut self) -> io::Result<()> {
        if let Some(after) = self.grow_after
            && self.shared.answers() >= after
        {
            self.grow_after = None;
            thread::Builder::new().spawn(|| {
                loop {
                    work(1_000_000);
                }
            })?;
        }
        Ok(())
    }
}

//! What a worker does otherwise on an encrypted connection.
//!
//! As on a plain one an answer costs one read and one write. A connection counts as established when its handshake is
//! over.

use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{self, RecvFlags};

use super::client::Next;
use super::connection::State;
use super::session::{Broken, Fed};
use super::socket;
use super::worker::{Socket, Worker};
use crate::outcome::ErrorKind;

impl Worker {
    /// Sends what is to be sent as far as the socket takes it.
    pub(super) fn transmit_secured(&mut self, index: usize, now: u64) {
        let Socket {
            descriptor: Some(descriptor),
            session: Some(session),
            ..
        } = &mut self.sockets[index]
        else {
            return;
        };
        if self.client.state(index) == State::Open {
            let taken = session.take(self.client.outgoing(index));
            self.client.sent(index, taken);
        }
        if let Err(errno) = session.flush(descriptor) {
            let next = self.client.lost(index, socket::kind_of(errno), now);
            return self.act(index, next, now);
        }
        self.look_for(index, now);
    }

    /// Returns what the poll is to look for on an encrypted connection.
    pub(super) fn interest_secured(&self, index: usize) -> epoll::EventFlags {
        let session = self.sockets[index].session.as_ref();
        let open = self.client.state(index) == State::Open;
        if session.is_some_and(|session| session.has_output())
            || (open && !self.client.outgoing(index).is_empty())
        {
            epoll::EventFlags::IN | epoll::EventFlags::OUT
        } else {
            epoll::EventFlags::IN
        }
    }

    /// Reads once.
    pub(super) fn receive_secured(&mut self, index: usize, now: u64) {
        let Socket {
            descriptor: Some(descriptor),
            session: Some(session),
            ..
        } = &mut self.sockets[index]
        else {
            return;
        };
        let came = match net::recv(descriptor, &mut self.buffer[..], RecvFlags::empty()) {
            Ok((length, _)) => &self.buffer[..length],
            Err(Errno::AGAIN | Errno::INTR) => return,
            Err(errno) => {
                let next = self.client.lost(index, socket::kind_of(errno), now);
                return self.act(index, next, now);
            }
        };
        if came.is_empty() {
            let next = self.client.closed(index, now);
            return self.act(index, next, now);
        }
        let fed = session.feed(came, &mut self.plain);
        let over = !session.is_handshaking();
        let usable = fed.is_ok() && (!over || session.is_agreed());
        match fed {
            Ok(fed) if usable => {
                if over && self.client.state(index) == State::Connecting {
                    self.client.established(index, now);
                }
                self.decrypted(index, fed, now);
            }
            Ok(_) | Err(Broken) => {
                let next = self.client.fail(index, ErrorKind::Malformed, now);
                self.act(index, next, now);
            }
        }
    }

    /// Makes what can be made of what came, and sends what follows.
    fn decrypted(&mut self, index: usize, fed: Fed, now: u64) {
        let mut next = Next::Await;
        if fed.length > 0 {
            next = self.client.received(index, &self.plain[..fed.length], now);
        }
        if fed.closed && matches!(next, Next::Await | Next::Send) {
            next = self.client.closed(index, now);
        }
        match next {
            // The handshake may have something to say.
            Next::Await | Next::Send => self.transmit_secured(index, now),
            Next::Open | Next::Close => self.act(index, next, now),
        }
    }
}

//! The sockets of the known server.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SendFlags, SocketFlags, SocketType, sockopt};

/// Connections that may wait to be accepted, as far as the kernel allows.
const WAITING: i32 = 16 * 1024;

/// One open connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: OwnedFd,
    /// Tells it from a later one in the same place.
    pub(super) serial: u64,
    /// The beginning of a request whose rest is still to come.
    pub(super) begun: Vec<u8>,
    /// The end of an answer that the socket has not taken yet.
    pub(super) unsent: Vec<u8>,
    /// Whether it is looked at only for that.
    pub(super) blocked: bool,
    /// Whether it is to be closed when all is sent.
    pub(super) closing: bool,
}

impl Connection {
    pub(super) fn new(socket: OwnedFd, serial: u64) -> Self {
        Self {
            socket,
            serial,
            begun: Vec::new(),
            unsent: Vec::new(),
            blocked: false,
            closing: false,
        }
    }

    /// Sends some more as far as the socket takes it, and keeps the rest.
    pub(super) fn send(&mut self, more: &[u8]) -> rustix::io::Result<()> {
        if !self.unsent.is_empty() {
            self.unsent.extend_from_slice(more);
            return Ok(());
        }
        let sent = match net::send(&self.socket, more, SendFlags::NOSIGNAL) {
            Err(Errno::AGAIN | Errno::INTR) => 0,
            sent => sent?,
        };
        self.unsent.extend_from_slice(&more[sent..]);
        Ok(())
    }

    /// Sends what is left.
    pub(super) fn send_rest(&mut self) -> rustix::io::Result<()> {
        let rest = std::mem::take(&mut self.unsent);
        self.send(&rest)
    }
}

/// Opens a listening socket that shares its address with those of other threads and processes.
pub(super) fn listen(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    net::bind(&socket, &address)?;
    net::listen(&socket, WAITING)?;
    Ok(socket)
}

/// Takes the next connection that waits to be accepted.
pub(super) fn accept(listener: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    let socket = net::accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    Ok(socket)
}

//! The encryption of one connection, whose bytes somebody else moves.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{self, SendFlags};
use rustls::{ClientConfig, ClientConnection};

use crate::address::Address;
use crate::matrix::Protocol;
use crate::tls;

/// More than one read can decrypt to: what it reads, and a record of which the rest came before.
pub(super) const ROOM: usize = 32 * 1024;

/// The encryption of one connection.
#[derive(Debug)]
pub(super) struct Session(ClientConnection);

/// What bytes of a connection came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fed {
    /// Decrypted bytes.
    pub(super) length: usize,
    /// Whether the server said that these were the last.
    pub(super) closed: bool,
}

/// The bytes are no TLS, or none that both sides can speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken;

impl Session {
    /// Begins the handshake of a new connection.
    pub(super) fn new(config: &Arc<ClientConfig>, address: &Address) -> Result<Self, Broken> {
        let connection = ClientConnection::new(Arc::clone(config), tls::server_name(address));
        connection.map(Self).map_err(|_| Broken)
    }

    /// Returns whether the handshake is still going on.
    pub(super) fn is_handshaking(&self) -> bool {
        self.0.is_handshaking()
    }

    /// Returns whether the server speaks HTTP/1.1 on the connection.
    pub(super) fn is_agreed(&self) -> bool {
        tls::agreed(Protocol::Http1, self.0.alpn_protocol())
    }

    /// Returns whether there is something to be sent.
    pub(super) fn has_output(&self) -> bool {
        self.0.wants_write()
    }

    /// Encrypts as many of the bytes as there is room for, and returns how many.
    pub(super) fn take(&mut self, bytes: &[u8]) -> usize {
        // It fails for nothing but a lack of room, and then it takes none.
        self.0.writer().write(bytes).unwrap_or(0)
    }

    /// Sends as much as the socket takes.
    pub(super) fn flush(&mut self, socket: &OwnedFd) -> Result<(), Errno> {
        while self.0.wants_write() {
            if let Err(error) = self.0.write_tls(&mut Socket(socket)) {
                return match Errno::from_io_error(&error) {
                    Some(Errno::AGAIN | Errno::INTR) => Ok(()),
                    errno => Err(errno.unwrap_or(Errno::IO)),
                };
            }
        }
        Ok(())
    }

    /// Decrypts what came to the beginning of `plain`, which has [`ROOM`] more than what came.
    pub(super) fn feed(&mut self, mut came: &[u8], plain: &mut [u8]) -> Result<Fed, Broken> {
        let mut fed = Fed {
            length: 0,
            closed: false,
        };
        while !came.is_empty() && !fed.closed {
            self.0.read_tls(&mut came).map_err(|_| Broken)?;
            let state = self.0.process_new_packets().map_err(|_| Broken)?;
            fed.closed = state.peer_has_closed();
            let mut left = state.plaintext_bytes_to_read();
            while left > 0 {
                let read = self.0.reader().read(&mut plain[fed.length..]);
                let length = read.map_err(|_| Broken)?;
                fed.length += length;
                left -= length;
            }
        }
        Ok(fed)
    }
}

/// A socket that does not raise a signal when it is closed.
struct Socket<'a>(&'a OwnedFd);

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(net::send(self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

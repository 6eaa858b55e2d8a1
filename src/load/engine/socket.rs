//! Client sockets that never block.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::outcome::ErrorKind;

/// Local addresses of each thread. Each has some 28,000 ports, and a closed connection keeps its port for a minute.
const SOURCES: u8 = 250;

/// The local addresses of one thread, used in turn so that a connection per request does not run out of ports.
#[derive(Debug)]
pub(super) struct Sources {
    thread: [u8; 2],
    next: u8,
}

impl Sources {
    /// Makes the addresses of a thread, which no other thread uses.
    pub(super) fn new(thread: usize) -> Self {
        Self {
            thread: u16::try_from(thread).unwrap_or(u16::MAX).to_be_bytes(),
            next: 0,
        }
    }

    /// Returns the local address of the next connection; none where the kernel has to choose.
    pub(super) fn next(&mut self, target: SocketAddr) -> Option<Ipv4Addr> {
        match target {
            SocketAddr::V4(target) if target.ip().is_loopback() => {}
            SocketAddr::V4(_) | SocketAddr::V6(_) => return None,
        }
        self.next = self.next % SOURCES + 1;
        let [high, low] = self.thread;
        Some(Ipv4Addr::new(127, 64 + high % 64, low, self.next))
    }
}

/// Begins to connect; the socket is writable once that has succeeded or failed.
pub(super) fn connect(target: SocketAddr, source: Option<Ipv4Addr>) -> Result<OwnedFd, Errno> {
    let family = match target {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    if let Some(source) = source {
        // Without this, a closed connection's port could not be bound by a server that listens on all addresses.
        sockopt::set_socket_reuseaddr(&socket, true)?;
        net::bind(&socket, &SocketAddrV4::new(source, 0))?;
    }
    match net::connect(&socket, &target) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(errno) => Err(errno),
    }
}

/// Connects to a socket in the file system; none while its queue of unaccepted connections is full.
pub(super) fn connect_unix(target: &SocketAddrUnix) -> Result<Option<OwnedFd>, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match net::connect(&socket, target) {
        Ok(()) => Ok(Some(socket)),
        Err(Errno::AGAIN) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Returns the kind of failure that a failed system call on a socket means.
pub(super) fn kind_of(errno: Errno) -> ErrorKind {
    match errno {
        // A socket in the file system that is not there is a server that is not there.
        Errno::CONNREFUSED | Errno::NOENT => ErrorKind::Refused,
        Errno::CONNRESET | Errno::CONNABORTED => ErrorKind::Reset,
        // The server had closed its side before.
        Errno::PIPE => ErrorKind::Closed,
        Errno::TIMEDOUT => ErrorKind::Timeout,
        // These come from `bind` and `connect` when no local port is free.
        Errno::ADDRNOTAVAIL | Errno::ADDRINUSE | Errno::AGAIN => ErrorKind::PortsExhausted,
        _ => ErrorKind::Client,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn threads_use_distinct_local_addresses_in_turn() {
        let target = "127.0.0.1:80".parse().unwrap();
        let addresses = |thread| {
            let mut sources = Sources::new(thread);
            let taken = (0..usize::from(SOURCES) * 2).map(|_| sources.next(target).unwrap());
            taken.collect::<BTreeSet<_>>()
        };
        assert_eq!(addresses(0).len(), usize::from(SOURCES));
        assert!(addresses(0).is_disjoint(&addresses(1)));
        assert!(addresses(0).is_disjoint(&addresses(256)));
        assert!(addresses(0).iter().all(Ipv4Addr::is_loopback));
    }

    #[test]
    fn only_loopback_targets_get_a_chosen_local_address() {
        let mut sources = Sources::new(0);
        assert_eq!(sources.next("192.0.2.1:80".parse().unwrap()), None);
        assert_eq!(sources.next("[::1]:80".parse().unwrap()), None);
        assert!(sources.next("127.1.2.3:80".parse().unwrap()).is_some());
    }

    #[test]
    fn a_lack_of_ports_is_never_the_servers_fault() {
        assert_eq!(kind_of(Errno::ADDRNOTAVAIL), ErrorKind::PortsExhausted);
        assert_eq!(kind_of(Errno::ADDRINUSE), ErrorKind::PortsExhausted);
        assert_eq!(kind_of(Errno::MFILE), ErrorKind::Client);
        assert_eq!(kind_of(Errno::CONNREFUSED), ErrorKind::Refused);
    }

    #[test]
    fn a_local_address_of_somebody_else_cannot_be_used() {
        let target = "127.0.0.1:9".parse().unwrap();
        let failure = connect(target, Some(Ipv4Addr::new(192, 0, 2, 1))).unwrap_err();
        assert_eq!(kind_of(failure), ErrorKind::PortsExhausted);
    }
}

//! Where processes listen.

use std::collections::HashMap;

use procfs::net::{TcpState, UnixState};
use procfs::process::{FDInfo, FDTarget, Process};

use crate::address::Address;

/// The type of a unix socket that carries a stream.
const STREAM: u16 = 1;

/// Returns every address at which one of the processes listens, in order and each once.
pub(super) fn addresses(processes: &[i32]) -> Vec<Address> {
    let sockets = listening_sockets();
    let held = processes.iter().flat_map(|&pid| sockets_of(pid));
    let mut found: Vec<Address> = held
        .filter_map(|inode| sockets.get(&inode).cloned())
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Returns the inodes of a process's sockets.
fn sockets_of(pid: i32) -> Vec<u64> {
    let descriptors = Process::new(pid).and_then(|process| process.fd());
    let inode = |descriptor: FDInfo| {
        if let FDTarget::Socket(inode) = descriptor.target {
            Some(inode)
        } else {
            None
        }
    };
    let found = descriptors.into_iter().flatten().flatten();
    found.filter_map(inode).collect()
}

/// Returns the listening sockets of the machine by their inodes.
fn listening_sockets() -> HashMap<u64, Address> {
    let v4 = procfs::net::tcp().unwrap_or_default();
    let v6 = procfs::net::tcp6().unwrap_or_default();
    let tcp = v4
        .into_iter()
        .chain(v6)
        .filter(|entry| entry.state == TcpState::Listen)
        .map(|entry| (entry.inode, Address::Tcp(entry.local_address)));
    let unix = procfs::net::unix().unwrap_or_default().into_iter();
    // A connection that was taken has its listener's path, and is connected.
    let unix = unix
        .filter(|entry| entry.socket_type == STREAM && entry.state == UnixState::UNCONNECTED)
        .filter_map(|entry| Some((entry.inode, Address::Unix(entry.path?))));
    tcp.chain(unix).collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    fn own() -> Vec<Address> {
        addresses(&[rustix::process::getpid().as_raw_pid()])
    }

    #[test]
    fn sockets_that_listen_are_found_while_they_do() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("socket");
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let unix = UnixListener::bind(&path).unwrap();
        let _connection = UnixStream::connect(&path).unwrap();
        let _taken = unix.accept().unwrap();
        let expected = [
            Address::Tcp(tcp.local_addr().unwrap()),
            Address::Unix(path.clone()),
        ];
        let found = own();
        assert!(
            expected.iter().all(|address| found.contains(address)),
            "{found:?}"
        );
        drop((tcp, unix));
        let left = own();
        assert!(
            expected.iter().all(|address| !left.contains(address)),
            "{left:?}"
        );
    }
}

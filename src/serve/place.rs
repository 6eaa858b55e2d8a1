//! Where the servers of one launch run and listen.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::address::Address;
use crate::error::{Error, Kind, Result};
use crate::matrix::{Listen, Start};

/// Longest wait for a connection when it is asked whether something listens.
const CONNECT: Duration = Duration::from_millis(200);
/// Bytes that the path of a socket may have; the kernel's field has one more, for its end.
const LONGEST_PATH: usize = 107;

/// An empty folder and an address for each instance of one launch. Dropping them removes the folders.
#[derive(Debug)]
pub struct Places {
    /// Where each instance runs if the matrix names no folder.
    pub folders: Vec<PathBuf>,
    /// Where each instance will listen.
    pub addresses: Vec<Address>,
    _temporary: Vec<TempDir>,
}

impl Places {
    /// Makes the folders and chooses addresses that nobody holds now.
    pub fn new(scratch: &Path, start: &Start) -> Result<Self> {
        let mut temporary = vec![TempDir::new_in(scratch).map_err(no_folder)?];
        let count = start.instances as usize;
        let mut folders = Vec::new();
        for instance in 0..count {
            let folder = temporary[0].path().join(instance.to_string());
            std::fs::create_dir(&folder).map_err(no_folder)?;
            folders.push(folder);
        }
        let addresses = match (start.listen, start.port) {
            (Listen::Unix, _) => sockets(&mut temporary, count)?,
            (Listen::Ipv4 | Listen::Ipv6, Some(port)) => {
                vec![fixed((loopback(start.listen), port).into())?]
            }
            (Listen::Ipv4 | Listen::Ipv6, None) => free_ports(loopback(start.listen), count)?,
        };
        Ok(Self {
            folders,
            addresses,
            _temporary: temporary,
        })
    }
}

fn loopback(listen: Listen) -> IpAddr {
    match listen {
        Listen::Ipv6 => Ipv6Addr::LOCALHOST.into(),
        Listen::Ipv4 | Listen::Unix => Ipv4Addr::LOCALHOST.into(),
    }
}

/// Returns a loopback address with a port that nobody holds now.
pub fn free_address() -> Result<SocketAddr> {
    let address = free_addresses(Ipv4Addr::LOCALHOST.into(), 1)?.pop();
    address.ok_or_else(|| Error::new(Kind::Machine, "cannot get a free port"))
}

fn free_ports(ip: IpAddr, count: usize) -> Result<Vec<Address>> {
    let addresses = free_addresses(ip, count)?.into_iter();
    Ok(addresses.map(Address::Tcp).collect())
}

/// Returns addresses with ports that nobody holds now.
fn free_addresses(ip: IpAddr, count: usize) -> Result<Vec<SocketAddr>> {
    // All are held until the last one is chosen, so that they differ.
    let listeners: io::Result<Vec<_>> = (0..count).map(|_| TcpListener::bind((ip, 0))).collect();
    let listeners = listeners.map_err(|error| {
        Error::new(Kind::Machine, format!("cannot get a free port on {ip}"))
            .because(error)
            .hint("harness doctor")
    })?;
    let addresses: io::Result<Vec<_>> = listeners.iter().map(TcpListener::local_addr).collect();
    addresses.map_err(|error| {
        Error::new(Kind::Machine, format!("cannot tell a free port on {ip}")).because(error)
    })
}

/// Returns the address of the matrix's own port, which must be free.
fn fixed(address: SocketAddr) -> Result<Address> {
    let taken = Address::Tcp(address);
    if !is_taken(&taken) {
        return Ok(taken);
    }
    let message = format!("another program listens on {address}");
    let holder = format!("`ss -ltnp 'sport = :{}'` shows it", address.port());
    Err(Error::new(Kind::Machine, message)
        .because("`[start] port` names that port, and a foreign server must not be measured")
        .hint(format!(
            "stop that program ({holder}), or take `port` out of the matrix"
        )))
}

/// Returns paths for sockets: in the launch's folder, or in one with a shorter path where that has to be.
fn sockets(temporary: &mut Vec<TempDir>, count: usize) -> Result<Vec<Address>> {
    let path = |folder: &TempDir, instance: usize| folder.path().join(format!("{instance}.socket"));
    if !is_usable(&path(&temporary[0], count)) {
        let short = TempDir::new().map_err(no_folder)?;
        let longest = path(&short, count);
        if !is_usable(&longest) {
            return Err(no_socket(&longest));
        }
        temporary.push(short);
    }
    let folder = &temporary[temporary.len() - 1];
    Ok((0..count)
        .map(|instance| Address::Unix(path(folder, instance)))
        .collect())
}

/// Returns whether a socket can have this path and be found by it again: the kernel's list of sockets separates its
/// columns by blanks.
fn is_usable(path: &Path) -> bool {
    let text = path.as_os_str().as_encoded_bytes();
    text.len() <= LONGEST_PATH && !text.iter().any(u8::is_ascii_whitespace)
}

fn no_socket(path: &Path) -> Error {
    let why = format!(
        "`{}` is longer than {LONGEST_PATH} bytes or has a blank in it",
        path.display()
    );
    Error::new(Kind::Machine, "no unix socket can be made here")
        .because(why)
        .hint("set TMPDIR to a folder with a short name, such as /tmp")
}

fn no_folder(error: io::Error) -> Error {
    Error::new(
        Kind::Machine,
        "cannot make a folder for the server to run in",
    )
    .because(error)
    .hint("free some space; `harness doctor` shows how much there is")
}

/// Returns whether something answers on the address.
pub fn is_taken(address: &Address) -> bool {
    match address {
        Address::Tcp(address) => TcpStream::connect_timeout(address, CONNECT).is_ok(),
        Address::Unix(path) => UnixStream::connect(path).is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn folder_of(name: &str) -> (TempDir, PathBuf) {
        let above = TempDir::new().unwrap();
        let folder = above.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        (above, folder)
    }

    fn socket_in(folder: &Path) -> (Vec<TempDir>, PathBuf) {
        let mut temporary = vec![TempDir::new_in(folder).unwrap()];
        match sockets(&mut temporary, 3).unwrap().remove(2) {
            Address::Unix(path) => (temporary, path),
            Address::Tcp(address) => panic!("{address} is no socket in the file system"),
        }
    }

    #[test]
    fn free_ports_differ_and_are_of_the_kind_asked_for() {
        for listen in [Listen::Ipv4, Listen::Ipv6] {
            let addresses = free_ports(loopback(listen), 16).unwrap();
            assert_eq!(addresses.iter().collect::<HashSet<_>>().len(), 16);
            for address in addresses {
                let Address::Tcp(tcp) = &address else {
                    panic!("{address} has no port");
                };
                assert_eq!(tcp.is_ipv6(), listen == Listen::Ipv6);
                assert!(!is_taken(&address));
            }
        }
    }

    #[test]
    fn a_socket_lies_in_the_launchs_folder_and_is_taken_while_somebody_listens() {
        let (_above, folder) = folder_of("short");
        let (_temporary, path) = socket_in(&folder);
        assert!(path.starts_with(&folder));
        let address = Address::Unix(path.clone());
        assert!(!is_taken(&address));
        let listener = UnixListener::bind(&path).unwrap();
        assert!(is_taken(&address));
        drop(listener);
        // The file is still there.
        assert!(!is_taken(&address));
    }

    #[test]
    fn a_socket_whose_path_would_be_too_long_or_has_a_blank_lies_elsewhere() {
        for name in ["x".repeat(120), "a b".to_owned()] {
            let (_above, folder) = folder_of(&name);
            let (_temporary, path) = socket_in(&folder);
            assert!(!path.starts_with(&folder), "{}", path.display());
            UnixListener::bind(&path).unwrap();
        }
    }
}

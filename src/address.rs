//! Where a server listens. Pure.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// An IP address and a port.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

impl Address {
    /// Returns the value of a request's `Host` header: a unix socket has no name, `localhost` stands for it.
    pub fn host(&self) -> String {
        match self {
            Self::Tcp(address) => address.to_string(),
            Self::Unix(_) => "localhost".to_owned(),
        }
    }

    /// Returns whether a socket that listens here takes connections to the wanted address.
    pub fn takes(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (Self::Tcp(own), Self::Tcp(wanted)) => {
                own.port() == wanted.port() && takes_ip(own.ip(), wanted.ip())
            }
            (Self::Unix(own), Self::Unix(wanted)) => own == wanted,
            (Self::Tcp(_), Self::Unix(_)) | (Self::Unix(_), Self::Tcp(_)) => false,
        }
    }
}

/// A socket on all addresses of IPv6 takes connections over IPv4 as well.
fn takes_ip(own: IpAddr, wanted: IpAddr) -> bool {
    let everywhere = own.is_unspecified() && (own.is_ipv6() || wanted.is_ipv4());
    everywhere || own.to_canonical() == wanted
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(formatter),
            Self::Unix(path) => path.display().fmt(formatter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_takes_connections_to_its_own_address_or_to_all() {
        let takes = |own: &str, wanted: &str| {
            let [own, wanted] = [own, wanted].map(|text| Address::Tcp(text.parse().unwrap()));
            own.takes(&wanted)
        };
        for own in [
            "127.0.0.1:80",
            "0.0.0.0:80",
            "[::]:80",
            "[::ffff:127.0.0.1]:80",
        ] {
            assert!(takes(own, "127.0.0.1:80"), "{own}");
            assert!(!takes(own, "127.0.0.1:81"), "{own}");
        }
        assert!(takes("[::1]:80", "[::1]:80") && takes("[::]:80", "[::1]:80"));
        assert!(!takes("127.0.0.1:80", "[::1]:80") && !takes("0.0.0.0:80", "[::1]:80"));
        assert!(!takes("[::1]:80", "127.0.0.1:80"));
        let socket = |path: &str| Address::Unix(path.into());
        assert!(socket("/a").takes(&socket("/a")) && !socket("/a").takes(&socket("/b")));
        assert!(!socket("/a").takes(&Address::Tcp("127.0.0.1:80".parse().unwrap())));
    }
}

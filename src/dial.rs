//! Connections and requests for hyper: to an address of any kind, plain or encrypted, HTTP/1.1 or HTTP/2. Edge.
#![expect(
    clippy::disallowed_methods,
    reason = "opening connections is this module's work"
)]

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper::http::Result;
use rustls::ClientConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

use crate::address::Address;
use crate::matrix::{Protocol, Workload};
use crate::tls;

/// A connection of any kind.
pub(crate) trait Channel: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Channel for T {}

/// Opens a plain connection.
pub(crate) async fn connect(address: &Address) -> io::Result<Box<dyn Channel>> {
    match address {
        Address::Tcp(address) => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream))
        }
        Address::Unix(path) => Ok(Box::new(UnixStream::connect(path).await?)),
    }
}

/// Encrypts a connection that is to speak this protocol.
pub(crate) async fn secure(
    channel: Box<dyn Channel>,
    address: &Address,
    protocol: Protocol,
    config: &Arc<ClientConfig>,
) -> io::Result<Box<dyn Channel>> {
    let connector = TlsConnector::from(Arc::clone(config));
    let stream = connector
        .connect(tls::server_name(address), channel)
        .await?;
    let chosen = stream.get_ref().1.alpn_protocol();
    if tls::agreed(protocol, chosen) {
        return Ok(Box::new(stream));
    }
    let chosen = chosen.map_or("none".into(), String::from_utf8_lossy);
    let wanted = String::from_utf8_lossy(tls::alpn(protocol));
    let why = format!("the server was asked for the protocol {wanted} and chose {chosen}");
    Err(io::Error::new(io::ErrorKind::InvalidData, why))
}

/// Makes a request of a workload as its protocol has it.
pub(crate) fn request(
    workload: &Workload,
    path: &str,
    address: &Address,
) -> Result<Request<Full<Bytes>>> {
    let own = |name: &str| name.eq_ignore_ascii_case("host");
    let given = workload.headers.iter().find(|(name, _)| own(name));
    let host = given.map_or_else(|| address.host(), |(_, value)| value.clone());
    let mut request = Request::builder().method(workload.method.as_str());
    request = match (workload.manner.protocol, workload.manner.tls) {
        (Protocol::Http1, _) => request.uri(path).header("host", host),
        (Protocol::Http2, false) => request.uri(format!("http://{host}{path}")),
        (Protocol::Http2, true) => request.uri(format!("https://{host}{path}")),
    };
    for (name, value) in workload.headers.iter().filter(|(name, _)| !own(name)) {
        request = request.header(name, value);
    }
    request.body(Full::from(workload.body.clone().unwrap_or_default()))
}

//! TLS as a load needs it: whatever certificate a server shows is taken, and nothing is remembered of it. Pure.

use std::net::Ipv4Addr;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

use crate::address::Address;
use crate::matrix::Protocol;

/// Returns the settings of a client that speaks this protocol.
///
/// Every connection makes a full handshake: a resumed one would measure what the server kept of the one before.
pub(crate) fn client(protocol: Protocol) -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(AnyCertificate(Arc::clone(&provider)));
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![alpn(protocol).to_vec()];
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

/// Returns what a protocol is called in a handshake.
pub(crate) fn alpn(protocol: Protocol) -> &'static [u8] {
    match protocol {
        Protocol::Http1 => b"http/1.1",
        Protocol::Http2 => b"h2",
    }
}

/// Returns whether a server that has agreed on this speaks the protocol. One that names none speaks HTTP/1.1.
pub(crate) fn agreed(protocol: Protocol, chosen: Option<&[u8]>) -> bool {
    match chosen {
        Some(chosen) => chosen == alpn(protocol),
        None => protocol == Protocol::Http1,
    }
}

/// Returns the name that a server is asked for. A loopback address has one that certificates may hold.
pub(crate) fn server_name(address: &Address) -> ServerName<'static> {
    let ip = match address {
        Address::Tcp(address) => address.ip(),
        Address::Unix(_) => Ipv4Addr::LOCALHOST.into(),
    };
    let name = ServerName::try_from("localhost").ok();
    name.filter(|_| ip.is_loopback())
        .unwrap_or_else(|| ServerName::IpAddress(ip.into()))
}

/// Takes every certificate: it is the server's speed that is asked for, not who it is.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_must_agree_on_http_2_and_may_be_silent_on_http_1() {
        assert!(agreed(Protocol::Http2, Some(b"h2")) && !agreed(Protocol::Http2, None));
        assert!(agreed(Protocol::Http1, Some(b"http/1.1")) && agreed(Protocol::Http1, None));
        assert!(!agreed(Protocol::Http2, Some(b"http/1.1")));
        assert!(!agreed(Protocol::Http1, Some(b"h2")));
    }

    #[test]
    fn a_loopback_address_is_asked_for_by_name() {
        let name = |text: &str| {
            server_name(&Address::Tcp(text.parse().unwrap()))
                .to_str()
                .into_owned()
        };
        assert_eq!(name("127.0.0.1:80"), "localhost");
        assert_eq!(name("[::1]:80"), "localhost");
        assert_eq!(name("192.0.2.1:80"), "192.0.2.1");
        assert_eq!(
            server_name(&Address::Unix("/s".into())).to_str(),
            "localhost"
        );
    }
}

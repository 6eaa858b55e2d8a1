//! What an error of hyper means for a request. Pure.

use std::error::Error;
use std::io;

use h2::Reason;
use rustix::io::Errno;

use super::super::socket;
use crate::outcome::ErrorKind;

/// What became of a request that got no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// It was not sent, or the server says that it did nothing with it: it is to be sent on another connection.
    NotTaken,
    /// It failed.
    Kind(ErrorKind),
}

impl Failure {
    /// Returns what an error of hyper means.
    pub(super) fn of(error: &hyper::Error) -> Self {
        if error.is_canceled() || error.is_closed() {
            return Self::NotTaken;
        }
        let cause = error.source();
        if let Some(error) = cause.and_then(|cause| cause.downcast_ref::<h2::Error>()) {
            return Self::of_protocol(error);
        }
        let io = cause.and_then(|cause| cause.downcast_ref::<io::Error>());
        Self::Kind(io.map_or(ErrorKind::Malformed, kind_of))
    }

    /// Returns what an error of hyper inside an answer means.
    pub(super) fn inside(error: &hyper::Error) -> Self {
        match Self::of(error) {
            Self::NotTaken | Self::Kind(ErrorKind::Closed) => Self::Kind(ErrorKind::Short),
            Self::Kind(kind) => Self::Kind(kind),
        }
    }

    fn of_protocol(error: &h2::Error) -> Self {
        let reason = error.reason();
        let parting = error.is_go_away() && error.is_remote() && reason == Some(Reason::NO_ERROR);
        if parting || reason == Some(Reason::REFUSED_STREAM) {
            return Self::NotTaken;
        }
        match error.get_io() {
            Some(io) => Self::Kind(kind_of(io)),
            None if error.is_remote() => Self::Kind(ErrorKind::Reset),
            None => Self::Kind(ErrorKind::Malformed),
        }
    }
}

/// Returns the kind of failure that an error of a connection means.
pub(super) fn kind_of(error: &io::Error) -> ErrorKind {
    if let Some(errno) = Errno::from_io_error(error) {
        return socket::kind_of(errno);
    }
    let of_connections = [
        (io::ErrorKind::UnexpectedEof, ErrorKind::Closed),
        (io::ErrorKind::BrokenPipe, ErrorKind::Closed),
        (io::ErrorKind::ConnectionReset, ErrorKind::Reset),
        (io::ErrorKind::InvalidData, ErrorKind::Malformed),
    ];
    let found = of_connections
        .iter()
        .find(|(kind, _)| *kind == error.kind());
    found.map_or(ErrorKind::Client, |(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_other_end_does_to_a_connection_is_never_the_clients_failure() {
        for (error, kind) in [
            (Errno::CONNREFUSED.into(), ErrorKind::Refused),
            (Errno::CONNRESET.into(), ErrorKind::Reset),
            (io::ErrorKind::ConnectionReset.into(), ErrorKind::Reset),
            (io::ErrorKind::UnexpectedEof.into(), ErrorKind::Closed),
            (io::ErrorKind::BrokenPipe.into(), ErrorKind::Closed),
            (io::ErrorKind::InvalidData.into(), ErrorKind::Malformed),
            (Errno::MFILE.into(), ErrorKind::Client),
        ] {
            assert_eq!(kind_of(&error), kind, "{error}");
        }
    }

    #[test]
    fn what_a_server_says_it_has_not_done_is_not_taken() {
        let refused = h2::Error::from(Reason::REFUSED_STREAM);
        assert_eq!(Failure::of_protocol(&refused), Failure::NotTaken);
        let other = h2::Error::from(Reason::PROTOCOL_ERROR);
        let malformed = Failure::Kind(ErrorKind::Malformed);
        assert_eq!(Failure::of_protocol(&other), malformed);
    }
}

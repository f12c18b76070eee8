//! Why there is no answer, in words that can be shown to whoever chose the address.

use std::error::Error;
use std::io;

/// Why there is no answer. The texts name hosts but no addresses: what a name means inside of a network is
/// nobody's business outside.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The URL cannot be used.
    #[error("The URL cannot be used: {0}.")]
    Url(&'static str),
    /// It would go over the internet in clear.
    #[error("Requests to the internet go over https only.")]
    NotSecure,
    /// A header cannot be sent.
    #[error("The header {0} cannot be sent.")]
    Header(String),
    /// The name of the host is not known.
    #[error("The host {0} was not found.")]
    NameNotFound(String),
    /// None of the addresses of the host may be reached.
    #[error("The host {0} has no address that requests may go to.")]
    AddressNotAllowed(String),
    /// No connection.
    #[error("No connection to {host}: {why}.")]
    Connect {
        /// To which host.
        host: String,
        /// Why not.
        why: String,
    },
    /// The certificate is not trusted, or there is no common ground.
    #[error("No secure connection: {0}.")]
    Tls(String),
    /// Not everything was done in time.
    #[error("There was no complete answer in time.")]
    Timeout,
    /// What came was no HTTP, or ended too early.
    #[error("The answer was broken off or is no HTTP.")]
    Protocol,
}

impl Failure {
    /// What a failed connection was about.
    pub(crate) fn connect(host: &str, error: &io::Error) -> Failure {
        let why = match error.kind() {
            io::ErrorKind::ConnectionRefused => "refused",
            io::ErrorKind::ConnectionReset => "reset",
            io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => "unreachable",
            io::ErrorKind::TimedOut => "timed out",
            _ => "failed",
        };
        Failure::Connect { host: host.to_owned(), why: why.to_owned() }
    }

    /// Finds the reason in what hyper reports: our own, or that of TLS.
    pub(crate) fn of(error: &(dyn Error + 'static)) -> Failure {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(own) = error.downcast_ref::<Failure>() {
                return own.clone();
            }
            if let Some(tls) = error.downcast_ref::<rustls::Error>() {
                return Failure::Tls(tls.to_string());
            }
            // An io::Error does not count what it wraps among its sources.
            let inside = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            next = inside.map(|inside| inside as &(dyn Error + 'static)).or_else(|| error.source());
        }
        Failure::Protocol
    }
}

//! One connection, from its first byte: encrypted or not, HTTP/1.1 or HTTP/2.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::request_slots::RequestSlots;
use super::slots::{Slot, SlotGuard};
use super::stall::Unstalled;
use super::stop::Stop;
use super::{http1, http2, plain};
use crate::failure::chain;
use crate::tls::HTTP2;

/// What the connections of one side of the server share.
pub(super) struct SideService {
    pub(super) router: Router,
    pub(super) tls: Option<TlsAcceptor>,
    /// What answers those who speak plain HTTP where TLS is optional; elsewhere they are told to use TLS.
    pub(super) plain: Option<Arc<SideService>>,
    /// Room for requests in all connections of HTTP/2 together.
    pub(super) request_slots: Arc<RequestSlots>,
    pub(super) limits: Limits,
}

/// The other end of a connection.
#[derive(Clone)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    /// What the connection counts for among the others.
    pub(super) slot: Arc<Slot>,
}

/// How long a client may take.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// For the handshake of TLS.
    pub(super) handshake: Duration,
    /// From the first byte of a request to the end of its head.
    pub(super) head: Duration,
    /// How long an answer may wait for its client to read on.
    pub(super) stall: Duration,
    /// From the end of a request, or the beginning of the connection, to the end of the next one's head.
    pub(super) idle: Duration,
    /// How long a connection of HTTP/2 without requests may take to end once it was told to.
    pub(super) farewell: Duration,
}

/// How a connection ended. A client that went away or spoke something else is its own concern.
pub(super) type Ended = Result<(), Box<dyn Error + Send + Sync>>;

/// Serves a connection to its end, or until it has to give way to another.
pub(super) async fn serve(
    side: Arc<SideService>,
    stream: TcpStream,
    address: SocketAddr,
    held: SlotGuard,
    stop: Stop,
) {
    let peer = Peer { address, slot: held.slot().clone() };
    let served = async {
        match &side.tls {
            None => http1::serve(&side, Unstalled::new(stream, side.limits.stall), peer, stop).await,
            Some(acceptor) => encrypted(&side, acceptor, stream, peer, stop).await,
        }
    };
    let ended = tokio::select! {
        ended = served => ended,
        () = held.gives_way() => Err("it gave way to a connection of somebody who has fewer".into()),
    };
    if let Err(error) = ended {
        let error = chain(&*error);
        tracing::debug!(error, "a connection ended early: {error}");
    }
}

/// What the first bytes at a listener with TLS came to.
enum HandshakeOutcome<'a> {
    Encrypted(Box<TlsStream<Unstalled<TcpStream>>>),
    Plain(&'a SideService, TcpStream),
    Refused,
}

/// Nothing is lost when the server ends during a handshake: there is no request yet.
async fn encrypted(
    side: &SideService,
    acceptor: &TlsAcceptor,
    stream: TcpStream,
    peer: Peer,
    mut stop: Stop,
) -> Ended {
    let outcome = async {
        match (plain::is_plain(&stream).await?, &side.plain) {
            (true, Some(plain)) => Ok(HandshakeOutcome::Plain(plain, stream)),
            (true, None) => plain::refuse(stream).await.map(|()| HandshakeOutcome::Refused),
            (false, _) => {
                let stream = acceptor.accept(Unstalled::new(stream, side.limits.stall)).await?;
                Ok(HandshakeOutcome::Encrypted(Box::new(stream)))
            }
        }
    };
    let outcome: io::Result<HandshakeOutcome> = tokio::select! {
        outcome = timeout(side.limits.handshake, outcome) => outcome.map_err(|_| late())?,
        () = stop.told() => return Ok(()),
    };
    let stream = match outcome? {
        HandshakeOutcome::Encrypted(stream) => stream,
        HandshakeOutcome::Plain(side, stream) => {
            return http1::serve(side, Unstalled::new(stream, side.limits.stall), peer, stop).await;
        }
        HandshakeOutcome::Refused => return Ok(()),
    };
    // What is spoken is what the handshake agreed upon; HTTP/1.1 when nothing was said.
    match stream.get_ref().1.alpn_protocol() {
        Some(HTTP2) => http2::serve(side, stream, peer, stop).await,
        _ => http1::serve(side, stream, peer, stop).await,
    }
}

fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the TLS handshake took too long")
}

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

use super::places::Places;
use super::stall::Unstalled;
use super::stop::Stop;
use super::{http1, http2, plain};
use crate::failure::chain;
use crate::tls::HTTP2;

/// What the connections of one side of the server share.
pub(super) struct Face {
    pub(super) router: Router,
    pub(super) tls: Option<TlsAcceptor>,
    /// Room for requests in all connections of HTTP/2 together.
    pub(super) places: Arc<Places>,
    pub(super) limits: Limits,
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

/// Serves a connection to its end.
pub(super) async fn serve(face: Arc<Face>, stream: TcpStream, peer: SocketAddr, stop: Stop) {
    let ended = match &face.tls {
        None => http1::serve(&face, Unstalled::new(stream, face.limits.stall), peer, stop).await,
        Some(acceptor) => encrypted(&face, acceptor, stream, peer, stop).await,
    };
    if let Err(error) = ended {
        let error = chain(&*error);
        tracing::debug!(error, "a connection ended early: {error}");
    }
}

/// Nothing is lost when the server ends during a handshake: there is no request yet.
async fn encrypted(
    face: &Face,
    acceptor: &TlsAcceptor,
    stream: TcpStream,
    peer: SocketAddr,
    mut stop: Stop,
) -> Ended {
    let shaken = async {
        match plain::is_plain(&stream).await? {
            true => plain::refuse(stream).await.map(|()| None),
            false => acceptor.accept(Unstalled::new(stream, face.limits.stall)).await.map(Some),
        }
    };
    let stream = tokio::select! {
        shaken = timeout(face.limits.handshake, shaken) => shaken.map_err(|_| late())??,
        () = stop.told() => return Ok(()),
    };
    let Some(stream) = stream else { return Ok(()) };
    // What is spoken is what the handshake agreed upon; HTTP/1.1 when nothing was said.
    match stream.get_ref().1.alpn_protocol() {
        Some(HTTP2) => http2::serve(face, stream, peer, stop).await,
        _ => http1::serve(face, stream, peer, stop).await,
    }
}

fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the TLS handshake took too long")
}

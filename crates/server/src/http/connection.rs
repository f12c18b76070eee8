//! One connection, to its end.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpStream;

use super::http1;
use super::stall::Unstalled;
use super::stop::Stop;
use crate::failure::chain;

/// What the connections of one side of the server share.
pub(super) struct Face {
    pub(super) router: Router,
    pub(super) limits: Limits,
}

/// How long a client may take.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// From the first byte of a request to the end of its head.
    pub(super) head: Duration,
    /// How long an answer may wait for its client to read on.
    pub(super) stall: Duration,
    /// From the end of a request, or the beginning of the connection, to the end of the next one's head.
    pub(super) idle: Duration,
}

/// How a connection ended. A client that went away or spoke something else is its own concern.
pub(super) type Ended = Result<(), Box<dyn Error + Send + Sync>>;

/// Serves a connection to its end.
pub(super) async fn serve(face: Arc<Face>, stream: TcpStream, peer: SocketAddr, stop: Stop) {
    let ended = http1::serve(&face, Unstalled::new(stream, face.limits.stall), peer, stop).await;
    if let Err(error) = ended {
        let error = chain(&*error);
        tracing::debug!(error, "a connection ended early: {error}");
    }
}

//! Serving over HTTP: accepting connections, within limits, and ending without losing a request.
//!
//! Everything a client can hold open is bounded: the number of connections and of the requests in them (here),
//! the time of a TLS handshake (`http/connection.rs`), the size of a request's head (`http/http1.rs`,
//! `http/http2.rs`) and its time (`http/patience.rs`), the body and the work (in the router), the time an answer
//! waits to be read (`http/stall.rs`, and `http/streams.rs` for the windows of HTTP/2), the time a connection
//! waits for its next request, and what a client can send that is not a request (`http/frames.rs`).

mod answer;
mod connection;
mod frames;
mod http1;
mod http2;
mod patience;
mod places;
mod plain;
mod request;
mod stall;
mod stop;
mod streams;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use connection::{Face, Limits};
use places::Places;
use stop::Stops;
pub(crate) use stop::{StopSignal, stop_signal};

/// Connections at most, of both APIs together. One costs some 10 KB while idle, so this is some 100 MB, and a few
/// times as much with TLS and HTTP/2.
const CONNECTIONS: usize = 10_000;
/// What clients may take, each step of a connection.
const LIMITS: Limits = Limits {
    handshake: Duration::from_secs(10),
    head: Duration::from_secs(10),
    stall: Duration::from_secs(30),
    // Longer than the minute that load balancers keep theirs, because the side that closes first can lose a
    // request that is on its way.
    idle: Duration::from_secs(75),
    farewell: Duration::from_secs(5),
};
/// How long running requests get to finish after a signal; less than the 30 s that orchestrators give.
const GRACE: Duration = Duration::from_secs(25);
/// How long to wait when the system has no file descriptor or memory for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// One side of the server before it serves: where it listens, what answers there, and its TLS if it has one.
pub(crate) struct Side {
    pub(crate) listener: TcpListener,
    pub(crate) router: Router,
    pub(crate) tls: Option<TlsAcceptor>,
}

/// A side that serves. Its connections are limited apart from those of the other side, so that browsers cannot
/// keep backends out.
struct Door {
    listener: TcpListener,
    face: Arc<Face>,
    slots: Arc<Semaphore>,
}

impl Door {
    fn open(name: &str, side: Side, limit: usize) -> Door {
        let Side { listener, router, tls } = side;
        if let Ok(address) = listener.local_addr() {
            let tls = tls.is_some();
            tracing::info!(%address, connections = limit, tls, "the {name} listens on {address}");
        }
        // A connection of HTTP/1.1 has one request at a time; as many have room in all those of HTTP/2 together.
        let places = Places::new(limit);
        let face = Arc::new(Face { router, tls, places: Arc::new(places), limits: LIMITS });
        Door { listener, face, slots: Arc::new(Semaphore::new(limit)) }
    }
}

/// Serves both APIs until a signal, then finishes what is running.
pub(crate) async fn serve(backend: Side, frontend: Side, mut stop: StopSignal) {
    let limit = connection_limit() / 2;
    let backend = Door::open("Backend API", backend, limit);
    let frontend = Door::open("Frontend API", frontend, limit);
    let stops = Stops::default();
    let name = loop {
        let (door, accepted) = tokio::select! {
            accepted = accept(&backend.listener, &backend.slots) => (&backend, accepted),
            accepted = accept(&frontend.listener, &frontend.slots) => (&frontend, accepted),
            name = stop.next() => break name,
        };
        let (stream, peer, slot) = accepted;
        let connection = connection::serve(door.face.clone(), stream, peer, stops.watch());
        tokio::spawn(async move {
            let _slot = slot;
            connection.await;
        });
    };
    drop((backend.listener, frontend.listener));
    finish(stops, name, stop).await;
}

async fn finish(stops: Stops, name: &str, mut stop: StopSignal) {
    let open = stops.count();
    let grace = GRACE.as_secs();
    tracing::info!(
        connections = open,
        "{name}: no longer listening; finishing {open} connections within {grace} s"
    );
    let mut done = pin!(timeout(GRACE, stops.all()));
    tokio::select! {
        finished = &mut done => match finished {
            Ok(()) => tracing::info!("all requests are finished; stopping"),
            Err(_) => tracing::warn!("some requests did not finish within {grace} s and are cut off; stopping"),
        },
        name = stop.next() => tracing::warn!("{name} again: stopping at once"),
    }
}

/// The next connection, once there is room for one. Failing to accept one is never the end.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed; without a permit the connection is merely not counted.
    let slot = slots.clone().acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Answers are written whole: waiting for more to send only delays them.
                let _ = stream.set_nodelay(true);
                return (stream, peer, slot);
            }
            Err(error) => {
                tracing::error!(%error, "a connection cannot be accepted: {error}");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// At most three quarters of the files this process may have open, so that the database can always open
/// its own.
fn connection_limit() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let files =
        line.and_then(|line| line.split_whitespace().next()).and_then(|soft| soft.parse::<usize>().ok());
    files.map_or(CONNECTIONS, |files| CONNECTIONS.min(files / 4 * 3))
}

//! Serving over HTTP: accepting connections, within limits, and ending without losing a request.
//!
//! Everything a client can hold open is bounded: the number of connections (`http/slots.rs`) and of the requests in
//! them (`http/request_slots.rs`), both in sum and by the network they come from,
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
mod plain;
mod request;
mod request_slots;
mod slots;
mod stall;
mod stop;
mod streams;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use connection::{Limits, SideService};
use futures_util::future::join_all;
use latchkey_kernel::cx::Encrypted;
use request_slots::RequestSlots;
use slots::Slots;
use stop::Stops;
pub(crate) use stop::{StopSignal, stop_signal};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::tls::Tls;

/// Connections at most, of all listeners together. One costs some 10 KB while idle, so this is some 100 MB, and a few
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
/// Connections that wait to be accepted: what arrives at once when somebody opens thousands. The next one would be
/// lost, and its client would try again after a second. The system allows for as many unless it is told otherwise.
const BACKLOG: u32 = 4096;
/// How long to wait when the system has no file descriptor or memory for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// One side of the server before it serves: where it listens, what answers there, and its TLS if it has one.
pub(crate) struct Side {
    pub(crate) name: &'static str,
    pub(crate) listener: TcpListener,
    pub(crate) router: Router,
    pub(crate) tls: Option<TlsAcceptor>,
    /// Whether clients of a side with TLS may speak plain HTTP as well.
    pub(crate) is_tls_optional: bool,
    /// Connections at most, where it is for few; otherwise half of all there can be.
    pub(crate) few: Option<usize>,
}

impl Side {
    pub(crate) fn new(name: &'static str, listener: TcpListener, router: Router, tls: Option<Tls>) -> Side {
        let is_tls_optional = tls.as_ref().is_some_and(|tls| tls.is_optional);
        Side { name, listener, router, tls: tls.map(|tls| tls.acceptor), is_tls_optional, few: None }
    }
}

/// A side that serves. Its connections are limited apart from those of the other sides, so that browsers cannot
/// keep backends out.
struct Door {
    listener: TcpListener,
    side: Arc<SideService>,
    slots: Arc<Slots>,
}

impl Door {
    fn open(side: Side, limit: usize, trusted_proxies: &[IpAddr]) -> Door {
        let Side { name, listener, router, tls, is_tls_optional, few } = side;
        let limit = few.map_or(limit, |few| few.min(limit));
        if let Ok(address) = listener.local_addr() {
            let tls = tls.is_some();
            tracing::info!(%address, connections = limit, tls, "the {name} listens on {address}");
        }
        // A connection of HTTP/1.1 has one request at a time; as many have room in all those of HTTP/2 together.
        let request_slots = Arc::new(RequestSlots::new(limit));
        let service = |router, tls, plain| {
            let request_slots = request_slots.clone();
            Arc::new(SideService { router, tls, plain, request_slots, limits: LIMITS })
        };
        let plain = is_tls_optional.then(|| service(router.clone(), None, None));
        let router = if tls.is_some() { router.layer(Extension(Encrypted)) } else { router };
        let side = service(router, tls, plain);
        Door { listener, side, slots: Arc::new(Slots::new(limit, trusted_proxies)) }
    }

    /// Serves every connection that there is room for, and closes the others at once: waiting for room would make
    /// everybody wait behind those who hold it.
    async fn serve(&self, stops: &Stops) {
        loop {
            let (stream, peer) = accept(&self.listener).await;
            let Some(held) = self.slots.take(peer.ip()) else {
                tracing::debug!("a connection is refused: its network has its share, or everybody is busy");
                continue;
            };
            tokio::spawn(connection::serve(self.side.clone(), stream, peer, held, stops.watch()));
        }
    }
}

/// Listens at an address.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A server that starts again need not wait for the connections of the one before.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves all sides until a signal, then finishes what is running.
pub(crate) async fn serve(sides: Vec<Side>, trusted_proxies: &[IpAddr], mut stop: StopSignal) {
    let limit = connection_limit() / 2;
    let doors: Vec<Door> = sides.into_iter().map(|side| Door::open(side, limit, trusted_proxies)).collect();
    let stops = Stops::default();
    let name = tokio::select! {
        name = stop.next() => name,
        _ = join_all(doors.iter().map(|door| door.serve(&stops))) => "no listener",
    };
    drop(doors);
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

/// The next connection. Failing to accept one is never the end.
async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Answers are written whole: waiting for more to send only delays them.
                let _ = stream.set_nodelay(true);
                return (stream, peer);
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

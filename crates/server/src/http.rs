//! Serving over HTTP/1.1: accepting connections, within limits, and ending without losing a request.
//!
//! Everything a client can hold open is bounded: the number of connections, the size and the time of a
//! request's head (here), the body and the work (in the router), the time a response waits to be read
//! and an idle connection waits for its next request (`http/patience.rs`).

mod patience;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tower::Service;

use crate::failure::Failure;
use patience::{Limits, Patient, Progress};

/// Connections at most, of both APIs together. One costs some 10 KB while idle, so this is some 100 MB.
const CONNECTIONS: usize = 10_000;
/// Largest head of a request: room for long tokens, and no more.
const HEAD_BYTES: usize = 32 * 1024;
/// How long a client may take to send a head, once it has begun, and to read on in an answer.
const LIMITS: Limits = Limits { head: Duration::from_secs(10), stall: Duration::from_secs(30) };
/// How long an idle connection is kept: longer than the minute that load balancers keep theirs, because
/// the side that closes first can lose a request that is on its way.
const IDLE: Duration = Duration::from_secs(75);
/// How long running requests get to finish after a signal; less than the 30 s that orchestrators give.
const GRACE: Duration = Duration::from_secs(25);
/// How long to wait when the system has no file descriptor or memory for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// The signals that end the server.
pub(crate) struct StopSignal {
    terminate: Signal,
    interrupt: Signal,
}

/// Catches SIGTERM and SIGINT from now on.
pub(crate) fn stop_signal() -> Result<StopSignal, Failure> {
    let catch = |kind| {
        signal(kind).map_err(|error| {
            Failure::new(
                format!("Signals cannot be caught: {error}."),
                "Raise the limit of open files (ulimit -n).",
            )
        })
    };
    Ok(StopSignal { terminate: catch(SignalKind::terminate())?, interrupt: catch(SignalKind::interrupt())? })
}

impl StopSignal {
    /// The name of the next signal.
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// One side of the server: where it listens, and what answers there. Its connections are limited apart
/// from those of the other side, so that browsers cannot keep backends out.
struct Face {
    listener: TcpListener,
    router: Router,
    slots: Arc<Semaphore>,
}

impl Face {
    fn new(name: &str, listener: TcpListener, router: Router, limit: usize) -> Face {
        if let Ok(address) = listener.local_addr() {
            tracing::info!(%address, connections = limit, "the {name} listens on {address}");
        }
        Face { listener, router, slots: Arc::new(Semaphore::new(limit)) }
    }
}

/// Serves both APIs until a signal, then finishes what is running.
pub(crate) async fn serve(
    backend: (TcpListener, Router),
    frontend: (TcpListener, Router),
    mut stop: StopSignal,
) {
    let limit = connection_limit() / 2;
    let backend = Face::new("Backend API", backend.0, backend.1, limit);
    let frontend = Face::new("Frontend API", frontend.0, frontend.1, limit);
    let connections = GracefulShutdown::new();
    let builder = builder(IDLE);
    let name = loop {
        let (face, accepted) = tokio::select! {
            accepted = accept(&backend.listener, &backend.slots) => (&backend, accepted),
            accepted = accept(&frontend.listener, &frontend.slots) => (&frontend, accepted),
            name = stop.next() => break name,
        };
        let (stream, peer, slot) = accepted;
        let progress = Progress::default();
        let service = service(face.router.clone(), peer, progress.clone());
        let connection = builder.serve_connection(Patient::new(stream, progress, LIMITS), service);
        let connection = connections.watch(connection);
        tokio::spawn(async move {
            let _slot = slot;
            // A client that went away or spoke something else is its own concern.
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early: {error}");
            }
        });
    };
    drop((backend.listener, frontend.listener));
    finish(connections, name, stop).await;
}

async fn finish(connections: GracefulShutdown, name: &str, mut stop: StopSignal) {
    let open = connections.count();
    let grace = GRACE.as_secs();
    tracing::info!(
        connections = open,
        "{name}: no longer listening; finishing {open} connections within {grace} s"
    );
    let mut done = pin!(timeout(GRACE, connections.shutdown()));
    tokio::select! {
        finished = &mut done => match finished {
            Ok(()) => tracing::info!("all requests are finished; stopping"),
            Err(_) => tracing::warn!("some requests did not finish within {grace} s and are cut off; stopping"),
        },
        name = stop.next() => tracing::warn!("{name} again: stopping at once"),
    }
}

fn builder(idle: Duration) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        // hyper counts the idle time before a request into this; `Patient` limits the head itself.
        .header_read_timeout(idle)
        .max_buf_size(HEAD_BYTES);
    builder
}

type Answer = Result<Response, Infallible>;

/// The router as hyper calls it, with the client's address in every request.
fn service(
    router: Router,
    peer: SocketAddr,
    progress: Progress,
) -> impl hyper::service::Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send> {
    service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        let mut router = router.clone();
        let progress = progress.clone();
        progress.begin();
        async move {
            let answer: Answer = router.call(request).await;
            progress.end();
            answer
        }
    })
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

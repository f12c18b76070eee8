//! Where events arrive: takes every POST, counts it and answers 200. It runs as a process of its own
//! (`latchkey-bench receive`), as an application would. `GET /wait?for=N` answers once N have come, and
//! `GET /last` with the body of the last one.

use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::serve::ListenerExt;
use bytes::Bytes;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::Result;
use crate::http::Connection;
use crate::server::{free_address, wait_for_port};

/// The running receiver; it ends with this value.
pub(crate) struct Receiver {
    child: Child,
    pub(crate) address: SocketAddr,
    /// Where the bench asks what has come.
    questions: Connection,
}

impl Receiver {
    pub(crate) async fn start() -> Result<Receiver> {
        let address = free_address()?;
        let child = Command::new(std::env::current_exe()?)
            .args(["receive", "--listen", &address.to_string()])
            .stdin(Stdio::null())
            .spawn()?;
        wait_for_port(address).await?;
        Ok(Receiver { child, address, questions: Connection::open(address).await? })
    }

    /// How many have come so far.
    pub(crate) async fn count(&mut self) -> Result<u64> {
        self.wait(0).await
    }

    /// Waits until so many have come since the start, and says how many there are.
    pub(crate) async fn wait(&mut self, wanted: u64) -> Result<u64> {
        let body = self.ask(&format!("/wait?for={wanted}")).await?;
        Ok(std::str::from_utf8(&body)?.parse()?)
    }

    /// The body of the last one.
    pub(crate) async fn last(&mut self) -> Result<Vec<u8>> {
        self.ask("/last").await
    }

    async fn ask(&mut self, path: &str) -> Result<Vec<u8>> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        let reply = self.questions.exchange(request.as_bytes()).await?;
        if reply.ok() { Ok(reply.body.to_vec()) } else { Err(reply.describe().into()) }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // Already gone is as good as killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What has come.
#[derive(Clone)]
struct Arrived {
    count: Arc<watch::Sender<u64>>,
    last: Arc<Mutex<Bytes>>,
}

/// The process itself: serves until killed.
pub(crate) async fn serve(listen: SocketAddr) -> Result<()> {
    let arrived = Arrived { count: Arc::new(watch::Sender::new(0)), last: Arc::default() };
    let listener = TcpListener::bind(listen).await?.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let router = Router::new().route("/wait", get(wait)).route("/last", get(last)).fallback(take);
    axum::serve(listener, router.with_state(arrived)).await?;
    Ok(())
}

async fn take(State(arrived): State<Arrived>, body: Bytes) -> StatusCode {
    *arrived.last.lock().unwrap_or_else(PoisonError::into_inner) = body;
    arrived.count.send_modify(|count| *count += 1);
    StatusCode::OK
}

async fn wait(State(arrived): State<Arrived>, RawQuery(query): RawQuery) -> String {
    let wanted = query.as_deref().and_then(|query| query.strip_prefix("for=")?.parse().ok()).unwrap_or(0);
    let mut count = arrived.count.subscribe();
    let reached = count.wait_for(|count| *count >= wanted).await.map_or(0, |count| *count);
    reached.to_string()
}

async fn last(State(arrived): State<Arrived>) -> Bytes {
    arrived.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

//! A connection that speaks HTTP/1.1.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::yield_now;
use tokio::time::Instant;
use tower::Service;

use super::answer::Answer;
use super::connection::{Ended, Peer, SideService};
use super::patience::{Heads, Patient};
use super::slots;
use super::stop::Stop;

/// Largest head of a request: room for long tokens, and no more.
pub(super) const HEAD_BYTES: usize = 32 * 1024;

/// From how long on others that wait for the thread have their turn before the next request of the same connection.
const LONG_WORK: Duration = Duration::from_micros(300);

/// Serves a connection to its end.
pub(super) async fn serve<S>(side: &SideService, stream: S, peer: Peer, mut stop: Stop) -> Ended
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let progress = Progress::default();
    let stream = Patient::new(stream, Http1Heads::new(progress.clone()), side.limits.head);
    let service = service(side.router.clone(), peer, progress);
    let connection = builder(side.limits.idle).serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return Ok(ended?),
        () = stop.told() => connection.as_mut().graceful_shutdown(),
    }
    Ok(connection.await?)
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

/// The router as hyper calls it, with the client's address in every request. A request is under way until its answer was
/// sent, not only until it was made.
fn service(
    router: Router,
    peer: Peer,
    progress: Progress,
) -> impl hyper::service::Service<
    Request<Incoming>,
    Response = Response<Answer<slots::Request>>,
    Error = Infallible,
    Future: Send,
> {
    service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer.address));
        let mut router = router.clone();
        let progress = progress.clone();
        progress.begin();
        let under_way = peer.slot.request();
        async move {
            let began = Instant::now();
            let answer: Result<_, Infallible> = router.call(request).await;
            progress.end();
            if began.elapsed() >= LONG_WORK {
                // The next request of the connection may be there already: others have their turn before it.
                yield_now().await;
            }
            answer.map(|answer| answer.map(|body| Answer::new(body, Arc::new(under_way))))
        }
    })
}

/// How far a connection's requests are: odd while one is handled, even between them. Shared between a
/// connection and its service, which run on one task.
#[derive(Clone, Default)]
struct Progress(Arc<AtomicUsize>);

impl Progress {
    /// A request's head is complete.
    fn begin(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    /// Its answer is there.
    fn end(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    fn count(&self) -> usize {
        self.0.load(Relaxed)
    }
}

/// A head begins with bytes that arrive between two requests, and ends when the service is called.
struct Http1Heads {
    progress: Progress,
    /// Where the requests were when bytes arrived between two of them.
    begun_at: Option<usize>,
}

impl Http1Heads {
    fn new(progress: Progress) -> Http1Heads {
        Http1Heads { progress, begun_at: None }
    }
}

impl Heads for Http1Heads {
    fn arrived(&mut self, _: &[u8]) -> io::Result<()> {
        let count = self.progress.count();
        if count.is_multiple_of(2) {
            self.begun_at = Some(count);
        }
        Ok(())
    }

    fn begun(&mut self) -> Option<usize> {
        self.begun_at = self.begun_at.filter(|count| *count == self.progress.count());
        self.begun_at
    }
}

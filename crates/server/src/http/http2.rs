//! A connection that speaks HTTP/2: many requests at once, each a stream.
//!
//! What hyper and `h2` bound: the number of streams, the size of heads (and so the CONTINUATION frames of one,
//! CVE-2024-27316), how much of bodies is taken in and of answers is queued, empty frames of data, and streams
//! that were reset before they were looked at (CVE-2023-44487). What they leave open is bounded by `frames.rs`
//! (heads that never end, floods of what is no request) and `streams.rs` (windows kept shut, idling).

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::header::RETRY_AFTER;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{MissedTickBehavior, interval};
use tower::Service;

use super::answer::Answer;
use super::connection::{Ended, Peer, SideService};
use super::frames::Frames;
use super::http1::HEAD_BYTES;
use super::patience::Patient;
use super::request;
use super::request_slots::RequestSlots;
use super::stop::Stop;
use super::streams::{Stream, Streams};

/// Requests at once in one connection. Clients expect to be allowed a hundred (RFC 9113, 6.5.2).
pub(super) const STREAMS: u32 = 100;
/// How much of a request's body is taken in before it is read; and of all bodies of a connection.
const STREAM_WINDOW: u32 = 128 * 1024;
const CONNECTION_WINDOW: u32 = 256 * 1024;
/// How much of one answer is queued beyond what its client has room for.
const SEND_BUFFER: usize = 64 * 1024;
/// Streams reset by the client that nobody has looked at yet. On a busy machine those can be all that a browser has
/// when its page is left; one more than that is no browser, and ends the connection with all requests in it.
pub(super) const UNSEEN_RESETS: usize = STREAMS as usize;
/// Streams the client made us reset by its errors.
const ERRORS: usize = 100;
/// How often a connection is looked at for what takes too long.
const LOOK: Duration = Duration::from_secs(5);

/// Serves a connection to its end.
pub(super) async fn serve<S>(side: &SideService, stream: S, peer: Peer, mut stop: Stop) -> Ended
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let streams = Streams::new();
    let stream = Patient::new(stream, Frames::new(), side.limits.head);
    let (router, request_slots, open) = (side.router.clone(), side.request_slots.clone(), streams.clone());
    let service = service_fn(move |request| answer(router.clone(), &request_slots, &open, &peer, request));
    let mut connection = pin!(builder().serve_connection(TokioIo::new(stream), service));
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_leaving = false;
    loop {
        let leaves = tokio::select! {
            ended = connection.as_mut() => return Ok(ended?),
            () = stop.told(), if !is_leaving => true,
            _ = looks.tick() => {
                streams.check(&side.limits)?;
                streams.idle_for() >= side.limits.idle
            }
        };
        // Says goodbye: requests that are on their way are still answered, and new ones go elsewhere.
        if leaves && !is_leaving {
            is_leaving = true;
            streams.leave();
            connection.as_mut().graceful_shutdown();
        }
    }
}

/// There are no pings to find out whether idle clients are still there: idling ends soon enough, and waking up
/// the radio of a phone for nothing costs its battery.
fn builder() -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(u32::try_from(HEAD_BYTES).unwrap_or(u32::MAX))
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER)
        .max_pending_accept_reset_streams(UNSEEN_RESETS)
        .max_local_error_reset_streams(ERRORS);
    builder
}

/// Answers one request. Those that may not be looked at get a status and nothing else, as they do from hyper.
fn answer(
    mut router: Router,
    request_slots: &Arc<RequestSlots>,
    streams: &Streams,
    peer: &Peer,
    mut request: Request<Incoming>,
) -> impl Future<Output = Result<Response<Answer<Stream>>, Infallible>> + use<> {
    let slot = request_slots.take(streams.count(), &peer.slot);
    let opened = slot.map(|slot| streams.open(slot, peer.slot.request())).ok_or_else(|| {
        let mut refusal = refusal(StatusCode::SERVICE_UNAVAILABLE);
        refusal.headers_mut().insert(RETRY_AFTER, 1.into());
        refusal
    });
    let checked =
        request::translate(&mut request).map_err(|request::Malformed| refusal(StatusCode::BAD_REQUEST));
    request.extensions_mut().insert(ConnectInfo(peer.address));
    async move {
        let stream = match (checked, opened) {
            (Ok(()), Ok(stream)) => stream,
            (Err(refusal), _) | (Ok(()), Err(refusal)) => return Ok(refusal),
        };
        let answer: Result<_, Infallible> = router.call(request).await;
        answer.map(|answer| answer.map(|body| Answer::new(body, stream)))
    }
}

fn refusal(status: StatusCode) -> Response<Answer<Stream>> {
    let mut response = Response::new(Answer::empty());
    *response.status_mut() = status;
    response
}

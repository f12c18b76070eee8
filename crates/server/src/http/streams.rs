//! What the streams of one HTTP/2 connection are doing, to see when a client holds them up.
//!
//! A client can keep its windows shut, so that nothing of an answer may be sent although the socket would take
//! it. hyper has no limit for that, and none for idling.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::answer::Answered;
use super::connection::Limits;
use super::request_slots::RequestSlot;
use super::slots::Request;

/// How many times longer than a connection a single stream may stand still: others of the connection may have
/// their turn before it, on a slow line for long.
const TURNS: u32 = 10;
/// The least a client must read of an answer, in bytes a second, once it has had that much time.
const SLOWEST: u64 = 1024;

/// The streams of a connection.
#[derive(Clone)]
pub(super) struct Streams(Arc<Mutex<State>>);

struct State {
    next: u64,
    open: BTreeMap<u64, Waiting>,
    /// When the last stream ended, or the connection began.
    idle_since: Instant,
    /// When bytes of any answer left.
    moved: Instant,
    /// When the connection was told to end.
    left: Option<Instant>,
}

/// What of an answer waits to be sent.
struct Waiting {
    pieces: usize,
    /// When it began to wait, or bytes of it left.
    since: Instant,
    /// When the first piece of it began to wait.
    began: Option<Instant>,
    /// Bytes of it that left.
    sent: u64,
}

impl Waiting {
    /// Whether so little of the answer was read that its client only holds it.
    fn is_held(&self, limits: &Limits) -> bool {
        let allowed = limits.stall * TURNS + Duration::from_secs(self.sent / SLOWEST);
        self.pieces > 0 && self.began.is_some_and(|began| began.elapsed() > allowed)
    }
}

/// A request and its answer, until the last byte of it was sent or given up.
pub(super) struct Stream {
    streams: Streams,
    number: u64,
    _slot: RequestSlot,
    _request: Request,
}

impl Streams {
    pub(super) fn new() -> Streams {
        let now = Instant::now();
        let state = State { next: 0, open: BTreeMap::new(), idle_since: now, moved: now, left: None };
        Streams(Arc::new(Mutex::new(state)))
    }

    /// A request begins. Its slot is given back when its answer is gone.
    pub(super) fn open(&self, slot: RequestSlot, request: Request) -> Arc<Stream> {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.open.insert(number, Waiting { pieces: 0, since: Instant::now(), began: None, sent: 0 });
        drop(state);
        Arc::new(Stream { streams: self.clone(), number, _slot: slot, _request: request })
    }

    /// How many requests there are.
    pub(super) fn count(&self) -> usize {
        self.state().open.len()
    }

    /// How long there has been no request.
    pub(super) fn idle_for(&self) -> Duration {
        let state = self.state();
        if state.open.is_empty() { state.idle_since.elapsed() } else { Duration::ZERO }
    }

    /// The connection was told to end.
    pub(super) fn leave(&self) {
        self.state().left.get_or_insert_with(Instant::now);
    }

    /// Fails when the client does not read its answers, or was told to leave, has nothing to do and stays.
    pub(super) fn check(&self, limits: &Limits) -> io::Result<()> {
        let late = |what: &str| Err(io::Error::new(io::ErrorKind::TimedOut, what));
        let state = self.state();
        let oldest = state.open.values().filter(|stream| stream.pieces > 0).map(|stream| stream.since).min();
        if let Some(oldest) = oldest {
            let stands_still = oldest.max(state.moved).elapsed() > limits.stall;
            if stands_still || oldest.elapsed() > limits.stall * TURNS {
                return late("the client does not read its answer");
            }
        }
        if state.open.values().any(|stream| stream.is_held(limits)) {
            return late("the client reads its answer too slowly");
        }
        let had_time = state.left.is_some_and(|left| left.max(state.idle_since).elapsed() > limits.farewell);
        if had_time && state.open.is_empty() {
            return late("the client does not leave");
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answered for Stream {
    fn waits(&self) {
        let now = Instant::now();
        self.change(|waiting| {
            if waiting.pieces == 0 {
                waiting.since = now;
            }
            waiting.began.get_or_insert(now);
            waiting.pieces += 1;
        });
    }

    fn moves(&self, bytes: usize) {
        let now = Instant::now();
        self.change(|waiting| {
            waiting.since = now;
            waiting.sent = waiting.sent.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        });
        self.streams.state().moved = now;
    }

    fn waits_no_more(&self) {
        self.change(|waiting| waiting.pieces = waiting.pieces.saturating_sub(1));
    }
}

impl Stream {
    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        if let Some(waiting) = self.streams.state().open.get_mut(&self.number) {
            change(waiting);
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut state = self.streams.state();
        state.open.remove(&self.number);
        state.idle_since = Instant::now();
    }
}

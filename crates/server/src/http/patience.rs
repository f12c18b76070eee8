//! A connection whose client may not dawdle.
//!
//! hyper has one limit for reading: from the end of a request to the end of the next one's head. That
//! must be long, because an idle connection is worth keeping, and then a client that sends its head
//! letter by letter has as long. And it has no limit for writing: a client that never reads its answer
//! holds it in memory for ever. Both limits are kept here.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// How long a client may take.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// From the first byte of a request to the end of its head.
    pub(super) head: Duration,
    /// How long an answer may wait for its client to read on.
    pub(super) stall: Duration,
}

/// How far a connection's requests are: odd while one is handled, even between them. Shared between a
/// connection and its service, which run on one task.
#[derive(Clone, Default)]
pub(super) struct Progress(Arc<AtomicUsize>);

impl Progress {
    /// A request's head is complete.
    pub(super) fn begin(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    /// Its answer is there.
    pub(super) fn end(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    fn count(&self) -> usize {
        self.0.load(Relaxed)
    }
}

/// A connection with time limits.
pub(super) struct Patient {
    stream: TokioIo<TcpStream>,
    progress: Progress,
    limits: Limits,
    /// Where the requests were when bytes arrived between two of them: a head has begun.
    head_begun_at: Option<usize>,
    head: Option<Pin<Box<Sleep>>>,
    stall: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    /// Limits `stream`, whose service reports to `progress`.
    pub(super) fn new(stream: TcpStream, progress: Progress, limits: Limits) -> Patient {
        Patient {
            stream: TokioIo::new(stream),
            progress,
            limits,
            head_begun_at: None,
            head: None,
            stall: None,
        }
    }

    /// Bytes arrived.
    fn has_read(&mut self) {
        let count = self.progress.count();
        if count.is_multiple_of(2) && self.head_begun_at != Some(count) {
            self.head_begun_at = Some(count);
            self.head = None;
        }
    }

    /// No bytes are there: fails once a head that has begun takes too long.
    fn waits_to_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.head_begun_at != Some(self.progress.count()) {
            self.head_begun_at = None;
            self.head = None;
            return Poll::Pending;
        }
        // Made only now, because nearly every head arrives in one piece.
        let Limits { head, .. } = self.limits;
        let limit = self.head.get_or_insert_with(|| Box::pin(sleep(head)));
        ready!(limit.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the head of a request took too long")))
    }

    /// Passes an outcome of writing on; fails once nothing could be written for too long.
    fn has_written<T>(&mut self, cx: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.stall = None;
            return outcome;
        }
        let Limits { stall, .. } = self.limits;
        let limit = self.stall.get_or_insert_with(|| Box::pin(sleep(stall)));
        ready!(limit.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read its answer")))
    }
}

impl Read for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_read(cx, buffer) {
            Poll::Ready(outcome) => {
                self.has_read();
                Poll::Ready(outcome)
            }
            Poll::Pending => self.waits_to_read(cx),
        }
    }
}

impl Write for Patient {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.has_written(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.has_written(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

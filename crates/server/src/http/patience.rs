//! A connection whose client may not dawdle with the heads of its requests.
//!
//! hyper has one limit for reading HTTP/1.1: from the end of a request to the end of the next one's head. That
//! must be long, because an idle connection is worth keeping, and then a client that sends its head letter by
//! letter has as long. For HTTP/2 it has none. So the limit is kept here; what a head is, the protocol knows.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Where the heads of requests begin and end, by the bytes that arrive.
pub(super) trait Heads: Unpin {
    /// These bytes arrived. An error ends the connection.
    fn arrived(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// So many bytes were sent.
    fn sent(&mut self, _bytes: usize) {}

    /// A head that has begun and is not complete: a number that no other head of this connection has.
    fn begun(&mut self) -> Option<usize>;
}

/// A connection with a time limit for heads.
pub(super) struct Patient<S, H> {
    stream: S,
    heads: H,
    limit: Duration,
    /// The head that is waited for, and until when.
    waiting: Option<(usize, Pin<Box<Sleep>>)>,
}

impl<S, H: Heads> Patient<S, H> {
    pub(super) fn new(stream: S, heads: H, limit: Duration) -> Patient<S, H> {
        Patient { stream, heads, limit, waiting: None }
    }

    /// No bytes are there: fails once a head that has begun takes too long.
    fn waits(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(head) = self.heads.begun() else {
            self.waiting = None;
            return Poll::Pending;
        };
        // Made only now, because nearly every head arrives in one piece.
        let limit = self.limit;
        let (_, until) = match self.waiting.take() {
            Some((known, until)) if known == head => self.waiting.insert((known, until)),
            _ => self.waiting.insert((head, Box::pin(sleep(limit)))),
        };
        ready!(until.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the head of a request took too long")))
    }
}

impl<S: AsyncRead + Unpin, H: Heads> AsyncRead for Patient<S, H> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(cx, buffer) {
            Poll::Ready(Ok(())) => Poll::Ready(self.heads.arrived(&buffer.filled()[before..])),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => self.waits(cx),
        }
    }
}

impl<S: AsyncWrite + Unpin, H: Heads> AsyncWrite for Patient<S, H> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let sent = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        self.heads.sent(sent);
        Poll::Ready(Ok(sent))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, pieces))?;
        self.heads.sent(sent);
        Poll::Ready(Ok(sent))
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

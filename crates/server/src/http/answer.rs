//! An answer that tells when its bytes really leave.
//!
//! hyper and `h2` take an answer at once and keep it until its client has room for it, so the end of a body says nothing.
//! Each piece of it is therefore a buffer of our own: it tells its request when bytes are taken from it, and when it is
//! dropped, sent or given up. The request has ended when its answer and all pieces of it are dropped.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use hyper::body::{Body as HttpBody, Buf, Bytes, Frame, SizeHint};

/// A request whose answer is being sent.
pub(super) trait Answered {
    /// A piece of the answer waits to be sent.
    fn waits(&self) {}

    /// Bytes of it are sent.
    fn moves(&self, _bytes: usize) {}

    /// A piece was sent or given up.
    fn waits_no_more(&self) {}
}

/// The body of an answer, and the request it belongs to; nothing when there is nothing to send.
pub(super) struct Answer<R>(Option<(Body, Arc<R>)>);

impl<R: Answered> Answer<R> {
    pub(super) fn new(body: Body, request: Arc<R>) -> Answer<R> {
        Answer(Some((body, request)))
    }

    pub(super) fn empty() -> Answer<R> {
        Answer(None)
    }
}

impl<R: Answered> HttpBody for Answer<R> {
    type Data = Piece<R>;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece<R>>, axum::Error>>> {
        let Some((body, request)) = &mut self.0 else { return Poll::Ready(None) };
        let frame = Pin::new(body).poll_frame(cx);
        frame.map_ok(|frame| frame.map_data(|bytes| Piece::new(bytes, request.clone())))
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(|(body, _)| body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or_else(|| SizeHint::with_exact(0), |(body, _)| body.size_hint())
    }
}

/// A piece of an answer on its way.
pub(super) struct Piece<R: Answered> {
    bytes: Bytes,
    request: Arc<R>,
}

impl<R: Answered> Piece<R> {
    fn new(bytes: Bytes, request: Arc<R>) -> Piece<R> {
        request.waits();
        Piece { bytes, request }
    }
}

impl<R: Answered> Buf for Piece<R> {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        self.request.moves(count);
    }
}

impl<R: Answered> Drop for Piece<R> {
    fn drop(&mut self) {
        self.request.waits_no_more();
    }
}

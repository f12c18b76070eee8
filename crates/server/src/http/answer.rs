//! An answer over HTTP/2, which tells when its bytes really leave.
//!
//! `h2` takes an answer at once and keeps it until its client has room for it, so the end of a body says nothing.
//! Each piece of it is therefore a buffer of our own: it tells its stream when bytes are taken from it, and
//! when it is dropped, sent or given up.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use hyper::body::{Body as HttpBody, Buf, Bytes, Frame, SizeHint};

use super::streams::Stream;

/// The body of an answer, and the stream it belongs to; nothing when there is nothing to send.
pub(super) struct Answer(Option<(Body, Arc<Stream>)>);

impl Answer {
    pub(super) fn new(body: Body, stream: Arc<Stream>) -> Answer {
        Answer(Some((body, stream)))
    }

    pub(super) fn empty() -> Answer {
        Answer(None)
    }
}

impl HttpBody for Answer {
    type Data = Piece;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, axum::Error>>> {
        let Some((body, stream)) = &mut self.0 else { return Poll::Ready(None) };
        let frame = Pin::new(body).poll_frame(cx);
        frame.map_ok(|frame| frame.map_data(|bytes| Piece::new(bytes, stream.clone())))
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(|(body, _)| body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or_else(|| SizeHint::with_exact(0), |(body, _)| body.size_hint())
    }
}

/// A piece of an answer on its way.
pub(super) struct Piece {
    bytes: Bytes,
    stream: Arc<Stream>,
}

impl Piece {
    fn new(bytes: Bytes, stream: Arc<Stream>) -> Piece {
        stream.waits();
        Piece { bytes, stream }
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        self.stream.moves(count);
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.stream.waits_no_more();
    }
}

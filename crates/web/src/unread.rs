//! Bodies nobody asked for. An answer that goes out before the request has arrived whole ends the connection,
//! and with it the next request of a client that took it for a good one. So what is left of a small body is
//! read and thrown away before the answer.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::EXPECT;
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::{BodyExt, BodyStream, StreamBody};

use crate::bodies::BodyShare;
use crate::input::JSON_MAX;
use crate::pool::NoRoom;

/// How long what is left of a body may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// More than any operation reads of a body. What is longer than that is refused for its length, and not for want of room.
const MOST_READ: usize = 24 * 1024 * 1024;

/// Where the body of a request comes back to.
#[derive(Clone, Default)]
pub(crate) struct Unread {
    body: Arc<Mutex<Option<Body>>>,
    /// The client sends it only when asked to.
    is_withheld: bool,
}

/// A body that comes back unless it was read to its end.
struct Lent {
    body: Body,
    back: Unread,
    /// Where the memory for it is counted.
    share: Option<BodyShare>,
    /// Whether nothing of it was read yet.
    is_new: bool,
    /// Whether it was read to its end. Not every body says so itself.
    is_over: bool,
}

impl Unread {
    /// Lends the body of a request to whoever handles it.
    pub(crate) fn lend(request: &mut Request, share: Option<BodyShare>) -> Unread {
        let back = Unread { is_withheld: request.headers().contains_key(EXPECT), ..Unread::default() };
        if !request.body().is_end_stream() {
            let body = std::mem::take(request.body_mut());
            *request.body_mut() =
                Body::new(Lent { body, back: back.clone(), share, is_new: true, is_over: false });
        }
        back
    }

    /// Reads what is left. Says whether the connection is good for another request.
    pub(crate) async fn finish(&self) -> bool {
        let Some(body) = self.body.lock().unwrap_or_else(PoisonError::into_inner).take() else { return true };
        if self.is_withheld {
            return false;
        }
        tokio::time::timeout(PATIENCE, drain(body)).await.unwrap_or(false)
    }
}

/// Waits until the body of a request has arrived whole, or the beginning of a large one. Who asks is looked up after
/// that: a sender who holds back the rest of a body would choose how much later than the look-up the work is done, and
/// whoever was signed out meanwhile would still have it done.
pub async fn arrived(request: Request) -> Request {
    if request.body().is_end_stream() {
        return request;
    }
    let (parts, mut body) = request.into_parts();
    let mut read = BytesMut::new();
    let rest = loop {
        match body.frame().await {
            None => break None,
            Some(Err(error)) => break Some(Body::new(StreamBody::new(stream::iter([Err(error)])))),
            Some(Ok(frame)) => read.extend_from_slice(&frame.into_data().unwrap_or_default()),
        }
        if read.len() > JSON_MAX {
            break Some(body);
        }
    };
    let read = read.freeze();
    let body = match rest {
        None => Body::from(read),
        Some(rest) => {
            let first = stream::iter([Ok(Frame::data(read))]);
            Body::new(StreamBody::new(first.chain(BodyStream::new(rest))))
        }
    };
    Request::from_parts(parts, body)
}

async fn drain(mut body: Body) -> bool {
    let mut left = JSON_MAX as u64;
    while left >= body.size_hint().lower() {
        match body.frame().await {
            None => return true,
            Some(Err(_)) => return false,
            Some(Ok(frame)) => {
                let length = frame.data_ref().map_or(0, Bytes::len) as u64;
                let Some(rest) = left.checked_sub(length) else { return false };
                left = rest;
            }
        }
    }
    false
}

impl Lent {
    /// Refuses a body at once if what is announced of it does not find room.
    fn begin(&mut self) -> Result<(), NoRoom> {
        let announced = usize::try_from(self.body.size_hint().lower()).unwrap_or(usize::MAX).min(MOST_READ);
        match &self.share {
            Some(share) if std::mem::take(&mut self.is_new) => share.expect(announced),
            _ => Ok(()),
        }
    }
}

impl http_body::Body for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.begin().is_err() {
            return Poll::Ready(Some(Err(axum::Error::new(NoRoom))));
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        self.is_over = frame.is_none();
        let length = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref().map(Bytes::len));
        match self.share.as_ref().map(|share| share.take(length.unwrap_or_default())) {
            Some(Err(NoRoom)) => Poll::Ready(Some(Err(axum::Error::new(NoRoom)))),
            _ => Poll::Ready(frame),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.is_over || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if !self.is_end_stream() {
            let body = std::mem::take(&mut self.body);
            *self.back.body.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }
}

//! Bodies nobody asked for. An answer that goes out before the request has arrived whole ends the connection,
//! and with it the next request of a client that took it for a good one. So what is left of a small body is
//! read and thrown away before the answer.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::EXPECT;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;

use crate::input::JSON_MAX;

/// How long what is left of a body may take.
const PATIENCE: Duration = Duration::from_secs(2);

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
}

impl Unread {
    /// Lends the body of a request to whoever handles it.
    pub(crate) fn lend(request: &mut Request) -> Unread {
        let back = Unread { is_withheld: request.headers().contains_key(EXPECT), ..Unread::default() };
        if !request.body().is_end_stream() {
            let body = std::mem::take(request.body_mut());
            *request.body_mut() = Body::new(Lent { body, back: back.clone() });
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

impl http_body::Body for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if !self.body.is_end_stream() {
            let body = std::mem::take(&mut self.body);
            *self.back.body.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }
}

//! Memory for answers that are not sent yet: bounded in sum, and shared out by networks.
//!
//! A client that does not read makes the server keep the answer. Small ones need no pool, because the server bounds the
//! number of requests at once. A larger one is counted until its last byte has left, or the connection has ended; for one
//! too many the client gets an error instead.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use latchkey_base::{Code, Error};

use crate::network::Network;
use crate::pool::{NoRoom, Pool, lock};

/// The largest answer that is not counted. A listener has at most 5,000 connections and 5,000 requests over HTTP/2, so
/// these are at most 160 MB.
const SMALL_ANSWER: usize = 16 * 1024;
/// What a network may have of the half that is kept for those who have little: one of the largest pictures.
const LITTLE: usize = 4 * 1024 * 1024;

/// The memory for the answers of one listener.
pub struct AnswerBudget(Mutex<Pool>);

/// What one answer has of the budget.
struct Share {
    budget: Arc<AnswerBudget>,
    network: Network,
    bytes: usize,
}

/// A body that is counted.
struct Counted {
    body: Body,
    share: Arc<Share>,
}

/// Bytes of it, which may lie in a buffer long after the body has ended.
struct Piece {
    bytes: Bytes,
    _share: Arc<Share>,
}

impl AnswerBudget {
    /// So many bytes, half of them for networks that have little.
    pub fn new(bytes: usize) -> Arc<AnswerBudget> {
        Arc::new(AnswerBudget(Mutex::new(Pool::new(bytes, bytes / 2, LITTLE))))
    }

    /// The answer with its memory counted; or an error, if there is none left for this network.
    pub(crate) fn hold(self: &Arc<Self>, answer: Response, network: Network) -> Result<Response, Error> {
        let bytes = answer.body().size_hint().lower().try_into().unwrap_or(usize::MAX);
        if bytes <= SMALL_ANSWER {
            return Ok(answer);
        }
        lock(&self.0).take(network, None, bytes).map_err(|NoRoom| refusal())?;
        let share = Arc::new(Share { budget: self.clone(), network, bytes });
        Ok(answer.map(|body| Body::new(Counted { body, share })))
    }
}

fn refusal() -> Error {
    Error::new(Code::ServiceUnavailable)
        .saying("Too many answers wait to be read. Read those that were asked for, or ask again in a moment.")
        .retry_after(1)
}

impl Drop for Share {
    fn drop(&mut self) {
        lock(&self.budget.0).give_back(self.network, None, self.bytes);
    }
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl http_body::Body for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let counted = |bytes| Bytes::from_owner(Piece { bytes, _share: self.share.clone() });
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(counted))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    const MB: usize = 1024 * 1024;

    fn network(number: u32) -> Network {
        Network::of(std::net::Ipv4Addr::from(number).into())
    }

    fn answer(bytes: usize) -> Response {
        Response::new(Body::from(vec![7; bytes]))
    }

    /// As many answers as a network gets.
    fn unread(budget: &Arc<AnswerBudget>, number: u32, bytes: usize) -> Vec<Response> {
        std::iter::from_fn(|| budget.hold(answer(bytes), network(number)).ok()).take(1000).collect()
    }

    #[test]
    fn a_network_that_does_not_read_gets_a_part_and_others_go_on() {
        let budget = AnswerBudget::new(120 * MB);
        let greedy: Vec<_> = (1..40).map(|number| unread(&budget, number, 3 * MB)).collect();
        assert_eq!(greedy[0].len(), 6);
        let patient = budget.hold(answer(3 * MB), network(100));
        assert!(patient.is_err() || lock(&budget.0).free < 60 * MB);
        assert_eq!(unread(&budget, 1, SMALL_ANSWER).len(), 1000);
        drop((greedy, patient));
        assert_eq!(lock(&budget.0).free, 120 * MB);
    }

    #[test]
    fn those_who_have_little_are_served_while_one_reads_nothing() {
        let budget = AnswerBudget::new(120 * MB);
        let _greedy = unread(&budget, 1, 3 * MB);
        let others: Vec<_> = (2..22).map(|number| budget.hold(answer(3 * MB), network(number))).collect();
        assert!(others.iter().all(Result::is_ok));
    }

    #[tokio::test]
    async fn an_answer_counts_until_its_last_byte_is_gone() {
        let budget = AnswerBudget::new(60 * MB);
        let body = budget.hold(answer(MB), network(1)).unwrap().into_body();
        assert_eq!(http_body::Body::size_hint(&body).exact(), Some(MB as u64));
        let bytes = body.collect().await.unwrap().to_bytes();
        assert_eq!((bytes.len(), bytes[0]), (MB, 7));
        let part = bytes.slice(..10);
        drop(bytes);
        assert_eq!(lock(&budget.0).free, 59 * MB);
        drop(part);
        assert_eq!(lock(&budget.0).free, 60 * MB);
    }
}

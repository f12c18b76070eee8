//! Memory for answers that are not sent yet: bounded in sum, and shared out by networks.
//!
//! A client that does not read makes the server keep the answer. Small ones need no pool, because the server bounds the
//! number of requests at once. A larger one is counted until its last byte has left, or the connection has ended. Where
//! there is no more room, a read is refused. A write is done already, so its answer goes out all the same; but a network
//! that has more than it may have begins no other.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, ETAG};
use axum::response::Response;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use latchkey_base::{Code, Error};

use crate::network::Network;
use crate::pool::{NoRoom, Pool, lock};
use crate::reply::Unwritten;

/// The largest answer that is not counted. A listener has at most 5,000 connections and 5,000 requests over HTTP/2, so
/// these are at most 160 MB.
const SMALL_ANSWER: usize = 16 * 1024;
/// What an answer counts that is written while it is sent: the pieces of it that wait.
const STREAMED: usize = 192 * 1024;
/// What a network may have of the part that is kept for those who have little: one of the largest pictures.
const LITTLE: usize = 5 * 1024 * 1024;

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
    /// So many bytes, a quarter of them for networks that have little.
    pub fn new(bytes: usize) -> Arc<AnswerBudget> {
        Arc::new(AnswerBudget(Mutex::new(Pool::new(bytes, bytes / 4, LITTLE))))
    }

    /// The answer with its memory counted; or an error in its place, if there is no room for this network.
    pub(crate) fn hold(self: &Arc<Self>, answer: Response, network: Network) -> Response {
        let bytes = size(&answer);
        // Bound to a name, so that the lock is free again before the answer is dropped.
        let taken = lock(&self.0).take(network, None, bytes);
        match taken {
            Ok(()) => self.counted(answer, network, bytes),
            Err(NoRoom) => refused(answer),
        }
    }

    /// Why a network may begin no write: answers that it does not read take more than it may have.
    pub(crate) fn refusal(&self, network: Network) -> Option<Error> {
        lock(&self.0).is_over(network).then(too_many)
    }

    /// The answer with its memory counted, whether there is room or not.
    pub(crate) fn hold_anyway(self: &Arc<Self>, answer: Response, network: Network) -> Response {
        let bytes = size(&answer);
        lock(&self.0).count(network, bytes);
        self.counted(answer, network, bytes)
    }

    fn counted(self: &Arc<Self>, answer: Response, network: Network, bytes: usize) -> Response {
        if bytes == 0 {
            return answer;
        }
        let share = Arc::new(Share { budget: self.clone(), network, bytes });
        answer.map(|body| Body::new(Counted { body, share }))
    }
}

/// What an answer counts.
fn size(answer: &Response) -> usize {
    let exact = answer.body().size_hint().exact();
    let bytes = exact.map_or(STREAMED, |bytes| bytes.try_into().unwrap_or(usize::MAX));
    if bytes <= SMALL_ANSWER { 0 } else { bytes }
}

fn too_many() -> Error {
    Error::new(Code::ServiceUnavailable)
        .saying("Too many answers wait to be read. Read those that were asked for, or ask again in a moment.")
        .retry_after(1)
}

/// An error in the place of the answer, without what caches go by. Other headers stay: cookies, for instance.
fn refused(mut answer: Response) -> Response {
    answer.headers_mut().remove(ETAG);
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer.extensions_mut().insert(Unwritten(Arc::new(too_many())));
    *answer.body_mut() = Body::empty();
    answer
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
        let held = std::iter::repeat_with(|| budget.hold(answer(bytes), network(number)));
        held.take(1000).take_while(|answer| error(answer).is_none()).collect()
    }

    fn error(answer: &Response) -> Option<u16> {
        answer.extensions().get::<Unwritten>().map(|Unwritten(error)| error.status())
    }

    #[test]
    fn a_network_that_does_not_read_gets_a_quarter_and_others_go_on() {
        let budget = AnswerBudget::new(120 * MB);
        let greedy = unread(&budget, 1, 3 * MB);
        assert_eq!(greedy.len(), 10);
        let others: Vec<_> = (2..12).map(|number| budget.hold(answer(3 * MB), network(number))).collect();
        assert!(others.iter().all(|answer| error(answer).is_none()));
        drop((greedy, others));
        assert_eq!(lock(&budget.0).free(), 120 * MB);
    }

    #[test]
    fn where_nothing_is_left_reads_are_refused_and_small_answers_and_writes_are_not() {
        let budget = AnswerBudget::new(120 * MB);
        let all: Vec<_> = (1..60).map(|number| unread(&budget, number, 3 * MB)).collect();
        assert!(lock(&budget.0).free() < 3 * MB);
        let mut cached = answer(3 * MB);
        cached.headers_mut().insert(ETAG, HeaderValue::from_static("\"1\""));
        cached.headers_mut().insert("set-cookie", HeaderValue::from_static("a=b"));
        let refused = budget.hold(cached, network(100));
        assert_eq!((error(&refused), &refused.headers()["set-cookie"]), (Some(503), &"a=b".parse().unwrap()));
        assert_eq!(refused.headers()[CACHE_CONTROL], "no-store");
        assert!(!refused.headers().contains_key(ETAG));
        assert_eq!(unread(&budget, 1, SMALL_ANSWER).len(), 1000);
        let written = budget.hold_anyway(answer(3 * MB), network(100));
        assert_eq!(http_body::Body::size_hint(written.body()).exact(), Some(3 * MB as u64));
        drop((all, written));
        assert_eq!(lock(&budget.0).free(), 120 * MB);
    }

    #[test]
    fn who_leaves_the_answers_of_writes_unread_begins_no_other() {
        let budget = AnswerBudget::new(120 * MB);
        let refusal = |number| budget.refusal(network(number)).map(|error| error.status());
        let mut unread = Vec::new();
        while refusal(1).is_none() {
            unread.push(budget.hold_anyway(answer(3 * MB), network(1)));
        }
        assert_eq!((unread.len(), refusal(1), refusal(2)), (11, Some(503), None));
        unread.pop();
        assert_eq!(refusal(1), None);
    }

    #[test]
    fn answers_of_writes_count_when_nothing_is_left() {
        let budget = AnswerBudget::new(120 * MB);
        let all: Vec<_> = (1..60).map(|number| unread(&budget, number, 3 * MB)).collect();
        let refusal = |network| budget.refusal(network).is_some();
        let written: Vec<_> = (0..2).map(|_| budget.hold_anyway(answer(3 * MB), network(100))).collect();
        assert!(refusal(network(100)) && !refusal(network(101)));
        let home = |number: u32| Network::of(format!("2001:db8:0:{number:x}::1").parse().unwrap());
        let many: Vec<_> = (0..2).map(|number| budget.hold_anyway(answer(3 * MB), home(number))).collect();
        assert!((0..3).all(|number| refusal(home(number))), "one that has nothing yet as well");
        drop((all, written, many));
        assert_eq!(lock(&budget.0).free(), 120 * MB);
    }

    #[test]
    fn the_networks_of_one_customer_leave_half_to_others() {
        let budget = AnswerBudget::new(120 * MB);
        let home = |number: u32| Network::of(format!("2001:db8:0:{number:x}::1").parse().unwrap());
        let all: Vec<_> = (0..256)
            .map(|number| budget.hold(answer(3 * MB), home(number)))
            .filter(|answer| error(answer).is_none())
            .collect();
        assert_eq!(all.len(), 20);
        assert_eq!(unread(&budget, 1, 3 * MB).len(), 3);
    }

    #[test]
    fn whatever_addresses_the_proxy_of_an_application_tells_it_leaves_half_to_others() {
        let budget = AnswerBudget::new(120 * MB);
        let told = |number: u32| network(number << 16).told_by_proxy_of("ins_1");
        let all: Vec<_> = (1..256)
            .map(|number| budget.hold(answer(3 * MB), told(number)))
            .filter(|answer| error(answer).is_none())
            .collect();
        assert_eq!(all.len(), 20);
        assert_eq!(unread(&budget, 1 << 16, 3 * MB).len(), 3);
    }

    #[test]
    fn an_answer_that_is_written_while_it_is_sent_counts_what_waits_of_it() {
        let budget = AnswerBudget::new(120 * MB);
        let pieces = futures_util::stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"a"))]);
        let held = budget.hold(Response::new(Body::from_stream(pieces)), network(1));
        assert_eq!(lock(&budget.0).free(), 120 * MB - STREAMED);
        drop(held);
        assert_eq!(lock(&budget.0).free(), 120 * MB);
    }

    #[tokio::test]
    async fn an_answer_counts_until_its_last_byte_is_gone() {
        let budget = AnswerBudget::new(60 * MB);
        let body = budget.hold(answer(MB), network(1)).into_body();
        assert_eq!(http_body::Body::size_hint(&body).exact(), Some(MB as u64));
        let bytes = body.collect().await.unwrap().to_bytes();
        assert_eq!((bytes.len(), bytes[0]), (MB, 7));
        let part = bytes.slice(..10);
        drop(bytes);
        assert_eq!(lock(&budget.0).free(), 59 * MB);
        drop(part);
        assert_eq!(lock(&budget.0).free(), 60 * MB);
    }
}

//! More events than fit into one batch: while one is on its way, the next one is read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use latchkey_testkit::{Reaction, until};

use super::*;

/// A courier that sends four events in one go.
fn small_courier(t: &TestServer) -> Courier {
    let answer_timeout = Duration::from_secs(20);
    Courier::new(
        &JobParts { answer_timeout, events_at_once: 4, ..t.jobs_with(Options::default()) },
        Arc::default(),
    )
}

/// Makes a user about whom there are ten events.
async fn eventful(t: &TestServer) -> String {
    let (ann, _) = user(t, "ann").await;
    for number in 0..9 {
        rename(t, &ann, &format!("Ann {number}")).await;
    }
    ann
}

/// The ids of the events about one subject, oldest first.
async fn line(t: &TestServer, subject: &str) -> Vec<String> {
    t.events().await.into_iter().filter(|event| event.subject == subject).map(|event| event.id).collect()
}

/// What arrived of these events, in the order of arrival.
fn arrived(receiver: &Receiver, line: &[String]) -> Vec<String> {
    receiver.ids().into_iter().filter(|id| line.contains(id)).collect()
}

/// Waits until something arrives.
async fn begun(receiver: &Receiver) {
    until(|| !receiver.arrivals().is_empty()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_batches_arrive_once_and_in_order() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let [(ann, _), (ben, _)] = [user(&t, "ann").await, user(&t, "ben").await];
    for number in 0..14 {
        rename(&t, &ann, &format!("Ann {number}")).await;
        rename(&t, &ben, &format!("Ben {number}")).await;
    }
    send(&small_courier(&t)).await;
    for subject in [ann, ben] {
        let line = line(&t, &subject).await;
        assert_eq!(line.len(), 15);
        assert_eq!(arrived(&receiver, &line), line);
        for event in &line {
            assert_eq!(standing(&t, &endpoint, event).await, ("succeeded".to_owned(), 1));
        }
    }
    assert_eq!(receiver.arrivals().len(), 30);
    let shown = t.get(&format!("/v1/webhooks/endpoints/{endpoint}")).await.ok();
    assert_eq!(shown["health"]["unread"], json!(0), "{shown}");
}

#[tokio::test]
async fn a_failure_holds_up_its_subject_in_the_batches_behind_and_nobody_else() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    endpoint(&t, &receiver).await;
    let ann = eventful(&t).await;
    let (ben, _) = user(&t, "ben").await;
    // The sixth is in the second batch, with the third one already read.
    receiver.react_next((0..5).map(|_| Reaction::status(200)));
    receiver.react_next([Reaction::status(500)]);
    let courier = small_courier(&t);
    send(&courier).await;
    let line = line(&t, &ann).await;
    assert_eq!(arrived(&receiver, &line), line[..6]);
    assert_eq!(arrived(&receiver, &self::line(&t, &ben).await).len(), 1);
    t.clock.advance_ms(6 * SECOND_MS);
    send(&courier).await;
    assert_eq!(arrived(&receiver, &line), [&line[..6], &line[5..]].concat());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_becomes_of_an_endpoint_counts_from_the_next_batch_on() {
    for (method, change, more) in [
        ("PATCH", json!({"disabled": true}), 0),
        ("PATCH", json!({"event_types": ["user.deleted"]}), 0),
        ("DELETE", json!(null), 0),
        ("PATCH", json!({"description": "As before"}), 7),
    ] {
        let t = TestServer::start().await;
        let receiver = Receiver::start().await;
        let path = format!("/v1/webhooks/endpoints/{}", endpoint(&t, &receiver).await);
        eventful(&t).await;
        receiver.react_next([Reaction::Late(Duration::from_millis(300), 200)]);
        let changes = async {
            begun(&receiver).await;
            let body = Some(change.clone()).filter(|body| !body.is_null());
            t.call(Some(&t.tenant), method, &path, body).await;
        };
        let courier = small_courier(&t);
        let (outcome, ()) = tokio::join!(courier.run_once(), changes);
        outcome.unwrap();
        send(&courier).await;
        // The first batch also has the event about the endpoint, which is in the feed only.
        assert_eq!(receiver.arrivals().len(), 3 + more, "{method} {change}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_is_withdrawn_signs_no_later_batch() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    eventful(&t).await;
    receiver.react_next([Reaction::Late(Duration::from_millis(300), 200)]);
    let old = secrets(&t, &endpoint).await;
    let rotates = async {
        begun(&receiver).await;
        let path = format!("/v1/webhooks/endpoints/{endpoint}/secret/rotate");
        t.post(&path, json!({"expire_old_in_seconds": 0})).await.ok();
    };
    let courier = small_courier(&t);
    let (outcome, ()) = tokio::join!(courier.run_once(), rotates);
    outcome.unwrap();
    let arrivals = receiver.arrivals();
    assert_eq!(arrivals.len(), 10);
    let new = secrets(&t, &endpoint).await;
    // The first batch also has the event about the endpoint, which is in the feed only.
    assert!(arrivals[..3].iter().all(|arrival| is_genuine(arrival, &old[0])));
    assert!(arrivals[3..].iter().all(|arrival| is_genuine(arrival, &new[0])));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sending_again_in_the_middle_begins_again() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let ann = eventful(&t).await;
    let (count, late) = (Arc::new(AtomicUsize::new(0)), Duration::from_millis(300));
    let counted = count.clone();
    // The fifth is the first of the second batch.
    receiver.react_by(move |_| match counted.fetch_add(1, Ordering::Relaxed) {
        4 => Reaction::Late(late, 200),
        _ => Reaction::status(200),
    });
    let replays = async {
        until(|| count.load(Ordering::Relaxed) >= 5).await;
        let path = format!("/v1/webhooks/endpoints/{endpoint}/replay");
        t.post(&path, json!({"since": 1_767_225_600_000_i64})).await.ok();
    };
    let courier = small_courier(&t);
    let (outcome, ()) = tokio::join!(courier.run_once(), replays);
    outcome.unwrap();
    send(&courier).await;
    let line = line(&t, &ann).await;
    let arrived = arrived(&receiver, &line);
    assert_eq!(arrived[arrived.len() - 10..], line, "all of it again, in its order");
}

#[tokio::test]
async fn what_waited_goes_out_in_order_once_the_first_has_arrived() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    endpoint(&t, &receiver).await;
    receiver.react_next([Reaction::status(500)]);
    let ann = eventful(&t).await;
    let line = line(&t, &ann).await;
    let courier = courier(&t);
    send(&courier).await;
    assert_eq!(arrived(&receiver, &line), line[..1]);
    receiver.take();
    t.clock.advance_ms(6 * SECOND_MS);
    send(&courier).await;
    assert_eq!(arrived(&receiver, &line), line);
    send(&courier).await;
    assert_eq!(arrived(&receiver, &line), line, "and none twice");
}

#[tokio::test]
async fn a_courier_that_is_stopped_notes_what_arrived_and_gives_the_endpoint_back() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    endpoint(&t, &receiver).await;
    receiver.react(Reaction::Late(Duration::from_millis(30), 200));
    let ann = eventful(&t).await;
    let line = line(&t, &ann).await;
    let stopped = courier(&t);
    let sending = {
        let stopped = stopped.clone();
        tokio::spawn(async move { send(&stopped).await })
    };
    begun(&receiver).await;
    stopped.stop();
    sending.await.unwrap();
    let before = arrived(&receiver, &line);
    assert!(before.len() < line.len(), "there was no time for all {}", line.len());
    // Nobody has to wait until the lease is over, and nothing is sent again.
    receiver.react(Reaction::status(200));
    send(&courier(&t)).await;
    assert_eq!(arrived(&receiver, &line), line);
}

//! Events about one user arrive in their order; nobody waits for another user's.

use std::collections::HashMap;

use latchkey_testkit::{Reaction, until, until_answered};

use super::*;

/// A receiver that refuses one event while told to.
async fn refusing(event_of: &str) -> Receiver {
    let receiver = Receiver::start().await;
    let refused = event_of.to_owned();
    receiver.react_by(move |arrival| Reaction::status(if arrival.id() == refused { 500 } else { 200 }));
    receiver
}

#[tokio::test]
async fn a_failing_event_holds_up_its_user_and_nobody_else() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let courier = courier(&t);
    let (ann, created) = user(&t, "ann").await;
    let (bob, bob_created) = user(&t, "bob").await;
    let ann_renamed = rename(&t, &ann, "Ann").await;
    let bob_renamed = rename(&t, &bob, "Bob").await;
    let refused = created.clone();
    receiver.react_by(move |arrival| Reaction::status(if arrival.id() == refused { 500 } else { 200 }));
    send(&courier).await;
    let mut arrived = receiver.ids();
    arrived.sort_by_key(|id| *id != created);
    assert_eq!(arrived, [&created, &bob_created, &bob_renamed].map(String::as_str));
    assert_eq!(standing(&t, &endpoint, &ann_renamed).await, ("pending".to_owned(), 0));
    let next_attempt = async |event: &str| delivery(&t, &endpoint, event).await["next_attempt_at"].clone();
    assert!(next_attempt(&created).await.is_number());
    assert!(next_attempt(&ann_renamed).await.is_null(), "it waits for the one before it, not for a time");
    // What happens later waits as well, in batches of its own.
    let again = rename(&t, &ann, "Anna").await;
    let bob_again = rename(&t, &bob, "Bobby").await;
    receiver.take();
    send(&courier).await;
    assert_eq!(receiver.ids(), [bob_again]);
    // It still fails: nothing else of that user is tried, and the courier does not turn in circles.
    t.clock.advance_ms(6 * SECOND_MS);
    receiver.take();
    send(&courier).await;
    assert_eq!(receiver.ids(), [created.as_str()]);
    t.clock.advance_ms(MINUTE_MS);
    send(&courier).await;
    assert_eq!(receiver.ids(), [created.as_str()], "the next try is in five minutes");
    // It succeeds, and the others follow at once, in order.
    receiver.react(Reaction::status(200));
    receiver.take();
    t.clock.advance_ms(6 * MINUTE_MS);
    send(&courier).await;
    assert_eq!(receiver.ids(), [&created, &ann_renamed, &again].map(String::as_str));
    for event in [&created, &ann_renamed, &again] {
        assert_eq!(standing(&t, &endpoint, event).await.0, "succeeded");
    }
}

/// Waits until something is known of a delivery.
async fn noted(t: &TestServer, endpoint: &str, event: &str) {
    let path = format!("/v1/webhooks/endpoints/{endpoint}/deliveries/{event}");
    until_answered(async || t.get(&path).await.status == 200).await;
}

/// Waits until an event has come.
async fn arrival_of(receiver: &Receiver, event: &str) {
    until(|| receiver.ids().iter().any(|id| id == event)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_takes_long_holds_up_its_user_and_nobody_else() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    receiver.react_next([Reaction::Late(Duration::from_secs(10), 200)]);
    let (ann, created) = user(&t, "ann").await;
    let courier = courier(&t);
    let sending = tokio::spawn(async move { send(&courier).await });
    arrival_of(&receiver, &created).await;
    let renamed = rename(&t, &ann, "Ann").await;
    let mut others = Vec::new();
    for name in ["bob", "cleo", "dan"] {
        others.push(user(&t, name).await.1);
    }
    for event in &others {
        arrival_of(&receiver, event).await;
    }
    assert_eq!(standing(&t, &endpoint, &created).await, ("pending".to_owned(), 0), "not answered yet");
    assert!(!receiver.ids().contains(&renamed), "it waits for the one before it");
    sending.await.unwrap();
    let expected = [vec![created.clone()], others, vec![renamed.clone()]].concat();
    let mut arrived = receiver.ids();
    arrived[1..4].sort_by_key(|id| expected.iter().position(|event| event == id));
    assert_eq!(arrived, expected, "each of them once");
    for event in &expected {
        assert_eq!(standing(&t, &endpoint, event).await, ("succeeded".to_owned(), 1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_never_answered_is_tried_again_though_nobody_noted_it() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    receiver.react_next([Reaction::Hang]);
    let (ann, created) = user(&t, "ann").await;
    let dying = courier(&t);
    let sending = tokio::spawn(async move { send(&dying).await });
    // Before there is another, or that one might be what is not answered.
    arrival_of(&receiver, &created).await;
    let (_, other) = user(&t, "bob").await;
    arrival_of(&receiver, &other).await;
    let renamed = rename(&t, &ann, "Ann").await;
    noted(&t, &endpoint, &renamed).await;
    // As if the node was gone with what it knew.
    sending.abort();
    assert_eq!(standing(&t, &endpoint, &created).await, ("pending".to_owned(), 0));
    receiver.take();
    let next = courier(&t);
    t.clock.advance_ms(12 * SECOND_MS);
    send(&next).await;
    assert!(receiver.ids().is_empty(), "it may still be answered");
    t.clock.advance_ms(20 * SECOND_MS);
    send(&next).await;
    assert_eq!(receiver.ids(), [created, renamed]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_sent_again_while_its_answer_takes_long_goes_out_once_more_after_it() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    receiver.react_next([Reaction::Late(Duration::from_secs(8), 500)]);
    let (ann, created) = user(&t, "ann").await;
    let sender = courier(&t);
    let sending = tokio::spawn(async move { send(&sender).await });
    arrival_of(&receiver, &created).await;
    noted(&t, &endpoint, &created).await;
    let renamed = rename(&t, &ann, "Ann").await;
    let path = format!("/v1/webhooks/endpoints/{endpoint}");
    t.post(&format!("{path}/replay"), json!({"since": 0, "only_failed": true})).await.ok();
    let one = format!("{path}/deliveries/{created}/replay");
    t.call(Some(&t.tenant), "POST", &one, None).await.ok();
    noted(&t, &endpoint, &renamed).await;
    let (_, other) = user(&t, "bob").await;
    arrival_of(&receiver, &other).await;
    assert_eq!(receiver.ids(), [created.as_str(), &other], "one at a time");
    sending.await.unwrap();
    t.clock.advance_ms(6 * SECOND_MS);
    send(&courier(&t)).await;
    assert_eq!(receiver.ids(), [&created, &other, &created, &renamed].map(String::as_str));
    for event in [&created, &renamed, &other] {
        assert_eq!(standing(&t, &endpoint, event).await.0, "succeeded");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_skipped_stays_so_whatever_a_late_answer_says() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    receiver.react_next([Reaction::Late(Duration::from_secs(6), 500)]);
    let (_, created) = user(&t, "ann").await;
    let sender = courier(&t);
    let sending = tokio::spawn(async move { send(&sender).await });
    arrival_of(&receiver, &created).await;
    noted(&t, &endpoint, &created).await;
    let path = format!("/v1/webhooks/endpoints/{endpoint}");
    t.patch(&path, json!({"skip_missed": true})).await.ok();
    sending.await.unwrap();
    t.clock.advance_ms(MINUTE_MS);
    send(&courier(&t)).await;
    assert_eq!(receiver.ids(), [created.as_str()]);
    assert_eq!(standing(&t, &endpoint, &created).await.0, "failed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_answers_than_there_are_senders_take_long_and_all_are_waited_for() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    receiver.react_next(std::iter::repeat_n(Reaction::Late(Duration::from_secs(3), 200), 20));
    let mut events = Vec::new();
    for number in 0..24 {
        events.push(user(&t, &format!("user{number}")).await.1);
    }
    send(&courier(&t)).await;
    assert_eq!(receiver.ids().len(), 24, "each of them once");
    for event in &events {
        assert_eq!(standing(&t, &endpoint, event).await, ("succeeded".to_owned(), 1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_line_of_quick_answers_is_not_taken_for_one_that_takes_long() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    receiver.react(Reaction::Late(Duration::from_millis(200), 200));
    let (ann, created) = user(&t, "ann").await;
    let mut line = vec![created];
    for number in 0..14 {
        line.push(rename(&t, &ann, &format!("Ann {number}")).await);
    }
    let sender = courier(&t);
    let sending = tokio::spawn(async move { send(&sender).await });
    arrival_of(&receiver, &line[13]).await;
    let unknown = t.get(&format!("/v1/webhooks/endpoints/{endpoint}/deliveries/{}", line[14])).await;
    assert_eq!(unknown.status, 404, "nothing of it was noted as waiting");
    sending.await.unwrap();
    assert_eq!(receiver.ids(), line);
}

#[tokio::test]
async fn a_failing_event_gives_way_after_four_attempts() {
    let t = TestServer::start().await;
    let (ann, created) = user(&t, "ann").await;
    // The receiver must know what to refuse, so the event is older than the endpoint, and replayed.
    let receiver = refusing(&created).await;
    let endpoint = endpoint(&t, &receiver).await;
    let since = json!({"since": 0});
    t.post(&format!("/v1/webhooks/endpoints/{endpoint}/replay"), since).await.ok();
    let later = rename(&t, &ann, "second").await;
    let courier = courier(&t);
    send(&courier).await;
    for pause in [6 * SECOND_MS, 6 * MINUTE_MS] {
        assert_eq!(standing(&t, &endpoint, &later).await, ("pending".to_owned(), 0));
        t.clock.advance_ms(pause);
        send(&courier).await;
    }
    assert_eq!(standing(&t, &endpoint, &created).await, ("pending".to_owned(), 3));
    assert_eq!(standing(&t, &endpoint, &later).await, ("pending".to_owned(), 0));
    t.clock.advance_ms(34 * MINUTE_MS);
    send(&courier).await;
    assert_eq!(standing(&t, &endpoint, &created).await, ("pending".to_owned(), 4));
    assert_eq!(standing(&t, &endpoint, &later).await, ("succeeded".to_owned(), 1));
    // From then on new ones pass at once.
    let newest = rename(&t, &ann, "third").await;
    send(&courier).await;
    assert_eq!(standing(&t, &endpoint, &newest).await, ("succeeded".to_owned(), 1));
    assert_eq!(standing(&t, &endpoint, &created).await, ("pending".to_owned(), 4));
}

#[tokio::test]
async fn sessions_belong_to_the_line_of_their_user() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    endpoint(&t, &receiver).await;
    receiver.react_next([Reaction::status(500)]);
    let (id, created) = user(&t, "ann").await;
    t.post("/v1/sessions", json!({"user_id": id})).await.ok();
    t.delete(&format!("/v1/users/{id}")).await.ok();
    let courier = courier(&t);
    send(&courier).await;
    assert_eq!(receiver.ids(), [created], "the session waits for its user");
    t.clock.advance_ms(6 * SECOND_MS);
    receiver.take();
    send(&courier).await;
    assert_eq!(receiver.ids(), feed_ids(&t).await);
}

#[tokio::test]
async fn a_whole_line_that_fails_is_sent_in_order_once_the_receiver_is_back() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    endpoint(&t, &receiver).await;
    receiver.react(Reaction::status(503));
    let mut users = Vec::new();
    for number in 0..5 {
        users.push(user(&t, &format!("user{number}")).await.0);
    }
    for round in 0..3 {
        for user in &users {
            rename(&t, user, &format!("Round {round}")).await;
        }
    }
    let courier = courier(&t);
    send(&courier).await;
    assert_eq!(receiver.arrivals().len(), 5, "one for each user");
    receiver.take();
    receiver.react(Reaction::status(200));
    t.clock.advance_ms(6 * SECOND_MS);
    send(&courier).await;
    let mut expected: HashMap<String, Vec<String>> = HashMap::new();
    for event in t.events().await {
        expected.entry(event.subject).or_default().push(event.id);
    }
    let mut actual: HashMap<String, Vec<String>> = HashMap::new();
    for arrival in receiver.arrivals() {
        let subject = arrival.json()["data"]["id"].as_str().unwrap().to_owned();
        actual.entry(subject).or_default().push(arrival.id().to_owned());
    }
    assert_eq!(actual, expected);
}

#[tokio::test]
async fn what_gave_way_and_what_comes_behind_it_are_due_together_and_each_is_sent_once() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let courier = courier(&t);
    receiver.react(Reaction::status(500));
    let (ann, first) = user(&t, "ann").await;
    send(&courier).await;
    for pause in [6 * SECOND_MS, 6 * MINUTE_MS, 34 * MINUTE_MS] {
        t.clock.advance_ms(pause);
        send(&courier).await;
    }
    assert_eq!(standing(&t, &endpoint, &first).await, ("pending".to_owned(), 4));
    // It does not hold up the next two any more; but the second of these waits behind the first of them.
    let [second, third] = [rename(&t, &ann, "second").await, rename(&t, &ann, "third").await];
    send(&courier).await;
    assert_eq!(standing(&t, &endpoint, &second).await, ("pending".to_owned(), 1));
    assert_eq!(standing(&t, &endpoint, &third).await, ("pending".to_owned(), 0));
    // By now both are due again.
    receiver.react(Reaction::status(200));
    receiver.take();
    t.clock.advance_ms(3 * HOUR_MS);
    send(&courier).await;
    assert_eq!(receiver.ids(), [first.as_str(), second.as_str(), third.as_str()]);
    for event in [&first, &second, &third] {
        assert_eq!(standing(&t, &endpoint, event).await.0, "succeeded");
    }
}

//! Sending again.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use latchkey_testkit::{Reaction, until, until_answered};

use super::*;

async fn replay(t: &TestServer, endpoint: &str, body: Value) -> Value {
    t.post(&format!("/v1/webhooks/endpoints/{endpoint}/replay"), body).await.ok()["events"].clone()
}

#[tokio::test]
async fn one_event_is_sent_again_with_the_same_id() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let (_, event) = user(&t, "ann").await;
    user(&t, "bob").await;
    let courier = courier(&t);
    send(&courier).await;
    let first = receiver.take().into_iter().find(|arrival| arrival.id() == event).unwrap();
    t.clock.advance_ms(HOUR_MS);
    let path = format!("/v1/webhooks/endpoints/{endpoint}/deliveries/{event}/replay");
    let queued = t.post(&path, json!({})).await.ok();
    assert_eq!((&queued["status"], &queued["attempts"]), (&json!("pending"), &json!(0)));
    send(&courier).await;
    let again = receiver.take();
    assert_eq!(again.len(), 1);
    assert_eq!((again[0].id(), &again[0].body), (event.as_str(), &first.body));
    assert!(is_genuine(&again[0], &secrets(&t, &endpoint).await[0]));
    assert_ne!(
        again[0].header("svix-timestamp"),
        first.header("svix-timestamp"),
        "receivers refuse old ones"
    );
    let shown = delivery(&t, &endpoint, &event).await;
    assert_eq!((&shown["status"], shown["log"].as_array().unwrap().len()), (&json!("succeeded"), 2));
}

#[tokio::test]
async fn what_failed_is_sent_again_and_nothing_else() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let courier = courier(&t);
    user(&t, "ann").await;
    send(&courier).await;
    receiver.react(Reaction::status(500));
    let (_, failed) = user(&t, "bob").await;
    for _ in 0..8 {
        send(&courier).await;
        t.clock.advance_ms(11 * HOUR_MS);
    }
    assert_eq!(standing(&t, &endpoint, &failed).await, ("failed".to_owned(), 8));
    receiver.react(Reaction::status(200));
    let late = json!({"since": latchkey_base::time::Clock::now(&*t.clock).ms(), "only_failed": true});
    assert_eq!(replay(&t, &endpoint, late).await, json!(0), "it failed before that");
    assert_eq!(replay(&t, &endpoint, json!({"since": 0, "only_failed": true})).await, json!(1));
    receiver.take();
    send(&courier).await;
    assert_eq!(receiver.ids(), [failed.as_str()]);
    assert_eq!(standing(&t, &endpoint, &failed).await, ("succeeded".to_owned(), 1));
}

#[tokio::test]
async fn everything_since_a_time_is_sent_again_in_order() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let courier = courier(&t);
    let (id, _) = user(&t, "ann").await;
    t.clock.advance_ms(HOUR_MS);
    let since = latchkey_base::time::Clock::now(&*t.clock).ms();
    for name in ["One", "Two", "Three"] {
        rename(&t, &id, name).await;
    }
    send(&courier).await;
    assert_eq!(receiver.take().len(), 4);
    assert_eq!(replay(&t, &endpoint, json!({"since": since})).await, json!(3));
    send(&courier).await;
    assert_eq!(receiver.ids(), feed_ids(&t).await[1..]);
    // Also what happened before the endpoint was there.
    let late = Receiver::start().await;
    let second = super::endpoint(&t, &late).await;
    // The count includes the event about the first endpoint, which is not sent.
    assert_eq!(replay(&t, &second, json!({"since": 0})).await, json!(5));
    send(&courier).await;
    assert_eq!(late.ids(), feed_ids(&t).await);
}

#[tokio::test]
async fn a_replay_finds_its_place_behind_what_still_waits() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let courier = courier(&t);
    let (id, created) = user(&t, "ann").await;
    send(&courier).await;
    receiver.react(Reaction::status(500));
    let renamed = rename(&t, &id, "Ann").await;
    send(&courier).await;
    assert_eq!(replay(&t, &endpoint, json!({"since": 0})).await, json!(3));
    receiver.react(Reaction::status(200));
    receiver.take();
    t.clock.advance_ms(6 * SECOND_MS);
    send(&courier).await;
    let mut arrived = receiver.ids();
    arrived.dedup();
    assert_eq!(arrived.len(), 2, "{arrived:?}");
    for event in [&created, &renamed] {
        assert!(arrived.contains(event));
        assert_eq!(standing(&t, &endpoint, event).await.0, "succeeded");
    }
}

#[tokio::test]
async fn what_waits_for_its_next_attempt_is_sent_again_too() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let courier = courier(&t);
    receiver.react(Reaction::status(500));
    let (id, first) = user(&t, "ann").await;
    send(&courier).await;
    let second = rename(&t, &id, "Ann").await;
    send(&courier).await;
    receiver.react(Reaction::status(200));
    receiver.take();
    assert_eq!(replay(&t, &endpoint, json!({"since": 0, "only_failed": true})).await, json!(2));
    send(&courier).await;
    assert_eq!(receiver.ids(), [first.as_str(), second.as_str()]);
}

#[tokio::test]
async fn what_is_asked_for_twice_is_sent_once_and_in_its_place() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let courier = courier(&t);
    let (ann, created) = user(&t, "ann").await;
    receiver.react(Reaction::status(500));
    let renamed = rename(&t, &ann, "Ann").await;
    for _ in 0..8 {
        send(&courier).await;
        t.clock.advance_ms(11 * HOUR_MS);
    }
    receiver.react(Reaction::status(200));
    let again = rename(&t, &ann, "Anna").await;
    send(&courier).await;
    receiver.take();
    // Before the courier comes: all of it, then what had failed, then one that had arrived.
    assert_eq!(replay(&t, &endpoint, json!({"since": 0})).await, json!(4));
    assert_eq!(replay(&t, &endpoint, json!({"since": 0, "only_failed": true})).await, json!(1));
    let path = format!("/v1/webhooks/endpoints/{endpoint}/deliveries/{again}/replay");
    t.post(&path, json!({})).await.ok();
    receiver.react_next([Reaction::status(500)]);
    send(&courier).await;
    assert_eq!(receiver.take().len(), 1, "the others wait for the first");
    let last = rename(&t, &ann, "Annette").await;
    t.clock.advance_ms(6 * SECOND_MS);
    send(&courier).await;
    assert_eq!(receiver.ids(), [created, renamed, again, last]);
}

#[tokio::test]
async fn what_waits_and_is_no_longer_wanted_or_kept_is_given_up_when_it_is_passed() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let courier = courier(&t);
    receiver.react(Reaction::status(500));
    let (ann, created) = user(&t, "ann").await;
    let (bob, lost) = user(&t, "bob").await;
    let behind = rename(&t, &bob, "Bob").await;
    send(&courier).await;
    let renamed = rename(&t, &ann, "Ann").await;
    send(&courier).await;
    receiver.react(Reaction::status(200));
    receiver.take();
    assert_eq!(replay(&t, &endpoint, json!({"since": 0})).await, json!(5));
    t.run_sql("DELETE FROM events WHERE subject_id = $1", vec![bob.as_str().into()]).await;
    t.patch(&format!("/v1/webhooks/endpoints/{endpoint}"), json!({"event_types": ["user.updated"]}))
        .await
        .ok();
    send(&courier).await;
    assert_eq!(receiver.ids(), [renamed.as_str()]);
    for given_up in [created, lost, behind] {
        assert_eq!(standing(&t, &endpoint, &given_up).await.0, "failed", "{given_up}");
    }
}

#[tokio::test]
async fn a_time_in_seconds_is_refused() {
    let t = TestServer::start().await;
    let endpoint = endpoint(&t, &Receiver::start().await).await;
    let path = format!("/v1/webhooks/endpoints/{endpoint}/replay");
    let answer = t.post(&path, json!({"since": 1_794_750_000})).await;
    answer.is_problem(422, "form_param_value_invalid", "since");
}

#[tokio::test]
async fn everything_since_a_time_has_what_never_arrived_in_its_place() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let courier = courier(&t);
    let (id, _) = user(&t, "ann").await;
    send(&courier).await;
    receiver.react(Reaction::status(500));
    let waiting = rename(&t, &id, "One").await;
    let held = rename(&t, &id, "Two").await;
    send(&courier).await;
    t.clock.advance_ms(6 * SECOND_MS);
    send(&courier).await;
    assert_eq!(standing(&t, &endpoint, &waiting).await, ("pending".to_owned(), 2));
    assert_eq!(standing(&t, &endpoint, &held).await, ("pending".to_owned(), 0));
    receiver.react(Reaction::status(200));
    receiver.take();
    assert_eq!(replay(&t, &endpoint, json!({"since": 0})).await, json!(4));
    send(&courier).await;
    assert_eq!(receiver.ids(), feed_ids(&t).await, "all of it, now and in order");
    let shown = delivery(&t, &endpoint, &waiting).await;
    assert_eq!((&shown["status"], &shown["attempts"]), (&json!("succeeded"), &json!(1)));
    assert_eq!(shown["log"].as_array().unwrap().len(), 3, "what was tried before is still told");
    // Nothing is left that would send it once more.
    t.clock.advance_ms(11 * HOUR_MS);
    send(&courier).await;
    assert_eq!(receiver.arrivals().len(), 3);
}

#[tokio::test]
async fn what_waits_from_before_a_replay_keeps_its_time_and_comes_first() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let courier = courier(&t);
    receiver.react(Reaction::status(500));
    let (id, created) = user(&t, "ann").await;
    t.clock.advance_ms(HOUR_MS);
    let since = latchkey_base::time::Clock::now(&*t.clock).ms();
    let renamed = rename(&t, &id, "Ann").await;
    send(&courier).await;
    receiver.react(Reaction::status(200));
    receiver.take();
    assert_eq!(replay(&t, &endpoint, json!({"since": since})).await, json!(1));
    send(&courier).await;
    assert_eq!(receiver.ids(), Vec::<String>::new(), "the user is not known there yet");
    t.clock.advance_ms(6 * SECOND_MS);
    send(&courier).await;
    assert_eq!(receiver.ids(), [created, renamed]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_while_events_are_on_their_way_sends_everything_in_order() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let (id, _) = user(&t, "ann").await;
    rename(&t, &id, "One").await;
    let courier = courier(&t);
    send(&courier).await;
    let stuck = rename(&t, &id, "Two").await;
    rename(&t, &id, "Three").await;
    let (waits_for, is_stuck) = (stuck.clone(), AtomicBool::new(true));
    receiver.react_by(move |arrival| match arrival.id() == waits_for && is_stuck.swap(false, Relaxed) {
        true => Reaction::Late(Duration::from_secs(5), 500),
        false => Reaction::status(200),
    });
    let replays = async {
        until(|| receiver.ids().contains(&stuck)).await;
        // Twice is no more than once.
        replay(&t, &endpoint, json!({"since": 0})).await;
        replay(&t, &endpoint, json!({"since": 0})).await;
    };
    // The attempt fails after the replay; noting that would leave it out of what is sent again.
    tokio::join!(send(&courier), replays);
    let all = feed_ids(&t).await;
    let arrived = receiver.ids();
    assert_eq!(arrived.len(), 7, "{arrived:?}");
    assert_eq!(arrived[3..], all, "also what arrived before, and at once");
    for event in all {
        assert_eq!(standing(&t, &endpoint, &event).await, ("succeeded".to_owned(), 1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_while_an_answer_takes_long_sends_everything_in_order() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let (id, _) = user(&t, "ann").await;
    let slow = rename(&t, &id, "One").await;
    rename(&t, &id, "Two").await;
    let (waits_for, is_slow) = (slow.clone(), AtomicBool::new(true));
    receiver.react_by(move |arrival| match arrival.id() == waits_for && is_slow.swap(false, Relaxed) {
        true => Reaction::Late(Duration::from_secs(10), 500),
        false => Reaction::status(200),
    });
    let replays = async {
        // Its batch was noted without it.
        let path = format!("/v1/webhooks/endpoints/{endpoint}/deliveries/{slow}");
        until_answered(async || t.get(&path).await.status == 200).await;
        replay(&t, &endpoint, json!({"since": 0})).await;
    };
    let courier = courier(&t);
    tokio::join!(send(&courier), replays);
    let (all, arrived) = (feed_ids(&t).await, receiver.ids());
    assert_eq!(arrived.len(), 5, "{arrived:?}");
    assert_eq!(arrived[2..], all, "{arrived:?}");
    for event in all {
        assert_eq!(standing(&t, &endpoint, &event).await, ("succeeded".to_owned(), 1));
    }
}

//! What receivers do wrong, and what follows.

use latchkey_testkit::{Reaction, until};

use super::*;

/// The pauses after the first failures; a tenth more or less is chance.
const PAUSES_MS: [i64; 7] =
    [5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 10 * HOUR_MS];

/// One event for one endpoint, sent once to a receiver that reacts so.
async fn sent_once(t: &TestServer, reaction: Reaction) -> (Receiver, String, String) {
    let receiver = Receiver::start().await;
    let is_slow = matches!(reaction, Reaction::Hang | Reaction::Drip(_) | Reaction::Late(..));
    receiver.react(reaction);
    let endpoint = endpoint(t, &receiver).await;
    let (_, event) = user(t, &format!("u{}", endpoint.to_lowercase())).await;
    match is_slow {
        true => send(&hasty_courier(t)).await,
        false => send(&courier(t)).await,
    }
    (receiver, endpoint, event)
}

/// A clock that runs ahead is set right again.
#[tokio::test]
async fn a_failure_while_the_clock_was_ahead_is_tried_again_and_what_waits_behind_it_follows() {
    let t = TestServer::start().await;
    t.clock.advance_ms(2 * DAY_MS);
    let (receiver, endpoint, first) = sent_once(&t, Reaction::status(500)).await;
    let who = t.events().await.last().unwrap().subject.clone();
    let second = rename(&t, &who, "Ann").await;
    send(&courier(&t)).await;
    assert_eq!(standing(&t, &endpoint, &second).await, ("pending".to_owned(), 0));
    t.clock.advance_ms(-2 * DAY_MS);
    receiver.react(Reaction::status(200));
    send(&courier(&t)).await;
    assert_eq!(standing(&t, &endpoint, &first).await, ("succeeded".to_owned(), 2));
    assert_eq!(standing(&t, &endpoint, &second).await, ("succeeded".to_owned(), 1));
}

#[tokio::test]
async fn failed_attempts_follow_the_schedule_until_one_succeeds() {
    let t = TestServer::start().await;
    let (receiver, endpoint, event) = sent_once(&t, Reaction::Answer(500, b"no".to_vec())).await;
    let courier = courier(&t);
    for (index, pause) in PAUSES_MS[..3].iter().enumerate() {
        let shown = delivery(&t, &endpoint, &event).await;
        assert_eq!((&shown["status"], &shown["attempts"]), (&json!("pending"), &json!(index + 1)));
        let waits = shown["next_attempt_at"].as_i64().unwrap() - shown["log"][index]["at"].as_i64().unwrap();
        assert!((pause * 9 / 10..=pause * 11 / 10).contains(&waits), "{waits} instead of {pause}");
        t.clock.advance_ms(waits - 1);
        send(&courier).await;
        assert_eq!(receiver.arrivals().len(), index + 1, "one millisecond too early");
        t.clock.advance_ms(1);
        if index == 2 {
            receiver.react(Reaction::Answer(201, b"yes".to_vec()));
        }
        send(&courier).await;
        assert_eq!(receiver.arrivals().len(), index + 2);
    }
    let shown = delivery(&t, &endpoint, &event).await;
    assert_eq!((&shown["status"], &shown["next_attempt_at"]), (&json!("succeeded"), &json!(null)));
    let log: Vec<(i64, &str)> = shown["log"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["status_code"].as_i64().unwrap(), it["response"].as_str().unwrap()))
        .collect();
    assert_eq!(log, [(500, "no"), (500, "no"), (500, "no"), (201, "yes")]);
    let arrivals = receiver.arrivals();
    let secret = secrets(&t, &endpoint).await.remove(0);
    for arrival in &arrivals {
        assert_eq!((arrival.id(), &arrival.body), (event.as_str(), &arrivals[0].body));
        assert!(is_genuine(arrival, &secret), "each attempt is signed anew");
    }
    assert!(arrivals[0].header("svix-timestamp") < arrivals[3].header("svix-timestamp"));
}

#[tokio::test]
async fn eight_failures_are_enough() {
    let t = TestServer::start().await;
    let (receiver, endpoint, event) = sent_once(&t, Reaction::status(404)).await;
    let courier = courier(&t);
    for pause in PAUSES_MS {
        assert_eq!(standing(&t, &endpoint, &event).await.0, "pending");
        t.clock.advance_ms(pause * 11 / 10 + 1);
        send(&courier).await;
    }
    assert_eq!(standing(&t, &endpoint, &event).await, ("failed".to_owned(), 8));
    assert_eq!(delivery(&t, &endpoint, &event).await["next_attempt_at"], json!(null));
    t.clock.advance_ms(DAY_MS);
    send(&courier).await;
    assert_eq!(receiver.ids(), vec![event; 8]);
}

#[tokio::test]
async fn receivers_that_give_no_answer_are_tried_again() {
    let t = TestServer::start().await;
    for (reaction, reason) in [
        (Reaction::Hang, "There was no complete answer in time."),
        (Reaction::Close, "The answer was broken off or is no HTTP."),
        (Reaction::Nonsense, "The answer was broken off or is no HTTP."),
    ] {
        let (receiver, endpoint, event) = sent_once(&t, reaction.clone()).await;
        let shown = delivery(&t, &endpoint, &event).await;
        assert_eq!((&shown["status"], &shown["attempts"]), (&json!("pending"), &json!(1)), "{reaction:?}");
        let attempt = &shown["log"][0];
        assert_eq!(
            (&attempt["error"], &attempt["status_code"]),
            (&json!(reason), &json!(null)),
            "{reaction:?}"
        );
        assert_eq!((&attempt["succeeded"], &attempt["response"]), (&json!(false), &json!("")));
        receiver.react(Reaction::status(200));
        t.clock.advance_ms(6 * SECOND_MS);
        send(&courier(&t)).await;
        assert_eq!(standing(&t, &endpoint, &event).await, ("succeeded".to_owned(), 2), "{reaction:?}");
        assert_eq!(receiver.ids(), [event.as_str(), event.as_str()], "{reaction:?}");
        t.delete(&format!("/v1/webhooks/endpoints/{endpoint}")).await.ok();
    }
}

#[tokio::test]
async fn a_status_counts_though_the_rest_of_the_answer_is_missing() {
    let t = TestServer::start().await;
    for reaction in [Reaction::Drip(Duration::from_millis(50)), Reaction::BreakOff] {
        let (receiver, endpoint, event) = sent_once(&t, reaction.clone()).await;
        assert_eq!(standing(&t, &endpoint, &event).await, ("succeeded".to_owned(), 1), "{reaction:?}");
        let attempt = delivery(&t, &endpoint, &event).await["log"][0].clone();
        assert_eq!((&attempt["status_code"], &attempt["error"]), (&json!(200), &json!(null)), "{reaction:?}");
        t.clock.advance_ms(6 * SECOND_MS);
        send(&courier(&t)).await;
        assert_eq!(receiver.ids(), [event.as_str()], "{reaction:?}");
        t.delete(&format!("/v1/webhooks/endpoints/{endpoint}")).await.ok();
    }
}

#[tokio::test]
async fn nobody_at_home_is_tried_again() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let port = receiver.port;
    let endpoint = endpoint(&t, &receiver).await;
    drop(receiver);
    // The port is free once the task has ended.
    tokio::task::yield_now().await;
    let (_, event) = user(&t, "countess").await;
    let courier = courier(&t);
    send(&courier).await;
    let shown = delivery(&t, &endpoint, &event).await;
    assert_eq!(shown["log"][0]["error"], json!("No connection to 127.0.0.1: refused."));
    let receiver = Receiver::start_on(port).await;
    t.clock.advance_ms(6 * SECOND_MS);
    send(&courier).await;
    assert_eq!(receiver.ids(), [event]);
}

#[tokio::test]
async fn success_that_comes_too_late_is_none() {
    let t = TestServer::start().await;
    let (receiver, endpoint, event) = sent_once(&t, Reaction::Late(Duration::from_secs(3), 200)).await;
    // It says 200 while nobody listens any more.
    until(|| receiver.reactions() == 1).await;
    let shown = delivery(&t, &endpoint, &event).await;
    assert_eq!((&shown["status"], &shown["log"][0]["succeeded"]), (&json!("pending"), &json!(false)));
    receiver.react(Reaction::Late(Duration::from_millis(100), 200));
    t.clock.advance_ms(6 * SECOND_MS);
    send(&courier(&t)).await;
    assert_eq!(standing(&t, &endpoint, &event).await, ("succeeded".to_owned(), 2));
    assert_eq!(receiver.ids(), [event.as_str(), event.as_str()], "the same id twice");
}

#[tokio::test]
async fn redirects_are_failures_and_nobody_follows_them() {
    let t = TestServer::start().await;
    let elsewhere = Receiver::start().await;
    for status in [301, 302, 303, 307, 308] {
        let (receiver, endpoint, event) = sent_once(&t, Reaction::Redirect(status, elsewhere.url())).await;
        let shown = delivery(&t, &endpoint, &event).await;
        assert_eq!((&shown["status"], &shown["log"][0]["status_code"]), (&json!("pending"), &json!(status)));
        assert_eq!(receiver.arrivals().len(), 1);
        t.delete(&format!("/v1/webhooks/endpoints/{endpoint}")).await.ok();
    }
    assert!(elsewhere.arrivals().is_empty());
}

#[tokio::test]
async fn only_the_beginning_of_answers_is_kept_and_only_as_text() {
    let t = TestServer::start().await;
    let long = "x".repeat(10 << 20).into_bytes();
    for (reaction, status, expected) in [
        (Reaction::Answer(200, b"a\0b\0".to_vec()), "succeeded", "a\u{fffd}b\u{fffd}".to_owned()),
        (Reaction::Answer(200, b"a\xff\xfeb".to_vec()), "succeeded", "a\u{fffd}\u{fffd}b".to_owned()),
        (Reaction::Answer(200, long.clone()), "succeeded", "x".repeat(1024)),
        (Reaction::Answer(500, long), "pending", "x".repeat(1024)),
        (Reaction::Endless(200), "succeeded", "e".repeat(1024)),
        (Reaction::Endless(503), "pending", "e".repeat(1024)),
        // A letter of two bytes that the cut goes through.
        (
            Reaction::Answer(200, format!("{}ü", "x".repeat(1023)).into_bytes()),
            "succeeded",
            format!("{}\u{fffd}", "x".repeat(1023)),
        ),
    ] {
        let (_receiver, endpoint, event) = sent_once(&t, reaction).await;
        let shown = delivery(&t, &endpoint, &event).await;
        assert_eq!(shown["status"], json!(status));
        assert_eq!(shown["log"][0]["response"], json!(expected));
        t.delete(&format!("/v1/webhooks/endpoints/{endpoint}")).await.ok();
    }
}

#[tokio::test]
async fn an_endpoint_that_hangs_costs_the_others_nothing_but_time() {
    let t = TestServer::start().await;
    let (slow, good) = (Receiver::start().await, Receiver::start().await);
    slow.react(Reaction::Hang);
    let first = endpoint(&t, &slow).await;
    let second = endpoint(&t, &good).await;
    let (_, event) = user(&t, "countess").await;
    send(&hasty_courier(&t)).await;
    assert_eq!(standing(&t, &first, &event).await, ("pending".to_owned(), 1));
    assert_eq!(standing(&t, &second, &event).await, ("succeeded".to_owned(), 1));
}

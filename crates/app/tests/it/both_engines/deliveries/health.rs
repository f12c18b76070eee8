//! Endpoints that fail for days, and what happens when they are enabled again.

use latchkey_base::time::Clock;
use latchkey_events::webhooks::store;
use latchkey_testkit::Reaction;

use super::*;

/// An endpoint that failed for five days and was disabled. Two events never arrived there.
async fn given_up(t: &TestServer, receiver: &Receiver) -> (String, [String; 2]) {
    receiver.react(Reaction::status(500));
    let endpoint = endpoint(t, receiver).await;
    let courier = courier(t);
    let (_, first) = user(t, "ann").await;
    send(&courier).await;
    t.clock.advance_ms(5 * DAY_MS - 1);
    let (_, second) = user(t, "bob").await;
    send(&courier).await;
    assert_eq!(shown(t, &endpoint).await["disabled"], json!(false), "not before five days are over");
    t.clock.advance_ms(6 * SECOND_MS);
    send(&courier).await;
    (endpoint, [first, second])
}

async fn shown(t: &TestServer, endpoint: &str) -> Value {
    t.get(&format!("/v1/webhooks/endpoints/{endpoint}")).await.ok()
}

async fn enable(t: &TestServer, endpoint: &str, skip_missed: bool) {
    let body = json!({"disabled": false, "skip_missed": skip_missed});
    let enabled = t.patch(&format!("/v1/webhooks/endpoints/{endpoint}"), body).await.ok();
    assert_eq!((&enabled["disabled"], &enabled["failing_since"]), (&json!(false), &json!(null)));
}

#[tokio::test]
async fn five_days_of_failure_disable_an_endpoint_and_the_others_hear_of_it() {
    let t = TestServer::start().await;
    let (broken, good) = (Receiver::start().await, Receiver::start().await);
    endpoint(&t, &good).await;
    let (disabled, _) = given_up(&t, &broken).await;
    assert_eq!(shown(&t, &disabled).await["disabled"], json!(true));
    let event = feed(&t).await.pop().unwrap();
    assert_eq!(
        (&event["type"], &event["data"]["id"]),
        (&json!("webhookEndpoint.disabled"), &json!(disabled))
    );
    assert_eq!(event["data"]["disabled"], json!(true));
    send(&courier(&t)).await;
    assert_eq!(good.ids(), feed_ids(&t).await);
    // Nothing is tried there any more.
    let before = broken.arrivals().len();
    user(&t, "carl").await;
    t.clock.advance_ms(DAY_MS);
    send(&courier(&t)).await;
    assert_eq!(broken.arrivals().len(), before);
    assert_eq!(good.ids(), feed_ids(&t).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_hangs_is_given_up_once() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    receiver.react(Reaction::status(500));
    let endpoint = endpoint(&t, &receiver).await;
    for name in ["ann", "bob", "carl", "dora"] {
        user(&t, name).await;
    }
    let parts = JobParts { answer_timeout: Duration::from_secs(2), ..t.jobs_with(Options::default()) };
    let courier = t.courier_of(&parts);
    send(&courier).await;
    receiver.react(Reaction::Hang);
    t.clock.advance_ms(5 * DAY_MS);
    send(&courier).await;
    assert_eq!(shown(&t, &endpoint).await["disabled"], json!(true));
    let told = feed(&t).await.into_iter().filter(|event| event["type"] == "webhookEndpoint.disabled");
    assert_eq!(told.count(), 1);
}

#[tokio::test]
async fn one_success_ends_the_count_of_days() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let courier = courier(&t);
    receiver.react(Reaction::status(500));
    user(&t, "ann").await;
    send(&courier).await;
    assert!(shown(&t, &endpoint).await["failing_since"].is_i64());
    t.clock.advance_ms(4 * DAY_MS);
    receiver.react_next([Reaction::status(200)]);
    user(&t, "bob").await;
    send(&courier).await;
    assert_eq!(shown(&t, &endpoint).await["failing_since"], json!(null));
    t.clock.advance_ms(4 * DAY_MS);
    user(&t, "carl").await;
    send(&courier).await;
    assert_eq!(shown(&t, &endpoint).await["disabled"], json!(false));
}

#[tokio::test]
async fn an_enabled_endpoint_goes_on_where_it_stopped() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let (endpoint, missed) = given_up(&t, &receiver).await;
    let (_, meanwhile) = user(&t, "carl").await;
    receiver.react(Reaction::status(200));
    receiver.take();
    enable(&t, &endpoint, false).await;
    t.clock.advance_ms(DAY_MS);
    send(&courier(&t)).await;
    let mut arrived = receiver.ids();
    arrived.sort();
    let mut expected = feed_ids(&t).await;
    expected.sort();
    assert_eq!(arrived, expected, "with the event about the endpoint itself");
    assert!(missed.iter().chain([&meanwhile]).all(|id| arrived.contains(id)));
}

#[tokio::test]
async fn an_enabled_endpoint_leaves_out_what_it_missed_if_told_so() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let (endpoint, [first, second]) = given_up(&t, &receiver).await;
    user(&t, "carl").await;
    receiver.react(Reaction::status(200));
    receiver.take();
    enable(&t, &endpoint, true).await;
    t.clock.advance_ms(DAY_MS);
    send(&courier(&t)).await;
    assert!(receiver.arrivals().is_empty());
    let (_, next) = user(&t, "dora").await;
    send(&courier(&t)).await;
    assert_eq!(receiver.ids(), [next]);
    for event in [first, second] {
        assert_eq!(standing(&t, &endpoint, &event).await.0, "failed");
    }
}

#[tokio::test]
async fn a_disabled_endpoint_gets_nothing_until_it_is_enabled() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let path = format!("/v1/webhooks/endpoints/{endpoint}");
    t.patch(&path, json!({"disabled": true})).await.ok();
    let (_, event) = user(&t, "ann").await;
    send(&courier(&t)).await;
    assert!(receiver.arrivals().is_empty());
    enable(&t, &endpoint, false).await;
    send(&courier(&t)).await;
    assert_eq!(receiver.ids(), [event]);
}

/// Only so many are looked at in one go, and there may be many whose receivers are gone.
#[tokio::test]
async fn endpoints_that_fail_hide_none_that_do_not() {
    let t = TestServer::start().await;
    let (broken, good) = (Receiver::start().await, Receiver::start().await);
    broken.react(Reaction::status(500));
    for _ in 0..3 {
        endpoint(&t, &broken).await;
    }
    let healthy = endpoint(&t, &good).await;
    user(&t, "ann").await;
    send(&courier(&t)).await;
    // The one that does not fail had its turn last.
    let later = "UPDATE webhook_endpoints SET leased_until = leased_until + 1 WHERE failing_since IS NULL";
    let served = t.db().write(move |tx| Box::pin(async move { Ok(tx.run(&[later], &[]).await?) })).await;
    assert_eq!(served.unwrap(), 1);
    t.clock.advance_ms(SECOND_MS);
    user(&t, "bob").await;
    let mut tx = t.db().read().await.unwrap();
    let looked_at = store::waiting(&mut tx, t.clock.now(), 2).await.unwrap();
    assert_eq!(looked_at.len(), 2);
    assert!(looked_at.iter().any(|endpoint| endpoint.id.as_str() == healthy));
}

//! How long events and deliveries are kept, what happens to those that are gone, and what is counted.

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::Reaction;

use super::*;

/// A server that keeps events for some days and deliveries for others.
async fn keeping(events: i64, deliveries: i64) -> TestServer {
    let mut settings = Settings::default();
    settings.events.retention_days = events;
    settings.events.deliveries_retention_days = deliveries;
    TestServer::start_with(RateLimits::Off, settings).await
}

async fn listed(t: &TestServer, endpoint: &str) -> i64 {
    let list = t.get(&format!("/v1/webhooks/endpoints/{endpoint}/deliveries")).await.ok();
    list["total_count"].as_i64().unwrap()
}

#[tokio::test]
async fn events_and_deliveries_go_when_the_settings_say_so() {
    let t = keeping(10, 20).await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let (_, event) = user(&t, "ann").await;
    send(&courier(&t)).await;
    t.clock.advance_ms(9 * DAY_MS);
    t.run_jobs().await;
    assert_eq!((feed(&t).await.len(), listed(&t, &endpoint).await), (1, 1));
    t.clock.advance_ms(2 * DAY_MS);
    t.run_jobs().await;
    assert_eq!((feed(&t).await.len(), listed(&t, &endpoint).await), (0, 1));
    let shown = delivery(&t, &endpoint, &event).await;
    assert_eq!((&shown["status"], &shown["payload"]), (&json!("succeeded"), &json!(null)));
    let path = format!("/v1/webhooks/endpoints/{endpoint}/deliveries/{event}/replay");
    t.post(&path, json!({})).await.is_error(404, "resource_not_found");
    t.clock.advance_ms(10 * DAY_MS);
    t.run_jobs().await;
    assert_eq!(listed(&t, &endpoint).await, 0);
    // The numbers go on.
    assert_eq!(t.post("/v1/users", json!({"username": "user_bob"})).await.header("latchkey-event-seq"), "3");
}

#[tokio::test]
async fn more_than_one_batch_of_old_events_goes_in_one_run() {
    let t = keeping(3, 3).await;
    let (id, _) = user(&t, "ann").await;
    for number in 0..450 {
        t.patch(&format!("/v1/users/{id}"), json!({"first_name": format!("Ann {number}")})).await.ok();
    }
    t.clock.advance_ms(4 * DAY_MS);
    rename(&t, &id, "young").await;
    t.run_jobs().await;
    let left = feed(&t).await;
    assert_eq!((left.len(), &left[0]["seq"]), (1, &json!(452)));
}

#[tokio::test]
async fn an_endpoint_goes_with_more_deliveries_than_one_transaction_deletes() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let [first, second] = [endpoint(&t, &receiver).await, endpoint(&t, &receiver).await];
    let (id, _) = user(&t, "ann").await;
    for number in 0..510 {
        t.patch(&format!("/v1/users/{id}"), json!({"first_name": format!("Ann {number}")})).await.ok();
    }
    send(&courier(&t)).await;
    assert_eq!(listed(&t, &first).await, 511);
    t.delete(&format!("/v1/webhooks/endpoints/{first}")).await.ok();
    let gone = t.get(&format!("/v1/webhooks/endpoints/{first}/deliveries")).await;
    gone.is_error(404, "resource_not_found");
    assert_eq!(listed(&t, &second).await, 511, "those of others stay");
}

#[tokio::test]
async fn a_delivery_whose_event_is_gone_fails_and_says_why() {
    let t = keeping(3, 30).await;
    let receiver = Receiver::start().await;
    receiver.react(Reaction::status(500));
    let endpoint = endpoint(&t, &receiver).await;
    let (id, created) = user(&t, "ann").await;
    let renamed = rename(&t, &id, "Ann").await;
    send(&courier(&t)).await;
    assert_eq!(receiver.take().len(), 1);
    t.clock.advance_ms(4 * DAY_MS);
    t.run_jobs().await;
    receiver.react(Reaction::status(200));
    send(&courier(&t)).await;
    assert!(receiver.arrivals().is_empty());
    for event in [created, renamed] {
        let shown = delivery(&t, &endpoint, &event).await;
        assert_eq!((&shown["status"], &shown["payload"]), (&json!("failed"), &json!(null)));
        let log = shown["log"].as_array().unwrap();
        assert_eq!(log.last().unwrap()["error"], json!("The event is no longer kept."));
    }
    let (_, next) = user(&t, "bob").await;
    send(&courier(&t)).await;
    assert_eq!(receiver.ids(), [next]);
}

#[tokio::test]
async fn an_endpoint_whose_events_are_all_gone_goes_on_with_the_next() {
    let t = keeping(3, 3).await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let path = format!("/v1/webhooks/endpoints/{endpoint}");
    t.patch(&path, json!({"disabled": true})).await.ok();
    user(&t, "ann").await;
    t.clock.advance_ms(4 * DAY_MS);
    t.run_jobs().await;
    t.patch(&path, json!({"disabled": false})).await.ok();
    send(&courier(&t)).await;
    assert!(receiver.arrivals().is_empty());
    assert_eq!(t.get(&path).await.ok()["health"]["unread"], json!(0));
    let (_, next) = user(&t, "bob").await;
    send(&courier(&t)).await;
    assert_eq!(receiver.ids(), [next]);
}

#[tokio::test]
async fn metrics_tell_what_arrived_what_waits_and_what_was_given_up() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    endpoint(&t, &receiver).await;
    let courier = courier(&t);
    let numbers = async |t: &TestServer| -> Vec<(String, u64)> {
        let answer = t.call(None, "GET", "/metrics", None).await;
        let text = String::from_utf8(answer.bytes).unwrap();
        let lines = text.lines().filter_map(|line| line.strip_prefix("latchkey_webhooks_"));
        let number = |line: &str| {
            let (name, number) = line.split_once(' ').unwrap();
            (name.to_owned(), number.parse().unwrap())
        };
        lines.map(number).collect()
    };
    let expected = |values: [u64; 5]| -> Vec<(String, u64)> {
        let names = ["delivered_total", "refused_total", "given_up_total", "waiting", "lag"];
        names.into_iter().map(str::to_owned).zip(values).collect()
    };
    user(&t, "ann").await;
    user(&t, "bob").await;
    // The event about the endpoint itself was not read yet either.
    assert_eq!(numbers(&t).await, expected([0, 0, 0, 0, 3]));
    receiver.react_next([Reaction::status(500)]);
    send(&courier).await;
    assert_eq!(numbers(&t).await, expected([1, 1, 0, 1, 0]));
    receiver.react(Reaction::status(500));
    for _ in 0..7 {
        t.clock.advance_ms(11 * HOUR_MS);
        send(&courier).await;
    }
    assert_eq!(numbers(&t).await, expected([1, 8, 1, 0, 0]));
}

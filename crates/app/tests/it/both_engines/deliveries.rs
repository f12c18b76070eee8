//! Events on their way to endpoints: real receivers on this machine, a courier that sends what is due at the
//! time of the test.

mod batches;
mod crowds;
mod health;
mod keeping;
mod nodes;
mod order;
mod reach;
mod replays;
mod retries;

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use latchkey_events::courier::Courier;
use latchkey_jose::digest::hmac_sha256;
use latchkey_kernel::events::Event;
use latchkey_kernel::jobs::JobParts;
use latchkey_outbound::client::Options;
use latchkey_testkit::{Arrival, Receiver, TestServer};
use serde_json::{Value, json};

const SECOND_MS: i64 = 1000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// Adds an endpoint that wants everything; returns its id.
async fn endpoint(t: &TestServer, receiver: &Receiver) -> String {
    endpoint_with(t, json!({"url": receiver.url()})).await
}

async fn endpoint_with(t: &TestServer, body: Value) -> String {
    let made = t.post("/v1/webhooks/endpoints", body).await.ok();
    made["id"].as_str().unwrap().to_owned()
}

/// Sends all that is due. A courier that finds no end is a failure, not a test that hangs.
async fn send(courier: &Courier) {
    let sending = tokio::time::timeout(Duration::from_secs(60), courier.run_once());
    match sending.await {
        Ok(outcome) => outcome.unwrap(),
        Err(_) => panic!("the courier does not come to an end"),
    }
}

/// A courier that waits long for answers: a busy machine must not look like a receiver that hangs.
fn courier(t: &TestServer) -> Courier {
    let answer_timeout = Duration::from_secs(20);
    t.courier_of(&JobParts { answer_timeout, ..t.jobs_with(Options::default()) })
}

/// A courier that waits two seconds, for receivers that do hang.
fn hasty_courier(t: &TestServer) -> Courier {
    t.courier(Options::default())
}

/// The feed of the development instance, without the changes of the configuration, which no endpoint receives.
async fn feed(t: &TestServer) -> Vec<Value> {
    let mut all = t.get("/v1/events?limit=500").await.ok()["data"].as_array().unwrap().clone();
    all.retain(|event| !Event::is_feed_only(event["type"].as_str().unwrap()));
    all
}

/// The ids of the whole feed.
async fn feed_ids(t: &TestServer) -> Vec<String> {
    feed(t).await.iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

/// What became of an event at an endpoint.
async fn delivery(t: &TestServer, endpoint: &str, event: &str) -> Value {
    t.get(&format!("/v1/webhooks/endpoints/{endpoint}/deliveries/{event}")).await.ok()
}

/// The status and the number of attempts.
async fn standing(t: &TestServer, endpoint: &str, event: &str) -> (String, i64) {
    let shown = delivery(t, endpoint, event).await;
    (shown["status"].as_str().unwrap().to_owned(), shown["attempts"].as_i64().unwrap())
}

/// A new user with this name; returns the user's id and that of the event.
async fn user(t: &TestServer, name: &str) -> (String, String) {
    let user = t.user(json!({"username": format!("user_{name}")})).await;
    (user["id"].as_str().unwrap().to_owned(), last_event(t).await)
}

/// Changes a user; returns the id of the event.
async fn rename(t: &TestServer, user: &str, first_name: &str) -> String {
    t.patch(&format!("/v1/users/{user}"), json!({"first_name": first_name})).await.ok();
    last_event(t).await
}

async fn last_event(t: &TestServer) -> String {
    t.events().await.last().unwrap().id.clone()
}

/// The secrets an endpoint signs with, newest first.
async fn secrets(t: &TestServer, endpoint: &str) -> Vec<String> {
    let shown = t.get(&format!("/v1/webhooks/endpoints/{endpoint}/secret")).await.ok();
    let all = shown["secrets"].as_array().unwrap().iter();
    all.map(|it| it["secret"].as_str().unwrap().to_owned()).collect()
}

/// Signs as the documentation of receivers describes it.
fn signature(secret: &str, id: &str, timestamp: &str, body: &[u8]) -> String {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let signed = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body].concat();
    format!("v1,{}", STANDARD.encode(hmac_sha256(&key, &signed)))
}

/// Whether a receiver with this secret believes what arrived.
fn is_genuine(arrival: &Arrival, secret: &str) -> bool {
    let expected = signature(secret, arrival.id(), arrival.header("svix-timestamp"), &arrival.body);
    arrival.header("svix-signature").split(' ').any(|it| it == expected)
}

#[tokio::test]
async fn receiver_is_sent_what_the_feed_shows() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    user(&t, "too_early").await;
    let endpoint = endpoint(&t, &receiver).await;
    let (id, _) = user(&t, "countess").await;
    rename(&t, &id, "Ada").await;
    t.delete(&format!("/v1/users/{id}")).await.ok();
    send(&courier(&t)).await;
    let events = feed(&t).await.split_off(1);
    let arrivals = receiver.arrivals();
    assert_eq!((events.len(), arrivals.len()), (3, 3));
    for (event, arrival) in events.into_iter().zip(arrivals) {
        let mut expected = event.clone();
        expected.as_object_mut().unwrap().retain(|name, _| !["id", "seq", "key_id"].contains(&name.as_str()));
        assert_eq!(arrival.json(), expected);
        assert_eq!((arrival.method.as_str(), arrival.path.as_str()), ("POST", "/hook"));
        assert_eq!(
            (arrival.id(), arrival.header("content-type")),
            (event["id"].as_str().unwrap(), "application/json")
        );
        assert!(arrival.header("user-agent").starts_with("Latchkey-Webhooks/"));
        let shown = delivery(&t, &endpoint, arrival.id()).await;
        assert_eq!(
            (&shown["status"], &shown["attempts"], &shown["payload"]),
            (&json!("succeeded"), &json!(1), &expected)
        );
        assert_eq!(
            (&shown["log"][0]["status_code"], &shown["log"][0]["succeeded"]),
            (&json!(204), &json!(true))
        );
        assert_eq!((&shown["next_attempt_at"], &shown["seq"]), (&json!(null), &event["seq"]));
    }
    // Nothing is left to do.
    send(&courier(&t)).await;
    assert_eq!(receiver.arrivals().len(), 3);
    let health = t.get(&format!("/v1/webhooks/endpoints/{endpoint}")).await.ok()["health"].clone();
    assert_eq!(health, json!({"pending": 0, "unread": 0, "recent": ["succeeded", "succeeded", "succeeded"]}));
}

#[tokio::test]
async fn signature_covers_id_time_and_body() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    user(&t, "countess").await;
    t.clock.advance_ms(1_700);
    send(&courier(&t)).await;
    let secret = secrets(&t, &endpoint).await.remove(0);
    let arrival = receiver.take().remove(0);
    let now = latchkey_base::time::Clock::now(&*t.clock);
    assert_eq!(arrival.header("svix-timestamp"), now.seconds().to_string());
    assert!(is_genuine(&arrival, &secret));
    let mut changed = arrival.clone();
    *changed.body.last_mut().unwrap() = b' ';
    assert!(!is_genuine(&changed, &secret));
    for (name, value) in
        [("svix-id", "msg_other"), ("svix-timestamp", "1767225602"), ("svix-signature", "v1,AAAA")]
    {
        let mut changed = arrival.clone();
        changed.headers.insert(name.to_owned(), value.to_owned());
        assert!(!is_genuine(&changed, &secret), "{name}");
    }
    assert!(!is_genuine(&arrival, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"));
}

#[tokio::test]
async fn both_secrets_sign_while_one_takes_over() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let old = secrets(&t, &endpoint).await.remove(0);
    let path = format!("/v1/webhooks/endpoints/{endpoint}/secret/rotate");
    t.post(&path, json!({"expire_old_in_seconds": 60})).await.ok();
    let all = secrets(&t, &endpoint).await;
    assert_eq!((all.len(), &all[1]), (2, &old));
    user(&t, "first").await;
    send(&courier(&t)).await;
    t.clock.advance_ms(61 * SECOND_MS);
    user(&t, "second").await;
    send(&courier(&t)).await;
    let arrivals = receiver.arrivals();
    let signatures: Vec<usize> =
        arrivals.iter().map(|arrival| arrival.header("svix-signature").split(' ').count()).collect();
    assert_eq!(signatures, [2, 1]);
    assert!(is_genuine(&arrivals[0], &all[0]) && is_genuine(&arrivals[0], &old));
    assert!(is_genuine(&arrivals[1], &all[0]) && !is_genuine(&arrivals[1], &old));
}

#[tokio::test]
async fn each_endpoint_gets_the_kinds_it_wants_with_its_own_signature() {
    let t = TestServer::start().await;
    let (all, some, none) = (Receiver::start().await, Receiver::start().await, Receiver::start().await);
    let everything = endpoint(&t, &all).await;
    let few =
        endpoint_with(&t, json!({"url": some.url(), "event_types": ["user.deleted", "user.created"]})).await;
    let other = json!({"url": none.url(), "event_types": ["organization.created"]});
    let unconcerned = endpoint_with(&t, other).await;
    let (id, _) = user(&t, "countess").await;
    rename(&t, &id, "Ada").await;
    t.delete(&format!("/v1/users/{id}")).await.ok();
    send(&courier(&t)).await;
    let kinds = |receiver: &Receiver| -> Vec<String> {
        receiver.arrivals().iter().map(|it| it.json()["type"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(&all), ["user.created", "user.updated", "user.deleted"]);
    assert_eq!(kinds(&some), ["user.created", "user.deleted"]);
    assert_eq!(kinds(&none), Vec::<String>::new());
    let (mine, yours) = (secrets(&t, &everything).await.remove(0), secrets(&t, &few).await.remove(0));
    assert!(is_genuine(&all.arrivals()[0], &mine) && !is_genuine(&all.arrivals()[0], &yours));
    assert!(is_genuine(&some.arrivals()[0], &yours));
    // What it does not want is not in the way either.
    let shown = t.get(&format!("/v1/webhooks/endpoints/{unconcerned}")).await.ok();
    assert_eq!(shown["health"], json!({"pending": 0, "unread": 0, "recent": []}));
}

#[tokio::test]
async fn events_of_other_instances_stay_there() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    endpoint(&t, &receiver).await;
    let theirs = json!({"email_address": ["b@example.com"]});
    t.call(Some(&t.other), "POST", "/v1/users", Some(theirs)).await.ok();
    send(&courier(&t)).await;
    assert!(receiver.arrivals().is_empty());
}

#[tokio::test]
async fn many_events_arrive_once_and_in_order() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    endpoint(&t, &receiver).await;
    let (id, _) = user(&t, "countess").await;
    // More than one batch, and all about one user.
    for number in 0..300 {
        t.patch(&format!("/v1/users/{id}"), json!({"first_name": format!("Ada {number}")})).await.ok();
    }
    send(&courier(&t)).await;
    let all = feed_ids(&t).await;
    assert_eq!(all.len(), 301);
    assert_eq!(receiver.ids(), all);
}

//! Very many deliveries at once: they are changed in steps, and others write in between.

use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

use latchkey_base::kinds::WebhookEndpointId;
use latchkey_base::time::Clock as _;
use latchkey_events::webhooks::deliveries;
use latchkey_testkit::{Reaction, until, until_answered};

use super::*;

/// Gives a user so many events, copies of their first one, and an endpoint that gave all of them up. With a subject of its
/// own each, if `apart`.
async fn given_up(t: &TestServer, endpoint: &str, events: i64, apart: bool) {
    let numbers =
        "WITH RECURSIVE n (i) AS (SELECT CAST(2 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < $2) ";
    let subject = if apart { "subject_id || CAST(i AS TEXT)" } else { "subject_id" };
    let copied = format!(
        "INSERT INTO events (instance_id, seq, id, kind, subject_id, data, client_ip, user_agent, created_at) {numbers} \
         SELECT instance_id, i, substr(id, 1, length(id) - 6) || CAST(100000 + i AS TEXT), kind, {subject}, data, client_ip, \
         user_agent, created_at FROM events, n WHERE instance_id = $1 AND seq = 1"
    );
    let head = "UPDATE event_heads SET last_seq = $2 WHERE instance_id = $1";
    let passed = "UPDATE webhook_endpoints SET cursor_seq = $2 WHERE instance_id = $1";
    let failed = "INSERT INTO webhook_deliveries (instance_id, endpoint_id, seq, event_id, kind, subject_id, status, attempts, \
                  next_at, log, created_at, updated_at) SELECT instance_id, $2, seq, id, kind, subject_id, 'failed', 8, NULL, \
                  '[]', created_at, created_at FROM events WHERE instance_id = $1";
    // The user's event becomes the first one.
    let created = "DELETE FROM events WHERE instance_id = $1 AND kind = 'webhookEndpoint.created'";
    for sql in [created, "UPDATE events SET seq = 1 WHERE instance_id = $1"] {
        t.run_sql(sql, vec![(&t.tenant.id).into()]).await;
    }
    for sql in [copied.leak(), head, passed] {
        t.run_sql(sql, vec![(&t.tenant.id).into(), events.into()]).await;
    }
    t.run_sql(failed, vec![(&t.tenant.id).into(), endpoint.into()]).await;
    // As the database does by itself after a while.
    t.run_sql("ANALYZE webhook_deliveries", vec![]).await;
}

async fn total(t: &TestServer, endpoint: &str, query: &str) -> i64 {
    let list = t.get(&format!("/v1/webhooks/endpoints/{endpoint}/deliveries?limit=1{query}")).await.ok();
    list["total_count"].as_i64().unwrap()
}

async fn replay(t: &TestServer, endpoint: &str, body: Value) -> Value {
    t.post(&format!("/v1/webhooks/endpoints/{endpoint}/replay"), body).await.ok()["events"].clone()
}

#[tokio::test]
async fn very_many_about_one_user_are_sent_again_in_their_order() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    user(&t, "ann").await;
    given_up(&t, &endpoint, 1300, false).await;
    assert_eq!(replay(&t, &endpoint, json!({"since": 0, "only_failed": true})).await, 1300);
    assert_eq!(
        replay(&t, &endpoint, json!({"since": 0, "only_failed": true})).await,
        1300,
        "nothing arrived yet"
    );
    // The first is not taken at once; all others wait for it.
    receiver.react_next([Reaction::status(500)]);
    let courier = courier(&t);
    send(&courier).await;
    assert_eq!(receiver.take().len(), 1);
    t.clock.advance_ms(6 * SECOND_MS);
    send(&courier).await;
    let all: Vec<String> = t.events().await.into_iter().map(|event| event.id).collect();
    assert_eq!(all.len(), 1300);
    assert_eq!(receiver.ids(), all);
    assert_eq!(total(&t, &endpoint, "&status=succeeded").await, 1300);
}

#[tokio::test]
async fn very_many_that_wait_are_given_up_whoever_asks_for_it() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    user(&t, "ann").await;
    given_up(&t, &endpoint, 1300, true).await;
    replay(&t, &endpoint, json!({"since": 0, "only_failed": true})).await;
    assert_eq!(total(&t, &endpoint, "&status=pending").await, 1300);
    t.patch(&format!("/v1/webhooks/endpoints/{endpoint}"), json!({"skip_missed": true})).await.ok();
    assert_eq!(total(&t, &endpoint, "&status=failed").await, 1300);
    replay(&t, &endpoint, json!({"since": 0, "only_failed": true})).await;
    assert_eq!(replay(&t, &endpoint, json!({"since": 0})).await, 1300);
    send(&courier(&t)).await;
    assert_eq!(receiver.take().len(), 1300, "each once");
    assert_eq!(total(&t, &endpoint, "&status=succeeded").await, 1300);
}

/// The server ends after a step: what was not given up then is still sent.
#[tokio::test]
async fn what_was_given_up_in_part_holds_nothing_up() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let (ann, _) = user(&t, "ann").await;
    given_up(&t, &endpoint, 30, false).await;
    replay(&t, &endpoint, json!({"since": 0, "only_failed": true})).await;
    let (instance, id) = (t.tenant.id.clone(), WebhookEndpointId::parse(&endpoint).unwrap());
    let now = t.clock.now();
    let step = t.db().write(move |tx| {
        Box::pin(async move { deliveries::store::give_up(tx, &instance, &id, now, 20).await })
    });
    step.await.unwrap();
    assert_eq!(total(&t, &endpoint, "&status=pending").await, 10);
    let renamed = rename(&t, &ann, "Ann").await;
    send(&courier(&t)).await;
    let all: Vec<String> = t.events().await.into_iter().map(|event| event.id).collect();
    assert_eq!(receiver.ids(), [&all[..10], &[renamed]].concat());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_write_while_very_many_are_made_due() {
    let t = TestServer::start().await;
    let endpoint = endpoint(&t, &Receiver::start().await).await;
    user(&t, "ann").await;
    given_up(&t, &endpoint, 30_000, true).await;
    let path = format!("/v1/webhooks/endpoints/{endpoint}");
    tokio::join!(replay(&t, &endpoint, json!({"since": 0, "only_failed": true})), async {
        until_answered(async || t.get(&path).await.ok()["health"]["pending"] != 0).await;
        let user = json!({"username": "somebody_else"});
        t.call(Some(&t.other), "POST", "/v1/users", Some(user)).await.ok();
        assert!(total(&t, &endpoint, "&status=failed").await > 0, "it was done at once");
    });
    assert_eq!(total(&t, &endpoint, "&status=pending").await, 30_000);
}

/// The number of rows that a statement finds.
async fn count(t: &TestServer, sql: &str) -> i64 {
    let mut tx = t.db().read().await.unwrap();
    let sql = format!(
        "SELECT count(*) FROM webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id {sql}"
    );
    tx.maybe(&[&sql], &[t.clock.now().into()], |row| row.int(0)).await.unwrap().unwrap()
}

/// How many are due although their endpoint, taken back, comes to them again.
async fn due_again(t: &TestServer) -> i64 {
    count(t, "WHERE d.next_at <= $1 AND d.seq > e.cursor_seq").await
}

/// Otherwise each batch would look through all of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn very_many_that_are_due_wait_for_an_endpoint_that_comes_to_them_again() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    user(&t, "ann").await;
    given_up(&t, &endpoint, 1300, true).await;
    assert_eq!(replay(&t, &endpoint, json!({"since": 0, "only_failed": true})).await, 1300);
    // As if it were taken back to a time in the middle: those before it stay due.
    let back = "UPDATE webhook_endpoints SET cursor_seq = 300, cursor_moves = cursor_moves + 1 WHERE instance_id = $1";
    t.run_sql(back, vec![(&t.tenant.id).into()]).await;
    assert_eq!(due_again(&t).await, 1000);
    // The server is stopped when it has sent those, and some of what follows.
    let first = courier(&t);
    let (stopped, left) = (first.clone(), AtomicI64::new(600));
    receiver.react_by(move |_| {
        if left.fetch_sub(1, Relaxed) == 1 {
            stopped.stop();
        }
        Reaction::status(200)
    });
    send(&first).await;
    assert!(due_again(&t).await < 256);
    let arrived = total(&t, &endpoint, "&status=succeeded").await;
    assert_eq!(total(&t, &endpoint, "&status=pending").await, 1300 - arrived);
    assert_eq!(receiver.arrivals().len() as i64, arrived);
    receiver.react(Reaction::status(200));
    send(&courier(&t)).await;
    let mut all: Vec<String> = t.events().await.into_iter().map(|event| event.id).collect();
    let mut ids = receiver.ids();
    all.sort_unstable();
    ids.sort_unstable();
    assert_eq!(ids, all, "each once");
    assert_eq!(total(&t, &endpoint, "&status=succeeded").await, 1300);
}

/// An endpoint that was taken back, and served again when its events were not kept any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn very_many_that_wait_for_events_of_the_past_end_some_at_a_time() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    user(&t, "ann").await;
    given_up(&t, &endpoint, 45, true).await;
    assert_eq!(replay(&t, &endpoint, json!({"since": 0, "only_failed": true})).await, 45);
    assert_eq!(replay(&t, &endpoint, json!({"since": 0})).await, 45);
    t.run_sql("DELETE FROM events WHERE instance_id = $1 AND seq <= 42", vec![(&t.tenant.id).into()]).await;
    let parts = JobParts {
        answer_timeout: Duration::from_secs(20),
        events_at_once: 10,
        ..t.jobs_with(Options::default())
    };
    receiver.react_next([Reaction::Late(Duration::from_secs(2), 200)]);
    let courier = t.courier_of(&parts);
    tokio::join!(send(&courier), async {
        until(|| !receiver.arrivals().is_empty()).await;
        let left = count(&t, "WHERE d.status = 'pending' AND d.seq <= 42 AND d.created_at <= $1").await;
        assert!(left < 10, "{left} end with the first that is sent");
    });
    let all: Vec<String> = t.events().await.into_iter().map(|event| event.id).collect();
    let mut ids = receiver.ids();
    ids.sort_unstable();
    assert_eq!((ids.len(), ids), (3, all));
    assert_eq!(total(&t, &endpoint, "&status=succeeded").await, 3);
    assert_eq!(total(&t, &endpoint, "&status=failed").await, 42);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_who_delete_the_same_endpoint_leave_each_other_no_long_transaction() {
    let t = TestServer::start().await;
    let endpoint = endpoint(&t, &Receiver::start().await).await;
    user(&t, "ann").await;
    given_up(&t, &endpoint, 20_000, true).await;
    let path = format!("/v1/webhooks/endpoints/{endpoint}");
    let mut seen = Vec::new();
    let watched = async {
        while seen.last() != Some(&0) {
            seen.push(t.count_rows("webhook_deliveries").await);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let (first, second, ()) = tokio::join!(t.delete(&path), t.delete(&path), watched);
    let mut answers = [first.status, second.status];
    answers.sort_unstable();
    assert_eq!(answers, [200, 404]);
    assert!(seen.iter().any(|count| (1..10_000).contains(count)), "most went at once: {seen:?}");
}

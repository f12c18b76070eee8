//! Deleting users with very many tickets and sessions: that goes on in steps, and others write in between.

use std::time::Duration;

use latchkey_base::time::Clock as _;
use latchkey_testkit::{TestServer, until_answered};
use serde_json::json;

const MINUTE_MS: i64 = 60_000;

/// A user with so many tickets and, beside one that goes on, so many sessions that are over; returns the id.
async fn user_with(t: &TestServer, tickets: i64, sessions: i64) -> String {
    let id = t.user_with_email("ada@example.com").await;
    t.post("/v1/sign_in_tokens", json!({"user_id": id})).await.ok();
    let session = t.post("/v1/sessions", json!({"user_id": id})).await.ok();
    t.post(&format!("/v1/sessions/{}/revoke", session["id"].as_str().unwrap()), json!({})).await.ok();
    t.post("/v1/sessions", json!({"user_id": id})).await.ok();
    for (sql, count) in [
        (
            "INSERT INTO sign_in_tokens (instance_id, id, user_id, ticket_digest, status, created_at, updated_at, \
             expire_at) WITH RECURSIVE n (i) AS (SELECT CAST(2 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < $1) \
             SELECT instance_id, id || CAST(i AS TEXT), user_id, ticket_digest, status, created_at, updated_at, expire_at \
             FROM sign_in_tokens, n WHERE i <= $1",
            tickets,
        ),
        (
            "INSERT INTO sessions (instance_id, id, client_id, user_id, status, document, created_at, expire_at, \
             abandon_at, is_acted) WITH RECURSIVE n (i) AS (SELECT CAST(2 AS BIGINT) UNION ALL SELECT i + 1 FROM n \
             WHERE i < $1) SELECT instance_id, id || CAST(i AS TEXT), client_id, user_id, status, document, created_at, \
             expire_at, abandon_at, is_acted FROM sessions, n WHERE status = 'revoked' AND i <= $1",
            sessions,
        ),
    ] {
        t.run_sql(sql, vec![count.into()]).await;
    }
    id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_write_while_a_user_with_very_many_tickets_and_sessions_is_deleted() {
    let t = TestServer::start().await;
    let user = format!("/v1/users/{}", user_with(&t, 20_000, 20_000).await);
    let others_write = async {
        until_answered(async || t.count_rows("sign_in_tokens").await < 20_000).await;
        t.clock.advance_ms(10 * MINUTE_MS);
        let other = json!({"username": "somebody_else"});
        t.call(Some(&t.other), "POST", "/v1/users", Some(other)).await.ok();
        assert!(t.count_rows("sessions").await > 1000, "it was done at once");
    };
    // Whoever asked for it leaves in the middle; it goes on.
    tokio::select! {
        _ = t.delete(&user) => panic!("it was done at once"),
        () = others_write => {}
    }
    until_answered(async || t.get(&user).await.status == 404).await;
    let events = t.get("/v1/events?limit=500").await.ok();
    let last = events["data"].as_array().unwrap().last().unwrap();
    assert_eq!(last["type"], "user.deleted");
    // Whoever asks for what happened since some time gets what came last, too.
    assert_eq!(last["timestamp"], t.clock.now().ms(), "it happened when it was done");
    for table in ["sign_in_tokens", "sessions"] {
        assert_eq!(t.count_rows(table).await, 0, "{table}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_who_delete_the_same_user_leave_each_other_no_long_transaction() {
    let t = TestServer::start().await;
    let user = format!("/v1/users/{}", user_with(&t, 20_000, 1).await);
    let mut seen = Vec::new();
    let watched = async {
        while seen.last() != Some(&0) {
            seen.push(t.count_rows("sign_in_tokens").await);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let (first, second, ()) = tokio::join!(t.delete(&user), t.delete(&user), watched);
    let mut answers = [first.status, second.status];
    answers.sort_unstable();
    assert_eq!(answers, [200, 404]);
    assert!(seen.iter().any(|count| (1..10_000).contains(count)), "most went at once: {seen:?}");
}

/// The server may stop in between, and the user stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn few_tickets_stay_until_the_user_goes() {
    let t = TestServer::start().await;
    let user = format!("/v1/users/{}", user_with(&t, 3, 20_000).await);
    let watched = async {
        until_answered(async || t.count_rows("sessions").await < 20_000).await;
        let tickets = t.count_rows("sign_in_tokens").await;
        assert!(t.count_rows("sessions").await > 1000, "it was done at once");
        assert_eq!(tickets, 3);
    };
    tokio::join!(async { t.delete(&user).await.ok() }, watched);
    assert_eq!(t.count_rows("sign_in_tokens").await, 0);
}

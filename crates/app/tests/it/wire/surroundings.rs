//! Health, metrics, the OpenAPI document and the reference page.

use std::time::Duration;

use latchkey_app::GROUPS;
use latchkey_testkit::TestServer;
use serde_json::json;
use tokio::time::{advance, pause, resume};

#[tokio::test]
async fn health_and_readiness_answer_without_credentials() {
    let t = TestServer::start().await;
    for (path, text) in [("/healthz", "ok"), ("/readyz", "ready")] {
        let answer = t.call(None, "GET", path, None).await;
        assert_eq!((answer.status, &answer.bytes[..]), (200, text.as_bytes()), "{path}");
    }
}

/// On a full disk a tiny write may still fit, while writes of the product fail.
#[tokio::test]
async fn readiness_fails_for_ten_seconds_after_a_write_without_space() {
    // No operation lists the 503 of a database that cannot write.
    let t = TestServer::start().await.unchecked();
    let readiness = async || t.call(None, "GET", "/readyz", None).await.status;
    assert_eq!(readiness().await, 200);
    match t.db().engine() {
        "SQLite" => fill(&t).await,
        _ => {
            let full =
                "DO $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$";
            let write = t.db().write(move |tx| Box::pin(async move { Ok(tx.run(&[full], &[]).await?) }));
            assert_eq!(write.await.unwrap_err().status(), 503);
        }
    }
    assert_eq!(readiness().await, 503);
    pause();
    advance(Duration::from_secs(9)).await;
    resume();
    assert_eq!(readiness().await, 503);
    pause();
    advance(Duration::from_secs(2)).await;
    resume();
    assert_eq!(readiness().await, 200, "the tiny write fits");
}

/// Lets the database file grow no more, and creates users until one does not fit.
async fn fill(t: &TestServer) {
    let limit = t.db().write(|tx| {
        Box::pin(async move { Ok(tx.all(&["PRAGMA max_page_count = 1"], &[], |row| row.int(0)).await?) })
    });
    limit.await.unwrap();
    for number in 0..10_000 {
        let metadata = json!({"text": "x".repeat(4000)});
        let user =
            json!({"email_address": [format!("user{number}@example.com")], "public_metadata": metadata});
        match t.post("/v1/users", user).await {
            answer if answer.status == 503 => return answer.is_error(503, "service_unavailable"),
            answer => answer.ok(),
        };
    }
    panic!("the file still grows");
}

async fn metrics(t: &TestServer) -> String {
    let answer = t.call(None, "GET", "/metrics", None).await;
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").starts_with("text/plain"));
    String::from_utf8(answer.bytes).unwrap()
}

fn series(metrics: &str) -> Vec<&str> {
    let lines = metrics.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.rsplit_once(' ').unwrap().0).collect()
}

#[tokio::test]
async fn metrics_count_by_operation_and_status_class() {
    let t = TestServer::start().await;
    t.get("/v1/users").await.ok();
    t.get("/v1/users/nobody").await;
    t.call(Some(&t.tenant), "HEAD", "/v1/users", None).await;
    let text = metrics(&t).await;
    for line in [
        "latchkey_http_requests_total{operation=\"GetUserList\",status=\"2xx\"} 2",
        "latchkey_http_requests_total{operation=\"GetUser\",status=\"4xx\"} 1",
        "latchkey_http_request_duration_seconds_count{operation=\"GetUserList\"} 2",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
}

#[tokio::test]
async fn two_hundred_unknown_paths_add_no_series_to_the_metrics() {
    let t = TestServer::start().await;
    t.get("/v1/nowhere").await;
    t.get("/v1/users/nobody").await;
    t.call(Some(&t.tenant), "BREW", "/v1/users", None).await;
    metrics(&t).await;
    let before = metrics(&t).await;
    for number in 0..200 {
        t.get(&format!("/v1/nowhere/{number}")).await;
        t.get(&format!("/v1/users/user_{number:027}")).await;
        t.call(Some(&t.tenant), &format!("BREW{number}"), "/v1/users", None).await;
    }
    let after = metrics(&t).await;
    assert_eq!(series(&after), series(&before));
}

#[tokio::test]
async fn openapi_document_is_served_as_the_code_says() {
    let t = TestServer::start().await;
    let answer = t.call(None, "GET", "/openapi.json", None).await;
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.ok(), latchkey_app::document("http://127.0.0.1:3400", GROUPS));
}

#[tokio::test]
async fn reference_is_a_page_that_needs_nothing_from_elsewhere() {
    let t = TestServer::start().await;
    let answer = t.call(None, "GET", "/reference", None).await;
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").starts_with("text/html"));
    let page = String::from_utf8(answer.bytes).unwrap();
    assert!(page.contains("/openapi.json"));
    for foreign in ["src=\"http", "href=\"http", "src=\"//", "@import", "url(http"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}

#[tokio::test]
async fn metrics_count_what_waits_no_further_than_is_useful() {
    let t = TestServer::start().await;
    let instance = t.tenant.id.clone();
    let first = "INSERT INTO messages (instance_id, id, channel, recipient, slug, content_sealed, status, attempts, \
                 next_at, leased_until, created_at) VALUES ($1, 'm', 'email', '', '', $2, 'queued', 0, 1, 0, 0)";
    let copies = "INSERT INTO messages (instance_id, id, channel, recipient, slug, content_sealed, status, attempts, \
                  next_at, leased_until, created_at) \
                  WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10100) \
                  SELECT instance_id, id || CAST(n AS TEXT), channel, recipient, slug, content_sealed, status, \
                  attempts, next_at, leased_until, created_at FROM messages CROSS JOIN numbers";
    let written = t.db().write(move |tx| {
        Box::pin(async move {
            tx.run(&[first], &[(&instance).into(), vec![0_u8].into()]).await?;
            Ok(tx.run(&[copies], &[]).await?)
        })
    });
    assert_eq!(written.await.unwrap(), 10_100);
    let text = metrics(&t).await;
    assert!(text.contains("\nlatchkey_messages_waiting 10000\n"), "{text}");
}

//! What every error looks like.

use latchkey_testkit::TestServer;
use serde_json::json;

use super::{TEXT_MAX, ada, bearer, is_a_trace_id, is_an_error_body, post_raw, send};

#[tokio::test]
async fn every_error_has_the_same_body_and_its_trace_id_in_the_header() {
    let t = TestServer::start().await;
    let id = ada(&t).await;
    let answers = [
        t.call(None, "GET", "/v1/users", None).await,
        t.get("/v1/users/nobody").await,
        t.get("/v1/nowhere").await,
        t.delete("/v1/users").await,
        t.get("/v1/users?limit=0").await,
        t.get("/v1/users?limit=%zz").await,
        t.post("/v1/users", json!({})).await,
        t.post("/v1/users", json!({"surprise": 1, "username": 2, "banned": "no"})).await,
        t.post("/v1/users", json!({"username": "countess"})).await,
        post_raw(&t, "/v1/users", "{").await,
        post_raw(&t, "/v1/users", "x".repeat(TEXT_MAX + 1)).await,
        t.post(&format!("/v1/users/{id}/verify_password"), json!({"password": "x"})).await,
        t.get("/images/ins_0/img_0").await,
    ];
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [401, 404, 404, 405, 422, 400, 422, 422, 422, 400, 413, 400, 404]);
    answers.iter().for_each(is_an_error_body);
}

#[tokio::test]
async fn meta_is_left_out_when_there_is_nothing_to_say() {
    let t = TestServer::start().await;
    let unknown = t.get("/v1/users/nobody").await;
    assert_eq!(unknown.json["errors"][0].get("meta"), None);
    let invalid = t.get("/v1/users?limit=0").await;
    assert_eq!(invalid.json["errors"][0]["meta"], json!({"param_name": "limit"}));
}

#[tokio::test]
async fn all_problems_of_a_body_are_told_together() {
    let t = TestServer::start().await;
    let answer = t.post("/v1/users", json!({"surprise": 1, "username": 2, "banned": "no"})).await;
    assert_eq!(answer.json["errors"].as_array().unwrap().len(), 3, "{:#}", answer.json);
}

#[tokio::test]
async fn trace_ids_differ_and_are_on_successes_too() {
    let t = TestServer::start().await;
    let (first, second) = (t.get("/v1/users").await, t.get("/v1/users").await);
    is_a_trace_id(first.header("clerk-trace-id"));
    is_a_trace_id(second.header("clerk-trace-id"));
    assert_ne!(first.header("clerk-trace-id"), second.header("clerk-trace-id"));
}

#[tokio::test]
async fn content_type_is_exactly_application_json_whatever_is_asked_for() {
    let t = TestServer::start().await;
    let (id, key) = (ada(&t).await, bearer(&t));
    for accept in ["*/*", "application/json; charset=utf-8", "text/html", "application/xml"] {
        for path in [format!("/v1/users/{id}"), "/v1/users/nobody".to_owned(), "/v1/jwks".to_owned()] {
            let answer = send(&t, "GET", &path, &[("authorization", &key), ("accept", accept)], "").await;
            let types: Vec<_> = answer.headers.get_all("content-type").iter().collect();
            assert_eq!(types, ["application/json"], "{path} {accept}");
        }
    }
}

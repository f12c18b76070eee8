//! What every request and every answer has in common: credentials, versions, bodies, errors, headers.

mod answers;
mod bodies;
mod credentials;
mod errors;
mod routes;
mod surroundings;
mod values;
mod versions;

use axum::body::Body;
use axum::http::Request;
use axum::http::header::{HeaderName, HeaderValue};
use latchkey_testkit::{Answer, TestServer};
use serde_json::json;

/// Largest JSON body.
const TEXT_MAX: usize = 256 * 1024;

/// A request with exactly these headers.
async fn send(
    t: &TestServer,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Answer {
    let mut request = Request::builder().method(method).uri(path).body(body.into()).unwrap();
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        request.headers_mut().append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    t.send(request).await
}

fn bearer(t: &TestServer) -> String {
    format!("Bearer {}", t.tenant.key)
}

/// A JSON body sent as the development instance.
async fn post_raw(t: &TestServer, path: &str, body: impl Into<Body>) -> Answer {
    let key = bearer(t);
    send(t, "POST", path, &[("authorization", &key), ("content-type", "application/json")], body).await
}

/// A user with a name, made so that every snapshot sees the same ids.
async fn ada(t: &TestServer) -> String {
    let body = json!({
        "email_address": ["ada@example.com"], "phone_number": ["+14155550100"], "username": "countess",
        "first_name": "Ada", "last_name": "Lovelace", "public_metadata": {"role": "analyst"},
        "web3_wallet": ["0x71C7656EC7ab88b098defB751B7401B5f6d8976F"],
        "created_at": "2025-12-10T08:00:00.123Z", "external_id": "engine-1",
    });
    t.post("/v1/users", body).await.ok()["id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn is_an_error_body(answer: &Answer) {
    let body = answer.json.as_object().unwrap();
    assert_eq!(body.keys().collect::<Vec<_>>(), ["clerk_trace_id", "errors"]);
    let errors = body["errors"].as_array().unwrap();
    assert!(!errors.is_empty());
    for error in errors {
        for field in ["message", "long_message", "code"] {
            assert!(error[field].as_str().is_some_and(|text| !text.is_empty()), "{error:#}");
        }
        let meta = error.get("meta").map(|meta| meta.as_object().unwrap());
        assert!(meta.is_none_or(|meta| !meta.is_empty()), "{error:#}");
        let known = ["message", "long_message", "code", "meta"];
        assert!(error.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())), "{error:#}");
    }
    is_a_trace_id(body["clerk_trace_id"].as_str().unwrap());
    assert_eq!(answer.header("clerk-trace-id"), body["clerk_trace_id"].as_str().unwrap());
    assert_eq!(answer.header("content-type"), "application/json");
}

#[track_caller]
fn is_a_trace_id(text: &str) {
    assert_eq!(text.len(), 32, "{text}");
    assert!(text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)), "{text}");
}

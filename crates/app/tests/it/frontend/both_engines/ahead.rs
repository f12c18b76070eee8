//! What the gate reads ahead for the most frequent requests: as fresh as anything, and kept to its instance.

use axum::body::Body;
use axum::http::Request;
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::super::{sign_in, user};

#[tokio::test]
async fn what_a_backend_revokes_shows_in_the_next_request() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let session = sign_in(&mut browser, "ann@example.com").await;
    let tokens = format!("/v1/client/sessions/{session}/tokens");
    browser.post(&tokens, json!({})).await.ok();
    assert_eq!(browser.get("/v1/client").await.ok()["response"]["sessions"][0]["id"], session);
    t.post(&format!("/v1/sessions/{session}/revoke"), json!({})).await.ok();
    browser.post(&tokens, json!({})).await.is_error(401, "signed_out");
    assert_eq!(browser.get("/v1/client").await.ok()["response"]["sessions"], json!([]));
}

#[tokio::test]
async fn a_client_is_found_however_its_instance_is_and_nowhere_else() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let session = sign_in(&mut browser, "ann@example.com").await;
    let cookie = format!("__client={}", browser.cookies["__client"]);
    let by_proxy =
        |key: &str| vec![("host", "any.example.org".to_owned()), ("clerk-secret-key", key.to_owned())];
    let ways = [
        (vec![("host", t.tenant.frontend_api.clone())], true),
        (vec![("host", "localhost:3401".to_owned())], true),
        (by_proxy(&t.tenant.key), true),
        (by_proxy(&t.other.key), false),
        (vec![("host", t.other.frontend_api.clone())], false),
    ];
    for (headers, is_there) in ways {
        let ask = |method: &str, path: &str| {
            let mut request = Request::builder().method(method).uri(path).header("cookie", &cookie);
            for (name, value) in &headers {
                request = request.header(*name, value);
            }
            request.body(Body::empty()).unwrap()
        };
        let client = browser.send("GET", "/v1/client", ask("GET", "/v1/client")).await.ok();
        let shown = &client["response"]["sessions"][0]["id"];
        assert_eq!(*shown, if is_there { json!(session) } else { Value::Null }, "{headers:?}");
        let path = format!("/v1/client/sessions/{session}/tokens");
        let minted = browser.send("POST", &path, ask("POST", &path)).await;
        match is_there {
            true => assert_eq!(minted.ok()["object"], "token"),
            false => minted.is_error(401, "signed_out"),
        };
    }
}

#[tokio::test]
async fn a_secret_from_before_the_last_sign_in_opens_nothing() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    sign_in(&mut browser, "ann@example.com").await;
    let old = browser.cookies["__client"].clone();
    browser.delete("/v1/client/sessions").await.ok();
    let session = sign_in(&mut browser, "ann@example.com").await;
    browser.cookies.insert("__client".to_owned(), old);
    assert_eq!(browser.get("/v1/client").await.ok()["response"], Value::Null);
    let path = format!("/v1/client/sessions/{session}/tokens");
    browser.post(&path, json!({})).await.is_error(401, "signed_out");
}

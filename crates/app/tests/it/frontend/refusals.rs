//! Refusals tell of the client wherever they are made: scripts take it from every answer.

use latchkey_testkit::TestServer;
use serde_json::json;

use super::{sign_in, user};

const NO_ID: &str = "nothing_of_this_kind";

#[tokio::test]
async fn forms_that_cannot_be_read_and_unknown_ids_are_refused_with_the_client() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let session = sign_in(&mut browser, "ann@example.com").await;
    let sign_in = format!("/v1/client/sign_ins/{NO_ID}");
    let refusals = [
        (422, "POST", "/v1/me/email_addresses".to_owned()),
        (422, "POST", "/v1/me/phone_numbers".to_owned()),
        (422, "POST", "/v1/me/totp/attempt_verification".to_owned()),
        (422, "POST", "/v1/me/change_password".to_owned()),
        (422, "PATCH", "/v1/me/metadata".to_owned()),
        (422, "POST", format!("/v1/client/sessions/{session}/verify")),
        (404, "GET", format!("/v1/me/email_addresses/{NO_ID}")),
        (404, "POST", format!("/v1/me/sessions/{NO_ID}/revoke")),
        (404, "GET", sign_in.clone()),
        (404, "POST", format!("{sign_in}/prepare_first_factor")),
        (404, "GET", format!("/v1/client/sign_ups/{NO_ID}")),
        (404, "POST", format!("/v1/client/sessions/{NO_ID}/touch")),
    ];
    for (status, method, path) in refusals {
        let refused = match method {
            "GET" => browser.get(&path).await,
            "PATCH" => browser.patch(&path, json!({})).await,
            _ => browser.post(&path, json!({})).await,
        };
        assert_eq!(refused.status, status, "{method} {path}: {:#}", refused.json);
        let shown = &refused.json["meta"]["client"]["sessions"][0]["id"];
        assert_eq!(*shown, json!(session), "{method} {path}");
    }
}

#[tokio::test]
async fn steps_of_a_sign_in_that_lack_something_are_refused_with_the_client() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let begun = browser.post("/v1/client/sign_ins", json!({"identifier": "ann@example.com"})).await.ok();
    let id = &begun["response"]["id"];
    for step in ["prepare_first_factor", "attempt_first_factor", "attempt_second_factor", "reset_password"] {
        let path = format!("/v1/client/sign_ins/{}/{step}", id.as_str().unwrap());
        let refused = browser.post(&path, json!({})).await;
        assert_eq!(refused.status, 422, "{step}: {:#}", refused.json);
        assert_eq!(refused.json["meta"]["client"]["sign_in"]["id"], *id, "{step}");
    }
}

#[tokio::test]
async fn nobody_is_told_of_a_client_they_do_not_prove() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    sign_in(&mut browser, "ann@example.com").await;
    let cookie = browser.cookies["__client"].clone();
    browser.delete("/v1/client/sessions").await.ok();
    sign_in(&mut browser, "ann@example.com").await;
    let mut thief = t.browser();
    for cookie in [None, Some(cookie)] {
        thief.cookies.extend(cookie.map(|cookie| ("__client".to_owned(), cookie)));
        let refused = thief.get(&format!("/v1/client/sign_ins/{NO_ID}")).await;
        assert!(refused.json["meta"].is_null(), "{:#}", refused.json);
    }
}

//! Clients: how a browser comes to have one, keeps it and loses it.

use std::sync::Arc;

use latchkey_testkit::TestServer;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{claims, sign_in, user};

#[tokio::test]
async fn a_browser_without_client_has_none_until_somebody_does_something() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    assert_eq!(browser.get("/v1/client").await.ok(), json!({ "response": null, "client": null }));
    let made = browser.post("/v1/client", json!({})).await.ok();
    assert_eq!(made["response"]["object"], "client");
    assert!(browser.cookies.contains_key("__client"));
    let again = browser.get("/v1/client").await.ok();
    assert_eq!(again["response"]["id"], made["response"]["id"]);
}

#[tokio::test]
async fn a_developers_browser_is_known_by_its_token_alone() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let token = browser.post("/v1/dev_browser", json!({})).await.ok()["id"].as_str().unwrap().to_owned();
    browser.dev_browser = Some(token);
    let client = browser.get("/v1/client").await.ok();
    assert_eq!(client["response"]["object"], "client");
    let session = sign_in(&mut browser, "ann@example.com").await;
    // Another browser with the same token, but without cookies, is the same client.
    let mut twin = t.browser();
    twin.dev_browser = browser.dev_browser.clone();
    let seen = twin.get("/v1/client").await.ok();
    assert_eq!(seen["response"]["last_active_session_id"], session);
    assert_eq!(seen["response"]["id"], client["response"]["id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_developers_browser_that_asks_many_times_at_once_gets_one_client() {
    let t = Arc::new(TestServer::start().await);
    let token = t.browser().post("/v1/dev_browser", json!({})).await.ok()["id"].as_str().unwrap().to_owned();
    let mut tasks = JoinSet::new();
    for _ in 0..32 {
        let (t, token) = (t.clone(), token.clone());
        tasks.spawn(async move {
            let mut browser = t.browser();
            browser.dev_browser = Some(token);
            browser.get("/v1/client").await.ok()["response"]["id"].clone()
        });
    }
    let mut seen = tasks.join_all().await;
    assert!(seen[0].is_string());
    seen.dedup();
    assert_eq!(seen.len(), 1, "{seen:?}");
}

#[tokio::test]
async fn an_unknown_developers_browser_is_told_so() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    browser.dev_browser = Some("dvb_nobody".into());
    browser.get("/v1/client").await.is_error(401, "dev_browser_unauthenticated");
}

#[tokio::test]
async fn production_has_no_developers_browsers() {
    let t = TestServer::start().await;
    let mut browser = t.browser_at(&t.other);
    browser.origin = None;
    let refused = browser.post("/v1/dev_browser", json!({})).await;
    refused.is_error(400, "url_based_session_syncing_disabled");
}

#[tokio::test]
async fn frame_tells_a_developers_browser_to_the_page_around_it_and_to_no_other() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    sign_in(&mut browser, "ann@example.com").await;
    let path =
        "/v1/dev_browser/init?origin=http%3A%2F%2Flocalhost%3A3000&redirect=http%3A%2F%2Flocalhost%3A3000%2F";
    let answer = browser.get(path).await;
    assert_eq!((answer.status, answer.header("cache-control")), (200, "no-store"));
    assert!(answer.header("content-security-policy").ends_with("frame-ancestors http://localhost:3000"));
    let html = String::from_utf8(answer.bytes).unwrap();
    let (_, told) = html.split_once("postMessage({ browserToken: \"").unwrap();
    let (token, to) = told.split_once("\" }, \"").unwrap();
    assert!(to.starts_with("http://localhost:3000\")"), "{to}");
    // It is good for signing in, but nobody is signed in with it.
    let mut framed = t.browser();
    framed.dev_browser = Some(token.to_owned());
    assert_eq!(framed.get("/v1/client").await.ok()["response"]["sessions"], json!([]));
}

#[tokio::test]
async fn frame_has_nothing_for_what_is_no_origin_and_nothing_on_production() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    for origin in ["*", "null", "", "http://localhost:3000/", "https://a.com%22%2Balert(1)", "javascript:a"] {
        let answer = browser.get(&format!("/v1/dev_browser/init?origin={origin}")).await;
        answer.is_problem(400, "origin_invalid", "origin");
    }
    let plain = browser.get("/v1/dev_browser/init").await.ok();
    assert_eq!(plain["object"], "dev_browser");
    let mut browser = t.browser_at(&t.other);
    browser.origin = None;
    let refused = browser.get("/v1/dev_browser/init?origin=https%3A%2F%2Fevil.example").await;
    refused.is_error(400, "url_based_session_syncing_disabled");
}

#[tokio::test]
async fn the_token_of_a_client_changes_when_somebody_signs_in() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    browser.post("/v1/client", json!({})).await.ok();
    let planted = browser.cookies["__client"].clone();
    sign_in(&mut browser, "ann@example.com").await;
    assert_ne!(browser.cookies["__client"], planted);
    // Whoever planted the first token sees nobody signed in.
    let mut attacker = t.browser();
    attacker.cookies.insert("__client".into(), planted);
    assert_eq!(attacker.get("/v1/client").await.ok()["response"], Value::Null);
}

#[tokio::test]
async fn a_forged_client_token_is_worth_nothing() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    sign_in(&mut browser, "ann@example.com").await;
    let id = claims(&browser.cookies["__client"])["id"].as_str().unwrap().to_owned();
    for token in
        ["", "a.b.c", "...", &format!("e30.{}.x", encoded(&json!({"id": id, "rotating_token": "x"})))]
    {
        let mut forger = t.browser();
        forger.cookies.insert("__client".into(), token.to_owned());
        assert_eq!(forger.get("/v1/client").await.ok()["response"], Value::Null, "{token}");
    }
    // Nor does the token of one instance open another.
    let mut stranger = t.browser_at(&t.other);
    stranger.origin = None;
    stranger.cookies = browser.cookies.clone();
    assert_eq!(stranger.get("/v1/client").await.ok()["response"], Value::Null);
}

fn encoded(value: &Value) -> String {
    use base64::Engine;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(value.to_string())
}

#[tokio::test]
async fn signing_out_keeps_the_client_and_its_id() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let session = sign_in(&mut browser, "ann@example.com").await;
    let before = browser.get("/v1/client").await.ok();
    let after = browser.delete("/v1/client/sessions").await.ok();
    assert_eq!(after["response"]["id"], before["response"]["id"]);
    assert_eq!(after["response"]["sessions"], json!([]));
    assert_eq!(after["response"]["last_active_session_id"], Value::Null);
    assert_eq!(after["client"], Value::Null);
    let seen = t.get(&format!("/v1/sessions/{session}")).await.ok();
    assert_eq!(seen["status"], "removed");
}

#[tokio::test]
async fn destroying_the_client_takes_its_cookie_away() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let session = sign_in(&mut browser, "ann@example.com").await;
    let old = browser.cookies["__client"].clone();
    assert_eq!(browser.delete("/v1/client").await.ok(), json!({ "response": null, "client": null }));
    assert!(!browser.cookies.contains_key("__client"));
    browser.cookies.insert("__client".into(), old);
    assert_eq!(browser.get("/v1/client").await.ok()["response"], Value::Null);
    assert_eq!(t.get(&format!("/v1/sessions/{session}")).await.ok()["status"], "ended");
}

#[tokio::test]
async fn native_clients_keep_their_token_in_a_header() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut device = t.browser();
    device.origin = None;
    let form = json!({ "identifier": "ann@example.com", "password": super::PASSWORD });
    let answer = device.post("/v1/client/sign_ins?_is_native=true", form).await;
    let token = answer.header("authorization").to_owned();
    assert!(!token.is_empty() && device.cookies.is_empty());
    let ask = |origin: Option<&str>| {
        let mut request = axum::http::Request::get("/v1/client?_is_native=true")
            .header("host", &t.tenant.frontend_api)
            .header("authorization", &token);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        request.body(axum::body::Body::empty()).unwrap()
    };
    let seen = device.send("GET", "/v1/client", ask(None)).await.ok();
    assert_eq!(seen["response"]["sessions"][0]["status"], "active");
    let refused = device.send("GET", "/v1/client", ask(Some("http://localhost:3000"))).await;
    refused.is_error(400, "origin_authorization_headers_conflict");
    let mut delete = ask(None);
    *delete.method_mut() = axum::http::Method::DELETE;
    let gone = device.send("DELETE", "/v1/client", delete).await;
    assert_eq!(
        (gone.status, gone.headers.get("authorization").map(|value| value.as_bytes())),
        (200, Some(&b""[..]))
    );
    assert!(gone.headers.get("set-cookie").is_none());
    assert_eq!(device.send("GET", "/v1/client", ask(None)).await.ok()["response"], Value::Null);
}

/// A browser that has the token of a developer's browser, and a client by it.
async fn developers(t: &TestServer) -> latchkey_testkit::Browser<'_> {
    let mut browser = t.browser();
    let made = browser.post("/v1/dev_browser", json!({})).await.ok();
    browser.dev_browser = Some(made["id"].as_str().unwrap().to_owned());
    browser.get("/v1/client").await.ok();
    browser
}

#[tokio::test]
async fn the_token_of_a_developers_browser_changes_at_sign_in_and_the_old_one_opens_nothing() {
    let t = TestServer::start().await;
    super::user(&t, "ann@example.com").await;
    let mut browser = developers(&t).await;
    let old = browser.dev_browser.clone();
    let form = json!({ "identifier": "ann@example.com", "password": super::PASSWORD });
    let answer = browser.post("/v1/client/sign_ins", form).await;
    let new = answer.header("clerk-db-jwt").to_owned();
    assert!(new.starts_with("dvb_") && Some(&new) != old.as_ref(), "{new}");
    let id = answer.ok()["client"]["id"].clone();
    // The new one shows the client, without any cookie.
    browser.cookies.clear();
    let seen = browser.get("/v1/client").await.ok();
    assert_eq!((&seen["response"]["id"], seen["response"]["sessions"].as_array().unwrap().len()), (&id, 1));
    let mut attacker = t.browser();
    attacker.dev_browser = old;
    is_empty(&mut attacker, &id).await;
}

/// Asserts that a browser sees another client than this one, and nobody in it.
async fn is_empty(browser: &mut latchkey_testkit::Browser<'_>, id: &Value) {
    let seen = browser.get("/v1/client").await.ok();
    assert_ne!(&seen["response"]["id"], id);
    assert_eq!(seen["response"]["sessions"], json!([]));
}

/// Scripts keep the token in the memory of each tab, and share the cookies.
#[tokio::test]
async fn another_tab_of_a_developers_browser_is_signed_in_with_it() {
    let t = TestServer::start().await;
    super::user(&t, "ann@example.com").await;
    let mut first = developers(&t).await;
    let mut second = t.browser();
    second.dev_browser = first.dev_browser.clone();
    let session = super::sign_in(&mut first, "ann@example.com").await;
    second.cookies = first.cookies.clone();
    let seen = second.get("/v1/client").await;
    assert!(seen.headers.get("set-cookie").is_none(), "{:?}", seen.headers);
    assert_eq!(seen.ok()["response"]["sessions"][0]["id"], session.as_str());
    second.post(&format!("/v1/client/sessions/{session}/touch"), json!({})).await.ok();
    // Without cookies it is signed out, and the first one is not.
    second.cookies.clear();
    assert_eq!(second.get("/v1/client").await.ok()["response"]["sessions"], json!([]));
    first.cookies.clear();
    assert_eq!(first.get("/v1/client").await.ok()["response"]["sessions"][0]["id"], session.as_str());
}

#[tokio::test]
async fn a_client_that_another_tab_deletes_is_gone_in_all() {
    let t = TestServer::start().await;
    super::user(&t, "ann@example.com").await;
    let mut first = developers(&t).await;
    let mut second = t.browser();
    second.dev_browser = first.dev_browser.clone();
    super::sign_in(&mut first, "ann@example.com").await;
    let id = first.get("/v1/client").await.ok()["response"]["id"].clone();
    second.cookies = first.cookies.clone();
    second.delete("/v1/client").await.ok();
    first.cookies.clear();
    is_empty(&mut first, &id).await;
}

#[tokio::test]
async fn every_token_that_led_to_the_client_before_the_sign_in_ends_with_it() {
    let t = TestServer::start().await;
    super::user(&t, "ann@example.com").await;
    let mut attacker = developers(&t).await;
    // A second token of the same client, which a handshake gives to a browser that shows the cookie alone.
    let mut second = t.browser();
    second.cookies = attacker.cookies.clone();
    let path = "/v1/client/handshake?redirect_url=http%3A%2F%2Flocalhost%3A3000%2F&format=nonce";
    let location = second.open(path).await.header("location").to_owned();
    let nonce = location.split_once("__clerk_handshake_nonce=").unwrap().1;
    let left = t.get(&format!("/v1/clients/handshake_payload?nonce={nonce}")).await.ok();
    let lines: Vec<String> = serde_json::from_value(left["directives"].clone()).unwrap();
    let token = lines.iter().find_map(|line| line.strip_prefix("__clerk_db_jwt=")).unwrap();
    second.dev_browser = Some(token.split(';').next().unwrap().to_owned());
    second.cookies.clear();
    let same = second.get("/v1/client").await.ok()["response"]["id"].clone();
    assert_eq!(same, attacker.get("/v1/client").await.ok()["response"]["id"]);
    // The victim was made to use the first one.
    let mut victim = t.browser();
    victim.dev_browser = attacker.dev_browser.clone();
    super::sign_in(&mut victim, "ann@example.com").await;
    for browser in [&mut second, &mut attacker] {
        browser.cookies.clear();
        is_empty(browser, &same).await;
    }
}

#[tokio::test]
async fn a_developers_browser_that_shows_a_cookie_gets_the_new_token_there() {
    let t = TestServer::start().await;
    super::user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    browser.patch("/v1/environment", json!({})).await.ok();
    let old = browser.cookies["__clerk_db_jwt"].clone();
    super::sign_in(&mut browser, "ann@example.com").await;
    assert_ne!(browser.cookies["__clerk_db_jwt"], old);
    let mut twin = t.browser();
    twin.dev_browser = Some(browser.cookies["__clerk_db_jwt"].clone());
    assert_eq!(twin.get("/v1/client").await.ok()["response"]["sessions"].as_array().unwrap().len(), 1);
}

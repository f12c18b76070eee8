//! The token that comes along with a client: signed once while it would say the same, never older than ten seconds,
//! and never one that says something else.

use axum::body::Body;
use axum::http::Request;
use latchkey_base::time::Clock;
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Browser, TestServer};
use serde_json::{Value, json};

use super::{claims, sign_in, user};

/// The token of the first session of a client.
async fn token(browser: &mut Browser<'_>) -> String {
    let client = browser.get("/v1/client").await.ok();
    client["response"]["sessions"][0]["last_active_token"]["jwt"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_page_that_asks_for_its_client_again_gets_the_same_token_for_ten_seconds() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    let session = sign_in(&mut browser, "ann@example.com").await;
    let first = token(&mut browser).await;
    for _ in 0..3 {
        t.clock.advance_ms(3000);
        assert_eq!(token(&mut browser).await, first);
        // What is asked for by itself is new each time.
        let minted = browser.post(&format!("/v1/client/sessions/{session}/tokens"), json!({})).await.ok();
        let again = browser.post(&format!("/v1/client/sessions/{session}/tokens"), json!({})).await.ok();
        assert_ne!(minted["jwt"], first);
        assert_ne!(minted["jwt"], again["jwt"]);
    }
    t.clock.advance_ms(1000);
    let next = token(&mut browser).await;
    assert_ne!(next, first);
    assert_eq!(claims(&next)["iat"].as_i64(), Some(t.clock.now().seconds()));
    // The clock is set back: a token from the future is refused by everybody.
    t.clock.advance_ms(3_600_000);
    token(&mut browser).await;
    t.clock.advance_ms(-1_800_000);
    assert_eq!(claims(&token(&mut browser).await)["iat"].as_i64(), Some(t.clock.now().seconds()));
}

#[tokio::test]
async fn whatever_a_token_says_is_said_anew_when_it_changes() {
    let mut settings = Settings::default();
    settings.session.single_session = false;
    settings.session.token_claims =
        json!({ "team": "{{user.public_metadata.team}}" }).as_object().unwrap().clone();
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let ann = user(&t, "ann@example.com").await;
    user(&t, "ben@example.com").await;
    let mut browser = t.browser();
    sign_in(&mut browser, "ann@example.com").await;
    let mut seen = vec![token(&mut browser).await];
    let is_new = |seen: &mut Vec<String>, token: String, what: &str| {
        assert!(!seen.contains(&token), "{what}");
        seen.push(token);
    };

    let path = format!("/v1/users/{}/metadata", ann["id"].as_str().unwrap());
    t.patch(&path, json!({ "public_metadata": { "team": "blue" } })).await.ok();
    let blue = token(&mut browser).await;
    assert_eq!(claims(&blue)["team"], "blue");
    is_new(&mut seen, blue, "a claim of the application");

    browser.origin = Some("http://localhost:4000".to_owned());
    let other = token(&mut browser).await;
    assert_eq!(claims(&other)["azp"], "http://localhost:4000");
    is_new(&mut seen, other, "the page that asks");

    let older = browser.get("/v1/client?__clerk_api_version=2024-10-01").await.ok();
    let older = older["response"]["sessions"][0]["last_active_token"]["jwt"].as_str().unwrap().to_owned();
    assert_eq!(claims(&older)["v"], Value::Null);
    is_new(&mut seen, older, "the version");

    // Backends take a token for stale that is older than the last change of the client.
    t.clock.advance_ms(2000);
    let ben = sign_in(&mut browser, "ben@example.com").await;
    let client = browser.get("/v1/client").await.ok();
    let changed_at = client["response"]["updated_at"].as_i64().unwrap() / 1000;
    for session in client["response"]["sessions"].as_array().unwrap() {
        let token = session["last_active_token"]["jwt"].as_str().unwrap();
        assert!(claims(token)["iat"].as_i64().unwrap() >= changed_at);
        assert_eq!(claims(token)["sid"], session["id"], "each has its own");
        is_new(&mut seen, token.to_owned(), "a change of the client");
    }

    t.post(&format!("/v1/sessions/{ben}/revoke"), json!({})).await.ok();
    let left = browser.get("/v1/client").await.ok();
    assert_eq!(left["response"]["sessions"].as_array().unwrap().len(), 1, "a revoked session has no token");
}

#[tokio::test]
async fn tokens_of_one_instance_are_not_handed_out_by_another() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    sign_in(&mut browser, "ann@example.com").await;
    token(&mut browser).await;
    let request = Request::get("/v1/client?__clerk_api_version=2026-05-12")
        .header("host", &t.other.frontend_api)
        .header("cookie", format!("__client={}", browser.cookies["__client"]));
    let elsewhere = browser.send("GET", "/v1/client", request.body(Body::empty()).unwrap()).await;
    assert_eq!(elsewhere.ok()["response"], Value::Null);
}

#[tokio::test]
async fn the_oldest_session_of_a_client_gives_way_to_one_too_many() {
    let mut settings = Settings::default();
    settings.session.single_session = false;
    settings.session.max_per_client = 3;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let (mut browser, mut elsewhere, mut sessions) = (t.browser(), t.browser(), Vec::new());
    for number in 0..5 {
        let email = format!("person{number}@example.com");
        user(&t, &email).await;
        t.clock.advance_ms(1000);
        sessions.push(sign_in(&mut browser, &email).await);
    }
    sign_in(&mut elsewhere, "person0@example.com").await;
    let client = browser.get("/v1/client").await.ok();
    let listed = client["response"]["sessions"].as_array().unwrap().iter();
    assert_eq!(listed.map(|session| session["id"].as_str().unwrap()).collect::<Vec<_>>(), sessions[2..]);
    for (at, session) in sessions.iter().enumerate() {
        let status = t.get(&format!("/v1/sessions/{session}")).await.ok()["status"].take();
        assert_eq!(status, if at < 2 { "replaced" } else { "active" });
    }
    let events = t.events().await;
    let ended = events.iter().filter(|event| event.kind == "session.ended");
    let over: Vec<&str> = ended.map(|event| event.data["id"].as_str().unwrap()).collect();
    assert_eq!(over, sessions[..2], "each has its event, and the other browser lost nothing");
}

#[test]
fn a_client_holds_25_sessions_unless_told_otherwise() {
    assert_eq!(Settings::default().session.max_per_client, 25);
}

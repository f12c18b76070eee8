//! Who asks is judged when the work is done, not when the head of a request came: senders can hold back a body, and
//! requests overtake each other.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::Request;
use bytes::Bytes;
use futures_util::future::join_all;
use http_body_util::channel::Channel;
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Answer, Browser, TestServer};
use serde_json::json;

use super::{PASSWORD, sign_in, user};

/// Sends a form whose last part comes only after something else was done.
async fn held_back(
    (t, browser): (&TestServer, &mut Browser<'_>),
    method: &str,
    uri: &str,
    form: &'static str,
    meanwhile: impl Future<Output = ()>,
) -> Answer {
    let (mut sender, body) = Channel::<Bytes, Infallible>::new(1);
    let cookies = browser.cookies.iter().map(|(name, value)| format!("{name}={value}"));
    let request = Request::builder()
        .method(method)
        .uri(uri)
        .header("host", &t.tenant.frontend_api)
        .header("origin", "http://localhost:3000")
        .header("cookie", cookies.collect::<Vec<_>>().join("; "))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::new(body))
        .unwrap();
    let send = async move {
        let (first, rest) = form.split_at(4);
        sender.send_data(Bytes::from_static(first.as_bytes())).await.unwrap();
        let (second, rest) = rest.split_at(1);
        // There is room for it when the first part was read.
        sender.send_data(Bytes::from_static(second.as_bytes())).await.unwrap();
        meanwhile.await;
        sender.send_data(Bytes::from_static(rest.as_bytes())).await.unwrap();
    };
    tokio::join!(browser.send(method, uri, request), send).0
}

#[tokio::test]
async fn whoever_was_signed_out_while_a_body_was_held_back_changes_nothing() {
    let t = TestServer::start().await;
    let ann = user(&t, "ann@example.com").await;
    let id = ann["id"].as_str().unwrap();
    for way in ["revoke", "ban"] {
        let mut browser = t.browser();
        let session = sign_in(&mut browser, "ann@example.com").await;
        let path = match way {
            "ban" => format!("/v1/users/{id}/ban"),
            _ => format!("/v1/sessions/{session}/revoke"),
        };
        let uri = format!("/v1/me?_clerk_session_id={session}");
        let out = async { _ = t.post(&path, json!({})).await.ok() };
        let answer = held_back((&t, &mut browser), "PATCH", &uri, "first_name=Late", out).await;
        assert_eq!(answer.status, 401, "{way}");
        assert_ne!(t.get(&format!("/v1/users/{id}")).await.ok()["first_name"], "Late", "{way}");
    }
}

#[tokio::test]
async fn a_token_of_a_developers_browser_that_ended_while_a_body_was_held_back_shows_nothing() {
    let t = TestServer::start().await;
    user(&t, "ann@example.com").await;
    user(&t, "eve@example.com").await;
    let mut attacker = t.browser();
    let token = attacker.post("/v1/dev_browser", json!({})).await.ok()["id"].as_str().unwrap().to_owned();
    attacker.dev_browser = Some(token.clone());
    attacker.get("/v1/client").await.ok();
    attacker.cookies.clear();
    let mut victim = t.browser();
    victim.dev_browser = Some(token.clone());
    let uri = format!("/v1/client/sign_ins?__clerk_db_jwt={token}");
    let enters = async { _ = sign_in(&mut victim, "ann@example.com").await };
    let answer = held_back((&t, &mut attacker), "POST", &uri, "identifier=eve%40example.com", enters).await;
    let answer = answer.ok();
    let (client, of_victim) =
        (&answer["client"], victim.get("/v1/client").await.ok()["response"]["id"].clone());
    assert!(client["sessions"] == json!([]) && client["id"] != of_victim, "{answer}");
}

#[tokio::test]
async fn of_many_who_sign_in_at_once_by_one_token_nobody_gets_the_client_of_another() {
    let mut settings = Settings::default();
    settings.session.single_session = false;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut first = t.browser();
    let token = first.post("/v1/dev_browser", json!({})).await.ok()["id"].as_str().unwrap().to_owned();
    first.dev_browser = Some(token.clone());
    first.get("/v1/client").await.ok();
    for number in 0..6 {
        user(&t, &format!("person{number}@example.com")).await;
    }
    let entering = (0..6).map(|number| {
        let mut browser = t.browser();
        browser.dev_browser = Some(token.clone());
        async move {
            let form = json!({ "identifier": format!("person{number}@example.com"), "password": PASSWORD });
            browser.post("/v1/client/sign_ins", form).await
        }
    });
    let answers = join_all(entering).await;
    // The token led to the client of the first only; the others got one of their own.
    let session =
        |answer: &Answer| answer.json["response"]["created_session_id"].as_str().unwrap().to_owned();
    for (number, answer) in answers.iter().enumerate() {
        let text = String::from_utf8_lossy(&answer.bytes);
        for (other, own) in answers.iter().map(session).enumerate() {
            assert_eq!(text.contains(&own), number == other, "{number}, {other}: {text}");
        }
    }
}

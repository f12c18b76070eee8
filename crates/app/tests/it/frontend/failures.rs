//! Answers that fail after somebody signed in. The secret the browser had before opens nothing then, so the
//! failure must bring the new one. What fails here are tokens that would be too large.

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_kernel::strategy::Strategy;
use latchkey_testkit::{Answer, Browser, TestServer};
use serde_json::{Value, json};

const EMAIL: &str = "ada@example.com";
const PASSWORD: &str = "Correct-horse-battery-42";

/// A server whose tokens carry the metadata of a user several times, and a user with many.
async fn overfull() -> (TestServer, String) {
    let mut settings = Settings::default();
    let claim = |number: u32| (format!("m{number}"), json!("{{user.public_metadata}}"));
    settings.session.token_claims = (0..6).map(claim).collect();
    settings.attributes.email_address.first_factors.push(Strategy::EmailLink);
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let metadata = json!({"text": "x".repeat(7000)});
    let user = json!({"email_address": [EMAIL], "password": PASSWORD, "public_metadata": metadata});
    let id = t.user(user).await["id"].as_str().unwrap().to_owned();
    (t, id)
}

/// Checks that an answer failed and the browser is signed in nevertheless, once tokens can be made again.
async fn is_signed_in(t: &TestServer, user: &str, browser: &mut Browser<'_>, failed: Answer, before: &str) {
    failed.is_error(422, "form_param_exceeds_allowed_size");
    assert_ne!(browser.cookies["__client"], before);
    t.patch(&format!("/v1/users/{user}/metadata"), json!({"public_metadata": {"text": null}})).await.ok();
    let client = browser.get("/v1/client").await.ok()["response"].take();
    assert_eq!(client["sessions"].as_array().map(Vec::len), Some(1), "{client}");
}

#[tokio::test]
async fn a_new_secret_goes_out_although_the_answer_fails() {
    let (t, user) = overfull().await;
    let mut browser = t.browser();
    browser.post("/v1/client", json!({})).await.ok();
    let before = browser.cookies["__client"].clone();
    let fields = json!({"identifier": EMAIL, "password": PASSWORD});
    let failed = browser.post("/v1/client/sign_ins", fields).await;
    is_signed_in(&t, &user, &mut browser, failed, &before).await;
}

#[tokio::test]
async fn a_new_secret_goes_out_although_the_redirect_fails() {
    let (t, user) = overfull().await;
    let mut browser = t.browser();
    let fields =
        json!({"identifier": EMAIL, "strategy": "email_link", "redirect_url": "http://localhost:3000/"});
    browser.post("/v1/client/sign_ins", fields).await.ok();
    let before = browser.cookies["__client"].clone();
    let inbox = t.inbox().await;
    let link = inbox[0].get("link").and_then(Value::as_str).unwrap();
    let failed = browser.open(link.strip_prefix("http://localhost:3401").unwrap()).await;
    is_signed_in(&t, &user, &mut browser, failed, &before).await;
}

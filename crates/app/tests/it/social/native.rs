//! Apps on devices: they open a browser that does not have their client, and are told by their URL.

use latchkey_testkit::{Browser, TestServer};
use serde_json::{Value, json};

use super::{ADA, signed_up, start};

const APP: &str = "com.example.app://callback";

/// A server whose development instance knows the app.
async fn server() -> TestServer {
    let t = start().await;
    t.post("/v1/redirect_urls", json!({ "url": APP })).await.ok();
    t
}

/// An app with a token of its own, and the browser it opens.
async fn device(t: &TestServer) -> (Browser<'_>, Browser<'_>) {
    let mut app = t.browser();
    app.origin = None;
    let made = app.post("/v1/client/sign_ins?_is_native=1", json!({})).await;
    let token = made.header("authorization").to_owned();
    app.cookies.clear();
    app.headers = vec![("authorization", Box::leak(token.into_boxed_str()))];
    let mut browser = t.browser();
    browser.origin = None;
    (app, browser)
}

async fn begin(app: &mut Browser<'_>, what: &str) -> Value {
    let fields = json!({"strategy": "oauth_mock", "redirect_url": APP, "action_complete_redirect_url": APP});
    app.post(&format!("/v1/client/{what}?_is_native=1"), fields).await.ok()["response"].take()
}

async fn returned(browser: &mut Browser<'_>, attempt: &Value, person: &str) -> String {
    let callback = super::visit(browser, &super::page(attempt), person).await;
    super::back(browser, &callback).await
}

#[tokio::test]
async fn an_app_gets_its_session_with_what_it_was_told() {
    let t = server().await;
    signed_up(&t, ADA).await;
    let (mut app, mut browser) = device(&t).await;
    let attempt = begin(&mut app, "sign_ins").await;
    let there = returned(&mut browser, &attempt, ADA).await;
    let nonce =
        there.strip_prefix(&format!("{APP}?rotating_token_nonce=")).unwrap_or_else(|| panic!("{there}"));
    let id = attempt["id"].as_str().unwrap();
    let shown = |nonce: &str| format!("/v1/client/sign_ins/{id}?_is_native=1&rotating_token_nonce={nonce}");
    // A1: whoever began it and was not told gets nothing.
    let waiting = app.get(&format!("/v1/client/sign_ins/{id}?_is_native=1")).await.ok();
    assert_eq!(waiting["response"]["status"], "needs_identifier");
    app.get(&shown("guess")).await.is_problem(400, "verification_strategy_invalid", "strategy");
    let done = app.get(&shown(nonce)).await;
    assert!(!done.header("authorization").is_empty());
    assert_eq!(done.ok()["response"]["status"], "complete");
}

#[tokio::test]
async fn an_app_is_told_to_go_on_with_the_other() {
    let t = server().await;
    let (mut app, mut browser) = device(&t).await;
    let attempt = begin(&mut app, "sign_ins").await;
    let there = returned(&mut browser, &attempt, ADA).await;
    assert_eq!(there, format!("{APP}?__clerk_status=failed&__clerk_error_code=external_account_not_found"));
    // A1: an app that was not told the outcome proves the address of the account first.
    let moved = app.post("/v1/client/sign_ups?_is_native=1", json!({"transfer": true})).await.ok();
    let sign_up = &moved["response"];
    assert_eq!(
        (&sign_up["status"], &moved["client"]["sessions"]),
        (&json!("missing_requirements"), &json!([]))
    );
    assert_eq!(
        (&sign_up["missing_fields"], &sign_up["unverified_fields"]),
        (&json!([]), &json!(["email_address"]))
    );
    assert_eq!(sign_up["verifications"]["external_account"]["status"], "unverified");
    let path = |step: &str| {
        format!("/v1/client/sign_ups/{}/{step}_verification?_is_native=1", sign_up["id"].as_str().unwrap())
    };
    app.post(&path("prepare"), json!({"strategy": "email_code"})).await.ok();
    let code = crate::sign_ins::code(&t).await;
    let done = app.post(&path("attempt"), json!({"strategy": "email_code", "code": code})).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    let users = t.get("/v1/users").await.ok();
    assert_eq!(users[0]["external_accounts"][0]["provider"], "oauth_mock");
    let (mut other, mut browser) = device(&t).await;
    let attempt = begin(&mut other, "sign_ups").await;
    let there = returned(&mut browser, &attempt, ADA).await;
    assert_eq!(there, format!("{APP}?__clerk_status=failed&__clerk_error_code=external_account_exists"));
    // A1: whoever began and was not told the outcome has to prove in another way that it is them.
    let moved = other.post("/v1/client/sign_ins?_is_native=1", json!({"transfer": true})).await.ok();
    let sign_in = &moved["response"];
    assert_eq!(
        (&sign_in["status"], &moved["client"]["sessions"]),
        (&json!("needs_first_factor"), &json!([]))
    );
    let ways: Vec<_> =
        sign_in["supported_first_factors"].as_array().unwrap().iter().map(|way| &way["strategy"]).collect();
    assert_eq!(ways, ["email_code", "oauth_mock"]);
    let path = |step: &str| {
        format!("/v1/client/sign_ins/{}/{step}_first_factor?_is_native=1", sign_in["id"].as_str().unwrap())
    };
    let code = json!({"strategy": "email_code", "email_address_id": sign_in["supported_first_factors"][0]["email_address_id"]});
    // The inbox lists the newest message first, and the clock stands still.
    t.clock.advance_ms(1000);
    other.post(&path("prepare"), code).await.ok();
    let code = crate::sign_ins::code(&t).await;
    let done = other.post(&path("attempt"), json!({"strategy": "email_code", "code": code})).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    let (mut other, mut browser) = device(&t).await;
    let denied = begin(&mut other, "sign_ins").await;
    let there = returned(&mut browser, &denied, "deny=true").await;
    assert_eq!(there, format!("{APP}?__clerk_status=failed&__clerk_error_code=oauth_access_denied"));
}

#[tokio::test]
async fn an_app_signs_up_with_what_it_was_told() {
    let t = server().await;
    let (mut app, mut browser) = device(&t).await;
    let attempt = begin(&mut app, "sign_ups").await;
    let there = returned(&mut browser, &attempt, ADA).await;
    let nonce = there.split_once("rotating_token_nonce=").unwrap_or_else(|| panic!("{there}")).1;
    let id = attempt["id"].as_str().unwrap();
    let path = format!("/v1/client/sign_ups/{id}?_is_native=1&rotating_token_nonce={nonce}");
    let done = app.get(&path).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    // It is good once.
    app.get(&path).await.is_error(401, "signed_out");
}

/// A1: what an app shows is good for as long as the proof is.
#[tokio::test]
async fn what_an_app_was_told_is_good_for_ten_minutes() {
    let t = server().await;
    let (mut app, mut browser) = device(&t).await;
    let attempt = begin(&mut app, "sign_ups").await;
    let there = returned(&mut browser, &attempt, ADA).await;
    let nonce = there.split_once("rotating_token_nonce=").unwrap_or_else(|| panic!("{there}")).1;
    t.clock.advance_ms(10 * 60_000 + 1);
    let id = attempt["id"].as_str().unwrap();
    let path = format!("/v1/client/sign_ups/{id}?_is_native=1&rotating_token_nonce={nonce}");
    app.get(&path).await.is_error(400, "verification_expired");
}

/// A1: whoever has become a user since is one, although nobody was when the provider answered.
#[tokio::test]
async fn what_a_stranger_holds_does_not_become_a_session_of_somebody_who_signs_up_since() {
    let t = server().await;
    let (mut app, mut browser) = device(&t).await;
    let attempt = begin(&mut app, "sign_ins").await;
    returned(&mut browser, &attempt, ADA).await;
    signed_up(&t, ADA).await;
    let moved = app.post("/v1/client/sign_ups?_is_native=1", json!({"transfer": true})).await.ok();
    let proof = &moved["response"]["verifications"]["external_account"];
    assert_eq!(proof["error"]["code"], "external_account_exists");
    let moved = app.post("/v1/client/sign_ins?_is_native=1", json!({"transfer": true})).await.ok();
    assert_eq!(moved["response"]["status"], "needs_first_factor");
    assert_eq!(moved["client"]["sessions"], json!([]));
}

/// clerk-js shows the nonce before it goes on from signing in to signing up.
#[tokio::test]
async fn app_of_clerk_js_signs_up_by_transfer_with_its_nonce_alone() {
    let t = server().await;
    let (mut app, mut browser) = device(&t).await;
    let fields = json!({"strategy": "oauth_mock", "redirect_url": APP, "action_complete_redirect_url": APP});
    let native = "_is_native=1&_clerk_js_version=6.40.0";
    let begun = app.post(&format!("/v1/client/sign_ins?{native}"), fields).await.ok();
    let attempt = &begun["response"];
    let there = returned(&mut browser, attempt, ADA).await;
    let nonce = there.split_once("rotating_token_nonce=").unwrap_or_else(|| panic!("{there}")).1;
    let transfer = json!({"transfer": true});
    // A1: without the nonce there is nothing to go on from.
    let early = app.post(&format!("/v1/client/sign_ups?{native}"), transfer.clone()).await;
    assert_eq!(early.status, 400, "{}", early.json);
    let id = attempt["id"].as_str().unwrap();
    let shown =
        app.get(&format!("/v1/client/sign_ins/{id}?{native}&rotating_token_nonce={nonce}")).await.ok();
    assert_eq!(shown["response"]["first_factor_verification"]["status"], "transferable");
    let done = app.post(&format!("/v1/client/sign_ups?{native}"), transfer).await.ok();
    assert_eq!(done["response"]["status"], "complete");
}

/// A1: an attacker begins to connect an account, and sends the owner of the account to the provider.
#[tokio::test]
async fn app_connects_an_account_of_another_address_with_its_nonce_only() {
    let t = server().await;
    let mut me = crate::me::support::somebody(&t, "mallory@example.com").await;
    let fields = json!({"strategy": "oauth_mock", "redirect_url": APP, "action_complete_redirect_url": APP});
    let begun = me.browser.post("/v1/me/external_accounts?_is_native=1", fields).await.ok();
    let mut browser = t.browser();
    browser.origin = None;
    let callback = super::visit(&mut browser, &super::page(&begun["response"]), ADA).await;
    let there = super::back(&mut browser, &callback).await;
    let shown = me.browser.get("/v1/me").await.ok();
    assert_eq!(shown["response"]["external_accounts"][0]["verification"]["status"], "unverified");
    me.browser.get("/v1/me?rotating_token_nonce=guess").await.is_error(400, "client_state_invalid");
    let nonce = there.split_once("rotating_token_nonce=").unwrap_or_else(|| panic!("{there}")).1;
    let shown = me.browser.get(&format!("/v1/me?rotating_token_nonce={nonce}")).await.ok();
    assert_eq!(shown["response"]["external_accounts"][0]["verification"]["status"], "verified");
}

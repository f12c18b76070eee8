//! Connecting, approving of more, disconnecting.

use latchkey_testkit::{Answer, Browser, TestServer};
use serde_json::{Value, json};

use super::{ADA, BACK, DONE, back, client, page, signed_up, start, through, visit, with_mock};
use crate::sign_ins::{EMAIL, PASSWORD, server};

/// Somebody signed in with an address and a password.
async fn person<'a>(t: &'a TestServer, address: &str) -> Browser<'a> {
    t.user(json!({"email_address": [address], "password": PASSWORD})).await;
    let mut browser = t.browser();
    let fields = json!({"identifier": address, "password": PASSWORD, "strategy": "password"});
    browser.post("/v1/client/sign_ins", fields).await.ok();
    browser
}

async fn connect(browser: &mut Browser<'_>) -> Answer {
    let fields = json!({"strategy": "oauth_mock", "redirect_url": BACK});
    browser.post("/v1/me/external_accounts", fields).await
}

async fn me(browser: &mut Browser<'_>) -> Value {
    browser.get("/v1/me").await.ok()["response"].take()
}

#[tokio::test]
async fn an_account_is_connected_and_disconnected() {
    let t = start().await;
    let mut browser = person(&t, EMAIL).await;
    let wanted = connect(&mut browser).await.ok()["response"].take();
    assert_eq!(
        (&wanted["provider"], &wanted["verification"]["status"]),
        (&json!("oauth_mock"), &json!("unverified"))
    );
    assert_eq!(me(&mut browser).await["external_accounts"][0]["id"], wanted["id"]);
    let there = through(&mut browser, &wanted, "email_address=other@example.com&id=42&username=ada").await;
    assert_eq!(there, BACK);
    let user = me(&mut browser).await;
    let account = &user["external_accounts"][0];
    assert_eq!(
        (&account["id"], &account["verification"]["status"], &account["provider_user_id"]),
        (&wanted["id"], &json!("verified"), &json!("42"))
    );
    // The address that the provider vouches for is one of theirs from now on.
    let added = &user["email_addresses"][1];
    assert_eq!(
        (&added["email_address"], &added["verification"]["strategy"], &added["linked_to"][0]["id"]),
        (&json!("other@example.com"), &json!("from_oauth_mock"), &account["identification_id"])
    );
    assert!(t.events().await.iter().any(|event| event.kind == "user.updated"));
    connect(&mut browser).await.is_error(400, "oauth_account_already_connected");
    // It signs them in.
    let mut elsewhere = t.browser();
    let attempt = super::begin(&mut elsewhere, "sign_ins").await;
    assert_eq!(through(&mut elsewhere, &attempt, "id=42").await, DONE);
    let path = format!("/v1/me/external_accounts/{}", wanted["id"].as_str().unwrap());
    let gone = browser.delete(&path).await.ok();
    assert_eq!(
        (&gone["response"]["deleted"], &gone["response"]["object"]),
        (&json!(true), &json!("external_account"))
    );
    let user = me(&mut browser).await;
    assert_eq!(
        (&user["external_accounts"], &user["email_addresses"][1]["linked_to"]),
        (&json!([]), &json!([]))
    );
    browser.delete(&path).await.is_error(404, "external_account_not_found");
}

/// A thief begins to connect an account of theirs; the owner signs out everywhere before they come back.
#[tokio::test]
async fn what_was_begun_in_a_session_that_is_over_is_not_connected() {
    let t = start().await;
    let mut browser = person(&t, EMAIL).await;
    let wanted = connect(&mut browser).await.ok()["response"].take();
    let callback = visit(&mut browser, &page(&wanted), "id=42").await;
    let session = client(&mut browser).await["sessions"][0]["id"].as_str().unwrap().to_owned();
    t.post(&format!("/v1/sessions/{session}/revoke"), json!({})).await.ok();
    browser.open(&callback).await.is_error(400, "oauth_callback_invalid");
    let mut elsewhere = t.browser();
    let attempt = super::begin(&mut elsewhere, "sign_ins").await;
    assert_eq!(through(&mut elsewhere, &attempt, "id=42").await, BACK);
}

#[tokio::test]
async fn an_account_of_somebody_else_is_not_connected() {
    let t = start().await;
    signed_up(&t, ADA).await;
    let mut browser = person(&t, "bob@example.com").await;
    for who in [ADA, "email_address=ada@example.com&id=43"] {
        let wanted = connect(&mut browser).await.ok()["response"].take();
        through(&mut browser, &wanted, who).await;
        let user = me(&mut browser).await;
        let proof = &user["external_accounts"][0]["verification"];
        assert_eq!(
            (&proof["status"], &proof["error"]["code"]),
            (&json!("failed"), &json!("oauth_identification_claimed")),
            "{who}"
        );
        assert_eq!(user["email_addresses"].as_array().unwrap().len(), 1);
    }
    // What failed does not count as one, and can be begun anew.
    connect(&mut browser).await.ok();
    assert_eq!(me(&mut browser).await["external_accounts"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn more_is_approved_for_the_same_account_only() {
    let t = start().await;
    let mut browser = t.browser();
    let attempt = super::begin(&mut browser, "sign_ups").await;
    through(&mut browser, &attempt, ADA).await;
    let account = client(&mut browser).await["sessions"][0]["user"]["external_accounts"][0].take();
    let path = format!("/v1/me/external_accounts/{}/reauthorize", account["id"].as_str().unwrap());
    let fields = json!({"redirect_url": BACK, "additional_scope": ["calendar", "files"]});
    let asked = browser.patch(&path, fields.clone()).await.ok()["response"].take();
    // Whoever has the account has it still.
    assert_eq!(asked["verification"]["status"], "verified");
    assert!(asked["verification"]["external_verification_redirect_url"].is_string());
    through(&mut browser, &asked, "email_address=ada@example.com&id=somebody-else").await;
    let failed = me(&mut browser).await["external_accounts"][0].take();
    assert_eq!(
        (&failed["provider_user_id"], &failed["verification"]["status"]),
        (&json!("42"), &json!("verified"))
    );
    assert_eq!(failed["verification"]["error"]["code"], "oauth_account_already_connected");
    let asked = browser.patch(&path, fields).await.ok()["response"].take();
    through(&mut browser, &asked, ADA).await;
    let renewed = me(&mut browser).await["external_accounts"][0].take();
    assert!(renewed["verification"]["error"].is_null(), "{renewed:#}");
    browser.patch(&path, json!({})).await.is_problem(422, "form_param_missing", "redirect_url");
}

#[tokio::test]
async fn the_last_way_to_sign_in_stays() {
    let t = server(|settings| {
        with_mock(settings);
        settings.attributes.email_address.required_at_sign_up = false;
        settings.attributes.password.required_at_sign_up = false;
    })
    .await;
    let mut browser = t.browser();
    let attempt = super::begin(&mut browser, "sign_ups").await;
    through(&mut browser, &attempt, "id=42&username=ada_l").await;
    let user = client(&mut browser).await["sessions"][0]["user"].take();
    assert_eq!(user["username"], "ada_l");
    let path = format!("/v1/me/external_accounts/{}", user["external_accounts"][0]["id"].as_str().unwrap());
    browser.delete(&path).await.is_error(400, "identification_deletion_failed");
}

#[tokio::test]
async fn accounts_are_connected_after_a_recent_proof_only() {
    let t = start().await;
    let mut browser = person(&t, EMAIL).await;
    let wanted = connect(&mut browser).await.ok()["response"].take();
    through(&mut browser, &wanted, "id=42").await;
    t.clock.advance_ms(11 * 60_000);
    connect(&mut browser).await.is_error(403, "session_reverification_required");
    let path = format!("/v1/me/external_accounts/{}", wanted["id"].as_str().unwrap());
    browser.delete(&path).await.is_error(403, "session_reverification_required");
}

#[tokio::test]
async fn an_immutable_address_is_not_joined_by_another() {
    let t = server(|settings| {
        with_mock(settings);
        settings.attributes.email_address.immutable = true;
    })
    .await;
    let mut browser = person(&t, EMAIL).await;
    let wanted = connect(&mut browser).await.ok()["response"].take();
    let callback = visit(&mut browser, &page(&wanted), "email_address=other@example.com").await;
    assert_eq!(back(&mut browser, &callback).await, BACK);
    let proof = me(&mut browser).await["external_accounts"][0]["verification"].take();
    assert_eq!(proof["error"]["code"], "oauth_connection_blocked_by_immutable_attribute");
}

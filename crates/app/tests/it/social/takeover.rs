//! What a stranger leaves behind on an account of which nothing was proven, when whoever has its address takes it over.

use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Browser, FakeProvider, TestServer};
use serde_json::{Value, json};

use super::{BACK, begin, client, through, with_mock};
use crate::sign_ins::{EMAIL, PASSWORD, server};

async fn start(has_to_choose: bool) -> TestServer {
    server(|settings| {
        with_mock(settings);
        settings.attributes.email_address.verify_at_sign_up = false;
        settings.organizations.enabled = true;
        settings.organizations.force_selection = has_to_choose;
    })
    .await
}

/// Somebody who signed up without proving anything.
async fn signed_up<'a>(t: &'a TestServer, address: &str) -> (Browser<'a>, Value) {
    let mut browser = t.browser();
    let fields = json!({"email_address": address, "password": PASSWORD, "first_name": "Eve", "last_name": "Stranger",
        "username": format!("{}_l", address.split('@').next().unwrap()), "unsafe_metadata": {"trap": true}});
    let done = browser.post("/v1/client/sign_ups", fields).await.ok();
    assert_eq!(done["response"]["status"], "complete", "{done:#}");
    let session = client(&mut browser).await["sessions"][0].take();
    (browser, session)
}

/// An organization of somebody who is signed in.
async fn organization(browser: &mut Browser<'_>, name: &str) -> String {
    let made = browser.post("/v1/organizations", json!({"name": name})).await.ok();
    made["response"]["id"].as_str().unwrap().to_owned()
}

/// Comes by the provider, and chooses a new password; the session.
async fn taken_over(t: &TestServer, person: &str) -> Value {
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ins").await;
    assert_eq!(through(&mut browser, &attempt, person).await, BACK);
    let sign_in = client(&mut browser).await["sign_in"].take();
    with_new_password(&mut browser, &sign_in).await;
    client(&mut browser).await["sessions"][0].take()
}

/// Goes on to the end of a sign-in that asks for a new password.
async fn with_new_password(browser: &mut Browser<'_>, sign_in: &Value) {
    assert_eq!(sign_in["status"], "needs_new_password");
    let path = format!("/v1/client/sign_ins/{}/reset_password", sign_in["id"].as_str().unwrap());
    browser.post(&path, json!({"password": "Another-horse-battery-43"})).await.ok();
}

#[tokio::test]
async fn whoever_takes_an_account_over_does_not_begin_in_the_organization_of_the_stranger() {
    for has_to_choose in [false, true] {
        let t = start(has_to_choose).await;
        let (mut accomplice, _) = signed_up(&t, "eve@example.org").await;
        let traps = organization(&mut accomplice, "Traps").await;
        let (mut stranger, session) = signed_up(&t, EMAIL).await;
        let member = json!({"user_id": session["user"]["id"], "role": "org:member"});
        accomplice.post(&format!("/v1/organizations/{traps}/memberships"), member).await.ok();
        let touch = format!("/v1/client/sessions/{}/touch", session["id"].as_str().unwrap());
        stranger.post(&touch, json!({"active_organization_id": traps})).await.ok();
        let chosen = client(&mut stranger).await["sessions"][0]["last_active_organization_id"].take();
        assert_eq!(chosen, json!(traps));

        let taken = taken_over(&t, "email_address=ada@example.com&id=42").await;
        assert_eq!(taken["user"]["id"], session["user"]["id"]);
        assert_eq!(taken["last_active_organization_id"], Value::Null, "{has_to_choose}");
        assert_eq!(taken["status"], if has_to_choose { "pending" } else { "active" });
        assert_eq!(taken["user"]["organization_memberships"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn what_a_stranger_said_of_themselves_does_not_stay() {
    for (person, names) in [
        ("email_address=ada@example.com&id=42&first_name=Ada", json!(["Ada", null])),
        ("email_address=ada@example.com&id=42", json!([null, null])),
    ] {
        let t = start(false).await;
        let (_, session) = signed_up(&t, EMAIL).await;
        let id = session["user"]["id"].as_str().unwrap();
        t.patch(&format!("/v1/users/{id}/metadata"), json!({"public_metadata": {"plan": 1}})).await.ok();
        let user = taken_over(&t, person).await["user"].take();
        assert_eq!(json!([user["first_name"], user["last_name"]]), names);
        assert_eq!((&user["unsafe_metadata"], &user["public_metadata"]), (&json!({}), &json!({"plan": 1})));
        // Others may know the user by it.
        assert_eq!(user["username"], "ada_l");
    }
}

/// Apps tell names beside a token of the provider.
#[tokio::test]
async fn what_an_app_tells_are_names_or_nothing() {
    for name in ["a\u{1}b", &"x".repeat(10_000), "Win at https://evil.example"] {
        let t = TestServer::start().await;
        let provider = FakeProvider::start(&t).await;
        let mut settings = Settings::default();
        settings.social.insert("custom_fake".into(), provider.custom(&t, &t.tenant, "custom_fake"));
        settings.attributes.email_address.verify_at_sign_up = false;
        t.set_settings(settings).await;
        let (_, session) = signed_up(&t, EMAIL).await;
        let token = provider.id_token(&json!({"sub": "9", "email": EMAIL, "email_verified": true}));
        let fields = json!({"strategy": "oauth_token_custom_fake", "token": token, "first_name": name,
            "last_name": " Lovelace "});
        let mut browser = t.browser();
        let attempt = browser.post("/v1/client/sign_ins", fields).await.ok()["response"].take();
        with_new_password(&mut browser, &attempt).await;
        let user = t.shown(session["user"]["id"].as_str().unwrap()).await;
        let account = &user["external_accounts"][0];
        for shown in [&user, account] {
            assert!(shown["first_name"].as_str().unwrap_or_default().is_empty(), "{shown}");
            assert_eq!(shown["last_name"], "Lovelace", "{user:#}");
        }
    }
}

#[tokio::test]
async fn the_picture_of_a_stranger_goes_with_them() {
    let t = start(false).await;
    let (_, session) = signed_up(&t, EMAIL).await;
    let id = session["user"]["id"].as_str().unwrap();
    let picture = crate::pictures::decoded(crate::pictures::PNG);
    let uploaded = crate::pictures::upload(&t, id, "eve.png", &picture).await.ok();
    assert_eq!(uploaded["has_image"], true);
    let user = taken_over(&t, "email_address=ada@example.com&id=42").await["user"].take();
    assert_eq!(user["has_image"], false);
}

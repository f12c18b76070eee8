//! Sessions that only count once something is done.

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::TestServer;
use serde_json::json;

use super::support::{Me, PASSWORD, me, sign_in};

async fn compromised(t: &TestServer) -> Me<'_> {
    let me = me(t).await;
    t.post(&format!("/v1/users/{}/password/set_compromised", me.user), json!({})).await.ok();
    sign_in(t, &me.user).await
}

#[tokio::test]
async fn choosing_another_password_ends_the_task_of_that_name() {
    let t = TestServer::start().await;
    let mut me = compromised(&t).await;
    let session = me.shown_session().await;
    assert_eq!(
        (&session["status"], &session["tasks"]),
        (&json!("pending"), &json!([{"key": "reset-password"}]))
    );
    // Who was let in to do this needs no other proof, however long it takes.
    me.wait_for_reverification();
    let before = t.events().await.len();
    let same = json!({"new_password": PASSWORD});
    me.post("/v1/me/change_password", same).await.is_error(422, "form_new_password_matches_current");
    let changed =
        me.post("/v1/me/change_password", json!({"new_password": "staple battery horse"})).await.ok();
    let session = &changed["client"]["sessions"][0];
    assert_eq!((&session["status"], session.get("tasks")), (&json!("active"), None));
    assert_eq!(me.events_after(before).await, ["email.created", "session.created", "user.updated"]);
}

#[tokio::test]
async fn the_task_opens_nothing_once_the_password_was_replaced_elsewhere() {
    let t = TestServer::start().await;
    let mut me = compromised(&t).await;
    me.wait_for_reverification();
    let new = json!({"password": "staple battery horse"});
    t.patch(&format!("/v1/users/{}", me.user), new).await.ok();
    let fields = json!({"new_password": "another battery horse", "sign_out_of_other_sessions": true});
    me.post("/v1/me/change_password", fields).await.is_error(403, "session_reverification_required");
}

#[tokio::test]
async fn the_task_opens_nothing_but_the_password() {
    let t = TestServer::start().await;
    let mut me = compromised(&t).await;
    me.wait_for_reverification();
    me.delete("/v1/me").await.is_error(403, "session_reverification_required");
    me.post("/v1/me/totp", json!({})).await.is_error(403, "session_reverification_required");
}

#[tokio::test]
async fn an_authenticator_app_or_a_number_ends_the_task_to_set_up_a_second_factor() {
    let mut settings = Settings::default();
    settings.sign_in.second_factor_required = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    let mut elsewhere = sign_in(&t, &me.user).await;
    assert_eq!(me.shown_session().await["tasks"], json!([{"key": "setup-mfa"}]));
    let before = t.events().await.len();
    me.enroll_totp().await;
    assert_eq!(me.shown_session().await["status"], "active");
    // The sessions in other browsers waited for the same.
    assert_eq!(elsewhere.shown_session().await["status"], "active");
    assert_eq!(
        me.events_after(before).await,
        ["email.created", "session.created", "session.created", "user.updated"]
    );
    let user = t.user(json!({"email_address": ["b@example.com"]})).await;
    let mut by_phone = sign_in(&t, user["id"].as_str().unwrap()).await;
    let id = by_phone.add_verified("phone_number", "+4915112345678").await;
    assert_eq!(by_phone.shown_session().await["status"], "pending");
    by_phone
        .patch(&format!("/v1/me/phone_numbers/{id}"), json!({"reserved_for_second_factor": true}))
        .await
        .ok();
    assert_eq!(by_phone.shown_session().await["status"], "active");
}

#[tokio::test]
async fn a_second_factor_that_the_instance_does_not_use_is_none() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    me.enroll_totp().await;
    let mut settings = Settings::default();
    settings.sign_up.mfa_required = true;
    settings.attributes.authenticator_app.enabled = false;
    settings.session.reverification = false;
    t.set_settings(settings).await;
    let mut again = sign_in(&t, &me.user).await;
    assert_eq!(again.shown_session().await["tasks"], json!([{"key": "setup-mfa"}]));
    let environment = again.get("/v1/environment").await.ok();
    let shown = &environment["user_settings"];
    assert_eq!(
        (&shown["sign_in"]["second_factor"]["required"], &shown["sign_up"]["mfa"]["required"]),
        (&json!(true), &json!(true))
    );
    // One that counts cannot be given up, whatever else is left.
    let number = again.add_verified("phone_number", "+4915112345678").await;
    let path = format!("/v1/me/phone_numbers/{number}");
    again.patch(&path, json!({"reserved_for_second_factor": true})).await.ok();
    assert_eq!(again.shown_session().await["status"], "active");
    let refused = again.patch(&path, json!({"reserved_for_second_factor": false})).await;
    refused.is_error(400, "second_factor_deletion_not_allowed");
}

#[tokio::test]
async fn one_task_after_the_other() {
    let mut settings = Settings::default();
    settings.sign_in.second_factor_required = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = compromised(&t).await;
    let keys = json!([{"key": "reset-password"}, {"key": "setup-mfa"}]);
    assert_eq!(me.shown_session().await["tasks"], keys);
    me.post("/v1/me/change_password", json!({"new_password": "staple battery horse"})).await.ok();
    let session = me.shown_session().await;
    assert_eq!((&session["status"], &session["tasks"]), (&json!("pending"), &json!([{"key": "setup-mfa"}])));
    me.enroll_totp().await;
    assert_eq!(me.shown_session().await["status"], "active");
}

#[tokio::test]
async fn a_task_nobody_asks_for_any_more_ends_when_the_session_is_used() {
    let t = TestServer::start().await;
    let mut me = compromised(&t).await;
    let session = me.shown_session().await;
    let touch = format!("/v1/client/sessions/{}/touch", session["id"].as_str().unwrap());
    assert_eq!(me.post(&touch, json!({})).await.ok()["response"]["status"], "pending");
    t.post(&format!("/v1/users/{}/password/unset_compromised", me.user), json!({})).await.ok();
    let before = t.events().await.len();
    let touched = me.post(&touch, json!({})).await.ok();
    assert_eq!((&touched["response"]["status"], touched["response"].get("tasks")), (&json!("active"), None));
    assert_eq!(me.events_after(before).await, ["session.created"]);
}

//! Attempts whose account changes while they are under way: what was proven before is worth nothing after.

use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::passwords::{NEW, forgotten};
use super::second_factors::{guarded, half, totp, trusting};
use super::{EMAIL, PASSWORD, ada, begin, code, server, shown, step};

const OWN: &str = "Third-horse-battery-44";

/// The application, for the user, sets another password.
async fn change_password(t: &TestServer, user: &Value) {
    t.clock.advance_ms(1);
    let path = format!("/v1/users/{}", user["id"].as_str().unwrap());
    t.patch(&path, json!({"password": OWN})).await.ok();
}

#[tokio::test]
async fn a_proven_code_sets_no_password_after_the_user_set_one() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    let mut browser = t.browser();
    let id = forgotten(&t, &mut browser).await;
    change_password(&t, &user).await;
    let answer = step(&mut browser, &id, "reset_password", json!({"password": NEW})).await;
    answer.is_error(400, "client_state_invalid");
    // The same by the other way to choose one.
    let fields = json!({"strategy": "reset_password_email_code", "code": "424242", "password": NEW});
    step(&mut browser, &id, "attempt_first_factor", fields).await.is_error(400, "client_state_invalid");
    let own = begin(&mut t.browser(), json!({"identifier": EMAIL, "password": OWN})).await;
    assert_eq!(shown(own)["status"], "complete");
    // Beginning anew works.
    t.clock.advance_ms(1);
    let id = forgotten(&t, &mut browser).await;
    let sign_in = shown(step(&mut browser, &id, "reset_password", json!({"password": NEW})).await);
    assert_eq!(sign_in["status"], "complete");
}

#[tokio::test]
async fn a_proven_code_sets_no_password_after_its_address_is_gone() {
    for is_deleted in [true, false] {
        let t = TestServer::start().await;
        let user = ada(&t).await;
        let mut browser = t.browser();
        let id = forgotten(&t, &mut browser).await;
        let path = format!("/v1/email_addresses/{}", user["email_addresses"][0]["id"].as_str().unwrap());
        match is_deleted {
            true => t.delete(&path).await.ok(),
            false => t.patch(&path, json!({"verified": false})).await.ok(),
        };
        let answer = step(&mut browser, &id, "reset_password", json!({"password": NEW})).await;
        answer.is_error(400, "sign_in_identification_or_user_deleted");
    }
}

#[tokio::test]
async fn a_second_factor_does_not_complete_an_old_password() {
    let t = TestServer::start().await;
    let user = guarded(&t).await;
    let mut browser = t.browser();
    let id = half(&mut browser, "needs_second_factor").await;
    change_password(&t, &user).await;
    let fields = json!({"strategy": "totp", "code": totp(0)});
    step(&mut browser, &id, "attempt_second_factor", fields).await.is_error(400, "client_state_invalid");
    step(&mut browser, &id, "prepare_second_factor", json!({})).await.is_error(400, "client_state_invalid");
}

#[tokio::test]
async fn trust_does_not_complete_a_password_that_is_gone() {
    let t = server(trusting).await;
    let user = ada(&t).await;
    let mut browser = t.browser();
    let id = half(&mut browser, "needs_client_trust").await;
    step(&mut browser, &id, "prepare_second_factor", json!({"strategy": "email_code"})).await.ok();
    let fields = json!({"strategy": "email_code", "code": code(&t).await});
    let path = format!("/v1/users/{}/remove_password", user["id"].as_str().unwrap());
    t.post(&path, json!({})).await.ok();
    step(&mut browser, &id, "attempt_second_factor", fields).await.is_error(400, "client_state_invalid");
}

#[tokio::test]
async fn a_password_the_attempt_itself_chose_needs_its_second_factor_only() {
    let t = TestServer::start().await;
    guarded(&t).await;
    let mut browser = t.browser();
    let id = forgotten(&t, &mut browser).await;
    t.clock.advance_ms(1);
    let sign_in = shown(step(&mut browser, &id, "reset_password", json!({"password": NEW})).await);
    assert_eq!(sign_in["status"], "needs_second_factor");
    let fields = json!({"strategy": "totp", "code": totp(0)});
    let sign_in = shown(step(&mut browser, &id, "attempt_second_factor", fields).await);
    assert_eq!(sign_in["status"], "complete");
}

#[tokio::test]
async fn whoever_may_not_sign_in_any_more_chooses_no_password() {
    for (change, status, told) in [("ban", 403, "user_banned"), ("lock", 403, "user_locked")] {
        let t = TestServer::start().await;
        let user = ada(&t).await;
        let mut browser = t.browser();
        let id = forgotten(&t, &mut browser).await;
        let path = format!("/v1/users/{}/{change}", user["id"].as_str().unwrap());
        t.post(&path, json!({})).await.ok();
        step(&mut browser, &id, "reset_password", json!({"password": NEW})).await.is_error(status, told);
    }
    let t = TestServer::start().await;
    let user = ada(&t).await;
    let mut browser = t.browser();
    let id = forgotten(&t, &mut browser).await;
    t.delete(&format!("/v1/users/{}", user["id"].as_str().unwrap())).await.ok();
    let answer = step(&mut browser, &id, "reset_password", json!({"password": NEW})).await;
    answer.is_error(400, "sign_in_identification_or_user_deleted");
    begin(&mut browser, json!({"identifier": EMAIL, "password": PASSWORD}))
        .await
        .is_error(422, "form_identifier_not_found");
}

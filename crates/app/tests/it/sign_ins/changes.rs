//! Attempts whose account changes while they are under way: what was proven before is worth nothing after.

use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::passwords::{NEW, forgotten};
use super::second_factors::{SECRET, guarded, half, totp, trusting};
use super::{EMAIL, PASSWORD, ada, begin, code, identified, server, shown, step};

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

#[tokio::test]
async fn second_factor_that_is_gone_is_not_asked_for() {
    for all in ["mfa", "totp"] {
        let t = TestServer::start().await;
        let secret = json!({"email_address": [EMAIL], "password": PASSWORD, "totp_secret": SECRET});
        let user = t.user(secret).await;
        let mut browser = t.browser();
        let id = half(&mut browser, "needs_second_factor").await;
        t.delete(&format!("/v1/users/{}/{all}", user["id"].as_str().unwrap())).await.ok();
        let read = browser.get(&format!("/v1/client/sign_ins/{id}")).await.ok();
        assert_eq!(read["response"]["status"], "needs_first_factor");
        assert_eq!(read["response"]["supported_second_factors"], Value::Null);
        assert_eq!(read["response"]["first_factor_verification"], Value::Null);
        assert_eq!(read["client"]["sign_in"], read["response"]);
        // What was proven before there was nothing else to prove opens nothing by itself.
        let tried = json!({"strategy": "totp", "code": totp(0)});
        let refused = step(&mut browser, &id, "attempt_second_factor", tried).await;
        refused.is_error(400, "client_state_invalid");
        assert_eq!(refused.json["meta"]["client"]["sign_in"]["status"], "needs_first_factor");
        let wrong = json!({"strategy": "password", "password": "not the password"});
        step(&mut browser, &id, "attempt_first_factor", wrong).await.is_error(422, "form_password_incorrect");
        let right = json!({"strategy": "password", "password": PASSWORD});
        let done = shown(step(&mut browser, &id, "attempt_first_factor", right).await);
        assert_eq!(done["status"], "complete");
    }
}

#[tokio::test]
async fn second_factor_that_is_left_is_still_asked_for() {
    let t = TestServer::start().await;
    let user = guarded(&t).await;
    let path = format!("/v1/users/{}", user["id"].as_str().unwrap());
    let mut browser = t.browser();
    let id = half(&mut browser, "needs_second_factor").await;
    t.delete(&format!("{path}/totp")).await.ok();
    let read = shown(browser.get(&format!("/v1/client/sign_ins/{id}")).await);
    assert_eq!(read["status"], "needs_second_factor");
    let offered = read["supported_second_factors"].as_array().unwrap();
    let offered: Vec<&Value> = offered.iter().map(|factor| &factor["strategy"]).collect();
    assert_eq!(offered, ["phone_code", "backup_code"]);
    let gone = json!({"strategy": "totp", "code": totp(0)});
    step(&mut browser, &id, "attempt_second_factor", gone).await.is_error(400, "no_second_factors");
    let again = json!({"strategy": "password", "password": PASSWORD});
    let again = step(&mut browser, &id, "attempt_first_factor", again).await;
    again.is_error(400, "verification_already_verified");
    t.delete(&format!("{path}/backup_code")).await.ok();
    let gone = json!({"strategy": "backup_code", "code": "backup-one"});
    step(&mut browser, &id, "attempt_second_factor", gone).await.is_error(400, "no_second_factors");
    step(&mut browser, &id, "prepare_second_factor", json!({"strategy": "phone_code"})).await.ok();
    let right = json!({"strategy": "phone_code", "code": code(&t).await});
    let done = shown(step(&mut browser, &id, "attempt_second_factor", right).await);
    assert_eq!(done["status"], "complete");
}

#[tokio::test]
async fn second_factor_that_came_meanwhile_is_asked_for_in_place_of_trust() {
    let t = server(|settings| settings.sign_in.client_trust = true).await;
    let user = ada(&t).await;
    let mut browser = t.browser();
    let id = half(&mut browser, "needs_client_trust").await;
    step(&mut browser, &id, "prepare_second_factor", json!({"strategy": "email_code"})).await.ok();
    let trusted = json!({"strategy": "email_code", "code": code(&t).await});
    let path = format!("/v1/users/{}", user["id"].as_str().unwrap());
    t.patch(&path, json!({"totp_secret": SECRET})).await.ok();
    let read = shown(browser.get(&format!("/v1/client/sign_ins/{id}")).await);
    assert_eq!(read["status"], "needs_second_factor");
    step(&mut browser, &id, "attempt_second_factor", trusted).await.is_error(400, "no_second_factors");
    let right = json!({"strategy": "totp", "code": totp(0)});
    let done = shown(step(&mut browser, &id, "attempt_second_factor", right).await);
    assert_eq!(done["status"], "complete");
}

#[tokio::test]
async fn ticket_is_taken_when_the_second_factor_is_gone() {
    let t = TestServer::start().await;
    let secret = json!({"email_address": [EMAIL], "password": PASSWORD, "totp_secret": SECRET});
    let user = t.user(secret).await["id"].as_str().unwrap().to_owned();
    let mut browser = t.browser();
    let id = half(&mut browser, "needs_second_factor").await;
    let made = t.post("/v1/sign_in_tokens", json!({"user_id": user})).await.ok();
    let fields = json!({"strategy": "ticket", "ticket": made["token"]});
    let refused = step(&mut browser, &id, "attempt_first_factor", fields.clone()).await;
    refused.is_error(400, "verification_already_verified");
    t.delete(&format!("/v1/users/{user}/mfa")).await.ok();
    let done = shown(step(&mut browser, &id, "attempt_first_factor", fields).await);
    assert_eq!(done["status"], "complete");
}

#[tokio::test]
async fn attempt_that_was_left_lying_is_gone() {
    let t = TestServer::start().await;
    ada(&t).await;
    let mut browser = t.browser();
    let open = identified(&mut browser, EMAIL).await;
    t.clock.advance_ms(24 * 3600 * 1000);
    browser.get(&format!("/v1/client/sign_ins/{open}")).await.is_error(404, "resource_not_found");
    let fields = json!({"strategy": "password", "password": PASSWORD});
    step(&mut browser, &open, "attempt_first_factor", fields).await.is_error(404, "resource_not_found");
}

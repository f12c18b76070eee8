//! Passwords: right, wrong, compromised, forgotten.

use latchkey_testkit::{Browser, TestServer};
use serde_json::{Value, json};

use super::second_factors::{SECRET, totp};
use super::{EMAIL, PASSWORD, ada, begin, code, identified, shown, step};

pub(super) const NEW: &str = "Another-horse-battery-43";

#[tokio::test]
async fn a_wrong_password_is_told_and_counted() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    let mut browser = t.browser();
    let answer = begin(&mut browser, json!({"identifier": EMAIL, "password": "wrong-password"})).await;
    answer.is_problem(422, "form_password_incorrect", "password");
    let text = "Password is incorrect. Try again, or use another method.";
    assert_eq!(answer.json["errors"][0]["long_message"], text);
    let sign_in = &answer.json["meta"]["client"]["sign_in"];
    assert_eq!(sign_in["status"], "needs_first_factor");
    let id = sign_in["id"].as_str().unwrap().to_owned();
    let wrong = json!({"strategy": "password", "password": "wrong-again"});
    let answer = step(&mut browser, &id, "attempt_first_factor", wrong).await;
    answer.is_problem(422, "form_password_incorrect", "password");
    let verification = &answer.json["meta"]["client"]["sign_in"]["first_factor_verification"];
    assert_eq!((&verification["attempts"], &verification["status"]), (&json!(2), &json!("unverified")));
    let shown_user = t.shown(user["id"].as_str().unwrap()).await;
    assert_eq!(shown_user["verification_attempts_remaining"], 98);
    let right = json!({"strategy": "password", "password": PASSWORD});
    let answer = step(&mut browser, &id, "attempt_first_factor", right).await.ok();
    assert_eq!(answer["response"]["status"], "complete");
    // Who proves who they are has all attempts again.
    assert_eq!(answer["client"]["sessions"][0]["user"]["verification_attempts_remaining"], 100);
}

#[tokio::test]
async fn a_wrong_password_leaves_a_code_that_was_sent_alone() {
    let t = TestServer::start().await;
    ada(&t).await;
    let mut browser = t.browser();
    let id = identified(&mut browser, EMAIL).await;
    step(&mut browser, &id, "prepare_first_factor", json!({"strategy": "email_code"})).await.ok();
    let wrong = json!({"strategy": "password", "password": "wrong-password"});
    step(&mut browser, &id, "attempt_first_factor", wrong).await.is_error(422, "form_password_incorrect");
    let right = json!({"strategy": "email_code", "code": code(&t).await});
    let sign_in = shown(step(&mut browser, &id, "attempt_first_factor", right).await);
    assert_eq!(sign_in["status"], "complete");
}

#[tokio::test]
async fn whoever_has_no_password_is_told_so() {
    let t = TestServer::start().await;
    t.user_with_email(EMAIL).await;
    let mut browser = t.browser();
    let answer = begin(&mut browser, json!({"identifier": EMAIL, "password": PASSWORD})).await;
    answer.is_error(400, "strategy_for_user_invalid");
    let id = identified(&mut browser, EMAIL).await;
    let fields = json!({"strategy": "password", "password": PASSWORD});
    step(&mut browser, &id, "attempt_first_factor", fields).await.is_error(400, "strategy_for_user_invalid");
    let fields = json!({"strategy": "reset_password_email_code"});
    step(&mut browser, &id, "prepare_first_factor", fields).await.is_error(400, "strategy_for_user_invalid");
}

#[tokio::test]
async fn a_compromised_password_signs_nobody_in_but_another_way_does() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    let path = format!("/v1/users/{}/password/set_compromised", user["id"].as_str().unwrap());
    t.post(&path, json!({})).await;
    let mut browser = t.browser();
    let wrong = begin(&mut browser, json!({"identifier": EMAIL, "password": "wrong-password"})).await;
    wrong.is_error(422, "form_password_incorrect");
    let answer = begin(&mut browser, json!({"identifier": EMAIL, "password": PASSWORD})).await;
    answer.is_problem(422, "form_password_compromised", "password");
    // Pages show this sentence as it is: they have none of their own for it.
    let told = answer.json["errors"][0]["long_message"].as_str().unwrap();
    assert!(told.contains("continue with an alternative sign-in method"), "{told}");
    let id = answer.json["meta"]["client"]["sign_in"]["id"].as_str().unwrap().to_owned();
    step(&mut browser, &id, "prepare_first_factor", json!({"strategy": "email_code"})).await.ok();
    let fields = json!({"strategy": "email_code", "code": code(&t).await});
    let answer = step(&mut browser, &id, "attempt_first_factor", fields).await.ok();
    let session = &answer["client"]["sessions"][0];
    assert_eq!(
        (&session["status"], &session["tasks"]),
        (&json!("pending"), &json!([{"key": "reset-password"}]))
    );
}

#[tokio::test]
async fn an_old_digest_is_renewed() {
    let t = TestServer::start().await;
    // bcrypt, cost 5.
    let digest = "$2y$05$I2qL4/6p/JEJTNppxyYeHe38h6jkZRLm.5bu69CEpnOroHYz4URha";
    let body = json!({"email_address": [EMAIL], "password_digest": digest, "password_hasher": "bcrypt"});
    t.user(body).await;
    for _ in 0..2 {
        let fields = json!({"identifier": EMAIL, "password": "pässwörd-日本"});
        assert_eq!(shown(begin(&mut t.browser(), fields).await)["status"], "complete");
        let rows = t.everything().await.into_iter().filter(|row| row.starts_with("credentials "));
        assert!(rows.into_iter().all(|row| row.contains("argon2id") && !row.contains("$2b$")));
    }
}

/// Proves a code to choose a new password with; returns the id of the attempt.
pub(super) async fn forgotten(t: &TestServer, browser: &mut latchkey_testkit::Browser<'_>) -> String {
    let id = identified(browser, EMAIL).await;
    let strategy = "reset_password_email_code";
    step(browser, &id, "prepare_first_factor", json!({"strategy": strategy})).await.ok();
    let fields = json!({"strategy": strategy, "code": code(t).await});
    let sign_in = shown(step(browser, &id, "attempt_first_factor", fields).await);
    assert_eq!(sign_in["status"], "needs_new_password");
    id
}

#[tokio::test]
async fn a_forgotten_password_is_replaced() {
    let t = TestServer::start().await;
    ada(&t).await;
    let mut elsewhere = t.browser();
    begin(&mut elsewhere, json!({"identifier": EMAIL, "password": PASSWORD})).await.ok();
    let mut browser = t.browser();
    let id = forgotten(&t, &mut browser).await;
    let weak = json!({"password": "short"});
    step(&mut browser, &id, "reset_password", weak).await.is_problem(
        422,
        "form_password_length_too_short",
        "password",
    );
    let fields = json!({"password": NEW, "sign_out_of_other_sessions": true});
    let answer = step(&mut browser, &id, "reset_password", fields).await.ok();
    assert_eq!(answer["response"]["status"], "complete");
    assert_eq!(answer["client"]["sessions"].as_array().unwrap().len(), 1);
    let client = elsewhere.get("/v1/client").await.ok();
    assert_eq!(client["response"]["sessions"], json!([]));
    let old = begin(&mut t.browser(), json!({"identifier": EMAIL, "password": PASSWORD})).await;
    old.is_error(422, "form_password_incorrect");
    let new = begin(&mut t.browser(), json!({"identifier": EMAIL, "password": NEW})).await;
    assert_eq!(shown(new)["status"], "complete");
}

#[tokio::test]
async fn other_sessions_stay_unless_they_are_to_end() {
    let t = TestServer::start().await;
    ada(&t).await;
    let mut elsewhere = t.browser();
    begin(&mut elsewhere, json!({"identifier": EMAIL, "password": PASSWORD})).await.ok();
    let mut browser = t.browser();
    let id = forgotten(&t, &mut browser).await;
    step(&mut browser, &id, "reset_password", json!({"password": NEW})).await.ok();
    let client = elsewhere.get("/v1/client").await.ok();
    assert_eq!(client["response"]["sessions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn code_and_new_password_may_come_together() {
    let t = TestServer::start().await;
    ada(&t).await;
    let mut browser = t.browser();
    let strategy = "reset_password_email_code";
    let sign_in = shown(begin(&mut browser, json!({"identifier": EMAIL, "strategy": strategy})).await);
    let id = sign_in["id"].as_str().unwrap();
    let code = code(&t).await;
    let weak = json!({"strategy": strategy, "code": code, "password": "short"});
    let answer = step(&mut browser, id, "attempt_first_factor", weak).await;
    answer.is_error(422, "form_password_length_too_short");
    // The code was right, and is not asked for again.
    assert_eq!(answer.json["meta"]["client"]["sign_in"]["status"], "needs_new_password");
    let good = json!({"strategy": strategy, "code": code, "password": NEW});
    assert_eq!(shown(step(&mut browser, id, "attempt_first_factor", good).await)["status"], "complete");
    let new = begin(&mut t.browser(), json!({"identifier": EMAIL, "password": NEW})).await;
    assert_eq!(shown(new)["status"], "complete");
}

#[tokio::test]
async fn a_compromised_password_cannot_be_chosen_again() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    let path = format!("/v1/users/{}/password/set_compromised", user["id"].as_str().unwrap());
    t.post(&path, json!({})).await;
    let mut browser = t.browser();
    let id = forgotten(&t, &mut browser).await;
    let answer = step(&mut browser, &id, "reset_password", json!({"password": PASSWORD})).await;
    answer.is_problem(422, "form_new_password_matches_current", "password");
    let answer = step(&mut browser, &id, "reset_password", json!({"password": NEW})).await.ok();
    let session = &answer["client"]["sessions"][0];
    assert_eq!((&session["status"], &session["tasks"]), (&json!("active"), &Value::Null));
}

/// Whoever reads the mail of somebody must not keep them out.
#[tokio::test]
async fn a_new_password_counts_once_the_second_factor_is_shown() {
    let t = TestServer::start().await;
    let user = t.user(json!({"email_address": [EMAIL], "password": PASSWORD, "totp_secret": SECRET})).await;
    let mut elsewhere = t.browser();
    let id = shown(begin(&mut elsewhere, json!({"identifier": EMAIL, "password": PASSWORD})).await);
    let shown_code = json!({"strategy": "totp", "code": totp(0)});
    step(&mut elsewhere, id["id"].as_str().unwrap(), "attempt_second_factor", shown_code).await.ok();
    let is_password = async |password: &str| {
        let path = format!("/v1/users/{}/verify_password", user["id"].as_str().unwrap());
        t.post(&path, json!({ "password": password })).await.status == 200
    };
    let sessions = async |browser: &mut Browser<'_>| {
        browser.get("/v1/client").await.ok()["response"]["sessions"].as_array().unwrap().len()
    };
    let mut browser = t.browser();
    let id = forgotten(&t, &mut browser).await;
    let fields = json!({"password": NEW, "sign_out_of_other_sessions": true});
    let sign_in = shown(step(&mut browser, &id, "reset_password", fields).await);
    assert_eq!(sign_in["status"], "needs_second_factor");
    assert!(is_password(PASSWORD).await && !is_password(NEW).await);
    assert_eq!(sessions(&mut elsewhere).await, 1);
    t.clock.advance_ms(30_000);
    let wrong = json!({"strategy": "totp", "code": "000000"});
    step(&mut browser, &id, "attempt_second_factor", wrong).await.is_error(422, "form_code_incorrect");
    assert!(is_password(PASSWORD).await);
    let right = json!({"strategy": "totp", "code": totp(1)});
    let sign_in = shown(step(&mut browser, &id, "attempt_second_factor", right).await);
    assert_eq!(sign_in["status"], "complete");
    assert!(!is_password(PASSWORD).await && is_password(NEW).await);
    assert_eq!((sessions(&mut elsewhere).await, sessions(&mut browser).await), (0, 1));
}

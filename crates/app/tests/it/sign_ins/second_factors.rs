//! Second factors, and what makes a browser trusted.

use latchkey_jose::totp::{base32_decode, totp_code};
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Browser, TestServer};
use serde_json::{Value, json};

use super::{EMAIL, PASSWORD, PHONE, ada, begin, code, other_than, server, shown, step, strategies};

pub(super) const SECRET: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
const SECONDS: i64 = 1_767_225_600;

/// Somebody with an authenticator app, a number that is a second factor, and backup codes.
pub(super) async fn guarded(t: &TestServer) -> Value {
    let user = t
        .user(json!({
            "email_address": [EMAIL], "phone_number": [PHONE], "password": PASSWORD, "totp_secret": SECRET,
            "backup_codes": ["backup-one", "backup-two"],
        }))
        .await;
    let path = format!("/v1/phone_numbers/{}", user["phone_numbers"][0]["id"].as_str().unwrap());
    t.patch(&path, json!({"reserved_for_second_factor": true})).await.ok();
    user
}

pub(super) fn totp(step: i64) -> String {
    totp_code(&base32_decode(SECRET).unwrap(), SECONDS / 30 + step)
}

/// Proves the password; returns the id of the attempt, which waits for more.
pub(super) async fn half(browser: &mut Browser<'_>, status: &str) -> String {
    let sign_in = shown(begin(browser, json!({"identifier": EMAIL, "password": PASSWORD})).await);
    assert_eq!((&sign_in["status"], &sign_in["created_session_id"]), (&json!(status), &Value::Null));
    sign_in["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn second_factors_are_offered_after_the_first() {
    let t = TestServer::start().await;
    let user = guarded(&t).await;
    let mut browser = t.browser();
    let sign_in = shown(begin(&mut browser, json!({"identifier": EMAIL})).await);
    assert_eq!(sign_in["supported_second_factors"], Value::Null);
    // The number is the second factor, so it is not the first.
    assert_eq!(
        strategies(&sign_in["supported_first_factors"]),
        ["password", "email_code", "reset_password_email_code"]
    );
    let answer = begin(&mut browser, json!({"identifier": EMAIL, "password": PASSWORD})).await.ok();
    let expected = json!([
        {"strategy": "totp"},
        {
            "strategy": "phone_code", "safe_identifier": "+4*******50", "primary": true, "default": true,
            "phone_number_id": user["phone_numbers"][0]["id"],
        },
        {"strategy": "backup_code"},
    ]);
    assert_eq!(answer["response"]["supported_second_factors"], expected);
    assert_eq!(answer["response"]["first_factor_verification"]["status"], "verified");
    assert_eq!(answer["client"]["sessions"], json!([]));
}

#[tokio::test]
async fn a_code_of_the_app_completes_and_works_once() {
    let t = TestServer::start().await;
    guarded(&t).await;
    let mut browser = t.browser();
    let id = half(&mut browser, "needs_second_factor").await;
    let wrong = json!({"strategy": "totp", "code": other_than(&totp(0))});
    let answer = step(&mut browser, &id, "attempt_second_factor", wrong).await;
    answer.is_problem(422, "form_code_incorrect", "code");
    let verification = &answer.json["meta"]["client"]["sign_in"]["second_factor_verification"];
    assert_eq!((&verification["attempts"], &verification["strategy"]), (&json!(1), &json!("totp")));
    let right = json!({"strategy": "totp", "code": totp(0)});
    let answer = step(&mut browser, &id, "attempt_second_factor", right.clone()).await.ok();
    assert_eq!(answer["response"]["status"], "complete");
    assert_eq!(answer["client"]["sessions"][0]["factor_verification_age"], json!([0, 0]));
    assert_eq!(answer["client"]["last_authentication_strategy"], "password");
    let mut browser = t.browser();
    let id = half(&mut browser, "needs_second_factor").await;
    step(&mut browser, &id, "attempt_second_factor", right).await.is_error(422, "form_code_incorrect");
}

#[tokio::test]
async fn a_backup_code_completes_and_works_once() {
    let t = TestServer::start().await;
    let user = guarded(&t).await;
    for (code, left) in [("backup-one", true), ("backup-two", false)] {
        let mut browser = t.browser();
        let id = half(&mut browser, "needs_second_factor").await;
        let fields = json!({"strategy": "backup_code", "code": code});
        let sign_in = shown(step(&mut browser, &id, "attempt_second_factor", fields.clone()).await);
        assert_eq!(sign_in["status"], "complete");
        assert_eq!(t.shown(user["id"].as_str().unwrap()).await["backup_code_enabled"], left);
        let mut browser = t.browser();
        let id = half(&mut browser, "needs_second_factor").await;
        let again = step(&mut browser, &id, "attempt_second_factor", fields).await;
        again.is_error(
            if left { 422 } else { 400 },
            if left { "form_code_incorrect" } else { "no_second_factors" },
        );
    }
}

#[tokio::test]
async fn a_code_by_text_completes() {
    let t = TestServer::start().await;
    guarded(&t).await;
    let mut browser = t.browser();
    let id = half(&mut browser, "needs_second_factor").await;
    let sign_in = shown(step(&mut browser, &id, "prepare_second_factor", json!({})).await);
    let verification = &sign_in["second_factor_verification"];
    assert_eq!(
        (&verification["strategy"], &verification["status"]),
        (&json!("phone_code"), &json!("unverified"))
    );
    let right = code(&t).await;
    let wrong = json!({"strategy": "phone_code", "code": other_than(&right)});
    step(&mut browser, &id, "attempt_second_factor", wrong).await.is_problem(
        422,
        "form_code_incorrect",
        "code",
    );
    let fields = json!({"strategy": "phone_code", "code": right});
    let answer = step(&mut browser, &id, "attempt_second_factor", fields).await.ok();
    assert_eq!(answer["response"]["status"], "complete");
}

#[tokio::test]
async fn a_code_is_the_first_factor_only() {
    let t = TestServer::start().await;
    guarded(&t).await;
    let mut browser = t.browser();
    let fields = json!({"identifier": EMAIL, "strategy": "email_code"});
    let id = shown(begin(&mut browser, fields).await)["id"].as_str().unwrap().to_owned();
    let fields = json!({"strategy": "email_code", "code": code(&t).await});
    let sign_in = shown(step(&mut browser, &id, "attempt_first_factor", fields).await);
    assert_eq!(sign_in["status"], "needs_second_factor");
    let fields = json!({"strategy": "email_code"});
    step(&mut browser, &id, "prepare_second_factor", fields).await.is_error(400, "no_second_factors");
}

/// A stranger has made the account, with an authenticator app of theirs: whoever has the mailbox does not prove the address
/// for them.
#[tokio::test]
async fn an_address_is_proven_once_the_second_factor_is_shown() {
    let t = TestServer::start().await;
    let user = t
        .user(json!({
            "email_address": [EMAIL], "email_address_identification_status": ["reserved"],
            "password": PASSWORD, "totp_secret": SECRET,
        }))
        .await;
    let path = format!("/v1/users/{}", user["id"].as_str().unwrap());
    let mut browser = t.browser();
    let id =
        shown(begin(&mut browser, json!({"identifier": EMAIL})).await)["id"].as_str().unwrap().to_owned();
    step(&mut browser, &id, "prepare_first_factor", json!({"strategy": "email_code"})).await.ok();
    let answer = json!({"strategy": "email_code", "code": code(&t).await});
    let half = step(&mut browser, &id, "attempt_first_factor", answer).await.ok();
    assert_eq!(half["response"]["status"], "needs_second_factor");
    let address = t.get(&path).await.ok()["email_addresses"][0].take();
    assert_eq!((&address["verification"], &address["reserved"]), (&Value::Null, &json!(true)));
    let right = json!({"strategy": "totp", "code": totp(0)});
    let whole = step(&mut browser, &id, "attempt_second_factor", right).await.ok();
    assert_eq!(whole["response"]["status"], "complete");
    let address = t.get(&path).await.ok()["email_addresses"][0].take();
    assert_eq!(
        (&address["verification"]["status"], &address["reserved"]),
        (&json!("verified"), &json!(false))
    );
}

#[tokio::test]
async fn second_factors_the_instance_does_not_use_are_not_asked_for() {
    let t = server(|settings| {
        settings.attributes.authenticator_app.enabled = true;
        settings.attributes.authenticator_app.used_for_second_factor = false;
    })
    .await;
    t.user(json!({"email_address": [EMAIL], "password": PASSWORD, "totp_secret": SECRET})).await;
    let fields = json!({"identifier": EMAIL, "password": PASSWORD});
    assert_eq!(shown(begin(&mut t.browser(), fields).await)["status"], "complete");
}

pub(super) fn trusting(settings: &mut Settings) {
    settings.sign_in.client_trust = true;
}

#[tokio::test]
async fn a_password_in_a_new_browser_needs_a_code_once() {
    let t = server(trusting).await;
    ada(&t).await;
    let mut browser = t.browser();
    let id = half(&mut browser, "needs_client_trust").await;
    let sign_in = browser.get(&format!("/v1/client/sign_ins/{id}")).await.ok()["response"].take();
    assert_eq!(strategies(&sign_in["supported_second_factors"]), ["email_code", "phone_code"]);
    assert_eq!(sign_in["client_trust_state"], "new");
    step(&mut browser, &id, "prepare_second_factor", json!({"strategy": "email_code"})).await.ok();
    let fields = json!({"strategy": "email_code", "code": code(&t).await});
    let answer = step(&mut browser, &id, "attempt_second_factor", fields).await.ok();
    assert_eq!(answer["response"]["status"], "complete");
    assert_eq!(answer["client"]["sessions"][0]["factor_verification_age"], json!([0, 0]));
    let token = answer["client"]["sessions"][0]["last_active_token"]["jwt"].as_str().unwrap();
    assert_eq!(crate::frontend::claims(token)["fva"], json!([0, 0]));
    assert_eq!(answer["client"]["sessions"][0]["user"]["two_factor_enabled"], false);
    // Signed out and in again: the browser is known.
    browser.delete("/v1/client/sessions").await.ok();
    let again = begin(&mut browser, json!({"identifier": EMAIL, "password": PASSWORD})).await.ok();
    assert_eq!(
        (&again["response"]["status"], &again["response"]["client_trust_state"]),
        (&json!("complete"), &json!("known"))
    );
    // Nothing but the password was proven this time.
    assert_eq!(again["client"]["sessions"][0]["factor_verification_age"], json!([0, -1]));
}

#[tokio::test]
async fn trust_is_asked_for_only_where_it_adds_something() {
    let t = server(trusting).await;
    guarded(&t).await;
    // A second factor is more.
    half(&mut t.browser(), "needs_second_factor").await;
    // Nothing to send a code to.
    t.user(json!({"username": "grace", "password": PASSWORD})).await;
    let fields = json!({"identifier": "grace", "password": PASSWORD});
    assert_eq!(shown(begin(&mut t.browser(), fields).await)["status"], "complete");
    // The application vouches for the browsers of this user.
    t.user(json!({"email_address": ["joan@example.com"], "password": PASSWORD, "bypass_client_trust": true}))
        .await;
    let fields = json!({"identifier": "joan@example.com", "password": PASSWORD});
    assert_eq!(shown(begin(&mut t.browser(), fields).await)["status"], "complete");
    // A code has proven as much already.
    t.user(json!({"email_address": ["mary@example.com"], "password": PASSWORD})).await;
    let mut browser = t.browser();
    let fields = json!({"identifier": "mary@example.com", "strategy": "email_code"});
    let id = shown(begin(&mut browser, fields).await)["id"].as_str().unwrap().to_owned();
    let fields = json!({"strategy": "email_code", "code": code(&t).await});
    assert_eq!(shown(step(&mut browser, &id, "attempt_first_factor", fields).await)["status"], "complete");
}

//! `/v1/me/totp` and `/v1/me/backup_codes`

use latchkey_kernel::limits::{RateLimits, TOTP_SETUP_MS};
use latchkey_kernel::settings::Settings;
use latchkey_testkit::TestServer;
use serde_json::json;

use super::support::{MINUTE_MS, me, sign_in};

const PATH: &str = "/v1/me/totp";
const ATTEMPT: &str = "/v1/me/totp/attempt_verification";
const CODES: &str = "/v1/me/backup_codes";

#[tokio::test]
async fn an_app_is_set_up_with_a_secret_and_its_first_code() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let before = t.events().await.len();
    let begun = me.post(PATH, json!({})).await.ok()["response"].clone();
    assert_eq!((&begun["object"], &begun["verified"]), (&json!("totp"), &json!(false)));
    let (secret, uri) = (begun["secret"].as_str().unwrap(), begun["uri"].as_str().unwrap());
    assert_eq!(secret.len(), 32);
    let expected = format!("otpauth://totp/Latchkey:me%40example.com?secret={secret}&issuer=Latchkey");
    assert!(uri.starts_with(&expected), "{uri}");
    // Nothing is told and nothing counts before the code.
    assert_eq!(
        (me.shown().await["totp_enabled"].clone(), me.events_after(before).await.len()),
        (json!(false), 0)
    );
    let verify = format!("/v1/users/{}/verify_totp", me.user);
    let secret = latchkey_jose::totp::base32_decode(secret).unwrap();
    t.post(&verify, json!({"code": me.totp_code(&secret)})).await.is_error(400, "totp_disabled");
    me.post(ATTEMPT, json!({"code": "000000"})).await.is_problem(422, "form_code_incorrect", "code");
    let done = me.post(ATTEMPT, json!({"code": me.totp_code(&secret)})).await.ok();
    let totp = &done["response"];
    assert_eq!(
        (&totp["verified"], &totp["secret"], &totp["uri"]),
        (&json!(true), &json!(null), &json!(null))
    );
    assert_eq!(totp["backup_codes"].as_array().unwrap().len(), 10);
    assert_eq!(totp["id"], begun["id"]);
    assert_eq!(done["client"]["sessions"][0]["user"]["two_factor_enabled"], true);
    assert_eq!(done["client"]["sessions"][0]["factor_verification_age"], json!([0, 0]));
    assert_eq!(me.events_after(before).await, ["email.created", "user.updated"]);
    let told = &t.inbox().await[0];
    assert_eq!((&told["to"], &told["slug"]), (&json!("me@example.com"), &json!("mfa_enabled")));
    // The code that set it up is used up.
    t.post(&verify, json!({"code": me.totp_code(&secret)})).await.is_error(422, "totp_incorrect_code");
    me.post(PATH, json!({})).await.is_error(400, "totp_already_enabled");
    me.post(ATTEMPT, json!({"code": "000000"})).await.is_error(400, "totp_already_enabled");
}

#[tokio::test]
async fn whoever_delivers_the_notice_of_a_second_factor_sends_it() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let toggle = "/v1/templates/email/mfa_enabled/toggle_delivery";
    t.post(toggle, json!({"delivered_by_service": false})).await.ok();
    me.enroll_totp().await;
    let told = &t.inbox().await[0];
    assert_eq!((&told["slug"], &told["status"]), (&json!("mfa_enabled"), &json!("held")));
}

#[tokio::test]
async fn a_new_secret_takes_the_place_of_one_that_was_never_used() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    me.post(ATTEMPT, json!({"code": "000000"})).await.is_error(404, "resource_not_found");
    let first = me.post(PATH, json!({})).await.ok()["response"]["secret"].clone();
    let second = me.post(PATH, json!({})).await.ok()["response"]["secret"].clone();
    assert_ne!(first, second);
    let decode =
        |text: &serde_json::Value| latchkey_jose::totp::base32_decode(text.as_str().unwrap()).unwrap();
    me.post(ATTEMPT, json!({"code": me.totp_code(&decode(&first))}))
        .await
        .is_error(422, "form_code_incorrect");
    me.post(ATTEMPT, json!({"code": me.totp_code(&decode(&second))})).await.ok();
    me.post(ATTEMPT, json!({})).await.is_problem(422, "form_param_missing", "code");
}

#[tokio::test]
async fn a_secret_that_was_shown_is_proven_soon_and_in_the_same_session() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let begun = me.post(PATH, json!({})).await.ok();
    let secret = latchkey_jose::totp::base32_decode(begun["response"]["secret"].as_str().unwrap()).unwrap();
    let mut elsewhere = sign_in(&t, &me.user).await;
    let code = json!({"code": me.totp_code(&secret)});
    elsewhere.post(ATTEMPT, code).await.is_error(404, "resource_not_found");
    t.clock.advance_ms(TOTP_SETUP_MS);
    let code = json!({"code": me.totp_code(&secret)});
    me.post(ATTEMPT, code).await.is_error(404, "resource_not_found");
    assert_eq!(me.shown().await["totp_enabled"], false);
    let mut again = sign_in(&t, &me.user).await;
    let begun = again.post(PATH, json!({})).await.ok();
    let secret = latchkey_jose::totp::base32_decode(begun["response"]["secret"].as_str().unwrap()).unwrap();
    t.clock.advance_ms(-MINUTE_MS);
    let code = json!({"code": again.totp_code(&secret)});
    again.post(ATTEMPT, code).await.is_error(404, "resource_not_found");
    t.clock.advance_ms(TOTP_SETUP_MS);
    again.post(ATTEMPT, json!({"code": again.totp_code(&secret)})).await.ok();
}

#[tokio::test]
async fn secrets_are_sealed_also_while_an_app_is_set_up() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let begun = me.post(PATH, json!({})).await.ok();
    let text = begun["response"]["secret"].as_str().unwrap();
    let secret = latchkey_jose::totp::base32_decode(text).unwrap();
    let plain = String::from_utf8_lossy(&secret).into_owned();
    assert!(t.everything().await.iter().all(|row| !row.contains(text) && !row.contains(&plain)));
}

#[tokio::test]
async fn an_app_is_removed_with_the_codes_that_stand_in_for_it() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    me.delete(PATH).await.is_error(404, "resource_not_found");
    me.enroll_totp().await;
    let gone = me.delete(PATH).await.ok()["response"].clone();
    assert_eq!((&gone["object"], &gone["deleted"]), (&json!("totp"), &json!(true)));
    let shown = me.shown().await;
    assert_eq!((&shown["totp_enabled"], &shown["backup_code_enabled"]), (&json!(false), &json!(false)));
    assert!(shown["mfa_disabled_at"].is_number());
}

#[tokio::test]
async fn factors_come_and_go_only_after_a_recent_proof() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    me.wait_for_reverification();
    me.post(PATH, json!({})).await.is_error(403, "session_reverification_required");
    let mut fresh = sign_in(&t, &me.user).await;
    fresh.enroll_totp().await;
    // Who has a second factor proves it too: a password alone does not take it away.
    let mut by_password = sign_in(&t, &me.user).await;
    let refused = by_password.delete(PATH).await;
    refused.is_error(403, "session_reverification_required");
    by_password.post(CODES, json!({})).await.is_error(403, "session_reverification_required");
    fresh.wait_for_reverification();
    fresh.delete(PATH).await.is_error(403, "session_reverification_required");
    assert_eq!(fresh.shown().await["totp_enabled"], true);
}

#[tokio::test]
async fn a_required_second_factor_stays() {
    let mut settings = Settings::default();
    settings.sign_up.mfa_required = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    me.enroll_totp().await;
    me.delete(PATH).await.is_error(400, "second_factor_deletion_not_allowed");
    assert_eq!(me.shown().await["totp_enabled"], true);
}

#[tokio::test]
async fn what_is_switched_off_is_not_set_up() {
    let mut settings = Settings::default();
    settings.attributes.authenticator_app.enabled = false;
    settings.attributes.backup_code.enabled = false;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    me.post(PATH, json!({})).await.is_error(403, "feature_not_enabled");
    me.post(ATTEMPT, json!({"code": "000000"})).await.is_error(403, "feature_not_enabled");
    me.post(CODES, json!({})).await.is_error(403, "feature_not_enabled");
}

#[tokio::test]
async fn without_backup_codes_an_app_comes_alone() {
    let mut settings = Settings::default();
    settings.attributes.backup_code.enabled = false;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    let (_, codes) = me.enroll_totp().await;
    assert!(codes.is_empty());
    assert_eq!(me.shown().await["backup_code_enabled"], false);
}

#[tokio::test]
async fn new_backup_codes_take_the_place_of_the_old() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    me.post(CODES, json!({})).await.is_error(400, "backup_codes_not_available");
    let (_, old) = me.enroll_totp().await;
    let before = t.events().await.len();
    let made = me.post("/v1/me/backup_codes/", json!({})).await.ok()["response"].clone();
    assert_eq!(made["object"], "backup_code");
    assert_eq!(me.events_after(before).await, ["user.updated"]);
    let verify = format!("/v1/users/{}/verify_totp", me.user);
    t.post(&verify, json!({"code": old[0]})).await.is_error(422, "totp_incorrect_code");
    t.post(&verify, json!({"code": made["codes"][0]})).await.ok();
    t.post(&verify, json!({"code": made["codes"][0]})).await.is_error(422, "totp_incorrect_code");
}

//! Proving anew who it is: `/v1/client/sessions/{session_id}/verify`

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_presence::sessions::rules::Entry;
use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};

use crate::me::support::{MINUTE_MS, Me, PASSWORD, enter, me, sign_in, somebody};

impl Me<'_> {
    async fn verify(&mut self, step: &str, fields: Value) -> Answer {
        let path = format!("/v1/client/sessions/{}/verify{step}", self.session);
        self.post(&path, fields).await
    }

    async fn start(&mut self, level: &str) -> Value {
        self.verify("", json!({"level": level})).await.ok()["response"].clone()
    }

    async fn prove_password(&mut self, password: &str) -> Answer {
        self.verify("/attempt_first_factor", json!({"strategy": "password", "password": password})).await
    }

    async fn prove_second(&mut self, strategy: &str, code: &str) -> Answer {
        self.verify("/attempt_second_factor", json!({"strategy": strategy, "code": code})).await
    }

    async fn ages(&mut self) -> Value {
        self.shown_session().await["factor_verification_age"].clone()
    }
}

/// The claims of the newest token of the only session.
fn token_ages(answer: &Value) -> Value {
    use base64::Engine;
    let jwt = answer["client"]["sessions"][0]["last_active_token"]["jwt"].as_str().unwrap();
    let claims = jwt.split('.').nth(1).unwrap();
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).unwrap();
    serde_json::from_slice::<Value>(&claims).unwrap()["fva"].clone()
}

fn strategies(factors: &Value) -> Vec<&str> {
    factors.as_array().unwrap().iter().map(|factor| factor["strategy"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_password_makes_an_old_session_fresh_again() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    me.wait_for_reverification();
    me.delete("/v1/me").await.is_error(403, "session_reverification_required");
    let begun = me.start("first_factor").await;
    assert_eq!(
        (&begun["object"], &begun["status"]),
        (&json!("session_reverification"), &json!("needs_first_factor"))
    );
    assert_eq!(strategies(&begun["supported_first_factors"]), ["password", "email_code"]);
    assert_eq!(
        (&begun["supported_second_factors"], &begun["session"]["id"]),
        (&json!(null), &json!(me.session))
    );
    let done = me.prove_password(PASSWORD).await.ok();
    let response = &done["response"];
    assert_eq!((&response["status"], &response["level"]), (&json!("complete"), &json!("first_factor")));
    assert_eq!(response["first_factor_verification"]["status"], "verified");
    assert_eq!(response["supported_first_factors"], json!(null));
    assert_eq!((me.ages().await, token_ages(&done)), (json!([0, -1]), json!([0, -1])));
    me.delete("/v1/me").await.ok();
}

#[tokio::test]
async fn a_proof_that_was_begun_is_owed_even_by_a_fresh_session() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    me.start("first_factor").await;
    me.delete("/v1/me").await.is_error(403, "session_reverification_required");
    me.prove_password("not it").await.is_problem(422, "form_password_incorrect", "password");
    me.delete("/v1/me").await.is_error(403, "session_reverification_required");
    // The ages are what they were: tokens say when somebody proved who they are, not what they owe.
    assert_eq!(me.ages().await, json!([0, -1]));
    me.prove_password(PASSWORD).await.ok();
    me.delete("/v1/me").await.ok();
}

#[tokio::test]
async fn a_code_that_is_sent_does_too() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    me.wait_for_reverification();
    let begun = me.start("first_factor").await;
    let id = begun["supported_first_factors"][1]["email_address_id"].clone();
    let fields = json!({"strategy": "email_code", "email_address_id": id});
    let prepared = me.verify("/prepare_first_factor", fields).await.ok();
    assert_eq!(prepared["response"]["first_factor_verification"]["status"], "unverified");
    let code = me.code().await;
    let attempt = |code: &str| json!({"strategy": "email_code", "code": code});
    let wrong = if code == "000000" { "000001" } else { "000000" };
    me.verify("/attempt_first_factor", attempt(wrong)).await.is_problem(422, "form_code_incorrect", "code");
    assert_eq!(me.ages().await, json!([10, -1]));
    let done = me.verify("/attempt_first_factor", attempt(&code)).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    assert_eq!(me.ages().await, json!([0, -1]));
    let again = me.verify("/attempt_first_factor", attempt(&code)).await;
    again.is_error(400, "invalid_action_for_session_reverification");
}

#[tokio::test]
async fn who_has_no_second_factor_proves_the_first() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    for level in ["second_factor", "multi_factor"] {
        let begun = me.start(level).await;
        assert_eq!(
            (&begun["level"], &begun["status"]),
            (&json!("first_factor"), &json!("needs_first_factor"))
        );
    }
    me.verify("", json!({"level": "all"})).await.is_error(422, "form_param_value_invalid");
    me.verify("", json!({})).await.is_problem(422, "form_param_missing", "level");
}

/// SDKs ask for a recent second factor as long as the age says that there was one.
#[tokio::test]
async fn an_age_of_a_second_factor_that_nothing_renews_goes_when_the_first_is_proven() {
    let t = TestServer::start().await;
    // By a code for a browser that was not known.
    let user = me(&t).await.user;
    let by_trust =
        enter(&t, &user, Entry { first_factor: true, second_factor: true, ..Entry::default() }).await;
    // By a factor that is gone.
    let mut me = somebody(&t, "two@example.com").await;
    me.enroll_totp().await;
    me.delete("/v1/me/totp").await.ok();
    let mut both = [by_trust, me];
    for old in &mut both {
        assert_eq!(old.ages().await, json!([0, 0]));
    }
    t.clock.advance_ms(10 * MINUTE_MS);
    for mut old in both {
        assert_eq!(old.start("second_factor").await["level"], "first_factor");
        old.prove_password("not it").await.is_problem(422, "form_password_incorrect", "password");
        assert_eq!(old.ages().await, json!([10, 10]));
        let done = old.prove_password(PASSWORD).await.ok();
        assert_eq!((old.ages().await, token_ages(&done)), (json!([0, -1]), json!([0, -1])));
    }
}

#[tokio::test]
async fn who_has_a_second_factor_proves_it() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let (secret, codes) = me.enroll_totp().await;
    me.wait_for_reverification();
    let refused = me.delete("/v1/me/totp").await;
    refused.is_error(403, "session_reverification_required");
    assert_eq!(refused.json["errors"][0]["meta"]["reverification"]["level"], "second_factor");
    let begun = me.start("second_factor").await;
    assert_eq!(begun["status"], "needs_second_factor");
    assert_eq!(strategies(&begun["supported_second_factors"]), ["totp", "backup_code"]);
    me.prove_password(PASSWORD).await.is_error(400, "invalid_action_for_session_reverification");
    me.prove_second("totp", "000000").await.is_problem(422, "form_code_incorrect", "code");
    me.prove_second("backup_code", "wrongone").await.is_problem(422, "form_code_incorrect", "code");
    let code = me.totp_code(&secret);
    let done = me.prove_second("totp", &code).await.ok();
    assert_eq!((&done["response"]["status"], token_ages(&done)), (&json!("complete"), json!([10, 0])));
    me.post("/v1/me/email_addresses", json!({"email_address": "second@latchkey.test"})).await.ok();
    // The same code proves nothing twice, in whatever session.
    let mut other = sign_in(&t, &me.user).await;
    other.start("second_factor").await;
    other.prove_second("totp", &code).await.is_problem(422, "form_code_incorrect", "code");
    other.prove_second("backup_code", &codes[0]).await.ok();
    me.start("second_factor").await;
    me.prove_second("backup_code", &codes[0]).await.is_problem(422, "form_code_incorrect", "code");
    me.delete("/v1/me/totp").await.is_error(403, "session_reverification_required");
    me.prove_second("backup_code", &codes[1]).await.ok();
    me.delete("/v1/me/totp").await.ok();
}

#[tokio::test]
async fn both_factors_are_proven_one_after_the_other() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let (secret, _) = me.enroll_totp().await;
    me.wait_for_reverification();
    let begun = me.start("multi_factor").await;
    assert_eq!((&begun["level"], &begun["status"]), (&json!("multi_factor"), &json!("needs_first_factor")));
    let code = me.totp_code(&secret);
    me.prove_second("totp", &code).await.is_error(400, "invalid_action_for_session_reverification");
    let half = me.prove_password(PASSWORD).await.ok();
    assert_eq!(
        (&half["response"]["status"], token_ages(&half)),
        (&json!("needs_second_factor"), json!([10, 10]))
    );
    me.delete("/v1/me").await.is_error(403, "session_reverification_required");
    let done = me.prove_second("totp", &code).await.ok();
    assert_eq!((&done["response"]["status"], token_ages(&done)), (&json!("complete"), json!([0, 0])));
}

#[tokio::test]
async fn a_number_is_a_second_factor_too() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let id = me.add_verified("phone_number", "+4915112345678").await;
    me.patch(&format!("/v1/me/phone_numbers/{id}"), json!({"reserved_for_second_factor": true})).await.ok();
    t.clock.advance_ms(MINUTE_MS);
    let begun = me.start("second_factor").await;
    assert_eq!(strategies(&begun["supported_second_factors"]), ["phone_code", "backup_code"]);
    // The number that is the second factor is not the first one as well.
    let multi = me.start("multi_factor").await;
    assert_eq!(strategies(&multi["supported_first_factors"]), ["password", "email_code"]);
    me.start("second_factor").await;
    me.prove_second("phone_code", "000000").await.is_error(400, "verification_missing");
    me.prove_second("totp", "000000").await.is_error(400, "no_second_factors");
    me.verify("/prepare_second_factor", json!({})).await.ok();
    // Starting anew sends no more texts.
    me.start("second_factor").await;
    let soon =
        me.verify("/prepare_second_factor", json!({"strategy": "phone_code", "phone_number_id": id})).await;
    soon.is_error(429, "verification_code_too_many_requests");
    t.clock.advance_ms(30_000);
    me.verify("/prepare_second_factor", json!({"strategy": "phone_code"})).await.ok();
    let code = me.code().await;
    me.prove_second("phone_code", &code).await.ok();
    assert_eq!(me.ages().await[1], 0);
}

#[tokio::test]
async fn failures_count_for_the_lock_in_whatever_session() {
    let mut settings = Settings::default();
    settings.lockout.max_attempts = 3;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    let mut other = sign_in(&t, &me.user).await;
    me.start("first_factor").await;
    other.start("first_factor").await;
    me.prove_password("wrong").await.is_problem(422, "form_password_incorrect", "password");
    other.prove_password("wrong").await.is_problem(422, "form_password_incorrect", "password");
    me.start("first_factor").await;
    me.prove_password("wrong").await.is_error(403, "user_locked");
    other.prove_password(PASSWORD).await.is_error(403, "user_locked");
    t.clock.advance_ms(60 * MINUTE_MS);
    other.prove_password(PASSWORD).await.ok();
}

#[tokio::test]
async fn steps_need_a_beginning_and_a_factor_that_is_there() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    me.prove_password(PASSWORD).await.is_error(400, "session_reverification_missing");
    me.verify("/prepare_first_factor", json!({"strategy": "email_code"}))
        .await
        .is_error(400, "session_reverification_missing");
    me.prove_second("totp", "000000").await.is_error(400, "session_reverification_missing");
    me.start("first_factor").await;
    me.prove_second("totp", "000000").await.is_error(400, "invalid_action_for_session_reverification");
    let phone = json!({"strategy": "phone_code"});
    me.verify("/prepare_first_factor", phone).await.is_error(400, "strategy_for_user_invalid");
    let reset = json!({"strategy": "reset_password_email_code"});
    me.verify("/prepare_first_factor", reset).await.is_error(400, "strategy_for_user_invalid");
    me.verify("/attempt_first_factor", json!({"strategy": "password"})).await.is_problem(
        422,
        "form_param_missing",
        "password",
    );
    me.verify("/attempt_first_factor", json!({"strategy": "email_code", "code": "1"}))
        .await
        .is_error(400, "verification_missing");
    me.verify("/attempt_first_factor", json!({"strategy": "telepathy"})).await.is_problem(
        422,
        "form_param_value_invalid",
        "strategy",
    );
    let mut stranger = somebody(&t, "other@example.com").await;
    let theirs = stranger.shown().await["primary_email_address_id"].clone();
    let fields = json!({"strategy": "email_code", "email_address_id": theirs});
    me.verify("/prepare_first_factor", fields).await.is_error(400, "strategy_for_user_invalid");
}

#[tokio::test]
async fn sessions_of_other_clients_are_not_there() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let mut other = sign_in(&t, &me.user).await;
    let own = other.session.clone();
    other.session = me.session.clone();
    other.verify("", json!({"level": "first_factor"})).await.is_error(404, "resource_not_found");
    other.prove_password(PASSWORD).await.is_error(404, "resource_not_found");
    other.session = own;
    me.post(&format!("/v1/me/sessions/{}/revoke", other.session), json!({})).await.ok();
    other.verify("", json!({"level": "first_factor"})).await.is_error(401, "signed_out");
}

#[tokio::test]
async fn where_nothing_is_proven_anew_nothing_is_asked() {
    let mut settings = Settings::default();
    settings.session.reverification = false;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let mut me = me(&t).await;
    me.wait_for_reverification();
    me.enroll_totp().await;
    me.wait_for_reverification();
    me.delete("/v1/me/totp").await.ok();
    // Apps of their own may still ask.
    me.start("first_factor").await;
    me.prove_password(PASSWORD).await.ok();
}

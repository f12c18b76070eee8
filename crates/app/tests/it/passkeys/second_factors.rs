//! Passkeys as second factors, for clients of version 2026-08-20 or later: beside a first factor, and in a session.

use latchkey_kernel::environment::Environment;
use latchkey_kernel::settings::Settings;
use latchkey_kernel::strategy::Strategy;
use latchkey_testkit::{Answer, Browser, TestServer};
use serde_json::{Value, json};

use super::authenticator::Authenticator;
use super::{ADDRESS, attempt, begun, options, owner, server_with};
use crate::me::support::{Me, PASSWORD, me, somebody};
use crate::sign_ins::{begin, code, identified, shown, step};

const NEWEST: &str = "2026-08-20";
const OLDER: &str = "2026-05-12";
const PASSKEY: &str = "passkey";

fn settings(settings: &mut Settings) {
    settings.attributes.passkey.second_factors = vec![Strategy::PASSKEY];
}

/// A server where passkeys stand in for other second factors.
async fn server() -> TestServer {
    server_with(settings).await
}

/// A user with a password, an authenticator app and a passkey.
async fn guarded(t: &TestServer) -> (Me<'_>, Authenticator, Vec<u8>) {
    let (mut me, device) = owner(t).await;
    let (secret, _) = me.enroll_totp().await;
    (me, device, secret)
}

fn browser_of<'a>(t: &'a TestServer, version: &'static str) -> Browser<'a> {
    let mut browser = t.browser();
    browser.version = version;
    browser
}

fn strategies(factors: &Value) -> Vec<&str> {
    factors.as_array().unwrap().iter().map(|factor| factor["strategy"].as_str().unwrap()).collect()
}

/// Signs in by a password; returns the attempt.
async fn by_password(browser: &mut Browser<'_>) -> Value {
    shown(begin(browser, json!({"identifier": ADDRESS, "password": PASSWORD})).await)
}

fn id_of(sign_in: &Value) -> String {
    sign_in["id"].as_str().unwrap().to_owned()
}

async fn prepare(browser: &mut Browser<'_>, id: &str) -> Answer {
    step(browser, id, "prepare_second_factor", json!({"strategy": PASSKEY})).await
}

/// Prepares a passkey as second factor; returns the options.
async fn prepared(browser: &mut Browser<'_>, id: &str) -> Value {
    options(&shown(prepare(browser, id).await)["second_factor_verification"])
}

fn evidence(credential: &Value) -> Value {
    json!({"strategy": PASSKEY, "public_key_credential": credential.to_string()})
}

async fn prove(browser: &mut Browser<'_>, id: &str, credential: &Value) -> Answer {
    step(browser, id, "attempt_second_factor", evidence(credential)).await
}

/// Proves the second factor of an attempt with a passkey.
async fn finish(browser: &mut Browser<'_>, id: &str, device: &mut Authenticator) -> Value {
    let credential = device.get(&prepared(browser, id).await);
    prove(browser, id, &credential).await.ok()
}

#[track_caller]
fn is_signed_in_with_both(done: &Value) {
    assert_eq!(done["response"]["status"], "complete");
    assert_eq!(done["client"]["sessions"][0]["factor_verification_age"], json!([0, 0]));
}

#[tokio::test]
async fn passkey_completes_a_sign_in_after_a_password() {
    for is_guarded in [false, true] {
        let t = server_with(|it| {
            settings(it);
            it.attack_protection.enumeration_protection = is_guarded;
        })
        .await;
        let (mut me, mut device, _) = guarded(&t).await;
        let mut browser = browser_of(&t, NEWEST);
        let sign_in = by_password(&mut browser).await;
        assert_eq!(sign_in["status"], "needs_second_factor");
        assert_eq!(strategies(&sign_in["supported_second_factors"]), ["totp", "backup_code", PASSKEY]);
        let id = id_of(&sign_in);
        let answer = prepare(&mut browser, &id).await.ok();
        let verification = &answer["response"]["second_factor_verification"];
        assert_eq!(verification["object"], "verification_passkey");
        assert_eq!(
            (&verification["status"], &verification["strategy"]),
            (&json!("unverified"), &json!(PASSKEY))
        );
        assert_eq!(answer["client"]["sign_in"], answer["response"]);
        let options = options(verification);
        assert_eq!(options["allowCredentials"].as_array().unwrap().len(), 1);
        assert_eq!(options["userVerification"], "required");
        let credential = device.get(&options);
        let events = t.events().await.len();
        let done = prove(&mut browser, &id, &credential).await.ok();
        is_signed_in_with_both(&done);
        let verification = &done["response"]["second_factor_verification"];
        assert_eq!(
            (&verification["status"], &verification["strategy"]),
            (&json!("verified"), &json!(PASSKEY))
        );
        assert_eq!(verification.get("nonce"), None);
        assert_eq!(me.events_after(events).await, ["session.created"]);
        assert!(me.shown().await["passkeys"][0]["last_used_at"].as_i64().is_some());
    }
}

/// Older clients reject strategies that they do not know.
#[tokio::test]
async fn passkey_is_no_second_factor_for_older_clients() {
    let t = server().await;
    let (me, mut device, secret) = guarded(&t).await;
    let mut browser = browser_of(&t, OLDER);
    let sign_in = by_password(&mut browser).await;
    assert_eq!(strategies(&sign_in["supported_second_factors"]), ["totp", "backup_code"]);
    let id = id_of(&sign_in);
    prepare(&mut browser, &id).await.is_error(400, "no_second_factors");
    // A challenge that a newer client began is not answered by an older one.
    browser.version = NEWEST;
    let credential = device.get(&prepared(&mut browser, &id).await);
    browser.version = OLDER;
    prove(&mut browser, &id, &credential).await.is_error(400, "no_second_factors");
    let seen = browser.get(&format!("/v1/client/sign_ins/{id}")).await.ok()["response"].take();
    assert_eq!(strategies(&seen["supported_second_factors"]), ["totp", "backup_code"]);
    t.clock.advance_ms(30_000);
    let totp = json!({"strategy": "totp", "code": me.totp_code(&secret)});
    is_signed_in_with_both(&step(&mut browser, &id, "attempt_second_factor", totp).await.ok());
}

#[tokio::test]
async fn passkey_is_no_second_factor_unless_the_instance_says_so() {
    let t = super::server().await;
    let (_, _, _) = guarded(&t).await;
    let mut browser = browser_of(&t, NEWEST);
    let sign_in = by_password(&mut browser).await;
    assert_eq!(strategies(&sign_in["supported_second_factors"]), ["totp", "backup_code"]);
    let refused = prepare(&mut browser, &id_of(&sign_in)).await;
    refused.is_problem(422, "form_param_value_invalid", "strategy");
    let refused = prove(&mut browser, &id_of(&sign_in), &json!({})).await;
    refused.is_problem(422, "form_param_value_invalid", "strategy");
}

/// A user who is asked for a second factor has one that every client knows, so no client gets stuck.
#[tokio::test]
async fn passkey_alone_does_not_switch_two_factor_authentication_on() {
    let t = server().await;
    let (mut me, _) = owner(&t).await;
    assert_eq!(me.shown().await["two_factor_enabled"], false);
    for version in [OLDER, NEWEST] {
        let mut browser = browser_of(&t, version);
        let done = begin(&mut browser, json!({"identifier": ADDRESS, "password": PASSWORD})).await.ok();
        assert_eq!(done["response"]["status"], "complete", "{version}");
        assert_eq!(done["client"]["sessions"][0]["factor_verification_age"], json!([0, -1]), "{version}");
    }
    me.browser.version = NEWEST;
    let started = me.begin_reverification("second_factor").await;
    assert_eq!(
        (&started["level"], &started["supported_second_factors"]),
        (&json!("first_factor"), &Value::Null)
    );
}

#[tokio::test]
async fn user_with_a_passkey_only_sets_up_a_second_factor_where_one_is_required() {
    let t = server_with(|it| {
        settings(it);
        it.sign_in.second_factor_required = true;
    })
    .await;
    let (_, mut device) = owner(&t).await;
    let mut browser = browser_of(&t, NEWEST);
    let done = begin(&mut browser, json!({"identifier": ADDRESS, "password": PASSWORD})).await.ok();
    let mut other = browser_of(&t, NEWEST);
    let by_passkey = super::sign_in(&mut other, &mut device).await.ok();
    for done in [done, by_passkey] {
        let session = &done["client"]["sessions"][0];
        assert_eq!(
            (&session["status"], &session["tasks"]),
            (&json!("pending"), &json!([{"key": "setup-mfa"}]))
        );
    }
}

#[tokio::test]
async fn passkey_makes_a_browser_trusted_beside_a_code() {
    let t = server_with(|it| {
        settings(it);
        it.sign_in.client_trust = true;
    })
    .await;
    let (_, mut device) = owner(&t).await;
    let mut older = browser_of(&t, OLDER);
    let sign_in = by_password(&mut older).await;
    assert_eq!(strategies(&sign_in["supported_second_factors"]), ["email_code"]);
    let mut browser = browser_of(&t, NEWEST);
    let sign_in = by_password(&mut browser).await;
    assert_eq!(sign_in["status"], "needs_client_trust");
    assert_eq!(strategies(&sign_in["supported_second_factors"]), ["email_code", PASSKEY]);
    is_signed_in_with_both(&finish(&mut browser, &id_of(&sign_in), &mut device).await);
}

#[tokio::test]
async fn passkey_completes_a_sign_in_after_a_reset_code() {
    let t = server().await;
    let (_, mut device, _) = guarded(&t).await;
    let mut browser = browser_of(&t, NEWEST);
    t.clock.advance_ms(1000);
    let id = identified(&mut browser, ADDRESS).await;
    let reset = "reset_password_email_code";
    step(&mut browser, &id, "prepare_first_factor", json!({"strategy": reset})).await.ok();
    let fields = json!({"strategy": reset, "code": code(&t).await, "password": "Another-horse-battery-43"});
    let sign_in = shown(step(&mut browser, &id, "attempt_first_factor", fields).await);
    assert_eq!(sign_in["status"], "needs_second_factor");
    assert_eq!(strategies(&sign_in["supported_second_factors"]), ["totp", "backup_code", PASSKEY]);
    is_signed_in_with_both(&finish(&mut browser, &id, &mut device).await);
    // The new password waited for the second factor.
    let mut again = browser_of(&t, NEWEST);
    let fields = json!({"identifier": ADDRESS, "password": "Another-horse-battery-43"});
    assert_eq!(shown(begin(&mut again, fields).await)["status"], "needs_second_factor");
}

/// It would prove both factors, which the instance says it does not.
#[tokio::test]
async fn passkey_that_was_the_first_factor_is_not_the_second() {
    let t = server_with(|it| {
        settings(it);
        it.passkey_settings.satisfies_second_factor = false;
    })
    .await;
    let (mut me, mut device, _) = guarded(&t).await;
    let mut browser = browser_of(&t, NEWEST);
    let (id, options) = begun(&mut browser).await;
    let credential = device.get(&options);
    let sign_in = shown(attempt(&mut browser, &id, &credential).await);
    assert_eq!(sign_in["status"], "needs_second_factor");
    assert_eq!(strategies(&sign_in["supported_second_factors"]), ["totp", "backup_code"]);
    prepare(&mut browser, &id).await.is_error(400, "no_second_factors");
    me.browser.version = NEWEST;
    me.begin_reverification("multi_factor").await;
    let asked = me.reverify("prepare_first_factor", json!({"strategy": PASSKEY})).await.ok();
    let credential = device.get(&super::options(&asked["response"]["first_factor_verification"]));
    let half = me.reverify("attempt_first_factor", evidence(&credential)).await.ok()["response"].take();
    assert_eq!(half["status"], "needs_second_factor");
    assert_eq!(strategies(&half["supported_second_factors"]), ["totp", "backup_code"]);
    me.reverify("prepare_second_factor", json!({"strategy": PASSKEY}))
        .await
        .is_error(400, "no_second_factors");
}

#[tokio::test]
async fn second_factor_takes_only_a_fresh_answer_by_a_passkey_of_the_user() {
    let t = server().await;
    let (_, mut device, _) = guarded(&t).await;
    let mut stranger = somebody(&t, "other@example.com").await;
    let mut other_device = Authenticator::new();
    stranger.register(&mut other_device).await;
    let mut browser = browser_of(&t, NEWEST);
    let id = id_of(&by_password(&mut browser).await);
    let nothing = prove(&mut browser, &id, &json!({"id": "x"})).await;
    nothing.is_error(400, "verification_missing");
    let missing = step(&mut browser, &id, "attempt_second_factor", json!({"strategy": PASSKEY})).await;
    missing.is_problem(422, "form_param_missing", "public_key_credential");
    // The passkey of another user, which answers without being asked.
    let options = prepared(&mut browser, &id).await;
    let credential = other_device.get(&options);
    prove(&mut browser, &id, &credential).await.is_error(400, "passkey_authentication_failure");
    // An answer to the challenge of another attempt.
    let mut elsewhere = browser_of(&t, NEWEST);
    let (_, of_another) = begun(&mut elsewhere).await;
    let credential = device.get(&of_another);
    prove(&mut browser, &id, &credential).await.is_error(400, "passkey_invalid_verification");
    // An answer that comes too late.
    let credential = device.get(&options);
    t.clock.advance_ms(300_000);
    prove(&mut browser, &id, &credential).await.is_error(400, "verification_expired");
    // One answer signs in once.
    let credential = device.get(&prepared(&mut browser, &id).await);
    is_signed_in_with_both(&prove(&mut browser, &id, &credential).await.ok());
    let mut again = browser_of(&t, NEWEST);
    let id = id_of(&by_password(&mut again).await);
    prepared(&mut again, &id).await;
    prove(&mut again, &id, &credential).await.is_error(400, "passkey_invalid_verification");
}

#[tokio::test]
async fn wrong_passkeys_count_towards_the_lock_of_the_user() {
    let t = server_with(|it| {
        settings(it);
        it.lockout.max_attempts = 2;
    })
    .await;
    let (_, device, _) = guarded(&t).await;
    let mut forged = Authenticator { id: device.id.clone(), handle: device.handle, ..Authenticator::new() };
    let mut browser = browser_of(&t, NEWEST);
    let id = id_of(&by_password(&mut browser).await);
    let options = prepared(&mut browser, &id).await;
    let credential = forged.get(&options);
    prove(&mut browser, &id, &credential).await.is_error(400, "passkey_authentication_failure");
    prove(&mut browser, &id, &credential).await.is_error(403, "user_locked");
    prove(&mut browser, &id, &credential).await.is_error(403, "user_locked");
}

#[tokio::test]
async fn second_passkey_of_another_instance_is_unknown() {
    let t = server().await;
    let (_, mut device, _) = guarded(&t).await;
    let mut changed = Settings::default();
    changed.attributes.passkey.enabled = true;
    settings(&mut changed);
    changed.sign_in.client_trust = true;
    let other = t.new_tenant(Environment::Development, changed).await;
    let body = json!({"email_address": [ADDRESS], "password": "Correct-horse-battery-42"});
    t.call(Some(&other), "POST", "/v1/users", Some(body)).await.ok();
    let mut browser = t.browser_at(&other);
    browser.version = NEWEST;
    let fields = json!({"identifier": ADDRESS, "password": "Correct-horse-battery-42"});
    let sign_in = shown(begin(&mut browser, fields).await);
    assert_eq!(strategies(&sign_in["supported_second_factors"]), ["email_code"]);
    let id = id_of(&sign_in);
    prepare(&mut browser, &id).await.is_error(400, "no_passkeys_found_for_user");
    let mut own = browser_of(&t, NEWEST);
    let id_of_own = id_of(&by_password(&mut own).await);
    let credential = device.get(&prepared(&mut own, &id_of_own).await);
    prove(&mut browser, &id, &credential).await.is_error(400, "verification_missing");
}

impl Me<'_> {
    pub(crate) async fn reverify(&mut self, step: &str, fields: Value) -> Answer {
        let path = format!("/v1/client/sessions/{}/verify/{step}", self.session);
        self.post(&path, fields).await
    }

    pub(crate) async fn begin_reverification(&mut self, level: &str) -> Value {
        let path = format!("/v1/client/sessions/{}/verify", self.session);
        self.post(&path, json!({"level": level})).await.ok()["response"].take()
    }

    async fn reverify_by_passkey(&mut self, device: &mut Authenticator) -> Value {
        let asked = self.reverify("prepare_second_factor", json!({"strategy": PASSKEY})).await.ok();
        let credential = device.get(&options(&asked["response"]["second_factor_verification"]));
        self.reverify("attempt_second_factor", evidence(&credential)).await.ok()
    }
}

#[tokio::test]
async fn passkey_is_the_second_factor_of_a_reverification() {
    let t = server().await;
    let (mut me, mut device, _) = guarded(&t).await;
    me.browser.version = NEWEST;
    me.wait_for_reverification();
    let started = me.begin_reverification("second_factor").await;
    assert_eq!(strategies(&started["supported_second_factors"]), ["totp", "backup_code", PASSKEY]);
    let done = me.reverify_by_passkey(&mut device).await;
    assert_eq!(done["response"]["status"], "complete");
    assert_eq!(done["client"]["sessions"][0]["factor_verification_age"], json!([10, 0]));
    me.begin_reverification("multi_factor").await;
    let password = json!({"strategy": "password", "password": PASSWORD});
    let half = me.reverify("attempt_first_factor", password).await.ok();
    assert_eq!(half["response"]["status"], "needs_second_factor");
    let done = me.reverify_by_passkey(&mut device).await;
    assert_eq!(done["client"]["sessions"][0]["factor_verification_age"], json!([0, 0]));
    me.delete("/v1/me/totp").await.ok();
}

#[tokio::test]
async fn reverification_rejects_wrong_passkeys_and_older_clients() {
    let t = server().await;
    let (mut me, mut device, secret) = guarded(&t).await;
    let started = me.begin_reverification("second_factor").await;
    assert_eq!(strategies(&started["supported_second_factors"]), ["totp", "backup_code"]);
    let prepare = json!({"strategy": PASSKEY});
    me.reverify("prepare_second_factor", prepare.clone()).await.is_error(400, "no_second_factors");
    me.browser.version = NEWEST;
    let asked = me.reverify("prepare_second_factor", prepare).await.ok();
    let options = options(&asked["response"]["second_factor_verification"]);
    let mut forged =
        Authenticator { id: device.id.clone(), handle: device.handle.clone(), ..Authenticator::new() };
    let credential = forged.get(&options);
    me.reverify("attempt_second_factor", evidence(&credential))
        .await
        .is_error(400, "passkey_authentication_failure");
    let credential = device.get(&options);
    me.browser.version = OLDER;
    me.reverify("attempt_second_factor", evidence(&credential)).await.is_error(400, "no_second_factors");
    let code = json!({"strategy": "totp", "code": me.totp_code(&secret)});
    t.clock.advance_ms(30_000);
    let later = json!({"strategy": "totp", "code": me.totp_code(&secret)});
    me.reverify("attempt_second_factor", code).await.is_problem(422, "form_code_incorrect", "code");
    me.reverify("attempt_second_factor", later).await.ok();
    // Nothing is under way any more.
    me.browser.version = NEWEST;
    me.reverify("attempt_second_factor", evidence(&credential))
        .await
        .is_error(400, "invalid_action_for_session_reverification");
}

#[tokio::test]
async fn user_without_a_passkey_is_not_offered_one() {
    let t = server().await;
    let mut me = me(&t).await;
    me.enroll_totp().await;
    let mut browser = browser_of(&t, NEWEST);
    let sign_in = by_password(&mut browser).await;
    assert_eq!(strategies(&sign_in["supported_second_factors"]), ["totp", "backup_code"]);
    prepare(&mut browser, &id_of(&sign_in)).await.is_error(400, "no_passkeys_found_for_user");
}

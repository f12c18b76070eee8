//! Trusted devices: enrolling one, signing in with it, losing it; and what nobody gets in with.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::{AndroidApp, Settings};
use latchkey_testkit::{Answer, Browser, TestServer};
use serde_json::{Value, json};

use crate::me::support::{Me, me, sign_in as enter, somebody};
use crate::sign_ins::{begin, identified, shown, step};

const APP: &str = "com.example.app";

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.native_settings.trusted_device_sign_in_enabled = true;
    settings.native_settings.apple_app_ids = vec![format!("A1B2C3D4E5.{APP}")];
    settings.native_settings.android_apps = vec![AndroidApp {
        package_name: "com.example.android".into(),
        sha256_cert_fingerprints: vec![["AB"; 32].join(":")],
    }];
    settings
}

async fn server() -> TestServer {
    TestServer::start_with(RateLimits::Off, settings()).await
}

/// A phone that keeps a key.
struct Phone {
    key: EcdsaKeyPair,
}

impl Phone {
    fn new() -> Phone {
        Phone { key: EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap() }
    }

    fn jwk(&self) -> String {
        let point = self.key.public_key().as_ref();
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        json!({"kty": "EC", "crv": "P-256", "x": text(&point[1..33]), "y": text(&point[33..65]), "alg": "ES256"})
            .to_string()
    }

    fn sign(&self, text: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.key.sign(&SystemRandom::new(), text.as_bytes()).unwrap())
    }

    /// What the app says of it.
    fn form(&self) -> Value {
        json!({"platform": "ios", "app_identifier": APP, "name": "Phone", "algorithm": "ES256",
            "public_key_jwk": self.jwk()})
    }

    /// The same with the challenge signed.
    fn signed(&self, challenge: &Value) -> Value {
        let mut form = self.form();
        form["client_data"] = challenge["client_data"].clone();
        form["signature"] = json!(self.sign(challenge["client_data"].as_str().unwrap()));
        form
    }
}

impl Me<'_> {
    async fn prepare_device(&mut self, phone: &Phone) -> Value {
        self.post("/v1/me/trusted_devices/prepare", phone.form()).await.ok()["response"].take()
    }

    async fn attempt_device(&mut self, form: Value) -> Answer {
        self.post("/v1/me/trusted_devices/attempt", form).await
    }

    async fn enroll(&mut self, phone: &Phone) -> String {
        let challenge = self.prepare_device(phone).await;
        let device = self.attempt_device(phone.signed(&challenge)).await.ok();
        device["response"]["id"].as_str().unwrap().to_owned()
    }
}

/// Begins to sign in with a device: the attempt, and what is to be signed.
async fn begun(browser: &mut Browser<'_>, device: &str) -> (String, Value) {
    let sign_in =
        shown(begin(browser, json!({"strategy": "trusted_device", "trusted_device_id": device})).await);
    let challenge = sign_in["first_factor_verification"]["trusted_device_challenge"].clone();
    (sign_in["id"].as_str().unwrap().to_owned(), challenge)
}

/// What an app sends with a signature.
fn proof(device: &str, challenge: &Value, signature: &str) -> Value {
    json!({"strategy": "trusted_device", "trusted_device_id": device, "algorithm": "ES256",
        "client_data": challenge["client_data"], "signature": signature})
}

async fn sign_in(browser: &mut Browser<'_>, device: &str, phone: &Phone) -> Answer {
    let (id, challenge) = begun(browser, device).await;
    let signature = phone.sign(challenge["client_data"].as_str().unwrap());
    step(browser, &id, "attempt_first_factor", proof(device, &challenge, &signature)).await
}

/// The same whether somebody has the address that was typed or nobody.
#[tokio::test]
async fn where_nobody_learns_who_has_an_account_ones_own_device_does_not_tell() {
    let mut settings = settings();
    settings.attack_protection.enumeration_protection = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let (mut me, phone) = (me(&t).await, Phone::new());
    let device = me.enroll(&phone).await;
    somebody(&t, "other@example.com").await;
    let mut seen = Vec::new();
    for address in ["other@example.com", "nobody@example.com"] {
        let mut browser = t.browser();
        let id = identified(&mut browser, address).await;
        let asked = json!({"strategy": "trusted_device", "trusted_device_id": device});
        let prepared = shown(step(&mut browser, &id, "prepare_first_factor", asked).await);
        let challenge = &prepared["first_factor_verification"]["trusted_device_challenge"];
        let signature = phone.sign(challenge["client_data"].as_str().unwrap());
        let refused =
            step(&mut browser, &id, "attempt_first_factor", proof(&device, challenge, &signature)).await;
        assert_eq!((refused.status, refused.code()), (400, "strategy_for_user_invalid"), "{address}");
        let after = shown(browser.get(&format!("/v1/client/sign_ins/{id}")).await);
        let proof = &after["first_factor_verification"];
        seen.push((after["status"].clone(), proof["status"].clone(), proof["attempts"].clone()));
    }
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn a_device_is_enrolled_listed_used_and_revoked() {
    let t = server().await;
    let (mut me, phone) = (me(&t).await, Phone::new());
    let events = t.events().await.len();
    let challenge = me.prepare_device(&phone).await;
    assert_eq!(
        (&challenge["object"], &challenge["algorithm"]),
        (&json!("trusted_device_challenge"), &json!("ES256"))
    );
    assert_eq!(challenge.get("trusted_device_id"), None);
    let device = me.attempt_device(phone.signed(&challenge)).await.ok()["response"].take();
    assert_eq!((&device["status"], &device["platform"]), (&json!("active"), &json!("ios")));
    assert_eq!((&device["name"], &device["app_identifier"]), (&json!("Phone"), &json!(APP)));
    assert_eq!(me.events_after(events).await, ["user.updated"]);
    let id = device["id"].as_str().unwrap();
    assert_eq!(me.get("/v1/me/trusted_devices").await.ok()["response"][0]["id"], *id);
    assert_eq!(t.get(&format!("/v1/users/{}/trusted_devices", me.user)).await.ok()["data"][0]["id"], *id);
    let environment = t.browser().get("/v1/environment").await.ok();
    assert_eq!(environment["auth_config"]["native_settings"]["trusted_device_sign_in_enabled"], true);

    let mut browser = t.browser();
    let done = sign_in(&mut browser, id, &phone).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    assert_eq!(done["response"]["first_factor_verification"]["strategy"], "trusted_device");
    assert_eq!(done["client"]["sessions"][0]["user"]["id"], json!(me.user));
    let listed = me.get("/v1/me/trusted_devices").await.ok()["response"].take();
    assert!(listed[0]["last_used_at"].as_i64().is_some());
    let valid = json!({"trusted_device_id": id});
    let path = "/v1/client/trusted_devices/validate";
    assert_eq!(me.post(path, valid.clone()).await.ok()["response"]["valid"], true);

    let gone = me.delete(&format!("/v1/me/trusted_devices/{id}")).await.ok()["response"].take();
    assert_eq!((&gone["status"], gone["revoked_at"].is_i64()), (&json!("revoked"), true));
    assert_eq!(me.get("/v1/me/trusted_devices").await.ok()["response"], json!([]));
    assert_eq!(me.post(path, valid).await.ok()["response"]["valid"], false);
    me.delete(&format!("/v1/me/trusted_devices/{id}")).await.is_error(404, "resource_not_found");
    let fields = json!({"strategy": "trusted_device", "trusted_device_id": id});
    begin(&mut t.browser(), fields).await.is_problem(
        422,
        "trusted_device_not_registered",
        "trusted_device_id",
    );
    assert_eq!(t.count_rows("trusted_devices").await, 0);
}

#[tokio::test]
async fn a_device_that_the_application_revokes_lets_nobody_in() {
    let t = server().await;
    let (mut me, phone) = (me(&t).await, Phone::new());
    let id = me.enroll(&phone).await;
    // Also when somebody is about to sign in with it.
    let mut browser = t.browser();
    let (attempt, challenge) = begun(&mut browser, &id).await;
    t.delete(&format!("/v1/users/{}/trusted_devices/{id}", me.user)).await.ok();
    let signature = phone.sign(challenge["client_data"].as_str().unwrap());
    let answer =
        step(&mut browser, &attempt, "attempt_first_factor", proof(&id, &challenge, &signature)).await;
    answer.is_problem(422, "trusted_device_not_registered", "trusted_device_id");
    // Its key may be enrolled anew.
    me.enroll(&phone).await;
    assert_eq!(t.count_rows("trusted_devices").await, 1);
}

#[tokio::test]
async fn a_device_is_one_factor() {
    let t = server().await;
    let (mut me, phone) = (me(&t).await, Phone::new());
    let id = me.enroll(&phone).await;
    me.enroll_totp().await;
    let answer = sign_in(&mut t.browser(), &id, &phone).await.ok();
    assert_eq!(answer["response"]["status"], "needs_second_factor");
}

#[tokio::test]
async fn enrolling_and_revoking_need_a_recent_proof_and_the_feature() {
    let t = server().await;
    let (mut me, phone) = (me(&t).await, Phone::new());
    let id = me.enroll(&phone).await;
    me.wait_for_reverification();
    me.post("/v1/me/trusted_devices/prepare", Phone::new().form())
        .await
        .is_error(403, "session_reverification_required");
    me.delete(&format!("/v1/me/trusted_devices/{id}")).await.is_error(403, "session_reverification_required");
    t.set_settings(Settings::default()).await;
    let mut me = enter(&t, &me.user).await;
    me.post("/v1/me/trusted_devices/prepare", phone.form()).await.is_error(403, "feature_not_enabled");
    let fields = json!({"trusted_device_id": id});
    me.post("/v1/client/trusted_devices/validate", fields).await.is_error(403, "feature_not_enabled");
    let fields = json!({"strategy": "trusted_device", "trusted_device_id": id});
    begin(&mut t.browser(), fields).await.is_problem(422, "form_param_value_invalid", "strategy");
}

#[tokio::test]
async fn only_apps_of_the_application_and_whole_keys_are_enrolled() {
    let t = server().await;
    let (mut me, phone) = (me(&t).await, Phone::new());
    let path = "/v1/me/trusted_devices/prepare";
    for (platform, app) in [("ios", "com.evil.app"), ("android", APP), ("ios", "com.example.android")] {
        let mut form = phone.form();
        (form["platform"], form["app_identifier"]) = (json!(platform), json!(app));
        me.post(path, form).await.is_error(400, "trusted_device_app_identifier_not_configured");
    }
    let zero = URL_SAFE_NO_PAD.encode([0; 32]);
    let valid: Value = serde_json::from_str(&phone.jwk()).unwrap();
    let with = |name: &str, value: &str| {
        let mut jwk = valid.clone();
        jwk[name] = json!(value);
        jwk.to_string()
    };
    for jwk in [
        with("crv", "P-384"),
        with("crv", "secp256k1"),
        with("kty", "RSA"),
        with("d", "AAAA"),
        with("x", &zero),
        with("y", valid["x"].as_str().unwrap()),
        with("alg", "none"),
        "{}".to_owned(),
        "[".repeat(5000),
    ] {
        let mut form = phone.form();
        form["public_key_jwk"] = json!(jwk);
        me.post(path, form).await.is_problem(422, "trusted_device_invalid_public_key", "public_key_jwk");
    }
    let mut form = phone.form();
    form["algorithm"] = json!("HS256");
    assert_eq!(me.post(path, form).await.param(), "algorithm");
    let mut form = phone.form();
    form["name"] = json!("x".repeat(256));
    me.post(path, form).await.is_problem(422, "form_param_max_length_exceeded", "name");
}

#[tokio::test]
async fn a_challenge_is_signed_once_by_its_device_in_its_app_and_in_time() {
    let t = server().await;
    let (mut me, phone, thief) = (me(&t).await, Phone::new(), Phone::new());
    let missing = (400, "trusted_device_challenge_not_found");
    // Signed by another key; it is used up all the same.
    let challenge = me.prepare_device(&phone).await;
    let mut form = phone.signed(&challenge);
    form["signature"] = json!(thief.sign(challenge["client_data"].as_str().unwrap()));
    me.attempt_device(form).await.is_error(400, "trusted_device_signature_verification_failed");
    me.attempt_device(phone.signed(&challenge)).await.is_error(missing.0, missing.1);
    // Another key than the one it is for.
    let challenge = me.prepare_device(&phone).await;
    let answer = me.attempt_device(thief.signed(&challenge)).await;
    answer.is_problem(422, "trusted_device_binding_mismatch", "public_key_jwk");
    // Another text with the same name.
    let mut challenge = me.prepare_device(&phone).await;
    let text = challenge["client_data"].as_str().unwrap().replace("enrollment", "sign_in");
    challenge["client_data"] = json!(text);
    let answer = me.attempt_device(phone.signed(&challenge)).await;
    answer.is_problem(422, "trusted_device_invalid_client_data", "client_data");
    for text in ["", "{", "{}", r#"{"challenge_id":"x"}"#, &"[".repeat(5000)] {
        let mut form = phone.signed(&challenge);
        form["client_data"] = json!(text);
        assert_eq!(me.attempt_device(form).await.status, 422, "{text}");
    }
    // In another app, by somebody else, and too late.
    let challenge = me.prepare_device(&phone).await;
    let mut elsewhere = enter(&t, &me.user).await;
    elsewhere.attempt_device(phone.signed(&challenge)).await.is_error(missing.0, missing.1);
    let mut other = somebody(&t, "other@example.com").await;
    other.attempt_device(phone.signed(&challenge)).await.is_error(missing.0, missing.1);
    t.clock.advance_ms(5 * 60_000);
    me.attempt_device(phone.signed(&challenge)).await.is_error(400, "trusted_device_challenge_expired");
    let challenge = me.prepare_device(&phone).await;
    me.attempt_device(phone.signed(&challenge)).await.ok();
    me.attempt_device(phone.signed(&challenge)).await.is_error(missing.0, missing.1);
    let challenge = me.prepare_device(&phone).await;
    me.attempt_device(phone.signed(&challenge)).await.is_error(409, "trusted_device_already_enrolled");
}

#[tokio::test]
async fn a_user_has_ten_devices_at_most() {
    let t = server().await;
    let mut me = me(&t).await;
    for _ in 0..10 {
        me.enroll(&Phone::new()).await;
    }
    let refused = me.post("/v1/me/trusted_devices/prepare", Phone::new().form()).await;
    refused.is_error(400, "trusted_device_credential_quota_exceeded");
}

#[tokio::test]
async fn signatures_of_others_of_other_texts_and_of_before_sign_nobody_in() {
    let t = server().await;
    let (mut me, phone, thief) = (me(&t).await, Phone::new(), Phone::new());
    let id = me.enroll(&phone).await;
    let mut browser = t.browser();
    let (attempt, challenge) = begun(&mut browser, &id).await;
    let text = challenge["client_data"].as_str().unwrap();
    let try_it = async |browser: &mut Browser<'_>, attempt: &str, fields: Value| {
        step(browser, attempt, "attempt_first_factor", fields).await
    };
    let failed = "trusted_device_signature_verification_failed";
    try_it(&mut browser, &attempt, proof(&id, &challenge, &thief.sign(text))).await.is_error(400, failed);
    try_it(&mut browser, &attempt, proof(&id, &challenge, "AAAA")).await.is_error(400, failed);
    let mut other = challenge.clone();
    other["client_data"] = json!(text.replace("sign_in", "enrollment"));
    let signature = phone.sign(other["client_data"].as_str().unwrap());
    let answer = try_it(&mut browser, &attempt, proof(&id, &other, &signature)).await;
    answer.is_problem(422, "trusted_device_invalid_client_data", "client_data");
    // Tried too often.
    let right = proof(&id, &challenge, &phone.sign(text));
    try_it(&mut browser, &attempt, right.clone()).await.is_error(400, "verification_failed");
    // The challenge of one attempt in another.
    let (attempt, next) = begun(&mut browser, &id).await;
    let answer = try_it(&mut browser, &attempt, right).await;
    answer.is_problem(422, "trusted_device_invalid_client_data", "client_data");
    let second = me.enroll(&thief).await;
    let signature = thief.sign(next["client_data"].as_str().unwrap());
    let answer = try_it(&mut browser, &attempt, proof(&second, &next, &signature)).await;
    answer.is_problem(422, "trusted_device_binding_mismatch", "trusted_device_id");
    for name in ["trusted_device_id", "client_data", "signature", "algorithm"] {
        let mut fields = proof(&id, &next, &phone.sign(next["client_data"].as_str().unwrap()));
        fields[name] = json!("");
        try_it(&mut browser, &attempt, fields).await.is_problem(422, "form_param_missing", name);
    }
    t.clock.advance_ms(5 * 60_000);
    let late = proof(&id, &next, &phone.sign(next["client_data"].as_str().unwrap()));
    try_it(&mut browser, &attempt, late).await.is_error(400, "verification_expired");
    assert_eq!(browser.get("/v1/client").await.ok()["response"]["sessions"], json!([]));
}

#[tokio::test]
async fn devices_of_other_people_and_tenants_are_unknown() {
    let t = server().await;
    let (mut me, phone) = (me(&t).await, Phone::new());
    let id = me.enroll(&phone).await;
    let mut other = somebody(&t, "other@example.com").await;
    other.delete(&format!("/v1/me/trusted_devices/{id}")).await.is_error(404, "resource_not_found");
    let fields = json!({"strategy": "trusted_device", "trusted_device_id": id});
    let mut browser = t.browser();
    let attempt = identified(&mut browser, "other@example.com").await;
    let answer = step(&mut browser, &attempt, "prepare_first_factor", fields.clone()).await;
    answer.is_problem(422, "trusted_device_not_registered", "trusted_device_id");
    let tenant = t.new_tenant(latchkey_kernel::environment::Environment::Development, settings()).await;
    let answer = begin(&mut t.browser_at(&tenant), fields).await;
    answer.is_problem(422, "trusted_device_not_registered", "trusted_device_id");
    for odd in ["x", "tdv_\u{1F600}", &"x".repeat(10_000)] {
        let fields = json!({"strategy": "trusted_device", "trusted_device_id": odd});
        begin(&mut t.browser(), fields).await.is_error(422, "trusted_device_not_registered");
        let fields = json!({"trusted_device_id": odd});
        let valid = me.post("/v1/client/trusted_devices/validate", fields).await.ok();
        assert_eq!(valid["response"]["valid"], false);
    }
}

#[tokio::test]
async fn of_many_signatures_at_once_one_gets_in() {
    let t = server().await;
    let (mut me, phone) = (me(&t).await, Phone::new());
    let challenge = me.prepare_device(&phone).await;
    let (token, form) = (me.browser.dev_browser.clone(), phone.signed(&challenge));
    let tries = (0..32).map(|_| {
        let mut browser = t.browser();
        browser.dev_browser = token.clone();
        let form = form.clone();
        async move { browser.post("/v1/me/trusted_devices/attempt", form).await.status }
    });
    let statuses = join_all(tries).await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    let id = me.get("/v1/me/trusted_devices").await.ok()["response"][0]["id"].as_str().unwrap().to_owned();
    let mut browser = t.browser();
    let (attempt, challenge) = begun(&mut browser, &id).await;
    let fields = proof(&id, &challenge, &phone.sign(challenge["client_data"].as_str().unwrap()));
    let cookies = browser.cookies.clone();
    let tries = (0..32).map(|_| {
        let mut browser = t.browser();
        browser.cookies = cookies.clone();
        let (attempt, fields) = (attempt.clone(), fields.clone());
        async move { step(&mut browser, &attempt, "attempt_first_factor", fields).await.status }
    });
    let statuses = join_all(tries).await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| *status < 500), "{statuses:?}");
}

/// Native apps of version 2026-08-20 or later.
#[tokio::test]
async fn device_proves_again_who_a_user_is_in_newer_native_apps() {
    let t = server().await;
    let (mut me, phone) = (me(&t).await, Phone::new());
    let device = me.enroll(&phone).await;
    let session = me.session.clone();
    let path = |step: &str, query: &str| format!("/v1/client/sessions/{session}/verify{step}?{query}");
    let asked = json!({"strategy": "trusted_device", "trusted_device_id": device});
    me.wait_for_reverification();
    for (version, native) in [("2026-05-12", "1"), ("2026-08-20", "0")] {
        me.browser.version = version;
        let query = format!("_is_native={native}");
        let begun = me.post(&path("", &query), json!({"level": "first_factor"})).await.ok();
        assert_eq!(
            begun["response"]["supported_first_factors"].as_array().unwrap().len(),
            2,
            "{version} {native}: {begun:#}"
        );
        let refused = me.post(&path("/prepare_first_factor", &query), asked.clone()).await;
        refused.is_error(400, "strategy_for_user_invalid");
    }
    let native = "_is_native=1";
    let begun = me.post(&path("", native), json!({"level": "first_factor"})).await.ok();
    assert_eq!(
        begun["response"]["supported_first_factors"][2],
        json!({"strategy": "trusted_device", "trusted_device_id": device})
    );
    let prepared = me.post(&path("/prepare_first_factor", native), asked).await.ok();
    let challenge = &prepared["response"]["first_factor_verification"]["trusted_device_challenge"];
    let text = challenge["client_data"].as_str().unwrap();
    assert!(text.contains("trusted_device.reverification"), "{text}");
    let forged = proof(&device, challenge, &Phone::new().sign(text));
    let refused = me.post(&path("/attempt_first_factor", native), forged).await;
    refused.is_error(400, "trusted_device_signature_verification_failed");
    let proof = proof(&device, challenge, &phone.sign(text));
    let done = me.post(&path("/attempt_first_factor", native), proof).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    assert_eq!(done["client"]["sessions"][0]["factor_verification_age"], json!([0, -1]));
}

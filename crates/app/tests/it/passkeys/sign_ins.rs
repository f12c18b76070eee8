//! Signing in with a passkey, in every way, and proving anew who one is.

use latchkey_kernel::environment::Environment;
use latchkey_kernel::settings::Settings;
use latchkey_presence::sessions::rules::Entry;
use serde_json::{Value, json};

use super::authenticator::Authenticator;
use super::{ADDRESS, attempt, begun, options, owner, server, server_with, sign_in};
use crate::me::support::{enter, me};
use crate::sign_ins::{begin, identified, shown, step};

fn strategies(factors: &Value) -> Vec<&str> {
    factors.as_array().unwrap().iter().map(|factor| factor["strategy"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_passkey_says_itself_who_signs_in() {
    let t = server().await;
    let (mut me, mut device) = owner(&t).await;
    let mut browser = t.browser();
    let (id, options) = begun(&mut browser).await;
    assert_eq!((&options["rpId"], &options["allowCredentials"]), (&json!("localhost"), &json!([])));
    assert_eq!((&options["userVerification"], &options["timeout"]), (&json!("required"), &json!(300_000)));
    let credential = device.get(&options);
    let done = attempt(&mut browser, &id, &credential).await.ok();
    let response = &done["response"];
    assert_eq!((&response["status"], &response["identifier"]), (&json!("complete"), &json!(ADDRESS)));
    let verification = &response["first_factor_verification"];
    assert_eq!((&verification["status"], &verification["strategy"]), (&json!("verified"), &json!("passkey")));
    let session = &done["client"]["sessions"][0];
    assert_eq!(
        (&session["user"]["id"], &session["factor_verification_age"]),
        (&json!(me.user), &json!([0, 0]))
    );
    assert_eq!(done["client"]["last_authentication_strategy"], "passkey");
    assert!(me.shown().await["passkeys"][0]["last_used_at"].as_i64().is_some());
}

#[tokio::test]
async fn whoever_said_who_they_are_is_offered_their_own_passkeys() {
    let t = server().await;
    let (me, mut device) = owner(&t).await;
    let mut browser = t.browser();
    let sign_in = shown(begin(&mut browser, json!({"identifier": ADDRESS})).await);
    assert_eq!(
        strategies(&sign_in["supported_first_factors"]),
        ["password", "email_code", "passkey", "reset_password_email_code"]
    );
    let id = sign_in["id"].as_str().unwrap();
    let prepared =
        shown(step(&mut browser, id, "prepare_first_factor", json!({"strategy": "passkey"})).await);
    assert_eq!(prepared["supported_first_factors"], sign_in["supported_first_factors"]);
    let options = options(&prepared["first_factor_verification"]);
    assert_eq!(options["allowCredentials"].as_array().unwrap().len(), 1);
    assert_eq!(options["allowCredentials"][0]["type"], "public-key");
    // Authenticators may leave the handle out when they are asked for a certain passkey.
    device.handle = None;
    let credential = device.get(&options);
    let done = attempt(&mut browser, id, &credential).await.ok();
    assert_eq!(done["client"]["sessions"][0]["user"]["id"], json!(me.user));
}

#[tokio::test]
async fn passkeys_of_other_pages_and_people_are_not_offered() {
    let t = server().await;
    let (mut me, _) = owner(&t).await;
    let passkey = me.shown().await["passkeys"][0]["id"].as_str().unwrap().to_owned();
    let (pending, _) = me.begin_passkey().await;
    t.user(json!({"email_address": ["other@example.com"], "password": "Correct-horse-battery-42"})).await;
    let mut browser = t.browser();
    let id = identified(&mut browser, "other@example.com").await;
    let prepare = json!({"strategy": "passkey"});
    step(&mut browser, &id, "prepare_first_factor", prepare.clone())
        .await
        .is_error(400, "no_passkeys_found_for_user");
    let mut named = prepare.clone();
    named["passkey_id"] = json!(passkey);
    step(&mut browser, &id, "prepare_first_factor", named.clone())
        .await
        .is_error(404, "passkey_not_registered");
    let id = identified(&mut browser, ADDRESS).await;
    step(&mut browser, &id, "prepare_first_factor", named.clone()).await.ok();
    named["passkey_id"] = json!(pending);
    let unfinished = step(&mut browser, &id, "prepare_first_factor", named.clone()).await;
    unfinished.is_error(422, "passkey_identification_not_verified");
    named["passkey_id"] = json!("x");
    step(&mut browser, &id, "prepare_first_factor", named).await.is_error(404, "passkey_not_registered");
    let mut browser = t.browser();
    browser.origin = Some("https://preview.example.dev".to_owned());
    let sign_in = shown(begin(&mut browser, json!({"identifier": ADDRESS})).await);
    assert!(!strategies(&sign_in["supported_first_factors"]).contains(&"passkey"));
    let id = sign_in["id"].as_str().unwrap();
    step(&mut browser, id, "prepare_first_factor", prepare).await.is_error(400, "no_passkeys_found_for_user");
    let fields = json!({"strategy": "passkey", "identifier": ADDRESS});
    begin(&mut browser, fields).await.is_problem(422, "form_param_value_invalid", "identifier");
}

#[tokio::test]
async fn a_passkey_is_two_factors_unless_the_settings_say_otherwise() {
    for satisfies in [true, false] {
        let t = server_with(|settings| settings.passkey_settings.satisfies_second_factor = satisfies).await;
        let (mut me, mut device) = owner(&t).await;
        let (secret, _) = me.enroll_totp().await;
        let mut browser = t.browser();
        let answer = sign_in(&mut browser, &mut device).await.ok();
        let response = &answer["response"];
        if satisfies {
            assert_eq!(response["status"], "complete");
            assert_eq!(answer["client"]["sessions"][0]["factor_verification_age"], json!([0, 0]));
            continue;
        }
        assert_eq!(response["status"], "needs_second_factor");
        assert_eq!(answer["client"]["sessions"], json!([]));
        t.clock.advance_ms(30_000);
        let fields = json!({"strategy": "totp", "code": me.totp_code(&secret)});
        let id = response["id"].as_str().unwrap();
        let done = step(&mut browser, id, "attempt_second_factor", fields).await.ok();
        assert_eq!(done["response"]["status"], "complete");
        assert_eq!(done["client"]["sessions"][0]["factor_verification_age"], json!([0, 0]));
    }
}

#[tokio::test]
async fn a_passkey_proves_anew_who_is_signed_in() {
    for satisfies in [true, false] {
        let t = server_with(|settings| settings.passkey_settings.satisfies_second_factor = satisfies).await;
        let (mut me, mut device) = owner(&t).await;
        me.enroll_totp().await;
        me.wait_for_reverification();
        let path = format!("/v1/client/sessions/{}/verify", me.session);
        let started = me.post(&path, json!({"level": "multi_factor"})).await.ok();
        assert!(strategies(&started["response"]["supported_first_factors"]).contains(&"passkey"));
        let prepared =
            me.post(&format!("{path}/prepare_first_factor"), json!({"strategy": "passkey"})).await.ok();
        let asked = options(&prepared["response"]["first_factor_verification"]);
        assert_eq!(asked["allowCredentials"].as_array().unwrap().len(), 1);
        let fields = |credential: Value| json!({"strategy": "passkey", "public_key_credential": credential.to_string()});
        let attempt = format!("{path}/attempt_first_factor");
        let stranger = Authenticator::new().get(&asked);
        me.post(&attempt, fields(stranger)).await.is_error(404, "passkey_not_registered");
        // A failure does not take the challenge away.
        let right = device.get(&asked);
        let done = me.post(&attempt, fields(right)).await.ok();
        let expected = if satisfies { "complete" } else { "needs_second_factor" };
        assert_eq!(done["response"]["status"], expected);
        if satisfies {
            assert_eq!(me.shown_session().await["factor_verification_age"], json!([0, 0]));
            me.post("/v1/me/passkeys", json!({})).await.ok();
        }
    }
}

#[tokio::test]
async fn counters_and_backups_are_remembered() {
    let t = server().await;
    let mut me = me(&t).await;
    let (mut counting, mut synced) = (Authenticator::new(), Authenticator::synced());
    me.register(&mut counting).await;
    me.register(&mut synced).await;
    for _ in 0..2 {
        sign_in(&mut t.browser(), &mut synced).await.ok();
        sign_in(&mut t.browser(), &mut counting).await.ok();
    }
    let mut tx = t.db().read().await.unwrap();
    let sql = "SELECT counter, backup_eligible, backed_up FROM passkeys ORDER BY counter";
    let read = |row: &latchkey_db::Row<'_>| Ok((row.int(0)?, row.bool(1)?, row.bool(2)?));
    assert_eq!(tx.all(&[sql], &[], read).await.unwrap(), [(0, true, true), (3, false, false)]);
    drop(tx);
    // A copy of the authenticator that was left behind shows a number that was passed.
    counting.counter = 2;
    sign_in(&mut t.browser(), &mut counting).await.is_error(400, "passkey_authentication_failure");
    // In tests, virtual devices show the same number one after the other; people's do not.
    counting.counter = 3;
    sign_in(&mut t.browser(), &mut counting).await.ok();
    let mut settings = Settings::default();
    settings.attributes.passkey.enabled = true;
    settings.test_mode = Some(false);
    t.set_settings(settings).await;
    counting.counter = 3;
    sign_in(&mut t.browser(), &mut counting).await.is_error(400, "passkey_authentication_failure");
    counting.counter = 4;
    sign_in(&mut t.browser(), &mut counting).await.ok();
    // One that counts does not stop counting.
    (counting.counter, counting.counts) = (0, false);
    sign_in(&mut t.browser(), &mut counting).await.is_error(400, "passkey_authentication_failure");
}

#[tokio::test]
async fn an_attempt_begins_anew_with_every_page_and_leaves_one_behind() {
    let t = server().await;
    owner(&t).await;
    let mut browser = t.browser();
    for _ in 0..3 {
        begun(&mut browser).await;
    }
    assert_eq!(t.count_rows("sign_ins").await, 1);
}

#[tokio::test]
async fn where_nobody_learns_who_has_an_account_they_do_not_learn_who_has_a_passkey() {
    let t = server_with(|settings| settings.attack_protection.enumeration_protection = true).await;
    let (me, mut device) = owner(&t).await;
    let mut seen = Vec::new();
    for address in [ADDRESS, "nobody@example.com"] {
        let mut browser = t.browser();
        let id = identified(&mut browser, address).await;
        let prepared = step(&mut browser, &id, "prepare_first_factor", json!({"strategy": "passkey"})).await;
        let mut sign_in = shown(prepared);
        let mut asked = options(&sign_in["first_factor_verification"]);
        let credential = Authenticator::new().get(&asked);
        let refused = attempt(&mut browser, &id, &credential).await;
        seen.push((refused.status, refused.code().to_owned()));
        asked["challenge"].take();
        sign_in["first_factor_verification"]["nonce"].take();
        let factors = sign_in["supported_first_factors"].as_array().unwrap();
        seen.push((u16::try_from(factors.len()).unwrap(), asked.to_string()));
    }
    assert_eq!(seen[..2], seen[2..]);
    let mut browser = t.browser();
    let id = identified(&mut browser, ADDRESS).await;
    let prepared =
        shown(step(&mut browser, &id, "prepare_first_factor", json!({"strategy": "passkey"})).await);
    let credential = device.get(&options(&prepared["first_factor_verification"]));
    let done = attempt(&mut browser, &id, &credential).await.ok();
    assert_eq!(done["client"]["sessions"][0]["user"]["id"], json!(me.user));
}

/// Whoever has an account of their own shows its passkey for another address: the answer, and what becomes of the attempt,
/// are the same whether somebody has that address or nobody.
#[tokio::test]
async fn where_nobody_learns_who_has_an_account_ones_own_passkey_does_not_tell() {
    let t = server_with(|settings| settings.attack_protection.enumeration_protection = true).await;
    let (_, mut device) = owner(&t).await;
    t.user(json!({"email_address": ["other@example.com"], "password": "Correct-horse-battery-42"})).await;
    let mut seen = Vec::new();
    for address in ["other@example.com", "nobody@example.com"] {
        let mut browser = t.browser();
        let id = identified(&mut browser, address).await;
        let prepared = step(&mut browser, &id, "prepare_first_factor", json!({"strategy": "passkey"})).await;
        let credential = device.get(&options(&shown(prepared)["first_factor_verification"]));
        let refused = attempt(&mut browser, &id, &credential).await;
        assert_eq!((refused.status, refused.code()), (400, "strategy_for_user_invalid"), "{address}");
        let after = shown(browser.get(&format!("/v1/client/sign_ins/{id}")).await);
        let proof = &after["first_factor_verification"];
        seen.push((after["status"].clone(), proof["status"].clone(), proof["attempts"].clone()));
    }
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn locked_and_banned_people_do_not_sign_in_with_a_passkey() {
    let t = server().await;
    let (me, mut device) = owner(&t).await;
    for (action, code) in [("lock", "user_locked"), ("unlock", ""), ("ban", "user_banned")] {
        t.post(&format!("/v1/users/{}/{action}", me.user), json!({})).await.ok();
        let answer = sign_in(&mut t.browser(), &mut device).await;
        assert_eq!(answer.code(), code, "{action}");
    }
}

#[tokio::test]
async fn production_passkeys_belong_to_the_domain_and_those_of_apps_to_the_frontend_api() {
    let t = server().await;
    let mut settings = Settings::default();
    settings.attributes.passkey.enabled = true;
    let production = t.new_tenant(Environment::Production, settings).await;
    let mut browser = t.browser_at(&production);
    browser.origin = Some(format!("https://app.{}", "example.test"));
    let (_, options) = begun(&mut browser).await;
    assert_eq!(options["rpId"], "example.test");
    browser.origin = None;
    browser.cookies.clear();
    let (_, options) = begun(&mut browser).await;
    assert_eq!(options["rpId"], json!(production.frontend_api));
}

#[tokio::test]
async fn a_session_that_waits_for_a_second_factor_is_not_stuck() {
    let t = server_with(|settings| settings.sign_in.second_factor_required = true).await;
    let user = t.user(json!({"email_address": [ADDRESS], "password": "Correct-horse-battery-42"})).await;
    let entry = Entry { first_factor: true, ..Entry::default() };
    let mut me = enter(&t, user["id"].as_str().unwrap(), entry).await;
    let mut device = Authenticator::new();
    me.register(&mut device).await;
    let done = sign_in(&mut t.browser(), &mut device).await.ok();
    assert_eq!(done["response"]["status"], "complete");
}

//! What nobody gets in with: forged, replayed, foreign and senseless answers.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::authenticator::{Authenticator, PRESENT, VERIFIED};
use super::{ADDRESS, attempt, begun, options, owner, server, sign_in};
use crate::me::support::{me, somebody};
use crate::sign_ins::{identified, shown, step};

/// Signs in with a device that was changed for one use.
async fn refused(t: &TestServer, device: &mut Authenticator, code: &str) {
    let answer = sign_in(&mut t.browser(), device).await;
    assert_eq!((answer.status, answer.code()), (400, code));
}

/// A23: a page of another origin frames the one that asks, or is no page of the application at all.
#[tokio::test]
async fn answers_of_framed_and_foreign_pages_are_refused() {
    let t = server().await;
    let (mut me, mut device) = owner(&t).await;
    let honest = device.said.clone();
    for said in [json!({"crossOrigin": true}), json!({"topOrigin": "https://evil.example"})] {
        device.said = said;
        refused(&t, &mut device, "passkey_authentication_failure").await;
    }
    device.said = honest;
    let mut other = Authenticator::new();
    for origin in [
        "https://evil.example",
        "https://localhost.evil.example",
        "http://evillocalhost:3000",
        "http://localhost:3000/",
        "HTTP://LOCALHOST:3000",
        "null",
        "",
        "android:apk-key-hash:AAAA",
        "chrome-extension://localhost",
    ] {
        device.origin = origin.to_owned();
        refused(&t, &mut device, "passkey_authentication_failure").await;
        other.origin = origin.to_owned();
        let (id, options) = me.begin_passkey().await;
        let answer = other.create(&options);
        me.finish_passkey(&id, &answer).await.is_error(400, "passkey_registration_failure");
    }
    device.origin = "http://localhost:3001".to_owned();
    sign_in(&mut t.browser(), &mut device).await.ok();
}

/// A24: the handle names nobody, or somebody else.
#[tokio::test]
async fn the_handle_must_be_that_of_the_owner() {
    let t = server().await;
    let (_, mut device) = owner(&t).await;
    let other = somebody(&t, "other@example.com").await;
    let honest = device.handle.clone();
    for handle in [None, Some(String::new()), Some(URL_SAFE_NO_PAD.encode(&other.user))] {
        device.handle = handle;
        refused(&t, &mut device, "passkey_authentication_failure").await;
    }
    device.handle = honest;
    sign_in(&mut t.browser(), &mut device).await.ok();
}

#[tokio::test]
async fn the_device_must_be_touched_and_unlocked_and_sign_for_the_domain() {
    let t = server().await;
    let (mut me, mut device) = owner(&t).await;
    for flags in [0, PRESENT, VERIFIED] {
        device.flags = flags;
        refused(&t, &mut device, "passkey_authentication_failure").await;
        let (id, options) = me.begin_passkey().await;
        let answer = Authenticator { flags, ..Authenticator::new() }.create(&options);
        me.finish_passkey(&id, &answer).await.is_error(400, "passkey_registration_failure");
    }
    device.flags = PRESENT | VERIFIED;
    device.rp_id = Some("evil.example".to_owned());
    refused(&t, &mut device, "passkey_authentication_failure").await;
    let (id, options) = me.begin_passkey().await;
    let answer =
        Authenticator { rp_id: Some("evil.example".into()), ..Authenticator::new() }.create(&options);
    me.finish_passkey(&id, &answer).await.is_error(400, "passkey_registration_failure");
}

#[tokio::test]
async fn a_key_proves_nothing_under_the_name_of_another() {
    let t = server().await;
    let (_, device) = owner(&t).await;
    let mut thief =
        Authenticator { id: device.id.clone(), handle: device.handle.clone(), ..Authenticator::new() };
    thief.counter = 1000;
    refused(&t, &mut thief, "passkey_authentication_failure").await;
    let mut unknown = Authenticator { handle: device.handle, ..Authenticator::new() };
    sign_in(&mut t.browser(), &mut unknown).await.is_error(404, "passkey_not_registered");
}

#[tokio::test]
async fn a_passkey_of_one_tenant_is_unknown_to_another() {
    let t = server().await;
    let (_, mut device) = owner(&t).await;
    let mut settings = latchkey_kernel::settings::Settings::default();
    settings.attributes.passkey.enabled = true;
    let other = t.new_tenant(latchkey_kernel::environment::Environment::Development, settings).await;
    sign_in(&mut t.browser_at(&other), &mut device).await.is_error(404, "passkey_not_registered");
    sign_in(&mut t.browser(), &mut device).await.ok();
}

/// A page of another domain asks for its own passkeys; one of this domain does not answer there.
#[tokio::test]
async fn a_passkey_of_one_domain_does_not_answer_for_another() {
    let t = server().await;
    let (_, mut device) = owner(&t).await;
    let mut browser = t.browser();
    browser.origin = Some("https://preview.example.dev".to_owned());
    device.origin = "https://preview.example.dev".to_owned();
    let (id, options) = begun(&mut browser).await;
    assert_eq!(options["rpId"], "preview.example.dev");
    let credential = device.get(&options);
    attempt(&mut browser, &id, &credential).await.is_error(400, "passkey_authentication_failure");
}

#[tokio::test]
async fn challenges_are_good_once_for_their_attempt_and_for_five_minutes() {
    let t = server().await;
    let (_, mut device) = owner(&t).await;
    let (mut browser, mut thief) = (t.browser(), t.browser());
    let (id, options) = begun(&mut browser).await;
    let (foreign, _) = begun(&mut thief).await;
    let credential = device.get(&options);
    // Of another attempt, in another browser.
    attempt(&mut thief, &foreign, &credential).await.is_error(400, "passkey_invalid_verification");
    attempt(&mut thief, &id, &credential).await.is_error(404, "resource_not_found");
    attempt(&mut browser, &id, &credential).await.ok();
    // Replayed, where it was good and elsewhere.
    attempt(&mut browser, &id, &credential).await.is_error(400, "verification_already_verified");
    let (again, _) = begun(&mut thief).await;
    attempt(&mut thief, &again, &credential).await.is_error(400, "passkey_invalid_verification");
    let mut late = t.browser();
    let (id, options) = begun(&mut late).await;
    let credential = device.get(&options);
    t.clock.advance_ms(5 * 60_000);
    attempt(&mut late, &id, &credential).await.is_error(400, "verification_expired");
}

#[tokio::test]
async fn answers_of_one_ceremony_do_not_serve_another() {
    let t = server().await;
    let (mut me, mut device) = owner(&t).await;
    let mut browser = t.browser();
    let (id, options) = begun(&mut browser).await;
    device.said = json!({"type": "webauthn.create"});
    let credential = device.get(&options);
    attempt(&mut browser, &id, &credential).await.is_error(400, "passkey_authentication_failure");
    let (registration, creation) = me.begin_passkey().await;
    let mut new = Authenticator { said: json!({"type": "webauthn.get"}), ..Authenticator::new() };
    let answer = new.create(&creation);
    me.finish_passkey(&registration, &answer).await.is_error(400, "passkey_registration_failure");
    // The challenge of one used in the other.
    new.said = json!({"challenge": options["challenge"]});
    let answer = new.create(&creation);
    me.finish_passkey(&registration, &answer).await.is_error(400, "passkey_invalid_verification");
}

#[tokio::test]
async fn nothing_is_shown_before_it_was_asked_for() {
    let t = server().await;
    let (_, mut device) = owner(&t).await;
    let mut browser = t.browser();
    let id = identified(&mut browser, ADDRESS).await;
    let credential = device.get(&json!({"challenge": "AAAA", "rpId": "localhost"}));
    attempt(&mut browser, &id, &credential).await.is_error(400, "verification_missing");
    let fields = json!({"strategy": "passkey"});
    let answer = step(&mut browser, &id, "attempt_first_factor", fields).await;
    answer.is_problem(422, "form_param_missing", "public_key_credential");
}

/// Somebody with a passkey of their own says that they are somebody else.
#[tokio::test]
async fn a_passkey_is_no_proof_of_somebody_else() {
    let t = server().await;
    let (_, mut device) = owner(&t).await;
    let mut other = somebody(&t, "other@example.com").await;
    other.register(&mut Authenticator::new()).await;
    let mut browser = t.browser();
    let id = identified(&mut browser, "other@example.com").await;
    let prepared =
        shown(step(&mut browser, &id, "prepare_first_factor", json!({"strategy": "passkey"})).await);
    let credential = device.get(&options(&prepared["first_factor_verification"]));
    attempt(&mut browser, &id, &credential).await.is_error(400, "passkey_authentication_failure");
    assert_eq!(browser.get("/v1/client").await.ok()["response"]["sessions"], json!([]));
}

#[tokio::test]
async fn of_many_attempts_at_once_one_gets_in() {
    let t = server().await;
    let (_, mut device) = owner(&t).await;
    let mut browser = t.browser();
    let (id, options) = begun(&mut browser).await;
    let credential = device.get(&options);
    let cookies = browser.cookies.clone();
    let tries = (0..64).map(|_| {
        let mut browser = t.browser();
        browser.cookies = cookies.clone();
        let (id, credential) = (&id, &credential);
        async move { attempt(&mut browser, id, credential).await.status }
    });
    let statuses = join_all(tries).await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| *status < 500), "{statuses:?}");
    assert_eq!(t.count_rows("sessions").await, 2);
}

#[tokio::test]
async fn of_many_registrations_at_once_one_is_kept() {
    let t = server().await;
    let mut me = me(&t).await;
    let (id, options) = me.begin_passkey().await;
    let credential = Authenticator::new().create(&options).to_string();
    let path = format!("/v1/me/passkeys/{id}/attempt_verification");
    let token = me.browser.dev_browser.clone();
    let tries = (0..64).map(|_| {
        let mut browser = t.browser();
        browser.dev_browser = token.clone();
        let fields = json!({"strategy": "passkey", "public_key_credential": credential});
        let path = &path;
        async move { browser.post(path, fields).await.status }
    });
    let statuses = join_all(tries).await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| *status < 500), "{statuses:?}");
    assert_eq!(
        (t.count_rows("passkeys").await, me.shown().await["passkeys"].as_array().unwrap().len()),
        (1, 1)
    );
}

/// What is no answer of an authenticator, in all shapes.
fn senseless(good: &Value) -> Vec<String> {
    let mut all = vec![
        "{".to_owned(),
        "null".to_owned(),
        "[]".to_owned(),
        "{}".to_owned(),
        "\"text\"".to_owned(),
        "[".repeat(10_000),
        format!("{{\"id\":{}}}", "[".repeat(1000)),
        "x".repeat(200_000),
    ];
    let text = |bytes: &[u8]| json!(URL_SAFE_NO_PAD.encode(bytes));
    let mut with = |path: &[&str], value: Value| {
        let mut bad = good.clone();
        let place = path.iter().fold(&mut bad, |place, name| &mut place[*name]);
        *place = value;
        all.push(bad.to_string());
    };
    with(&["type"], json!("password"));
    with(&["id"], json!("other"));
    with(&["rawId"], json!("%%%"));
    with(&["rawId"], json!(""));
    with(&["response"], json!(null));
    for name in good["response"].as_object().unwrap().keys() {
        if ["transports", "userHandle"].contains(&name.as_str()) {
            continue;
        }
        with(&["response", name], json!(1));
        with(&["response", name], json!("*"));
        with(&["response", name], text(b""));
        with(&["response", name], text(&[0xFF; 7]));
        with(&["response", name], text(&[0xA3; 300]));
        with(&["response", name], text(&[0x9F; 20_000]));
        with(&["response", name], text(&[0x00; 37]));
    }
    with(&["response", "clientDataJSON"], text(br#"{"challenge":1}"#));
    with(&["response", "clientDataJSON"], text("{\"a\":".repeat(3000).as_bytes()));
    all
}

#[tokio::test]
async fn senseless_answers_are_refused_and_break_nothing() {
    let t = server().await;
    let (mut me, mut device) = owner(&t).await;
    let mut browser = t.browser();
    let mut attempts = 0;
    let (mut id, mut options) = begun(&mut browser).await;
    for bad in senseless(&device.get(&options)) {
        let fields = json!({"strategy": "passkey", "public_key_credential": bad});
        let answer = step(&mut browser, &id, "attempt_first_factor", fields).await;
        assert!([400, 404, 422].contains(&answer.status), "{} {}", answer.status, &bad[..bad.len().min(200)]);
        attempts += 1;
        if attempts % 3 == 0 {
            (id, options) = begun(&mut browser).await;
        }
    }
    let (mut id, mut options) = (String::new(), options);
    let good = Authenticator::new().create(&json!({
        "rp": {"id": "localhost"}, "user": {"id": "AAAA"}, "challenge": options["challenge"],
    }));
    for (number, bad) in senseless(&good).into_iter().enumerate() {
        if number % 3 == 0 {
            (id, options) = me.begin_passkey().await;
        }
        let fields = json!({"strategy": "passkey", "public_key_credential": bad});
        let answer = me.post(&format!("/v1/me/passkeys/{id}/attempt_verification"), fields).await;
        assert!([400, 422].contains(&answer.status), "{} {}", answer.status, &bad[..bad.len().min(200)]);
    }
    assert!(options.is_object());
    sign_in(&mut t.browser(), &mut device).await.ok();
}

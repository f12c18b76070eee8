//! Getting a passkey, and everything one does to it.

use serde_json::{Value, json};

use super::authenticator::Authenticator;
use super::{ADDRESS, owner, server, server_with, sign_in};
use crate::me::support::{me, sign_in as enter, somebody};

fn messages(inbox: &[Value]) -> Vec<&str> {
    inbox.iter().filter_map(|message| message["subject"].as_str()).collect()
}

#[tokio::test]
async fn a_passkey_is_registered_and_its_owner_and_the_application_are_told() {
    let t = server().await;
    let mut me = me(&t).await;
    let events = t.events().await.len();
    let begun = me.post("/v1/me/passkeys", json!({})).await.ok()["response"].take();
    let verification = &begun["verification"];
    assert_eq!(
        (&begun["object"], &begun["last_used_at"], &verification["object"], &verification["status"]),
        (&json!("passkey"), &json!(null), &json!("verification_passkey"), &json!("unverified"))
    );
    let options = super::options(verification);
    assert_eq!(options["rp"]["id"], "localhost");
    assert_eq!((&options["user"]["name"], &options["timeout"]), (&json!(ADDRESS), &json!(300_000)));
    assert_eq!((&options["attestation"], &options["excludeCredentials"]), (&json!("none"), &json!([])));
    let selection =
        json!({"residentKey": "required", "requireResidentKey": true, "userVerification": "required"});
    assert_eq!(options["authenticatorSelection"], selection);
    let algorithms: Vec<_> =
        options["pubKeyCredParams"].as_array().unwrap().iter().map(|it| &it["alg"]).collect();
    assert!(algorithms.contains(&&json!(-7)) && algorithms.contains(&&json!(-257)));
    assert_eq!(me.shown().await["passkeys"], json!([]));

    let id = begun["id"].as_str().unwrap().to_owned();
    let answer = Authenticator::new().create(&options);
    let done = me.finish_passkey(&id, &answer).await.ok()["response"].take();
    assert_eq!((&done["id"], &done["verification"]["status"]), (&json!(id), &json!("verified")));
    assert_eq!(done["verification"].get("nonce"), None);
    let listed = me.shown().await["passkeys"].take();
    assert_eq!((listed[0]["id"].as_str(), listed[0]["last_used_at"].as_i64()), (Some(&*id), None));
    assert!(listed[0]["created_at"].as_i64().is_some() && listed[0]["updated_at"].as_i64().is_some());
    let backend = t.shown(&me.user).await["passkeys"].take();
    assert_eq!((&backend[0]["id"], &backend[0]["last_used_at"]), (&json!(id), &listed[0]["created_at"]));
    assert_eq!(
        (backend[0]["verification"]["status"].as_str(), backend[0].get("created_at")),
        (Some("verified"), None)
    );
    assert_eq!(me.events_after(events).await, ["email.created", "user.updated"]);
    assert!(messages(&t.inbox().await)[0].starts_with("A passkey was added"));
    me.finish_passkey(&id, &answer).await.is_error(400, "verification_already_verified");
}

#[tokio::test]
async fn a_passkey_is_renamed_without_and_deleted_with_a_recent_proof() {
    let t = server().await;
    let (mut me, mut device) = owner(&t).await;
    let id = me.shown().await["passkeys"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/me/passkeys/{id}");
    me.wait_for_reverification();
    let events = t.events().await.len();
    let renamed = me.patch(&path, json!({"name": " Work laptop "})).await.ok();
    assert_eq!(renamed["response"]["name"], "Work laptop");
    assert_eq!(me.get(&path).await.ok()["response"]["name"], "Work laptop");
    me.patch(&path, json!({"name": "x".repeat(256)})).await.is_problem(
        422,
        "form_param_max_length_exceeded",
        "name",
    );
    me.patch(&path, json!({})).await.ok();
    assert_eq!(me.events_after(events).await, ["user.updated"]);
    me.delete(&path).await.is_error(403, "session_reverification_required");
    me.post("/v1/me/passkeys", json!({})).await.is_error(403, "session_reverification_required");
    let mut me = enter(&t, &me.user).await;
    let gone = me.delete(&path).await.ok()["response"].take();
    assert_eq!(gone, json!({"object": "passkey", "id": id, "deleted": true}));
    assert_eq!(me.shown().await["passkeys"], json!([]));
    assert!(messages(&t.inbox().await)[0].starts_with("A passkey was removed"));
    assert_eq!(t.count_rows("passkeys").await, 0);
    me.get(&path).await.is_error(404, "passkey_not_registered");
    me.patch(&path, json!({"name": "x"})).await.is_error(404, "passkey_not_registered");
    me.delete(&path).await.is_error(404, "passkey_not_registered");
    sign_in(&mut t.browser(), &mut device).await.is_error(404, "passkey_not_registered");
    // The device still has it, and its owner may use it again.
    me.register(&mut device).await;
    sign_in(&mut t.browser(), &mut device).await.ok();
}

#[tokio::test]
async fn the_application_takes_a_passkey_away() {
    let t = server().await;
    let (mut me, mut device) = owner(&t).await;
    let id = me.shown().await["passkeys"][0]["id"].as_str().unwrap().to_owned();
    let events = t.events().await.len();
    let gone = t.delete(&format!("/v1/users/{}/passkeys/{id}", me.user)).await.ok();
    assert_eq!(gone, json!({"object": "passkey", "id": id, "deleted": true}));
    assert_eq!(me.events_after(events).await, ["email.created", "user.updated"]);
    assert!(messages(&t.inbox().await)[0].starts_with("A passkey was removed"));
    assert_eq!(t.count_rows("passkeys").await, 0);
    sign_in(&mut t.browser(), &mut device).await.is_error(404, "passkey_not_registered");
}

#[tokio::test]
async fn the_only_way_in_is_not_taken_away_by_its_owner() {
    let t = server_with(|settings| settings.attributes.email_address.first_factors.clear()).await;
    let (mut me, _) = owner(&t).await;
    let id = me.shown().await["passkeys"][0]["id"].as_str().unwrap().to_owned();
    t.edit_document(&me.user, |document| _ = document.as_object_mut().unwrap().remove("password")).await;
    me.delete(&format!("/v1/me/passkeys/{id}")).await.is_error(400, "identification_deletion_failed");
}

#[tokio::test]
async fn what_is_not_finished_is_not_listed_and_can_be_given_up() {
    let t = server().await;
    let mut me = me(&t).await;
    let (first, _) = me.begin_passkey().await;
    let path = format!("/v1/me/passkeys/{first}");
    assert_eq!(me.get(&path).await.ok()["response"]["verification"]["status"], "unverified");
    me.patch(&path, json!({"name": "x"})).await.is_error(404, "passkey_not_registered");
    me.delete(&path).await.ok();
    me.get(&path).await.is_error(404, "passkey_not_registered");
    let (second, _) = me.begin_passkey().await;
    me.begin_passkey().await;
    // One at a time in a browser.
    me.get(&format!("/v1/me/passkeys/{second}")).await.is_error(404, "passkey_not_registered");
    assert_eq!(t.count_rows("passkey_registrations").await, 1);
    assert_eq!(me.shown().await["passkeys"], json!([]));
}

#[tokio::test]
async fn a_registration_is_for_whoever_began_it_in_the_same_browser_for_five_minutes() {
    let t = server().await;
    let mut me = me(&t).await;
    let (id, options) = me.begin_passkey().await;
    let answer = Authenticator::new().create(&options);
    let mut other = somebody(&t, "other@example.com").await;
    other.finish_passkey(&id, &answer).await.is_error(404, "passkey_not_registered");
    other.delete(&format!("/v1/me/passkeys/{id}")).await.is_error(404, "passkey_not_registered");
    let mut elsewhere = enter(&t, &me.user).await;
    elsewhere.finish_passkey(&id, &answer).await.is_error(404, "passkey_not_registered");
    t.clock.advance_ms(5 * 60_000);
    me.finish_passkey(&id, &answer).await.is_error(400, "verification_expired");
    let path = format!("/v1/me/passkeys/{id}");
    assert_eq!(me.get(&path).await.ok()["response"]["verification"]["status"], "expired");
    // The next one sweeps it away, whoever begins it.
    other.begin_passkey().await;
    assert_eq!(t.count_rows("passkey_registrations").await, 1);
}

#[tokio::test]
async fn three_failures_spend_a_registration() {
    let t = server().await;
    let mut me = me(&t).await;
    let (id, options) = me.begin_passkey().await;
    let mut framed = Authenticator { said: json!({"crossOrigin": true}), ..Authenticator::new() };
    let wrong = framed.create(&options);
    for _ in 0..3 {
        me.finish_passkey(&id, &wrong).await.is_error(400, "passkey_registration_failure");
    }
    let right = Authenticator::new().create(&options);
    me.finish_passkey(&id, &right).await.is_error(400, "verification_failed");
    let path = format!("/v1/me/passkeys/{id}");
    assert_eq!(me.get(&path).await.ok()["response"]["verification"]["status"], "failed");
    assert_eq!(t.count_rows("passkeys").await, 0);
}

#[tokio::test]
async fn a_user_has_ten_passkeys_at_most_and_devices_are_not_registered_twice() {
    let t = server().await;
    let mut me = me(&t).await;
    let mut devices = Vec::new();
    for number in 0..9 {
        let mut device = Authenticator::synced();
        me.register(&mut device).await;
        let (_, options) = me.begin_passkey().await;
        assert_eq!(options["excludeCredentials"].as_array().unwrap().len(), number + 1);
        devices.push(device);
    }
    // Both are begun while there is room for one.
    let mut elsewhere = enter(&t, &me.user).await;
    let (here, there) = (me.begin_passkey().await, elsewhere.begin_passkey().await);
    let twice = devices[0].create(&here.1);
    me.finish_passkey(&here.0, &twice).await.is_error(400, "passkey_registration_failure");
    let (answer, late) = (Authenticator::new().create(&here.1), Authenticator::new().create(&there.1));
    me.finish_passkey(&here.0, &answer).await.ok();
    elsewhere.finish_passkey(&there.0, &late).await.is_error(403, "passkey_quota_exceeded");
    me.post("/v1/me/passkeys", json!({})).await.is_error(403, "passkey_quota_exceeded");
    assert_eq!(t.count_rows("passkeys").await, 10);
}

#[tokio::test]
async fn a_passkey_of_one_account_is_not_registered_for_another() {
    let t = server().await;
    let (_, mut device) = owner(&t).await;
    let mut other = somebody(&t, "other@example.com").await;
    let (id, options) = other.begin_passkey().await;
    let answer = device.create(&options);
    other.finish_passkey(&id, &answer).await.is_error(400, "passkey_registration_failure");
    assert_eq!(other.shown().await["passkeys"], json!([]));
    assert_eq!(t.count_rows("passkeys").await, 1);
}

#[tokio::test]
async fn passkeys_are_off_until_an_instance_switches_them_on() {
    let t = latchkey_testkit::TestServer::start().await;
    let mut me = me(&t).await;
    me.post("/v1/me/passkeys", json!({})).await.is_error(403, "feature_not_enabled");
    let fields = json!({"strategy": "passkey"});
    t.browser().post("/v1/client/sign_ins", fields).await.is_problem(
        422,
        "form_param_value_invalid",
        "strategy",
    );
    let environment = t.browser().get("/v1/environment").await.ok();
    assert_eq!(environment["user_settings"]["attributes"]["passkey"]["enabled"], false);
    let t = server_with(|settings| settings.passkey_settings.allow_autofill = false).await;
    let environment = t.browser().get("/v1/environment").await.ok();
    let passkey = &environment["user_settings"]["attributes"]["passkey"];
    assert_eq!((&passkey["enabled"], &passkey["first_factors"]), (&json!(true), &json!(["passkey"])));
    let expected =
        json!({"allow_autofill": false, "show_sign_in_button": true, "satisfies_second_factor": true});
    assert_eq!(environment["user_settings"]["passkey_settings"], expected);
    let factors = environment["auth_config"]["first_factors"].as_array().unwrap();
    assert!(factors.contains(&json!("passkey")));
    let names = environment["auth_config"]["identification_strategies"].as_array().unwrap();
    assert!(!names.contains(&json!("passkey")));
}

#[tokio::test]
async fn nobody_signs_up_with_a_passkey() {
    let t = server().await;
    let mut browser = t.browser();
    let sign_up = browser.post("/v1/client/sign_ups", json!({"email_address": "new@example.com"})).await.ok();
    let path = format!("/v1/client/sign_ups/{}", sign_up["response"]["id"].as_str().unwrap());
    let prepared =
        browser.post(&format!("{path}/prepare_verification"), json!({"strategy": "passkey"})).await;
    prepared.is_error(400, "verification_strategy_invalid");
}

#[tokio::test]
async fn deleted_users_leave_no_keys() {
    let t = server().await;
    let (mut me, _) = owner(&t).await;
    me.begin_passkey().await;
    t.delete(&format!("/v1/users/{}", me.user)).await.ok();
    assert_eq!((t.count_rows("passkeys").await, t.count_rows("passkey_registrations").await), (0, 0));
}

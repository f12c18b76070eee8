//! Attacks on accounts of people who are signed in.

use std::sync::Arc;

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::TestServer;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::me::support::{PASSWORD, me, sign_in, somebody};

/// One request of a browser, known by its token.
type Request = (Option<String>, String, Value);

/// Sends all requests from tasks of their own; returns status and code of each answer. One person may only have so many
/// passwords and codes checked at once: whoever is told to come back does so until there is an answer.
async fn at_once(t: &Arc<TestServer>, requests: Vec<Request>) -> Vec<(u16, String)> {
    let mut tasks = JoinSet::new();
    for (token, path, fields) in requests {
        let t = t.clone();
        tasks.spawn(async move {
            let mut browser = t.browser();
            browser.dev_browser = token;
            loop {
                let answer = browser.post(&path, fields.clone()).await;
                if answer.status != 503 {
                    return (answer.status, answer.code().to_owned());
                }
                assert!(answer.header("retry-after").parse::<i64>().unwrap() >= 1);
                tokio::task::yield_now().await;
            }
        });
    }
    tasks.join_all().await
}

/// The same request many times.
fn many(token: &Option<String>, path: &str, fields: &Value) -> Vec<Request> {
    vec![(token.clone(), path.to_owned(), fields.clone()); 64]
}

fn successes(answers: &[(u16, String)]) -> usize {
    answers.iter().filter(|(status, _)| *status == 200).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_parallel_right_codes_proves_an_address() {
    let t = Arc::new(TestServer::start().await);
    let mut me = me(&t).await;
    let added = me.post("/v1/me/email_addresses", json!({"email_address": "new@example.com"})).await.ok();
    let path = format!("/v1/me/email_addresses/{}", added["response"]["id"].as_str().unwrap());
    me.post(&format!("{path}/prepare_verification"), json!({"strategy": "email_code"})).await.ok();
    let fields = json!({"code": me.code().await});
    let attempt = format!("{path}/attempt_verification");
    let answers = at_once(&t, many(&me.browser.dev_browser, &attempt, &fields)).await;
    assert_eq!(successes(&answers), 1, "{answers:?}");
    assert!(answers.iter().all(|(status, code)| *status == 200 || code == "verification_already_verified"));
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_wrong_codes_are_counted_to_the_limit_and_no_further() {
    let t = Arc::new(TestServer::start().await);
    let mut me = me(&t).await;
    let added = me.post("/v1/me/email_addresses", json!({"email_address": "new@example.com"})).await.ok();
    let path = format!("/v1/me/email_addresses/{}", added["response"]["id"].as_str().unwrap());
    me.post(&format!("{path}/prepare_verification"), json!({"strategy": "email_code"})).await.ok();
    let code = me.code().await;
    let wrong = if code == "000000" { "000001" } else { "000000" };
    let attempt = format!("{path}/attempt_verification");
    let answers = at_once(&t, many(&me.browser.dev_browser, &attempt, &json!({"code": wrong}))).await;
    let told_wrong = answers.iter().filter(|(_, code)| code == "form_code_incorrect").count();
    assert_eq!(told_wrong, 2, "{answers:?}");
    me.post(&attempt, json!({"code": code})).await.is_error(400, "verification_failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_parallel_codes_sets_up_an_authenticator_app() {
    let t = Arc::new(TestServer::start().await);
    let mut me = me(&t).await;
    let begun = me.post("/v1/me/totp", json!({})).await.ok();
    let secret = latchkey_jose::totp::base32_decode(begun["response"]["secret"].as_str().unwrap()).unwrap();
    let fields = json!({"code": me.totp_code(&secret)});
    let path = "/v1/me/totp/attempt_verification";
    let answers = at_once(&t, many(&me.browser.dev_browser, path, &fields)).await;
    assert_eq!(successes(&answers), 1, "{answers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_factor_code_is_used_once_however_many_ask_at_once() {
    let mut settings = Settings::default();
    settings.lockout.enabled = false;
    // Those who are told to come back get 503, which no other test may.
    let t = Arc::new(TestServer::start_with(RateLimits::Off, settings).await.unchecked());
    let mut me = me(&t).await;
    let (secret, codes) = me.enroll_totp().await;
    t.clock.advance_ms(60_000);
    for (strategy, code) in [("totp", me.totp_code(&secret)), ("backup_code", codes[0].clone())] {
        // Each in a session of its own, so that nothing but the code is in the way.
        let mut requests = Vec::new();
        for _ in 0..64 {
            let mut other = sign_in(&t, &me.user).await;
            let path = format!("/v1/client/sessions/{}/verify", other.session);
            other.post(&path, json!({"level": "second_factor"})).await.ok();
            let fields = json!({"strategy": strategy, "code": code});
            requests.push((other.browser.dev_browser, format!("{path}/attempt_second_factor"), fields));
        }
        let good = successes(&at_once(&t, requests).await);
        assert_eq!(good, 1, "{strategy}");
    }
}

#[tokio::test]
async fn a_stolen_old_session_takes_no_protection_away() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let phone = me.add_verified("phone_number", "+4915112345678").await;
    let email = me.add_verified("email_address", "second@example.com").await;
    let (_, _) = me.enroll_totp().await;
    let elsewhere = sign_in(&t, &me.user).await;
    me.wait_for_reverification();
    let before = t.shown(&me.user).await;
    let phone_path = format!("/v1/me/phone_numbers/{phone}");
    let refusals = [
        me.delete("/v1/me/totp").await,
        me.post("/v1/me/backup_codes", json!({})).await,
        me.delete(&phone_path).await,
        me.patch(&phone_path, json!({"reserved_for_second_factor": true})).await,
        me.post("/v1/me/phone_numbers", json!({"phone_number": "+4915187654321"})).await,
        me.delete(&format!("/v1/me/email_addresses/{email}")).await,
        me.post("/v1/me/email_addresses", json!({"email_address": "thief@example.com"})).await,
        me.patch("/v1/me", json!({"primary_email_address_id": email})).await,
        me.patch("/v1/me", json!({"username": "thief-name"})).await,
        me.post("/v1/me/change_password", json!({"new_password": "staple battery horse"})).await,
        me.post("/v1/me/remove_password", json!({})).await,
        me.post(&format!("/v1/me/sessions/{}/revoke", elsewhere.session), json!({})).await,
        me.delete("/v1/me").await,
    ];
    for refused in refusals {
        refused.is_error(403, "session_reverification_required");
    }
    assert_eq!(t.shown(&me.user).await, before);
}

#[tokio::test]
async fn a_first_factor_does_not_stand_in_for_the_second() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    me.enroll_totp().await;
    // Signed in by the password alone, as somebody who found it would.
    let mut thief = sign_in(&t, &me.user).await;
    let path = format!("/v1/client/sessions/{}/verify", thief.session);
    thief.post(&path, json!({"level": "first_factor"})).await.ok();
    let proof = json!({"strategy": "password", "password": PASSWORD});
    thief.post(&format!("{path}/attempt_first_factor"), proof).await.ok();
    thief.delete("/v1/me/totp").await.is_error(403, "session_reverification_required");
    thief.delete("/v1/me").await.is_error(403, "session_reverification_required");
}

#[tokio::test]
async fn people_of_one_instance_are_nobody_in_another() {
    let t = TestServer::start().await;
    let me = me(&t).await;
    somebody(&t, "other@example.com").await;
    let mut stranger = t.browser_at(&t.other);
    stranger.origin = None;
    stranger.cookies = me.browser.cookies.clone();
    stranger.dev_browser = me.browser.dev_browser.clone();
    stranger.get("/v1/me").await.is_error(401, "signed_out");
    let path = format!("/v1/me?_clerk_session_id={}", me.session);
    stranger.get(&path).await.is_error(401, "signed_out");
}

//! Ways around a proof: many tries at once, the same one twice, another door, a step left out, somebody
//! else's attempt.

use std::sync::Arc;

use latchkey_kernel::settings::Settings;
use latchkey_kernel::strategy::Strategy;
use latchkey_testkit::{Answer, Browser, TestServer};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::sign_ins::{EMAIL, PASSWORD, ada, begin, code, identified, other_than, server, shown, step};

/// Many browsers with the cookies of one, each doing one thing at the same time.
async fn at_once(
    t: &Arc<TestServer>,
    browser: &Browser<'_>,
    path: &str,
    body: &Value,
    times: usize,
) -> Vec<Answer> {
    let mut tasks = JoinSet::new();
    for _ in 0..times {
        let (t, cookies) = (t.clone(), browser.cookies.clone());
        let (path, body) = (path.to_owned(), body.clone());
        tasks.spawn(async move {
            let mut copy = t.browser();
            copy.cookies = cookies;
            copy.post(&path, body).await
        });
    }
    tasks.join_all().await
}

async fn shared(change: impl FnOnce(&mut Settings)) -> Arc<TestServer> {
    Arc::new(server(change).await)
}

fn count(answers: &[Answer], code: &str) -> usize {
    answers.iter().filter(|answer| answer.code() == code).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_64_wrong_codes_at_once_three_are_counted() {
    let t = shared(|_| ()).await;
    let user = ada(&t).await;
    let mut browser = t.browser();
    let id = identified(&mut browser, EMAIL).await;
    step(&mut browser, &id, "prepare_first_factor", json!({"strategy": "email_code"})).await.ok();
    let right = code(&t).await;
    let wrong = json!({"strategy": "email_code", "code": other_than(&right)});
    let path = format!("/v1/client/sign_ins/{id}/attempt_first_factor");
    let answers = at_once(&t, &browser, &path, &wrong, 64).await;
    assert_eq!((count(&answers, "form_code_incorrect"), count(&answers, "verification_failed")), (2, 62));
    let shown = t.shown(user["id"].as_str().unwrap()).await;
    assert_eq!(shown["verification_attempts_remaining"], 97);
    let late = json!({"strategy": "email_code", "code": right});
    step(&mut browser, &id, "attempt_first_factor", late).await.is_error(400, "verification_failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_64_right_codes_at_once_one_signs_in() {
    let t = shared(|_| ()).await;
    ada(&t).await;
    let mut browser = t.browser();
    let id = identified(&mut browser, EMAIL).await;
    step(&mut browser, &id, "prepare_first_factor", json!({"strategy": "email_code"})).await.ok();
    let right = json!({"strategy": "email_code", "code": code(&t).await});
    let path = format!("/v1/client/sign_ins/{id}/attempt_first_factor");
    let answers = at_once(&t, &browser, &path, &right, 64).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    // The others had the secret from before, or found the code used.
    let refused = count(&answers, "verification_already_verified") + count(&answers, "resource_not_found");
    assert_eq!(refused, 63);
    let opened = t.events().await.into_iter().filter(|event| event.kind == "session.created").count();
    assert_eq!(opened, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_guesses_at_once_do_not_get_past_the_lock() {
    let t = shared(|settings| settings.lockout.max_attempts = 3).await;
    let user = ada(&t).await;
    let mut browser = t.browser();
    let id = identified(&mut browser, EMAIL).await;
    let path = format!("/v1/client/sign_ins/{id}/attempt_first_factor");
    let wrong = json!({"strategy": "password", "password": "wrong-password"});
    let answers = at_once(&t, &browser, &path, &wrong, 8).await;
    assert_eq!((count(&answers, "form_password_incorrect"), count(&answers, "user_locked")), (2, 6));
    let right = json!({"strategy": "password", "password": PASSWORD});
    step(&mut browser, &id, "attempt_first_factor", right).await.is_error(403, "user_locked");
    assert_eq!(t.shown(user["id"].as_str().unwrap()).await["locked"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_uses_of_a_backup_code_one_succeeds() {
    let t = shared(|settings| settings.session.single_session = false).await;
    let body = json!({
        "email_address": [EMAIL], "password": PASSWORD, "totp_secret": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
        "backup_codes": ["backup-one", "backup-two"],
    });
    t.user(body).await;
    let mut tasks = JoinSet::new();
    for _ in 0..4 {
        let t = t.clone();
        tasks.spawn(async move {
            let mut browser = t.browser();
            let begun = shown(begin(&mut browser, json!({"identifier": EMAIL, "password": PASSWORD})).await);
            let fields = json!({"strategy": "backup_code", "code": "backup-one"});
            step(&mut browser, begun["id"].as_str().unwrap(), "attempt_second_factor", fields).await
        });
    }
    let answers = tasks.join_all().await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    assert_eq!(count(&answers, "form_code_incorrect"), 3);
}

#[tokio::test]
async fn a_used_code_works_nowhere_again() {
    let t = TestServer::start().await;
    ada(&t).await;
    let mut browser = t.browser();
    let id = identified(&mut browser, EMAIL).await;
    step(&mut browser, &id, "prepare_first_factor", json!({"strategy": "email_code"})).await.ok();
    let used = json!({"strategy": "email_code", "code": code(&t).await});
    step(&mut browser, &id, "attempt_first_factor", used.clone()).await.ok();
    let again = step(&mut browser, &id, "attempt_first_factor", used.clone()).await;
    again.is_error(400, "verification_already_verified");
    let again = step(&mut browser, &id, "prepare_first_factor", json!({"strategy": "email_code"})).await;
    again.is_error(400, "verification_already_verified");
    let mut other = t.browser();
    let id = identified(&mut other, EMAIL).await;
    step(&mut other, &id, "attempt_first_factor", used.clone()).await.is_error(400, "verification_missing");
    step(&mut other, &id, "prepare_first_factor", json!({"strategy": "email_code"})).await.ok();
    let answer = step(&mut other, &id, "attempt_first_factor", used).await;
    answer.is_error(422, "form_code_incorrect");
}

#[tokio::test]
async fn a_code_for_one_way_is_none_for_another() {
    let t = TestServer::start().await;
    ada(&t).await;
    let mut browser = t.browser();
    let id = identified(&mut browser, EMAIL).await;
    step(&mut browser, &id, "prepare_first_factor", json!({"strategy": "email_code"})).await.ok();
    let code = code(&t).await;
    for strategy in ["phone_code", "reset_password_email_code", "reset_password_phone_code"] {
        let fields = json!({"strategy": strategy, "code": code});
        let answer = step(&mut browser, &id, "attempt_first_factor", fields).await;
        answer.is_problem(400, "verification_strategy_invalid", "strategy");
    }
    let fields = json!({"strategy": "totp", "code": code});
    let answer = step(&mut browser, &id, "attempt_first_factor", fields).await;
    answer.is_problem(422, "form_param_value_invalid", "strategy");
}

#[tokio::test]
async fn no_step_can_be_left_out() {
    let t = server(|settings| settings.sign_in.client_trust = true).await;
    let body = json!({
        "email_address": [EMAIL], "password": PASSWORD, "totp_secret": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
        "backup_codes": ["backup-one"],
    });
    t.user(body).await;
    let mut browser = t.browser();
    let begun = shown(begin(&mut browser, json!({})).await)["id"].as_str().unwrap().to_owned();
    let password = json!({"strategy": "password", "password": PASSWORD});
    let backup = json!({"strategy": "backup_code", "code": "backup-one"});
    let reset = json!({"password": "Another-horse-battery-43"});
    // Nobody was named.
    for (name, fields) in [
        ("prepare_first_factor", json!({"strategy": "email_code"})),
        ("attempt_first_factor", password.clone()),
        ("prepare_second_factor", json!({})),
        ("attempt_second_factor", backup.clone()),
        ("reset_password", reset.clone()),
    ] {
        step(&mut browser, &begun, name, fields).await.is_error(400, "client_state_invalid");
    }
    // Nothing was proven.
    let named = identified(&mut browser, EMAIL).await;
    for (name, fields) in [
        ("prepare_second_factor", json!({})),
        ("attempt_second_factor", backup.clone()),
        ("reset_password", reset.clone()),
    ] {
        step(&mut browser, &named, name, fields).await.is_error(400, "client_state_invalid");
    }
    let nothing = json!({"strategy": "email_code", "code": "424242"});
    step(&mut browser, &named, "attempt_first_factor", nothing).await.is_error(400, "verification_missing");
    // Half was proven.
    let half = shown(step(&mut browser, &named, "attempt_first_factor", password.clone()).await);
    assert_eq!(half["status"], "needs_second_factor");
    step(&mut browser, &named, "reset_password", reset).await.is_error(400, "client_state_invalid");
    let again = step(&mut browser, &named, "attempt_first_factor", password).await;
    again.is_error(400, "verification_already_verified");
    let nothing = json!({"strategy": "phone_code", "code": "424242"});
    step(&mut browser, &named, "attempt_second_factor", nothing).await.is_error(400, "no_second_factors");
    assert_eq!(browser.get("/v1/client").await.ok()["response"]["sessions"], json!([]));
    assert_eq!(
        shown(step(&mut browser, &named, "attempt_second_factor", backup).await)["status"],
        "complete"
    );
}

#[tokio::test]
async fn nobody_uses_the_attempt_of_another() {
    let t = TestServer::start().await;
    ada(&t).await;
    let mut owner = t.browser();
    let id = identified(&mut owner, EMAIL).await;
    step(&mut owner, &id, "prepare_first_factor", json!({"strategy": "email_code"})).await.ok();
    let code = code(&t).await;
    let mut stranger = t.browser();
    begin(&mut stranger, json!({})).await.ok();
    let mut foreign = t.browser_at(&t.other);
    foreign.origin = None;
    foreign.cookies = owner.cookies.clone();
    for browser in [&mut stranger, &mut t.browser(), &mut foreign] {
        for (name, fields) in [
            ("prepare_first_factor", json!({"strategy": "email_code"})),
            ("attempt_first_factor", json!({"strategy": "email_code", "code": code})),
            ("attempt_first_factor", json!({"strategy": "password", "password": PASSWORD})),
            ("prepare_second_factor", json!({})),
            ("attempt_second_factor", json!({"strategy": "totp", "code": "123456"})),
            ("reset_password", json!({"password": "Another-horse-battery-43"})),
        ] {
            step(browser, &id, name, fields).await.is_error(404, "resource_not_found");
        }
        browser.get(&format!("/v1/client/sign_ins/{id}")).await.is_error(404, "resource_not_found");
    }
    for id in ["sia_x", "user_2x4y6z8A0C2E4G6I8K0M2O4Q6S8", "%00", "sia_2x4y6z8A0C2E4G6I8K0M2O4Q6S8"] {
        let answer = owner.get(&format!("/v1/client/sign_ins/{id}")).await;
        assert!((400..=404).contains(&answer.status), "{id}");
    }
    let fields = json!({"strategy": "email_code", "code": code});
    assert_eq!(shown(step(&mut owner, &id, "attempt_first_factor", fields).await)["status"], "complete");
}

#[tokio::test]
async fn codes_go_to_addresses_of_the_user_only() {
    let t = TestServer::start().await;
    ada(&t).await;
    let other = t.user(json!({"email_address": ["grace@example.com"]})).await;
    let mut browser = t.browser();
    let id = identified(&mut browser, EMAIL).await;
    for recipient in [other["email_addresses"][0]["id"].clone(), json!("idn_x"), json!("'; DROP TABLE users")]
    {
        let fields = json!({"strategy": "email_code", "email_address_id": recipient});
        let answer = step(&mut browser, &id, "prepare_first_factor", fields).await;
        answer.is_error(400, "strategy_for_user_invalid");
    }
    assert_eq!(t.inbox().await.len(), 0);
}

#[tokio::test]
async fn a_factor_taken_away_meanwhile_proves_nothing() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    let mut browser = t.browser();
    let id = identified(&mut browser, EMAIL).await;
    step(&mut browser, &id, "prepare_first_factor", json!({"strategy": "email_code"})).await.ok();
    let code = code(&t).await;
    let address = user["email_addresses"][0]["id"].as_str().unwrap();
    t.delete(&format!("/v1/email_addresses/{address}")).await.ok();
    let fields = json!({"strategy": "email_code", "code": code});
    let answer = step(&mut browser, &id, "attempt_first_factor", fields).await;
    answer.is_error(400, "strategy_for_user_invalid");
}

#[tokio::test]
async fn a_token_planted_before_is_worth_nothing_after() {
    let t =
        server(|settings| settings.attributes.email_address.first_factors.push(Strategy::EmailLink)).await;
    ada(&t).await;
    let mut victim = t.browser();
    begin(&mut victim, json!({})).await.ok();
    let mut attacker = t.browser();
    attacker.cookies = victim.cookies.clone();
    begin(&mut victim, json!({"identifier": EMAIL, "password": PASSWORD})).await.ok();
    assert_eq!(attacker.get("/v1/client").await.ok()["response"], Value::Null);
}

#[tokio::test]
async fn monstrous_values_are_refused_like_small_ones() {
    let t = TestServer::start().await;
    ada(&t).await;
    let mut browser = t.browser();
    let huge = "x".repeat(100_000);
    let answer = begin(&mut browser, json!({"identifier": EMAIL, "password": huge})).await;
    answer.is_error(422, "form_password_incorrect");
    let answer = begin(&mut browser, json!({"identifier": huge})).await;
    answer.is_problem(422, "form_param_format_invalid", "identifier");
    let sign_in =
        shown(begin(&mut browser, json!({"identifier": EMAIL, "locale": huge, "captcha_token": huge})).await);
    let id = sign_in["id"].as_str().unwrap();
    step(&mut browser, id, "prepare_first_factor", json!({"strategy": "email_code"})).await.ok();
    let answer =
        step(&mut browser, id, "attempt_first_factor", json!({"strategy": "email_code", "code": huge})).await;
    answer.is_error(422, "form_code_incorrect");
}

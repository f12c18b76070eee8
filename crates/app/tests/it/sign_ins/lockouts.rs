//! Locks after failed attempts, and bans.

use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};

use super::{EMAIL, PASSWORD, PHONE, ada, begin, code, identified, other_than, server, shown, step};

fn strict(settings: &mut Settings) {
    settings.lockout.max_attempts = 4;
}

async fn remaining(t: &TestServer, id: &Value) -> Value {
    t.shown(id.as_str().unwrap()).await["verification_attempts_remaining"].clone()
}

#[track_caller]
fn is_locked(answer: &Answer) {
    answer.is_error(403, "user_locked");
    assert_eq!(answer.json["errors"][0]["meta"]["lockout_expires_in_seconds"], 3600);
}

#[tokio::test]
async fn failures_of_every_kind_in_every_browser_add_up_to_a_lock() {
    let t = server(strict).await;
    let user = ada(&t).await;
    begin(&mut t.browser(), json!({"identifier": EMAIL, "password": "wrong-password"}))
        .await
        .is_error(422, "form_password_incorrect");
    let mut browser = t.browser();
    let fields = json!({"identifier": "ADA@EXAMPLE.COM", "strategy": "email_code"});
    let id = shown(begin(&mut browser, fields).await)["id"].as_str().unwrap().to_owned();
    let wrong = json!({"strategy": "email_code", "code": other_than(&code(&t).await)});
    step(&mut browser, &id, "attempt_first_factor", wrong).await.is_error(422, "form_code_incorrect");
    t.clock.advance_ms(1);
    let mut browser = t.browser();
    let fields = json!({"identifier": PHONE, "strategy": "reset_password_phone_code"});
    let id = shown(begin(&mut browser, fields).await)["id"].as_str().unwrap().to_owned();
    let right = code(&t).await;
    let wrong = json!({"strategy": "reset_password_phone_code", "code": other_than(&right)});
    step(&mut browser, &id, "attempt_first_factor", wrong).await.is_error(422, "form_code_incorrect");
    assert_eq!(remaining(&t, &user["id"]).await, 1);
    let events = t.events().await.len();
    let last = begin(&mut t.browser(), json!({"identifier": "ada_l", "password": "wrong-password"})).await;
    is_locked(&last);
    let told: Vec<_> = t.events().await.split_off(events);
    let kinds: Vec<&str> = told.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["user.updated", "email.created"]);
    assert_eq!(
        (&told[1].data["slug"], &told[1].data["data"]["lockout_duration"]),
        (&json!("account_locked"), &json!("1 hour"))
    );
    assert_eq!(
        (&told[0].data["locked"], &told[0].data["lockout_expires_in_seconds"]),
        (&json!(true), &json!(3600))
    );
    // Nothing opens it now, not even what is right.
    let right = json!({"strategy": "reset_password_phone_code", "code": right});
    is_locked(&step(&mut browser, &id, "attempt_first_factor", right).await);
    is_locked(&begin(&mut t.browser(), json!({"identifier": EMAIL, "password": PASSWORD})).await);
    is_locked(&begin(&mut t.browser(), json!({"identifier": PHONE})).await);
}

#[tokio::test]
async fn a_lock_ends_and_all_attempts_are_there_again() {
    let t = server(strict).await;
    let user = ada(&t).await;
    let wrong = json!({"identifier": EMAIL, "password": "wrong-password"});
    for _ in 0..4 {
        begin(&mut t.browser(), wrong.clone()).await;
    }
    is_locked(&begin(&mut t.browser(), wrong.clone()).await);
    t.clock.advance_ms(3_600_000);
    begin(&mut t.browser(), wrong).await.is_error(422, "form_password_incorrect");
    assert_eq!(remaining(&t, &user["id"]).await, 3);
    let right = json!({"identifier": EMAIL, "password": PASSWORD});
    assert_eq!(shown(begin(&mut t.browser(), right).await)["status"], "complete");
    assert_eq!(remaining(&t, &user["id"]).await, 4);
}

#[tokio::test]
async fn the_application_locks_and_unlocks() {
    let t = TestServer::start().await;
    let id = ada(&t).await["id"].as_str().unwrap().to_owned();
    let mut browser = t.browser();
    let sign_in = identified(&mut browser, EMAIL).await;
    t.post(&format!("/v1/users/{id}/lock"), json!({})).await.ok();
    let fields = json!({"strategy": "email_code"});
    is_locked(&step(&mut browser, &sign_in, "prepare_first_factor", fields).await);
    assert_eq!(t.inbox().await.len(), 0);
    t.post(&format!("/v1/users/{id}/unlock"), json!({})).await.ok();
    let fields = json!({"strategy": "password", "password": PASSWORD});
    assert_eq!(
        shown(step(&mut browser, &sign_in, "attempt_first_factor", fields).await)["status"],
        "complete"
    );
}

#[tokio::test]
async fn nobody_is_locked_where_locks_are_off() {
    let t = server(|settings| settings.lockout.enabled = false).await;
    ada(&t).await;
    for _ in 0..5 {
        let wrong = json!({"identifier": EMAIL, "password": "wrong-password"});
        begin(&mut t.browser(), wrong).await.is_error(422, "form_password_incorrect");
    }
    let right = json!({"identifier": EMAIL, "password": PASSWORD});
    assert_eq!(shown(begin(&mut t.browser(), right).await)["status"], "complete");
}

#[tokio::test]
async fn banned_users_cannot_sign_in() {
    let t = TestServer::start().await;
    let id = ada(&t).await["id"].as_str().unwrap().to_owned();
    let mut browser = t.browser();
    let sign_in = identified(&mut browser, EMAIL).await;
    t.post(&format!("/v1/users/{id}/ban"), json!({})).await.ok();
    for (name, fields) in [
        ("attempt_first_factor", json!({"strategy": "password", "password": PASSWORD})),
        ("prepare_first_factor", json!({"strategy": "email_code"})),
    ] {
        step(&mut browser, &sign_in, name, fields).await.is_error(403, "user_banned");
    }
    let fields = json!({"identifier": EMAIL, "password": PASSWORD});
    begin(&mut t.browser(), fields).await.is_error(403, "user_banned");
}

#[tokio::test]
async fn an_account_that_is_gone_meanwhile_is_told() {
    let t = TestServer::start().await;
    let id = ada(&t).await["id"].as_str().unwrap().to_owned();
    let mut browser = t.browser();
    let sign_in = identified(&mut browser, EMAIL).await;
    t.delete(&format!("/v1/users/{id}")).await.ok();
    let fields = json!({"strategy": "email_code"});
    let answer = step(&mut browser, &sign_in, "prepare_first_factor", fields).await;
    answer.is_error(400, "sign_in_identification_or_user_deleted");
}

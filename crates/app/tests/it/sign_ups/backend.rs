//! What the application's backend sees and does.

use latchkey_testkit::{Browser, TestServer};
use serde_json::{Value, json};

use super::{PATH, attempt, newest_code, signed_up, with_code, without_passwords};

/// Begins an attempt; returns its path for the browser and for the backend.
async fn both(browser: &mut Browser<'_>) -> (String, String) {
    let path = with_code(browser, "ada@example.com").await;
    let backend = path.replace(PATH, "/v1/sign_ups");
    (path, backend)
}

#[tokio::test]
async fn backend_sees_what_the_browser_sees() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let (path, backend) = both(&mut browser).await;
    let mut seen = browser.get(&path).await.ok()["response"].clone();
    seen.as_object_mut().unwrap().remove("has_password");
    assert_eq!(t.get(&backend).await.ok(), seen);
    t.call(Some(&t.other), "GET", &backend, None).await.is_error(404, "resource_not_found");
    t.get("/v1/sign_ups/sua_2abcdefghijklmnopqrstuvwxyz1").await.is_error(404, "resource_not_found");
    t.get("/v1/sign_ups/nonsense").await.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn external_id_becomes_the_users() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let (path, backend) = both(&mut browser).await;
    let changed = t.patch(&backend, json!({"external_id": "engine-1", "custom_action": true})).await.ok();
    assert_eq!((&changed["external_id"], &changed["custom_action"]), (&json!("engine-1"), &json!(true)));
    assert_eq!(t.patch(&backend, json!({})).await.ok(), changed);
    let done = attempt(&mut browser, &path, "email_code", &newest_code(&t).await).await.ok();
    assert_eq!(done["response"]["custom_action"], true);
    assert_eq!(done["client"]["sessions"][0]["user"]["external_id"], "engine-1");
    t.patch(&backend, json!({"custom_action": false})).await.is_error(403, "sign_up_cannot_be_updated");
    assert_eq!(t.get(&backend).await.ok()["created_user_id"], done["response"]["created_user_id"]);
}

#[tokio::test]
async fn external_id_somebody_has_is_refused_at_once() {
    let t = without_passwords().await;
    t.user(json!({"username": "countess", "external_id": "engine-1"})).await;
    let mut browser = t.browser();
    let (path, backend) = both(&mut browser).await;
    let wanted = |id: &str| t.patch(&backend, json!({"external_id": id}));
    wanted("engine-1").await.is_problem(422, "form_identifier_exists", "external_id");
    assert_eq!(t.get(&backend).await.ok()["external_id"], Value::Null);
    // What others call their people is no matter.
    t.call(
        Some(&t.other),
        "POST",
        "/v1/users",
        Some(json!({"username": "ada_l", "external_id": "engine-2"})),
    )
    .await
    .ok();
    wanted("engine-2").await.ok();
    wanted("engine-2").await.ok();
    let done = attempt(&mut browser, &path, "email_code", &newest_code(&t).await).await.ok();
    let user = t.shown(done["response"]["created_user_id"].as_str().unwrap()).await;
    assert_eq!(user["external_id"], "engine-2");
}

#[tokio::test]
async fn external_id_taken_meanwhile_is_told_in_the_end() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let (path, backend) = both(&mut browser).await;
    t.patch(&backend, json!({"external_id": "engine-1"})).await.ok();
    t.user(json!({"username": "countess", "external_id": "engine-1"})).await;
    let code = newest_code(&t).await;
    attempt(&mut browser, &path, "email_code", &code).await.is_problem(
        422,
        "form_identifier_exists",
        "external_id",
    );
    let cleared = t.patch(&backend, json!({"external_id": null})).await.ok();
    assert_eq!(cleared["external_id"], Value::Null);
    attempt(&mut browser, &path, "email_code", &code).await.ok();
}

#[tokio::test]
async fn what_does_not_fit_or_is_over_is_refused() {
    let t = without_passwords().await;
    let (_, backend) = both(&mut t.browser()).await;
    t.patch(&backend, json!({"external_id": "x".repeat(256)})).await.is_problem(
        422,
        "form_param_max_length_exceeded",
        "external_id",
    );
    t.patch(&backend, json!({"custom_action": "yes"})).await.is_problem(
        422,
        "form_param_type_invalid",
        "custom_action",
    );
    let own = t.patch(&backend, json!({"status": "complete", "created_user_id": "user_1"})).await.ok();
    assert_eq!((&own["status"], &own["created_user_id"]), (&json!("missing_requirements"), &Value::Null));
    t.call(Some(&t.other), "PATCH", &backend, Some(json!({}))).await.is_error(404, "resource_not_found");
    t.clock.advance_ms(24 * 3600 * 1000);
    t.patch(&backend, json!({})).await.is_error(403, "sign_up_cannot_be_updated");
    assert_eq!(t.get(&backend).await.ok()["status"], "abandoned");
}

#[tokio::test]
async fn secrets_stay_where_they_are() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    let fields =
        json!({"email_address": "ada@example.com", "password": super::PASSWORD, "strategy": "email_code"});
    let path = super::begun(&mut browser, fields).await;
    let shown = t.get(&path.replace(PATH, "/v1/sign_ups")).await;
    let text = String::from_utf8(shown.bytes).unwrap();
    for secret in ["argon2", "digest", "secret", &newest_code(&t).await] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    let done = signed_up(&t, &mut t.browser(), "eve@example.com").await;
    assert_eq!(done["response"]["status"], "missing_requirements");
}

//! Codes: sent, tried, tried too often, too late, and for an address that is not there any more.

use serde_json::{Value, json};

use super::{PATH, attempt, begun, newest_code, server, with_code, without_passwords, wrong};

#[tokio::test]
async fn wrong_codes_are_counted_until_a_new_one_is_needed() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let path = with_code(&mut browser, "ada@example.com").await;
    let code = newest_code(&t).await;
    for attempts in 1..=2 {
        let refused = attempt(&mut browser, &path, "email_code", wrong(&code)).await;
        refused.is_problem(422, "form_code_incorrect", "code");
        let proof = &refused.json["meta"]["client"]["sign_up"]["verifications"]["email_address"];
        assert_eq!((&proof["attempts"], &proof["status"]), (&json!(attempts), &json!("unverified")));
    }
    let failed = attempt(&mut browser, &path, "email_code", wrong(&code)).await;
    failed.is_error(400, "verification_failed");
    let proof = &failed.json["meta"]["client"]["sign_up"]["verifications"]["email_address"];
    assert_eq!((&proof["status"], &proof["next_action"]), (&json!("failed"), &json!("needs_prepare")));
    attempt(&mut browser, &path, "email_code", &code).await.is_error(400, "verification_failed");
    browser.post(&format!("{path}/prepare_verification"), json!({"strategy": "email_code"})).await.ok();
    attempt(&mut browser, &path, "email_code", &newest_code(&t).await).await.ok();
}

#[tokio::test]
async fn late_code_is_refused() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let path = with_code(&mut browser, "ada@example.com").await;
    t.clock.advance_ms(10 * 60 * 1000);
    attempt(&mut browser, &path, "email_code", &newest_code(&t).await)
        .await
        .is_error(400, "verification_expired");
    let proof = &browser.get(&path).await.ok()["response"]["verifications"]["email_address"];
    assert_eq!((&proof["status"], &proof["next_action"]), (&json!("expired"), &json!("needs_prepare")));
}

#[tokio::test]
async fn only_the_newest_code_works() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let path = with_code(&mut browser, "ada@example.com").await;
    let old = newest_code(&t).await;
    t.clock.advance_ms(1000);
    browser.post(&format!("{path}/prepare_verification"), json!({"strategy": "email_code"})).await.ok();
    attempt(&mut browser, &path, "email_code", &old).await.is_error(422, "form_code_incorrect");
    attempt(&mut browser, &path, "email_code", &newest_code(&t).await).await.ok();
}

#[tokio::test]
async fn texts_are_sent_with_a_pause_and_mails_not_without_end() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let fields = json!({"email_address": "ada@example.com", "phone_number": "+4915112345678", "strategy": "phone_code"});
    let prepare = format!("{}/prepare_verification", begun(&mut browser, fields).await);
    let soon = browser.post(&prepare, json!({"strategy": "phone_code"})).await;
    soon.is_error(429, "verification_code_too_many_requests");
    assert_eq!(soon.header("retry-after"), "30");
    t.clock.advance_ms(30_000);
    browser.post(&prepare, json!({"strategy": "phone_code"})).await.ok();
    for _ in 0..10 {
        browser.post(&prepare, json!({"strategy": "email_code"})).await.ok();
    }
    browser
        .post(&prepare, json!({"strategy": "email_code"}))
        .await
        .is_error(429, "verification_code_too_many_requests");
}

#[tokio::test]
async fn another_address_starts_from_the_beginning() {
    let t = server(|settings| settings.attributes.password.required_at_sign_up = true).await;
    let mut browser = t.browser();
    let path = with_code(&mut browser, "ada@exmaple.com").await;
    let old = newest_code(&t).await;
    let changed = browser.patch(&path, json!({"email_address": "ada@example.com"})).await.ok();
    assert_eq!(changed["response"]["verifications"]["email_address"], Value::Null);
    attempt(&mut browser, &path, "email_code", &old).await.is_error(410, "sign_up_outdated_verification");
    t.clock.advance_ms(1000);
    browser.post(&format!("{path}/prepare_verification"), json!({"strategy": "email_code"})).await.ok();
    let proven = attempt(&mut browser, &path, "email_code", &newest_code(&t).await).await.ok();
    assert_eq!(proven["response"]["unverified_fields"], json!([]));
    let same = browser.patch(&path, json!({"email_address": "Ada@example.com"})).await.ok();
    assert_eq!(same["response"]["verifications"]["email_address"]["status"], "verified");
    let other = browser.patch(&path, json!({"email_address": "eve@example.com"})).await.ok();
    assert_eq!(other["response"]["unverified_fields"], json!(["email_address"]));
    let back = browser.patch(&path, json!({"email_address": "ada@example.com"})).await.ok();
    assert_eq!(back["response"]["verifications"]["email_address"], Value::Null);
}

#[tokio::test]
async fn changing_with_a_strategy_sends_at_once() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let path = begun(&mut browser, json!({"first_name": "Ada"})).await;
    let fields = json!({"email_address": "ada@example.com", "strategy": "email_code"});
    let sent = browser.patch(&path, fields).await.ok();
    assert_eq!(sent["response"]["verifications"]["email_address"]["next_action"], "needs_attempt");
    attempt(&mut browser, &path, "email_code", &newest_code(&t).await).await.ok();
}

#[tokio::test]
async fn steps_cannot_be_skipped() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let path = begun(&mut browser, json!({})).await;
    let prepare = format!("{path}/prepare_verification");
    attempt(&mut browser, &path, "email_code", "424242").await.is_error(400, "verification_missing");
    browser.post(&prepare, json!({"strategy": "email_code"})).await.is_problem(
        422,
        "form_param_missing",
        "email_address",
    );
    browser.patch(&path, json!({"email_address": "ada@example.com"})).await.ok();
    attempt(&mut browser, &path, "email_code", "424242").await.is_error(400, "verification_missing");
    attempt(&mut browser, &path, "phone_code", "424242").await.is_error(400, "verification_missing");
    browser.post(&prepare, json!({})).await.is_problem(422, "form_param_missing", "strategy");
    for strategy in ["email_link", "web3_metamask_signature", "admin", "password", "nonsense"] {
        let fields = json!({"strategy": strategy, "redirect_url": "http://localhost:3000/"});
        browser.post(&prepare, fields).await.is_problem(400, "verification_strategy_invalid", "strategy");
    }
    browser.post(&prepare, json!({"strategy": "email_code"})).await.ok();
    attempt(&mut browser, &path, "email_code", "").await.is_problem(422, "form_param_missing", "code");
    attempt(&mut browser, &path, "", "424242").await.is_problem(422, "form_param_missing", "strategy");
    for strategy in ["email_link", "ticket", "oauth_google"] {
        attempt(&mut browser, &path, strategy, "424242").await.is_problem(
            400,
            "verification_strategy_invalid",
            "strategy",
        );
    }
    assert_eq!(browser.get(&path).await.ok()["response"]["status"], "missing_requirements");
}

#[tokio::test]
async fn addresses_for_tests_take_the_code_everybody_knows_and_receive_nothing() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let path = with_code(&mut browser, "ada+clerk_test@example.com").await;
    assert!(t.inbox().await.is_empty());
    attempt(&mut browser, &path, "email_code", "424243").await.is_error(422, "form_code_incorrect");
    attempt(&mut browser, &path, "email_code", "424242").await.ok();
    let mut live = t.browser_at(&t.other);
    live.origin = None;
    let fields = json!({"email_address": "ada+clerk_test@example.com", "strategy": "email_code"});
    let path = begun(&mut live, fields).await;
    attempt(&mut live, &path, "email_code", "424242").await.is_error(422, "form_code_incorrect");
}

#[tokio::test]
async fn reload_shows_the_code_that_is_waited_for() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let path = with_code(&mut browser, "ada@example.com").await;
    let client = browser.get("/v1/client").await.ok();
    let proof = &client["response"]["sign_up"]["verifications"]["email_address"];
    assert_eq!((&proof["status"], &proof["strategy"]), (&json!("unverified"), &json!("email_code")));
    assert_eq!(browser.get(&path).await.ok()["response"], client["response"]["sign_up"]);
    assert_eq!(PATH.len() + 1 + client["response"]["sign_up"]["id"].as_str().unwrap().len(), path.len());
}

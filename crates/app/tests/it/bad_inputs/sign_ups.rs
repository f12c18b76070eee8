//! Signing up with what one was not asked for, with somebody else's attempt, too often, or all at once.

use std::sync::Arc;

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::sign_ups::{
    PASSWORD, PATH, attempt, begun, newest_code, server, signed_up, with_code, without_passwords, wrong,
};

const MANY: usize = 64;

/// Sends the same form to `path` from many tasks at once, all with the cookies of one browser.
async fn at_once(
    t: &Arc<TestServer>,
    cookies: &[(String, String)],
    path: &str,
    fields: Value,
) -> Vec<Answer> {
    let mut tasks = JoinSet::new();
    for _ in 0..MANY {
        let (t, cookies, path, fields) = (t.clone(), cookies.to_vec(), path.to_owned(), fields.clone());
        tasks.spawn(async move {
            let mut browser = t.browser();
            browser.cookies.extend(cookies);
            browser.post(&path, fields).await
        });
    }
    tasks.join_all().await
}

async fn users(t: &TestServer) -> Value {
    t.get("/v1/users/count").await.ok()["total_count"].clone()
}

#[tokio::test]
async fn fields_nobody_may_set_change_nothing() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let extras = json!({
        "public_metadata": {"role": "admin"}, "private_metadata": {"role": "admin"}, "role": "admin",
        "user_id": "user_1", "created_user_id": "user_1", "created_session_id": "sess_1", "status": "complete",
        "verified": true, "email_address_verified": true, "verifications": {"email_address": {"status": "verified"}},
        "unverified_fields": [], "external_id": "x", "custom_action": true, "banned": false, "abandon_at": 9,
        "legal_accepted_at": 1, "created_at": 1, "is_invited": true, "password_digest": "x", "totp_secret": "x",
        "skip_password_checks": true, "client": "client_1", "instance": "ins_1", "id": "sua_1", "created": {},
    });
    let mut fields = extras.clone();
    fields["email_address"] = json!("ada@example.com");
    let made = browser.post(PATH, fields).await.ok();
    let sign_up = &made["response"];
    assert_eq!(
        (&sign_up["status"], &sign_up["unverified_fields"]),
        (&json!("missing_requirements"), &json!(["email_address"]))
    );
    let path = format!("{PATH}/{}", sign_up["id"].as_str().unwrap());
    let changed = browser.patch(&path, extras.clone()).await.ok();
    assert_eq!(changed["response"], *sign_up);
    let mut asked = extras.clone();
    asked["strategy"] = json!("email_code");
    browser.post(&format!("{path}/prepare_verification"), asked).await.ok();
    let mut tried = extras;
    tried["strategy"] = json!("email_code");
    tried["code"] = json!(newest_code(&t).await);
    let done = browser.post(&format!("{path}/attempt_verification"), tried).await.ok();
    let user = t.shown(done["response"]["created_user_id"].as_str().unwrap()).await;
    assert_eq!((&user["public_metadata"], &user["private_metadata"]), (&json!({}), &json!({})));
    assert_eq!((&user["external_id"], &user["legal_accepted_at"]), (&Value::Null, &Value::Null));
    assert_eq!((&user["totp_enabled"], &user["password_enabled"]), (&json!(false), &json!(false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn code_tried_64_times_at_once_makes_one_user() {
    let t = Arc::new(without_passwords().await);
    let mut browser = t.browser();
    let path = with_code(&mut browser, "ada@example.com").await;
    let fields = json!({"strategy": "email_code", "code": newest_code(&t).await});
    let cookies: Vec<_> = browser.cookies.clone().into_iter().collect();
    let answers = at_once(&t, &cookies, &format!("{path}/attempt_verification"), fields).await;
    let good = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!((good, users(&t).await), (1, json!(1)));
    for refused in answers.iter().filter(|answer| answer.status != 200) {
        // Whoever comes after the winner has a token from before the sign-up, which proves nothing any more.
        assert!(
            ["verification_already_verified", "signed_out"].contains(&refused.code()),
            "{:#}",
            refused.json
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn guesses_64_at_once_are_counted_as_three() {
    let t = Arc::new(without_passwords().await);
    let mut browser = t.browser();
    let path = with_code(&mut browser, "ada@example.com").await;
    let code = newest_code(&t).await;
    let cookies: Vec<_> = browser.cookies.clone().into_iter().collect();
    let fields = json!({"strategy": "email_code", "code": wrong(&code)});
    let answers = at_once(&t, &cookies, &format!("{path}/attempt_verification"), fields).await;
    let told = answers.iter().filter(|answer| answer.code() == "form_code_incorrect").count();
    assert_eq!(told, 2);
    assert_eq!(answers.iter().filter(|answer| answer.code() == "verification_failed").count(), MANY - 2);
    attempt(&mut browser, &path, "email_code", &code).await.is_error(400, "verification_failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn identifier_wanted_by_many_goes_to_one() {
    let settings = |settings: &mut Settings| {
        settings.attributes.password.required_at_sign_up = false;
        settings.attributes.email_address.verify_at_sign_up = false;
    };
    let t = Arc::new(server(settings).await);
    let answers =
        at_once(&t, &[], PATH, json!({"email_address": "ada@example.com", "username": "countess"})).await;
    let good = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!((good, users(&t).await), (1, json!(1)));
    for refused in answers.iter().filter(|answer| answer.status != 200) {
        assert_eq!(
            refused.problems(),
            [("form_identifier_exists", "email_address"), ("form_identifier_exists", "username")]
        );
    }
}

#[tokio::test]
async fn code_that_was_used_is_worth_nothing() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let path = with_code(&mut browser, "ada@example.com").await;
    let code = newest_code(&t).await;
    attempt(&mut browser, &path, "email_code", &code).await.ok();
    attempt(&mut browser, &path, "email_code", &code).await.is_error(400, "verification_already_verified");
    let mut other = t.browser();
    let second = with_code(&mut other, "eve@example.com").await;
    attempt(&mut other, &second, "email_code", &code).await.is_error(422, "form_code_incorrect");
}

#[tokio::test]
async fn attempt_of_another_client_or_instance_is_not_there() {
    let t = without_passwords().await;
    let (mut owner, mut thief, mut elsewhere) = (t.browser(), t.browser(), t.browser_at(&t.other));
    elsewhere.origin = None;
    let path = with_code(&mut owner, "ada@example.com").await;
    let code = newest_code(&t).await;
    let nobody = &mut t.browser();
    nobody.get(&path).await.is_error(401, "signed_out");
    attempt(nobody, &path, "email_code", &code).await.is_error(401, "signed_out");
    begun(&mut thief, json!({})).await;
    begun(&mut elsewhere, json!({})).await;
    for browser in [&mut thief, &mut elsewhere] {
        browser.get(&path).await.is_error(404, "resource_not_found");
        browser
            .patch(&path, json!({"email_address": "eve@example.com"}))
            .await
            .is_error(404, "resource_not_found");
        let prepare = format!("{path}/prepare_verification");
        browser.post(&prepare, json!({"strategy": "email_code"})).await.is_error(404, "resource_not_found");
        attempt(browser, &path, "email_code", &code).await.is_error(404, "resource_not_found");
        for made_up in ["sua_2abcdefghijklmnopqrstuvwxyz1", "user_1", "..%2F..", "%00"] {
            browser.get(&format!("{PATH}/{made_up}")).await.is_error(404, "resource_not_found");
        }
    }
    attempt(&mut owner, &path, "email_code", &code).await.ok();
}

#[tokio::test]
async fn names_that_look_like_scripts_are_kept_as_text_or_refused() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let name = "\" onload=alert(1) x='${7*7}{{7*7}}";
    let fields = json!({"email_address": "ada@example.com", "first_name": name, "strategy": "email_code"});
    let path = begun(&mut browser, fields).await;
    let done = attempt(&mut browser, &path, "email_code", &newest_code(&t).await).await.ok();
    assert_eq!(done["client"]["sessions"][0]["user"]["first_name"], name);
    for markup in ["<script>alert(1)</script>", "a<img src=x>", "see https://evil.example", "a\nb"] {
        t.browser().post(PATH, json!({"last_name": markup})).await.is_problem(
            422,
            "form_param_value_invalid",
            "last_name",
        );
    }
}

#[tokio::test]
async fn fields_of_any_size_or_with_nul_are_refused() {
    let t = TestServer::start().await;
    let long = "x".repeat(100_000);
    for (param, code) in [
        ("email_address", "form_param_format_invalid"),
        ("phone_number", "form_param_format_invalid"),
        ("web3_wallet", "form_param_unknown"),
        ("username", "form_username_invalid_length"),
        ("first_name", "form_param_max_length_exceeded"),
        ("last_name", "form_param_max_length_exceeded"),
    ] {
        t.browser().post(PATH, json!({ param: long })).await.is_problem(422, code, param);
        t.browser()
            .post(PATH, json!({ param: "a\u{0}b" }))
            .await
            .is_error(400, "malformed_request_parameters");
    }
    let huge = t.browser().post(PATH, json!({"password": long})).await;
    assert_eq!(huge.problems()[0], ("form_password_length_too_long", "password"));
    t.browser()
        .post(PATH, json!({"password": "a\u{0}bcdefghi"}))
        .await
        .is_error(400, "malformed_request_parameters");
    t.browser()
        .post(PATH, json!({"first_name": "x".repeat(300_000)}))
        .await
        .is_error(413, "request_body_too_large");
    let metadata = json!({"unsafe_metadata": {"a": "x".repeat(8 * 1024)}});
    t.browser().post(PATH, metadata.clone()).await.is_problem(
        422,
        "form_param_exceeds_allowed_size",
        "unsafe_metadata",
    );
    let mut browser = t.browser();
    let path = begun(&mut browser, json!({"unsafe_metadata": {"a": "\u{0}"}})).await;
    browser.patch(&path, metadata).await.is_problem(
        422,
        "form_param_exceeds_allowed_size",
        "unsafe_metadata",
    );
    for code in [&*long, "a\u{0}b", "４２４２４２", "424242 "] {
        browser
            .patch(&path, json!({"email_address": "a+clerk_test@b.de", "strategy": "email_code"}))
            .await
            .ok();
        let refused = attempt(&mut browser, &path, "email_code", code).await;
        assert!([400, 422].contains(&refused.status), "{:#}", refused.json);
    }
    assert_eq!(users(&t).await, 0);
}

#[tokio::test]
async fn refused_beginnings_leave_nothing_behind() {
    let t = TestServer::start().await;
    t.user_with_email("ada@example.com").await;
    let before = t.everything().await;
    for fields in [
        json!({"email_address": "ada@example.com", "password": PASSWORD, "strategy": "email_code"}),
        json!({"email_address": "eve@example.com", "password": "12345", "strategy": "email_code"}),
        json!({"email_address": "eve@example.com", "strategy": "email_link"}),
        json!({"email_address": "eve@example.com", "strategy": "phone_code"}),
        json!({"email_address": "eve@example.com", "transfer": true}),
        json!({"email_address": "eve@example.com", "ticket": "x"}),
    ] {
        assert!(t.browser().post(PATH, fields).await.status >= 400);
    }
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn beginnings_and_guesses_are_limited_for_each_address() {
    let t = TestServer::start_with(RateLimits::default(), Settings::default()).await;
    let mut browser = t.browser();
    for _ in 0..5 {
        browser.post(PATH, json!({})).await.ok();
    }
    browser.post(PATH, json!({})).await.is_error(429, "too_many_requests");
    t.clock.advance_ms(10_000);
    let path = with_code(&mut browser, "ada@example.com").await;
    for _ in 0..3 {
        attempt(&mut browser, &path, "email_code", "x").await;
    }
    attempt(&mut browser, &path, "email_code", "x").await.is_error(429, "too_many_requests");
}

#[tokio::test]
async fn token_from_before_the_sign_up_proves_nothing_after_it() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    begun(&mut browser, json!({})).await;
    let mut fixated = t.browser();
    fixated.cookies = browser.cookies.clone();
    signed_up(&t, &mut browser, "ada@example.com").await;
    assert_eq!(fixated.get("/v1/client").await.ok()["response"], Value::Null);
    assert!(!browser.get("/v1/client").await.ok()["response"]["sessions"].as_array().unwrap().is_empty());
}

//! What is there once nothing is left to ask for.

use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::{PASSWORD, PATH, attempt, begun, newest_code, server, signed_up, with_code, without_passwords};

#[tokio::test]
async fn address_code_and_password_make_a_user_and_a_session() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    let fields = json!({
        "email_address": "Ada@Example.com", "password": PASSWORD, "strategy": "email_code", "locale": "en-GB",
        "first_name": "Ada", "unsafe_metadata": {"plan": "engine"},
    });
    let made = browser.post(PATH, fields).await.ok();
    assert_eq!(
        (&made["response"]["status"], &made["client"]["sessions"]),
        (&json!("missing_requirements"), &json!([]))
    );
    assert_eq!(
        (&made["response"]["password_enabled"], &made["response"]["has_password"]),
        (&json!(true), &json!(true))
    );
    let path = format!("{PATH}/{}", made["response"]["id"].as_str().unwrap());
    let done = attempt(&mut browser, &path, "email_code", &newest_code(&t).await).await.ok();
    let sign_up = &done["response"];
    assert_eq!(sign_up["status"], "complete");
    assert_eq!(sign_up["verifications"]["email_address"]["next_action"], "");
    assert_eq!((&sign_up["missing_fields"], &sign_up["unverified_fields"]), (&json!([]), &json!([])));
    assert_eq!((&done["client"]["sign_up"], &sign_up["password_enabled"]), (&Value::Null, &json!(true)));
    let session = &done["client"]["sessions"][0];
    assert_eq!(session["id"], sign_up["created_session_id"]);
    assert_eq!(done["client"]["last_active_session_id"], session["id"]);
    assert_eq!(done["client"]["last_authentication_strategy"], Value::Null);
    assert_eq!(
        (&session["status"], &session["factor_verification_age"]),
        (&json!("active"), &json!([0, -1]))
    );
    let user = &session["user"];
    assert_eq!(user["id"], sign_up["created_user_id"]);
    assert_eq!((&user["first_name"], &user["locale"]), (&json!("Ada"), &json!("en-GB")));
    assert_eq!(
        (&user["password_enabled"], &user["unsafe_metadata"]),
        (&json!(true), &json!({"plan": "engine"}))
    );
    let address = &user["email_addresses"][0];
    assert_eq!(address["email_address"], "ada@example.com");
    assert_eq!(
        (&address["verification"]["strategy"], &address["verification"]["attempts"]),
        (&json!("email_code"), &json!(1))
    );
    assert_eq!(user["primary_email_address_id"], address["id"]);
    let id = user["id"].as_str().unwrap();
    let verified =
        t.post(&format!("/v1/users/{id}/verify_password"), json!({"password": PASSWORD})).await.ok();
    assert_eq!(verified["verified"], true);
    let shown = browser.get(&path).await.ok();
    assert_eq!(
        (&shown["response"]["status"], &shown["client"]["sign_up"]),
        (&json!("complete"), &Value::Null)
    );
}

#[tokio::test]
async fn events_tell_of_the_user_as_it_is_and_of_the_session() {
    let t = without_passwords().await;
    let done = signed_up(&t, &mut t.browser(), "ada@example.com").await;
    let mut events = t.events().await;
    events.sort_by(|a, b| b.kind.cmp(&a.kind));
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["user.created", "session.created", "email.created"]);
    assert_eq!(events[0].data["id"], done["response"]["created_user_id"]);
    assert_eq!(events[0].data["email_addresses"][0]["verification"]["status"], "verified");
    assert_eq!(events[1].data["id"], done["response"]["created_session_id"]);
    // Whoever signed up is signed in, and looks as backends see them.
    let user = t.shown(done["response"]["created_user_id"].as_str().unwrap()).await;
    assert!(user["last_sign_in_at"].is_i64() && user["last_active_at"].is_i64());
    assert_eq!(events[1].data["user"], user);
    assert_eq!(events[0].data["image_url"], user["image_url"]);
}

#[tokio::test]
async fn nothing_of_a_password_is_kept_but_its_digest_and_that_moves_to_the_user() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    let fields = json!({"email_address": "ada@example.com", "password": PASSWORD, "strategy": "email_code"});
    let path = begun(&mut browser, fields).await;
    let holds = |rows: &[String], text: &str| rows.iter().filter(|row| row.contains(text)).count();
    let before = t.everything().await;
    assert_eq!((holds(&before, PASSWORD), holds(&before, "$argon2id$")), (0, 1));
    attempt(&mut browser, &path, "email_code", &newest_code(&t).await).await.ok();
    let after = t.everything().await;
    assert_eq!((holds(&after, PASSWORD), holds(&after, "$argon2id$")), (0, 1));
    assert!(after.iter().any(|row| row.contains("$argon2id$") && !row.contains("sua_")));
}

#[tokio::test]
async fn what_is_missing_may_be_given_step_by_step() {
    let t = server(|settings| {
        settings.attributes.username.required_at_sign_up = true;
        settings.attributes.first_name.required = true;
        settings.legal_consent_required = true;
    })
    .await;
    let mut browser = t.browser();
    let made = browser.post(PATH, json!({})).await.ok();
    let all = json!(["email_address", "username", "first_name", "password", "legal_accepted"]);
    assert_eq!((&made["response"]["missing_fields"], &made["response"]["required_fields"]), (&all, &all));
    let path = format!("{PATH}/{}", made["response"]["id"].as_str().unwrap());
    let steps = [
        (
            json!({"email_address": "ada@example.com"}),
            json!(["username", "first_name", "password", "legal_accepted"]),
        ),
        (json!({"username": "countess", "first_name": "Ada"}), json!(["password", "legal_accepted"])),
        (json!({"password": PASSWORD}), json!(["legal_accepted"])),
    ];
    for (fields, missing) in steps {
        assert_eq!(browser.patch(&path, fields).await.ok()["response"]["missing_fields"], missing);
    }
    browser.post(&format!("{path}/prepare_verification"), json!({"strategy": "email_code"})).await.ok();
    let proven = attempt(&mut browser, &path, "email_code", &newest_code(&t).await).await.ok();
    assert_eq!(
        (&proven["response"]["status"], &proven["response"]["unverified_fields"]),
        (&json!("missing_requirements"), &json!([]))
    );
    let done = browser.patch(&path, json!({"legal_accepted": true})).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    let user = &done["client"]["sessions"][0]["user"];
    assert_eq!((&user["username"], user["legal_accepted_at"].is_i64()), (&json!("countess"), true));
    assert_eq!(user["legal_accepted_at"], done["response"]["legal_accepted_at"]);
}

#[tokio::test]
async fn number_and_address_are_both_proven_when_both_are_given() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let fields = json!({"email_address": "ada@example.com", "phone_number": "+4915112345678", "strategy": "phone_code"});
    let made = browser.post(PATH, fields).await.ok();
    assert_eq!(made["response"]["unverified_fields"], json!(["email_address", "phone_number"]));
    assert_eq!(made["response"]["verifications"]["email_address"], Value::Null);
    assert_eq!(made["response"]["verifications"]["phone_number"]["channel"], "sms");
    let path = format!("{PATH}/{}", made["response"]["id"].as_str().unwrap());
    t.clock.advance_ms(1000);
    let half = attempt(&mut browser, &path, "phone_code", &newest_code(&t).await).await.ok();
    assert_eq!(half["response"]["unverified_fields"], json!(["email_address"]));
    browser.post(&format!("{path}/prepare_verification"), json!({"strategy": "email_code"})).await.ok();
    let done = attempt(&mut browser, &path, "email_code", &newest_code(&t).await).await.ok();
    let user = &done["client"]["sessions"][0]["user"];
    assert_eq!(user["phone_numbers"][0]["verification"]["strategy"], "phone_code");
    assert_eq!(user["phone_numbers"][0]["reserved_for_second_factor"], false);
    assert_eq!(user["primary_phone_number_id"], user["phone_numbers"][0]["id"]);
}

#[tokio::test]
async fn username_and_password_are_complete_at_once_where_nothing_else_is_asked() {
    let t = server(|settings| {
        settings.attributes.email_address.enabled = false;
        settings.attributes.phone_number.enabled = false;
        settings.attributes.username.required = true;
    })
    .await;
    let mut browser = t.browser();
    let done = browser.post(PATH, json!({"username": "countess", "password": PASSWORD})).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    assert_eq!(done["client"]["sessions"][0]["user"]["username"], "countess");
    assert!(browser.cookies.contains_key("__client"));
    let client = browser.get("/v1/client").await.ok();
    assert_eq!(client["response"]["sessions"][0]["id"], done["response"]["created_session_id"]);
}

#[tokio::test]
async fn address_that_needs_no_proof_is_reserved_for_its_user() {
    let t = server(|settings| {
        settings.attributes.password.required_at_sign_up = false;
        settings.attributes.email_address.verify_at_sign_up = false;
    })
    .await;
    let done = t.browser().post(PATH, json!({"email_address": "ada@example.com"})).await.ok();
    assert_eq!(
        (&done["response"]["status"], &done["response"]["unverified_fields"]),
        (&json!("complete"), &json!([]))
    );
    let address = &done["client"]["sessions"][0]["user"]["email_addresses"][0];
    assert_eq!((&address["reserved"], &address["verification"]), (&json!(true), &Value::Null));
    t.browser().post(PATH, json!({"email_address": "ADA@example.com"})).await.is_problem(
        422,
        "form_identifier_exists",
        "email_address",
    );
}

#[tokio::test]
async fn address_taken_between_proof_and_completion_is_told() {
    let t = server(|settings| {
        settings.attributes.password.required_at_sign_up = false;
        settings.attributes.first_name.required_at_sign_up = true;
    })
    .await;
    let (mut first, mut second) = (t.browser(), t.browser());
    let slow = with_code(&mut first, "ada@example.com").await;
    attempt(&mut first, &slow, "email_code", &newest_code(&t).await).await.ok();
    let fields = json!({"email_address": "ada@example.com", "first_name": "Ada", "strategy": "email_code"});
    let fast = begun(&mut second, fields).await;
    attempt(&mut second, &fast, "email_code", &newest_code(&t).await).await.ok();
    let late = first.patch(&slow, json!({"first_name": "Eve"})).await;
    late.is_problem(422, "form_identifier_exists", "email_address");
    assert_eq!(late.json["meta"]["client"]["sign_up"]["status"], "missing_requirements");
    let other = json!({"email_address": "eve@example.com", "first_name": "Eve", "strategy": "email_code"});
    // The newest code is told by its time.
    t.clock.advance_ms(1);
    first.patch(&slow, other).await.ok();
    let done = attempt(&mut first, &slow, "email_code", &newest_code(&t).await).await.ok();
    assert_eq!(done["response"]["status"], "complete");
}

#[tokio::test]
async fn code_that_proves_an_address_taken_meanwhile_is_refused_and_counts() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let path = with_code(&mut browser, "ada@example.com").await;
    let code = newest_code(&t).await;
    t.user_with_email("ada@example.com").await;
    attempt(&mut browser, &path, "email_code", &code).await.is_problem(
        422,
        "form_identifier_exists",
        "email_address",
    );
    let shown = browser.get(&path).await.ok();
    assert_eq!(shown["response"]["verifications"]["email_address"]["status"], "verified");
    assert_eq!(shown["response"]["status"], "missing_requirements");
    attempt(&mut browser, &path, "email_code", &code).await.is_error(400, "verification_already_verified");
}

#[tokio::test]
async fn new_attempt_takes_the_place_of_the_old_one() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let old = with_code(&mut browser, "ada@example.com").await;
    let new = browser.post(PATH, json!({"email_address": "eve@example.com"})).await.ok();
    assert_ne!(old, format!("{PATH}/{}", new["response"]["id"].as_str().unwrap()));
    assert_eq!(new["client"]["sign_up"]["id"], new["response"]["id"]);
    let client = browser.get("/v1/client").await.ok();
    assert_eq!(client["response"]["sign_up"], new["response"]);
    browser.get(&old).await.is_error(404, "resource_not_found");
    attempt(&mut browser, &old, "email_code", &newest_code(&t).await)
        .await
        .is_error(404, "resource_not_found");
}

#[tokio::test]
async fn attempt_is_given_up_after_a_day() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let path = with_code(&mut browser, "ada@example.com").await;
    t.clock.advance_ms(24 * 3600 * 1000);
    let shown = browser.get(&path).await.ok();
    assert_eq!(
        (&shown["response"]["status"], &shown["client"]["sign_up"]),
        (&json!("abandoned"), &Value::Null)
    );
    browser.patch(&path, json!({"first_name": "Ada"})).await.is_error(403, "sign_up_cannot_be_updated");
    let prepare = format!("{path}/prepare_verification");
    browser
        .post(&prepare, json!({"strategy": "email_code"}))
        .await
        .is_error(403, "sign_up_cannot_be_updated");
    attempt(&mut browser, &path, "email_code", &newest_code(&t).await)
        .await
        .is_error(400, "verification_expired");
}

#[tokio::test]
async fn what_is_complete_cannot_be_changed() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let path = with_code(&mut browser, "ada@example.com").await;
    let code = newest_code(&t).await;
    attempt(&mut browser, &path, "email_code", &code).await.ok();
    browser.patch(&path, json!({"first_name": "Eve"})).await.is_error(403, "sign_up_cannot_be_updated");
    let prepare = format!("{path}/prepare_verification");
    browser
        .post(&prepare, json!({"strategy": "email_code"}))
        .await
        .is_error(403, "sign_up_cannot_be_updated");
    attempt(&mut browser, &path, "email_code", &code).await.is_error(400, "verification_already_verified");
    assert_eq!(t.get("/v1/users/count").await.ok()["total_count"], 1);
}

#[tokio::test]
async fn first_session_waits_for_a_second_factor_where_one_is_required() {
    let t = server(|settings| {
        settings.attributes.password.required_at_sign_up = false;
        settings.sign_up.mfa_required = true;
    })
    .await;
    let done = signed_up(&t, &mut t.browser(), "ada@example.com").await;
    assert_eq!(done["response"]["status"], "complete");
    let session = &done["client"]["sessions"][0];
    assert_eq!((&session["status"], &session["tasks"]), (&json!("pending"), &json!([{"key": "setup-mfa"}])));
    assert_eq!(done["response"]["created_session_id"], session["id"]);
}

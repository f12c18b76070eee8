//! Who may sign up at all, and what is told about those who have an account.

use latchkey_kernel::settings::SignUpMode;
use latchkey_testkit::{Browser, TestServer};
use serde_json::{Value, json};

use super::{PATH, attempt, begun, newest_code, server, signed_up, with_code, without_passwords};

#[tokio::test]
async fn closed_doors_name_their_reason_and_open_to_no_made_up_ticket() {
    for (mode, code) in [
        (SignUpMode::Restricted, "sign_up_mode_restricted"),
        (SignUpMode::Waitlist, "sign_up_restricted_waitlist"),
    ] {
        let t = server(|settings| settings.sign_up.mode = mode).await;
        let mut browser = t.browser();
        browser.post(PATH, json!({"email_address": "ada@example.com"})).await.is_error(403, code);
        browser.post(PATH, json!({"ticket": ""})).await.is_error(403, code);
        for ticket in ["nonsense", "e30.e30.e30"] {
            let fields = json!({"strategy": "ticket", "ticket": ticket, "email_address": "ada@example.com"});
            browser.post(PATH, fields).await.is_problem(400, "ticket_invalid_code", "ticket");
        }
        assert_eq!(browser.get("/v1/client").await.ok()["response"], Value::Null);
    }
    let t = without_passwords().await;
    let mut browser = t.browser();
    browser
        .post(PATH, json!({"strategy": "ticket", "ticket": "nonsense"}))
        .await
        .is_error(400, "ticket_invalid_code");
    let path = begun(&mut browser, json!({})).await;
    browser.patch(&path, json!({"ticket": "nonsense"})).await.is_error(400, "ticket_invalid_code");
}

#[tokio::test]
async fn doors_that_close_meanwhile_are_closed_to_those_half_way_in() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let path = with_code(&mut browser, "ada@example.com").await;
    let closed = json!({"attributes": {}, "sign_up": {"mode": "restricted"}}).to_string();
    let params = vec![(&t.tenant.id).into(), closed.into()];
    let sql = "UPDATE instances SET settings = $2, settings_revision = settings_revision + 1 WHERE id = $1";
    t.run_sql(sql, params).await;
    attempt(&mut browser, &path, "email_code", &newest_code(&t).await)
        .await
        .is_error(403, "sign_up_mode_restricted");
    browser.patch(&path, json!({"first_name": "Ada"})).await.is_error(403, "sign_up_mode_restricted");
    let prepare = format!("{path}/prepare_verification");
    browser.post(&prepare, json!({"strategy": "email_code"})).await.is_error(403, "sign_up_mode_restricted");
}

#[tokio::test]
async fn whoever_is_signed_in_cannot_sign_up_where_one_session_is_the_limit() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    signed_up(&t, &mut browser, "ada@example.com").await;
    let refused = browser.post(PATH, json!({"email_address": "eve@example.com"})).await;
    refused.is_error(400, "session_exists");
    assert_eq!(refused.json["meta"]["client"]["sessions"].as_array().map(Vec::len), Some(1));
    let t = server(|settings| {
        settings.attributes.password.required_at_sign_up = false;
        settings.session.single_session = false;
    })
    .await;
    let mut browser = t.browser();
    signed_up(&t, &mut browser, "ada@example.com").await;
    t.clock.advance_ms(1000);
    let second = signed_up(&t, &mut browser, "eve@example.com").await;
    assert_eq!(second["client"]["sessions"].as_array().map(Vec::len), Some(2));
    assert_eq!(second["client"]["last_active_session_id"], second["response"]["created_session_id"]);
}

#[tokio::test]
async fn whoever_signed_in_meanwhile_is_not_put_out_by_an_attempt_begun_before() {
    let t = without_passwords().await;
    t.user_with_email("ada@example.com").await;
    let mut browser = t.browser();
    let path = with_code(&mut browser, "eve@example.com").await;
    let code = newest_code(&t).await;
    t.clock.advance_ms(1000);
    let fields = json!({"identifier": "ada@example.com", "strategy": "email_code"});
    let begun = browser.post("/v1/client/sign_ins", fields).await.ok();
    let sign_in =
        format!("/v1/client/sign_ins/{}/attempt_first_factor", begun["response"]["id"].as_str().unwrap());
    let inside = json!({"strategy": "email_code", "code": newest_code(&t).await});
    let signed_in = browser.post(&sign_in, inside).await.ok();
    let refused = attempt(&mut browser, &path, "email_code", &code).await;
    refused.is_error(400, "session_exists");
    let sessions = &refused.json["meta"]["client"]["sessions"];
    assert_eq!(sessions.as_array().map(Vec::len), Some(1));
    assert_eq!(sessions[0]["id"], signed_in["client"]["sessions"][0]["id"]);
    assert_eq!(t.get("/v1/users/count").await.ok()["total_count"], 1);
}

#[tokio::test]
async fn nothing_is_transferred_from_a_client_that_proved_nothing() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    browser.post(PATH, json!({"transfer": true})).await.is_error(400, "account_transfer_invalid");
    browser.post(PATH, json!({"transfer": false})).await.ok();
    browser.post(PATH, json!({"transfer": true})).await.is_error(400, "account_transfer_invalid");
}

/// Proves an address nobody has an account with, by signing in.
async fn proven(t: &TestServer, browser: &mut Browser<'_>, address: &str) {
    t.clock.advance_ms(1000);
    let fields = json!({"identifier": address, "strategy": "email_code", "sign_up_if_missing": true});
    let begun = browser.post("/v1/client/sign_ins", fields).await.ok();
    let path =
        format!("/v1/client/sign_ins/{}/attempt_first_factor", begun["response"]["id"].as_str().unwrap());
    let told = browser.post(&path, json!({"strategy": "email_code", "code": newest_code(t).await})).await;
    told.is_error(404, "sign_up_if_missing_transfer");
}

#[tokio::test]
async fn address_proven_by_a_sign_in_need_not_be_proven_again() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    proven(&t, &mut browser, "ada@example.com").await;
    let done = browser.post(PATH, json!({"transfer": true, "first_name": "Ada"})).await.ok();
    assert_eq!(done["response"]["status"], "complete");
    assert_eq!((&done["client"]["sign_in"], &done["client"]["sign_up"]), (&Value::Null, &Value::Null));
    let address = &done["client"]["sessions"][0]["user"]["email_addresses"][0];
    assert_eq!(address["email_address"], "ada@example.com");
    assert_eq!(
        (&address["verification"]["status"], &address["verification"]["strategy"]),
        (&json!("verified"), &json!("email_code"))
    );
}

#[tokio::test]
async fn what_is_transferred_goes_on_as_any_attempt_and_is_transferred_once() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    proven(&t, &mut browser, "ada@example.com").await;
    t.browser().post(PATH, json!({"transfer": true})).await.is_error(400, "account_transfer_invalid");
    let made = browser.post(PATH, json!({"transfer": true})).await.ok();
    let sign_up = &made["response"];
    assert_eq!(
        (&sign_up["missing_fields"], &sign_up["unverified_fields"]),
        (&json!(["password"]), &json!([]))
    );
    assert_eq!(
        (&sign_up["verifications"]["email_address"]["status"], &made["client"]["sign_in"]),
        (&json!("verified"), &Value::Null)
    );
    let path = format!("{PATH}/{}", sign_up["id"].as_str().unwrap());
    let other = browser.patch(&path, json!({"email_address": "eve@example.com"})).await.ok();
    assert_eq!(other["response"]["unverified_fields"], json!(["email_address"]));
    browser.post(PATH, json!({"transfer": true})).await.is_error(400, "account_transfer_invalid");
}

#[tokio::test]
async fn address_taken_between_sign_in_and_transfer_is_told() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    proven(&t, &mut browser, "ada@example.com").await;
    t.user_with_email("ada@example.com").await;
    browser.post(PATH, json!({"transfer": true})).await.is_problem(
        422,
        "form_identifier_exists",
        "email_address",
    );
}

#[tokio::test]
async fn what_is_transferred_passes_the_same_restrictions_as_what_is_typed() {
    let t = server(|settings| {
        settings.attributes.password.required_at_sign_up = false;
        settings.restrictions.block_email_subaddresses = true;
    })
    .await;
    let mut browser = t.browser();
    proven(&t, &mut browser, "zoe+x1@example.com").await;
    let refused = browser.post(PATH, json!({"transfer": true, "first_name": "Zoe"})).await;
    refused.is_problem(403, "not_allowed_access", "email_address");
    assert_eq!(t.get("/v1/users/count").await.ok()["total_count"], 0);
    // Another address may be given in the place of the one that was proven.
    let other = json!({"transfer": true, "email_address": "zoe@example.com"});
    let made = browser.post(PATH, other).await.ok();
    assert_eq!(made["response"]["unverified_fields"], json!(["email_address"]));
}

#[tokio::test]
async fn address_that_is_not_accepted_any_more_completes_nothing() {
    let t = without_passwords().await;
    let mut browser = t.browser();
    let path = with_code(&mut browser, "zoe+x1@example.com").await;
    let settings = json!({
        "attributes": {"password": {"enabled": true, "required_at_sign_up": false}},
        "restrictions": {"block_email_subaddresses": true},
    });
    let params = vec![(&t.tenant.id).into(), settings.to_string().into()];
    let sql = "UPDATE instances SET settings = $2, settings_revision = settings_revision + 1 WHERE id = $1";
    t.run_sql(sql, params).await;
    let refused = attempt(&mut browser, &path, "email_code", &newest_code(&t).await).await;
    refused.is_problem(403, "not_allowed_access", "email_address");
    assert_eq!(t.get("/v1/users/count").await.ok()["total_count"], 0);
}

#[tokio::test]
async fn where_answers_must_not_tell_only_the_owner_of_an_address_learns_that_it_has_an_account() {
    let t = server(|settings| {
        settings.attributes.password.required_at_sign_up = false;
        settings.attack_protection.enumeration_protection = true;
    })
    .await;
    t.user(json!({"email_address": ["ada@example.com"], "phone_number": ["+4915112345678"], "username": "countess"})).await;
    let mut shapes = Vec::new();
    for address in ["ada@example.com", "eve@example.com"] {
        let mut browser = t.browser();
        let made = browser.post(PATH, json!({"email_address": address, "strategy": "email_code"})).await;
        let path = format!("{PATH}/{}", made.json["response"]["id"].as_str().unwrap());
        let wrong = attempt(&mut browser, &path, "email_code", super::wrong(&newest_code(&t).await)).await;
        wrong.is_error(422, "form_code_incorrect");
        let mut shape = made.json["response"].clone();
        for varying in ["id", "email_address"] {
            shape[varying] = Value::Null;
        }
        shapes.push((made.status, shape, wrong.json["errors"].clone()));
    }
    assert_eq!(shapes[0], shapes[1]);
    let mut owner = t.browser();
    t.clock.advance_ms(1000);
    let path = with_code(&mut owner, "ada@example.com").await;
    let told = attempt(&mut owner, &path, "email_code", &newest_code(&t).await).await;
    told.is_problem(422, "form_identifier_exists", "email_address");
    t.browser().post(PATH, json!({"phone_number": "+4915112345678"})).await.ok();
    // A name has no owner who could prove it.
    t.browser().post(PATH, json!({"username": "countess"})).await.is_problem(
        422,
        "form_identifier_exists",
        "username",
    );
}

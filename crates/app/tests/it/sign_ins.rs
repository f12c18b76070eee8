//! Signing in through the Frontend API: every way, and every refusal.

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Answer, Browser, TestServer};
use serde_json::{Value, json};

mod changes;
mod links;
mod lockouts;
mod passwords;
mod protection;
mod second_factors;
mod tickets;

pub(crate) const PASSWORD: &str = "Correct-horse-battery-42";
pub(crate) const EMAIL: &str = "ada@example.com";
const PHONE: &str = "+442071838750";

/// A server whose development instance has changed settings.
pub(crate) async fn server(change: impl FnOnce(&mut Settings)) -> TestServer {
    let mut settings = Settings::default();
    change(&mut settings);
    TestServer::start_with(RateLimits::Off, settings).await
}

/// Somebody with an address, a number, a username and a password.
pub(crate) async fn ada(t: &TestServer) -> Value {
    t.user(json!({
        "email_address": [EMAIL], "phone_number": [PHONE], "username": "ada_l", "password": PASSWORD,
        "first_name": "Ada", "last_name": "Lovelace",
    }))
    .await
}

/// Begins to sign in.
pub(crate) async fn begin(browser: &mut Browser<'_>, fields: Value) -> Answer {
    browser.post("/v1/client/sign_ins", fields).await
}

/// A step of the attempt under way.
pub(crate) async fn step(browser: &mut Browser<'_>, id: &str, name: &str, fields: Value) -> Answer {
    browser.post(&format!("/v1/client/sign_ins/{id}/{name}"), fields).await
}

/// The attempt in an answer.
#[track_caller]
pub(crate) fn shown(answer: Answer) -> Value {
    answer.ok()["response"].take()
}

/// Begins with an identifier; returns the id of the attempt.
pub(crate) async fn identified(browser: &mut Browser<'_>, identifier: &str) -> String {
    let sign_in = shown(begin(browser, json!({"identifier": identifier})).await);
    assert_eq!(sign_in["status"], "needs_first_factor");
    sign_in["id"].as_str().unwrap().to_owned()
}

/// The code in the newest message.
pub(crate) async fn code(t: &TestServer) -> String {
    t.inbox().await[0]["code"].as_str().unwrap().to_owned()
}

/// A code that is not that one.
pub(crate) fn other_than(code: &str) -> &'static str {
    if code == "111111" { "222222" } else { "111111" }
}

fn strategies(factors: &Value) -> Vec<&str> {
    factors.as_array().unwrap().iter().map(|factor| factor["strategy"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_attempt_may_begin_with_nothing() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    let answer = begin(&mut browser, json!({})).await.ok();
    let sign_in = &answer["response"];
    assert_eq!(sign_in["status"], "needs_identifier");
    assert_eq!(sign_in["supported_identifiers"], json!(["email_address", "phone_number", "username"]));
    assert_eq!(sign_in["supported_first_factors"], Value::Null);
    assert_eq!(sign_in["client_trust_state"], "pending");
    assert_eq!(answer["client"]["sign_in"], *sign_in);
    assert_eq!(answer["client"]["sessions"], json!([]));
}

#[tokio::test]
async fn an_identifier_shows_the_ways_to_prove_it() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    let mut browser = t.browser();
    let sign_in =
        shown(begin(&mut browser, json!({"identifier": "Ada@Example.com", "locale": "en-GB"})).await);
    let (email, phone) = (&user["email_addresses"][0]["id"], &user["phone_numbers"][0]["id"]);
    let masked = "+4*******50";
    let expected = json!([
        {"strategy": "password"},
        {"strategy": "phone_code", "safe_identifier": masked, "phone_number_id": phone, "primary": true},
        {"strategy": "email_code", "safe_identifier": EMAIL, "email_address_id": email, "primary": true},
        {"strategy": "reset_password_phone_code", "safe_identifier": masked, "phone_number_id": phone, "primary": true},
        {"strategy": "reset_password_email_code", "safe_identifier": EMAIL, "email_address_id": email, "primary": true},
    ]);
    assert_eq!(sign_in["supported_first_factors"], expected);
    assert_eq!(
        (&sign_in["identifier"], &sign_in["supported_second_factors"], &sign_in["client_trust_state"]),
        (&json!(EMAIL), &Value::Null, &json!("new"))
    );
    assert_eq!(sign_in["user_data"]["first_name"], "Ada");
    assert_eq!(sign_in["locale"], "en-GB");
    assert_eq!(sign_in["first_factor_verification"], Value::Null);
}

#[tokio::test]
async fn everybody_is_found_by_what_they_are_known_by_in_any_case() {
    let t = TestServer::start().await;
    ada(&t).await;
    for (typed, shown_as) in [(" ADA@example.COM ", EMAIL), ("+44 (20) 7183-8750", PHONE), ("Ada_L", "Ada_L")]
    {
        let sign_in = shown(begin(&mut t.browser(), json!({"identifier": typed})).await);
        assert_eq!(
            (&sign_in["status"], &sign_in["identifier"]),
            (&json!("needs_first_factor"), &json!(shown_as))
        );
    }
}

#[tokio::test]
async fn unknown_identifiers_are_refused_and_leave_no_client() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    for identifier in ["nobody@example.com", "+442071838751", "nobody"] {
        let answer = begin(&mut browser, json!({"identifier": identifier})).await;
        answer.is_problem(422, "form_identifier_not_found", "identifier");
        assert_eq!(answer.json["errors"][0]["long_message"], "Couldn't find your account.");
    }
    assert!(browser.cookies.is_empty());
}

#[tokio::test]
async fn only_what_signs_in_is_an_identifier() {
    let t = server(|settings| {
        settings.attributes.username.used_for_first_factor = false;
        settings.attributes.phone_number.used_for_first_factor = false;
    })
    .await;
    ada(&t).await;
    for identifier in ["ada_l", PHONE] {
        let answer = begin(&mut t.browser(), json!({"identifier": identifier})).await;
        answer.is_problem(422, "form_param_format_invalid", "identifier");
    }
    let sign_in = shown(begin(&mut t.browser(), json!({"identifier": EMAIL})).await);
    assert_eq!(sign_in["supported_identifiers"], json!(["email_address"]));
    assert_eq!(
        strategies(&sign_in["supported_first_factors"]),
        ["password", "email_code", "reset_password_email_code"]
    );
}

#[tokio::test]
async fn unverified_addresses_sign_nobody_in_and_reserved_ones_do() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    let id = user["id"].as_str().unwrap();
    let body = json!({"user_id": id, "email_address": "second@example.com", "verified": false});
    t.post("/v1/email_addresses", body).await.ok();
    let answer = begin(&mut t.browser(), json!({"identifier": "second@example.com"})).await;
    answer.is_error(422, "form_identifier_not_found");
    let body = json!({
        "email_address": ["reserved@example.com"], "email_address_identification_status": ["reserved"]
    });
    t.user(body).await;
    let mut browser = t.browser();
    let id = identified(&mut browser, "reserved@example.com").await;
    step(&mut browser, &id, "prepare_first_factor", json!({"strategy": "email_code"})).await.ok();
    let answer = json!({"strategy": "email_code", "code": code(&t).await});
    let client = step(&mut browser, &id, "attempt_first_factor", answer).await.ok()["client"].take();
    // Whoever read the code has the address.
    let address = &client["sessions"][0]["user"]["email_addresses"][0];
    assert_eq!(
        (&address["verification"]["status"], &address["reserved"]),
        (&json!("verified"), &json!(false))
    );
}

#[tokio::test]
async fn a_password_at_once_completes() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    let mut browser = t.browser();
    let fields = json!({"identifier": EMAIL, "password": PASSWORD, "strategy": "password"});
    let answer = begin(&mut browser, fields).await.ok();
    let (sign_in, client) = (&answer["response"], &answer["client"]);
    assert_eq!(sign_in["status"], "complete");
    assert_eq!(
        (&sign_in["supported_first_factors"], &sign_in["supported_second_factors"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(sign_in["first_factor_verification"]["status"], "verified");
    let session = &client["sessions"][0];
    assert_eq!(
        (&session["id"], &session["user"]["id"], &session["factor_verification_age"]),
        (&sign_in["created_session_id"], &user["id"], &json!([0, -1]))
    );
    assert!(!session["last_active_token"]["jwt"].as_str().unwrap().is_empty());
    assert_eq!(client["sign_in"], Value::Null);
    assert_eq!(client["last_active_session_id"], session["id"]);
    assert_eq!(client["last_authentication_strategy"], "password");
    // The attempt is still there for who asks by its id.
    let path = format!("/v1/client/sign_ins/{}", sign_in["id"].as_str().unwrap());
    assert_eq!(browser.get(&path).await.ok()["response"]["status"], "complete");
    let kinds: Vec<String> = t.events().await.into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds, ["user.created", "session.created"]);
}

#[tokio::test]
async fn events_show_the_user_as_backends_see_them_after_the_sign_in() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    for strategy in ["password", "ticket"] {
        t.clock.advance_ms(60_000);
        let before = t.events().await.len();
        let fields = match strategy {
            "password" => json!({"strategy": "password", "identifier": EMAIL, "password": PASSWORD}),
            _ => {
                let ticket = t.post("/v1/sign_in_tokens", json!({"user_id": user["id"]})).await.ok();
                json!({"strategy": "ticket", "ticket": ticket["token"]})
            }
        };
        assert_eq!(shown(begin(&mut t.browser(), fields).await)["status"], "complete");
        let now = t.shown(user["id"].as_str().unwrap()).await;
        assert_ne!(now["last_sign_in_at"], user["last_sign_in_at"]);
        let told = t.events().await.split_off(before);
        let created = told.iter().find(|event| event.kind == "session.created").unwrap();
        assert_eq!(created.data["user"], now, "{strategy}");
    }
}

#[tokio::test]
async fn codes_by_mail_and_phone_complete() {
    for (strategy, identifier) in [("email_code", EMAIL), ("phone_code", PHONE)] {
        let t = TestServer::start().await;
        ada(&t).await;
        let mut browser = t.browser();
        let id = identified(&mut browser, identifier).await;
        let prepared =
            shown(step(&mut browser, &id, "prepare_first_factor", json!({"strategy": strategy})).await);
        let verification = &prepared["first_factor_verification"];
        assert_eq!(
            (&verification["status"], &verification["strategy"], &verification["attempts"]),
            (&json!("unverified"), &json!(strategy), &json!(0))
        );
        assert_eq!(verification["expire_at"], 1_767_225_600_000_i64 + 600_000);
        let message = &t.inbox().await[0];
        assert_eq!(message["to"], identifier);
        let fields = json!({"strategy": strategy, "code": message["code"]});
        let answer = step(&mut browser, &id, "attempt_first_factor", fields).await.ok();
        assert_eq!(answer["response"]["status"], "complete");
        assert_eq!(answer["client"]["last_authentication_strategy"], strategy);
    }
}

#[tokio::test]
async fn a_strategy_at_once_is_prepared_at_once() {
    let t = TestServer::start().await;
    ada(&t).await;
    for (strategy, identifier, slug) in [
        ("email_code", EMAIL, "verification_code"),
        ("phone_code", PHONE, "verification_code"),
        ("reset_password_email_code", EMAIL, "reset_password_code"),
        ("reset_password_phone_code", PHONE, "reset_password_code"),
    ] {
        let fields = json!({"identifier": identifier, "strategy": strategy});
        let sign_in = shown(begin(&mut t.browser(), fields).await);
        assert_eq!(sign_in["status"], "needs_first_factor");
        let verification = &sign_in["first_factor_verification"];
        assert_eq!(
            (&verification["status"], &verification["strategy"]),
            (&json!("unverified"), &json!(strategy))
        );
        let message = &t.inbox().await[0];
        assert_eq!((&message["to"], &message["slug"]), (&json!(identifier), &json!(slug)));
        t.clock.advance_ms(1);
    }
}

#[tokio::test]
async fn test_addresses_take_the_code_everybody_knows_and_get_no_mail() {
    let t = TestServer::start().await;
    t.user(json!({"email_address": ["ada+clerk_test@example.com"]})).await;
    let mut browser = t.browser();
    let id = identified(&mut browser, "ada+clerk_test@example.com").await;
    step(&mut browser, &id, "prepare_first_factor", json!({"strategy": "email_code"})).await.ok();
    assert_eq!(t.inbox().await.len(), 0);
    let wrong = json!({"strategy": "email_code", "code": "111111"});
    step(&mut browser, &id, "attempt_first_factor", wrong).await.is_problem(
        422,
        "form_code_incorrect",
        "code",
    );
    let right = json!({"strategy": "email_code", "code": "424242"});
    let sign_in = shown(step(&mut browser, &id, "attempt_first_factor", right).await);
    assert_eq!(sign_in["status"], "complete");
}

#[tokio::test]
async fn a_code_fails_after_three_wrong_ones_and_expires_after_ten_minutes() {
    let t = TestServer::start().await;
    ada(&t).await;
    let mut browser = t.browser();
    let id = identified(&mut browser, EMAIL).await;
    let prepare = json!({"strategy": "email_code"});
    step(&mut browser, &id, "prepare_first_factor", prepare.clone()).await.ok();
    let right = code(&t).await;
    let wrong = json!({"strategy": "email_code", "code": other_than(&right)});
    for (attempts, status, code, state) in [
        (1, 422, "form_code_incorrect", "unverified"),
        (2, 422, "form_code_incorrect", "unverified"),
        (3, 400, "verification_failed", "failed"),
    ] {
        let answer = step(&mut browser, &id, "attempt_first_factor", wrong.clone()).await;
        answer.is_error(status, code);
        let verification = &answer.json["meta"]["client"]["sign_in"]["first_factor_verification"];
        assert_eq!((&verification["attempts"], &verification["status"]), (&json!(attempts), &json!(state)));
    }
    let late = json!({"strategy": "email_code", "code": right});
    step(&mut browser, &id, "attempt_first_factor", late).await.is_error(400, "verification_failed");
    // A new code is a new chance.
    step(&mut browser, &id, "prepare_first_factor", prepare).await.ok();
    let late = json!({"strategy": "email_code", "code": code(&t).await});
    t.clock.advance_ms(10 * 60 * 1000);
    let answer = step(&mut browser, &id, "attempt_first_factor", late).await;
    answer.is_error(400, "verification_expired");
    assert_eq!(answer.json["meta"]["client"]["sign_in"]["first_factor_verification"]["status"], "expired");
}

#[tokio::test]
async fn texts_are_not_sent_too_often() {
    let t = TestServer::start().await;
    ada(&t).await;
    let mut browser = t.browser();
    let id = identified(&mut browser, PHONE).await;
    let prepare = json!({"strategy": "phone_code"});
    step(&mut browser, &id, "prepare_first_factor", prepare.clone()).await.ok();
    let answer = step(&mut browser, &id, "prepare_first_factor", prepare.clone()).await;
    answer.is_error(429, "verification_code_too_many_requests");
    assert_eq!(answer.header("retry-after"), "30");
    t.clock.advance_ms(30_000);
    step(&mut browser, &id, "prepare_first_factor", prepare).await.ok();
    assert_eq!(t.inbox().await.len(), 2);
}

/// Asks for a text in a browser of its own.
async fn texted(t: &TestServer, number: &str) -> Answer {
    begin(&mut t.browser(), json!({"identifier": number, "strategy": "phone_code"})).await
}

/// Asks for a mail in a browser.
async fn mailed(browser: &mut Browser<'_>, address: &str) -> Answer {
    begin(browser, json!({"identifier": address, "strategy": "email_code"})).await
}

#[tokio::test]
async fn a_mailbox_gets_ten_mails_in_an_hour_whatever_the_attempt_or_the_sub_address() {
    let t = TestServer::start().await;
    for address in ["box@example.com", "box+1@example.com", "other@example.com"] {
        t.user(json!({"email_address": [address]})).await;
    }
    for number in 0..10 {
        let address = if number % 2 == 0 { "box@example.com" } else { "Box+1@example.com" };
        mailed(&mut t.browser(), address).await.ok();
        t.clock.advance_ms(1000);
    }
    let refused = mailed(&mut t.browser(), "box+1@example.com").await;
    refused.is_error(429, "verification_code_too_many_requests");
    assert_eq!(refused.header("retry-after"), "3590");
    // Signing up with the mailbox counts for it as well, and so does adding it to an account.
    let mut newcomer = t.browser();
    let begun =
        newcomer.post("/v1/client/sign_ups", json!({"email_address": "box+2@example.com"})).await.ok();
    let id = begun["response"]["id"].as_str().unwrap();
    let prepare = json!({"strategy": "email_code"});
    let path = format!("/v1/client/sign_ups/{id}/prepare_verification");
    newcomer.post(&path, prepare).await.is_error(429, "verification_code_too_many_requests");
    mailed(&mut t.browser(), "other@example.com").await.ok();
    let sent = t.inbox().await.len();
    assert_eq!(sent, 11);
    t.clock.advance_ms(3_590_000);
    mailed(&mut t.browser(), "box@example.com").await.ok();
    let for_tests = "box+clerk_test@example.com";
    t.user(json!({"email_address": [for_tests]})).await;
    for _ in 0..12 {
        mailed(&mut t.browser(), for_tests).await.ok();
    }
}

#[tokio::test]
async fn strangers_of_one_address_have_a_hundred_text_messages_sent_in_a_day() {
    let t = TestServer::start().await;
    let text_to = async |number: u32, address: [u8; 4]| {
        let mut browser = t.browser();
        browser.address = (address, 40_000).into();
        let phone = format!("+1415555{number}");
        let begun = browser.post("/v1/client/sign_ups", json!({"phone_number": phone})).await.ok();
        let path =
            format!("/v1/client/sign_ups/{}/prepare_verification", begun["response"]["id"].as_str().unwrap());
        browser.post(&path, json!({"strategy": "phone_code"})).await
    };
    for number in 2000..2100 {
        text_to(number, [10, 192, 2, 1]).await.ok();
        t.clock.advance_ms(1000);
    }
    let refused = text_to(2100, [10, 192, 2, 1]).await;
    refused.is_error(429, "verification_code_too_many_requests");
    assert_eq!(refused.header("retry-after"), "86300");
    // Neither others nor e-mails are meant.
    text_to(2100, [10, 192, 2, 2]).await.ok();
    t.user(json!({"email_address": ["box@example.com"]})).await;
    let mut browser = t.browser();
    browser.address = ([10, 192, 2, 1], 40_000).into();
    mailed(&mut browser, "box@example.com").await.ok();
    t.clock.advance_ms(86_300_000);
    text_to(2101, [10, 192, 2, 1]).await.ok();
}

#[tokio::test]
async fn strangers_who_ask_for_codes_lock_nobody_out_of_a_browser_that_is_known() {
    let t = TestServer::start().await;
    t.user(json!({"email_address": ["box@example.com"]})).await;
    let mut own = t.browser();
    let id = identified(&mut own, "box@example.com").await;
    step(&mut own, &id, "prepare_first_factor", json!({"strategy": "email_code"})).await.ok();
    let shown = json!({"strategy": "email_code", "code": code(&t).await});
    step(&mut own, &id, "attempt_first_factor", shown).await.ok();
    own.delete("/v1/client/sessions").await.ok();
    for _ in 0..9 {
        mailed(&mut t.browser(), "box@example.com").await.ok();
    }
    mailed(&mut t.browser(), "box@example.com").await.is_error(429, "verification_code_too_many_requests");
    mailed(&mut own, "box@example.com").await.ok();
    assert_eq!(t.inbox().await.len(), 11);
    // It is bounded for them as well.
    for _ in 0..9 {
        mailed(&mut own, "box@example.com").await.ok();
    }
    mailed(&mut own, "box@example.com").await.is_error(429, "verification_code_too_many_requests");
}

#[tokio::test]
async fn a_full_mailbox_does_not_tell_that_it_has_an_account() {
    let mut settings = Settings::default();
    settings.attack_protection.enumeration_protection = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    t.user(json!({"email_address": ["box@example.com"]})).await;
    for _ in 0..12 {
        let mut answers = Vec::new();
        for address in ["box@example.com", "nobody@example.com"] {
            let mut browser = t.browser();
            let id = identified(&mut browser, address).await;
            let prepare = json!({"strategy": "email_code"});
            answers.push(step(&mut browser, &id, "prepare_first_factor", prepare).await.status);
        }
        assert_eq!(answers, [200, 200]);
    }
    let sent = t.inbox().await.iter().filter(|message| message["to"] == "box@example.com").count();
    assert_eq!(sent, 10);
}

#[tokio::test]
async fn a_number_gets_ten_texts_in_an_hour_however_many_attempts_there_are() {
    let t = TestServer::start().await;
    ada(&t).await;
    let other = "+442071838751";
    t.user(json!({"phone_number": [other]})).await;
    for _ in 0..10 {
        texted(&t, PHONE).await.ok();
        t.clock.advance_ms(1000);
    }
    let refused = texted(&t, PHONE).await;
    refused.is_error(429, "verification_code_too_many_requests");
    assert_eq!(refused.header("retry-after"), "3590");
    texted(&t, other).await.ok();
    assert_eq!(t.inbox().await.len(), 11);
    t.clock.advance_ms(3_590_000);
    texted(&t, PHONE).await.ok();
    texted(&t, PHONE).await.is_error(429, "verification_code_too_many_requests");
    let for_tests = "+12015550100";
    t.user(json!({"phone_number": [for_tests]})).await;
    for _ in 0..12 {
        texted(&t, for_tests).await.ok();
    }
}

#[tokio::test]
async fn too_many_texts_do_not_tell_who_has_an_account() {
    let t = server(|settings| settings.attack_protection.enumeration_protection = true).await;
    ada(&t).await;
    for _ in 0..11 {
        let (real, none) = (texted(&t, PHONE).await, texted(&t, "+442071838752").await);
        assert_eq!((real.status, none.status), (200, 200));
    }
    assert_eq!(t.inbox().await.len(), 10);
}

#[tokio::test]
async fn another_attempt_takes_the_place_of_the_one_before() {
    let t = TestServer::start().await;
    ada(&t).await;
    let mut browser = t.browser();
    let first = identified(&mut browser, EMAIL).await;
    let second = identified(&mut browser, "ada_l").await;
    browser.get(&format!("/v1/client/sign_ins/{first}")).await.is_error(404, "resource_not_found");
    let shown = browser.get(&format!("/v1/client/sign_ins/{second}")).await.ok();
    assert_eq!(shown["client"]["sign_in"]["id"], json!(second));
}

#[tokio::test]
async fn an_attempt_is_over_after_a_day() {
    let t = TestServer::start().await;
    ada(&t).await;
    let mut browser = t.browser();
    let id = identified(&mut browser, EMAIL).await;
    t.clock.advance_ms(24 * 3600 * 1000 - 1);
    browser.get(&format!("/v1/client/sign_ins/{id}")).await.ok();
    t.clock.advance_ms(1);
    browser.get(&format!("/v1/client/sign_ins/{id}")).await.is_error(404, "resource_not_found");
    let fields = json!({"strategy": "password", "password": PASSWORD});
    step(&mut browser, &id, "attempt_first_factor", fields).await.is_error(404, "resource_not_found");
    assert_eq!(browser.get("/v1/client").await.ok()["response"]["sign_in"], Value::Null);
}

#[tokio::test]
async fn a_browser_holds_one_session_at_a_time() {
    let t = TestServer::start().await;
    ada(&t).await;
    t.user(json!({"email_address": ["grace@example.com"], "password": PASSWORD})).await;
    let mut browser = t.browser();
    begin(&mut browser, json!({"identifier": EMAIL, "password": PASSWORD})).await.ok();
    for fields in [json!({}), json!({"identifier": "grace@example.com", "password": PASSWORD})] {
        let answer = begin(&mut browser, fields).await;
        answer.is_error(400, "session_exists");
        let client = &answer.json["meta"]["client"];
        assert_eq!(client["sessions"].as_array().unwrap().len(), 1);
        assert_eq!(client["last_active_session_id"], client["sessions"][0]["id"]);
    }
}

#[tokio::test]
async fn a_browser_may_hold_several_people_but_nobody_twice() {
    let t = server(|settings| settings.session.single_session = false).await;
    ada(&t).await;
    t.user(json!({"email_address": ["grace@example.com"], "password": PASSWORD})).await;
    let mut browser = t.browser();
    let first = begin(&mut browser, json!({"identifier": EMAIL, "password": PASSWORD})).await.ok();
    let both = json!({"identifier": "grace@example.com", "password": PASSWORD});
    let second = begin(&mut browser, both).await.ok();
    assert_eq!(second["client"]["sessions"].as_array().unwrap().len(), 2);
    let answer = begin(&mut browser, json!({"identifier": EMAIL})).await;
    answer.is_error(400, "identifier_already_signed_in");
    assert_eq!(answer.json["errors"][0]["meta"]["session_id"], first["response"]["created_session_id"]);
}

#[tokio::test]
async fn there_is_nothing_to_transfer() {
    let t = TestServer::start().await;
    begin(&mut t.browser(), json!({"transfer": true})).await.is_error(400, "account_transfer_invalid");
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let t = TestServer::start().await;
    ada(&t).await;
    let mut browser = t.browser();
    for (fields, param) in [
        (json!({"password": PASSWORD}), "identifier"),
        (json!({"strategy": "email_code"}), "identifier"),
        (json!({"strategy": "password", "identifier": EMAIL}), "password"),
        (json!({"strategy": "ticket"}), "ticket"),
    ] {
        begin(&mut browser, fields).await.is_problem(422, "form_param_missing", param);
    }
    let answer = begin(&mut browser, json!({"strategy": "magic", "identifier": EMAIL})).await;
    answer.is_problem(422, "form_param_value_invalid", "strategy");
    let id = identified(&mut browser, EMAIL).await;
    for (name, fields, param) in [
        ("attempt_first_factor", json!({"strategy": "password"}), "password"),
        ("attempt_first_factor", json!({"strategy": "email_code"}), "code"),
        ("attempt_first_factor", json!({}), "strategy"),
        ("prepare_first_factor", json!({}), "strategy"),
    ] {
        step(&mut browser, &id, name, fields).await.is_problem(422, "form_param_missing", param);
    }
}

//! One-time codes to addresses and numbers: sent, tried, expired, used up.

use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};

const NOW: i64 = 1_767_225_600_000;
const TEN_MINUTES_MS: i64 = 600_000;

/// An address or number under test.
struct Contact {
    path: String,
    value: String,
}

impl Contact {
    async fn prepare(&self, t: &TestServer) -> Answer {
        t.post(&format!("{}/prepare_verification", self.path), json!({})).await
    }

    async fn attempt(&self, t: &TestServer, verification: &Value, code: &str) -> Answer {
        let body = json!({"verification_id": verification["id"], "code": code});
        t.post(&format!("{}/attempt_verification", self.path), body).await
    }

    async fn shown(&self, t: &TestServer) -> Value {
        t.get(&self.path).await.ok()
    }

    /// The newest code in the inbox for it.
    async fn code(&self, t: &TestServer) -> String {
        let recipient = self.value.replace('+', "%2B");
        let inbox = t.get(&format!("/dev/inbox?to={recipient}")).await.ok();
        inbox["data"][0]["code"].as_str().unwrap().to_owned()
    }
}

/// An unverified address and an unverified number of one user.
async fn contacts(t: &TestServer, name: &str, address: &str, number: &str) -> [Contact; 2] {
    let user = t.user(json!({"username": name})).await;
    let email = json!({"user_id": user["id"], "email_address": address});
    let email = t.post("/v1/email_addresses", email).await.ok();
    let phone = json!({"user_id": user["id"], "phone_number": number});
    let phone = t.post("/v1/phone_numbers", phone).await.ok();
    [
        Contact {
            path: format!("/v1/email_addresses/{}", email["id"].as_str().unwrap()),
            value: address.into(),
        },
        Contact {
            path: format!("/v1/phone_numbers/{}", phone["id"].as_str().unwrap()),
            value: number.into(),
        },
    ]
}

async fn real(t: &TestServer) -> [Contact; 2] {
    contacts(t, "ada_l", "ada@example.com", "+442071838750").await
}

fn other(code: &str) -> &'static str {
    if code == "000000" { "111111" } else { "000000" }
}

fn state(answer: &Value) -> (&str, i64) {
    (answer["status"].as_str().unwrap(), answer["attempts"].as_i64().unwrap())
}

#[tokio::test]
async fn the_right_code_verifies() {
    let t = TestServer::start().await;
    for (contact, strategy, channel) in real(&t)
        .await
        .into_iter()
        .zip([("email_code", Value::Null), ("phone_code", json!("sms"))])
        .map(|(c, (s, h))| (c, s, h))
    {
        let prepared = contact.prepare(&t).await.ok();
        let expected = json!({
            "object": "verification_otp", "id": prepared["id"], "status": "unverified", "strategy": strategy, "attempts": 0,
            "expire_at": NOW + TEN_MINUTES_MS, "channel": channel
        });
        assert_eq!(prepared, expected);
        assert_eq!(contact.shown(&t).await["verification"], Value::Null, "sending proves nothing");
        let code = contact.code(&t).await;
        assert!(code.len() == 6 && code.bytes().all(|byte| byte.is_ascii_digit()), "{code}");
        let attempted = contact.attempt(&t, &prepared, &code).await.ok();
        assert_eq!(state(&attempted), ("verified", 1));
        assert_eq!(attempted["id"], prepared["id"]);
        let mut verification = json!({
            "object": "verification_otp", "status": "verified", "strategy": strategy, "attempts": 1,
            "expire_at": NOW + TEN_MINUTES_MS
        });
        if strategy == "phone_code" {
            verification["channel"] = json!("sms");
        }
        assert_eq!(contact.shown(&t).await["verification"], verification);
    }
}

#[tokio::test]
async fn an_accepted_code_is_not_accepted_again() {
    let t = TestServer::start().await;
    for contact in real(&t).await {
        let prepared = contact.prepare(&t).await.ok();
        let code = contact.code(&t).await;
        contact.attempt(&t, &prepared, &code).await.ok();
        for repeated in [&code, other(&code)] {
            contact.attempt(&t, &prepared, repeated).await.is_error(400, "verification_already_verified");
        }
    }
}

#[tokio::test]
async fn wrong_codes_are_counted_and_the_third_fails_it() {
    let t = TestServer::start().await;
    for contact in real(&t).await {
        let prepared = contact.prepare(&t).await.ok();
        let code = contact.code(&t).await;
        for (attempts, status) in [(1, "unverified"), (2, "unverified"), (3, "failed")] {
            let answer = contact.attempt(&t, &prepared, other(&code)).await.ok();
            assert_eq!(state(&answer), (status, attempts));
        }
        for attempts in 4..6 {
            let late = contact.attempt(&t, &prepared, &code).await.ok();
            assert_eq!(state(&late), ("failed", attempts));
        }
        assert_eq!(contact.shown(&t).await["verification"], Value::Null);
    }
}

#[tokio::test]
async fn the_right_code_after_wrong_ones_still_verifies() {
    let t = TestServer::start().await;
    for contact in real(&t).await {
        let prepared = contact.prepare(&t).await.ok();
        let code = contact.code(&t).await;
        for _ in 0..2 {
            contact.attempt(&t, &prepared, other(&code)).await.ok();
        }
        let answer = contact.attempt(&t, &prepared, &code).await.ok();
        assert_eq!(state(&answer), ("verified", 3));
    }
}

#[tokio::test]
async fn a_code_expires_after_ten_minutes() {
    let t = TestServer::start().await;
    for contact in real(&t).await {
        let prepared = contact.prepare(&t).await.ok();
        let code = contact.code(&t).await;
        t.clock.advance_ms(TEN_MINUTES_MS - 1);
        assert_eq!(contact.attempt(&t, &prepared, other(&code)).await.ok()["status"], "unverified");
        t.clock.advance_ms(1);
        for (attempts, late) in [(2, code.as_str()), (3, other(&code)), (4, code.as_str())] {
            let answer = contact.attempt(&t, &prepared, late).await.ok();
            assert_eq!(state(&answer), ("expired", attempts));
        }
        assert_eq!(contact.shown(&t).await["verification"], Value::Null);
        // A new code is good again.
        let prepared = contact.prepare(&t).await.ok();
        let code = contact.code(&t).await;
        assert_eq!(contact.attempt(&t, &prepared, &code).await.ok()["status"], "verified");
    }
}

#[tokio::test]
async fn each_verification_has_its_own_code() {
    let t = TestServer::start().await;
    let [email, _] = real(&t).await;
    let first = email.prepare(&t).await.ok();
    let first_code = email.code(&t).await;
    t.clock.advance_ms(1);
    let second = email.prepare(&t).await.ok();
    let second_code = email.code(&t).await;
    assert_ne!((&first["id"], &first_code), (&second["id"], &second_code));
    assert_eq!(email.attempt(&t, &second, &first_code).await.ok()["status"], "unverified");
    assert_eq!(email.attempt(&t, &first, &first_code).await.ok()["status"], "verified");
}

#[tokio::test]
async fn verifications_of_another_address_are_not_found() {
    let t = TestServer::start().await;
    let [email, phone] = real(&t).await;
    let [stranger, _] = contacts(&t, "charles", "charles@example.com", "+442071838751").await;
    let prepared = email.prepare(&t).await.ok();
    let code = email.code(&t).await;
    for contact in [&phone, &stranger] {
        contact.attempt(&t, &prepared, &code).await.is_error(404, "resource_not_found");
    }
    for unknown in ["ver_000000000000000000000000000", "nonsense", ""] {
        email.attempt(&t, &json!({"id": unknown}), &code).await.is_error(404, "resource_not_found");
    }
    assert_eq!(email.attempt(&t, &prepared, &code).await.ok()["status"], "verified", "nothing was counted");
}

#[tokio::test]
async fn wrong_bodies_are_refused() {
    let t = TestServer::start().await;
    for contact in real(&t).await {
        let prepared = contact.prepare(&t).await.ok();
        let path = format!("{}/attempt_verification", contact.path);
        for (body, code, param) in [
            (json!({"code": "123456"}), "form_param_missing", "verification_id"),
            (json!({"verification_id": prepared["id"]}), "form_param_missing", "code"),
            (json!({"verification_id": prepared["id"], "code": 123_456}), "form_param_type_invalid", "code"),
            (json!({"verification_id": prepared["id"], "code": "123456", "x": 1}), "form_param_unknown", "x"),
        ] {
            t.post(&path, body).await.is_problem(400, code, param);
        }
        t.post(&path, json!({})).await.is_error(400, "form_param_missing");
    }
}

#[tokio::test]
async fn a_verified_address_is_left_as_it_is() {
    let t = TestServer::start().await;
    for contact in real(&t).await {
        t.patch(&contact.path, json!({"verified": true})).await.ok();
        let before = contact.shown(&t).await;
        let events = t.events().await.len();
        let prepared = contact.prepare(&t).await.ok();
        let code = contact.code(&t).await;
        t.clock.advance_ms(1);
        let answer = contact.attempt(&t, &prepared, &code).await.ok();
        assert_eq!(answer["status"], "verified");
        assert_eq!(contact.shown(&t).await, before);
        // Only that the code was sent.
        assert_eq!(t.events().await.len(), events + 1);
    }
}

#[tokio::test]
async fn a_code_for_an_address_claimed_meanwhile_changes_nothing() {
    let t = TestServer::start().await;
    let contacts = real(&t).await;
    for (contact, field) in contacts.into_iter().zip(["email_address", "phone_number"]) {
        let prepared = contact.prepare(&t).await.ok();
        let code = contact.code(&t).await;
        let owner = t.user(json!({field: [contact.value]})).await;
        let before = contact.shown(&t).await;
        let events = t.events().await.len();
        for _ in 0..2 {
            let answer = contact.attempt(&t, &prepared, &code).await;
            answer.is_problem(400, "identification_claimed", field);
        }
        assert_eq!(contact.shown(&t).await, before);
        assert_eq!(t.events().await.len(), events);
        // Once the owner is gone the same code is still good: nothing was half-written.
        t.delete(&format!("/v1/users/{}", owner["id"].as_str().unwrap())).await.ok();
        let answer = contact.attempt(&t, &prepared, &code).await.ok();
        assert_eq!(state(&answer), ("verified", 1));
    }
}

#[tokio::test]
async fn reserved_addresses_are_verified_by_code() {
    let t = TestServer::start().await;
    let user = t
        .user(
            json!({"email_address": ["a@example.com"], "email_address_identification_status": ["reserved"]}),
        )
        .await;
    let address = user["email_addresses"][0]["id"].as_str().unwrap();
    let contact = Contact { path: format!("/v1/email_addresses/{address}"), value: "a@example.com".into() };
    let prepared = contact.prepare(&t).await.ok();
    let code = contact.code(&t).await;
    contact.attempt(&t, &prepared, &code).await.ok();
    let shown = contact.shown(&t).await;
    assert_eq!(
        (&shown["reserved"], &shown["verification"]["strategy"]),
        (&json!(false), &json!("email_code"))
    );
}

#[tokio::test]
async fn test_identifiers_receive_nothing_and_have_a_known_code() {
    let t = TestServer::start().await;
    let plain = contacts(&t, "first", "ada+clerk_test@example.com", "+14155550123").await;
    let numbered = contacts(&t, "second", "ada+clerk_test_2@example.com", "+12015550199").await;
    for contact in plain.into_iter().chain(numbered) {
        let prepared = contact.prepare(&t).await.ok();
        assert_eq!(contact.attempt(&t, &prepared, "000000").await.ok()["status"], "unverified");
        assert_eq!(
            contact.attempt(&t, &prepared, "424242").await.ok()["status"],
            "verified",
            "{}",
            contact.value
        );
    }
    assert_eq!(t.inbox().await, [Value::Null; 0]);
}

#[tokio::test]
async fn the_known_code_is_wrong_for_real_identifiers() {
    let t = TestServer::start().await;
    for contact in real(&t).await {
        let prepared = contact.prepare(&t).await.ok();
        assert_eq!(contact.attempt(&t, &prepared, "424242").await.ok()["status"], "unverified");
    }
}

#[tokio::test]
async fn production_instances_have_no_known_code() {
    let t = TestServer::start().await;
    let production = async |method: &str, path: &str, body: Value| {
        t.call(Some(&t.other), method, path, Some(body)).await.ok()
    };
    let user = production("POST", "/v1/users", json!({"username": "ada_l"})).await;
    for (list, field, value) in [
        ("email_addresses", "email_address", "ada+clerk_test@example.com"),
        ("phone_numbers", "phone_number", "+14155550123"),
    ] {
        let contact =
            production("POST", &format!("/v1/{list}"), json!({"user_id": user["id"], field: value})).await;
        let path = format!("/v1/{list}/{}", contact["id"].as_str().unwrap());
        let prepared = production("POST", &format!("{path}/prepare_verification"), json!({})).await;
        let body = json!({"verification_id": prepared["id"], "code": "424242"});
        let answer = production("POST", &format!("{path}/attempt_verification"), body).await;
        assert_eq!(answer["status"], "unverified");
    }
}

#[tokio::test]
async fn a_phone_waits_thirty_seconds_for_the_next_code() {
    let t = TestServer::start().await;
    let [email, phone] = real(&t).await;
    phone.prepare(&t).await.ok();
    let refused = phone.prepare(&t).await;
    refused.is_error(429, "verification_code_too_many_requests");
    assert_eq!(refused.headers["retry-after"], "30");
    t.clock.advance_ms(29_001);
    let refused = phone.prepare(&t).await;
    assert_eq!((refused.status, refused.headers["retry-after"].to_str().unwrap()), (429, "1"));
    t.clock.advance_ms(999);
    phone.prepare(&t).await.ok();
    assert_eq!(t.get("/dev/inbox?to=%2B442071838750").await.ok()["total_count"], 2);
    // Another number and every address are not held up.
    let [_, next] = contacts(&t, "charles", "charles@example.com", "+442071838751").await;
    next.prepare(&t).await.ok();
    email.prepare(&t).await.ok();
    email.prepare(&t).await.ok();
}

#[tokio::test]
async fn of_many_who_try_the_right_code_at_once_one_succeeds() {
    let t = TestServer::start().await;
    let [email, _] = real(&t).await;
    let prepared = email.prepare(&t).await.ok();
    let code = email.code(&t).await;
    let answers = tokio::join!(
        email.attempt(&t, &prepared, &code),
        email.attempt(&t, &prepared, &code),
        email.attempt(&t, &prepared, &code),
    );
    let statuses = [answers.0.status, answers.1.status, answers.2.status];
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
}

#[tokio::test]
async fn guesses_at_once_never_get_more_than_three_attempts() {
    let t = TestServer::start().await;
    let [email, _] = real(&t).await;
    let prepared = email.prepare(&t).await.ok();
    let code = email.code(&t).await;
    let wrong = other(&code);
    let answers = tokio::join!(
        email.attempt(&t, &prepared, wrong),
        email.attempt(&t, &prepared, wrong),
        email.attempt(&t, &prepared, wrong),
        email.attempt(&t, &prepared, wrong),
        email.attempt(&t, &prepared, wrong),
    );
    let answers = [answers.0, answers.1, answers.2, answers.3, answers.4];
    let mut attempts: Vec<i64> = answers.into_iter().map(|answer| state(&answer.ok()).1).collect();
    attempts.sort_unstable();
    assert_eq!(attempts, [1, 2, 3, 4, 5]);
    assert_eq!(email.attempt(&t, &prepared, &code).await.ok()["status"], "failed");
}

#[tokio::test]
async fn a_deleted_address_takes_its_codes_with_it() {
    let t = TestServer::start().await;
    for contact in real(&t).await {
        let prepared = contact.prepare(&t).await.ok();
        let code = contact.code(&t).await;
        t.delete(&contact.path).await.ok();
        contact.attempt(&t, &prepared, &code).await.is_error(404, "resource_not_found");
        contact.prepare(&t).await.is_error(404, "resource_not_found");
    }
}

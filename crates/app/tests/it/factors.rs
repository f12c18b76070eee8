//! Second factors: authenticator apps, backup codes, and taking them away; and that no secret can be
//! read in the tables.

use latchkey_jose::totp::{base32_encode, totp_code};
use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};

const NOW: i64 = 1_767_225_600_000;
const SECRET: &[u8] = b"12345678901234567890";
/// bcrypt, cost 4, of `correct horse`.
const BCRYPT: &str = "$2b$04$rpUYJbWmKpfA6CELVgRFluNsNA/YsTAujDCm/FUJCyKHf4VajAhSq";

/// The code of the step so many steps from now, at a clock moved by `ms`.
fn code(ms: i64, steps: i64) -> String {
    totp_code(SECRET, (NOW + ms) / 30_000 + steps)
}

async fn verify(t: &TestServer, user: &str, code: &str) -> Answer {
    t.post(&format!("/v1/users/{user}/verify_totp"), json!({"code": code})).await
}

async fn user(t: &TestServer, fields: Value) -> String {
    let mut body = json!({"username": "ada_l"});
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    t.user(body).await["id"].as_str().unwrap().to_owned()
}

fn totp() -> Value {
    json!({"totp_secret": base32_encode(SECRET)})
}

/// `two_factor_enabled`, `totp_enabled`, `backup_code_enabled`.
fn factors(user: &Value) -> [bool; 3] {
    ["two_factor_enabled", "totp_enabled", "backup_code_enabled"].map(|key| user[key].as_bool().unwrap())
}

/// `mfa_enabled_at` and `mfa_disabled_at`, counted from the start of the test.
fn moments(user: &Value) -> [Option<i64>; 2] {
    ["mfa_enabled_at", "mfa_disabled_at"].map(|key| user[key].as_i64().map(|ms| ms - NOW))
}

#[tokio::test]
async fn current_code_is_accepted_once() {
    let t = TestServer::start().await;
    let id = user(&t, totp()).await;
    let accepted = verify(&t, &id, &code(0, 0)).await.ok();
    assert_eq!(accepted, json!({"verified": true, "code_type": "totp"}));
    verify(&t, &id, &code(0, 0)).await.is_problem(422, "totp_incorrect_code", "code");
    t.clock.advance_ms(30_000);
    verify(&t, &id, &code(0, 0)).await.is_error(422, "totp_incorrect_code");
    verify(&t, &id, &code(30_000, 0)).await.ok();
}

#[tokio::test]
async fn codes_one_step_off_are_accepted_and_two_are_not() {
    let t = TestServer::start().await;
    let id = user(&t, totp()).await;
    for steps in [-2, 2] {
        verify(&t, &id, &code(0, steps)).await.is_error(422, "totp_incorrect_code");
    }
    for steps in [-1, 0, 1] {
        verify(&t, &id, &code(0, steps)).await.ok();
    }
}

#[tokio::test]
async fn after_a_later_code_earlier_ones_are_refused() {
    let t = TestServer::start().await;
    let id = user(&t, totp()).await;
    verify(&t, &id, &code(0, 1)).await.ok();
    for steps in [-1, 0, 1] {
        verify(&t, &id, &code(0, steps)).await.is_error(422, "totp_incorrect_code");
    }
}

#[tokio::test]
async fn of_many_who_use_one_code_at_once_one_succeeds() {
    let t = TestServer::start().await;
    let id = user(&t, totp()).await;
    let code = code(0, 0);
    let answers = tokio::join!(
        verify(&t, &id, &code),
        verify(&t, &id, &code),
        verify(&t, &id, &code),
        verify(&t, &id, &code),
    );
    let statuses = [answers.0.status, answers.1.status, answers.2.status, answers.3.status];
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
}

#[tokio::test]
async fn malformed_codes_and_users_without_factors_are_told_apart() {
    let t = TestServer::start().await;
    let id = user(&t, totp()).await;
    for short in ["", "12345", "1234567", "abcdef"] {
        verify(&t, &id, short).await.is_problem(422, "totp_invalid_length", "code");
    }
    let plain = t.user(json!({"username": "charles"})).await;
    verify(&t, plain["id"].as_str().unwrap(), "123456").await.is_error(400, "totp_disabled");
    t.post(&format!("/v1/users/{id}/verify_totp"), json!({})).await.is_problem(
        422,
        "form_param_missing",
        "code",
    );
    verify(&t, "user_000000000000000000000000000", "123456").await.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn new_secret_takes_the_place_of_the_old_one() {
    let t = TestServer::start().await;
    let id = user(&t, totp()).await;
    verify(&t, &id, &code(0, 0)).await.ok();
    let other = b"another secret here!";
    let path = format!("/v1/users/{id}");
    t.patch(&path, json!({"totp_secret": base32_encode(other)})).await.ok();
    verify(&t, &id, &code(0, 1)).await.is_error(422, "totp_incorrect_code");
    // Its codes are others, so the steps used before do not count.
    verify(&t, &id, &totp_code(other, NOW / 30_000)).await.ok();
    t.patch(&path, json!({"totp_secret": null})).await.ok();
    verify(&t, &id, &totp_code(other, NOW / 30_000 + 1)).await.is_error(400, "totp_disabled");
}

#[tokio::test]
async fn after_deleting_totp_its_codes_are_worth_nothing() {
    let t = TestServer::start().await;
    let id = user(&t, totp()).await;
    let answer = t.delete(&format!("/v1/users/{id}/totp")).await.ok();
    assert_eq!(answer, json!({"user_id": id}));
    verify(&t, &id, &code(0, 0)).await.is_error(400, "totp_disabled");
    assert_eq!(t.delete(&format!("/v1/users/{id}/totp")).await.ok(), json!({"user_id": id}));
}

#[tokio::test]
async fn backup_codes_plain_or_digested_are_consumed_once() {
    let t = TestServer::start().await;
    let id = user(&t, json!({"backup_codes": ["plain-code", BCRYPT]})).await;
    assert_eq!(factors(&t.shown(&id).await), [false, false, true]);
    verify(&t, &id, "wrong-code").await.is_problem(422, "totp_incorrect_code", "code");
    // The digest itself is not the code.
    verify(&t, &id, BCRYPT).await.is_error(422, "totp_incorrect_code");
    let accepted = verify(&t, &id, "plain-code").await.ok();
    assert_eq!(accepted, json!({"verified": true, "code_type": "backup_code"}));
    verify(&t, &id, "plain-code").await.is_error(422, "totp_incorrect_code");
    assert_eq!(factors(&t.shown(&id).await), [false, false, true]);
    let accepted = verify(&t, &id, "correct horse").await.ok();
    assert_eq!(accepted["code_type"], "backup_code");
    assert_eq!(factors(&t.shown(&id).await), [false, false, false]);
    verify(&t, &id, "correct horse").await.is_error(400, "totp_disabled");
}

#[tokio::test]
async fn a_backup_code_given_twice_is_still_used_up_at_once() {
    let t = TestServer::start().await;
    let id = user(&t, json!({"backup_codes": ["same-code", "other-code", "same-code"]})).await;
    verify(&t, &id, "same-code").await.ok();
    verify(&t, &id, "same-code").await.is_error(422, "totp_incorrect_code");
    verify(&t, &id, "other-code").await.ok();
    assert_eq!(factors(&t.shown(&id).await), [false; 3]);
}

#[tokio::test]
async fn consuming_a_backup_code_leaves_totp_alone() {
    let t = TestServer::start().await;
    let mut fields = totp();
    fields["backup_codes"] = json!(["the-only-one"]);
    let id = user(&t, fields).await;
    verify(&t, &id, "the-only-one").await.ok();
    let shown = t.shown(&id).await;
    assert_eq!(factors(&shown), [true, true, false]);
    assert_eq!(moments(&shown), [Some(0), None]);
    verify(&t, &id, &code(0, 0)).await.ok();
}

#[tokio::test]
async fn imported_backup_codes_cost_little_to_compare_with_all_together() {
    let t = TestServer::start().await;
    let digests = |cost: &str, count: usize| json!(vec![BCRYPT.replace("$04$", cost); count]);
    let fields = |codes: Value| json!({"username": "other", "backup_codes": codes});
    for (cost, count) in [("$11$", 17), ("$14$", 3), ("$15$", 1), ("$31$", 20), ("$63$", 2), ("$99$", 20)] {
        let refused = t.post("/v1/users", fields(digests(cost, count))).await;
        refused.is_problem(422, "form_param_format_invalid", "backup_codes");
    }
    let id = user(&t, json!({"backup_codes": digests("$10$", 20)})).await;
    let path = format!("/v1/users/{id}");
    t.patch(&path, json!({"backup_codes": digests("$12$", 9)}))
        .await
        .is_error(422, "form_param_format_invalid");
    t.patch(&path, json!({"backup_codes": digests("$12$", 8)})).await.ok();
}

#[tokio::test]
async fn new_backup_codes_replace_all_old_ones() {
    let t = TestServer::start().await;
    let id = user(&t, json!({"backup_codes": ["first-code", "second-code"]})).await;
    let path = format!("/v1/users/{id}");
    t.patch(&path, json!({"backup_codes": ["third-code"]})).await.ok();
    verify(&t, &id, "first-code").await.is_error(422, "totp_incorrect_code");
    verify(&t, &id, "third-code").await.ok();
    t.patch(&path, json!({"backup_codes": ["fourth-code"]})).await.ok();
    assert_eq!(t.patch(&path, json!({"backup_codes": []})).await.ok()["backup_code_enabled"], false);
    verify(&t, &id, "fourth-code").await.is_error(400, "totp_disabled");
}

#[tokio::test]
async fn deleting_backup_codes_leaves_totp_alone() {
    let t = TestServer::start().await;
    let mut fields = totp();
    fields["backup_codes"] = json!(["first-code"]);
    let id = user(&t, fields).await;
    assert_eq!(t.delete(&format!("/v1/users/{id}/backup_code")).await.ok(), json!({"user_id": id}));
    assert_eq!(factors(&t.shown(&id).await), [true, true, false]);
    verify(&t, &id, "first-code").await.is_error(422, "totp_invalid_length");
    verify(&t, &id, &code(0, 0)).await.ok();
}

#[tokio::test]
async fn mfa_is_enabled_with_the_first_factor_and_disabled_with_the_last() {
    let t = TestServer::start().await;
    let id = user(&t, json!({"phone_number": ["+14155552671"]})).await;
    let shown = t.shown(&id).await;
    assert_eq!((factors(&shown)[0], moments(&shown)), (false, [None, None]));
    let phone = format!("/v1/phone_numbers/{}", shown["phone_numbers"][0]["id"].as_str().unwrap());
    let path = format!("/v1/users/{id}");

    t.clock.advance_ms(10);
    t.patch(&phone, json!({"reserved_for_second_factor": true})).await.ok();
    let shown = t.shown(&id).await;
    assert_eq!((factors(&shown)[0], moments(&shown)), (true, [Some(10), None]));

    t.clock.advance_ms(10);
    t.patch(&path, totp()).await.ok();
    assert_eq!(moments(&t.shown(&id).await), [Some(10), None], "it was on already");

    t.clock.advance_ms(10);
    t.patch(&phone, json!({"reserved_for_second_factor": false})).await.ok();
    let shown = t.shown(&id).await;
    assert_eq!((factors(&shown)[0], moments(&shown)), (true, [Some(10), None]), "TOTP is left");

    t.clock.advance_ms(10);
    t.delete(&format!("{path}/totp")).await.ok();
    let shown = t.shown(&id).await;
    assert_eq!((factors(&shown)[0], moments(&shown)), (false, [Some(10), Some(40)]));

    // Enabling it again does not forget when it was disabled.
    t.clock.advance_ms(10);
    t.patch(&path, totp()).await.ok();
    assert_eq!(moments(&t.shown(&id).await), [Some(50), Some(40)]);
}

#[tokio::test]
async fn deleting_mfa_takes_every_factor_away() {
    let t = TestServer::start().await;
    let mut fields = totp();
    fields["backup_codes"] = json!(["first-code"]);
    fields["phone_number"] = json!(["+14155552671", "+14155552672"]);
    let id = user(&t, fields).await;
    for phone in t.shown(&id).await["phone_numbers"].as_array().unwrap() {
        let path = format!("/v1/phone_numbers/{}", phone["id"].as_str().unwrap());
        t.patch(&path, json!({"reserved_for_second_factor": true})).await.ok();
    }
    t.clock.advance_ms(10);
    assert_eq!(t.delete(&format!("/v1/users/{id}/mfa")).await.ok(), json!({"user_id": id}));
    let shown = t.shown(&id).await;
    assert_eq!(factors(&shown), [false; 3]);
    assert_eq!(moments(&shown), [Some(0), Some(10)]);
    for phone in shown["phone_numbers"].as_array().unwrap() {
        assert_eq!(
            (&phone["reserved_for_second_factor"], &phone["default_second_factor"]),
            (&json!(false), &json!(false))
        );
    }
    verify(&t, &id, &code(10, 0)).await.is_error(400, "totp_disabled");
    // Nothing is left to take away.
    t.clock.advance_ms(10);
    t.delete(&format!("/v1/users/{id}/mfa")).await.ok();
    assert_eq!(t.shown(&id).await, shown);
}

#[tokio::test]
async fn factors_of_nobody_cannot_be_deleted() {
    let t = TestServer::start().await;
    for factor in ["mfa", "totp", "backup_code"] {
        let path = format!("/v1/users/user_000000000000000000000000000/{factor}");
        t.delete(&path).await.is_error(404, "resource_not_found");
    }
}

/// Every value of every table as bytes, with the name of its table.
async fn everything_stored(t: &TestServer) -> Vec<(String, Vec<u8>)> {
    let is_sqlite = t.db().engine() == "SQLite";
    let tables = match is_sqlite {
        true => "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name",
        false => {
            "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"
        }
    };
    let columns = match is_sqlite {
        true => "SELECT name FROM pragma_table_info($1)",
        false => {
            "SELECT column_name::text FROM information_schema.columns WHERE table_schema = 'public' AND table_name = $1::text"
        }
    };
    let mut tx = t.db().read().await.unwrap();
    let mut found = Vec::new();
    for table in tx.all(&[tables], &[], |row| row.text(0)).await.unwrap() {
        for column in tx.all(&[columns], &[table.as_str().into()], |row| row.text(0)).await.unwrap() {
            // PostgreSQL has no common way to bytes: what is not bytes goes through its text.
            let value = match is_sqlite {
                true => format!("CAST(\"{column}\" AS BLOB)"),
                false => format!(
                    "CASE WHEN pg_typeof(\"{column}\")::text = 'bytea' THEN decode(substr(\"{column}\"::text, 3), 'hex') \
                     ELSE convert_to(\"{column}\"::text, 'UTF8') END"
                ),
            };
            let sql = ["SELECT ", &value, " FROM \"", &table, "\" WHERE \"", &column, "\" IS NOT NULL"];
            let values = tx.all(&sql, &[], |row| row.bytes(0)).await.unwrap();
            found.extend(values.into_iter().map(|value| (format!("{table}.{column}"), value)));
        }
    }
    found
}

#[tokio::test]
async fn no_secret_can_be_read_in_any_table() {
    let t = TestServer::start().await;
    let user = t
        .user(json!({
            "email_address": ["ada@example.com"], "password": "vexed-quilt-27", "totp_secret": base32_encode(SECRET),
            "backup_codes": ["first-backup-code", "second-backup-code"]
        }))
        .await;
    let id = user["id"].as_str().unwrap();
    let address = user["email_addresses"][0]["id"].as_str().unwrap();
    t.post(&format!("/v1/email_addresses/{address}/prepare_verification"), json!({})).await.ok();
    t.patch(&format!("/v1/users/{id}"), json!({"password": "orchid-mambo-91", "first_name": "Ada"}))
        .await
        .ok();
    verify(&t, id, "first-backup-code").await.ok();
    verify(&t, id, &code(0, 0)).await.ok();
    let base32 = base32_encode(SECRET);
    let secrets: [&[u8]; 9] = [
        b"vexed-quilt-27",
        b"orchid-mambo-91",
        SECRET,
        base32.as_bytes(),
        b"first-backup-code",
        b"second-backup-code",
        b"is your verification code",
        t.tenant.key.as_bytes(),
        b"PRIVATE KEY",
    ];
    let stored = everything_stored(&t).await;
    let holds = |value: &[u8], needle: &[u8]| value.windows(needle.len()).any(|part| part == needle);
    for (place, value) in &stored {
        for secret in secrets {
            assert!(!holds(value, secret), "{place} holds {}", String::from_utf8_lossy(secret));
        }
    }
    // The search itself works: what is no secret is found, as text and as bytes.
    assert!(
        stored.iter().any(|(place, value)| place == "users.document" && holds(value, b"ada@example.com"))
    );
    assert!(
        stored
            .iter()
            .any(|(place, value)| place == "credentials.totp_secret_sealed" && value.len() > SECRET.len())
    );
}

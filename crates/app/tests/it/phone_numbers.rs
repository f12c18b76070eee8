//! The seven operations on phone numbers, and numbers as second factor.

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::{Attribute, Settings};
use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};

const NOW: i64 = 1_767_225_600_000;
const NOBODY: &str = "user_000000000000000000000000000";
const NUMBERS: [&str; 5] = ["+14155552671", "+14155552672", "+14155552673", "+14155552674", "+14155552675"];

fn id(value: &Value) -> &str {
    value["id"].as_str().unwrap()
}

fn path(number: &Value) -> String {
    format!("/v1/phone_numbers/{}", id(number))
}

async fn add(t: &TestServer, user: &str, number: &str, fields: Value) -> Answer {
    let mut body = json!({"user_id": user, "phone_number": number});
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    t.post("/v1/phone_numbers", body).await
}

/// A user without any number.
async fn bare(t: &TestServer, name: &str) -> String {
    id(&t.user(json!({"username": name})).await).to_owned()
}

/// `reserved_for_second_factor` and `default_second_factor` of every number, in order.
async fn factors(t: &TestServer, user: &str) -> Vec<(bool, bool)> {
    let flag = |number: &Value, key: &str| number[key].as_bool().unwrap();
    let user = t.shown(user).await;
    let numbers = user["phone_numbers"].as_array().unwrap();
    numbers
        .iter()
        .map(|number| (flag(number, "reserved_for_second_factor"), flag(number, "default_second_factor")))
        .collect()
}

#[tokio::test]
async fn new_number_is_unverified_and_the_first_is_primary() {
    let t = TestServer::start().await;
    let user = bare(&t, "ada_l").await;
    let number = add(&t, &user, NUMBERS[0], json!({})).await.ok();
    let expected = json!({
        "id": number["id"], "object": "phone_number", "phone_number": NUMBERS[0], "reserved_for_second_factor": false,
        "default_second_factor": false, "reserved": false, "verification": null, "linked_to": [], "backup_codes": null,
        "created_at": NOW, "updated_at": NOW
    });
    assert_eq!(number, expected);
    assert_eq!(t.get(&path(&number)).await.ok(), number);
    let second = add(&t, &user, NUMBERS[1], json!({"verified": true})).await.ok();
    assert_eq!(second["verification"]["object"], "verification_admin");
    let shown = t.shown(&user).await;
    assert_eq!(shown["phone_numbers"], json!([number, second]));
    assert_eq!(shown["primary_phone_number_id"], number["id"]);
}

#[tokio::test]
async fn only_a_verified_number_becomes_primary_by_wish() {
    let t = TestServer::start().await;
    let user = id(&t.user(json!({"phone_number": [NUMBERS[0]]})).await).to_owned();
    add(&t, &user, NUMBERS[1], json!({"primary": true})).await.is_problem(
        422,
        "form_verification_needed",
        "primary",
    );
    let second = add(&t, &user, NUMBERS[1], json!({"primary": true, "verified": true})).await.ok();
    assert_eq!(t.shown(&user).await["primary_phone_number_id"], second["id"]);
    let third = add(&t, &user, NUMBERS[2], json!({})).await.ok();
    t.patch(&path(&third), json!({"primary": true})).await.is_problem(
        400,
        "form_verification_needed",
        "primary",
    );
    t.patch(&path(&third), json!({"primary": true, "verified": true})).await.ok();
    assert_eq!(t.shown(&user).await["primary_phone_number_id"], third["id"]);
}

#[tokio::test]
async fn wrong_bodies_are_refused() {
    let t = TestServer::start().await;
    let user = id(&t.user(json!({"phone_number": [NUMBERS[0]]})).await).to_owned();
    for (body, code, param) in [
        (json!({"user_id": user}), "form_param_missing", "phone_number"),
        (json!({"phone_number": NUMBERS[1]}), "form_param_missing", "user_id"),
        (json!({"user_id": user, "phone_number": "4155552671"}), "form_param_format_invalid", "phone_number"),
        (
            json!({"user_id": user, "phone_number": "+1 415 555 2671"}),
            "form_param_format_invalid",
            "phone_number",
        ),
        (
            json!({"user_id": user, "phone_number": 14_155_552_671_i64}),
            "form_param_type_invalid",
            "phone_number",
        ),
        (json!({"user_id": user, "phone_number": NUMBERS[0]}), "form_identifier_exists", "phone_number"),
    ] {
        t.post("/v1/phone_numbers", body).await.is_problem(422, code, param);
    }
    for nobody in [NOBODY, "nonsense"] {
        add(&t, nobody, NUMBERS[1], json!({})).await.is_error(404, "resource_not_found");
    }
}

#[tokio::test]
async fn numbers_of_nobody_another_kind_or_another_instance_are_not_found() {
    let t = TestServer::start().await;
    let foreign = json!({"phone_number": [NUMBERS[0]]});
    let foreign = t.call(Some(&t.other), "POST", "/v1/users", Some(foreign)).await.ok();
    let own = t.user(json!({"email_address": ["ada@example.com"]})).await;
    for unknown in [
        "idn_000000000000000000000000000",
        "nonsense",
        id(&foreign["phone_numbers"][0]),
        id(&own["email_addresses"][0]),
    ] {
        let path = format!("/v1/phone_numbers/{unknown}");
        t.get(&path).await.is_error(404, "resource_not_found");
        t.patch(&path, json!({"verified": true})).await.is_error(404, "resource_not_found");
        t.delete(&path).await.is_error(404, "resource_not_found");
        t.post(&format!("{path}/prepare_verification"), json!({})).await.is_error(404, "resource_not_found");
    }
}

#[tokio::test]
async fn verified_goes_both_ways() {
    let t = TestServer::start().await;
    let user = bare(&t, "ada_l").await;
    let number = add(&t, &user, NUMBERS[0], json!({"verified": null, "primary": null})).await.ok();
    t.clock.advance_ms(5);
    let verified = t.patch(&path(&number), json!({"verified": true})).await.ok();
    assert_eq!(verified["verification"]["status"], "verified");
    let unverified = t.patch(&path(&number), json!({"verified": false})).await.ok();
    assert_eq!((&unverified["verification"], &unverified["updated_at"]), (&Value::Null, &json!(NOW + 5)));
    t.user(json!({"phone_number": [NUMBERS[0]]})).await;
}

#[tokio::test]
async fn unverified_number_may_be_on_several_users_and_a_verified_one_is_not() {
    let t = TestServer::start().await;
    let (first, second) = (bare(&t, "first").await, bare(&t, "second").await);
    let one = add(&t, &first, NUMBERS[0], json!({})).await.ok();
    let two = add(&t, &second, NUMBERS[0], json!({})).await.ok();
    t.patch(&path(&one), json!({"verified": true})).await.ok();
    t.patch(&path(&two), json!({"verified": true})).await.is_problem(
        400,
        "identification_claimed",
        "phone_number",
    );
    assert_eq!(t.get(&path(&two)).await.ok(), two);
    let third = bare(&t, "third").await;
    for verified in [true, false] {
        let answer = add(&t, &third, NUMBERS[0], json!({"verified": verified})).await;
        answer.is_problem(422, "form_identifier_exists", "phone_number");
    }
    for status in ["verified", "reserved", "unverified"] {
        let body = json!({"phone_number": NUMBERS[0], "identification_status": status});
        let answer = t.put(&format!("/v1/users/{third}/phone_number"), body).await;
        answer.is_problem(422, "form_identifier_exists", "phone_number");
    }
}

#[tokio::test]
async fn deleting_the_primary_promotes_a_verified_number() {
    let t = TestServer::start().await;
    let user = t.user(json!({"phone_number": [NUMBERS[0]], "username": "ada_l"})).await;
    let first = &user["phone_numbers"][0];
    add(&t, id(&user), NUMBERS[1], json!({})).await.ok();
    let verified = add(&t, id(&user), NUMBERS[2], json!({"verified": true})).await.ok();
    let deleted = t.delete(&path(first)).await.ok();
    assert_eq!(deleted, json!({"object": "phone_number", "id": first["id"], "deleted": true}));
    assert_eq!(t.shown(id(&user)).await["primary_phone_number_id"], verified["id"]);
    t.delete(&path(first)).await.is_error(404, "resource_not_found");
    t.user(json!({"phone_number": [NUMBERS[0]]})).await;
}

#[tokio::test]
async fn the_last_identification_stays() {
    let t = TestServer::start().await;
    let user = t.user(json!({"phone_number": [NUMBERS[0]]})).await;
    t.delete(&path(&user["phone_numbers"][0])).await.is_error(400, "identification_deletion_failed");
    assert_eq!(t.shown(id(&user)).await, user);
}

#[tokio::test]
async fn the_last_number_stays_where_numbers_are_required() {
    let mut settings = Settings::default();
    settings.attributes.phone_number = Attribute { enabled: true, required: true, ..Attribute::default() };
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let user = t.user(json!({"phone_number": [NUMBERS[0], NUMBERS[1]], "username": "ada_l"})).await;
    t.delete(&path(&user["phone_numbers"][0])).await.ok();
    let answer = t.delete(&path(&user["phone_numbers"][1])).await;
    answer.is_error(400, "last_required_identification_deletion_failed");
}

#[tokio::test]
async fn numbers_are_unknown_where_they_are_switched_off() {
    let mut settings = Settings::default();
    settings.attributes.phone_number = Attribute::default();
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let user = bare(&t, "ada_l").await;
    add(&t, &user, NUMBERS[0], json!({})).await.is_problem(422, "form_param_unknown", "phone_number");
    let answer = t.put(&format!("/v1/users/{user}/phone_number"), json!({"phone_number": NUMBERS[0]})).await;
    answer.is_problem(422, "form_param_unknown", "phone_number");
}

#[tokio::test]
async fn replacing_leaves_one_primary_number_of_each_status() {
    let t = TestServer::start().await;
    let user = t.user(json!({"phone_number": [NUMBERS[0], NUMBERS[1]]})).await;
    let replace = format!("/v1/users/{}/phone_number", id(&user));
    for (fields, reserved, verified) in [
        (json!({"phone_number": NUMBERS[2]}), false, true),
        (json!({"phone_number": NUMBERS[3], "identification_status": "reserved"}), true, false),
        (json!({"phone_number": NUMBERS[0], "identification_status": "unverified"}), false, false),
        (json!({"phone_number": NUMBERS[0], "identification_status": "verified"}), false, true),
    ] {
        let number = t.put(&replace, fields).await.ok();
        assert_eq!((&number["reserved"], number["verification"].is_object()), (&json!(reserved), verified));
        let shown = t.shown(id(&user)).await;
        assert_eq!(shown["phone_numbers"], json!([number]));
        assert_eq!(shown["primary_phone_number_id"], number["id"]);
    }
    t.get(&path(&user["phone_numbers"][0])).await.is_error(404, "resource_not_found");
    t.user(json!({"phone_number": [NUMBERS[1], NUMBERS[2], NUMBERS[3]]})).await;
    for (body, code, param) in [
        (json!({}), "form_param_missing", "phone_number"),
        (json!({"phone_number": "1"}), "form_param_format_invalid", "phone_number"),
        (
            json!({"phone_number": NUMBERS[0], "identification_status": ""}),
            "form_param_value_invalid",
            "identification_status",
        ),
        (
            json!({"phone_number": NUMBERS[0], "notify_primary_email_address_changed": true}),
            "form_param_unknown",
            "notify_primary_email_address_changed",
        ),
        (json!({"phone_number": NUMBERS[1]}), "form_identifier_exists", "phone_number"),
    ] {
        t.put(&replace, body).await.is_problem(422, code, param);
    }
    let nobody =
        t.put(&format!("/v1/users/{NOBODY}/phone_number"), json!({"phone_number": "+14155552679"})).await;
    nobody.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn the_first_second_factor_is_the_default_and_another_takes_over() {
    let t = TestServer::start().await;
    let user = bare(&t, "ada_l").await;
    let second_factor = json!({"verified": true, "reserved_for_second_factor": true});
    let first = add(&t, &user, NUMBERS[0], second_factor.clone()).await.ok();
    assert_eq!(
        (&first["reserved_for_second_factor"], &first["default_second_factor"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(t.shown(&user).await["two_factor_enabled"], true);
    add(&t, &user, NUMBERS[1], second_factor.clone()).await.ok();
    let third = add(&t, &user, NUMBERS[2], json!({"verified": true})).await.ok();
    t.patch(&path(&third), json!({"reserved_for_second_factor": true})).await.ok();
    assert_eq!(factors(&t, &user).await, [(true, true), (true, false), (true, false)]);
    // Whatever takes the default away, the next one becomes it.
    t.patch(&path(&first), json!({"reserved_for_second_factor": false})).await.ok();
    assert_eq!(factors(&t, &user).await, [(false, false), (true, true), (true, false)]);
    let second = t.shown(&user).await["phone_numbers"][1].clone();
    t.patch(&path(&second), json!({"verified": false})).await.ok();
    assert_eq!(factors(&t, &user).await, [(false, false), (false, false), (true, true)]);
    t.patch(&path(&first), json!({"reserved_for_second_factor": true})).await.ok();
    t.delete(&path(&third)).await.ok();
    assert_eq!(factors(&t, &user).await, [(true, true), (false, false)]);
}

#[tokio::test]
async fn only_a_verified_number_is_a_second_factor() {
    let t = TestServer::start().await;
    let user = bare(&t, "ada_l").await;
    let refused = add(&t, &user, NUMBERS[0], json!({"reserved_for_second_factor": true})).await;
    refused.is_problem(400, "identification_create_second_factor_unverified", "reserved_for_second_factor");
    assert_eq!(t.shown(&user).await["phone_numbers"], json!([]));
    let number = add(&t, &user, NUMBERS[0], json!({"reserved_for_second_factor": false})).await.ok();
    let refused = t.patch(&path(&number), json!({"reserved_for_second_factor": true})).await;
    refused.is_problem(400, "identification_update_second_factor_unverified", "reserved_for_second_factor");
    let refused =
        t.patch(&path(&number), json!({"reserved_for_second_factor": true, "verified": false})).await;
    refused.is_error(400, "identification_update_second_factor_unverified");
    assert_eq!(t.get(&path(&number)).await.ok(), number);
    t.patch(&path(&number), json!({"reserved_for_second_factor": true, "verified": true})).await.ok();
    assert_eq!(factors(&t, &user).await, [(true, true)]);
    t.patch(&path(&number), json!({"reserved_for_second_factor": null})).await.ok();
    assert_eq!(factors(&t, &user).await, [(true, true)]);
}

#[tokio::test]
async fn losing_the_last_second_factor_disables_mfa() {
    let t = TestServer::start().await;
    type Loss = fn(&str, &str) -> (&'static str, String, Value);
    let losses: [Loss; 5] = [
        |_, number| {
            ("PATCH", format!("/v1/phone_numbers/{number}"), json!({"reserved_for_second_factor": false}))
        },
        |_, number| ("PATCH", format!("/v1/phone_numbers/{number}"), json!({"verified": false})),
        |_, number| ("DELETE", format!("/v1/phone_numbers/{number}"), json!({})),
        |user, _| ("PUT", format!("/v1/users/{user}/phone_number"), json!({"phone_number": "+14155552679"})),
        // Even by itself: the new number is never a second factor.
        |user, _| ("PUT", format!("/v1/users/{user}/phone_number"), json!({"phone_number": NUMBERS[4]})),
    ];
    for (at, loss) in losses.into_iter().enumerate() {
        let user = bare(&t, &format!("user-{at}")).await;
        let number =
            add(&t, &user, NUMBERS[at], json!({"verified": true, "reserved_for_second_factor": true}))
                .await
                .ok();
        let enabled = t.shown(&user).await["mfa_enabled_at"].clone();
        assert!(enabled.is_i64());
        t.clock.advance_ms(1000);
        let (method, path, body) = loss(&user, id(&number));
        t.call(Some(&t.tenant), method, &path, Some(body)).await.ok();
        let shown = t.shown(&user).await;
        assert_eq!(shown["two_factor_enabled"], false, "{method}");
        assert_eq!(shown["mfa_enabled_at"], enabled, "{method}");
        assert_eq!(shown["mfa_disabled_at"].as_i64(), enabled.as_i64().map(|ms| ms + 1000), "{method}");
        assert!(factors(&t, &user).await.iter().all(|factor| *factor == (false, false)), "{method}");
    }
}

#[tokio::test]
async fn last_identification_cannot_become_a_second_factor() {
    let t = TestServer::start().await;
    let user = t.user(json!({"phone_number": [NUMBERS[0]]})).await;
    let only = user["phone_numbers"][0].clone();
    let reserve = json!({"reserved_for_second_factor": true});
    t.patch(&path(&only), reserve.clone()).await.is_error(400, "identification_update_failed");
    assert_eq!(factors(&t, id(&user)).await, [(false, false)]);
    let second = add(&t, id(&user), NUMBERS[1], json!({"verified": true})).await.ok();
    t.patch(&path(&second), reserve.clone()).await.ok();
    // Again the last one that signs in.
    t.patch(&path(&only), reserve).await.is_error(400, "identification_update_failed");
    assert_eq!(factors(&t, id(&user)).await, [(false, false), (true, true)]);
}

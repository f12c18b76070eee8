//! Creating, reading and deleting users.

mod both_engines {
    mod deletion;
}

use latchkey_testkit::TestServer;
use serde_json::{Value, json};

/// When tests take place, as the wire shows it.
const NOW: i64 = 1_767_225_600_000;
const WALLET: &str = "0x71C7656EC7ab88b098defB751B7401B5f6d8976F";

fn by_admin() -> Value {
    json!({
        "object": "verification_admin", "status": "verified", "strategy": "admin",
        "attempts": null, "expire_at": null
    })
}

#[tokio::test]
async fn created_user_can_be_read_back() {
    let t = TestServer::start().await;
    let created =
        t.post("/v1/users", json!({"email_address": ["Ada@Example.com"], "first_name": "Ada"})).await.ok();
    assert_eq!(created["email_addresses"][0]["email_address"], "ada@example.com");
    let id = created["id"].as_str().unwrap();
    assert_eq!(t.get(&format!("/v1/users/{id}")).await.ok(), created);
}

#[tokio::test]
async fn user_made_of_one_address_has_every_published_key_with_its_default() {
    let t = TestServer::start().await;
    let user = t.user(json!({"email_address": ["ada@example.com"]})).await;
    let (id, address_id) = (user["id"].as_str().unwrap(), &user["email_addresses"][0]["id"]);
    let image = format!("http://127.0.0.1:3400/images/avatar_placeholder/{id}");
    let expected = json!({
        "id": id, "object": "user", "username": null, "first_name": null, "last_name": null, "locale": null,
        "image_url": image, "has_image": false, "profile_image_url": image,
        "primary_email_address_id": address_id, "primary_phone_number_id": null, "primary_web3_wallet_id": null,
        "password_enabled": false, "two_factor_enabled": false, "totp_enabled": false, "backup_code_enabled": false,
        "email_addresses": [{
            "id": address_id, "object": "email_address", "email_address": "ada@example.com", "reserved": false,
            "verification": by_admin(), "linked_to": [], "matches_sso_connection": false,
            "created_at": NOW, "updated_at": NOW
        }],
        "phone_numbers": [], "web3_wallets": [], "passkeys": [], "external_accounts": [], "saml_accounts": [],
        "enterprise_accounts": [], "password_last_updated_at": null,
        "public_metadata": {}, "private_metadata": {}, "unsafe_metadata": {},
        "external_id": null, "last_sign_in_at": null, "banned": false, "locked": false, "deprovisioned": false,
        "lockout_expires_in_seconds": null, "verification_attempts_remaining": 100,
        "created_at": NOW, "updated_at": NOW, "delete_self_enabled": true, "create_organization_enabled": true,
        "create_organizations_limit": null, "last_active_at": null, "mfa_enabled_at": null, "mfa_disabled_at": null,
        "legal_accepted_at": null, "bypass_client_trust": false
    });
    assert_eq!(user, expected);
    assert!(id.starts_with("user_") && id.len() == 32, "{id}");
    assert!(address_id.as_str().unwrap().starts_with("idn_"), "{address_id}");
}

#[tokio::test]
async fn every_field_of_the_full_body_is_shown_back() {
    let t = TestServer::start().await;
    let user = t
        .user(json!({
            "external_id": "crm-7", "first_name": "Ada", "last_name": "Lovelace", "locale": "en-GB",
            "email_address": ["Ada@Example.com", "countess@example.org"],
            "email_address_identification_status": ["verified", "reserved"],
            "phone_number": ["+442071838750", "+14155552671"],
            "phone_number_identification_status": ["reserved", "verified"],
            "web3_wallet": [WALLET, "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV"],
            "username": "Ada_L", "password": "vexed-quilt-27", "skip_password_checks": false,
            "skip_password_requirement": true, "totp_secret": "JBSWY3DPEHPK3PXP",
            "backup_codes": ["first-code", "second-code"],
            "public_metadata": {"plan": "gold"}, "private_metadata": {"score": 7}, "unsafe_metadata": {"theme": ["dark"]},
            "delete_self_enabled": false, "create_organization_enabled": false, "create_organizations_limit": 3,
            "legal_accepted_at": "2012-10-21T07:15:20.902Z", "skip_legal_checks": true, "skip_user_requirement": true,
            "created_at": "2012-10-20T07:15:20.902Z", "bypass_client_trust": true, "banned": true, "locked": true
        }))
        .await;
    let expected = json!({
        "external_id": "crm-7", "first_name": "Ada", "last_name": "Lovelace", "locale": "en-GB", "username": "Ada_L",
        "password_enabled": true, "password_last_updated_at": NOW, "two_factor_enabled": true, "totp_enabled": true,
        "backup_code_enabled": true, "mfa_enabled_at": NOW, "mfa_disabled_at": null,
        "public_metadata": {"plan": "gold"}, "private_metadata": {"score": 7}, "unsafe_metadata": {"theme": ["dark"]},
        "delete_self_enabled": false, "create_organization_enabled": false, "create_organizations_limit": 3,
        "legal_accepted_at": 1_350_803_720_902_i64, "created_at": 1_350_717_320_902_i64, "updated_at": NOW,
        "bypass_client_trust": true, "banned": true, "locked": true, "lockout_expires_in_seconds": 3600,
        "last_sign_in_at": null, "last_active_at": null, "has_image": false
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&user[key], value, "{key}");
    }
    let values = |list: &str, key: &str| -> Vec<Value> {
        user[list].as_array().unwrap().iter().map(|item| item[key].clone()).collect()
    };
    assert_eq!(values("email_addresses", "email_address"), ["ada@example.com", "countess@example.org"]);
    assert_eq!(values("email_addresses", "reserved"), [false, true]);
    assert_eq!(values("email_addresses", "verification"), [by_admin(), Value::Null]);
    assert_eq!(values("phone_numbers", "phone_number"), ["+442071838750", "+14155552671"]);
    assert_eq!(values("phone_numbers", "reserved"), [true, false]);
    assert_eq!(values("phone_numbers", "verification"), [Value::Null, by_admin()]);
    assert_eq!(values("phone_numbers", "reserved_for_second_factor"), [false, false]);
    assert_eq!(
        values("web3_wallets", "web3_wallet"),
        [WALLET.to_lowercase().as_str(), "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV"]
    );
    assert_eq!(values("web3_wallets", "verification"), [by_admin(), by_admin()]);
    assert_eq!(user["primary_email_address_id"], user["email_addresses"][0]["id"]);
    assert_eq!(user["primary_phone_number_id"], user["phone_numbers"][0]["id"]);
    assert_eq!(user["primary_web3_wallet_id"], user["web3_wallets"][0]["id"]);
    assert_eq!(t.shown(user["id"].as_str().unwrap()).await, user);
}

#[tokio::test]
async fn each_wrong_field_is_refused_with_its_code_and_parameter() {
    let t = TestServer::start().await;
    let long = "x".repeat(257);
    let many: Vec<String> = (0..101).map(|number| format!("a{number}@example.com")).collect();
    let codes: Vec<String> = (0..21).map(|number| format!("backup-{number}")).collect();
    let cases = [
        (json!({"email_address": ["nonsense"]}), "form_param_format_invalid", "email_address"),
        (json!({"email_address": ["Ada <ada@example.com>"]}), "form_param_format_invalid", "email_address"),
        (json!({"email_address": [""]}), "form_param_format_invalid", "email_address"),
        (json!({"email_address": ["a@b.de", "A@B.de"]}), "form_param_duplicate", "email_address"),
        (json!({"email_address": many}), "form_param_array_size_exceeded", "email_address"),
        (json!({"email_address": "ada@example.com"}), "form_param_type_invalid", "email_address"),
        (json!({"email_address": [7]}), "form_param_type_invalid", "email_address"),
        (json!({"email_address": null}), "form_param_nil", "email_address"),
        (json!({"phone_number": ["555 0100"]}), "form_param_format_invalid", "phone_number"),
        (json!({"phone_number": ["+14155552671", "+14155552671"]}), "form_param_duplicate", "phone_number"),
        (json!({"web3_wallet": ["0x12"]}), "form_param_format_invalid", "web3_wallet"),
        (json!({"web3_wallet": [WALLET, WALLET.to_lowercase()]}), "form_param_duplicate", "web3_wallet"),
        (json!({"username": "ada"}), "form_username_invalid_length", "username"),
        (json!({"username": "x".repeat(65)}), "form_username_invalid_length", "username"),
        (json!({"username": "ada.lovelace"}), "form_username_invalid_character", "username"),
        (json!({"username": "12345"}), "form_username_needs_non_number_char", "username"),
        (json!({"username": "+14155552671"}), "form_username_cannot_be_phone_number", "username"),
        (json!({"first_name": long}), "form_param_max_length_exceeded", "first_name"),
        (json!({"first_name": "<b>Ada</b>"}), "form_param_value_invalid", "first_name"),
        (json!({"first_name": 7}), "form_param_type_invalid", "first_name"),
        (json!({"last_name": long}), "form_param_max_length_exceeded", "last_name"),
        (json!({"last_name": "see https://evil.example"}), "form_param_value_invalid", "last_name"),
        (json!({"last_name": "Love\u{0}lace"}), "form_param_value_invalid", "last_name"),
        (json!({"locale": "english!"}), "form_param_format_invalid", "locale"),
        (json!({"timezone": "Europe/"}), "form_param_format_invalid", "timezone"),
        (json!({"timezone": "<b>UTC</b>"}), "form_param_format_invalid", "timezone"),
        (json!({"timezone": "A".repeat(65)}), "form_param_format_invalid", "timezone"),
        (json!({"timezone": 1}), "form_param_type_invalid", "timezone"),
        (json!({"external_id": "x".repeat(256)}), "form_param_max_length_exceeded", "external_id"),
        (json!({"created_at": "yesterday"}), "form_param_invalid_time", "created_at"),
        (json!({"created_at": "2026-01-01T00:00:00.001Z"}), "form_disallow_future_date", "created_at"),
        (json!({"legal_accepted_at": "2012-13-01"}), "form_param_invalid_time", "legal_accepted_at"),
        (
            json!({"legal_accepted_at": "2030-01-01T00:00:00Z"}),
            "form_disallow_future_date",
            "legal_accepted_at",
        ),
        (json!({"totp_secret": "not base32!"}), "invalid_totp_secret_code", "totp_secret"),
        (json!({"totp_secret": ""}), "invalid_totp_secret_code", "totp_secret"),
        (json!({"backup_codes": ["12345"]}), "form_param_format_invalid", "backup_codes"),
        (json!({"backup_codes": ["$2b$99$nonsense"]}), "form_param_format_invalid", "backup_codes"),
        (json!({"backup_codes": codes}), "form_param_array_size_exceeded", "backup_codes"),
        (json!({"create_organizations_limit": -1}), "form_param_value_invalid", "create_organizations_limit"),
        (json!({"create_organizations_limit": 1.5}), "form_param_type_invalid", "create_organizations_limit"),
        (json!({"public_metadata": []}), "form_param_type_invalid", "public_metadata"),
        (json!({"private_metadata": "x"}), "form_param_type_invalid", "private_metadata"),
        (json!({"unsafe_metadata": null}), "form_param_nil", "unsafe_metadata"),
        (
            json!({"public_metadata": {"a": "x".repeat(8192)}}),
            "form_param_exceeds_allowed_size",
            "public_metadata",
        ),
        (json!({"banned": "yes"}), "form_param_type_invalid", "banned"),
        (json!({"role": "admin"}), "form_param_unknown", "role"),
        (json!({"id": "user_1"}), "form_param_unknown", "id"),
    ];
    for (fields, code, param) in cases {
        let mut body = json!({"username": "somebody"});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let answer = t.post("/v1/users", body).await;
        assert_eq!((answer.status, answer.problems()), (422, vec![(code, param)]), "{fields}");
    }
    assert_eq!(t.get("/v1/users").await.ok(), json!([]));
}

#[tokio::test]
async fn several_problems_come_in_one_answer() {
    let t = TestServer::start().await;
    let answer = t
        .post(
            "/v1/users",
            json!({
                "email_address": ["nonsense", "ada@example.com"], "phone_number": ["1"], "username": "no",
                "first_name": "<i>", "created_at": "soon", "password": "short", "totp_secret": "1",
                "public_metadata": {"a": "x".repeat(9000)}
            }),
        )
        .await;
    let mut problems = answer.problems();
    problems.sort_unstable();
    assert_eq!(
        problems,
        [
            ("form_param_exceeds_allowed_size", "public_metadata"),
            ("form_param_format_invalid", "email_address"),
            ("form_param_format_invalid", "phone_number"),
            ("form_param_invalid_time", "created_at"),
            ("form_param_value_invalid", "first_name"),
            ("form_password_length_too_short", "password"),
            ("form_username_invalid_length", "username"),
            ("invalid_totp_secret_code", "totp_secret"),
        ]
    );
    assert_eq!(answer.status, 422);
}

#[tokio::test]
async fn nobody_is_created_from_nothing() {
    let t = TestServer::start().await;
    for body in [
        json!({}),
        json!({"first_name": "Ada"}),
        json!({"password": "vexed-quilt-27"}),
        json!({"username": ""}),
    ] {
        let answer = t.post("/v1/users", body.clone()).await;
        answer.is_error(422, "form_data_missing");
        let missing = &answer.json["errors"][0]["meta"]["missing_fields"];
        assert_eq!(missing, &json!(["email_address", "phone_number", "web3_wallet", "username"]), "{body}");
    }
}

#[tokio::test]
async fn null_means_left_out_where_it_is_allowed() {
    let t = TestServer::start().await;
    let nullable = [
        "external_id",
        "first_name",
        "last_name",
        "locale",
        "timezone",
        "password",
        "password_digest",
        "skip_password_checks",
        "skip_password_requirement",
        "totp_secret",
        "delete_self_enabled",
        "legal_accepted_at",
        "skip_legal_checks",
        "skip_user_requirement",
        "create_organization_enabled",
        "create_organizations_limit",
        "created_at",
        "bypass_client_trust",
        "banned",
        "locked",
    ];
    let mut body = json!({"username": "somebody"});
    for field in nullable {
        body[field] = Value::Null;
    }
    let full = t.user(body).await;
    let plain = t.user(json!({"username": "somebody_else"})).await;
    for (key, value) in full.as_object().unwrap() {
        if !["id", "username", "image_url", "profile_image_url"].contains(&key.as_str()) {
            assert_eq!(value, &plain[key], "{key}");
        }
    }
}

#[tokio::test]
async fn empty_texts_mean_none() {
    let t = TestServer::start().await;
    for name in ["first", "second"] {
        let address = format!("{name}@example.com");
        let user = t
            .user(json!({
                "email_address": [address], "username": "", "first_name": "", "last_name": "", "locale": "", "external_id": ""
            }))
            .await;
        for field in ["username", "first_name", "last_name", "locale", "external_id"] {
            assert_eq!(user[field], Value::Null, "{field}");
        }
    }
}

#[tokio::test]
async fn timezone_is_shown_once_it_is_set() {
    let t = TestServer::start().await;
    let plain = t.user(json!({"username": "without"})).await;
    assert_eq!(plain.get("timezone"), None, "the published user does not have it");
    let user = t.user(json!({"username": "with_one", "timezone": "America/Argentina/Buenos_Aires"})).await;
    assert_eq!(user["timezone"], "America/Argentina/Buenos_Aires");
    let path = format!("/v1/users/{}", user["id"].as_str().unwrap());
    t.patch(&path, json!({"timezone": "/etc/passwd"})).await.is_error(422, "form_param_format_invalid");
    t.patch(&path, json!({"first_name": "Ada"})).await.ok();
    assert_eq!(t.get(&path).await.ok()["timezone"], "America/Argentina/Buenos_Aires");
    assert_eq!(t.patch(&path, json!({"timezone": "Etc/GMT+5"})).await.ok()["timezone"], "Etc/GMT+5");
    for nothing in [Value::Null, json!("")] {
        t.patch(&path, json!({"timezone": "UTC"})).await.ok();
        let changed = t.patch(&path, json!({"timezone": nothing})).await.ok();
        assert_eq!(changed.get("timezone"), None);
    }
}

#[tokio::test]
async fn reserved_identifiers_are_unverified_and_nobody_else_gets_them() {
    let t = TestServer::start().await;
    let user = t
        .user(json!({
            "email_address": ["a@example.com"], "email_address_identification_status": ["reserved"],
            "phone_number": ["+14155552671"], "phone_number_identification_status": ["reserved"]
        }))
        .await;
    for contact in [&user["email_addresses"][0], &user["phone_numbers"][0]] {
        assert_eq!((&contact["reserved"], &contact["verification"]), (&json!(true), &Value::Null));
    }
    t.post("/v1/users", json!({"email_address": ["A@example.com"]})).await.is_problem(
        422,
        "form_identifier_exists",
        "email_address",
    );
    t.post("/v1/users", json!({"phone_number": ["+14155552671"]})).await.is_problem(
        422,
        "form_identifier_exists",
        "phone_number",
    );
    let also_reserved =
        json!({"email_address": ["a@example.com"], "email_address_identification_status": ["reserved"]});
    t.post("/v1/users", also_reserved).await.is_error(422, "form_identifier_exists");
}

#[tokio::test]
async fn statuses_are_given_for_all_identifiers_or_for_none() {
    let t = TestServer::start().await;
    for (kind, values) in [
        ("email_address", ["a@example.com", "b@example.com"]),
        ("phone_number", ["+14155552671", "+14155552672"]),
    ] {
        let statuses = format!("{kind}_identification_status");
        for given in [json!(["reserved"]), json!(["reserved", "verified", "reserved"])] {
            let body = json!({kind: values, &statuses: given});
            t.post("/v1/users", body).await.is_problem(422, "form_param_array_length_mismatch", &statuses);
        }
        t.post("/v1/users", json!({"username": "somebody", &statuses: ["reserved"]})).await.is_problem(
            422,
            "form_param_array_length_mismatch",
            &statuses,
        );
        // `unverified` exists for the replace operations only.
        t.post("/v1/users", json!({kind: values, &statuses: ["verified", "unverified"]})).await.is_problem(
            422,
            "form_param_value_invalid",
            &statuses,
        );
        t.user(json!({kind: values, &statuses: []})).await;
    }
}

#[tokio::test]
async fn identifiers_are_unique_within_the_instance_whatever_their_case() {
    let t = TestServer::start().await;
    t.user(json!({
        "email_address": ["ada@example.com", "ada@example.org"], "phone_number": ["+14155552671"], "username": "Ada_L",
        "web3_wallet": [WALLET], "external_id": "crm-7"
    }))
    .await;
    let taken = [
        (json!({"email_address": ["free@example.com", "ADA@Example.ORG"]}), "email_address"),
        (json!({"phone_number": ["+14155552671"]}), "phone_number"),
        (json!({"username": "ada_l"}), "username"),
        (json!({"web3_wallet": [WALLET.to_lowercase()]}), "web3_wallet"),
        (json!({"username": "free", "external_id": "crm-7"}), "external_id"),
    ];
    for (body, param) in taken {
        let answer = t.post("/v1/users", body).await;
        answer.is_problem(422, "form_identifier_exists", param);
        assert_eq!(
            t.call(Some(&t.other), "POST", "/v1/users", Some(json!({"username": format!("free_{param}")})))
                .await
                .status,
            200
        );
    }
    // External ids are another system's: their case matters.
    t.user(json!({"username": "free", "external_id": "CRM-7"})).await;
}

#[tokio::test]
async fn every_taken_identifier_is_named() {
    let t = TestServer::start().await;
    t.user(json!({"email_address": ["ada@example.com"]})).await;
    t.user(json!({"username": "ada_l"})).await;
    let answer = t
        .post("/v1/users", json!({"email_address": ["ada@example.com"], "username": "ADA_L", "phone_number": ["+14155552671"]}))
        .await;
    assert_eq!(
        answer.problems(),
        [("form_identifier_exists", "email_address"), ("form_identifier_exists", "username")]
    );
}

#[tokio::test]
async fn another_instance_may_use_the_same_identifiers() {
    let t = TestServer::start().await;
    let body = json!({
        "email_address": ["ada@example.com"], "phone_number": ["+14155552671"], "username": "ada_l",
        "web3_wallet": [WALLET], "external_id": "crm-7"
    });
    t.user(body.clone()).await;
    assert_eq!(t.call(Some(&t.other), "POST", "/v1/users", Some(body)).await.status, 200);
}

#[tokio::test]
async fn of_many_who_create_the_same_address_at_once_one_succeeds() {
    let t = TestServer::start().await;
    let body = || json!({"email_address": ["ada@example.com"]});
    let answers = tokio::join!(
        t.post("/v1/users", body()),
        t.post("/v1/users", body()),
        t.post("/v1/users", body()),
        t.post("/v1/users", body()),
    );
    let answers = [answers.0, answers.1, answers.2, answers.3];
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    for refused in answers.iter().filter(|answer| answer.status != 200) {
        refused.is_problem(422, "form_identifier_exists", "email_address");
    }
    assert_eq!(t.get("/v1/users/count").await.ok()["total_count"], 1);
}

#[tokio::test]
async fn past_dates_are_kept_with_their_milliseconds_and_offset() {
    let t = TestServer::start().await;
    for (name, text, ms) in [
        ("zulu", "2012-10-20T07:15:20.902Z", 1_350_717_320_902_i64),
        ("offset", "2012-10-20T09:15:20+02:00", 1_350_717_320_000),
        ("before_1970", "1969-12-31T23:59:59Z", -1000),
        ("this_moment", "2026-01-01T00:00:00Z", NOW),
    ] {
        let user = t.user(json!({"username": name, "created_at": text, "legal_accepted_at": text})).await;
        assert_eq!((&user["created_at"], &user["legal_accepted_at"]), (&json!(ms), &json!(ms)), "{text}");
        assert_eq!(user["updated_at"], NOW);
    }
}

#[tokio::test]
async fn deleted_user_is_gone_and_frees_every_identifier() {
    let t = TestServer::start().await;
    let body = json!({
        "email_address": ["ada@example.com"], "phone_number": ["+14155552671"], "username": "ada_l",
        "web3_wallet": [WALLET], "external_id": "crm-7", "password": "vexed-quilt-27"
    });
    let user = t.user(body.clone()).await;
    let id = user["id"].as_str().unwrap();
    let path = format!("/v1/users/{id}");
    let deleted = t.delete(&path).await.ok();
    assert_eq!(deleted, json!({"object": "user", "id": id, "deleted": true}));
    t.get(&path).await.is_error(404, "resource_not_found");
    t.delete(&path).await.is_error(404, "resource_not_found");
    t.patch(&path, json!({"first_name": "Ada"})).await.is_error(404, "resource_not_found");
    let address = format!("/v1/email_addresses/{}", user["email_addresses"][0]["id"].as_str().unwrap());
    t.get(&address).await.is_error(404, "resource_not_found");
    assert_eq!(t.get("/v1/users").await.ok(), json!([]));
    let again = t.user(body).await;
    assert_ne!(again["id"], id);
}

#[tokio::test]
async fn nothing_of_a_deleted_user_is_left_in_the_tables() {
    let t = TestServer::start().await;
    let user = t
        .user(json!({
            "email_address": ["ada@example.com"], "password": "vexed-quilt-27", "totp_secret": "JBSWY3DPEHPK3PXP"
        }))
        .await;
    let address = user["email_addresses"][0]["id"].as_str().unwrap();
    t.post(&format!("/v1/email_addresses/{address}/prepare_verification"), json!({})).await.ok();
    t.delete(&format!("/v1/users/{}", user["id"].as_str().unwrap())).await.ok();
    for table in ["users", "identifications", "credentials", "verifications"] {
        let mut tx = t.db().read().await.unwrap();
        let rows = tx.all(&["SELECT count(*) FROM ", table], &[], |row| row.int(0)).await.unwrap();
        assert_eq!(rows, [0], "{table}");
    }
}

#[tokio::test]
async fn ids_of_another_instance_or_kind_are_not_found() {
    let t = TestServer::start().await;
    let foreign = t.call(Some(&t.other), "POST", "/v1/users", Some(json!({"username": "ada_l"}))).await.ok();
    let own = t.user(json!({"email_address": ["ada@example.com"]})).await;
    for id in [
        foreign["id"].as_str().unwrap(),
        own["email_addresses"][0]["id"].as_str().unwrap(),
        "user_000000000000000000000000000",
        "user_1",
        "nonsense",
    ] {
        t.get(&format!("/v1/users/{id}")).await.is_error(404, "resource_not_found");
        t.delete(&format!("/v1/users/{id}")).await.is_error(404, "resource_not_found");
    }
    let path = format!("/v1/users/{}", foreign["id"].as_str().unwrap());
    assert_eq!(t.call(Some(&t.other), "GET", &path, None).await.ok(), foreign);
}

//! `PATCH /users/{user_id}`.

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::{Attribute, Settings};
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

const NOW: i64 = 1_767_225_600_000;
const WALLET: &str = "0x71C7656EC7ab88b098defB751B7401B5f6d8976F";
const OTHER_WALLET: &str = "0x0000000000000000000000000000000000000001";

fn path(user: &Value) -> String {
    format!("/v1/users/{}", user["id"].as_str().unwrap())
}

async fn ada(t: &TestServer) -> Value {
    t.user(json!({
        "external_id": "crm-7", "first_name": "Ada", "last_name": "Lovelace", "locale": "en-GB", "username": "ada_l",
        "email_address": ["ada@example.com", "countess@example.com"], "phone_number": ["+14155552671", "+14155552672"],
        "web3_wallet": [WALLET, OTHER_WALLET], "legal_accepted_at": "2020-01-01T00:00:00Z",
        "create_organizations_limit": 3
    }))
    .await
}

#[tokio::test]
async fn every_field_can_be_updated() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    t.clock.advance_ms(5);
    let changed = t
        .patch(
            &path(&user),
            json!({
                "external_id": "crm-8", "first_name": "Augusta", "last_name": "King", "locale": "fr",
                "username": "countess", "primary_email_address_id": user["email_addresses"][1]["id"],
                "primary_phone_number_id": user["phone_numbers"][1]["id"],
                "primary_web3_wallet_id": user["web3_wallets"][1]["id"], "notify_primary_email_address_changed": true,
                "password": "vexed-quilt-27", "skip_password_checks": true, "sign_out_of_other_sessions": true,
                "totp_secret": "JBSWY3DPEHPK3PXP", "backup_codes": ["first-code"], "delete_self_enabled": false,
                "create_organization_enabled": false, "legal_accepted_at": "2021-01-01T00:00:00Z",
                "skip_legal_checks": true, "create_organizations_limit": 4, "created_at": "2019-01-01T00:00:00Z",
                "bypass_client_trust": true
            }),
        )
        .await
        .ok();
    let mut expected = user.clone();
    for (key, value) in json!({
        "external_id": "crm-8", "first_name": "Augusta", "last_name": "King", "locale": "fr", "username": "countess",
        "primary_email_address_id": user["email_addresses"][1]["id"],
        "primary_phone_number_id": user["phone_numbers"][1]["id"],
        "primary_web3_wallet_id": user["web3_wallets"][1]["id"],
        "password_enabled": true, "password_last_updated_at": NOW + 5, "totp_enabled": true, "two_factor_enabled": true,
        "backup_code_enabled": true, "mfa_enabled_at": NOW + 5, "delete_self_enabled": false,
        "create_organization_enabled": false, "legal_accepted_at": 1_609_459_200_000_i64,
        "create_organizations_limit": 4, "created_at": 1_546_300_800_000_i64, "bypass_client_trust": true,
        "updated_at": NOW + 5, "image_url": changed["image_url"], "profile_image_url": changed["image_url"]
    })
    .as_object()
    .unwrap()
    {
        expected[key] = value.clone();
    }
    assert_eq!(changed, expected);
    assert_ne!(changed["image_url"], user["image_url"], "the initials are others");
    assert_eq!(t.shown(user["id"].as_str().unwrap()).await, changed);
}

#[tokio::test]
async fn empty_and_unchanged_updates_change_nothing() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    t.clock.advance_ms(5);
    for body in [
        json!({}),
        json!({"first_name": "Ada", "username": "ada_l", "external_id": "crm-7"}),
        json!({"password": null, "primary_email_address_id": null, "created_at": null, "delete_self_enabled": null}),
        json!({"primary_email_address_id": user["primary_email_address_id"]}),
    ] {
        assert_eq!(t.patch(&path(&user), body).await.ok(), user);
    }
}

#[tokio::test]
async fn null_and_empty_clear_what_may_be_absent() {
    let t = TestServer::start().await;
    for clear in [Value::Null, json!("")] {
        let user = ada(&t).await;
        let body = json!({
            "external_id": clear, "first_name": clear, "last_name": clear, "locale": clear, "username": clear
        });
        let cleared = t.patch(&path(&user), body).await.ok();
        for field in ["external_id", "first_name", "last_name", "locale", "username"] {
            assert_eq!(cleared[field], Value::Null, "{field}");
        }
        t.delete(&path(&user)).await.ok();
    }
    let user = ada(&t).await;
    let body = json!({"legal_accepted_at": null, "create_organizations_limit": null});
    let cleared = t.patch(&path(&user), body).await.ok();
    assert_eq!(
        (&cleared["legal_accepted_at"], &cleared["create_organizations_limit"]),
        (&Value::Null, &Value::Null)
    );
}

#[tokio::test]
async fn each_wrong_field_is_refused_and_nothing_is_changed() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    let long = "x".repeat(257);
    let cases = [
        (json!({"username": "ada"}), "form_username_invalid_length", "username"),
        (json!({"username": "a b c d"}), "form_username_invalid_character", "username"),
        (json!({"username": "12345"}), "form_username_needs_non_number_char", "username"),
        (json!({"username": "+14155552671"}), "form_username_cannot_be_phone_number", "username"),
        (json!({"first_name": long}), "form_param_max_length_exceeded", "first_name"),
        (json!({"last_name": "<script>"}), "form_param_value_invalid", "last_name"),
        (json!({"locale": "en_US"}), "form_param_format_invalid", "locale"),
        (json!({"external_id": "x".repeat(256)}), "form_param_max_length_exceeded", "external_id"),
        (json!({"created_at": "2027-01-01T00:00:00Z"}), "form_disallow_future_date", "created_at"),
        (json!({"created_at": "now"}), "form_param_invalid_time", "created_at"),
        (
            json!({"legal_accepted_at": "2027-01-01T00:00:00Z"}),
            "form_disallow_future_date",
            "legal_accepted_at",
        ),
        (json!({"create_organizations_limit": -1}), "form_param_value_invalid", "create_organizations_limit"),
        (json!({"totp_secret": "1"}), "invalid_totp_secret_code", "totp_secret"),
        (json!({"backup_codes": ["1"]}), "form_param_format_invalid", "backup_codes"),
        (json!({"backup_codes": null}), "form_param_nil", "backup_codes"),
        (json!({"password_digest": null}), "form_param_nil", "password_digest"),
        (json!({"password": "short"}), "form_password_length_too_short", "password"),
        (json!({"skip_password_checks": true}), "form_conditional_param_missing", "skip_password_checks"),
        (
            json!({"sign_out_of_other_sessions": true}),
            "form_conditional_param_missing",
            "sign_out_of_other_sessions",
        ),
        (json!({"email_address": ["new@example.com"]}), "form_param_unknown", "email_address"),
        (json!({"banned": true}), "form_param_unknown", "banned"),
        (json!({"primary_email_address_id": ""}), "form_resource_not_found", "primary_email_address_id"),
    ];
    for (mut body, code, param) in cases {
        body["first_name"] = body.get("first_name").cloned().unwrap_or(json!("Changed"));
        let answer = t.patch(&path(&user), body.clone()).await;
        assert_eq!((answer.status, answer.problems()), (422, vec![(code, param)]), "{body}");
        assert_eq!(t.shown(user["id"].as_str().unwrap()).await, user, "{body}");
    }
}

#[tokio::test]
async fn flags_without_password_are_only_refused_when_they_are_true() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    let body = json!({"skip_password_checks": false, "sign_out_of_other_sessions": false, "skip_legal_checks": true});
    t.patch(&path(&user), body).await.ok();
}

#[tokio::test]
async fn usernames_and_external_ids_of_others_are_taken() {
    let t = TestServer::start().await;
    ada(&t).await;
    let user = t.user(json!({"username": "charles", "external_id": "crm-1"})).await;
    t.patch(&path(&user), json!({"username": "ADA_L"})).await.is_problem(
        422,
        "form_identifier_exists",
        "username",
    );
    t.patch(&path(&user), json!({"external_id": "crm-7"})).await.is_problem(
        422,
        "form_identifier_exists",
        "external_id",
    );
    assert_eq!(t.shown(user["id"].as_str().unwrap()).await, user);
    // One's own name in another case is no conflict.
    assert_eq!(t.patch(&path(&user), json!({"username": "Charles"})).await.ok()["username"], "Charles");
}

#[tokio::test]
async fn a_changed_or_removed_username_is_free_for_others() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    t.patch(&path(&user), json!({"username": "countess"})).await.ok();
    let next = t.user(json!({"username": "ada_l"})).await;
    t.patch(&path(&user), json!({"username": null})).await.ok();
    t.patch(&path(&next), json!({"username": "countess"})).await.ok();
}

#[tokio::test]
async fn the_last_identification_cannot_be_removed_by_clearing_the_username() {
    let t = TestServer::start().await;
    let user = t.user(json!({"username": "ada_l"})).await;
    for nothing in [Value::Null, json!("")] {
        t.patch(&path(&user), json!({"username": nothing})).await.is_problem(
            422,
            "form_param_nil",
            "username",
        );
    }
    assert_eq!(t.shown(user["id"].as_str().unwrap()).await, user);
}

#[tokio::test]
async fn a_required_username_cannot_be_removed() {
    let mut settings = Settings::default();
    settings.attributes.username = Attribute { enabled: true, required: true, ..Attribute::default() };
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let user = ada(&t).await;
    t.patch(&path(&user), json!({"username": null})).await.is_problem(422, "form_param_nil", "username");
    t.patch(&path(&user), json!({"username": "countess"})).await.ok();
}

#[tokio::test]
async fn primary_identifiers_must_be_verified_ones_of_the_user() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    let stranger = t
        .user(json!({
            "email_address": ["x@example.com"], "phone_number": ["+14155552679"],
            "web3_wallet": ["0x0000000000000000000000000000000000000009"]
        }))
        .await;
    for (param, list) in [
        ("primary_email_address_id", "email_addresses"),
        ("primary_phone_number_id", "phone_numbers"),
        ("primary_web3_wallet_id", "web3_wallets"),
    ] {
        let unknown = [
            stranger[list][0]["id"].clone(),
            json!("idn_000000000000000000000000000"),
            json!("nonsense"),
            user["id"].clone(),
        ];
        for id in unknown {
            t.patch(&path(&user), json!({param: id})).await.is_problem(422, "form_resource_not_found", param);
        }
    }
    let id = user["id"].as_str().unwrap();
    let address =
        t.post("/v1/email_addresses", json!({"user_id": id, "email_address": "new@example.com"})).await.ok();
    let body = json!({"primary_email_address_id": address["id"]});
    t.patch(&path(&user), body.clone()).await.is_problem(
        422,
        "form_verification_needed",
        "primary_email_address_id",
    );
    let address_path = format!("/v1/email_addresses/{}", address["id"].as_str().unwrap());
    t.patch(&address_path, json!({"verified": true})).await.ok();
    assert_eq!(t.patch(&path(&user), body).await.ok()["primary_email_address_id"], address["id"]);
    // A number is no address, though it belongs to the user.
    let number = &user["phone_numbers"][0]["id"];
    t.patch(&path(&user), json!({"primary_email_address_id": number}))
        .await
        .is_error(422, "form_resource_not_found");
}

#[tokio::test]
async fn reserved_identifiers_cannot_become_primary() {
    let t = TestServer::start().await;
    let user = t
        .user(json!({
            "email_address": ["a@example.com", "b@example.com"],
            "email_address_identification_status": ["verified", "reserved"]
        }))
        .await;
    let body = json!({"primary_email_address_id": user["email_addresses"][1]["id"]});
    t.patch(&path(&user), body).await.is_problem(422, "form_verification_needed", "primary_email_address_id");
}

#[tokio::test]
async fn previous_primary_address_is_told_only_when_asked_and_when_it_changes() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    let (first, second) = (&user["email_addresses"][0]["id"], &user["email_addresses"][1]["id"]);
    t.patch(&path(&user), json!({"primary_email_address_id": second})).await.ok();
    assert_eq!(t.inbox().await.len(), 0);
    let notify =
        |id: &Value| json!({"primary_email_address_id": id, "notify_primary_email_address_changed": true});
    t.patch(&path(&user), notify(second)).await.ok();
    assert_eq!(t.inbox().await.len(), 0);
    t.patch(&path(&user), notify(first)).await.ok();
    let inbox = t.inbox().await;
    assert_eq!(inbox.len(), 1);
    assert_eq!(
        (&inbox[0]["to"], &inbox[0]["slug"]),
        (&json!("countess@example.com"), &json!("primary_email_address_changed"))
    );
    t.patch(&path(&user), json!({"first_name": "A", "notify_primary_email_address_changed": true}))
        .await
        .ok();
    assert_eq!(t.inbox().await.len(), 1);
}

#[tokio::test]
async fn attributes_that_are_switched_off_are_unknown_parameters() {
    let off = Attribute::default();
    let mut settings = Settings::default();
    settings.attributes.username = off.clone();
    settings.attributes.password = off.clone();
    settings.attributes.authenticator_app = off.clone();
    settings.attributes.backup_code = off.clone();
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let user = t.user(json!({"email_address": ["ada@example.com"]})).await;
    for (body, param) in [
        (json!({"username": "ada_l"}), "username"),
        (json!({"password": "vexed-quilt-27"}), "password"),
        (
            json!({"password_digest": "3cb4e732631f47e6eb961f34554b7cde", "password_hasher": "md5"}),
            "password_digest",
        ),
        (json!({"totp_secret": "JBSWY3DPEHPK3PXP"}), "totp_secret"),
        (json!({"backup_codes": ["first-code"]}), "backup_codes"),
    ] {
        t.patch(&path(&user), body).await.is_problem(422, "form_param_unknown", param);
    }
    // What is off can still be cleared.
    t.patch(&path(&user), json!({"username": null, "totp_secret": null, "backup_codes": []})).await.ok();
}

#[tokio::test]
async fn accepted_terms_cannot_be_taken_back_where_consent_is_required() {
    let settings = Settings { legal_consent_required: true, ..Settings::default() };
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let user = t.user(json!({"username": "ada_l", "skip_legal_checks": true})).await;
    // Somebody who has not accepted yet can still be changed.
    t.patch(&path(&user), json!({"first_name": "Ada"})).await.ok();
    t.patch(&path(&user), json!({"legal_accepted_at": "2025-01-01T00:00:00Z"})).await.ok();
    t.patch(&path(&user), json!({"legal_accepted_at": null})).await.is_problem(
        422,
        "form_param_missing",
        "legal_accepted_at",
    );
    let body = json!({"legal_accepted_at": null, "skip_legal_checks": true});
    assert_eq!(t.patch(&path(&user), body).await.ok()["legal_accepted_at"], Value::Null);
}

#[tokio::test]
async fn an_unknown_picture_is_not_found() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    for id in ["img_000000000000000000000000000", "nonsense", ""] {
        t.patch(&path(&user), json!({"profile_image_id": id})).await.is_problem(
            404,
            "image_not_found",
            "profile_image_id",
        );
    }
    let cleared = t.patch(&path(&user), json!({"profile_image_id": null})).await.ok();
    assert_eq!(cleared["has_image"], false);
}

#[tokio::test]
async fn metadata_is_unknown_here_in_the_newest_version() {
    let t = TestServer::start().await;
    let user = ada(&t).await;
    for field in ["public_metadata", "private_metadata", "unsafe_metadata"] {
        t.patch(&path(&user), json!({field: {"a": 1}})).await.is_problem(422, "form_param_unknown", field);
    }
}

#[tokio::test]
async fn metadata_is_replaced_here_in_older_versions() {
    let t = TestServer::start().await;
    let user = t
        .user(json!({
            "username": "ada_l", "public_metadata": {"a": 1, "b": {"c": 2}}, "private_metadata": {"kept": true}
        }))
        .await;
    for version in ["2021-02-05", "2024-10-01", "2025-04-10", "2025-11-10"] {
        let body = json!({"public_metadata": {"version": version, "null": null}, "unsafe_metadata": {"v": [version]}});
        let changed = t.call_version(version, "PATCH", &path(&user), Some(body)).await.ok();
        assert_eq!(changed["public_metadata"], json!({"version": version, "null": null}));
        assert_eq!(changed["private_metadata"], json!({"kept": true}));
        assert_eq!(changed["unsafe_metadata"], json!({"v": [version]}));
        let too_much = json!({"private_metadata": {"a": "x".repeat(8192)}});
        t.call_version(version, "PATCH", &path(&user), Some(too_much)).await.is_problem(
            422,
            "form_param_exceeds_allowed_size",
            "private_metadata",
        );
        let cleared =
            t.call_version(version, "PATCH", &path(&user), Some(json!({"public_metadata": {}}))).await.ok();
        assert_eq!(cleared["public_metadata"], json!({}));
    }
}

//! What the settings of an instance require of a new user, and refuse.

use latchkey_kernel::environment::Environment::Development;
use latchkey_kernel::settings::{Attribute, Settings};
use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};

const WALLET: &str = "0x71C7656EC7ab88b098defB751B7401B5f6d8976F";

fn off() -> Attribute {
    Attribute::default()
}

fn required() -> Attribute {
    Attribute { enabled: true, required: true, ..Attribute::default() }
}

fn with(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings::default();
    change(&mut settings);
    settings
}

/// Creates a user in a new instance with these settings.
async fn create_in(t: &TestServer, settings: Settings, body: Value) -> Answer {
    let tenant = t.new_tenant(Development, settings).await;
    t.call(Some(&tenant), "POST", "/v1/users", Some(body)).await
}

#[tokio::test]
async fn attributes_that_are_switched_off_are_unknown_parameters() {
    let t = TestServer::start().await;
    type Switch = fn(&mut Settings);
    let cases: [(Switch, Value, &str); 9] = [
        (
            |s| s.attributes.email_address = off(),
            json!({"email_address": ["a@example.com"]}),
            "email_address",
        ),
        (|s| s.attributes.phone_number = off(), json!({"phone_number": ["+14155552671"]}), "phone_number"),
        (|s| s.attributes.username = off(), json!({"username": "ada_l"}), "username"),
        (|s| s.attributes.password = off(), json!({"password": "vexed-quilt-27"}), "password"),
        (
            |s| s.attributes.password = off(),
            json!({"password_digest": "3cb4e732631f47e6eb961f34554b7cde", "password_hasher": "md5"}),
            "password_digest",
        ),
        (
            |s| s.attributes.authenticator_app = off(),
            json!({"totp_secret": "JBSWY3DPEHPK3PXP"}),
            "totp_secret",
        ),
        (|s| s.attributes.backup_code = off(), json!({"backup_codes": ["first-code"]}), "backup_codes"),
        (|s| s.attributes.first_name = off(), json!({"first_name": "Ada"}), "first_name"),
        (|s| s.attributes.last_name = off(), json!({"last_name": "Lovelace"}), "last_name"),
    ];
    for (switch, fields, param) in cases {
        let mut body = if param == "email_address" {
            json!({"username": "ada_l"})
        } else {
            json!({"email_address": ["b@example.com"]})
        };
        let rest = create_in(&t, with(switch), body.clone()).await;
        assert_eq!(rest.status, 200, "{param}");
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        create_in(&t, with(switch), body).await.is_problem(422, "form_param_unknown", param);
    }
}

#[tokio::test]
async fn required_attributes_must_be_given_unless_told_otherwise() {
    let t = TestServer::start().await;
    type Switch = fn(&mut Settings);
    let cases: [(Switch, &str, Value); 3] = [
        (|s| s.attributes.email_address = required(), "email_address", json!(["a@example.com"])),
        (|s| s.attributes.phone_number = required(), "phone_number", json!(["+14155552671"])),
        (|s| s.attributes.username = required(), "username", json!("ada_l")),
    ];
    for (switch, field, value) in cases {
        let other = if field == "email_address" {
            json!({"username": "ada_l"})
        } else {
            json!({"email_address": ["b@example.com"]})
        };
        let answer = create_in(&t, with(switch), other.clone()).await;
        answer.is_error(422, "form_data_missing");
        assert_eq!(answer.json["errors"][0]["meta"]["missing_fields"], json!([field]));
        let mut skipping = other.clone();
        skipping["skip_user_requirement"] = json!(true);
        assert_eq!(create_in(&t, with(switch), skipping).await.status, 200, "{field}");
        let mut complete = other;
        complete[field] = value;
        assert_eq!(create_in(&t, with(switch), complete).await.status, 200, "{field}");
    }
}

/// Settings from before wallets could be proven name no way to do so: they mean that wallets are off.
#[tokio::test]
async fn wallets_nobody_can_prove_are_given_by_backends_alone_and_never_required() {
    let t = TestServer::start().await;
    for attribute in [off(), required()] {
        let settings = || with(|s| s.attributes.web3_wallet = attribute.clone());
        let user = create_in(&t, settings(), json!({"web3_wallet": [WALLET]})).await.ok();
        assert_eq!(user["web3_wallets"].as_array().map(Vec::len), Some(1));
        assert_eq!(create_in(&t, settings(), json!({"username": "ada_l"})).await.status, 200);
    }
}

#[tokio::test]
async fn names_are_required_or_switched_off_as_the_instance_says() {
    let t = TestServer::start().await;
    for name in ["first_name", "last_name"] {
        let set = |attribute: Attribute| {
            with(|s| match name {
                "first_name" => s.attributes.first_name = attribute,
                _ => s.attributes.last_name = attribute,
            })
        };
        let tenant = t.new_tenant(Development, set(required())).await;
        let call = |method, path: String, body| {
            let (t, tenant) = (&t, &tenant);
            async move { t.call(Some(tenant), method, &path, Some(body)).await }
        };
        // A name identifies nobody.
        let nameless = json!({"username": "ada_l", "skip_user_requirement": true});
        let answer = call("POST", "/v1/users".into(), nameless).await;
        answer.is_error(422, "form_data_missing");
        assert_eq!(answer.json["errors"][0]["meta"]["missing_fields"], json!([name]));
        let user = call("POST", "/v1/users".into(), json!({"username": "ada_l", name: "Ada"})).await.ok();
        let path = format!("/v1/users/{}", user["id"].as_str().unwrap());
        for nothing in [Value::Null, json!("")] {
            call("PATCH", path.clone(), json!({name: nothing})).await.is_problem(422, "form_param_nil", name);
        }
        assert_eq!(call("PATCH", path.clone(), json!({name: "Augusta"})).await.ok()[name], "Augusta");
        let tenant = t.new_tenant(Development, set(off())).await;
        let call = |method, path: String, body| {
            let (t, tenant) = (&t, &tenant);
            async move { t.call(Some(tenant), method, &path, Some(body)).await }
        };
        let user = call("POST", "/v1/users".into(), json!({"username": "ada_l", name: ""})).await.ok();
        let path = format!("/v1/users/{}", user["id"].as_str().unwrap());
        call("PATCH", path.clone(), json!({name: "Ada"})).await.is_problem(422, "form_param_unknown", name);
        call("PATCH", path, json!({name: null})).await.ok();
    }
}

#[tokio::test]
async fn skipping_requirements_still_needs_one_identification() {
    let t = TestServer::start().await;
    let settings = with(|s| s.attributes.email_address = required());
    let answer = create_in(&t, settings, json!({"skip_user_requirement": true, "first_name": "Ada"})).await;
    answer.is_error(422, "form_data_missing");
}

#[tokio::test]
async fn required_password_may_be_skipped_unless_it_is_the_only_way_in() {
    let t = TestServer::start().await;
    let with_required = || with(|s| s.attributes.password = required());
    let body = json!({"username": "ada_l"});
    let answer = create_in(&t, with_required(), body.clone()).await;
    answer.is_error(422, "form_data_missing");
    assert_eq!(answer.json["errors"][0]["meta"]["missing_fields"], json!(["password"]));
    let with_password = json!({"username": "ada_l", "password": "vexed-quilt-27"});
    assert_eq!(create_in(&t, with_required(), with_password).await.status, 200);
    let with_digest = json!({"username": "ada_l", "password_digest": "3cb4e732631f47e6eb961f34554b7cde", "password_hasher": "md5"});
    assert_eq!(create_in(&t, with_required(), with_digest).await.status, 200);
    let skipping = json!({"username": "ada_l", "skip_password_requirement": true});
    assert_eq!(create_in(&t, with_required(), skipping.clone()).await.status, 200);
    let only_way = with(|s| {
        s.attributes.password = required();
        s.attributes.email_address = off();
        s.attributes.phone_number = off();
    });
    create_in(&t, only_way, skipping).await.is_error(422, "form_data_missing");
}

#[tokio::test]
async fn terms_must_be_accepted_where_consent_is_required() {
    let t = TestServer::start().await;
    let required = || with(|s| s.legal_consent_required = true);
    let answer = create_in(&t, required(), json!({"username": "ada_l"})).await;
    answer.is_error(422, "form_data_missing");
    assert_eq!(answer.json["errors"][0]["meta"]["missing_fields"], json!(["legal_accepted_at"]));
    let accepted = json!({"username": "ada_l", "legal_accepted_at": "2025-01-01T00:00:00Z"});
    assert_eq!(create_in(&t, required(), accepted).await.ok()["legal_accepted_at"], 1_735_689_600_000_i64);
    let skipping = json!({"username": "ada_l", "skip_legal_checks": true});
    assert_eq!(create_in(&t, required(), skipping).await.ok()["legal_accepted_at"], Value::Null);
}

#[tokio::test]
async fn instance_settings_decide_defaults_and_username_lengths() {
    let t = TestServer::start().await;
    let settings = || {
        with(|s| {
            s.actions.delete_self = false;
            s.actions.create_organization = false;
            s.actions.create_organizations_limit = Some(5);
            s.username.min_length = 2;
            s.username.max_length = 3;
            s.lockout.max_attempts = 100;
        })
    };
    let user = create_in(&t, settings(), json!({"username": "ada"})).await.ok();
    let shown = [
        "delete_self_enabled",
        "create_organization_enabled",
        "create_organizations_limit",
        "verification_attempts_remaining",
    ]
    .map(|key| user[key].clone());
    assert_eq!(shown, [json!(false), json!(false), json!(5), json!(100)]);
    let own = json!({"username": "ada", "delete_self_enabled": true, "create_organizations_limit": 0});
    let user = create_in(&t, settings(), own).await.ok();
    assert_eq!(
        (&user["delete_self_enabled"], &user["create_organizations_limit"]),
        (&json!(true), &json!(0))
    );
    create_in(&t, settings(), json!({"username": "adal"}))
        .await
        .is_error(422, "form_username_invalid_length");
}

//! What people may tell about themselves, and what is refused.

use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::{PASSWORD, PATH, begun, newest_code, server, without_passwords};

#[tokio::test]
async fn fields_follow_the_settings() {
    let t = server(|settings| {
        settings.attributes.phone_number.required_at_sign_up = true;
        settings.attributes.username.enabled = false;
        settings.attributes.last_name.required = true;
    })
    .await;
    let made = t.browser().post(PATH, json!({"first_name": "Ada", "last_name": "Lovelace"})).await.ok();
    let sign_up = &made["response"];
    assert_eq!(sign_up["required_fields"], json!(["email_address", "phone_number", "last_name", "password"]));
    assert_eq!(sign_up["optional_fields"], json!(["first_name"]));
    assert_eq!(sign_up["missing_fields"], json!(["email_address", "phone_number", "password"]));
    assert_eq!((&sign_up["first_name"], &sign_up["last_name"]), (&json!("Ada"), &json!("Lovelace")));
    assert_eq!((&sign_up["created_user_id"], &sign_up["created_session_id"]), (&Value::Null, &Value::Null));
    assert_eq!(
        sign_up["verifications"],
        json!({"email_address": null, "phone_number": null, "web3_wallet": null, "external_account": null})
    );
}

#[tokio::test]
async fn empty_texts_are_not_given() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    let fields = json!({
        "email_address": "ada@example.com", "phone_number": "", "username": "", "first_name": "", "last_name": "",
        "password": "", "strategy": "", "ticket": "", "transfer": "", "unsafe_metadata": "", "legal_accepted": "",
        "redirect_url": "", "captcha_token": "", "locale": "",
    });
    let made = browser.post(PATH, fields).await.ok();
    assert_eq!(
        (&made["response"]["phone_number"], &made["response"]["username"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        (&made["response"]["missing_fields"], &made["response"]["unsafe_metadata"]),
        (&json!(["password"]), &json!({}))
    );
    let path = format!("{PATH}/{}", made["response"]["id"].as_str().unwrap());
    let kept = browser.patch(&path, json!({"email_address": "", "first_name": "Ada"})).await.ok();
    assert_eq!(
        (&kept["response"]["email_address"], &kept["response"]["first_name"]),
        (&json!("ada@example.com"), &json!("Ada"))
    );
}

#[tokio::test]
async fn one_field_may_be_address_or_number() {
    let t = server(|settings| settings.attributes.email_address.required_at_sign_up = false).await;
    let made = t.browser().post(PATH, json!({"email_address_or_phone_number": "ada@example.com"})).await.ok();
    assert_eq!(made["response"]["email_address"], "ada@example.com");
    let made = t.browser().post(PATH, json!({"email_address_or_phone_number": "+4915112345678"})).await.ok();
    assert_eq!(made["response"]["phone_number"], "+4915112345678");
    // Numbers are read as people write them, as when they sign in.
    for field in ["phone_number", "email_address_or_phone_number"] {
        let made = t.browser().post(PATH, json!({field: "+1 (415) 555-0155"})).await.ok();
        assert_eq!(made["response"]["phone_number"], "+14155550155");
    }
    let made = t.browser().post(PATH, json!({"password": PASSWORD})).await.ok();
    assert_eq!(made["response"]["missing_fields"], json!(["email_address_or_phone_number"]));
}

#[tokio::test]
async fn fields_that_do_not_fit_are_named() {
    let t = TestServer::start().await;
    for (fields, code, param) in [
        (json!({"email_address": "ada"}), "form_param_format_invalid", "email_address"),
        (json!({"email_address": "Ada <a@b.de>"}), "form_param_format_invalid", "email_address"),
        (json!({"phone_number": "12345"}), "form_param_format_invalid", "phone_number"),
        (json!({"web3_wallet": "0x12"}), "form_param_unknown", "web3_wallet"),
        (json!({"username": "ada"}), "form_username_invalid_length", "username"),
        (json!({"username": "ada.lovelace"}), "form_username_invalid_character", "username"),
        (json!({"username": "1234567"}), "form_username_needs_non_number_char", "username"),
        (json!({"username": "+4915112345678"}), "form_username_cannot_be_phone_number", "username"),
        (json!({"first_name": "<b>Ada</b>"}), "form_param_value_invalid", "first_name"),
        (json!({"last_name": "x".repeat(257)}), "form_param_max_length_exceeded", "last_name"),
        (json!({"unsafe_metadata": "{"}), "form_param_type_invalid", "unsafe_metadata"),
        (json!({"legal_accepted": "maybe"}), "form_param_type_invalid", "legal_accepted"),
        (json!({"strategy": "magic"}), "form_param_value_invalid", "strategy"),
        (json!({"strategy": "email_code"}), "form_param_missing", "email_address"),
        (json!({"strategy": "phone_code"}), "form_param_missing", "phone_number"),
    ] {
        t.browser().post(PATH, fields).await.is_problem(422, code, param);
    }
    let everything = json!({"email_address": "ada", "username": "ada", "password": "12345"});
    let found = t.browser().post(PATH, everything).await;
    let codes: Vec<&str> = found.problems().iter().map(|(code, _)| *code).collect();
    assert_eq!(
        codes[..3],
        ["form_param_format_invalid", "form_username_invalid_length", "form_password_length_too_short"]
    );
}

#[tokio::test]
async fn attributes_that_are_switched_off_are_refused() {
    let t = server(|settings| {
        let attributes = &mut settings.attributes;
        for attribute in [
            &mut attributes.phone_number,
            &mut attributes.username,
            &mut attributes.first_name,
            &mut attributes.last_name,
            &mut attributes.password,
        ] {
            attribute.enabled = false;
        }
    })
    .await;
    for (param, value) in [
        ("phone_number", "+4915112345678"),
        ("username", "countess"),
        ("first_name", "Ada"),
        ("last_name", "Lovelace"),
        ("web3_wallet", "0x0000000000000000000000000000000000000001"),
        ("password", PASSWORD),
    ] {
        t.browser().post(PATH, json!({ param: value })).await.is_problem(422, "form_param_unknown", param);
    }
}

#[tokio::test]
async fn wallets_nobody_can_prove_are_neither_taken_nor_asked_for() {
    let t = without_passwords().await;
    let wallet = "0x0000000000000000000000000000000000000001";
    let mut browser = t.browser();
    let path = begun(&mut browser, json!({"email_address": "ada@example.com"})).await;
    let shown = browser.get(&path).await.ok();
    let optional = json!(["phone_number", "username", "first_name", "last_name", "password"]);
    assert_eq!(shown["response"]["optional_fields"], optional);
    let refused = browser.patch(&path, json!({"web3_wallet": wallet})).await;
    refused.is_problem(422, "form_param_unknown", "web3_wallet");
    // Backends may still say whose a wallet is.
    let user = t.user(json!({"web3_wallet": [wallet]})).await;
    assert_eq!(user["web3_wallets"][0]["web3_wallet"], wallet);
}

#[tokio::test]
async fn what_is_said_to_be_required_is_what_completes() {
    let t = server(|settings| {
        settings.attributes.email_address.required_at_sign_up = false;
        settings.attributes.password.required_at_sign_up = false;
    })
    .await;
    let made = t.browser().post(PATH, json!({})).await.ok();
    let (required, missing) = (&made["response"]["required_fields"], &made["response"]["missing_fields"]);
    assert_eq!((required, missing), (&json!(["email_address_or_phone_number"]), required));
    let done = t.browser().post(PATH, json!({"username": "solo1", "password": PASSWORD})).await.ok();
    let sign_up = &done["response"];
    assert_eq!((&sign_up["status"], &sign_up["missing_fields"]), (&json!("complete"), &json!([])));
    assert_eq!(sign_up["required_fields"], json!(["username", "password"]));
    let optional = json!(["email_address", "phone_number", "first_name", "last_name"]);
    assert_eq!(sign_up["optional_fields"], optional);
}

#[tokio::test]
async fn what_is_written_empty_is_cleared() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    let fields = json!({
        "email_address": "ada@example.com", "phone_number": "+4915112345678", "username": "countess",
        "first_name": "Ada", "last_name": "Lovelace",
    });
    let path = begun(&mut browser, fields).await;
    let kept = browser.patch(&path, json!({"locale": "en"})).await.ok();
    assert_eq!(kept["response"]["unverified_fields"], json!(["email_address", "phone_number"]));
    let empty = json!({"phone_number": "", "username": "", "first_name": "", "last_name": ""});
    let cleared = browser.patch(&path, empty).await.ok();
    let sign_up = &cleared["response"];
    for field in ["phone_number", "username", "first_name", "last_name"] {
        assert_eq!(sign_up[field], Value::Null, "{field}");
    }
    assert_eq!(sign_up["unverified_fields"], json!(["email_address"]));
    assert_eq!(sign_up["email_address"], "ada@example.com");
    // What the one field for both says counts more than the empty one beside it.
    let either = json!({"phone_number": "", "email_address_or_phone_number": "+4915112345679"});
    assert_eq!(browser.patch(&path, either).await.ok()["response"]["phone_number"], "+4915112345679");
}

#[tokio::test]
async fn weak_passwords_are_refused_with_the_reason_first() {
    let t = TestServer::start().await;
    let mut browser = t.browser();
    let short = browser.post(PATH, json!({"email_address": "ada@example.com", "password": "12345"})).await;
    assert_eq!((short.status, short.problems()[0]), (422, ("form_password_length_too_short", "password")));
    for (password, code) in [
        ("x".repeat(73), "form_password_length_too_long"),
        ("password123".to_owned(), "form_password_pwned"),
        ("Ada.Lovelace@example.com".to_owned(), "form_password_matches_identifier"),
        ("countess-of-engines".to_owned(), "form_password_matches_identifier"),
    ] {
        let fields = json!({"email_address": "ada.lovelace@example.com", "username": "countess-of-engines", "password": password});
        browser.post(PATH, fields).await.is_problem(422, code, "password");
    }
    let path = begun(&mut browser, json!({"email_address": "ada.lovelace@example.com"})).await;
    let same = browser.patch(&path, json!({"password": "ada.lovelace@example.com"})).await;
    same.is_problem(422, "form_password_matches_identifier", "password");
    assert_eq!(same.json["meta"]["client"]["sign_up"]["missing_fields"], json!(["password"]));
}

#[tokio::test]
async fn identifiers_somebody_has_are_refused() {
    let t = without_passwords().await;
    let person = json!({
        "email_address": ["ada@example.com"], "phone_number": ["+4915112345678"], "username": "countess",
        "web3_wallet": ["0x0000000000000000000000000000000000000001"],
    });
    t.user(person).await;
    let taken =
        [("email_address", "ADA@example.com"), ("phone_number", "+4915112345678"), ("username", "Countess")];
    let mut browser = t.browser();
    for (param, value) in taken {
        let refused = browser.post(PATH, json!({ param: value, "first_name": "Eve" })).await;
        refused.is_problem(422, "form_identifier_exists", param);
    }
    let path = begun(&mut browser, json!({"email_address": "eve@example.com"})).await;
    for (param, value) in taken {
        browser.patch(&path, json!({ param: value })).await.is_problem(422, "form_identifier_exists", param);
    }
    assert_eq!(browser.get(&path).await.ok()["response"]["email_address"], "eve@example.com");
    assert!(t.inbox().await.is_empty());
}

#[tokio::test]
async fn subaddresses_are_refused_where_the_instance_wants_it() {
    let t = server(|settings| settings.restrictions.block_email_subaddresses = true).await;
    for address in ["ada+1@example.com", "ada=1@example.com", "ada#1@example.com"] {
        let refused = t.browser().post(PATH, json!({"email_address": address})).await;
        refused.is_problem(403, "not_allowed_access", "email_address");
    }
    t.browser().post(PATH, json!({"email_address": "ada+clerk_test@example.com"})).await.ok();
    let t = TestServer::start().await;
    t.browser().post(PATH, json!({"email_address": "ada+1@example.com"})).await.ok();
}

#[tokio::test]
async fn terms_are_accepted_or_the_attempt_goes_no_further() {
    let t = server(|settings| {
        settings.attributes.password.required_at_sign_up = false;
        settings.legal_consent_required = true;
    })
    .await;
    let mut browser = t.browser();
    let refused = browser.post(PATH, json!({"legal_accepted": false})).await;
    refused.is_problem(422, "legal_not_accepted", "legal_accepted");
    let path =
        begun(&mut browser, json!({"email_address": "ada@example.com", "strategy": "email_code"})).await;
    let open = super::attempt(&mut browser, &path, "email_code", &newest_code(&t).await).await.ok();
    assert_eq!(open["response"]["missing_fields"], json!(["legal_accepted"]));
    let done = browser.patch(&path, json!({"legal_accepted": true})).await.ok();
    assert_eq!(done["response"]["status"], "complete");
}

#[tokio::test]
async fn language_that_is_none_turns_nobody_away() {
    let t = TestServer::start().await;
    let made = t.browser().post(PATH, json!({"locale": "de-AT"})).await.ok();
    assert_eq!(made["response"]["locale"], "de-AT");
    let made = t.browser().post(PATH, json!({"locale": "C"})).await.ok();
    assert_eq!(made["response"]["locale"], Value::Null);
}

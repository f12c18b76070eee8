//! Fields that a caller may not set (mass assignment), and texts that would do harm where they are
//! shown.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

/// What a user shows, or might, but nobody may send.
fn shown_only() -> Value {
    json!({
        "id": "user_000000000000000000000000000",
        "user_id": "user_000000000000000000000000000",
        "instance_id": "ins_000000000000000000000000000",
        "object": "admin",
        "email_verified": true,
        "role": "admin",
        "permissions": ["*"],
        "rate_limit": 1_000_000,
        "updated_at": 0,
        "last_sign_in_at": 0,
        "last_active_at": 0,
        "password_enabled": false,
        "totp_enabled": false,
        "two_factor_enabled": false,
        "backup_code_enabled": false,
        "mfa_enabled_at": 0,
        "failed_attempts": 0,
        "verification_attempts_remaining": 1000,
        "lockout_expires_in_seconds": 0,
        "email_addresses": [],
        "external_accounts": [],
        "passkeys": [],
        "verification": {"status": "verified"},
        "has_image": true,
        "image_url": "https://evil.example/x.png",
        "__proto__": {"banned": false},
    })
}

#[tokio::test]
async fn creating_and_updating_a_user_sets_nothing_but_what_is_published() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    let before = t.everything().await;
    let path = format!("/v1/users/{}", person.user);
    let mut refused = shown_only().as_object().unwrap().clone();
    for (name, value) in &refused {
        let answer = t.post("/v1/users", json!({"username": "somebody-new", name: value})).await;
        assert_eq!(
            (answer.status, answer.code(), answer.param()),
            (422, "form_param_unknown", name.as_str())
        );
    }
    let create_only = ["banned", "locked", "email_address", "phone_number", "web3_wallet"];
    let elsewhere = ["public_metadata", "private_metadata", "unsafe_metadata", "skip_password_requirement"];
    refused.extend(create_only.into_iter().chain(elsewhere).map(|name| (name.to_owned(), json!(true))));
    for (name, value) in &refused {
        let answer = t.patch(&path, json!({"first_name": "Eve", name: value})).await;
        assert_eq!(
            (answer.status, answer.code(), answer.param()),
            (422, "form_param_unknown", name.as_str())
        );
    }
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn time_of_creation_is_a_date_in_the_past_and_not_a_number() {
    let t = TestServer::start().await;
    let path = format!("/v1/users/{}", t.person(&t.tenant, 1).await.user);
    let before = t.everything().await;
    for (value, code) in [
        (json!(1_700_000_000_000_i64), "form_param_type_invalid"),
        (json!("1700000000000"), "form_param_invalid_time"),
        (json!("2012-10-20"), "form_param_invalid_time"),
        (json!("2026-01-01T00:00:00.001Z"), "form_disallow_future_date"),
        (json!("9999-01-01T00:00:00Z"), "form_disallow_future_date"),
        (json!("-292277022-01-01T00:00:00Z"), "form_param_invalid_time"),
    ] {
        for answer in [
            t.patch(&path, json!({"created_at": value})).await,
            t.post("/v1/users", json!({"username": "somebody", "created_at": value})).await,
        ] {
            assert_eq!((answer.status, answer.code()), (422, code), "{value}");
            assert_eq!(answer.param(), "created_at");
        }
    }
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn addresses_and_numbers_ignore_what_they_do_not_take() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    let smuggled = json!({
        "id": "idn_000000000000000000000000000", "reserved": true, "linked_to": [{"type": "x", "id": "y"}],
        "verification": {"status": "verified", "strategy": "admin"}, "created_at": 0, "object": "user",
        "default_second_factor": true, "identification_status": "verified",
    });
    let with = |mut body: Value| {
        body.as_object_mut().unwrap().extend(smuggled.as_object().unwrap().clone());
        body
    };
    let address = json!({"user_id": person.user, "email_address": "new@example.com"});
    let number = json!({"user_id": person.user, "phone_number": "+4915366666666"});
    let mut made = Vec::new();
    for (path, body) in [("/v1/email_addresses", address), ("/v1/phone_numbers", number)] {
        let created = t.post(path, with(body)).await.ok();
        let id = created["id"].as_str().unwrap();
        let updated = t.patch(&format!("{path}/{id}"), with(json!({}))).await.ok();
        assert_eq!(created, updated);
        made.push(created);
    }
    for created in made {
        assert_ne!(created["id"], smuggled["id"]);
        assert_eq!((&created["reserved"], &created["verification"]), (&json!(false), &Value::Null));
        assert_eq!(
            (&created["linked_to"], &created["created_at"]),
            (&json!([]), &json!(1_767_225_600_000_i64))
        );
    }
}

#[tokio::test]
async fn markup_and_links_do_not_enter_names() {
    let t = TestServer::start().await;
    let path = format!("/v1/users/{}", t.person(&t.tenant, 1).await.user);
    let before = t.everything().await;
    for bad in [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "Win at https://evil.example",
        "HTTP://evil.example",
        "www.evil.example",
        "Ada\nBcc: everyone@example.com",
        "Ada\u{1b}[31m",
    ] {
        for field in ["first_name", "last_name"] {
            let updated = t.patch(&path, json!({field: bad})).await;
            let created = t.post("/v1/users", json!({"username": "somebody", field: bad})).await;
            for answer in [updated, created] {
                answer.is_error(422, "form_param_value_invalid");
                assert_eq!(answer.param(), field);
            }
        }
    }
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn script_in_initials_does_not_enter_the_drawn_picture() {
    let t = TestServer::start().await;
    let id = t.person(&t.tenant, 1).await.user;
    for bad in ["<script>alert(1)</script>", "\"/><a href=\"x", "&lt;", "'onload='", "\u{202e}<"] {
        let initials = URL_SAFE_NO_PAD.encode(bad);
        let answer = t.call(None, "GET", &format!("/images/default/{id}?initials={initials}"), None).await;
        let svg = String::from_utf8(answer.bytes.clone()).unwrap();
        assert_eq!(answer.header("content-type"), "image/svg+xml");
        for harm in ["<script", "href", "onload", "<a", "&lt;"] {
            assert!(!svg.contains(harm), "{harm} in {svg}");
        }
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert!(answer.header("content-security-policy").starts_with("default-src 'none'"));
    }
    let broken = t.call(None, "GET", &format!("/images/default/{id}?initials=%%%"), None).await;
    broken.is_error(400, "malformed_request_parameters");
}

#[tokio::test]
async fn wildcards_and_quotes_in_searches_are_only_text() {
    let t = TestServer::start().await;
    t.person(&t.tenant, 1).await;
    for text in [
        "%25%25%25",
        "___",
        "%27%20OR%201%3D1--",
        "%22%22%22",
        "per%25",
        "%5C%5C%5C",
        "a%22%20OR%20b",
        "*",
        "{id}",
        "NEAR(",
        "per*",
        "-person",
    ] {
        for parameter in
            ["query", "email_address_query", "username_query", "name_query", "phone_number_query"]
        {
            let found = t.get(&format!("/v1/users?{parameter}={text}")).await.ok();
            assert_eq!(found, json!([]), "{parameter}={text}");
        }
    }
}

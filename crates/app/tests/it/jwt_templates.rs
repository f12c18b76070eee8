//! The five operations on JWT templates, and the tokens that are made from what they store.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::time::Clock;
use latchkey_base::{Id, Time};
use latchkey_jose::digest::hmac_sha256;
use latchkey_jose::jwt;
use latchkey_jose::rsa::SigningKey;
use latchkey_people::users;
use latchkey_presence::jwt_templates::model::JwtTemplate;
use latchkey_presence::jwt_templates::rules::{self, TemplateSigner};
use latchkey_presence::jwt_templates::scope::ShortcodeScope;
use latchkey_presence::jwt_templates::{keys, store};
use latchkey_testkit::{Answer, TestServer};
use serde_json::{Map, Value, json};

mod signing;

const NOW: i64 = 1_767_225_600_000;
const SECRET: &str = "0123456789abcdef0123456789abcdef";
const LIST: &str = "/v1/jwt_templates";

async fn create(t: &TestServer, fields: Value) -> Answer {
    let mut body = json!({"name": "hasura", "claims": {"role": "user"}});
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    t.post(LIST, body).await
}

fn path(template: &Value) -> String {
    format!("{LIST}/{}", template["id"].as_str().unwrap())
}

/// A template as `PATCH` wants it: with name and claims.
async fn change(t: &TestServer, template: &Value, fields: Value) -> Answer {
    let mut body = json!({"name": template["name"], "claims": template["claims"]});
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    t.patch(&path(template), body).await
}

#[tokio::test]
async fn new_template_has_defaults_and_is_found_again() {
    let t = TestServer::start().await;
    let claims = json!({"aud": "https://x", "n": {"deep": [1, null, "{{user.first_name || 'x'}}"]}});
    let answer = create(&t, json!({"claims": claims})).await;
    assert!(answer.header("latchkey-token-bytes").parse::<usize>().unwrap() > 400);
    let template = answer.ok();
    let expected = json!({
        "object": "jwt_template", "id": template["id"], "name": "hasura", "claims": claims, "lifetime": 60,
        "allowed_clock_skew": 5, "custom_signing_key": false, "signing_algorithm": "RS256",
        "created_at": NOW, "updated_at": NOW
    });
    assert_eq!(template, expected);
    assert!(template["id"].as_str().unwrap().starts_with("jtmp_"));
    assert_eq!(t.get(&path(&template)).await.ok(), template);
}

#[tokio::test]
async fn everything_can_be_said_at_once_and_null_says_nothing() {
    let t = TestServer::start().await;
    let full = json!({"name": "full", "lifetime": 315_360_000, "allowed_clock_skew": 0, "custom_signing_key": true,
        "signing_algorithm": "HS256", "signing_key": SECRET});
    let template = create(&t, full).await.ok();
    assert_eq!((&template["lifetime"], &template["allowed_clock_skew"]), (&json!(315_360_000), &json!(0)));
    assert_eq!(
        (&template["custom_signing_key"], &template["signing_algorithm"]),
        (&json!(true), &json!("HS256"))
    );
    let nulls =
        json!({"lifetime": null, "allowed_clock_skew": null, "signing_algorithm": null, "signing_key": null});
    let template = create(&t, nulls).await.ok();
    assert_eq!((&template["lifetime"], &template["allowed_clock_skew"]), (&json!(60), &json!(5)));
    assert_eq!(template["signing_algorithm"], "RS256");
    // Unknown fields are let through, as published.
    create(&t, json!({"name": "open", "surprise": 1})).await.ok();
}

#[tokio::test]
async fn list_is_bare_unless_asked_newest_first_and_of_one_instance() {
    let t = TestServer::start().await;
    assert_eq!(t.get(LIST).await.ok(), json!([]));
    for name in ["one", "two", "three"] {
        create(&t, json!({"name": name})).await.ok();
        t.clock.advance_ms(1);
    }
    let other = json!({"name": "one", "claims": {}});
    t.call(Some(&t.other), "POST", LIST, Some(other)).await.ok();
    let names = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&t.get(LIST).await.ok()), ["three", "two", "one"]);
    assert_eq!(names(&t.get(&format!("{LIST}?limit=1&offset=1")).await.ok()), ["two"]);
    let page = t.get(&format!("{LIST}?paginated=true&limit=2")).await.ok();
    assert_eq!(
        (names(&page["data"]), &page["total_count"]),
        (vec!["three".to_owned(), "two".to_owned()], &json!(3))
    );
    assert_eq!(names(&t.call(Some(&t.other), "GET", LIST, None).await.ok()), ["one"]);
    t.get(&format!("{LIST}?limit=0")).await.is_problem(422, "form_param_value_invalid", "limit");
    t.get(&format!("{LIST}?limit=501")).await.is_problem(422, "form_param_value_too_large", "limit");
}

#[tokio::test]
async fn name_is_unique_in_its_instance() {
    let t = TestServer::start().await;
    let first = create(&t, json!({})).await.ok();
    create(&t, json!({})).await.is_problem(422, "form_already_exists", "name");
    let second = create(&t, json!({"name": "Hasura"})).await.ok();
    let before = t.everything().await;
    change(&t, &second, json!({"name": "hasura"})).await.is_problem(422, "form_already_exists", "name");
    assert_eq!(t.everything().await, before);
    change(&t, &first, json!({"name": "hasura", "lifetime": 90})).await.ok();
    t.delete(&path(&first)).await.ok();
    change(&t, &second, json!({"name": "hasura"})).await.ok();
}

#[tokio::test]
async fn what_is_wrong_is_named_and_nothing_is_written() {
    let t = TestServer::start().await;
    let template = create(&t, json!({"name": "kept"})).await.ok();
    let before = t.everything().await;
    for (fields, code, param) in [
        (json!({"name": ""}), "form_param_nil", "name"),
        (json!({"name": null}), "form_param_nil", "name"),
        (json!({"name": "a/b"}), "form_param_format_invalid", "name"),
        (json!({"name": "x".repeat(129)}), "form_param_max_length_exceeded", "name"),
        (json!({"claims": null}), "form_param_nil", "claims"),
        (json!({"claims": [1]}), "form_param_type_invalid", "claims"),
        (json!({"claims": {"a": "x".repeat(9000)}}), "form_param_exceeds_allowed_size", "claims"),
        (json!({"claims": {"a": "x".repeat(3900)}}), "form_param_exceeds_allowed_size", "claims"),
        (json!({"claims": {"a": "{{user.id | x}}"}}), "form_param_value_invalid", "claims"),
        (json!({"lifetime": 29}), "form_param_value_invalid", "lifetime"),
        (json!({"lifetime": 315_360_001}), "form_param_value_too_large", "lifetime"),
        (json!({"lifetime": "60"}), "form_param_type_invalid", "lifetime"),
        (json!({"allowed_clock_skew": -1}), "form_param_value_invalid", "allowed_clock_skew"),
        (json!({"allowed_clock_skew": 301}), "form_param_value_too_large", "allowed_clock_skew"),
        (json!({"custom_signing_key": null}), "form_param_nil", "custom_signing_key"),
        (json!({"signing_algorithm": "none"}), "form_param_value_invalid", "signing_algorithm"),
        (json!({"signing_algorithm": "HS256"}), "form_conditional_param_disallowed", "signing_algorithm"),
        (json!({"signing_key": SECRET}), "form_conditional_param_disallowed", "signing_key"),
        (
            json!({"custom_signing_key": true, "signing_algorithm": "HS256"}),
            "form_conditional_param_missing",
            "signing_key",
        ),
        (
            json!({"custom_signing_key": true, "signing_key": SECRET}),
            "form_conditional_param_missing",
            "signing_algorithm",
        ),
        (
            json!({"custom_signing_key": true, "signing_algorithm": "HS256", "signing_key": "short"}),
            "form_param_value_invalid",
            "signing_key",
        ),
        (
            json!({"custom_signing_key": true, "signing_algorithm": "RS256", "signing_key": SECRET}),
            "form_param_value_invalid",
            "signing_key",
        ),
    ] {
        create(&t, fields.clone()).await.is_problem(422, code, param);
        change(&t, &template, fields).await.is_problem(422, code, param);
    }
    for claim in ["azp", "exp", "iat", "iss", "jti", "nbf", "sub"] {
        let fields = json!({"claims": {claim: "x"}});
        create(&t, fields.clone()).await.is_problem(400, "jwt_template_reserved_claim", "claims");
        change(&t, &template, fields).await.is_problem(400, "jwt_template_reserved_claim", "claims");
    }
    let several = create(&t, json!({"name": "", "claims": {"a": "{{}}"}, "signing_algorithm": "x"})).await;
    assert_eq!(
        several.problems(),
        [
            ("form_param_value_invalid", "signing_algorithm"),
            ("form_param_nil", "name"),
            ("form_param_value_invalid", "claims")
        ]
    );
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn update_changes_what_is_given_and_keeps_the_key() {
    let t = TestServer::start().await;
    let own = json!({"custom_signing_key": true, "signing_algorithm": "HS256", "signing_key": SECRET, "lifetime": 90});
    let template = create(&t, own).await.ok();
    t.clock.advance_ms(1000);
    assert_eq!(change(&t, &template, json!({})).await.ok(), template);
    let renamed = change(&t, &template, json!({"name": "other", "custom_signing_key": true})).await.ok();
    assert_eq!((&renamed["name"], &renamed["signing_algorithm"]), (&json!("other"), &json!("HS256")));
    assert_eq!((&renamed["lifetime"], &renamed["updated_at"]), (&json!(90), &json!(NOW + 1000)));
    assert_eq!(renamed["created_at"], json!(NOW));
    let back = change(&t, &renamed, json!({"custom_signing_key": false, "lifetime": null})).await.ok();
    assert_eq!((&back["custom_signing_key"], &back["signing_algorithm"]), (&json!(false), &json!("RS256")));
    assert_eq!(back["lifetime"], 60);
    let again = change(&t, &back, json!({"custom_signing_key": true})).await;
    assert_eq!(
        again.problems(),
        [
            ("form_conditional_param_missing", "signing_algorithm"),
            ("form_conditional_param_missing", "signing_key")
        ]
    );
}

#[tokio::test]
async fn key_is_never_shown_and_lies_sealed() {
    let t = TestServer::start().await;
    let own = json!({"custom_signing_key": true, "signing_algorithm": "HS256", "signing_key": SECRET});
    let template = create(&t, own.clone()).await;
    assert!(!String::from_utf8_lossy(&template.bytes).contains(SECRET));
    let template = template.ok();
    for answer in [t.get(&path(&template)).await, t.get(LIST).await, change(&t, &template, own).await] {
        assert!(!String::from_utf8_lossy(&answer.bytes).contains(SECRET));
    }
    assert!(!t.everything().await.iter().any(|row| row.contains(SECRET)));
    // Moved to another template it does not open.
    let other = create(&t, json!({"name": "other"})).await.ok();
    let sql = "UPDATE jwt_templates SET signing_algorithm = 'HS256', signing_key_sealed = \
               (SELECT signing_key_sealed FROM jwt_templates WHERE id = $1) WHERE id = $2";
    let ids = [&template, &other].map(|it| it["id"].as_str().unwrap().into());
    assert_eq!(t.run_sql(sql, ids.to_vec()).await, 1);
    let mut tx = t.db().read().await.unwrap();
    let found = store::find_by_name(&mut tx, &t.tenant.id, "other").await.unwrap().unwrap();
    assert!(keys::open(&found, &t.master).is_err());
}

#[tokio::test]
async fn deleted_template_is_gone_and_its_name_is_free() {
    let t = TestServer::start().await;
    let template = create(&t, json!({})).await.ok();
    let gone = t.delete(&path(&template)).await.ok();
    assert_eq!(gone, json!({"object": "jwt_template", "id": template["id"], "deleted": true}));
    t.delete(&path(&template)).await.is_error(404, "resource_not_found");
    t.get(&path(&template)).await.is_error(404, "resource_not_found");
    change(&t, &template, json!({})).await.is_error(404, "resource_not_found");
    create(&t, json!({})).await.ok();
}

#[tokio::test]
async fn template_whose_tokens_fit_no_cookie_is_refused_with_their_size() {
    let t = TestServer::start().await;
    t.user_with_email("small@example.com").await;
    let everything = json!({"name": "all", "claims": {"all": "{{user.public_metadata}}"}});
    let template = create(&t, everything.clone()).await.ok();
    let large = json!({"email_address": ["large@example.com"], "public_metadata": {"a": "x".repeat(5000), "plan": "pro"}});
    let user = t.user(large).await;
    let answer = create(&t, json!({"claims": everything["claims"]})).await;
    answer.is_problem(422, "form_param_exceeds_allowed_size", "claims");
    let meta = &answer.json["errors"][0]["meta"];
    assert_eq!(meta["user_id"], user["id"]);
    let size = meta["token_bytes"].as_u64().unwrap();
    assert!((6500..8000).contains(&size), "{size}");
    let text = answer.json["errors"][0]["long_message"].as_str().unwrap();
    assert!(text.contains(&size.to_string()) && text.contains(user["id"].as_str().unwrap()), "{text}");
    // One field of it is no problem, nor is what somebody else's user has.
    create(&t, json!({"name": "plan", "claims": {"plan": "{{user.public_metadata.plan}}"}})).await.ok();
    t.call(Some(&t.other), "POST", LIST, Some(everything.clone())).await.ok();
    // A template that was saved before the user grew can still be renamed, but not get larger.
    change(&t, &template, json!({"name": "renamed", "lifetime": 90})).await.ok();
    let more = json!({"claims": {"all": "{{user.public_metadata}}", "more": 1}});
    change(&t, &template, more).await.is_problem(422, "form_param_exceeds_allowed_size", "claims");
}

#[tokio::test]
async fn largest_document_need_not_be_the_largest_token() {
    let t = TestServer::start().await;
    let private = json!({"email_address": ["a@example.com"], "private_metadata": {"a": "x".repeat(8000)}});
    t.user(private).await;
    let public = json!({"email_address": ["b@example.com"], "public_metadata": {"a": "x".repeat(4000)}});
    let user = t.user(public).await;
    let answer = create(&t, json!({"claims": {"all": "{{user.public_metadata}}"}})).await;
    assert_eq!(answer.json["errors"][0]["meta"]["user_id"], user["id"], "{:#}", answer.json);
}

/// The claims of a token for the only user of the development instance, and the template.
async fn made(t: &TestServer, name: &str, user: &Value) -> (JwtTemplate, Map<String, Value>) {
    let mut tx = t.db().read().await.unwrap();
    let template = store::find_by_name(&mut tx, &t.tenant.id, name).await.unwrap().unwrap();
    let id = Id::parse(user["id"].as_str().unwrap()).unwrap();
    let user = users::store::find(&mut tx, &t.tenant.id, &id).await.unwrap().unwrap();
    let scope = ShortcodeScope::of(&user, "http://127.0.0.1:3400");
    let now: Time = t.clock.now();
    let claims = rules::claims(&template, &scope, now, "https://clerk.test", &id, None, "00".into()).unwrap();
    (template, claims)
}

#[tokio::test]
async fn stored_template_makes_tokens_that_verify() {
    let t = TestServer::start().await;
    let user = t.user(json!({"email_address": ["ada@example.com"], "first_name": "Ada", "public_metadata": {"plan": "pro"}})).await;
    let claims = json!({"aud": "db", "name": "{{user.full_name}}", "mail": "<{{user.primary_email_address}}>",
        "plan": "{{user.public_metadata.plan || 'free'}}", "verified": "{{user.email_verified}}", "picture": "{{user.image_url}}"});
    create(&t, json!({"name": "by-instance", "claims": claims})).await.ok();
    let own = json!({"name": "by-itself", "claims": claims, "custom_signing_key": true, "signing_algorithm": "HS256",
        "signing_key": SECRET, "lifetime": 600, "allowed_clock_skew": 0});
    create(&t, own).await.ok();

    let (template, claims) = made(&t, "by-instance", &user).await;
    let seconds = NOW / 1000;
    let expected = json!({
        "aud": "db", "name": "Ada", "mail": "<ada@example.com>", "plan": "pro", "verified": true, "picture": user["image_url"],
        "exp": seconds + 60, "iat": seconds, "iss": "https://clerk.test", "jti": "00", "nbf": seconds - 5, "sub": user["id"]
    });
    assert_eq!(json!(claims), expected);
    let key = SigningKey::generate().unwrap();
    let token = rules::sign(&template, TemplateSigner::Instance(&key, "ins_1"), &claims).unwrap();
    assert_eq!(jwt::verify(&[key.public_jwk("ins_1")], &token).unwrap().claims, expected);

    let (template, claims) = made(&t, "by-itself", &user).await;
    assert_eq!((&claims["exp"], &claims["nbf"]), (&json!(seconds + 600), &json!(seconds)));
    let key = keys::open(&template, &t.master).unwrap().unwrap();
    let token = rules::sign(&template, TemplateSigner::Template(&key), &claims).unwrap();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let mac = hmac_sha256(SECRET.as_bytes(), signed.as_bytes());
    assert_eq!(URL_SAFE_NO_PAD.encode(mac), signature);
}

#[tokio::test]
async fn templates_of_another_instance_are_not_found_by_name() {
    let t = TestServer::start().await;
    create(&t, json!({})).await.ok();
    let mut tx = t.db().read().await.unwrap();
    assert!(store::find_by_name(&mut tx, &t.tenant.id, "hasura").await.unwrap().is_some());
    assert!(store::find_by_name(&mut tx, &t.other.id, "hasura").await.unwrap().is_none());
    assert!(store::find_by_name(&mut tx, &t.tenant.id, "HASURA").await.unwrap().is_none());
}

#[tokio::test]
async fn templates_look_alike_in_every_version() {
    let t = TestServer::start().await;
    let template = create(&t, json!({})).await.ok();
    for version in ["2021-02-05", "2024-10-01", "2025-04-10", "2025-11-10", "2026-05-12"] {
        assert_eq!(t.call_version(version, "GET", &path(&template), None).await.ok(), template);
    }
}

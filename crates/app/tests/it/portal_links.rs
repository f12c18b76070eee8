//! Link tokens of admin portals on the Backend API.

use latchkey_kernel::environment::Environment;
use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};

use crate::roles::{organization, start, text, with_organizations};

const TOKENS: &str = "/v1/admin_portal_link_tokens";

async fn create(t: &TestServer, body: Value) -> Value {
    let answer = t.post(TOKENS, body).await;
    assert_eq!(answer.status, 201, "{:#}", answer.json);
    answer.json
}

async fn count(t: &TestServer) -> i64 {
    let mut tx = t.db().read().await.unwrap();
    let sql = "SELECT count(*) FROM admin_portal_link_tokens";
    tx.maybe(&[sql], &[], |row| row.int(0)).await.unwrap().unwrap()
}

/// A refusal of a body, as published for this group.
#[track_caller]
fn is_bad_request(answer: &Answer, param: &str) {
    answer.is_problem(400, "bad_request", param);
    let text = answer.json["errors"][0]["long_message"].as_str().unwrap();
    assert!(text.starts_with(&format!("Invalid 'body.{param}': ")), "{text}");
}

#[tokio::test]
async fn a_token_is_shown_once_and_kept_as_its_digest() {
    let t = start().await;
    let organization = organization(&t, json!({"name": "Acme"})).await;
    let body = json!({"organization_id": organization, "it_contact_id": "usr_1", "scopes": ["portal:read"],
        "seconds_until_expiration": 60});
    let token = create(&t, body).await;
    let (id, secret) = (text(&token["id"]), text(&token["token"]));
    assert!(
        id.starts_with("aplt_") && id.len() == 37 && id[5..].bytes().all(|byte| byte.is_ascii_hexdigit())
    );
    assert!(secret.starts_with("aplt_") && secret.len() == 37 && secret != id);
    let link = text(&token["admin_portal_link_id"]);
    assert!(link.starts_with("apl_") && link.len() == 31);
    assert_eq!(token["object"], "admin_portal_link_token");
    assert_eq!(
        (&token["instance_id"], &token["organization_id"]),
        (&json!(t.tenant.id.as_str()), &json!(organization))
    );
    assert_eq!((&token["it_contact_id"], &token["scopes"]), (&json!("usr_1"), &json!(["portal:read"])));
    assert_eq!((&token["revoked"], &token["expired"]), (&json!(false), &json!(false)));
    let created_at = token["created_at"].as_i64().unwrap();
    assert_eq!(token["expiration"], created_at + 60_000);
    assert!(t.everything().await.iter().all(|row| !row.contains(&secret)));
    let path = format!("{TOKENS}/{id}/revoke");
    let revoked = t.post(&path, json!({"revocation_reason": "Lost"})).await.ok();
    assert_eq!((&revoked["revoked"], &revoked["revocation_reason"]), (&json!(true), &json!("Lost")));
    assert_eq!(revoked.get("token"), None);
    t.clock.advance_ms(60_000);
    let again = t.post(&path, json!({"revocation_reason": "Other"})).await.ok();
    assert_eq!((&again["revocation_reason"], &again["updated_at"]), (&json!("Lost"), &revoked["updated_at"]));
    assert_eq!(again["expired"], true);
    let other = create(&t, json!({"organization_id": organization})).await;
    assert_eq!(other["admin_portal_link_id"], json!(link), "one link for each organization");
}

#[tokio::test]
async fn nothing_of_a_token_must_be_said() {
    let t = start().await;
    let token = create(&t, json!({})).await;
    for name in ["organization_id", "it_contact_id", "scopes", "revocation_reason"] {
        assert_eq!(token[name], Value::Null, "{name}");
    }
    assert_eq!(token["expiration"], token["created_at"].as_i64().unwrap() + 3_600_000);
    let path = format!("{TOKENS}/{}/revoke", text(&token["id"]));
    assert_eq!(
        t.post(&path, json!({"revocation_reason": null})).await.ok()["revocation_reason"],
        Value::Null
    );
}

#[tokio::test]
async fn a_wrong_body_is_a_bad_request_that_names_the_field() {
    let t = start().await;
    let unknown = format!("org_{}", "0".repeat(27));
    let cases = [
        ("organization_id", json!("acme")),
        ("organization_id", json!(unknown)),
        ("organization_id", Value::Null),
        ("it_contact_id", json!("")),
        ("it_contact_id", json!("x".repeat(257))),
        ("scopes", json!("read")),
        ("scopes", json!([""])),
        ("scopes", json!([1])),
        ("scopes", json!(vec!["a"; 51])),
        ("seconds_until_expiration", json!(0)),
        ("seconds_until_expiration", json!(86_401)),
        ("seconds_until_expiration", json!("60")),
        ("surprise", json!(1)),
    ];
    for (name, value) in cases {
        is_bad_request(&t.post(TOKENS, json!({name: value})).await, name);
    }
    let token = create(&t, json!({})).await;
    let path = format!("{TOKENS}/{}/revoke", text(&token["id"]));
    is_bad_request(&t.post(&path, json!({"revocation_reason": 1})).await, "revocation_reason");
    is_bad_request(&t.post(&path, json!({"revocation_reason": "x".repeat(257)})).await, "revocation_reason");
    is_bad_request(&t.post(&path, json!({"other": 1})).await, "other");
    assert_eq!(count(&t).await, 1);
}

#[tokio::test]
async fn tokens_of_another_instance_are_not_there() {
    let t = start().await;
    let other = t.new_tenant(Environment::Production, with_organizations()).await;
    let organization = organization(&t, json!({"name": "Acme"})).await;
    let body = Some(json!({"organization_id": organization}));
    is_bad_request(&t.call(Some(&other), "POST", TOKENS, body).await, "organization_id");
    let token = create(&t, json!({})).await;
    let path = format!("{TOKENS}/{}/revoke", text(&token["id"]));
    t.call(Some(&other), "POST", &path, Some(json!({}))).await.is_error(404, "resource_not_found");
    for unknown in [format!("aplt_{}", "0".repeat(32)), "aplt_1".to_owned(), "x".to_owned()] {
        let path = format!("{TOKENS}/{unknown}/revoke");
        t.post(&path, json!({})).await.is_error(404, "resource_not_found");
    }
}

#[tokio::test]
async fn tokens_go_with_their_organization_and_long_after_their_end() {
    let t = start().await;
    let organization = organization(&t, json!({"name": "Acme"})).await;
    create(&t, json!({"organization_id": organization})).await;
    create(&t, json!({})).await;
    t.delete(&format!("/v1/organizations/{organization}")).await.ok();
    assert_eq!(count(&t).await, 1);
    t.clock.advance_ms(24 * 3600 * 1000);
    t.run_jobs().await;
    assert_eq!(count(&t).await, 1);
    t.clock.advance_ms(60 * 24 * 3600 * 1000);
    t.run_jobs().await;
    assert_eq!(count(&t).await, 0);
}

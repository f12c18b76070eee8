//! Ids and times.

use latchkey_testkit::TestServer;
use serde_json::Value;

use super::ada;

/// Calls `visit` with every field of an object, at any depth.
fn walk(value: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                visit(name, field);
                walk(field, visit);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, visit)),
        _ => (),
    }
}

#[tokio::test]
async fn ids_are_a_prefix_and_27_characters() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    let user = t.get(&format!("/v1/users/{}", person.user)).await.ok();
    let mut seen = 0;
    walk(&user, &mut |name, value| {
        let Some(id) = value.as_str().filter(|_| name == "id" || name.ends_with("_id")) else { return };
        if ["external_id", "provider_user_id"].contains(&name) {
            return;
        }
        let (prefix, digits) = id.split_once('_').unwrap();
        assert!(["user", "idn", "eac"].contains(&prefix), "{name} {id}");
        assert!(digits.len() == 27 && digits.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{name} {id}");
        seen += 1;
    });
    assert!(seen >= 10, "{seen} ids in {user:#}");
}

#[tokio::test]
async fn times_are_milliseconds() {
    let t = TestServer::start().await;
    let id = ada(&t).await;
    let user = t.get(&format!("/v1/users/{id}")).await.ok();
    assert_eq!(user["created_at"], 1_765_353_600_123_i64);
    assert_eq!(user["updated_at"], 1_767_225_600_000_i64);
    let person = t.person(&t.tenant, 1).await;
    let user = t.get(&format!("/v1/users/{}", person.user)).await.ok();
    let mut seen = 0;
    walk(&user, &mut |name, value| {
        if let Some(time) = value.as_i64().filter(|_| name.ends_with("_at")) {
            assert_eq!(time, 1_767_225_600_000, "{name}");
            seen += 1;
        }
    });
    assert!(seen >= 10, "{seen} times in {user:#}");
}

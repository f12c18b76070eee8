//! Links to the page where webhooks are managed, and what they open.

use axum::body::Body;
use axum::http::Request;
use latchkey_app::GROUPS;
use latchkey_testkit::{Answer, Tenant, TestServer};
use serde_json::json;

use super::{LIST, create};

const APP: &str = "/v1/webhooks/svix";
const LINK: &str = "/v1/webhooks/svix_url";
const DAY: i64 = 24 * 3600 * 1000;

fn token(answer: Answer) -> String {
    let body = answer.ok();
    let url = body["svix_url"].as_str().unwrap();
    url.strip_prefix("http://127.0.0.1:3400/webhooks/portal#").unwrap().to_owned()
}

/// Somebody who holds the token.
fn holder(t: &TestServer, token: &str) -> Tenant {
    Tenant { key: token.to_owned(), ..t.tenant.clone() }
}

async fn begin(t: &TestServer) -> Tenant {
    holder(t, &token(t.call(Some(&t.tenant), "POST", APP, None).await))
}

#[tokio::test]
async fn an_instance_begins_once_and_ends_once() {
    let t = TestServer::start().await;
    let call = async |method: &str, path: &str| t.call(Some(&t.tenant), method, path, None).await;
    call("POST", LINK).await.is_error(400, "svix_app_missing");
    call("DELETE", APP).await.is_error(400, "svix_app_missing");
    // Endpoints are made without beginning, too.
    create(&t, json!({})).await.ok();
    assert_eq!(call("DELETE", APP).await.status, 204);
    assert_eq!(t.get(LIST).await.ok()["total_count"], 0);
    call("DELETE", APP).await.is_error(400, "svix_app_missing");
    assert!(token(call("POST", APP).await).starts_with("whp_"));
    call("POST", APP).await.is_error(400, "svix_app_exists");
    assert!(token(call("POST", LINK).await).starts_with("whp_"));
    // Another instance is none of its business.
    t.call(Some(&t.other), "POST", LINK, None).await.is_error(400, "svix_app_missing");
    t.call(Some(&t.other), "POST", APP, None).await.ok();
    let kept = json!({"url": "https://example.com"});
    t.call(Some(&t.other), "POST", LIST, Some(kept)).await.ok();
    create(&t, json!({})).await.ok();
    let answer = call("DELETE", APP).await;
    assert_eq!((answer.status, answer.bytes.len()), (204, 0));
    assert_eq!(t.get(LIST).await.ok()["total_count"], 0);
    assert_eq!(t.call(Some(&t.other), "GET", LIST, None).await.ok()["total_count"], 1);
    call("DELETE", APP).await.is_error(400, "svix_app_missing");
}

#[tokio::test]
async fn a_link_opens_the_operations_on_webhooks_of_its_instance_and_no_others() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    let holder = holder(&t, &token(t.call(Some(&t.tenant), "POST", LINK, None).await));
    assert_eq!(t.call(Some(&holder), "GET", LIST, None).await.ok()["total_count"], 1);
    let one = format!("{LIST}/{}", person.webhook_endpoint);
    t.call(Some(&holder), "GET", &format!("{one}/secret"), None).await.ok();
    t.call(Some(&holder), "PATCH", &one, Some(json!({"description": "by link"}))).await.ok();
    t.call(Some(&holder), "GET", &format!("{one}/deliveries/{}", person.event), None).await.ok();
    t.call(Some(&holder), "GET", "/v1/webhooks/event_types", None).await.ok();
    let theirs = json!({"url": "https://example.com"});
    let theirs = t.call(Some(&t.other), "POST", LIST, Some(theirs)).await.ok();
    let path = format!("{LIST}/{}", theirs["id"].as_str().unwrap());
    t.call(Some(&holder), "GET", &path, None).await.is_error(404, "resource_not_found");

    let before = t.everything().await;
    let document = latchkey_app::document("http://127.0.0.1:3400", GROUPS);
    let mut refused = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, entry) in methods.as_object().unwrap() {
            if entry["tags"][0] == "Webhook Endpoints" || entry["security"] == json!([]) {
                continue;
            }
            let path = path.replace("{user_id}", &person.user);
            let answer = t.call(Some(&holder), &method.to_uppercase(), &path, None).await;
            assert_eq!((answer.status, answer.code()), (401, "clerk_key_invalid"), "{method} {path}");
            refused += 1;
        }
    }
    assert!(refused > 60, "{refused}");
    assert_eq!(t.everything().await, before);
    assert_eq!(t.call(Some(&holder), "GET", "/dev/inbox", None).await.status, 401);
}

#[tokio::test]
async fn a_link_ends_after_a_day() {
    let t = TestServer::start().await;
    let holder = begin(&t).await;
    t.clock.advance_ms(DAY - 1);
    t.call(Some(&holder), "GET", LIST, None).await.ok();
    t.clock.advance_ms(1);
    t.call(Some(&holder), "GET", LIST, None).await.is_error(401, "webhook_portal_token_invalid");
}

#[tokio::test]
async fn a_link_ends_with_what_it_was_made_for() {
    let t = TestServer::start().await;
    let old = begin(&t).await;
    t.delete(APP).await;
    t.call(Some(&old), "GET", LIST, None).await.is_error(401, "webhook_portal_token_invalid");
    t.clock.advance_ms(1);
    let new = begin(&t).await;
    t.call(Some(&old), "GET", LIST, None).await.is_error(401, "webhook_portal_token_invalid");
    t.call(Some(&new), "GET", LIST, None).await.ok();
    // Nor does it outlive its instance.
    t.run_sql("DELETE FROM webhook_apps WHERE instance_id = $1", vec![(&t.tenant.id).into()]).await;
    t.call(Some(&new), "GET", LIST, None).await.is_error(401, "webhook_portal_token_invalid");
}

#[tokio::test]
async fn forged_links_are_refused() {
    let t = TestServer::start().await;
    let good = begin(&t).await.key;
    let mut turned = good.clone().into_bytes();
    let last = turned.len() - 5;
    turned[last] = if turned[last] == b'A' { b'B' } else { b'A' };
    for bad in [
        "whp_",
        "whp_AAAA",
        &good[..good.len() - 4],
        &format!("{good}AAAA"),
        &String::from_utf8(turned).unwrap(),
        &format!("whp_{}", "A".repeat(4000)),
    ] {
        let answer = t.call(Some(&holder(&t, bad)), "GET", LIST, None).await;
        answer.is_error(401, "webhook_portal_token_invalid");
    }
    t.call(None, "GET", LIST, None).await.is_error(401, "could_not_authenticate_request");
}

#[tokio::test]
async fn the_page_is_served_with_a_strict_policy() {
    let t = TestServer::start().await;
    let answer = t.send(Request::get("/webhooks/portal").body(Body::empty()).unwrap()).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/html; charset=utf-8"));
    let policy = answer.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-") && !policy.contains("unsafe"));
    assert_eq!(answer.header("referrer-policy"), "no-referrer");
    assert_eq!(answer.header("x-frame-options"), "DENY");
    assert_eq!(answer.header("cache-control"), "no-store");
}

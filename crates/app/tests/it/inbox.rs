//! `GET /dev/inbox`: what development instances would have sent.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use futures_util::future::join_all;
use latchkey_base::time::Clock;
use latchkey_kernel::environment::Environment::Development;
use latchkey_kernel::limits::INBOX_WAITERS;
use latchkey_kernel::settings::Settings;
use latchkey_messaging::inbox::rules::pass;
use latchkey_testkit::{Tenant, TestServer, until};
use serde_json::{Value, json};
use tokio::time::timeout;

const NOW: i64 = 1_767_225_600_000;

/// Sends a code to an address and a number of a new user.
async fn send_codes(t: &TestServer, tenant: &Tenant, name: &str, number: &str) {
    let call = async |path: &str, body: Value| t.call(Some(tenant), "POST", path, Some(body)).await.ok();
    let body =
        json!({"username": name, "email_address": [format!("{name}@example.com")], "phone_number": [number]});
    let user = call("/v1/users", body).await;
    for (list, at) in
        [("email_addresses", &user["email_addresses"][0]), ("phone_numbers", &user["phone_numbers"][0])]
    {
        call(&format!("/v1/{list}/{}/prepare_verification", at["id"].as_str().unwrap()), json!({})).await;
        t.clock.advance_ms(1);
    }
}

#[tokio::test]
async fn messages_come_newest_first_with_everything_in_them() {
    let t = TestServer::start().await;
    assert_eq!(t.get("/dev/inbox").await.ok(), json!({"data": [], "total_count": 0}));
    send_codes(&t, &t.tenant, "ada_l", "+442071838750").await;
    let inbox = t.get("/dev/inbox").await.ok();
    assert_eq!(inbox["total_count"], 2);
    for (message, channel, to, at) in [
        (&inbox["data"][0], "sms", "+442071838750", NOW + 1),
        (&inbox["data"][1], "email", "ada_l@example.com", NOW),
    ] {
        let code = message["code"].as_str().unwrap();
        assert_eq!(
            (&message["channel"], &message["to"], &message["created_at"]),
            (&json!(channel), &json!(to), &json!(at))
        );
        assert_eq!(message["slug"], "verification_code");
        let prefix = if channel == "sms" { "sms_" } else { "ema_" };
        assert!(message["id"].as_str().unwrap().starts_with(prefix));
        assert!(message["body"].as_str().unwrap().contains(code));
        assert_eq!(message["subject"].as_str().unwrap().is_empty(), channel == "sms");
    }
    assert_ne!(inbox["data"][0]["code"], inbox["data"][1]["code"]);
}

#[tokio::test]
async fn messages_are_filtered_by_recipient_in_any_case() {
    let t = TestServer::start().await;
    send_codes(&t, &t.tenant, "ada_l", "+442071838750").await;
    send_codes(&t, &t.tenant, "grace", "+442071838751").await;
    for (to, count) in [
        ("ADA_L@example.com", 1),
        ("grace@example.com", 1),
        ("%2B442071838751", 1),
        ("nobody@example.com", 0),
        ("example.com", 0),
    ] {
        let inbox = t.get(&format!("/dev/inbox?to={to}")).await.ok();
        assert_eq!(
            (&inbox["total_count"], inbox["data"].as_array().unwrap().len()),
            (&json!(count), count),
            "{to}"
        );
    }
}

#[tokio::test]
async fn only_the_newest_hundred_messages_are_shown() {
    let t = TestServer::start().await;
    let user = t.user(json!({"email_address": ["ada@example.com"]})).await;
    let path = format!(
        "/v1/email_addresses/{}/prepare_verification",
        user["email_addresses"][0]["id"].as_str().unwrap()
    );
    for _ in 0..101 {
        t.post(&path, json!({})).await.ok();
        t.clock.advance_ms(1);
    }
    let inbox = t.inbox().await;
    assert_eq!(inbox.len(), 100);
    assert_eq!((&inbox[0]["created_at"], &inbox[99]["created_at"]), (&json!(NOW + 100), &json!(NOW + 1)));
    // All that match are counted, however many are shown.
    for (query, shown, total) in [
        ("", 100, 101),
        ("limit=1", 1, 101),
        ("limit=1&to=ADA@example.com", 1, 101),
        ("limit=1&to=bob@example.com", 0, 0),
        (&format!("limit=1&since={}", NOW + 99), 1, 2),
        (&format!("limit=1&after={}", inbox[3]["id"].as_str().unwrap()), 1, 3),
        (&format!("limit=3&after={}", inbox[2]["id"].as_str().unwrap()), 2, 2),
    ] {
        let page = t.get(&format!("/v1/inbox?{query}")).await.ok();
        let found = page["data"].as_array().unwrap().len();
        assert_eq!((found, &page["total_count"]), (shown, &json!(total)), "{query}");
    }
}

#[tokio::test]
async fn an_instance_sees_its_own_messages_only() {
    let t = TestServer::start().await;
    let second = t.new_tenant(Development, Settings::default()).await;
    send_codes(&t, &t.tenant, "ada_l", "+442071838750").await;
    send_codes(&t, &second, "grace", "+442071838750").await;
    let inbox = t.call(Some(&second), "GET", "/dev/inbox", None).await.ok();
    let recipients: Vec<&Value> =
        inbox["data"].as_array().unwrap().iter().map(|message| &message["to"]).collect();
    assert_eq!(recipients, ["+442071838750", "grace@example.com"]);
    let foreign = t.call(Some(&second), "GET", "/dev/inbox?to=ada_l@example.com", None).await.ok();
    assert_eq!(foreign["total_count"], 0);
}

fn subjects(inbox: &Value) -> Vec<&str> {
    inbox["data"].as_array().unwrap().iter().map(|message| message["to"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn messages_can_be_asked_for_from_some_moment_on() {
    let t = TestServer::start().await;
    send_codes(&t, &t.tenant, "ada_l", "+442071838750").await;
    send_codes(&t, &t.tenant, "grace", "+442071838751").await;
    let all = t.get("/v1/inbox").await.ok();
    assert_eq!(all, t.get("/dev/inbox").await.ok());
    let newest = ["+442071838751", "grace@example.com", "+442071838750", "ada_l@example.com"];
    assert_eq!(subjects(&all), newest);
    for (query, count) in [
        (format!("since={}", NOW + 2), 2),
        (format!("since={}", NOW + 9), 0),
        ("limit=3".to_owned(), 3),
        (format!("after={}", all["data"][2]["id"].as_str().unwrap()), 2),
        (format!("after={}", all["data"][0]["id"].as_str().unwrap()), 0),
    ] {
        assert_eq!(subjects(&t.get(&format!("/v1/inbox?{query}")).await.ok()), newest[..count], "{query}");
    }
    for wrong in [
        "after=msg_nothing",
        "after=x",
        "wait=31s",
        "wait=-1",
        "wait=soon",
        "limit=0",
        "limit=101",
        "since=x",
    ] {
        let answer = t.get(&format!("/v1/inbox?{wrong}")).await;
        assert_eq!(answer.status, 422, "{wrong}: {:#}", answer.json);
    }
    let foreign = format!("/v1/inbox?after={}", all["data"][0]["id"].as_str().unwrap());
    let second = t.new_tenant(Development, Settings::default()).await;
    t.call(Some(&second), "GET", &foreign, None).await.is_problem(422, "form_param_value_invalid", "after");
}

#[tokio::test]
async fn waiting_ends_when_a_message_arrives() {
    let t = TestServer::start().await;
    let waiting = t.get("/v1/inbox?to=ada_l@example.com&wait=20s");
    let sending = async {
        until(|| t.app.inbox_places.free() < INBOX_WAITERS).await;
        send_codes(&t, &t.tenant, "ada_l", "+442071838750").await;
    };
    // Less than the 20 seconds that it would wait.
    let both = timeout(Duration::from_secs(18), async { tokio::join!(waiting, sending) });
    let answer = both.await.unwrap().0.ok();
    assert_eq!(answer["total_count"], 1);
    assert_eq!(answer["data"][0]["code"].as_str().unwrap().len(), 6);
    let nothing = t.get("/v1/inbox?to=nobody@example.com&wait=1s").await.ok();
    assert_eq!(nothing["total_count"], 0);
}

#[tokio::test]
async fn only_so_many_wait_at_once() {
    let t = TestServer::start().await;
    let call = || {
        let request = Request::get("/v1/inbox?to=nobody@example.com&wait=3s");
        let request = request.header("authorization", format!("Bearer {}", t.tenant.key));
        t.send_unchecked(request.body(Body::empty()).unwrap())
    };
    let calls = (0..105).map(|_| call());
    let answers = join_all(calls).await;
    let refused = answers.iter().filter(|answer| answer.status == 503).count();
    assert_eq!((refused, answers.len() - refused), (5, 100));
    assert_eq!(t.get("/v1/inbox?wait=1").await.status, 200, "places are free again");
}

#[tokio::test]
async fn a_pass_opens_the_inbox_and_nothing_else() {
    let t = TestServer::start().await;
    send_codes(&t, &t.tenant, "ada_l", "+442071838750").await;
    let pass = |tenant: &Tenant| Tenant {
        key: pass(&t.master, &tenant.id, t.clock.now()).unwrap(),
        ..tenant.clone()
    };
    let (reader, other) = (pass(&t.tenant), pass(&t.other));
    assert_eq!(t.call(Some(&reader), "GET", "/v1/inbox", None).await.ok()["total_count"], 2);
    t.call(Some(&reader), "GET", "/v1/users", None).await.is_error(401, "clerk_key_invalid");
    t.call(Some(&other), "GET", "/v1/inbox", None).await.is_error(400, "request_invalid_for_environment");
    t.clock.advance_ms(24 * 3600 * 1000);
    t.call(Some(&reader), "GET", "/v1/inbox", None).await.is_error(401, "clerk_key_invalid");
}

#[tokio::test]
async fn browsers_get_a_page_that_knows_nothing() {
    let t = TestServer::start().await;
    send_codes(&t, &t.tenant, "ada_l", "+442071838750").await;
    let page = async || {
        let request =
            Request::get("/dev/inbox").header("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
        t.send_unchecked(request.body(Body::empty()).unwrap()).await
    };
    let answer = page().await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/html; charset=utf-8"));
    let policy = answer.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'nonce-"), "{policy}");
    assert!(!policy.contains("script-src 'unsafe"), "{policy}");
    let text = String::from_utf8(answer.bytes.clone()).unwrap();
    let nonce = policy.split("nonce-").nth(1).unwrap().split('\'').next().unwrap();
    assert!(text.contains(&format!("<script nonce=\"{nonce}\">")));
    assert!(
        !text.contains("example.com") && !text.contains("://"),
        "nothing of anybody, nothing from elsewhere"
    );
    assert_ne!(policy, page().await.header("content-security-policy"));
}

#[tokio::test]
async fn production_instances_have_no_inbox() {
    let t = TestServer::start().await;
    send_codes(&t, &t.other, "ada_l", "+442071838750").await;
    let answer = t.call(Some(&t.other), "GET", "/dev/inbox", None).await;
    answer.is_error(400, "request_invalid_for_environment");
}

#[tokio::test]
async fn the_inbox_needs_a_secret_key() {
    let t = TestServer::start().await;
    t.call(None, "GET", "/dev/inbox", None).await.is_error(401, "could_not_authenticate_request");
    let stranger = Tenant { key: format!("{}x", t.tenant.key), ..t.tenant.clone() };
    t.call(Some(&stranger), "GET", "/dev/inbox", None).await.is_error(401, "clerk_key_invalid");
    t.post("/dev/inbox", json!({})).await.is_error(405, "method_not_allowed");
}

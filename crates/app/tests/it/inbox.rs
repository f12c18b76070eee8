//! `GET /dev/inbox`: what development instances would have sent.

use latchkey_app::resources::instances::model::Environment::Development;
use latchkey_app::settings::Settings;
use latchkey_testkit::{Tenant, TestServer};
use serde_json::{Value, json};

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
        assert!(message["id"].as_str().unwrap().starts_with("msg_"));
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

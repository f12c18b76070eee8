//! Managing webhooks: links to the page, endpoints, secrets, test events, deliveries and replays.

mod deliveries;
mod links;
mod made_up;

use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};

const NOW: i64 = 1_767_225_600_000;
const LIST: &str = "/v1/webhooks/endpoints";
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

async fn create(t: &TestServer, fields: Value) -> Answer {
    let mut body = json!({"url": "https://example.com/hook"});
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    t.post(LIST, body).await
}

fn path(endpoint: &Value) -> String {
    format!("{LIST}/{}", endpoint["id"].as_str().unwrap())
}

async fn secrets(t: &TestServer, endpoint: &Value) -> Value {
    t.get(&format!("{}/secret", path(endpoint))).await.ok()
}

/// How far an endpoint got.
async fn cursor(t: &TestServer, endpoint: &Value) -> i64 {
    let sql = "SELECT cursor_seq FROM webhook_endpoints WHERE instance_id = $1 AND id = $2";
    let params = [(&t.tenant.id).into(), endpoint["id"].as_str().unwrap().into()];
    let mut tx = t.db().read().await.unwrap();
    tx.maybe(&[sql], &params, |row| row.int(0)).await.unwrap().unwrap()
}

#[tokio::test]
async fn new_endpoint_has_defaults_and_is_found_again() {
    let t = TestServer::start().await;
    t.user_with_email("a@example.com").await;
    let mut endpoint = create(&t, json!({})).await.ok();
    let secret = endpoint.as_object_mut().unwrap().remove("secret").unwrap();
    assert_eq!(
        secrets(&t, &endpoint).await["secret"],
        secret,
        "it is shown once, and to those who ask for it"
    );
    // The event about its creation is not sent to it, but it has not come to that event yet.
    let expected = json!({
        "object": "webhook_endpoint", "id": endpoint["id"], "url": "https://example.com/hook", "description": "",
        "event_types": [], "disabled": false, "failing_since": null,
        "health": {"pending": 0, "unread": 1, "recent": []}, "created_at": NOW, "updated_at": NOW
    });
    assert_eq!(endpoint, expected);
    assert!(endpoint["id"].as_str().unwrap().starts_with("ep_"));
    assert_eq!(t.get(&path(&endpoint)).await.ok(), endpoint);
    assert_eq!(t.get(LIST).await.ok(), json!({"data": [endpoint], "total_count": 1}));
    // What happened before is not sent; what happens next is.
    let head = cursor(&t, &endpoint).await;
    assert!(head > 0);
    t.user_with_email("b@example.com").await;
    assert_eq!(cursor(&t, &endpoint).await, head);
    assert_eq!(t.get(&path(&endpoint)).await.ok()["health"]["unread"], 2);
}

#[tokio::test]
async fn everything_can_be_said_at_once_and_changed() {
    let t = TestServer::start().await;
    let kinds = json!(["user.updated", "user.created", "user.updated", "webhookEndpoint.disabled"]);
    let full = json!({"url": "http://localhost:3000/hook?x=1", "description": "ours", "event_types": kinds,
        "secret": SECRET, "disabled": true});
    let mut endpoint = create(&t, full).await.ok();
    assert_eq!(endpoint.as_object_mut().unwrap().remove("secret"), Some(json!(SECRET)));
    assert_eq!(endpoint["event_types"], json!(["user.created", "user.updated", "webhookEndpoint.disabled"]));
    assert_eq!((&endpoint["description"], &endpoint["disabled"]), (&json!("ours"), &json!(true)));
    assert_eq!(secrets(&t, &endpoint).await["secret"], SECRET);
    t.clock.advance_ms(1000);
    assert_eq!(t.patch(&path(&endpoint), json!({})).await.ok(), endpoint, "nothing was said");
    let change = json!({"url": "https://example.com/other", "description": null, "event_types": null, "disabled": false});
    let changed = t.patch(&path(&endpoint), change).await.ok();
    assert_eq!((&changed["url"], &changed["description"]), (&json!("https://example.com/other"), &json!("")));
    assert_eq!((&changed["event_types"], &changed["disabled"]), (&json!([]), &json!(false)));
    assert_eq!(changed["updated_at"], NOW + 1000);
    assert_eq!(t.get(&path(&endpoint)).await.ok(), changed);
    let gone = json!({"object": "webhook_endpoint", "id": endpoint["id"], "deleted": true});
    assert_eq!(t.delete(&path(&endpoint)).await.ok(), gone);
    t.get(&path(&endpoint)).await.is_error(404, "resource_not_found");
    t.delete(&path(&endpoint)).await.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn wrong_endpoints_are_refused_and_change_nothing() {
    let t = TestServer::start().await;
    let endpoint = create(&t, json!({})).await.ok();
    let before = t.everything().await;
    let cases = [
        (json!({"url": ""}), "form_param_format_invalid", "url"),
        (json!({"url": "example.com"}), "form_param_format_invalid", "url"),
        (json!({"url": "ftp://example.com"}), "form_param_format_invalid", "url"),
        (json!({"url": "https://user:pass@example.com"}), "form_param_format_invalid", "url"),
        (json!({"url": "https://example.com/#part"}), "form_param_format_invalid", "url"),
        (json!({"url": "https://example.com/\u{7}"}), "form_param_format_invalid", "url"),
        (json!({"url": "https://example.com/\u{0}"}), "form_param_value_invalid", "url"),
        (
            json!({"url": format!("https://example.com/{}", "x".repeat(2048))}),
            "form_param_max_length_exceeded",
            "url",
        ),
        (json!({"url": null}), "form_param_nil", "url"),
        (json!({"description": "x".repeat(501)}), "form_param_max_length_exceeded", "description"),
        (json!({"event_types": ["user.invented"]}), "form_param_value_invalid", "event_types"),
        (json!({"event_types": ["User.created"]}), "form_param_value_invalid", "event_types"),
        (json!({"event_types": "user.created"}), "form_param_type_invalid", "event_types"),
        (json!({"surprise": 1}), "form_param_unknown", "surprise"),
    ];
    for (fields, code, param) in cases {
        create(&t, fields.clone()).await.is_problem(422, code, param);
        t.patch(&path(&endpoint), fields).await.is_problem(422, code, param);
    }
    for secret in ["", "whsec_", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_\u{e9}"] {
        create(&t, json!({"secret": secret})).await.is_problem(422, "form_param_format_invalid", "secret");
    }
    let all = create(&t, json!({"url": "x", "description": "x".repeat(501), "event_types": ["x"]})).await;
    let params: Vec<&str> = all.problems().into_iter().map(|(_, param)| param).collect();
    assert_eq!(params, ["url", "description", "event_types"]);
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn production_instances_send_over_https_to_the_internet_only() {
    let t = TestServer::start().await;
    for url in [
        "http://example.com",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://169.254.169.254/latest",
        "https://2130706433/",
        "https://localhost/",
        "https://[::ffff:10.0.0.1]/",
        "https://10.0.0.1/",
    ] {
        let answer = t.call(Some(&t.other), "POST", LIST, Some(json!({"url": url}))).await;
        answer.is_problem(422, "form_param_format_invalid", "url");
        create(&t, json!({"url": url})).await.ok();
    }
    t.call(Some(&t.other), "POST", LIST, Some(json!({"url": "https://example.com"}))).await.ok();
}

#[tokio::test]
async fn list_is_newest_first_paged_and_of_one_instance() {
    let t = TestServer::start().await;
    for number in 1..=3 {
        create(&t, json!({"description": number.to_string()})).await.ok();
        t.clock.advance_ms(1);
    }
    let other = t.call(Some(&t.other), "POST", LIST, Some(json!({"url": "https://example.com"}))).await.ok();
    let shown = |list: Value| -> (Vec<String>, i64) {
        let all = list["data"].as_array().unwrap();
        let texts = all.iter().map(|it| it["description"].as_str().unwrap().to_owned()).collect();
        (texts, list["total_count"].as_i64().unwrap())
    };
    let texts = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    assert_eq!(shown(t.get(LIST).await.ok()), (texts(&["3", "2", "1"]), 3));
    assert_eq!(shown(t.get(&format!("{LIST}?limit=1&offset=1")).await.ok()), (texts(&["2"]), 3));
    t.get(&format!("{LIST}?limit=0")).await.is_problem(422, "form_param_value_invalid", "limit");
    assert_eq!(t.call(Some(&t.other), "GET", LIST, None).await.ok()["total_count"], 1);
    t.get(&path(&other)).await.is_error(404, "resource_not_found");
    t.delete(&path(&other)).await.is_error(404, "resource_not_found");
    t.get(&format!("{}/secret", path(&other))).await.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn an_instance_has_fifty_endpoints_at_most() {
    let t = TestServer::start().await;
    for _ in 0..50 {
        create(&t, json!({})).await.ok();
    }
    create(&t, json!({})).await.is_error(400, "webhook_endpoints_exceeded");
    t.call(Some(&t.other), "POST", LIST, Some(json!({"url": "https://example.com"}))).await.ok();
    assert_eq!(t.get(&format!("{LIST}?limit=500")).await.ok()["data"].as_array().unwrap().len(), 50);
}

#[tokio::test]
async fn enabling_goes_on_where_it_stopped_or_skips_what_was_missed() {
    let t = TestServer::start().await;
    let endpoint = create(&t, json!({"disabled": true})).await.ok();
    let sql = "UPDATE webhook_endpoints SET failing_since = 5 WHERE instance_id = $1";
    t.run_sql(sql, vec![(&t.tenant.id).into()]).await;
    t.user_with_email("a@example.com").await;
    assert_eq!(t.get(&path(&endpoint)).await.ok()["failing_since"], 5);
    let on = t.patch(&path(&endpoint), json!({"disabled": false})).await.ok();
    assert_eq!((&on["disabled"], &on["failing_since"]), (&json!(false), &json!(null)));
    assert!(on["health"]["unread"].as_i64().unwrap() > 0, "it goes on where it stopped");
    t.patch(&path(&endpoint), json!({"disabled": true})).await.ok();
    let on = t.patch(&path(&endpoint), json!({"disabled": false, "skip_missed": true})).await.ok();
    // Only the event about this very change is left.
    assert_eq!(on["health"]["unread"], 1);
}

#[tokio::test]
async fn secrets_are_shown_when_made_and_when_asked_for_and_rotated_with_an_overlap() {
    let t = TestServer::start().await;
    let endpoint = create(&t, json!({"secret": SECRET})).await.ok();
    let note = json!({"description": "ours"});
    for answer in [t.get(&path(&endpoint)).await, t.get(LIST).await, t.patch(&path(&endpoint), note).await] {
        assert!(!String::from_utf8_lossy(&answer.bytes).contains("whsec_"), "a view must not show secrets");
    }
    assert!(!t.everything().await.iter().any(|row| row.contains("MfKQ9r8G")), "secrets are sealed at rest");
    let only = json!({"object": "webhook_secrets", "secret": SECRET, "secrets": [{"secret": SECRET, "expire_at": null}]});
    assert_eq!(secrets(&t, &endpoint).await, only);

    let rotate = format!("{}/secret/rotate", path(&endpoint));
    let two = t.call(Some(&t.tenant), "POST", &rotate, None).await.ok();
    let made = two["secret"].as_str().unwrap().to_owned();
    assert!(made.starts_with("whsec_") && made != SECRET);
    let day = 24 * 3600 * 1000;
    assert_eq!(two["secrets"][1], json!({"secret": SECRET, "expire_at": NOW + day}));
    assert_eq!(secrets(&t, &endpoint).await, two);
    t.post(&rotate, json!({"expire_old_in_seconds": 3600})).await.ok();
    t.post(&rotate, json!({})).await.is_error(400, "webhook_secrets_exceeded");
    t.post(&rotate, json!({"secret": made})).await.is_problem(422, "form_param_value_invalid", "secret");
    t.post(&rotate, json!({"secret": "whsec_x"})).await.is_problem(
        422,
        "form_param_format_invalid",
        "secret",
    );
    let too_long = t.post(&rotate, json!({"expire_old_in_seconds": 604_801})).await;
    too_long.is_problem(422, "form_param_value_too_large", "expire_old_in_seconds");
    t.post(&rotate, json!({"expire_old_in_seconds": -1})).await.is_problem(
        422,
        "form_param_value_invalid",
        "expire_old_in_seconds",
    );
    // An hour later all but the newest have ended: the last rotation ended those before it too.
    t.clock.advance_ms(3600 * 1000);
    assert_eq!(secrets(&t, &endpoint).await["secrets"].as_array().unwrap().len(), 1);
    let now = t.post(&rotate, json!({"secret": SECRET, "expire_old_in_seconds": 0})).await.ok();
    assert_eq!(now["secrets"], json!([{"secret": SECRET, "expire_at": null}]));
}

#[tokio::test]
async fn every_kind_of_event_is_listed() {
    let t = TestServer::start().await;
    let list = t.get("/v1/webhooks/event_types").await.ok();
    assert_eq!(list["total_count"], 46);
    let first = json!({"object": "webhook_event_type", "name": "email.created", "description": list["data"][0]["description"],
        "emitted": true});
    assert_eq!(list["data"][0], first);
    let mut to_come = list["data"].as_array().unwrap().iter().filter(|it| it["emitted"] == false);
    assert_eq!(to_come.next_back().unwrap()["name"], "paymentAttempt.updated");
    let names: Vec<&str> =
        list["data"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    create(&t, json!({"event_types": names})).await.ok();
}

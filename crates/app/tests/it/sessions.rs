//! Sessions as backends see them: made, listed, revoked, and the tokens they give.

mod clients;
mod ending;
mod refresh;
mod tokens;

use latchkey_kernel::environment::Environment;
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

/// The ids in a list.
fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect()
}

/// Opens a session of a user; returns its id.
async fn open(t: &TestServer, user: &str) -> String {
    t.clock.advance_ms(1000);
    let session = t.post("/v1/sessions", json!({"user_id": user})).await.ok();
    session["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn session_of_a_user_is_made_and_shown() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let session = t.post("/v1/sessions", json!({"user_id": user})).await.ok();
    assert_eq!((&session["object"], &session["status"]), (&json!("session"), &json!("active")));
    assert_eq!(session["user_id"], json!(user));
    assert_eq!(session["tasks"], Value::Null);
    assert_eq!(session["actor"], Value::Null);
    assert_eq!(t.shown(&user).await["last_active_at"], session["last_active_at"]);
    let week = 7 * 24 * 3600 * 1000;
    assert_eq!(session["expire_at"].as_i64().unwrap() - session["created_at"].as_i64().unwrap(), week);
    let path = format!("/v1/sessions/{}", session["id"].as_str().unwrap());
    assert_eq!(t.get(&path).await.ok(), session);
    let client = t.get(&format!("/v1/clients/{}", session["client_id"].as_str().unwrap())).await.ok();
    assert_eq!(client["last_active_session_id"], session["id"]);
    assert_eq!(client["sessions"], json!([session]));
    let events = t.events().await;
    let created = events.iter().find(|event| event.kind == "session.created").unwrap();
    assert_eq!(created.subject, user);
    assert_eq!(created.data["user"], t.shown(&user).await);
    assert_eq!(without_user(&created.data), session);
}

/// What an event about a session tells beside its user.
fn without_user(data: &Value) -> Value {
    let mut session = data.clone();
    session.as_object_mut().unwrap().remove("user").unwrap();
    session
}

#[tokio::test]
async fn session_is_not_made_on_production_instances() {
    let t = TestServer::start().await;
    let user = json!({"email_address": ["ann@example.com"]});
    let user = t.call(Some(&t.other), "POST", "/v1/users", Some(user)).await.ok();
    let body = json!({"user_id": user["id"]});
    let answer = t.call(Some(&t.other), "POST", "/v1/sessions", Some(body)).await;
    answer.is_error(400, "request_invalid_for_environment");
}

#[tokio::test]
async fn session_needs_a_user_who_may_sign_in() {
    let t = TestServer::start().await;
    let create = |body: Value| t.post("/v1/sessions", body);
    for unknown in ["user_000000000000000000000000000", "somebody", ""] {
        create(json!({"user_id": unknown})).await.is_error(404, "resource_not_found");
    }
    let user = t.user_with_email("ann@example.com").await;
    let body = json!({"user_id": user, "active_organization_id": "org_000000000000000000000000000"});
    create(body).await.is_error(404, "resource_not_found");
    t.post(&format!("/v1/users/{user}/lock"), json!({})).await.ok();
    create(json!({"user_id": user})).await.is_error(422, "user_locked");
    t.post(&format!("/v1/users/{user}/unlock"), json!({})).await.ok();
    t.post(&format!("/v1/users/{user}/ban"), json!({})).await.ok();
    create(json!({"user_id": user})).await.is_error(422, "user_banned");
}

#[tokio::test]
async fn list_is_filtered_paged_and_newest_first() {
    let t = TestServer::start().await;
    let (ann, bob) = (t.user_with_email("ann@example.com").await, t.user_with_email("bob@example.com").await);
    let (first, second, third) = (open(&t, &ann).await, open(&t, &bob).await, open(&t, &ann).await);
    let listed = |query: &str| {
        let path = format!("/v1/sessions?{query}");
        let t = &t;
        async move { t.get(&path).await.ok() }
    };
    assert_eq!(ids(&listed("").await), [&third, &second, &first]);
    assert_eq!(ids(&listed(&format!("user_id={ann}")).await), [&third, &first]);
    assert_eq!(ids(&listed(&format!("user_id={ann}&limit=1&offset=1")).await), [&first]);
    let client = listed(&format!("user_id={bob}")).await[0]["client_id"].as_str().unwrap().to_owned();
    assert_eq!(ids(&listed(&format!("client_id={client}")).await), [&second]);
    assert_eq!(ids(&listed(&format!("client_id={client}&user_id={ann}")).await), [""; 0]);
    let page = listed(&format!("user_id={ann}&paginated=true&limit=1")).await;
    assert_eq!((ids(&page["data"]), &page["total_count"]), (vec![third.as_str()], &json!(2)));
    t.post(&format!("/v1/sessions/{first}/revoke"), json!({})).await.ok();
    assert_eq!(ids(&listed("status=revoked").await), [&first]);
    assert_eq!(ids(&listed("status=active").await), [&third, &second]);
    assert_eq!(ids(&listed("status=ended").await), [""; 0]);
    t.get("/v1/sessions?status=over").await.is_problem(422, "form_param_value_invalid", "status");
    let elsewhere = t.call(Some(&t.other), "GET", &format!("/v1/sessions?user_id={ann}"), None).await.ok();
    assert_eq!(elsewhere, json!([]));
}

#[tokio::test]
async fn sessions_end_by_time() {
    let mut settings = Settings::default();
    settings.session.inactivity_timeout_seconds = Some(600);
    let t = TestServer::start().await;
    let idle = t.new_tenant(Environment::Development, settings).await;
    let user = t.user_with_email("ann@example.com").await;
    let session = open(&t, &user).await;
    let user = json!({"email_address": ["ann@example.com"]});
    let user = t.call(Some(&idle), "POST", "/v1/users", Some(user)).await.ok();
    let body = json!({"user_id": user["id"]});
    let resting = t.call(Some(&idle), "POST", "/v1/sessions", Some(body)).await.ok();
    t.clock.advance_ms(600_000);
    let path = format!("/v1/sessions/{}", resting["id"].as_str().unwrap());
    assert_eq!(t.call(Some(&idle), "GET", &path, None).await.ok()["status"], "abandoned");
    let listed = t.call(Some(&idle), "GET", "/v1/sessions?status=abandoned", None).await.ok();
    assert_eq!(ids(&listed), [resting["id"].as_str().unwrap()]);
    assert_eq!(t.get(&format!("/v1/sessions/{session}")).await.ok()["status"], "active");
    t.clock.advance_ms(7 * 24 * 3600 * 1000);
    assert_eq!(t.get(&format!("/v1/sessions/{session}")).await.ok()["status"], "expired");
    assert_eq!(ids(&t.get("/v1/sessions?status=expired").await.ok()), [&session]);
    assert_eq!(t.get("/v1/sessions?status=active").await.ok(), json!([]));
}

#[tokio::test]
async fn session_is_revoked_once_and_says_so_once() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let session = open(&t, &user).await;
    let path = format!("/v1/sessions/{session}/revoke");
    let revoked = t.post(&path, json!({})).await.ok();
    assert_eq!(revoked["status"], "revoked");
    t.clock.advance_ms(1000);
    assert_eq!(t.post(&path, json!({})).await.ok(), revoked);
    let events = t.events().await;
    let told: Vec<_> = events.iter().filter(|event| event.kind == "session.revoked").collect();
    assert_eq!(told.len(), 1);
    assert_eq!(without_user(&told[0].data), revoked);
}

#[tokio::test]
async fn session_that_is_over_becomes_revoked_and_says_so() {
    let t = TestServer::start().await;
    let user = t.user_with_email("ann@example.com").await;
    let expired = open(&t, &user).await;
    t.clock.advance_ms(8 * 24 * 3600 * 1000);
    let removed = t.signed_in(&t.tenant, &user).await;
    let mut browser = t.browser();
    browser.cookies.insert("__client".to_owned(), removed.client_token.clone());
    browser.delete("/v1/client/sessions").await.ok();
    assert_eq!(t.get(&format!("/v1/sessions/{}", removed.session)).await.ok()["status"], "removed");
    for session in [expired, removed.session] {
        let before = t.events().await.len();
        let revoked = t.post(&format!("/v1/sessions/{session}/revoke"), json!({})).await.ok();
        assert_eq!(revoked["status"], "revoked");
        let told = t.events().await.split_off(before);
        let kinds: Vec<&str> = told.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(kinds, ["session.revoked"]);
        assert_eq!(without_user(&told[0].data), revoked);
    }
}

#[tokio::test]
async fn session_with_something_left_to_do_is_active_to_older_versions() {
    let t = TestServer::start().await;
    let user =
        t.user(json!({"email_address": ["ann@example.com"], "password": "correct horse battery"})).await;
    let user = user["id"].as_str().unwrap();
    t.post(&format!("/v1/users/{user}/password/set_compromised"), json!({})).await.ok();
    let session = open(&t, user).await;
    let path = format!("/v1/sessions/{session}");
    let listed = |version, status: &str| {
        let path = format!("/v1/sessions?status={status}");
        let t = &t;
        async move { t.call_version(version, "GET", &path, None).await }
    };
    for version in ["2025-04-10", "2025-11-10", "2026-05-12"] {
        let shown = t.call_version(version, "GET", &path, None).await.ok();
        assert_eq!(
            (&shown["status"], &shown["tasks"]),
            (&json!("pending"), &json!([{"key": "reset-password"}]))
        );
        assert_eq!(listed(version, "pending").await.ok(), json!([shown]));
        assert_eq!(listed(version, "active").await.ok(), json!([]));
    }
    for version in ["2021-02-05", "2024-10-01"] {
        let shown = t.call_version(version, "GET", &path, None).await;
        assert_eq!((shown.status, &shown.json["status"]), (200, &json!("active")));
        assert_eq!(shown.json.get("tasks"), None);
        // Lists go by what the version shows, and it has no name for the rest.
        assert_eq!(listed(version, "active").await.ok(), json!([shown.json]));
        let page = listed(version, "active&paginated=true").await.ok();
        assert_eq!((ids(&page["data"]), &page["total_count"]), (vec![session.as_str()], &json!(1)));
        listed(version, "pending").await.is_problem(422, "form_param_value_invalid", "status");
    }
}

#[tokio::test]
async fn events_show_a_session_with_something_left_to_do_as_the_newest_version_does() {
    let mut settings = Settings::default();
    settings.sign_in.second_factor_required = true;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    let user = t.user_with_email("ann@example.com").await;
    let session = open(&t, &user).await;
    let path = format!("/v1/sessions/{session}");
    let newest = t.call_version("2026-05-12", "GET", &path, None).await.ok();
    assert_eq!((&newest["status"], &newest["tasks"]), (&json!("pending"), &json!([{"key": "setup-mfa"}])));
    for version in ["2021-02-05", "2024-10-01", "2025-04-10", "2026-05-12"] {
        let feed = t.call_version(version, "GET", "/v1/events", None).await.ok();
        let events = feed["data"].as_array().unwrap();
        let told = events.iter().find(|event| event["type"] == "session.pending").unwrap();
        assert_eq!(without_user(&told["data"]), newest, "{version}");
    }
}

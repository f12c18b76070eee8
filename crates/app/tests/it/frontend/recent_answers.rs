//! The answer to the same question of the same browser: given again for a second while nothing has changed, and never after
//! something has.

use latchkey_base::time::Clock;
use latchkey_kernel::recent_answers::KEPT_MS;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Browser, TestServer};
use serde_json::{Value, json};

use super::{claims, sign_in, user};

/// A server that reads nothing for a client but its own rows.
async fn without_organizations() -> TestServer {
    let t = TestServer::start().await;
    t.set_settings(Settings::default()).await;
    t
}

/// The client by its cookie alone, as most browsers ask for it.
async fn client(browser: &mut Browser<'_>) -> Value {
    browser.dev_browser = None;
    browser.get("/v1/client").await.ok()["response"].clone()
}

#[tokio::test]
async fn what_has_changed_is_in_the_very_next_answer() {
    let mut settings = Settings::default();
    settings.session.single_session = false;
    let t = without_organizations().await;
    t.set_settings(settings.clone()).await;
    let ann = user(&t, "ann@example.com").await;
    user(&t, "ben@example.com").await;
    let mut browser = t.browser();
    let session = sign_in(&mut browser, "ann@example.com").await;
    let path = format!("/v1/users/{}", ann["id"].as_str().unwrap());
    for name in ["Ann", "Anna"] {
        assert_eq!(client(&mut browser).await, client(&mut browser).await);
        t.patch(&path, json!({ "first_name": name })).await.ok();
        assert_eq!(client(&mut browser).await["sessions"][0]["user"]["first_name"], name);
    }
    client(&mut browser).await;
    let second = sign_in(&mut browser, "ben@example.com").await;
    assert_eq!(client(&mut browser).await["sessions"].as_array().unwrap().len(), 2);
    client(&mut browser).await;
    t.post(&format!("/v1/sessions/{second}/revoke"), json!({})).await.ok();
    let shown = client(&mut browser).await;
    assert_eq!(shown["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(shown["sessions"][0]["id"], json!(session));
    settings.organizations.enabled = true;
    t.set_settings(settings).await;
    let organization = json!({ "name": "Acme", "created_by": ann["id"] });
    t.post("/v1/organizations", organization).await.ok();
    let memberships = &client(&mut browser).await["sessions"][0]["user"]["organization_memberships"];
    assert_eq!(memberships[0]["organization"]["name"], "Acme");
    client(&mut browser).await;
    t.post(&format!("{path}/ban"), json!({})).await.ok();
    assert_eq!(client(&mut browser).await["sessions"], json!([]));
}

#[tokio::test]
async fn what_depends_on_the_time_is_a_second_late_at_most() {
    let t = without_organizations().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    sign_in(&mut browser, "ann@example.com").await;
    let age = |client: &Value| client["sessions"][0]["factor_verification_age"][0].as_i64().unwrap();
    t.clock.advance_ms(60_000 - KEPT_MS / 2);
    assert_eq!(age(&client(&mut browser).await), 0);
    t.clock.advance_ms(KEPT_MS - 100);
    // Only an answer that was kept says so; on PostgreSQL none is.
    let is_kept = t.db().engine() == "SQLite";
    assert_eq!(age(&client(&mut browser).await), if is_kept { 0 } else { 1 });
    t.clock.advance_ms(100);
    assert_eq!(age(&client(&mut browser).await), 1);
    // Also where the clock was set back.
    t.clock.advance_ms(-60_000);
    assert_eq!(age(&client(&mut browser).await), 0);
}

#[tokio::test]
async fn no_answer_has_a_token_older_than_ten_seconds() {
    let t = without_organizations().await;
    user(&t, "ann@example.com").await;
    let mut browser = t.browser();
    sign_in(&mut browser, "ann@example.com").await;
    for _ in 0..60 {
        let shown = client(&mut browser).await;
        let token = shown["sessions"][0]["last_active_token"]["jwt"].as_str().unwrap();
        let age = t.clock.now().seconds() - claims(token)["iat"].as_i64().unwrap();
        assert!((0..=10).contains(&age), "{age} s");
        t.clock.advance_ms(333);
    }
}

#[tokio::test]
async fn browsers_are_told_apart_by_every_word_of_what_they_ask() {
    let t = without_organizations().await;
    user(&t, "ann@example.com").await;
    let (mut browser, mut nobody) = (t.browser(), t.browser());
    sign_in(&mut browser, "ann@example.com").await;
    assert_eq!(client(&mut browser).await["sessions"].as_array().unwrap().len(), 1);
    assert_ne!(client(&mut nobody).await["sessions"].as_array().map_or(0, Vec::len), 1);
    browser.origin = Some("http://localhost:4000".to_owned());
    let shown = client(&mut browser).await;
    let token = shown["sessions"][0]["last_active_token"]["jwt"].as_str().unwrap();
    assert_eq!(claims(token)["azp"], "http://localhost:4000");
    let answer = browser.get("/v1/client").await;
    assert_eq!(answer.headers["access-control-allow-origin"], "http://localhost:4000");
}

//! `/v1/me/sessions`

use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::support::{me, sign_in, somebody};

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|session| session["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn people_see_where_they_are_signed_in() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let elsewhere = sign_in(&t, &me.user).await;
    somebody(&t, "other@example.com").await;
    let active = me.get("/v1/me/sessions/active").await.ok();
    let mut seen = ids(&active);
    seen.sort_unstable();
    let mut expected = [me.session.as_str(), elsewhere.session.as_str()];
    expected.sort_unstable();
    assert_eq!(seen, expected);
    let activity = &active[0]["latest_activity"];
    assert_eq!((&activity["browser_name"], &activity["is_mobile"]), (&json!("Chrome"), &json!(false)));
    let all = me.get("/v1/me/sessions").await.ok();
    assert_eq!(ids(&all).len(), 2);
    assert!(all[0]["user"]["id"] == me.user.as_str() && all[0]["last_active_token"] == json!(null));
}

/// `<UserProfile/>` prints `ADDRESS (COUNTRY)`. Without a country it printed `127.0.0.1 ()`.
#[tokio::test]
async fn device_list_names_a_place_for_each_address() {
    let t = TestServer::start().await;
    // Beside a production instance, visitors of the internet do not reach the development instance.
    t.run_sql("DELETE FROM instances WHERE environment = 'production'", vec![]).await;
    let user = t.user_with_email("ada@example.com").await;
    for (address, place) in [
        ("127.0.0.1", "local network"),
        ("192.168.1.20", "local network"),
        ("::1", "local network"),
        ("fd00::1", "local network"),
        ("203.0.113.9", "unknown location"),
        ("2001:db8::1", "unknown location"),
    ] {
        let token = t.post("/v1/sign_in_tokens", json!({"user_id": user})).await.ok();
        let mut browser = t.browser();
        browser.address.set_ip(address.parse().unwrap());
        let body = json!({"strategy": "ticket", "ticket": token["token"]});
        let sign_in = browser.post("/v1/client/sign_ins", body).await.ok();
        let session = sign_in["response"]["created_session_id"].as_str().unwrap();
        let active = browser.get("/v1/me/sessions/active").await.ok();
        let own = active.as_array().unwrap().iter().find(|active| active["id"] == session).unwrap();
        let activity = &own["latest_activity"];
        assert_eq!((&activity["ip_address"], &activity["country"]), (&json!(address), &json!(place)));
        let backend = t.get(&format!("/v1/sessions/{session}")).await.ok();
        assert_eq!(backend["latest_activity"]["country"], Value::Null);
    }
}

#[tokio::test]
async fn people_end_their_other_sessions_after_a_recent_proof() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let mut elsewhere = sign_in(&t, &me.user).await;
    let before = t.events().await.len();
    let path = format!("/v1/me/sessions/{}/revoke", elsewhere.session);
    let revoked = me.post(&path, json!({})).await.ok();
    assert_eq!(revoked["response"]["status"], "revoked");
    assert_eq!(ids(&revoked["client"]["sessions"]), [me.session.as_str()]);
    assert_eq!(me.events_after(before).await, ["session.revoked"]);
    elsewhere.get("/v1/me").await.is_error(401, "signed_out");
    assert_eq!(ids(&me.get("/v1/me/sessions/active").await.ok()), [me.session.as_str()]);
    assert_eq!(ids(&me.get("/v1/me/sessions").await.ok()).len(), 2);
    let third = sign_in(&t, &me.user).await;
    me.wait_for_reverification();
    let path = format!("/v1/me/sessions/{}/revoke", third.session);
    me.post(&path, json!({})).await.is_error(403, "session_reverification_required");
}

#[tokio::test]
async fn ending_the_session_one_is_in_signs_out() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    me.wait_for_reverification();
    let path = format!("/v1/me/sessions/{}/revoke", me.session);
    let revoked = me.post(&path, json!({})).await.ok();
    assert_eq!(revoked["client"]["sessions"], json!([]));
    assert_eq!(revoked["client"]["last_active_session_id"], json!(null));
    me.get("/v1/me").await.is_error(401, "signed_out");
}

#[tokio::test]
async fn sessions_of_others_are_not_there() {
    let t = TestServer::start().await;
    let mut me = me(&t).await;
    let mut other = somebody(&t, "other@example.com").await;
    let path = format!("/v1/me/sessions/{}/revoke", other.session);
    me.post(&path, json!({})).await.is_error(404, "resource_not_found");
    me.post("/v1/me/sessions/nonsense/revoke", json!({})).await.is_error(404, "resource_not_found");
    other.get("/v1/me").await.ok();
}

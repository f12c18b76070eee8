//! Tokens of a client from before its last sign-in: what other tabs still see with them, and what an attacker does not
//! see who planted one.

use std::collections::BTreeSet;

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Browser, TestServer};
use serde_json::{Value, json};

use super::{claims, sign_in, user};

const ANN: &str = "ann@example.com";
const BOB: &str = "bob@example.com";
const CARL: &str = "carl@example.com";

/// A server with three users, whose browsers hold several sessions.
async fn server() -> TestServer {
    let mut settings = Settings::default();
    settings.session.single_session = false;
    let t = TestServer::start_with(RateLimits::Off, settings).await;
    for email in [ANN, BOB, CARL] {
        user(&t, email).await;
    }
    t
}

/// Another browser, or another tab, that holds what a browser holds now.
fn copy<'a>(t: &'a TestServer, browser: &Browser<'_>) -> Browser<'a> {
    let mut copy = t.browser();
    copy.cookies = browser.cookies.clone();
    copy.dev_browser = browser.dev_browser.clone();
    copy
}

/// The ids of the sessions that a browser is shown; `None` without a client. The clock stands still, so their order says
/// nothing.
async fn shown(browser: &mut Browser<'_>) -> Option<BTreeSet<String>> {
    let client = browser.get("/v1/client").await.ok()["response"].clone();
    let sessions = client["sessions"].as_array()?;
    Some(sessions.iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect())
}

fn only(sessions: &[&String]) -> Option<BTreeSet<String>> {
    Some(sessions.iter().map(|session| (*session).clone()).collect())
}

async fn status(t: &TestServer, session: &str) -> String {
    t.get(&format!("/v1/sessions/{session}")).await.ok()["status"].as_str().unwrap().to_owned()
}

/// The paths of what is done with a session.
fn of_session(session: &str) -> [String; 4] {
    ["touch", "tokens", "end", "remove"].map(|what| format!("/v1/client/sessions/{session}/{what}"))
}

#[tokio::test]
async fn earlier_token_goes_on_with_its_session_after_another_sign_in() {
    let t = server().await;
    let mut second = t.browser();
    let ann = sign_in(&mut second, ANN).await;
    let mut first = copy(&t, &second);
    let bob = sign_in(&mut second, BOB).await;

    assert_eq!(shown(&mut first).await, only(&[&ann]));
    let client = first.get("/v1/client").await.ok()["response"].clone();
    assert_eq!(client["last_active_session_id"], ann.as_str());
    let [touch, tokens, end, _] = of_session(&ann);
    let token = first.post(&tokens, json!({})).await.ok()["jwt"].as_str().unwrap().to_owned();
    assert_eq!(claims(&token)["sid"], ann.as_str());
    let touched = first.post(&touch, json!({})).await.ok();
    assert_eq!(touched["client"]["sessions"].as_array().unwrap().len(), 1);
    let changed = first.patch("/v1/me", json!({ "first_name": "Ann" })).await.ok();
    assert_eq!(changed["response"]["first_name"], "Ann");

    // The tab that signed in sees both, and stays in the account that it is in.
    assert_eq!(shown(&mut second).await, only(&[&ann, &bob]));
    let client = second.get("/v1/client").await.ok()["response"].clone();
    assert_eq!(client["last_active_session_id"], bob.as_str());

    // The user signs out in the first tab.
    first.post(&end, json!({})).await.ok();
    assert_eq!(shown(&mut first).await, None);
    first.post(&tokens, json!({})).await.is_error(401, "signed_out");
    assert_eq!(shown(&mut second).await, only(&[&bob]));
}

#[tokio::test]
async fn planted_token_shows_nothing_after_another_user_signs_in() {
    let t = server().await;
    let mut attacker = t.browser();
    let own = sign_in(&mut attacker, ANN).await;
    let mut victim = copy(&t, &attacker);
    let session = sign_in(&mut victim, BOB).await;
    // The victim begins further attempts.
    victim.post("/v1/client/sign_ins", json!({ "identifier": CARL })).await.ok();
    victim.post("/v1/client/sign_ups", json!({ "email_address": "dora@example.com" })).await.ok();

    let seen = attacker.get("/v1/client").await.ok();
    assert_eq!((&seen["response"]["sign_in"], &seen["response"]["sign_up"]), (&Value::Null, &Value::Null));
    for word in [session.as_str(), "bob@", "carl@", "dora@"] {
        assert!(!seen.to_string().contains(word), "{word} in {seen:#}");
    }
    for path in of_session(&session) {
        let refused = attacker.post(&path, json!({})).await;
        assert!(matches!(refused.status, 401 | 404), "{path}: {}", refused.json);
        assert!(!refused.json.to_string().contains("bob@"), "{}", refused.json);
    }
    assert_eq!(attacker.get(&format!("/v1/client/sessions/{session}")).await.status, 404);
    let named = format!("/v1/me?_clerk_session_id={session}");
    attacker.get(&named).await.is_error(401, "signed_out");
    let verified = t.post("/v1/clients/verify", json!({ "token": attacker.cookies["__client"] })).await;
    assert_eq!(verified.status, 400, "{}", verified.json);

    // The attacker does not choose the account that the victim goes on in.
    attacker.post(&of_session(&own)[0], json!({})).await.ok();
    let client = victim.get("/v1/client").await.ok()["response"].clone();
    assert_eq!(client["last_active_session_id"], session.as_str());

    // Signing out of everything ends what the token shows.
    let mut twin = copy(&t, &attacker);
    attacker.delete("/v1/client/sessions").await.ok();
    assert_eq!(shown(&mut attacker).await, None);
    twin.delete("/v1/client").await;
    assert_eq!(status(&t, &session).await, "active");
    assert_eq!(shown(&mut victim).await, only(&[&session]));
}

#[tokio::test]
async fn planted_token_signs_in_on_a_client_of_its_own() {
    let t = server().await;
    let mut attacker = t.browser();
    let own = sign_in(&mut attacker, ANN).await;
    let mut victim = copy(&t, &attacker);
    let session = sign_in(&mut victim, BOB).await;
    let carl = sign_in(&mut attacker, CARL).await;
    assert_eq!(shown(&mut attacker).await, only(&[&carl]));
    // The owner can still end the session that the attacker knows.
    assert_eq!(shown(&mut victim).await, only(&[&own, &session]));
}

#[tokio::test]
async fn lost_response_signs_nobody_out() {
    let t = server().await;
    let mut browser = t.browser();
    let ann = sign_in(&mut browser, ANN).await;
    let mut lost = copy(&t, &browser);
    sign_in(&mut lost, BOB).await;
    // The browser never got the new token.
    assert_eq!(shown(&mut browser).await, only(&[&ann]));
    browser.post(&of_session(&ann)[1], json!({})).await.ok();
    browser.get(&format!("/v1/me?_clerk_session_id={ann}")).await.ok();
    // Another attempt of the browser begins on a client of its own. The first session goes on.
    let bob = sign_in(&mut browser, BOB).await;
    assert_eq!(shown(&mut browser).await, only(&[&bob]));
    assert_eq!(status(&t, &ann).await, "active");
}

#[tokio::test]
async fn earlier_tokens_show_sessions_as_long_as_they_live() {
    let t = server().await;
    let mut browser = t.browser();
    let mut tabs = Vec::new();
    let mut sessions = Vec::new();
    for email in [ANN, BOB, CARL] {
        sessions.push(sign_in(&mut browser, email).await);
        tabs.push(copy(&t, &browser));
    }
    for (count, tab) in (1..).zip(&mut tabs) {
        assert_eq!(shown(tab).await, only(&sessions[..count].iter().collect::<Vec<_>>()));
    }
    browser.post(&of_session(&sessions[0])[2], json!({})).await.ok();
    let expected = [None, only(&[&sessions[1]]), only(&[&sessions[1], &sessions[2]])];
    for (expected, tab) in expected.into_iter().zip(&mut tabs) {
        assert_eq!(shown(tab).await, expected);
    }
    browser.delete("/v1/client/sessions").await.ok();
    for tab in &mut tabs[..2] {
        assert_eq!(shown(tab).await, None);
    }
    assert_eq!(shown(&mut tabs[2]).await, only(&[]));
}

#[tokio::test]
async fn newest_cookie_counts_more_than_an_earlier_one() {
    let t = server().await;
    let mut browser = t.browser();
    let ann = sign_in(&mut browser, ANN).await;
    let earlier = browser.cookies["__client"].clone();
    let bob = sign_in(&mut browser, BOB).await;
    let cookies = format!("{earlier}; __client={}", browser.cookies["__client"]);
    browser.cookies.insert("__client".into(), cookies);
    assert_eq!(shown(&mut browser).await, only(&[&ann, &bob]));
}

#[tokio::test]
async fn earlier_token_of_a_developers_browser_goes_on_with_its_session() {
    let t = server().await;
    let mut second = t.browser();
    let made = second.post("/v1/dev_browser", json!({})).await.ok();
    second.dev_browser = Some(made["id"].as_str().unwrap().to_owned());
    second.get("/v1/client").await.ok();
    let planted = second.dev_browser.clone();
    let ann = sign_in(&mut second, ANN).await;
    let mut first = copy(&t, &second);
    let bob = sign_in(&mut second, BOB).await;

    // The browser shows no cookies of other sites.
    first.cookies.clear();
    assert_eq!(shown(&mut first).await, only(&[&ann]));
    first.post(&of_session(&ann)[1], json!({})).await.ok();
    first.post(&of_session(&bob)[1], json!({})).await.is_error(404, "resource_not_found");
    // A handshake leaves it as it is.
    let path = "/v1/client/handshake?redirect_url=http%3A%2F%2Flocalhost%3A3000%2F&format=nonce";
    let location = first.open(path).await.header("location").to_owned();
    let nonce = location.split_once("__clerk_handshake_nonce=").unwrap().1;
    let left =
        t.get(&format!("/v1/clients/handshake_payload?nonce={nonce}")).await.ok()["directives"].clone();
    let token = format!("__clerk_db_jwt={};", first.dev_browser.clone().unwrap());
    assert!(left.to_string().contains(&token), "{left:#}");

    second.cookies.clear();
    assert_eq!(shown(&mut second).await, only(&[&ann, &bob]));
    // The token from before the first sign-in shows nothing.
    let mut attacker = t.browser();
    attacker.dev_browser = planted;
    assert_eq!(shown(&mut attacker).await, only(&[]));
    // A new attempt in the first tab begins on a client of its own, and changes nothing in the second tab.
    let carl = sign_in(&mut first, CARL).await;
    first.cookies.clear();
    assert_eq!(shown(&mut first).await, only(&[&carl]));
    assert_eq!(shown(&mut second).await, only(&[&ann, &bob]));
}

#[tokio::test]
async fn earlier_token_of_a_native_app_goes_on_with_its_session() {
    let t = server().await;
    let mut device = t.browser();
    device.origin = None;
    let form = |email: &str| json!({ "identifier": email, "password": super::PASSWORD });
    let signed_in = device.post("/v1/client/sign_ins?_is_native=true", form(ANN)).await;
    let earlier: &'static str = signed_in.header("authorization").to_owned().leak();
    let ann = signed_in.ok()["response"]["created_session_id"].as_str().unwrap().to_owned();
    device.headers = vec![("authorization", earlier)];
    let signed_in = device.post("/v1/client/sign_ins?_is_native=true", form(BOB)).await;
    assert_ne!(signed_in.header("authorization"), earlier);
    // The app never got the new token.
    assert_eq!(shown(&mut device).await, only(&[&ann]));
    device.post(&of_session(&ann)[1], json!({})).await.ok();
    let again = device.post("/v1/client/sign_ins?_is_native=true", form(BOB)).await;
    device.headers = vec![("authorization", again.header("authorization").to_owned().leak())];
    assert_eq!(shown(&mut device).await.unwrap().len(), 1);
}

#[tokio::test]
async fn earlier_token_shows_nothing_where_a_browser_holds_one_session() {
    let t = TestServer::start().await;
    for email in [ANN, BOB] {
        user(&t, email).await;
    }
    let mut browser = t.browser();
    sign_in(&mut browser, ANN).await;
    let mut planted = copy(&t, &browser);
    browser.delete("/v1/client/sessions").await.ok();
    sign_in(&mut browser, BOB).await;
    assert_eq!(shown(&mut planted).await, None);
}

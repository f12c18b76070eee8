//! The Frontend API around its operations: who asks, which instance answers, what the answer carries.

mod both_engines {
    mod ahead;
    mod published;
}
mod clients;
mod cookies;
mod earlier_tokens;
mod failures;
mod gate;
mod handshake;
mod hardening;
mod held_back;
mod links;
mod local_host;
mod organizations;
mod pages;
mod recent_answers;
mod recent_tokens;
mod refusals;
mod satellites;
mod sessions;

use latchkey_testkit::{Browser, TestServer};
use serde_json::{Value, json};

pub(crate) const PASSWORD: &str = "correct horse battery staple";

/// A user who can sign in with a password.
pub(crate) async fn user(t: &TestServer, email: &str) -> Value {
    t.post("/v1/users", json!({ "email_address": [email], "password": PASSWORD })).await.ok()
}

/// Signs a user in on a browser; the id of the session.
pub(crate) async fn sign_in(browser: &mut Browser<'_>, email: &str) -> String {
    let form = json!({ "identifier": email, "password": PASSWORD });
    let answer = browser.post("/v1/client/sign_ins", form).await.ok();
    assert_eq!(answer["response"]["status"], "complete", "{answer:#}");
    answer["response"]["created_session_id"].as_str().unwrap().to_owned()
}

/// The claims of a token, unchecked.
pub(crate) fn claims(token: &str) -> Value {
    use base64::Engine;
    let part = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

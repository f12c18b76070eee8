//! Signing up, from the first field to the first session.

mod backend;
mod completion;
mod doors;
mod fields;
mod links;
mod proofs;

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Browser, TestServer};
use serde_json::{Value, json};

pub(crate) const PATH: &str = "/v1/client/sign_ups";
pub(crate) const PASSWORD: &str = "countess of numbers";

/// A server whose development instance has settings changed by `change`.
pub(crate) async fn server(change: impl FnOnce(&mut Settings)) -> TestServer {
    let mut settings = Settings::default();
    change(&mut settings);
    TestServer::start_with(RateLimits::Off, settings).await
}

/// A server that asks for a proven address and nothing else; hashing takes its time, so most tests do
/// without.
pub(crate) async fn without_passwords() -> TestServer {
    server(|settings| settings.attributes.password.required_at_sign_up = false).await
}

/// Begins an attempt and returns its path.
pub(crate) async fn begun(browser: &mut Browser<'_>, fields: Value) -> String {
    let made = browser.post(PATH, fields).await.ok();
    format!("{PATH}/{}", made["response"]["id"].as_str().unwrap())
}

/// Begins an attempt with an address and has a code sent.
pub(crate) async fn with_code(browser: &mut Browser<'_>, address: &str) -> String {
    begun(browser, json!({"email_address": address, "strategy": "email_code"})).await
}

/// The code in the newest message.
pub(crate) async fn newest_code(t: &TestServer) -> String {
    t.inbox().await[0]["code"].as_str().unwrap().to_owned()
}

/// A code that is not this one.
pub(crate) fn wrong(code: &str) -> &'static str {
    if code == "000000" { "000001" } else { "000000" }
}

/// Tries a code of that strategy.
pub(crate) async fn attempt(
    browser: &mut Browser<'_>,
    path: &str,
    strategy: &str,
    code: &str,
) -> latchkey_testkit::Answer {
    let path = format!("{path}/attempt_verification");
    browser.post(&path, json!({"strategy": strategy, "code": code})).await
}

/// Signs up with an address alone.
pub(crate) async fn signed_up(t: &TestServer, browser: &mut Browser<'_>, address: &str) -> Value {
    let path = with_code(browser, address).await;
    attempt(browser, &path, "email_code", &newest_code(t).await).await.ok()
}

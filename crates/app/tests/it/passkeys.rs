//! Passkeys: how people get them, sign in with them and lose them; and what nobody gets in with.

mod attacks;
pub(crate) mod authenticator;
mod registration;
mod second_factors;
mod sign_ins;
mod well_known;

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_testkit::{Answer, Browser, TestServer};
use serde_json::{Value, json};

use crate::me::support::{Me, me};
use crate::sign_ins::{begin, shown, step};
use authenticator::Authenticator;

pub(crate) const ADDRESS: &str = "me@example.com";

/// A server with passkeys.
pub(crate) async fn server() -> TestServer {
    server_with(|_| ()).await
}

pub(crate) async fn server_with(change: impl FnOnce(&mut Settings)) -> TestServer {
    let mut settings = Settings::default();
    settings.attributes.passkey.enabled = true;
    change(&mut settings);
    TestServer::start_with(RateLimits::Off, settings).await
}

/// The options in a verification.
#[track_caller]
pub(crate) fn options(verification: &Value) -> Value {
    serde_json::from_str(verification["nonce"].as_str().unwrap()).unwrap()
}

impl Me<'_> {
    /// Begins to register a passkey: its id and the options.
    pub(crate) async fn begin_passkey(&mut self) -> (String, Value) {
        let begun = self.post("/v1/me/passkeys", json!({})).await.ok()["response"].take();
        (begun["id"].as_str().unwrap().to_owned(), options(&begun["verification"]))
    }

    pub(crate) async fn finish_passkey(&mut self, id: &str, credential: &Value) -> Answer {
        let path = format!("/v1/me/passkeys/{id}/attempt_verification");
        self.post(&path, json!({"strategy": "passkey", "public_key_credential": credential.to_string()}))
            .await
    }

    /// Registers a passkey that an authenticator makes.
    pub(crate) async fn register(&mut self, device: &mut Authenticator) -> String {
        let (id, options) = self.begin_passkey().await;
        let credential = device.create(&options);
        self.finish_passkey(&id, &credential).await.ok();
        id
    }
}

/// Somebody with a passkey, and the device that has it.
pub(crate) async fn owner(t: &TestServer) -> (Me<'_>, Authenticator) {
    let (mut me, mut device) = (me(t).await, Authenticator::new());
    me.register(&mut device).await;
    (me, device)
}

/// Begins to sign in with a passkey, without a name.
pub(crate) async fn begun(browser: &mut Browser<'_>) -> (String, Value) {
    let sign_in = shown(begin(browser, json!({"strategy": "passkey"})).await);
    (sign_in["id"].as_str().unwrap().to_owned(), options(&sign_in["first_factor_verification"]))
}

/// Shows an answer of an authenticator.
pub(crate) async fn attempt(browser: &mut Browser<'_>, id: &str, credential: &Value) -> Answer {
    let fields = json!({"strategy": "passkey", "public_key_credential": credential.to_string()});
    step(browser, id, "attempt_first_factor", fields).await
}

/// Signs in with a passkey, without a name.
pub(crate) async fn sign_in(browser: &mut Browser<'_>, device: &mut Authenticator) -> Answer {
    let (id, options) = begun(browser).await;
    let credential = device.get(&options);
    attempt(browser, &id, &credential).await
}

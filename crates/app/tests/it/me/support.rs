//! People who are signed in, without the way there.

use latchkey_base::Id;
use latchkey_base::kinds::UserId;
use latchkey_base::rng::{Rng, SystemRng};
use latchkey_base::time::Clock;
use latchkey_jose::digest::sha256;
use latchkey_kernel::instances::store as instances;
use latchkey_people::users::store as users;
use latchkey_presence::clients::model::Client;
use latchkey_presence::clients::{store as clients, token};
use latchkey_presence::sessions::rules::{Entry, begin};
use latchkey_presence::sessions::{activity, store as sessions};
use latchkey_testkit::{Answer, Browser, TestServer};
use serde_json::{Value, json};

pub(crate) const MINUTE_MS: i64 = 60_000;
pub(crate) const PASSWORD: &str = "correct horse battery";

/// Somebody signed in.
pub(crate) struct Me<'a> {
    pub(crate) t: &'a TestServer,
    pub(crate) browser: Browser<'a>,
    pub(crate) user: String,
    pub(crate) session: String,
}

/// A user with a verified address and a password, who proved the password just now.
pub(crate) async fn me(t: &TestServer) -> Me<'_> {
    somebody(t, "me@example.com").await
}

/// Another one.
pub(crate) async fn somebody<'a>(t: &'a TestServer, address: &str) -> Me<'a> {
    // Cheap to make; what hashing costs is tested elsewhere.
    let digest: String = sha256(PASSWORD.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let body = json!({"email_address": [address], "password_digest": digest, "password_hasher": "sha256"});
    let user = t.user(body).await;
    sign_in(t, user["id"].as_str().unwrap()).await
}

/// Signs a user in on a browser of their own, by a first factor.
pub(crate) async fn sign_in<'a>(t: &'a TestServer, user: &str) -> Me<'a> {
    enter(t, user, Entry { first_factor: true, ..Entry::default() }).await
}

/// Signs a user in on a browser of their own.
pub(crate) async fn enter<'a>(t: &'a TestServer, user: &str, entry: Entry) -> Me<'a> {
    let (instance, id): (_, UserId) = (t.tenant.id.clone(), Id::parse(user).unwrap());
    let (now, rng) = (t.clock.now(), SystemRng);
    let secret = token::secret(&rng).expose().to_owned();
    let digest = sha256(secret.as_bytes());
    let session = t.db().write(move |tx| {
        Box::pin(async move {
            let settings = instances::find(tx, &instance).await?.unwrap().settings;
            let user = users::find(tx, &instance, &id).await?.unwrap();
            let mut client = Client::new(&instance, now, &rng);
            let seen = activity::seen("Mozilla/5.0 (X11; Linux) Chrome/141.0", "127.0.0.1", now, &rng);
            let session = begin(&user, &client.id, entry, seen, &settings, now, &rng);
            client.last_active_session = Some(session.id.clone());
            let mut proof = [0; 32];
            rng.fill(&mut proof);
            clients::insert(tx, &client, &proof).await?;
            clients::save_dev_browser(tx, &instance, &digest, Some((&client.id, &proof[..])), now).await?;
            sessions::insert(tx, &session).await?;
            Ok(session.id.to_string())
        })
    });
    let session = session.await.unwrap();
    let mut browser = t.browser();
    browser.dev_browser = Some(secret);
    Me { t, browser, user: user.to_owned(), session }
}

impl Me<'_> {
    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        self.tick();
        self.browser.get(path).await
    }

    pub(crate) async fn post(&mut self, path: &str, fields: Value) -> Answer {
        self.tick();
        self.browser.post(path, fields).await
    }

    pub(crate) async fn patch(&mut self, path: &str, fields: Value) -> Answer {
        self.tick();
        self.browser.patch(path, fields).await
    }

    pub(crate) async fn delete(&mut self, path: &str) -> Answer {
        self.tick();
        self.browser.delete(path).await
    }

    /// No two requests happen in the same millisecond, so that events and messages have an order.
    fn tick(&self) {
        self.t.clock.advance_ms(1);
    }

    /// The user as they see themselves.
    pub(crate) async fn shown(&mut self) -> Value {
        self.get("/v1/me").await.ok()["response"].clone()
    }

    /// The session as the client shows it.
    pub(crate) async fn shown_session(&mut self) -> Value {
        let client = self.get("/v1/me").await.ok()["client"].clone();
        let sessions = client["sessions"].as_array().unwrap();
        sessions.iter().find(|session| session["id"] == self.session.as_str()).unwrap().clone()
    }

    /// Lets the last proof grow old.
    pub(crate) fn wait_for_reverification(&self) {
        self.t.clock.advance_ms(10 * MINUTE_MS);
    }

    /// The code in the newest message.
    pub(crate) async fn code(&self) -> String {
        self.t.inbox().await[0]["code"].as_str().unwrap().to_owned()
    }

    /// Adds a contact and verifies it; `kind` is `email_address` or `phone_number`.
    pub(crate) async fn add_verified(&mut self, kind: &str, value: &str) -> String {
        let (path, strategy) = match kind {
            "email_address" => ("/v1/me/email_addresses", "email_code"),
            _ => ("/v1/me/phone_numbers", "phone_code"),
        };
        let added = self.post(path, json!({ kind: value })).await.ok();
        let id = added["response"]["id"].as_str().unwrap().to_owned();
        self.post(&format!("{path}/{id}/prepare_verification"), json!({"strategy": strategy})).await.ok();
        let code = self.code().await;
        self.post(&format!("{path}/{id}/attempt_verification"), json!({"code": code})).await.ok();
        id
    }

    /// Sets up an authenticator app; returns its secret and the backup codes.
    pub(crate) async fn enroll_totp(&mut self) -> (Vec<u8>, Vec<String>) {
        let begun = self.post("/v1/me/totp", json!({})).await.ok();
        let text = begun["response"]["secret"].as_str().unwrap();
        let secret = latchkey_jose::totp::base32_decode(text).unwrap();
        let code = self.totp_code(&secret);
        let done = self.post("/v1/me/totp/attempt_verification", json!({"code": code})).await.ok();
        let codes = done["response"]["backup_codes"].as_array().cloned().unwrap_or_default();
        (secret, codes.iter().map(|code| code.as_str().unwrap().to_owned()).collect())
    }

    /// What an authenticator app shows now.
    pub(crate) fn totp_code(&self, secret: &[u8]) -> String {
        latchkey_jose::totp::totp_code(secret, self.t.clock.now().seconds() / 30)
    }

    /// The kinds of the events since the first `count`.
    pub(crate) async fn events_after(&self, count: usize) -> Vec<String> {
        let mut kinds: Vec<String> =
            self.t.events().await.into_iter().skip(count).map(|event| event.kind).collect();
        // Events of one request are in no order.
        kinds.sort();
        kinds
    }
}

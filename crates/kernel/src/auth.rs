//! Who may call. A permission is an extractor in a handler's signature, and the only source of the
//! tenant: a handler that forgets it has no instance to work on.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use latchkey_base::kinds::{InstanceId, SecretKeyId};
use latchkey_base::{Code, Error, Result};
use latchkey_db::{Db, Tx};
use latchkey_jose::digest::sha256;
use latchkey_web::api::{Credential, Operation};
use latchkey_web::bodies::BodyShare;
use latchkey_web::edge::{OperationIndex, RequestKey};
use latchkey_web::reply::Failure;
use latchkey_web::signature::Argument;

use crate::environment::Environment;
use crate::instances::store::{self, Holder};
use crate::settings::Settings;
use crate::{App, AppState};

/// Proof that the caller holds a secret key of `instance`.
pub struct SecretKey {
    pub instance: InstanceId,
    /// The id of the key: of the one that the request shows, or that made the link token of the request. Links to the
    /// inbox are made by the server and have none.
    pub id: Option<SecretKeyId>,
    /// Whether it is a development or a production instance.
    pub environment: Environment,
    /// Its settings, as they are now.
    pub settings: Arc<Settings>,
}

impl SecretKey {
    /// Whether test addresses, numbers and codes work.
    pub fn test_mode(&self) -> bool {
        self.settings.test_mode.unwrap_or(self.environment == Environment::Development)
    }
}

impl FromRequestParts<AppState> for SecretKey {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, AppState(app): &AppState) -> Result<SecretKey, Failure> {
        let digest = key_digest(parts)?;
        let mut tx = app.db.read().await?;
        let holder = store::find_by_key(&mut tx, &digest).await?;
        let key = admit(app, &mut tx, parts, holder).await?;
        app.callers.learn_backend(&parts.headers, &key.instance);
        if let Some(share) = parts.extensions.get::<BodyShare>() {
            let db = app.db.clone();
            share.set_recheck(Box::new(move || Box::pin(still_known(db.clone(), digest))));
        }
        Ok(key)
    }
}

impl Argument for SecretKey {
    fn describe(row: &mut Operation) {
        row.needs(Credential::SecretKey);
    }
}

/// The digest of the key a request carries. Keys are looked up by it, every time: a key deleted a moment
/// ago no longer works, on any node. It makes the comparison independent of how much of a guess is right.
pub fn key_digest(parts: &Parts) -> Result<[u8; 32]> {
    Ok(sha256(bearer(parts)?.as_bytes()))
}

/// Whether a key still is one.
async fn still_known(db: Db, digest: [u8; 32]) -> Result<()> {
    let holder = store::find_by_key(&mut db.read().await?, &digest).await?;
    holder.map(|_| ()).ok_or_else(|| Error::new(Code::ClerkKeyInvalid))
}

/// Lets the holder of a key in: with the instance's settings, and if the rate limits allow it.
pub async fn admit(app: &App, tx: &mut Tx, parts: &Parts, holder: Option<Holder>) -> Result<SecretKey> {
    let Some(holder) = holder else {
        app.callers.forget(&parts.headers);
        return Err(unknown_key(parts));
    };
    if let Some(share) = parts.extensions.get::<BodyShare>() {
        share.set_tenant(holder.id.as_str());
    }
    if let Some(logged) = parts.extensions.get::<RequestKey>() {
        logged.set(&holder.id, holder.key.as_ref());
    }
    let settings = app.settings_of(tx, &holder).await?;
    if let Some(operation) = app.product.operations.get(operation(parts)) {
        let who = (holder.id.as_str(), holder.environment);
        app.rate_limits.check(&app.throttle, who, operation, parts.uri.path(), app.clock.now()).await?;
    }
    let Holder { id: instance, environment, key, .. } = holder;
    Ok(SecretKey { instance, id: key, environment, settings })
}

/// Admits the holder of a link token like a holder of the secret key that made it. The calling code must check what the
/// token is for, and whether the key still exists.
pub async fn admit_to(
    app: &App,
    parts: &Parts,
    instance: &InstanceId,
    key: Option<SecretKeyId>,
) -> Result<SecretKey> {
    let mut tx = app.db.read().await?;
    let holder = store::find_holder(&mut tx, instance).await?;
    admit(app, &mut tx, parts, holder.map(|holder| Holder { key, ..holder })).await
}

impl App {
    /// The settings of an instance, as they were when its holder was read.
    pub async fn settings_of(&self, tx: &mut Tx, holder: &Holder) -> Result<Arc<Settings>> {
        if let Some(settings) = self.settings.get(&holder.id, holder.settings_revision) {
            return Ok(settings);
        }
        let found = store::find(tx, &holder.id).await?;
        let instance = found.ok_or_else(|| Error::new(Code::ClerkKeyInvalid))?;
        let settings = Arc::new(instance.settings);
        self.settings.put(instance.id, instance.settings_revision, settings.clone());
        Ok(settings)
    }
}

/// The refusal of a key. The publishable one is the likeliest mistake.
fn unknown_key(parts: &Parts) -> Error {
    let error = Error::new(Code::ClerkKeyInvalid);
    match bearer(parts).is_ok_and(|key| key.starts_with("pk_")) {
        true => error.saying(
            "This is a publishable key. The Backend API takes the secret key, which starts with `sk_`.",
        ),
        false => error,
    }
}

/// The credential of a request: exactly one header, `Bearer`, a space, and something without spaces.
pub fn bearer(parts: &Parts) -> Result<&str> {
    credential(&parts.headers)
}

/// The same, of the headers of a request.
pub fn credential(headers: &HeaderMap) -> Result<&str> {
    let mut headers = headers.get_all(AUTHORIZATION).iter();
    let header = headers.next().ok_or_else(|| Error::new(Code::CouldNotAuthenticateRequest))?;
    let malformed = || Error::new(Code::AuthorizationHeaderFormatInvalid);
    if headers.next().is_some() {
        return Err(malformed());
    }
    let (scheme, credential) =
        header.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(malformed)?;
    let credential = credential.trim();
    match scheme.eq_ignore_ascii_case("bearer")
        && !credential.is_empty()
        && !credential.contains(char::is_whitespace)
    {
        true => Ok(credential),
        false => Err(malformed()),
    }
}

/// The operation a request is.
fn operation(parts: &Parts) -> usize {
    parts.extensions.get::<OperationIndex>().map_or(usize::MAX, |OperationIndex(index)| *index)
}

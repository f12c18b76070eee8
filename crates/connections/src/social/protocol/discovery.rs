//! Where a provider of an application's own is asked: what the settings say, or what it says itself.
//!
//! Whoever can change a discovery document could have codes, secrets and identities sent elsewhere. So the document must
//! be about the issuer that the settings name, and everything in it must be at the issuer's host or at hosts that the
//! settings list.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use latchkey_base::error::Problem;
use latchkey_base::kinds::InstanceId;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_kernel::cx::Cx;
use latchkey_kernel::settings::social::TokenAuth;
use serde_json::Value;
use url::Url;

use super::{Connection, Endpoints, caller, in_time};

/// Providers seldom move.
const KEPT_MS: i64 = 10 * 60 * 1000;
/// Anybody can begin to sign in: a provider that is down or slow is not asked each time. Whoever mends it does not wait
/// long.
const FAILED_MS: i64 = 5 * 1000;
const DOCUMENTS: usize = 256;
/// Shorter than the time for a whole visit, so that a failure is noted before whoever waits for it gives up.
const PATIENCE: Duration = Duration::from_secs(8);

/// What discovery documents said, by the instance and its configuration of the provider. The server registers one.
#[derive(Default)]
pub struct ProviderDocuments(Mutex<HashMap<(InstanceId, String), Arc<SharedDocument>>>);

/// One document, once it was read. Whoever reads it has it locked, and the others wait for what they find.
type SharedDocument = tokio::sync::Mutex<Option<KeptDocument>>;

struct KeptDocument {
    since: Time,
    outcome: Result<Endpoints, Problem>,
}

impl KeptDocument {
    fn is_good(&self, now: Time) -> bool {
        let kept_ms = if self.outcome.is_ok() { KEPT_MS } else { FAILED_MS };
        now.ms_since(self.since) < kept_ms
    }
}

impl ProviderDocuments {
    fn document(&self, connection: &Connection) -> Arc<SharedDocument> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (connection.instance.clone(), connection.version());
        if all.len() >= DOCUMENTS && !all.contains_key(&key) {
            all.clear();
        }
        all.entry(key).or_default().clone()
    }
}

/// Where the provider is asked.
pub(in crate::social) async fn endpoints(cx: &Cx, connection: &Connection) -> Result<Endpoints> {
    let Some(url) = connection.settings.discovery_url.as_deref().filter(|_| connection.is_custom()) else {
        return Ok(connection.fixed_endpoints());
    };
    let documents = cx.app.product.registry.all::<ProviderDocuments>().first();
    let document = documents.map(|documents| documents.document(connection)).unwrap_or_default();
    let work = async {
        let mut document = document.lock().await;
        if let Some(kept) = document.as_ref().filter(|kept| kept.is_good(cx.app.clock.now())) {
            return Ok(kept.outcome.clone()?);
        }
        let outcome = read(cx, connection, url).await.map_err(|error| error.problems()[0].clone());
        *document = Some(KeptDocument { since: cx.app.clock.now(), outcome: outcome.clone() });
        Ok(outcome?)
    };
    in_time(work, || unreachable(connection, "it took too long")).await
}

async fn read(cx: &Cx, connection: &Connection, url: &str) -> Result<Endpoints> {
    let caller = caller(cx, connection);
    let late = |_| unreachable(connection, "it took too long");
    let document = tokio::time::timeout(PATIENCE, caller.get(url, Vec::new())).await.map_err(late)?;
    checked(connection, &document.map_err(|failure| unreachable(connection, &failure.to_string()))?)
}

fn unreachable(connection: &Connection, why: &str) -> Error {
    tracing::warn!("the discovery document of {} cannot be read: {why}", connection.key);
    Error::new(Code::CustomOauthProviderDiscoveryServerRetrievalError)
}

fn checked(connection: &Connection, document: &Value) -> Result<Endpoints> {
    let settings = &connection.settings;
    let expected = settings.issuer.as_deref().or(settings.implied_issuer()).unwrap_or_default();
    let issuer = document["issuer"].as_str().unwrap_or_default();
    // A slash at the end is written by some and left out by others; nothing else may differ.
    if expected.is_empty() || issuer.trim_end_matches('/') != expected.trim_end_matches('/') {
        tracing::warn!(
            "the discovery document of {} names another issuer than {expected:?}, which the settings say or imply; they \
             must be the same",
            connection.key
        );
        return Err(Error::new(Code::CustomOauthProviderDiscoveryIssuerMismatch));
    }
    let place = |name: &str| {
        let url = document[name].as_str().unwrap_or_default();
        match is_allowed(connection, expected, url) {
            true => Ok(url.to_owned()),
            false => Err(Error::new(Code::CustomOauthProviderCannotUseDiscoveryUrl).saying(format!(
                "`{name}` of its discovery document is missing, or at a host that is not allowed."
            ))),
        }
    };
    let optional = |name: &str| match document[name].is_null() {
        true => Ok(None),
        false => place(name).map(Some),
    };
    let authorize = place("authorization_endpoint")?;
    Ok(Endpoints {
        origin: Url::parse(&authorize).map(|url| url.origin().ascii_serialization()).unwrap_or_default(),
        authorize,
        token: place("token_endpoint")?,
        token_auth: Some(token_auth(connection, document)?),
        user: optional("userinfo_endpoint")?,
        emails: None,
        jwks: Some(place("jwks_uri")?),
        issuer: Some(issuer.to_owned()),
    })
}

/// How this server proves who it is: as the settings say, or else as the document does. One that does not say so means
/// the header (OpenID Connect Discovery, section 3).
fn token_auth(connection: &Connection, document: &Value) -> Result<TokenAuth> {
    let said = &document["token_endpoint_auth_methods_supported"];
    let has = |name: &str| said.as_array().is_some_and(|methods| methods.iter().any(|method| method == name));
    match connection.settings.token_auth {
        Some(own) => Ok(own),
        None if said.is_null() || has("client_secret_basic") => Ok(TokenAuth::ClientSecretBasic),
        None if has("client_secret_post") => Ok(TokenAuth::ClientSecretPost),
        None => Err(Error::new(Code::CustomOauthProviderCannotUseDiscoveryUrl).saying(
            "`token_endpoint_auth_methods_supported` of its discovery document has neither `client_secret_basic` nor \
             `client_secret_post`.",
        )),
    }
}

/// At the origin of the issuer; or over https at a host that the settings list.
fn is_allowed(connection: &Connection, issuer: &str, text: &str) -> bool {
    let (Ok(issuer), Ok(url)) = (Url::parse(issuer), Url::parse(text)) else { return false };
    let is_bare = url.username().is_empty() && url.password().is_none();
    let host = url.host_str().unwrap_or_default();
    let is_listed = url.scheme() == "https"
        && url.port().is_none()
        && connection.settings.endpoint_hosts.iter().any(|listed| listed == host);
    is_bare && text.len() <= 1024 && (url.origin() == issuer.origin() || is_listed)
}

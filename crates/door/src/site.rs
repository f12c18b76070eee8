//! The instance a request of a browser is for, as seen from outside.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::HOST;
use axum::http::request::Parts;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::kinds::{ClientId, InstanceId};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_db::Tx;
use latchkey_jose::digest::{constant_time_eq, hmac_sha256, sha256};
use latchkey_kernel::callers::PROXY_KEY;
use latchkey_kernel::domains::rules as domains;
use latchkey_kernel::environment::Environment;
use latchkey_kernel::hosts::{self, url_of};
use latchkey_kernel::instances::keys::publishable_key;
use latchkey_kernel::instances::store::{self, FoundInstance, InstanceBy};
use latchkey_kernel::keyring::Signer;
use latchkey_kernel::settings::{Satellite, Settings};
use latchkey_kernel::{App, AppState};
use latchkey_presence::clients::token;
use latchkey_presence::sessions::present::{ClientWithSessions, InstanceWithClient, PresentRows};
use latchkey_presence::sessions::store as sessions;
use latchkey_web::reply::Failure;
use latchkey_web::signature::Argument;

use super::relying_party::relying_party;

/// Where a proxy on the application's side says how browsers reach it.
const PROXY_URL: &str = "clerk-proxy-url";

/// An instance, and where it is reached.
pub struct Site {
    pub instance: InstanceId,
    pub environment: Environment,
    /// Its settings, as they are now.
    pub settings: Arc<Settings>,
    /// The host its publishable key names: that of its primary domain.
    pub frontend_api: String,
    /// The satellite domain it is reached at, unless that is the primary one.
    pub satellite: Option<SatelliteSite>,
    /// Where browsers reach this API, without a slash at the end.
    pub base_url: String,
    /// Who vouches for its tokens.
    pub issuer: String,
    /// Whether the application's own proxy brought the request, and showed its secret key.
    pub is_proxied: bool,
    /// The domain whose passkeys the page or app that asks can use.
    pub relying_party: String,
    /// The id of the key it signs with, if it was read on the way.
    pub signing_key: Option<String>,
}

/// The satellite domain at which a request reached the instance.
pub struct SatelliteSite {
    /// The domain, as the settings have it.
    pub domain: Satellite,
    /// The host at which it has the Frontend API.
    pub host: String,
    /// Where the primary domain is asked.
    pub primary_url: String,
    key: [u8; 32],
}

impl SatelliteSite {
    fn new(app: &App, found: &FoundInstance, settings: &Settings, satellite: &Satellite) -> SatelliteSite {
        let context = format!("satellite clients:{}:{}", found.holder.id, satellite.name);
        SatelliteSite {
            domain: satellite.clone(),
            host: satellite.host(),
            primary_url: app.primary_url(&found.frontend_api, settings),
            key: app.master.derive(&context),
        }
    }

    /// The secret by which a client is known at this domain. It is good nowhere else, and only as long as the
    /// one on the primary domain, whose digest it is made from.
    pub fn secret(&self, client: &ClientId, digest: &[u8]) -> Secret {
        let made_from = [client.as_str().as_bytes(), &[0], digest].concat();
        Secret::new(URL_SAFE_NO_PAD.encode(hmac_sha256(&self.key, &made_from)))
    }
}

impl Site {
    /// Whether a secret is the one a client has here; `digest` is that of the one on the primary domain.
    pub fn is_proof(&self, client: &ClientId, digest: &[u8], secret: &Secret) -> bool {
        match &self.satellite {
            None => constant_time_eq(digest, &token::digest(secret)),
            Some(satellite) => {
                let expected = satellite.secret(client, digest);
                constant_time_eq(expected.expose().as_bytes(), secret.expose().as_bytes())
            }
        }
    }

    /// Whether a token is the one a client has here. Who signed it is not looked at.
    pub fn is_proven(&self, present: &ClientWithSessions, token: &str) -> bool {
        token::read(token).is_some_and(|(id, secret)| {
            present.client().id == id && self.is_proof(&id, present.token_digest(), &secret)
        })
    }

    /// The host of the domain it is reached at.
    pub fn host(&self) -> &str {
        self.satellite.as_ref().map_or(&self.frontend_api, |satellite| &satellite.host)
    }

    /// Where the hosted pages are: on the primary domain.
    pub fn portal_url(&self) -> &str {
        self.satellite.as_ref().map_or(&self.base_url, |satellite| &satellite.primary_url)
    }

    pub fn is_development(&self) -> bool {
        self.environment == Environment::Development
    }

    /// Whether apps are another site than the Frontend API and have nothing but its cookies to show: a development
    /// instance on this machine over HTTPS. Its apps are at `http://localhost`, and the published scripts keep no token
    /// of the developer's browser for such hosts.
    pub fn is_apart_from_apps(&self) -> bool {
        let is_here = url_of(self.host()).starts_with("http://");
        self.is_development() && is_here && self.base_url.starts_with("https://") && !self.is_proxied
    }

    /// The instance, if the application's own proxy brought the request.
    pub fn proxied(&self) -> Option<&InstanceId> {
        self.is_proxied.then_some(&self.instance)
    }

    /// Whether test addresses, numbers and codes work.
    pub fn test_mode(&self) -> bool {
        self.settings.test_mode.unwrap_or(self.is_development())
    }

    /// The key it signs with. Its id was read when the request came in.
    pub async fn signer(&self, app: &App, now: Time) -> Result<Signer> {
        app.signer_named(self.signing_key.as_deref(), &self.instance, now).await
    }

    /// The key browsers carry.
    pub fn publishable_key(&self) -> String {
        publishable_key(self.environment, &self.frontend_api)
    }
}

/// Finds the instance of a request: by the secret key a proxy shows, by the host, or the oldest
/// development instance while that may stand in for unknown hosts. Reads the client as well, if one is given, with who is signed in on it.
pub async fn find(
    app: &App,
    tx: &mut Tx,
    headers: &HeaderMap,
    is_encrypted: bool,
    client: Option<&ClientId>,
) -> Result<(Site, Option<PresentRows>)> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let proxy_url = header(PROXY_URL);
    let asked_host = header(HOST.as_str()).unwrap_or_default().to_ascii_lowercase();
    let host = app.instance_host_at(&asked_host).unwrap_or(&asked_host).to_owned();
    let now = app.clock.now();
    let known = match header(PROXY_KEY) {
        Some(key) => {
            let instance = look(tx, &InstanceBy::Key(&sha256(key.as_bytes())), client, now).await?;
            let Some(instance) = instance else {
                app.callers.forget(headers);
                return Err(Error::new(Code::ProxyRequestInvalidSecretKey));
            };
            Some(instance)
        }
        None if proxy_url.is_some() => return Err(Error::new(Code::ProxyRequestMissingSecretKey)),
        None => find_by_host(app, tx, &host, client, now).await?,
    };
    let is_known = known.is_some();
    let InstanceWithClient { mut found, signing_key, present } = match known {
        Some(known) => known,
        None => {
            let first = look(tx, &InstanceBy::Default, client, now).await?;
            first.ok_or_else(|| Error::new(Code::HostInvalid))?
        }
    };
    let settings = app.settings_of(tx, &found.holder).await?;
    if !is_known && !settings.development.unknown_hosts {
        check_development_only(tx).await?;
    }
    let proxy_url = proxy_url.filter(|url| is_base_url(url)).map(|url| url.trim_end_matches('/'));
    let asked = proxy_url.map_or_else(|| hosts::names(&host), |url| vec![url]);
    let satellite = satellite_asked(&asked, &found, &settings);
    let satellite = satellite.map(|satellite| SatelliteSite::new(app, &found, &settings, satellite));
    let is_at_local_host = app.local_host_of(&found.frontend_api) == Some(&*asked_host);
    if is_at_local_host {
        // Whoever asks there has the key that names it: cookies and tokens are named after it too.
        found.frontend_api = asked_host;
    }
    let own_host = satellite.as_ref().map_or(&found.frontend_api, |satellite| &satellite.host);
    let is_named = is_at_local_host || host == *own_host;
    if is_known {
        app.callers.learn_browser(headers, &found.holder.id, is_named);
    }
    let issuer = url_at(own_host, is_encrypted && is_named);
    let is_as_asked = is_at_local_host || (is_encrypted && is_named);
    let base_url = match (proxy_url, &satellite) {
        (Some(url), _) => url.to_owned(),
        (None, None) if !is_as_asked => app.public_url(&found.frontend_api),
        (None, _) => issuer.clone(),
    };
    let relying_party =
        relying_party(found.holder.environment, &settings, &found.frontend_api, &base_url, headers);
    let site = Site {
        relying_party,
        instance: found.holder.id,
        environment: found.holder.environment,
        settings,
        frontend_api: found.frontend_api,
        satellite,
        base_url,
        issuer,
        is_proxied: header(PROXY_KEY).is_some(),
        signing_key,
    };
    Ok((site, present))
}

/// Where browsers reach this server at one of its hosts. They reach this very machine without TLS too.
fn url_at(host: &str, is_encrypted: bool) -> String {
    match is_encrypted {
        true => format!("https://{host}"),
        false => url_of(host),
    }
}

/// The satellite that is asked, unless it is the primary domain. The first name that says something counts.
fn satellite_asked<'a>(
    asked: &[&str],
    found: &FoundInstance,
    settings: &'a Settings,
) -> Option<&'a Satellite> {
    asked
        .iter()
        .take_while(|name| **name != found.frontend_api)
        .find_map(|name| domains::at(&settings.satellites, name))
}

/// By the host of a primary domain, that of a satellite or of hosted pages, or the one in the server's own URL.
async fn find_by_host(
    app: &App,
    tx: &mut Tx,
    host: &str,
    client: Option<&ClientId>,
    now: Time,
) -> Result<Option<InstanceWithClient>> {
    let names = hosts::names(host);
    let portals: Vec<String> = names.iter().filter_map(|name| hosts::portal_of(name)).collect();
    let mut ways = Vec::new();
    for name in names {
        ways.extend([InstanceBy::Host(name), InstanceBy::Satellite(name)]);
        ways.extend(app.own_frontend_api(name).map(InstanceBy::Host));
    }
    ways.extend(portals.iter().map(|name| InstanceBy::Host(name)));
    for by in ways {
        if let Some(found) = look(tx, &by, client, now).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// A host that belongs to no instance is the development instance's while there is no other: on a server with a
/// production instance, a proxy that names the wrong host would lead people of the one to the other.
async fn check_development_only(tx: &mut Tx) -> Result<()> {
    match store::has_any(tx, Environment::Production).await? {
        false => Ok(()),
        true => Err(Error::new(Code::HostInvalid).saying(
            "No instance answers at this host, and the development instance stands in for unknown hosts only while the \
             server has no production instance. Send the host of the instance in the Host header (`latchkey instances \
             list` shows it; a reverse proxy must pass it on), or let the development instance answer with `latchkey \
             settings set development.unknown_hosts=true`.",
        )),
    }
}

/// Rejects a visitor of the internet at a development instance once the server has a production instance. The instance trusts
/// every visitor, and a proxy that passes on any host would let an attacker in with `Host: localhost`.
pub async fn check_private(tx: &mut Tx) -> Result<()> {
    if store::has_any(tx, Environment::Production).await? {
        Err(Error::new(Code::HostInvalid).saying(
            "The development instance answers visitors of this machine and of private networks only, because the server \
             has a production instance. A proxy in front of the server must be in `trusted_proxies` and set \
             X-Forwarded-For.",
        ))
    } else {
        Ok(())
    }
}

async fn look(
    tx: &mut Tx,
    by: &InstanceBy<'_>,
    client: Option<&ClientId>,
    now: Time,
) -> Result<Option<InstanceWithClient>> {
    if let Some(client) = client {
        return sessions::find_present(tx, by, client, now).await;
    }
    let instance = store::find_with_signing_key(tx, by, now).await?;
    Ok(instance.map(|(found, signing_key)| InstanceWithClient { found, signing_key, present: None }))
}

fn is_base_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric() || "-._~:/[]".contains(c))
    })
}

/// The instance of a request, which the gate has found.
pub struct RequestSite(pub Arc<Site>);

impl FromRequestParts<AppState> for RequestSite {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<RequestSite, Failure> {
        let site = parts.extensions.get::<Arc<Site>>().cloned();
        Ok(RequestSite(site.ok_or_else(|| Error::internal("a request passed the gate without an instance"))?))
    }
}

impl Argument for RequestSite {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_names_a_plain_url() {
        for good in ["https://app.example.com/__clerk", "http://localhost:3000/__clerk"] {
            assert!(is_base_url(good));
        }
        for bad in
            ["javascript:alert(1)", "https://", "https://a b", "https://a?b", "/relative", "https://a\"b"]
        {
            assert!(!is_base_url(bad), "{bad}");
        }
    }
}

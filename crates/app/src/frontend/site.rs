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
use latchkey_web::reply::Failure;

use super::hosts;
use crate::resources::clients::token;
use crate::resources::domains::rules as domains;
use crate::resources::instances::keys::publishable_key;
use crate::resources::instances::model::Environment;
use crate::resources::instances::store::{self, By, Place};
use crate::resources::sessions::present::{Found, Present};
use crate::resources::sessions::store as sessions;
use crate::settings::{Satellite, Settings};
use crate::{App, AppState};

/// Where a proxy on the application's side says how browsers reach it.
const PROXY_URL: &str = "clerk-proxy-url";
/// Where it shows whose proxy it is.
pub const SECRET_KEY: &str = "clerk-secret-key";

/// An instance, and where it is reached.
pub struct Site {
    /// The tenant.
    pub instance: InstanceId,
    /// Development or production.
    pub environment: Environment,
    /// Its settings, as they are now.
    pub settings: Arc<Settings>,
    /// The host its publishable key names: that of its primary domain.
    pub frontend_api: String,
    /// The satellite domain it is reached at, unless that is the primary one.
    pub seat: Option<Seat>,
    /// Where browsers reach this API, without a slash at the end.
    pub base_url: String,
    /// Who vouches for its tokens.
    pub issuer: String,
    /// Whether the application's own proxy brought the request, and showed its secret key.
    pub is_proxied: bool,
    /// The id of the key it signs with, if it was read on the way.
    pub signing_key: Option<String>,
}

/// A satellite domain as a place to ask at.
pub struct Seat {
    /// The domain.
    pub satellite: Satellite,
    /// The host at which it has the Frontend API.
    pub host: String,
    /// Where the primary domain is asked.
    pub primary_url: String,
    key: [u8; 32],
}

impl Seat {
    fn new(app: &App, place: &Place, satellite: &Satellite) -> Seat {
        let context = format!("satellite clients:{}:{}", place.holder.id, satellite.name);
        Seat {
            satellite: satellite.clone(),
            host: satellite.host(),
            primary_url: app.public_url(&place.frontend_api),
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
        match &self.seat {
            None => constant_time_eq(digest, &token::digest(secret)),
            Some(seat) => {
                let expected = seat.secret(client, digest);
                constant_time_eq(expected.expose().as_bytes(), secret.expose().as_bytes())
            }
        }
    }

    /// The host of the domain it is reached at.
    pub fn host(&self) -> &str {
        self.seat.as_ref().map_or(&self.frontend_api, |seat| &seat.host)
    }

    /// Where the hosted pages are: on the primary domain.
    pub fn portal_url(&self) -> &str {
        self.seat.as_ref().map_or(&self.base_url, |seat| &seat.primary_url)
    }

    /// Whether it is a development instance.
    pub fn is_development(&self) -> bool {
        self.environment == Environment::Development
    }

    /// Whether test addresses, numbers and codes work.
    pub fn test_mode(&self) -> bool {
        self.settings.test_mode.unwrap_or(self.is_development())
    }

    /// The key browsers carry.
    pub fn publishable_key(&self) -> String {
        publishable_key(self.environment, &self.frontend_api)
    }
}

/// Finds the instance of a request: by the secret key a proxy shows, by the host, or the oldest
/// development instance. Reads the client as well, if one is given.
pub async fn find(
    app: &App,
    tx: &mut Tx,
    headers: &HeaderMap,
    client: Option<&ClientId>,
) -> Result<(Site, Option<Present>)> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let proxy_url = header(PROXY_URL);
    let host = header(HOST.as_str()).unwrap_or_default().to_ascii_lowercase();
    let now = app.clock.now();
    let Found { place, signing_key, present } = match header(SECRET_KEY) {
        Some(key) => {
            let found = look(tx, &By::Key(&sha256(key.as_bytes())), client, now).await?;
            found.ok_or_else(|| Error::new(Code::ProxyRequestInvalidSecretKey))?
        }
        None if proxy_url.is_some() => return Err(Error::new(Code::ProxyRequestMissingSecretKey)),
        None => find_by_host(tx, &host, client, now).await?,
    };
    let settings = app.settings_of(tx, &place.holder).await?;
    let proxy_url = proxy_url.filter(|url| is_base_url(url)).map(|url| url.trim_end_matches('/'));
    let asked = proxy_url.map_or_else(|| names(&host), |url| vec![url]);
    let seat = seated(&asked, &place, &settings).map(|found| Seat::new(app, &place, found));
    let issuer = url_of(seat.as_ref().map_or(&place.frontend_api, |seat| &seat.host));
    let base_url = match (proxy_url, &seat) {
        (Some(url), _) => url.to_owned(),
        (None, Some(seat)) => url_of(&seat.host),
        (None, None) => app.public_url(&place.frontend_api),
    };
    let site = Site {
        instance: place.holder.id,
        environment: place.holder.environment,
        settings,
        frontend_api: place.frontend_api,
        seat,
        base_url,
        issuer,
        is_proxied: header(SECRET_KEY).is_some(),
        signing_key,
    };
    Ok((site, present))
}

/// The satellite that is asked, unless it is the primary domain. The first name that says something counts.
fn seated<'a>(asked: &[&str], place: &Place, settings: &'a Settings) -> Option<&'a Satellite> {
    asked
        .iter()
        .take_while(|name| **name != place.frontend_api)
        .find_map(|name| domains::at(&settings.satellites, name))
}

/// The names a `Host` header may mean: what it says, and that without its port and the dot at its end.
fn names(host: &str) -> Vec<&str> {
    let name = hosts::name(host);
    let name = name.strip_suffix('.').unwrap_or(name);
    if name == host { vec![host] } else { vec![host, name] }
}

/// The host of the Frontend API whose hosted pages SDKs look for at this one: `clerk.example.com` for
/// `accounts.example.com`.
pub fn portal_of(host: &str) -> Option<String> {
    host.strip_prefix("accounts.").map(|domain| format!("clerk.{domain}"))
}

/// By the host of a primary domain, that of a satellite or of hosted pages, or the oldest development instance.
async fn find_by_host(tx: &mut Tx, host: &str, client: Option<&ClientId>, now: Time) -> Result<Found> {
    let names = names(host);
    let named = names.iter().flat_map(|name| [By::Host(name), By::Satellite(name)]);
    let portals: Vec<String> = names.iter().filter_map(|name| portal_of(name)).collect();
    for by in named.chain(portals.iter().map(|name| By::Host(name))).chain([By::Default]) {
        if let Some(found) = look(tx, &by, client, now).await? {
            return Ok(found);
        }
    }
    Err(Error::new(Code::HostInvalid))
}

async fn look(tx: &mut Tx, by: &By<'_>, client: Option<&ClientId>, now: Time) -> Result<Option<Found>> {
    if let Some(client) = client {
        return sessions::find_present(tx, by, client, now).await;
    }
    let found = store::find_signing_place(tx, by, now).await?;
    Ok(found.map(|(place, signing_key)| Found { place, signing_key, present: None }))
}

/// Where browsers reach the Frontend API at a host: over TLS, but for this very machine.
pub fn url_of(host: &str) -> String {
    let name = hosts::name(host);
    let is_here =
        name == "localhost" || name.ends_with(".localhost") || name.starts_with("127.") || name == "[::1]";
    format!("{}://{host}", if is_here { "http" } else { "https" })
}

fn is_base_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric() || "-._~:/[]".contains(c))
    })
}

/// The instance of a request, which the gate has found.
pub struct At(pub Arc<Site>);

impl FromRequestParts<AppState> for At {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<At, Failure> {
        let site = parts.extensions.get::<Arc<Site>>().cloned();
        Ok(At(site.ok_or_else(|| Error::internal("a request passed the gate without an instance"))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_reached_without_tls() {
        assert_eq!(url_of("127.0.0.1:3401"), "http://127.0.0.1:3401");
        assert_eq!(url_of("app.localhost:3401"), "http://app.localhost:3401");
        assert_eq!(url_of("clerk.example.com"), "https://clerk.example.com");
        assert_eq!(url_of("notlocalhost"), "https://notlocalhost");
    }

    #[test]
    fn a_host_is_taken_as_it_is_and_then_without_port_and_dot() {
        assert_eq!(names("clerk.example.com"), ["clerk.example.com"]);
        for host in ["clerk.example.com:443", "clerk.example.com.", "clerk.example.com.:4712"] {
            assert_eq!(names(host), [host, "clerk.example.com"]);
        }
        assert_eq!((names("[::1]:3401"), names("[::1]")), (vec!["[::1]:3401", "[::1]"], vec!["[::1]"]));
    }

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

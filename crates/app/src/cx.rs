//! The context of a request: what handlers need besides their input.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::header::{ACCEPT_LANGUAGE, USER_AGENT};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap};
use axum::response::Response;
use latchkey_base::kinds::InstanceId;
use latchkey_base::rng::Rng;
use latchkey_base::{Result, Time};
use latchkey_db::{Body, Numbered, Statement, Tx};
use latchkey_jose::seal::MasterKey;
use latchkey_web::edge::{Caused, OperationIndex};
use latchkey_web::reply::{self, Failure};
use latchkey_web::version::Version;
use serde::Serialize;

use crate::auth::SecretKey;
use crate::frontend::site::Site;
use crate::resources::CHANGES;
use crate::settings::Settings;
use crate::{App, AppState};

/// Longest user agent kept with an event.
const USER_AGENT_MAX: usize = 256;
/// Longest list of languages looked at.
const LANGUAGES_MAX: usize = 256;

/// The context of a request. The clock is read once, here.
pub struct Cx {
    /// The server.
    pub app: Arc<App>,
    /// When the request is taken to happen.
    pub now: Time,
    /// The API version asked for.
    pub version: Version,
    client_ip: String,
    user_agent: String,
    languages: String,
    caused: Caused,
    /// The instance it acts in, once that is known.
    instance: OnceLock<InstanceId>,
}

/// Who does something when, for what is written inside a transaction.
#[derive(Clone)]
pub struct Act {
    /// The tenant.
    pub instance: InstanceId,
    /// The request's time.
    pub now: Time,
    /// For new ids and codes.
    pub rng: Arc<dyn Rng>,
    /// For secrets at rest.
    pub master: Arc<MasterKey>,
    /// Where the request came from.
    pub client_ip: String,
    /// What the client calls itself.
    pub user_agent: String,
    /// Which languages it wants, as its header says it.
    pub languages: String,
    /// Whether test addresses, numbers and codes work.
    pub test_mode: bool,
    /// The instance's settings.
    pub settings: Arc<Settings>,
    /// Where the caller reaches this server: links begin with it.
    pub url: Arc<str>,
    /// Where backends reach this server: pictures begin with it in events, whoever caused them.
    pub api_url: Arc<str>,
}

/// The instance something happens in, and how it was reached.
pub struct Place<'a> {
    /// The tenant.
    pub instance: &'a InstanceId,
    /// Its settings.
    pub settings: &'a Arc<Settings>,
    /// Whether test addresses, numbers and codes work.
    pub test_mode: bool,
    /// Where the caller reaches this server.
    pub url: Arc<str>,
}

impl Cx {
    /// What a transaction of this request needs to know.
    pub fn act(&self, key: &SecretKey) -> Act {
        self.act_in(Place {
            instance: &key.instance,
            settings: &key.settings,
            test_mode: key.test_mode(),
            url: self.app.api_url.clone(),
        })
    }

    /// The same for an instance that was found otherwise than by a key.
    pub fn act_in(&self, place: Place<'_>) -> Act {
        self.instance.get_or_init(|| place.instance.clone());
        Act {
            instance: place.instance.clone(),
            now: self.now,
            rng: self.app.rng.clone(),
            master: self.app.master.clone(),
            client_ip: self.client_ip.clone(),
            user_agent: self.user_agent.clone(),
            languages: self.languages.clone(),
            test_mode: place.test_mode,
            settings: place.settings.clone(),
            url: place.url,
            api_url: self.app.api_url.clone(),
        }
    }

    /// Runs the request's one write transaction.
    pub async fn write<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut Tx) -> Body<'a, T> + Send + 'static,
    {
        let (value, seq) = self.app.db.write_numbered(body).await?;
        self.caused(seq);
        Ok(value)
    }

    /// The same for statements that are known beforehand.
    pub async fn write_all(&self, statements: Vec<Statement>, events: Vec<Numbered>) -> Result<()> {
        self.caused(self.app.db.write_all(statements, events).await?);
        Ok(())
    }

    /// Tells the caller the number of the last event, and those who wait that there is one.
    fn caused(&self, seq: Option<i64>) {
        if let Some(seq) = seq {
            self.caused.set(seq);
            match self.instance.get() {
                Some(instance) => self.app.bell.ring(instance),
                None => self.app.bell.ring_workers(),
            }
        }
    }

    /// Answers with a view, in the version asked for.
    pub fn reply(&self, view: &impl Serialize) -> Result<Response, Failure> {
        Ok(reply::json(view, CHANGES, self.version)?)
    }
}

impl FromRequestParts<AppState> for Cx {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, AppState(app): &AppState) -> Result<Cx, Failure> {
        let version = Version::select(&parts.headers, parts.uri.query().unwrap_or_default())?;
        let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        Ok(Cx {
            now: app.clock.now(),
            version,
            client_ip: client_ip(&parts.headers, &parts.extensions, trust(app, &parts.extensions)),
            user_agent: header(USER_AGENT).chars().take(USER_AGENT_MAX).collect(),
            languages: header(ACCEPT_LANGUAGE).chars().take(LANGUAGES_MAX).collect(),
            app: app.clone(),
            caused: parts.extensions.get().cloned().unwrap_or_default(),
            instance: OnceLock::new(),
        })
    }
}

/// Whose word about the address of a client counts.
#[derive(Clone, Copy)]
pub(crate) enum Trust<'a> {
    /// That of the proxies in front of this server.
    Proxies(&'a [IpAddr]),
    /// That of whoever brought the request: a proxy of the application, which showed its secret key.
    Bringer,
}

impl<'a> Trust<'a> {
    /// Of a request that a proxy of the application brought, or none.
    pub(crate) fn of(app: &'a App, is_proxied: bool) -> Trust<'a> {
        if is_proxied { Trust::Bringer } else { Trust::Proxies(&app.trusted_proxies) }
    }
}

/// The gate has found out whether a request of a browser came through a proxy of the application. Requests of
/// backends do not pass it.
fn trust<'a>(app: &'a App, extensions: &Extensions) -> Trust<'a> {
    Trust::of(app, extensions.get::<Arc<Site>>().is_some_and(|site| site.is_proxied))
}

/// The address of the client: the peer's, or what somebody we trust says. A proxy of the application is trusted
/// for one hop.
pub(crate) fn client_ip(headers: &HeaderMap, extensions: &Extensions, trust: Trust<'_>) -> String {
    let Some(ConnectInfo(peer)) = extensions.get::<ConnectInfo<SocketAddr>>() else {
        return String::new();
    };
    let client = match trust {
        Trust::Proxies(proxies) => forwarded_for(headers, peer.ip(), proxies),
        Trust::Bringer => forwarded_for(headers, peer.ip(), &[peer.ip()]),
    };
    client.to_string()
}

/// Walks `X-Forwarded-For` from the right past the proxies we trust. What stands further left was
/// written by the client itself and proves nothing. A listener for both kinds of addresses sees old ones
/// inside new ones (`::ffff:10.0.0.1`); here each becomes the old one it is.
fn forwarded_for(headers: &HeaderMap, peer: IpAddr, trusted: &[IpAddr]) -> IpAddr {
    let mut client = peer.to_canonical();
    let lines: Vec<&str> =
        headers.get_all("x-forwarded-for").iter().filter_map(|line| line.to_str().ok()).collect();
    let mut hops = lines.iter().flat_map(|line| line.split(',')).rev();
    while trusted.iter().any(|proxy| proxy.to_canonical() == client) {
        match hops.next().and_then(|hop| hop.trim().parse::<IpAddr>().ok()) {
            Some(hop) => client = hop.to_canonical(),
            None => break,
        }
    }
    client
}

/// The operation a request is.
pub(crate) fn operation(parts: &Parts) -> usize {
    parts.extensions.get::<OperationIndex>().map_or(usize::MAX, |OperationIndex(index)| *index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trusted_proxies_may_name_the_client() {
        let mut headers = HeaderMap::new();
        headers.insert("x-forwarded-for", "6.6.6.6, 9.9.9.9, 10.0.0.2".parse().unwrap());
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(forwarded_for(&headers, ip("8.8.8.8"), &[ip("10.0.0.1")]), ip("8.8.8.8"));
        assert_eq!(forwarded_for(&headers, ip("10.0.0.1"), &[ip("10.0.0.1")]), ip("10.0.0.2"));
        assert_eq!(forwarded_for(&headers, ip("10.0.0.1"), &[ip("10.0.0.1"), ip("10.0.0.2")]), ip("9.9.9.9"));
    }

    #[test]
    fn an_old_address_inside_a_new_one_is_the_old_one() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(forwarded_for(&HeaderMap::new(), ip("::ffff:8.8.8.8"), &[]), ip("8.8.8.8"));
        let mut headers = HeaderMap::new();
        headers.insert("x-forwarded-for", "::ffff:9.9.9.9, ::ffff:10.0.0.2".parse().unwrap());
        let trusted = [ip("10.0.0.1"), ip("::ffff:10.0.0.2")];
        assert_eq!(forwarded_for(&headers, ip("::ffff:10.0.0.1"), &trusted), ip("9.9.9.9"));
        assert_eq!(forwarded_for(&headers, ip("2001:db8::1"), &trusted), ip("2001:db8::1"));
    }
}

//! The context of a request: server state, time, version and origin of the request, the write transaction, and the
//! answer in the version asked for.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Once, OnceLock};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::header::{ACCEPT_LANGUAGE, USER_AGENT};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderValue};
use axum::response::Response;
use latchkey_base::kinds::{InstanceId, SecretKeyId};
use latchkey_base::rng::Rng;
use latchkey_base::{Result, Time};
use latchkey_db::{Numbered, Statement, TransactionBody, Tx};
use latchkey_jose::seal::MasterKey;
use latchkey_web::edge::{Caused, WriteLimit};
use latchkey_web::network::Network;
use latchkey_web::reply::{self, Failure};
use latchkey_web::signature::Argument;
use latchkey_web::version::Version;
use serde::Serialize;

use crate::auth::SecretKey;
use crate::jobs::JobParts;
use crate::origins;
use crate::outbox::ChangeOrigin;
use crate::reads::{LongTurn, Reads};
use crate::registry::Registry;
use crate::settings::Settings;
use crate::slow::WorkOwner;
use crate::{App, AppState};

/// How many characters of `User-Agent` are kept.
const USER_AGENT_MAX: usize = 256;
/// How many characters of `Accept-Language` are kept.
const LANGUAGES_MAX: usize = 256;

/// The context of a request, which every handler takes. The clock is read once, here: all that a request does happens
/// at the same time.
pub struct Cx {
    /// The server state.
    pub app: Arc<App>,
    /// The time of the request.
    pub now: Time,
    /// The API version asked for.
    pub version: Version,
    client_ip: String,
    /// The network of the client, for what is counted or shared out by address.
    pub network: Network,
    user_agent: String,
    languages: String,
    /// Its turn among the reads that take long, until it is answered.
    long_turn: LongTurn,
    /// Where writes note the number of the last event they caused: the edge shows it in a header of the answer.
    caused: Caused,
    /// Refuses writes of networks that leave too many answers unread.
    write_limit: Option<WriteLimit>,
    /// The instance the request acts in, once `act` or `act_in` has set it. When a write causes events, those who wait for
    /// events of this instance are woken.
    instance: OnceLock<InstanceId>,
}

/// What a transaction of a request needs to know: for which instance it writes, when, from where, and with which
/// settings. It owns its parts, so that it can move into the transaction.
#[derive(Clone)]
pub struct Act {
    pub instance: InstanceId,
    /// The secret key of the request, or the one that made the link token of the request.
    pub key: Option<SecretKeyId>,
    pub now: Time,
    /// Makes new ids, codes and secrets.
    pub rng: Arc<dyn Rng>,
    /// Seals and opens secrets at rest.
    pub master: Arc<MasterKey>,
    /// The address of the client, as far as proxies are trusted.
    pub client_ip: String,
    /// The same as it counts for limits.
    pub network: Network,
    /// The header `User-Agent`.
    pub user_agent: String,
    /// The header `Accept-Language`.
    pub languages: String,
    /// Whether test addresses, numbers and codes work.
    pub test_mode: bool,
    pub settings: Arc<Settings>,
    /// The base URL at which the caller reaches this server. Links in messages begin with it.
    pub url: Arc<str>,
    /// The base URL at which backends reach this server. Image URLs in events begin with it, whoever caused the
    /// event.
    pub api_url: Arc<str>,
    /// What upper groups registered, for what happens inside a transaction.
    pub registry: Arc<Registry>,
}

impl Act {
    /// What a transaction of the server itself needs, outside of requests: it knows no settings, and no browser.
    pub fn of_server(parts: &JobParts, instance: &InstanceId) -> Act {
        Act::of_command(instance, parts.clock.now(), parts.rng.clone(), parts.master.clone())
    }

    /// What a transaction of the command line needs.
    pub fn of_command(instance: &InstanceId, now: Time, rng: Arc<dyn Rng>, master: Arc<MasterKey>) -> Act {
        Act {
            instance: instance.clone(),
            key: None,
            now,
            rng,
            master,
            client_ip: String::new(),
            network: Network::UNKNOWN,
            user_agent: String::new(),
            languages: String::new(),
            test_mode: false,
            settings: Arc::default(),
            url: "".into(),
            api_url: "".into(),
            registry: Arc::default(),
        }
    }
}

/// The instance a request acts in, for `act_in`.
pub struct InstanceContext<'a> {
    /// The tenant.
    pub instance: &'a InstanceId,
    pub settings: &'a Arc<Settings>,
    /// Whether test addresses, numbers and codes work.
    pub test_mode: bool,
    /// The base URL at which the caller reaches this server.
    pub url: Arc<str>,
}

impl Cx {
    /// What a transaction of this request needs, in the instance of the secret key.
    pub fn act(&self, key: &SecretKey) -> Act {
        let act = self.act_in(InstanceContext {
            instance: &key.instance,
            settings: &key.settings,
            test_mode: key.test_mode(),
            url: self.app.api_url.clone(),
        });
        Act { key: key.id.clone(), ..act }
    }

    /// The origin of changes of the configuration that the holder of the secret key makes.
    pub fn change_origin(&self, key: &SecretKey) -> ChangeOrigin {
        ChangeOrigin::from(&self.act(key))
    }

    /// The same as [`Cx::act`] in an instance that was found in another way than by a secret key.
    pub fn act_in(&self, context: InstanceContext<'_>) -> Act {
        self.instance.get_or_init(|| context.instance.clone());
        Act {
            instance: context.instance.clone(),
            key: None,
            now: self.now,
            rng: self.app.rng.clone(),
            master: self.app.master.clone(),
            client_ip: self.client_ip.clone(),
            network: self.network,
            user_agent: self.user_agent.clone(),
            languages: self.languages.clone(),
            test_mode: context.test_mode,
            settings: context.settings.clone(),
            url: context.url,
            api_url: self.app.api_url.clone(),
            registry: self.app.product.registry.clone(),
        }
    }

    /// For whom slow work is done when somebody asks who is not signed in yet: the network.
    pub fn by_network(&self, instance: &InstanceId) -> WorkOwner {
        WorkOwner::network(instance, self.network)
    }

    /// Reads of lists for whoever has the key of an instance.
    pub fn backend_reads(&self, instance: &InstanceId) -> Reads<'_> {
        self.reads(WorkOwner::backend(instance))
    }

    /// Gives the turn among the reads that take long back before the answer is written.
    pub fn end_long_turn(&self) {
        self.long_turn.end();
    }

    /// Reads of lists on behalf of somebody.
    pub fn reads(&self, owner: WorkOwner) -> Reads<'_> {
        Reads::new(&self.app, owner).in_turn(&self.long_turn)
    }

    /// Runs a write transaction: the only one of the request. Waiting readers and workers are woken if it caused
    /// events.
    pub async fn write<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut Tx) -> TransactionBody<'a, T> + Send + 'static,
    {
        let (value, seq) = self.app.db.write_numbered(body).await?;
        self.caused(seq);
        Ok(value)
    }

    /// The same for statements that are all known before the transaction begins; they take one round trip.
    pub async fn write_all(&self, statements: Vec<Statement>, events: Vec<Numbered>) -> Result<()> {
        self.caused(self.app.db.write_all(statements, events).await?);
        Ok(())
    }

    /// Keeps the number of the last event for the answer, and wakes whoever waits for events.
    pub fn caused(&self, seq: Option<i64>) {
        if let Some(seq) = seq {
            self.caused.set(seq);
            match self.instance.get() {
                Some(instance) => self.app.bell.ring(instance),
                None => self.app.bell.ring_workers(),
            }
        }
    }

    /// Refuses the request if its network leaves too many answers unread. Every write is checked so before it begins;
    /// handlers with long answers check again before they write one.
    pub fn check_unread(&self) -> Result<()> {
        self.write_limit.as_ref().map_or(Ok(()), |limit| limit.check(self.network))
    }

    /// Answers with a view that looks the same in every API version.
    pub fn reply_unversioned(&self, view: &impl Serialize) -> Result<Response, Failure> {
        Ok(self.long_turn.write(|| reply::json(view, &[], self.version))?)
    }

    /// Answers with a view, changed to how it looks in the API version asked for.
    pub fn reply(&self, view: &impl Serialize) -> Result<Response, Failure> {
        Ok(self.long_turn.write(|| reply::json(view, &self.app.product.changes, self.version))?)
    }
}

impl FromRequestParts<AppState> for Cx {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, AppState(app): &AppState) -> Result<Cx, Failure> {
        let now = app.clock.now();
        let for_scripts = parts.extensions.get::<FromScripts>().map(|_| now);
        let version = Version::select(&parts.headers, parts.uri.query().unwrap_or_default(), for_scripts)?;
        let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let proxied = parts.extensions.get().map(|Proxied(instance)| instance);
        let client = client(&parts.headers, &parts.extensions, Trust::of(app, proxied));
        Ok(Cx {
            now,
            version,
            client_ip: client.address.map(|address| address.to_string()).unwrap_or_default(),
            network: client.network,
            user_agent: header(USER_AGENT).chars().take(USER_AGENT_MAX).collect(),
            languages: header(ACCEPT_LANGUAGE).chars().take(LANGUAGES_MAX).collect(),
            app: app.clone(),
            long_turn: LongTurn::default(),
            caused: parts.extensions.get().cloned().unwrap_or_default(),
            write_limit: parts.extensions.get().cloned(),
            instance: OnceLock::new(),
        })
    }
}

impl Argument for Cx {}

/// Who is believed about the address of a client (`X-Forwarded-For`).
#[derive(Clone, Copy)]
pub enum Trust<'a> {
    /// The proxies in front of this server, by their addresses.
    Proxies(&'a [IpAddr]),
    /// The peer of the connection: a proxy of the application, which proved that with the secret key of its instance.
    ProxyOf(&'a InstanceId),
}

impl<'a> Trust<'a> {
    /// Who is believed about a request that came through the proxy of an application, or through none.
    pub fn of(app: &'a App, proxied: Option<&'a InstanceId>) -> Trust<'a> {
        proxied.map_or(Trust::Proxies(&app.trusted_proxies), Trust::ProxyOf)
    }
}

/// On a request that came through the proxy of an application, which proved that with the secret key: its instance. Only
/// requests to the Frontend API can have it.
#[derive(Clone)]
pub struct Proxied(pub InstanceId);

/// Marks a request to the Frontend API, which scripts in pages send.
#[derive(Clone)]
pub struct FromScripts;

/// Marks a request that came over TLS to this very server. One that a proxy in front of it has decrypted has no mark.
#[derive(Clone)]
pub struct Encrypted;

/// The network of the client, for what is shared out by networks.
pub fn client_network(headers: &HeaderMap, extensions: &Extensions, trust: Trust<'_>) -> Network {
    client(headers, extensions, trust).network
}

/// Headers that proxies add to a request, beside those that begin with `x-forwarded`. Browsers and SDKs send none of them.
const FORWARDING: [&str; 9] = [
    "cf-connecting-ip",
    "fastly-client-ip",
    "fly-client-ip",
    "forwarded",
    "true-client-ip",
    "via",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-real-ip",
];

fn is_forwarding(name: &str) -> bool {
    name.starts_with("x-forwarded") || FORWARDING.contains(&name)
}

/// Returns whether a request comes from this machine or from a private network. Requests that a proxy forwarded come from
/// there only if the proxy is trusted and `X-Forwarded-For` names private addresses alone: any other proxy, on this machine
/// or in front of the trusted one, would make all visitors of the internet local.
pub fn is_from_private_network(app: &App, headers: &HeaderMap, extensions: &Extensions) -> bool {
    is_private(headers, extensions, &app.trusted_proxies)
}

fn is_private(headers: &HeaderMap, extensions: &Extensions, trusted: &[IpAddr]) -> bool {
    let Some(ConnectInfo(peer)) = extensions.get::<ConnectInfo<SocketAddr>>() else { return false };
    let peer = peer.ip().to_canonical();
    let is_trusted = trusted.iter().any(|proxy| proxy.to_canonical() == peer);
    let is_forwarded = headers.keys().any(|name| is_forwarding(name.as_str()));
    // The address of the visitor is read from this header alone.
    let names_visitor = is_trusted && headers.contains_key("x-forwarded-for");
    if is_forwarded && !names_visitor {
        return false;
    }
    let lines = headers.get_all("x-forwarded-for").iter();
    let mut hops = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    let is_local = |address: IpAddr| origins::is_local_address(address.to_canonical());
    hops.all(|hop| address(hop).is_some_and(is_local))
        && forwarded_for(headers, peer, trusted).is_some_and(is_local)
}

/// Where a request comes from.
struct ClientAddress {
    /// None where it cannot be known.
    address: Option<IpAddr>,
    network: Network,
}

/// The client is the peer, or whom a trusted proxy names. A proxy of an application is trusted for one hop.
fn client(headers: &HeaderMap, extensions: &Extensions, trust: Trust<'_>) -> ClientAddress {
    let Some(ConnectInfo(peer)) = extensions.get::<ConnectInfo<SocketAddr>>() else {
        return ClientAddress { address: None, network: Network::UNKNOWN };
    };
    let peer = peer.ip().to_canonical();
    let address = match trust {
        Trust::Proxies(proxies) => {
            warn_of_proxy(headers, peer, proxies);
            forwarded_for(headers, peer, proxies)
        }
        Trust::ProxyOf(_) => forwarded_for(headers, peer, &[peer]),
    };
    let network = address.map_or(Network::UNKNOWN, Network::of);
    let network = match trust {
        Trust::ProxyOf(instance) => network.told_by_proxy_of(instance.as_str()),
        Trust::Proxies(_) if address != Some(peer) => network.told_by_proxy(),
        Trust::Proxies(_) => network,
    };
    ClientAddress { address, network }
}

/// A proxy on this machine that is not trusted makes all visitors look like one address. Said once.
fn warn_of_proxy(headers: &HeaderMap, peer: IpAddr, trusted: &[IpAddr]) {
    static SAID: Once = Once::new();
    let is_trusted = || trusted.iter().any(|proxy| proxy.to_canonical() == peer);
    if peer.is_loopback() && headers.contains_key("x-forwarded-for") && !is_trusted() {
        SAID.call_once(|| {
            tracing::warn!(
                "{peer} sends X-Forwarded-For and is not in trusted_proxies: all visitors behind it count as one address"
            );
        });
    }
}

/// An address as proxies write it: alone, in brackets, or with a port.
fn address(written: &[u8]) -> Option<IpAddr> {
    let text = str::from_utf8(written).ok()?.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse().ok().map(|address: SocketAddr| address.ip()))
}

/// Walks `X-Forwarded-For` from the right past the trusted proxies. What stands further left may have been written by
/// the client itself and proves nothing: whatever bytes it has, they do not hide what proxies wrote behind them. Nothing is
/// known where a trusted proxy wrote something else than an address. A listener for IPv4 and IPv6 sees IPv4 addresses
/// mapped into IPv6 (`::ffff:10.0.0.1`); they are compared and returned as IPv4.
fn forwarded_for(headers: &HeaderMap, peer: IpAddr, trusted: &[IpAddr]) -> Option<IpAddr> {
    let mut client = peer.to_canonical();
    let lines: Vec<&[u8]> = headers.get_all("x-forwarded-for").iter().map(HeaderValue::as_bytes).collect();
    let mut hops = lines.iter().flat_map(|line| line.split(|byte| *byte == b',')).rev();
    while trusted.iter().any(|proxy| proxy.to_canonical() == client) {
        match hops.next() {
            Some(hop) => client = address(hop)?.to_canonical(),
            None => break,
        }
    }
    Some(client)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whom a peer with this `X-Forwarded-For` speaks for.
    fn client_of(peer: &str, written: &[u8], trusted: &[&str]) -> Option<String> {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("x-forwarded-for", HeaderValue::from_bytes(written).unwrap());
        let trusted: Vec<IpAddr> = trusted.iter().map(|text| ip(text)).collect();
        forwarded_for(&headers, ip(peer), &trusted).map(|address| address.to_string())
    }

    #[test]
    fn only_trusted_proxies_may_name_the_client() {
        let written = b"6.6.6.6, 9.9.9.9, 10.0.0.2";
        let client_of = |peer, trusted| client_of(peer, written, trusted).unwrap();
        assert_eq!(client_of("8.8.8.8", &["10.0.0.1"]), "8.8.8.8");
        assert_eq!(client_of("10.0.0.1", &["10.0.0.1"]), "10.0.0.2");
        assert_eq!(client_of("10.0.0.1", &["10.0.0.1", "10.0.0.2"]), "9.9.9.9");
    }

    #[test]
    fn proxies_may_write_a_port_or_brackets() {
        for (written, client) in [
            ("9.9.9.9:4711", Some("9.9.9.9")),
            ("[2001:db8::1]:4711", Some("2001:db8::1")),
            ("[2001:db8::1]", Some("2001:db8::1")),
            ("2001:db8::1", Some("2001:db8::1")),
            ("unknown", None),
        ] {
            let found = client_of("10.0.0.1", written.as_bytes(), &["10.0.0.1"]);
            assert_eq!(found.as_deref(), client, "{written}");
        }
    }

    #[test]
    fn what_a_client_writes_never_hides_what_a_proxy_wrote_behind_it() {
        for written in [&b"\xff, 9.9.9.9"[..], b"1.1.1.1\x80,9.9.9.9", b",,, 9.9.9.9"] {
            assert_eq!(client_of("10.0.0.1", written, &["10.0.0.1"]).as_deref(), Some("9.9.9.9"));
        }
        assert_eq!(client_of("10.0.0.1", b"9.9.9.9, \xff", &["10.0.0.1"]), None);
    }

    #[test]
    fn whoever_is_told_by_a_proxy_is_not_this_machine() {
        let mut extensions = Extensions::new();
        extensions.insert(ConnectInfo(SocketAddr::from(([127, 0, 0, 1], 80))));
        let mut headers = HeaderMap::new();
        let (trusted, instance) = ([IpAddr::from([127, 0, 0, 1])], InstanceId::unset());
        let networks = |headers: &HeaderMap| {
            [Trust::Proxies(&trusted), Trust::ProxyOf(&instance)]
                .map(|trust| client_network(headers, &extensions, trust))
        };
        let [seen, told] = networks(&headers);
        assert!(seen.is_here() && !told.is_here());
        for written in ["127.0.0.2", "unknown"] {
            headers.insert("x-forwarded-for", HeaderValue::from_static(written));
            assert!(networks(&headers).iter().all(|network| !network.is_here()), "{written}");
        }
    }

    #[test]
    fn private_network_is_where_the_visitor_is_and_not_the_proxy() {
        let (trusted, foreign) = ([IpAddr::from([127, 0, 0, 1])], []);
        let is_private_peer =
            |peer: [u8; 4], written: Option<(&'static str, &'static str)>, trusted: &[IpAddr]| {
                let (mut extensions, mut headers) = (Extensions::new(), HeaderMap::new());
                extensions.insert(ConnectInfo(SocketAddr::from((peer, 80))));
                if let Some((name, value)) = written {
                    headers.insert(name, HeaderValue::from_static(value));
                }
                is_private(&headers, &extensions, trusted)
            };
        let here = [127, 0, 0, 1];
        for peer in [here, [10, 1, 2, 3], [192, 168, 0, 9]] {
            assert!(
                is_private_peer(peer, None, &foreign) && is_private_peer(peer, None, &trusted),
                "{peer:?}"
            );
            for name in FORWARDING.into_iter().chain(["x-forwarded-for", "x-forwarded-port"]) {
                assert!(!is_private_peer(peer, Some((name, "10.0.0.9")), &foreign), "{peer:?} {name}");
            }
        }
        assert!(!is_private_peer([9, 9, 9, 9], None, &trusted));
        assert!(is_private_peer(here, Some(("x-forwarded-for", "10.0.0.9")), &trusted));
        for name in FORWARDING.into_iter().chain(["x-forwarded-proto"]) {
            assert!(!is_private_peer(here, Some((name, "9.9.9.9")), &trusted), "{name}");
        }
        for visitor in ["9.9.9.9", "10.0.0.9, 9.9.9.9", "9.9.9.9, 10.0.0.2", "unknown"] {
            assert!(!is_private_peer(here, Some(("x-forwarded-for", visitor)), &trusted), "{visitor}");
        }
        assert!(!is_private(&HeaderMap::new(), &Extensions::new(), &trusted));
    }

    #[test]
    fn an_ipv4_address_mapped_into_ipv6_is_the_ipv4_address() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(forwarded_for(&HeaderMap::new(), ip("::ffff:8.8.8.8"), &[]), Some(ip("8.8.8.8")));
        let written = b"::ffff:9.9.9.9, ::ffff:10.0.0.2";
        let client_of = |peer| client_of(peer, written, &["10.0.0.1", "::ffff:10.0.0.2"]).unwrap();
        assert_eq!(client_of("::ffff:10.0.0.1"), "9.9.9.9");
        assert_eq!(client_of("2001:db8::1"), "2001:db8::1");
    }
}

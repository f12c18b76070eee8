//! Who writes: what a browser does is counted by the client it shows, by the person who is signed in, or as that of a
//! stranger. How often an address asks for one operation is counted in the gate, before anything is read.

use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::request::Parts;
use latchkey_base::Result;
use latchkey_base::kinds::{ClientId, SessionId, UserId};
use latchkey_kernel::App;
use latchkey_kernel::limits::{RateLimits, weight};
use latchkey_presence::sessions::present::PresentSession;
use latchkey_presence::sessions::store as sessions;
use latchkey_web::api::Operation;
use latchkey_web::edge::OperationIndex;
use latchkey_web::network::Network;

use super::site::Site;
use super::visitor::Visitor;

/// Who sent a request.
enum Writer {
    /// A client: its token was signed here, and holds the secret the client has now. Whoever shows one from before the
    /// last sign-in is a stranger.
    Client(ClientId),
    /// A developer's browser that has no client yet, by the digest of its token.
    DevBrowser([u8; 32]),
    /// Anybody else.
    Stranger,
}

impl Writer {
    fn of(visitor: &Visitor) -> Writer {
        match (visitor.client_id(), visitor.dev_browser) {
            (Some(client), _) => Writer::Client(client),
            (None, Some(digest)) => Writer::DevBrowser(digest),
            (None, None) => Writer::Stranger,
        }
    }
}

/// Counts a request that may write for anybody, by its weight; an error when it is too much. Who cannot be known by what the
/// request shows is a stranger.
pub async fn count_writer(
    app: &App,
    site: &Site,
    visitor: Option<&Visitor>,
    weight: u32,
    network: Network,
) -> Result<()> {
    let writer = visitor.map_or(Writer::Stranger, Writer::of);
    count_write(app, site, &writer, weight, network).await
}

/// The weight of a request by the length of its body.
pub fn weight_of(request: &Request) -> u32 {
    let body = request.body();
    match body.is_end_stream() {
        true => weight(Some(0)),
        false => weight(body.size_hint().exact()),
    }
}

/// Counts what a visitor writes by asking for a page, which is no operation; an error when it is one too many.
pub async fn count_page(app: &App, visitor: &Visitor, network: Network) -> Result<()> {
    count_writer(app, &visitor.site, Some(visitor), weight(Some(0)), network).await
}

/// Counts what a developer's browser writes that has no client yet.
pub async fn count_dev_browser(app: &App, site: &Site, digest: &[u8; 32], network: Network) -> Result<()> {
    count_write(app, site, &Writer::DevBrowser(*digest), weight(Some(0)), network).await
}

async fn count_write(app: &App, site: &Site, writer: &Writer, weight: u32, network: Network) -> Result<()> {
    match writer {
        Writer::Stranger => {
            let who = (site.instance.as_str(), network);
            app.rate_limits.check_stranger(&app.throttle, who, weight, app.clock.now()).await
        }
        Writer::DevBrowser(digest) => {
            count_client(app, site, (&format!("{digest:x?}"), None), weight, network).await
        }
        Writer::Client(client) => {
            count_client(app, site, (client.as_str(), Some(client)), weight, network).await
        }
    }
}

/// Counts what a client writes, by its name; `client` is its id, unless it is known that nobody is signed in on it. People
/// with a session are never stopped by what all clients do together: whether somebody is signed in is only looked up when
/// that is too much.
async fn count_client(
    app: &App,
    site: &Site,
    (name, client): (&str, Option<&ClientId>),
    weight: u32,
    network: Network,
) -> Result<()> {
    let (instance, now) = (site.instance.as_str(), app.clock.now());
    let (limits, throttle) = (&app.rate_limits, &app.throttle);
    let is_light = limits.check_client(throttle, (instance, name), weight, now).await?;
    let Err(used_up) = limits.check_clients(throttle, instance, weight, now).await else { return Ok(()) };
    if let Some(client) = client
        && is_signed_in(app, site, client).await?
    {
        return Ok(());
    }
    match is_light {
        true => limits.take_reserve_of_clients(throttle, (instance, network), weight, now).await,
        false => Err(used_up),
    }
}

async fn is_signed_in(app: &App, site: &Site, client: &ClientId) -> Result<bool> {
    let mut tx = app.db.read().await?;
    let signed_in = sessions::user_on_client(&mut tx, &site.instance, client, None, app.clock.now()).await?;
    Ok(signed_in.is_some())
}

/// Counts a request of somebody who is signed in, by the limits its operation has for people; an error when it is one too
/// many.
pub async fn count_person(app: &App, parts: &Parts, site: &Site, person: &UserId) -> Result<()> {
    let Some(operation) = limited_by_person(app, parts) else { return Ok(()) };
    let who = (site.instance.as_str(), person.as_str(), network(parts));
    app.rate_limits.check_person(&app.throttle, who, operation, app.clock.now()).await
}

/// Counts the request of a client to an operation for people that looks for the session itself: as one of the person whose
/// session the path names, or else of whoever has been signed in on the client for longest. While nobody is, it is like
/// everything else that the client writes: anybody has any number of clients, so they must not count as people.
pub async fn count_visitor(
    app: &App,
    parts: &Parts,
    visitor: &Visitor,
    named: Option<&SessionId>,
) -> Result<()> {
    let Some(client) = visitor.shown_client() else { return Ok(()) };
    if app.rate_limits == RateLimits::Off || limited_by_person(app, parts).is_none() {
        return Ok(());
    }
    match user_on(app, visitor, &client.id, named).await? {
        Some(person) => count_person(app, parts, &visitor.site, &person).await,
        None => {
            let who = (client.id.as_str(), None);
            count_client(app, &visitor.site, who, weight(Some(0)), network(parts)).await
        }
    }
}

/// The operation of a request, if it has limits for people.
pub(super) fn limited_by_person<'a>(app: &'a App, parts: &Parts) -> Option<&'a Operation> {
    let OperationIndex(index) = parts.extensions.get::<OperationIndex>()?;
    let operation = app.product.frontend_operations.get(*index)?;
    let is_limited = operation.person_rates.is_some_and(|rates| !rates.is_empty());
    (operation.writes_for_people() && is_limited).then_some(operation)
}

/// Who is signed in on the client: by the session that is named, or else by the oldest one.
async fn user_on(
    app: &App,
    visitor: &Visitor,
    client: &ClientId,
    named: Option<&SessionId>,
) -> Result<Option<UserId>> {
    let Some(live) = &visitor.live else {
        let mut tx = app.db.read().await?;
        let instance = &visitor.site.instance;
        if visitor.client().is_none() {
            let settings = &visitor.site.settings;
            let live = sessions::live_of_client(&mut tx, instance, client, settings, app.clock.now()).await?;
            let shown = live.into_iter().filter(|present| visitor.shows(&present.session.id));
            return Ok(user_of(&shown.collect::<Vec<_>>(), named));
        }
        return sessions::user_on_client(&mut tx, instance, client, named, app.clock.now()).await;
    };
    Ok(user_of(live, named))
}

/// The user of the session that is named, or else of the oldest one.
fn user_of(live: &[PresentSession], named: Option<&SessionId>) -> Option<UserId> {
    let asked = live.iter().find(|present| Some(&present.session.id) == named);
    asked.or(live.first()).map(|present| present.user.id.clone())
}

/// The network a request comes from, as the gate saw it.
fn network(parts: &Parts) -> Network {
    parts.extensions.get().copied().unwrap_or(Network::UNKNOWN)
}

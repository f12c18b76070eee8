//! Who writes: what a browser does is counted by the client it shows, by the person who is signed in, or as that of a
//! stranger. Addresses are counted in the gate, before anything is read.

use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri};
use latchkey_base::Result;
use latchkey_base::kinds::ClientId;
use latchkey_jose::digest::sha256;
use latchkey_kernel::App;
use latchkey_kernel::limits::RateLimits;
use latchkey_presence::clients::store;
use latchkey_presence::sessions::store as sessions;
use latchkey_web::edge::OperationIndex;
use latchkey_web::network::Network;
use latchkey_web::query::pairs;

use super::cookies;
use super::site::Site;
use super::visitor::{PROOFS_AT_MOST, proven_client};

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

/// Counts a request that may write for anybody; an error when it is one too many.
pub async fn count_writer(app: &App, site: &Site, head: (&HeaderMap, &Uri), network: Network) -> Result<()> {
    if app.rate_limits == RateLimits::Off {
        return Ok(());
    }
    match writer(app, site, head).await? {
        Writer::Stranger => {
            let who = (site.instance.as_str(), network);
            app.rate_limits.check_stranger(&app.throttle, who, app.clock.now()).await
        }
        Writer::DevBrowser(digest) => count_dev_browser(app, site, &digest, network).await,
        Writer::Client(client) => count_client(app, site, (client.as_str(), Some(&client)), network).await,
    }
}

/// Counts what a developer's browser writes that has no client yet.
pub async fn count_dev_browser(app: &App, site: &Site, digest: &[u8; 32], network: Network) -> Result<()> {
    count_client(app, site, (&format!("{digest:x?}"), None), network).await
}

/// Counts what a client writes, by its name. People with a session are never stopped by what all clients do together:
/// whether somebody is signed in is only looked up when that is too much.
async fn count_client(
    app: &App,
    site: &Site,
    (name, client): (&str, Option<&ClientId>),
    network: Network,
) -> Result<()> {
    let (instance, now) = (site.instance.as_str(), app.clock.now());
    let (limits, throttle) = (&app.rate_limits, &app.throttle);
    let is_light = limits.check_client(throttle, (instance, name), now).await?;
    let Err(used_up) = limits.check_clients(throttle, instance, now).await else { return Ok(()) };
    if let Some(client) = client
        && is_signed_in(app, site, client).await?
    {
        return Ok(());
    }
    match is_light {
        true => limits.take_reserve_of_clients(throttle, (instance, network), now).await,
        false => Err(used_up),
    }
}

async fn is_signed_in(app: &App, site: &Site, client: &ClientId) -> Result<bool> {
    let mut tx = app.db.read().await?;
    let live =
        sessions::live_of_client(&mut tx, &site.instance, client, &site.settings, app.clock.now()).await?;
    Ok(!live.is_empty())
}

async fn writer(app: &App, site: &Site, (headers, uri): (&HeaderMap, &Uri)) -> Result<Writer> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = bearer.map(|value| value.strip_prefix("Bearer ").unwrap_or(value));
    let shown = cookies::read_all(headers, cookies::CLIENT).take(PROOFS_AT_MOST).chain(bearer);
    let mut tx = app.db.read().await?;
    for token in shown {
        if let Some((client, _)) = proven_client(app, &mut tx, site, token).await? {
            return Ok(Writer::Client(client.id));
        }
    }
    if !site.is_development() {
        return Ok(Writer::Stranger);
    }
    let query = pairs(uri.query().unwrap_or_default()).unwrap_or_default();
    let named = query.into_iter().find(|(key, _)| key == cookies::DEV_BROWSER).map(|(_, token)| token);
    let token = named.or_else(|| cookies::read(headers, cookies::DEV_BROWSER).map(str::to_owned));
    let Some(token) = token else { return Ok(Writer::Stranger) };
    let digest = sha256(token.as_bytes());
    let found = store::find_dev_browser(&mut tx, &site.instance, &digest).await?;
    Ok(match found {
        Some(store::DevBrowser { client: Some(client) }) => Writer::Client(client),
        Some(store::DevBrowser { client: None }) => Writer::DevBrowser(digest),
        None => Writer::Stranger,
    })
}

/// Counts a request of somebody who is signed in, by the limits its operation has for one person; an error when it
/// is one too many. `person` is the id of the user, or of the client for operations that find the session themselves.
pub async fn count_person(app: &App, parts: &Parts, site: &Site, person: &str) -> Result<()> {
    let index = parts.extensions.get::<OperationIndex>();
    let operation = index.and_then(|OperationIndex(index)| app.product.frontend_operations.get(*index));
    let Some(operation) = operation.filter(|operation| operation.writes_for_people()) else { return Ok(()) };
    let who = (site.instance.as_str(), person);
    app.rate_limits.check_person(&app.throttle, who, operation, app.clock.now()).await
}

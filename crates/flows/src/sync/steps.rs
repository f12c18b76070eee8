//! The steps of a browser between the domains.

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::{Code, Error, Result, rng};
use latchkey_door::cookies;
use latchkey_door::redirects::{self, Destination};
use latchkey_door::reply::{add_cookie, away};
use latchkey_door::site::SatelliteSite;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::domains::rules as domains;
use latchkey_kernel::limits::SYNC_MS;
use latchkey_kernel::settings::Satellite;
use latchkey_presence::clients::store as clients;
use latchkey_presence::syncs::{self, Sync, Taken};

use super::rules::{self, DONE, STATE, SYNCED};

/// From a satellite to the primary domain, with something by which the satellite knows the browser again.
pub fn begin(cx: &Cx, visitor: &Visitor, headers: &HeaderMap, primary: &Destination) -> Result<Response> {
    let known = rules::usable(cookies::read(headers, cookies::SYNC));
    let state = known.unwrap_or_else(|| URL_SAFE_NO_PAD.encode(rng::bytes::<24>(&*cx.app.rng)));
    let there = primary.with(STATE, &rules::shown_state(&state));
    let mut response = away(StatusCode::TEMPORARY_REDIRECT, there.as_str())?;
    add_cookie(response.headers_mut(), &cookies::sync(&visitor.site, &state))?;
    Ok(response)
}

/// From the primary domain to the satellite, with a token that says which client it is.
pub async fn vouch(
    cx: &Cx,
    visitor: &Visitor,
    satellite: &Satellite,
    state: &str,
    then: &Destination,
) -> Result<Response> {
    let state_digest =
        rules::digest(state).ok_or_else(|| Error::param(Code::InvalidQueryParameterValue, STATE))?;
    let token = URL_SAFE_NO_PAD.encode(rng::bytes::<24>(&*cx.app.rng));
    let sync = Sync {
        instance: visitor.site.instance.clone(),
        satellite: satellite.name.clone(),
        state_digest,
        client: visitor.client_id(),
        redirect_url: then.as_str().to_owned(),
        expire_at: cx.now.plus_ms(SYNC_MS),
    };
    let kept = token.clone();
    cx.write(move |tx| Box::pin(async move { syncs::insert(tx, &sync, &kept).await })).await?;
    let link = redirects::trusted(format!("{}/v1/client/link", domains::url(satellite)));
    away(StatusCode::TEMPORARY_REDIRECT, link.with("__clerk_token", &token).as_str())
}

/// Lets a browser in at a satellite by its token, and sends it on as the client it is.
pub async fn arrive(
    cx: &Cx,
    visitor: &Visitor,
    satellite: &SatelliteSite,
    headers: &HeaderMap,
    token: String,
) -> Result<Response> {
    let invalid = || Error::param(Code::InvalidQueryParameterValue, "__clerk_token");
    // A browser that did not begin here is somebody else's, whatever state its token was made for.
    let state = rules::usable(cookies::read(headers, cookies::SYNC)).ok_or_else(invalid)?;
    let state_digest = rules::digest(&rules::shown_state(&state)).ok_or_else(invalid)?;
    let (act, domain) = (visitor.act(cx), satellite.domain.name.clone());
    let taken = cx.write(move |tx| {
        Box::pin(async move { syncs::take(tx, &act.instance, &domain, &token, &state_digest, act.now).await })
    });
    let (client, redirect_url) = match taken.await? {
        Taken::Now { client, redirect_url } => (client, redirect_url),
        Taken::Before => return Err(Error::new(Code::SyncNonceAlreadyConsumed)),
        Taken::Never => return Err(invalid()),
    };
    let found = match client {
        Some(id) => {
            clients::find_with_digest(&mut cx.app.db.read().await?, &visitor.site.instance, &id).await?
        }
        None => None,
    };
    let mut arrived = visitor.alone();
    let is_client = found.is_some();
    if let Some((client, digest)) = found {
        let secret = satellite.secret(&client.id, &digest);
        arrived.becomes(client, Some(secret.into()));
    }
    let then = redirects::trusted(redirect_url).set(SYNCED, DONE);
    let mut response = arrived.redirect(cx, StatusCode::TEMPORARY_REDIRECT, then.as_str()).await;
    if !is_client {
        // The primary domain is who knows: nobody is signed in there.
        add_cookie(response.headers_mut(), &cookies::no_client(&visitor.site))?;
    }
    Ok(response)
}

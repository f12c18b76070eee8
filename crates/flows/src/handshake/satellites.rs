//! Handshakes of satellite domains. A satellite that does not know who is signed in sends the browser to the
//! primary domain, which vouches for it; then the satellite answers itself, as it has the app's cookies.

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use latchkey_base::{Code, Error, Result};
use latchkey_door::client;
use latchkey_door::redirects::{self, Destination};
use latchkey_door::reply::away;
use latchkey_door::site::Site;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::domains::rules as domains;
use latchkey_kernel::origins;
use latchkey_kernel::settings::Satellite;

use super::frontend::HandshakeRequest;
use super::rules::{Carrier, carrier};
use crate::sync::{rules, steps};

pub(super) const PATH: &str = "/v1/client/handshake";

/// Where a handshake goes before it can be answered; `None` if it can be.
pub(super) async fn detour(
    cx: &Cx,
    visitor: &Visitor,
    headers: &HeaderMap,
    query: &HandshakeRequest,
    back: &Destination,
) -> Result<Option<Response>> {
    let site = &*visitor.site;
    match (&site.satellite, query.satellite_fapi.as_deref()) {
        (Some(satellite), _) => {
            let (reason, is_synced) =
                (query.__clerk_hs_reason.as_deref(), query.__clerk_synced == Some(true));
            let shown_client = client::load(cx, visitor).await?;
            let is_signed_in = shown_client.is_some_and(|shown_client| shown_client.has_sessions());
            if !rules::asks_primary(reason, is_synced, is_signed_in) {
                return Ok(None);
            }
            let primary =
                question(&satellite.primary_url, query, back).with("satellite_fapi", &satellite.host);
            Ok(Some(steps::begin(cx, visitor, headers, &primary)?))
        }
        (None, _) if query.satellite_host.is_some() => Err(not_passed_on(site, query)),
        (None, Some(frontend_api)) => {
            let satellite = domains::at(&site.settings.satellites, frontend_api)
                .ok_or_else(|| Error::param(Code::InvalidHandshake, "satellite_fapi"))?;
            let there = at_satellite(satellite, query, back);
            Ok(Some(match &query.link_state {
                Some(state) => steps::vouch(cx, visitor, satellite, state, &there).await?,
                // The satellite must know the browser again, so it begins there.
                None => away(StatusCode::TEMPORARY_REDIRECT, there.as_str())?,
            }))
        }
        (None, None) => match satellite_of(site, back) {
            Some(satellite) => {
                let there = at_satellite(satellite, query, back);
                away(StatusCode::TEMPORARY_REDIRECT, there.as_str()).map(Some)
            }
            None => Ok(None),
        },
    }
}

/// The satellite whose page a handshake at the primary domain is for. It has to answer itself, by a cookie wherever one
/// reaches the page: what this domain could put into the URL would be good in any browser.
fn satellite_of<'a>(site: &'a Site, back: &Destination) -> Option<&'a Satellite> {
    let app = origins::canonical(back.as_str()).filter(|_| !site.is_development())?;
    match carrier(site, &app) {
        Carrier::Url => {
            let owners = site.settings.satellites.iter().filter(|satellite| domains::owns(satellite, &app));
            owners.max_by_key(|satellite| satellite.name.len())
        }
        Carrier::Cookie(_) => None,
    }
}

/// The same handshake on a satellite. It names the host, so that one that is never reached is noticed.
fn at_satellite(satellite: &Satellite, query: &HandshakeRequest, back: &Destination) -> Destination {
    question(&domains::url(satellite), query, back).with("satellite_host", &satellite.host())
}

/// A handshake that was sent to a satellite and reached the primary domain would be sent there again for ever.
fn not_passed_on(site: &Site, query: &HandshakeRequest) -> Error {
    let asked = query.satellite_host.as_deref().unwrap_or_default();
    let is_known = site.settings.satellites.iter().any(|satellite| satellite.host() == asked);
    let there = if is_known { asked } else { "a satellite domain" };
    Error::new(Code::HostInvalid).saying(format!(
        "This request was sent to {there} and reached the server as one for {}: the reverse proxy in between must pass \
         on the Host header, or name the satellite in Clerk-Proxy-Url if it is a proxy of the application.",
        site.frontend_api
    ))
}

/// The same handshake on another domain.
fn question(base_url: &str, query: &HandshakeRequest, back: &Destination) -> Destination {
    let url = redirects::trusted(format!("{base_url}{PATH}")).with("redirect_url", back.as_str());
    let url = match query.format.as_deref() {
        Some("nonce") => url.with("format", "nonce"),
        _ => url,
    };
    let url = match query.suffixed_cookies {
        Some(true) => url.with("suffixed_cookies", "true"),
        _ => url,
    };
    match &query.organization_id {
        Some(id) => url.with("organization_id", id),
        None => url,
    }
}

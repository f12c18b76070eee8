//! Handshakes of satellite domains. A satellite that does not know who is signed in sends the browser to the
//! primary domain, which vouches for it; then the satellite answers itself, as it has the app's cookies.

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use latchkey_base::{Code, Error, Result};

use super::frontend::Handshake;
use crate::cx::Cx;
use crate::flows::sync::{rules, steps};
use crate::frontend::client;
use crate::frontend::redirects::{self, Destination};
use crate::frontend::reply::away;
use crate::frontend::visitor::Visitor;
use crate::resources::domains::rules as domains;

const PATH: &str = "/v1/client/handshake";

/// Where a handshake goes before it can be answered; `None` if it can be.
pub(super) async fn detour(
    cx: &Cx,
    visitor: &Visitor,
    headers: &HeaderMap,
    query: &Handshake,
    back: &Destination,
) -> Result<Option<Response>> {
    let site = &*visitor.site;
    match (&site.seat, query.satellite_fapi.as_deref()) {
        (Some(seat), _) => {
            let (reason, is_synced) =
                (query.__clerk_hs_reason.as_deref(), query.__clerk_synced == Some(true));
            let scenery = client::load(cx, visitor).await?;
            let is_signed_in = scenery.is_some_and(|scenery| scenery.has_sessions());
            if !rules::asks_primary(reason, is_synced, is_signed_in) {
                return Ok(None);
            }
            let primary = question(&seat.primary_url, query, back).with("satellite_fapi", &seat.host);
            Ok(Some(steps::begin(cx, visitor, headers, &primary)?))
        }
        (None, Some(frontend_api)) => {
            let satellite = domains::at(&site.settings.satellites, frontend_api)
                .ok_or_else(|| Error::param(Code::InvalidHandshake, "satellite_fapi"))?;
            let there = question(&domains::url(satellite), query, back);
            Ok(Some(match &query.link_state {
                Some(state) => steps::vouch(cx, visitor, satellite, state, &there).await?,
                // The satellite must know the browser again, so it begins there.
                None => away(StatusCode::TEMPORARY_REDIRECT, there.as_str())?,
            }))
        }
        (None, None) => Ok(None),
    }
}

/// The same handshake on another domain.
fn question(base_url: &str, query: &Handshake, back: &Destination) -> Destination {
    let url = redirects::trusted(format!("{base_url}{PATH}")).with("redirect_url", back.as_str());
    let url = match query.format.as_deref() {
        Some("nonce") => url.with("format", "nonce"),
        _ => url,
    };
    match query.suffixed_cookies {
        Some(true) => url.with("suffixed_cookies", "true"),
        _ => url,
    }
}

//! `GET /v1/client/sync` and `GET /v1/client/link`

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use latchkey_base::{Code, Error, Result};
use latchkey_door::redirects;
use latchkey_door::reply::away;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::domains::rules as domains;
use latchkey_web::api::Api;
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::steps;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Client");
    api.get("/v1/client/sync", "syncClient", sync)
        .summary("Bring a satellite domain together with the primary one")
        .errors(&[403, 422])
        .redirects(307)
        .public();
    api.get("/v1/client/link", "linkClient", link)
        .summary("Be known at a satellite domain")
        .errors(&[403])
        .redirects(307)
        .public();
}

#[derive(Deserialize, JsonSchema)]
struct SyncClient {
    /// The satellite, on the primary domain.
    link_domain: Option<String>,
    /// What the satellite knows the browser by.
    link_state: Option<String>,
    /// Where to go afterwards.
    redirect_url: Option<String>,
}

/// At a satellite: off to the primary domain. There: back, with a token.
async fn sync(
    cx: Cx,
    visitor: Visitor,
    headers: HeaderMap,
    Query(query): Query<SyncClient>,
) -> Result<Response, Failure> {
    let site = &*visitor.site;
    let back = redirects::own(site, query.redirect_url.as_deref())?;
    if let Some(satellite) = &site.satellite {
        let primary = redirects::trusted(format!("{}/v1/client/sync", satellite.primary_url))
            .with("link_domain", &satellite.domain.name)
            .with("redirect_url", back.as_str());
        return Ok(steps::begin(&cx, &visitor, &headers, &primary)?);
    }
    let name = query.link_domain.ok_or_else(|| Error::param(Code::MissingQueryParameter, "link_domain"))?;
    let satellite = site.settings.satellites.iter().find(|satellite| satellite.name == name);
    let satellite = satellite.ok_or_else(|| Error::param(Code::InvalidQueryParameterValue, "link_domain"))?;
    match query.link_state {
        Some(state) => Ok(steps::vouch(&cx, &visitor, satellite, &state, &back).await?),
        // The satellite must know the browser again, so it begins there.
        None => {
            let start = redirects::trusted(format!("{}/v1/client/sync", domains::url(satellite)));
            Ok(away(StatusCode::TEMPORARY_REDIRECT, start.with("redirect_url", back.as_str()).as_str())?)
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct LinkClient {
    /// What the primary domain gave the browser.
    __clerk_token: Option<String>,
}

async fn link(
    cx: Cx,
    visitor: Visitor,
    headers: HeaderMap,
    Query(query): Query<LinkClient>,
) -> Result<Response, Failure> {
    let token = query.__clerk_token.filter(|token| !token.is_empty());
    let token = token.ok_or_else(|| Error::param(Code::MissingQueryParameter, "__clerk_token"))?;
    match &visitor.site.satellite {
        Some(satellite) => Ok(steps::arrive(&cx, &visitor, satellite, &headers, token).await?),
        // Tokens are for satellites; here none is good.
        None => Err(Error::param(Code::InvalidQueryParameterValue, "__clerk_token").into()),
    }
}

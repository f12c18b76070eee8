//! `GET /v1/client/handshake`

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::rng;
use latchkey_base::{Code, Error, Result};
use latchkey_web::api::Api;
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::rules::{self, Carrier, Presence, directives};
use super::satellites;
use crate::AppState;
use crate::cx::Cx;
use crate::flows::sync::rules::{DONE, SYNCED};
use crate::frontend::client::{self, mint};
use crate::frontend::cookies::{self, HANDSHAKE, HANDSHAKE_NONCE};
use crate::frontend::redirects::{self, Destination};
use crate::frontend::reply::add_cookie;
use crate::frontend::site::Site;
use crate::frontend::visitor::Visitor;
use crate::keyring::Category;
use crate::limits::HANDSHAKE_MS;
use crate::resources::clients::dev_browsers;
use crate::resources::domains::rules as domains;
use crate::resources::handshakes::store::{self as handshakes, Handshake as Kept};
use crate::resources::sessions::renewals;

/// What an earlier handshake may have left in the URL. Backends read the first of two, so it must go.
const LEFT_OVER: [&str; 3] = [HANDSHAKE, HANDSHAKE_NONCE, "__clerk_help"];

/// How the answer can travel; nothing said is the first.
const FORMATS: [&str; 3] = ["token", "nonce", ""];

/// Adds the operation.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Client");
    api.get("/v1/client/handshake", "handshakeClient", handshake)
        .summary("Send the browser back to the app with fresh cookies")
        .query::<Handshake>()
        .redirects(307)
        .public();
}

/// What an app asks for.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Handshake {
    /// Where to go back to.
    pub(super) redirect_url: Option<String>,
    /// `nonce` for something to fetch, `token` for a signed token.
    pub(super) format: Option<String>,
    /// Whether the app reads cookies with the suffix of its instance.
    pub(super) suffixed_cookies: Option<bool>,
    /// The Frontend API of the satellite domain that sends the browser to the primary one.
    pub(super) satellite_fapi: Option<String>,
    /// What that satellite knows the browser by.
    pub(super) link_state: Option<String>,
    /// Why the app asks.
    pub(super) __clerk_hs_reason: Option<String>,
    /// Whether the browser comes from the primary domain.
    pub(super) __clerk_synced: Option<bool>,
}

/// The browser behind a handshake. A developer's browser this server has forgotten is not turned away: it
/// gets a new token.
struct Caller(Visitor);

impl FromRequestParts<AppState> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Caller, Failure> {
        match Visitor::from_request_parts(parts, state).await {
            Err(Failure(error)) if error.code() == Code::DevBrowserUnauthenticated => {
                Ok(Caller(Visitor::by_cookies(parts, state).await?))
            }
            outcome => Ok(Caller(outcome?)),
        }
    }
}

async fn handshake(
    cx: Cx,
    Caller(visitor): Caller,
    headers: HeaderMap,
    Query(query): Query<Handshake>,
) -> Result<Response, Failure> {
    let mut back = redirects::checked(&visitor.site, query.redirect_url.as_deref())
        .map_err(|error| refused(&visitor.site, error.code()))?
        .without(&LEFT_OVER);
    if query.format.as_deref().is_some_and(|format| !FORMATS.contains(&format)) {
        return Err(Error::param(Code::InvalidHandshake, "format").into());
    }
    if let Some(response) = satellites::detour(&cx, &visitor, &headers, &query, &back).await? {
        return Ok(response);
    }
    if visitor.site.seat.is_some() && query.__clerk_synced == Some(true) {
        back = back.set(SYNCED, DONE);
    }
    let app = redirects::canonical(back.as_str()).unwrap_or_default();
    let carrier = rules::carrier(&visitor.site, &app);
    let is_suffixed = query.suffixed_cookies.unwrap_or(false);
    let lines = cookies_for(&cx, &visitor, &app, &carrier, is_suffixed).await?;
    let (name, value) = match query.format.as_deref() {
        Some("nonce") => (HANDSHAKE_NONCE, keep(&cx, &visitor, lines, &carrier).await?),
        _ => (HANDSHAKE, sign(&cx, &visitor, &lines).await?),
    };
    send_back(&cx, &visitor, &back, &carrier, (name, &value)).await
}

/// Why a browser is not sent back to where its app asks for.
fn refused(site: &Site, code: Code) -> Error {
    let error = Error::param(Code::InvalidHandshake, "redirect_url");
    match code {
        Code::RedirectUrlMismatch => error.saying(format!(
            "`redirect_url` does not belong to the application, which has the pages of https://{} and the hosts below \
             it, those of satellites, and those that the setting allowed_origins names. An app behind a proxy must be \
             told that it is reached over https (X-Forwarded-Proto).",
            domains::primary(&site.frontend_api)
        )),
        _ => error,
    }
}

async fn send_back(
    cx: &Cx,
    visitor: &Visitor,
    back: &Destination,
    carrier: &Carrier<'_>,
    (name, value): (&str, &str),
) -> Result<Response, Failure> {
    let cookie = match carrier {
        Carrier::Cookie(scope) => cookies::handshake(scope, name, value),
        Carrier::Url => None,
    };
    let status = StatusCode::TEMPORARY_REDIRECT;
    let Some(cookie) = cookie else {
        return Ok(cx.redirect(visitor, status, back.with(name, value).as_str()).await);
    };
    let mut response = cx.redirect(visitor, status, back.as_str()).await;
    add_cookie(response.headers_mut(), &cookie)?;
    Ok(response)
}

async fn cookies_for(
    cx: &Cx,
    visitor: &Visitor,
    app: &str,
    carrier: &Carrier<'_>,
    is_suffixed: bool,
) -> Result<Vec<String>> {
    let site = &*visitor.site;
    let dev_browser = match site.is_development() {
        // Linking a token that somebody else may have made to this client would hand it over; so a browser
        // that shows none of this client's gets one of its own.
        true => Some(match &visitor.shown_dev_browser {
            Some(token) => token.clone(),
            None => dev_browsers::introduce(cx, site, visitor.client.as_ref()).await?,
        }),
        false => None,
    };
    let lines = |presence: Option<&Presence<'_>>| {
        directives(site, app, carrier, presence, dev_browser.as_deref(), is_suffixed)
    };
    let Some(scenery) = client::load(cx, visitor).await? else { return Ok(lines(None)) };
    let active = scenery.client().last_active_session.as_ref();
    let listed = scenery.sessions();
    let chosen = listed.iter().find(|(session, _, _)| Some(&session.id) == active).or(listed.first());
    let Some((session, user, _)) = chosen else { return Ok(lines(None)) };
    let signer = cx.app.signer_at(site, cx.now).await?;
    // The token is for the app, so it names the app's origin.
    let at_app = Visitor { origin: Some(app.to_owned()), ..visitor.alone() };
    let token = mint(cx, &at_app, session, user, &signer)?;
    let refresh = renewals::secret(&cx.app.master, session, app);
    let changed_at = scenery.client().updated_at;
    Ok(lines(Some(&Presence { token: &token, refresh: refresh.expose(), changed_at })))
}

/// Keeps the directives for the backend. What stands in a URL, which is seen and copied, is good once; a cookie is
/// shown with all that a browser asks for until an answer takes it away, and again when that answer is lost.
async fn keep(cx: &Cx, visitor: &Visitor, lines: Vec<String>, carrier: &Carrier<'_>) -> Result<String> {
    let is_good_once = matches!(carrier, Carrier::Url);
    let nonce = URL_SAFE_NO_PAD.encode(rng::bytes::<24>(&*cx.app.rng));
    let (act, kept) = (visitor.act(cx), nonce.clone());
    cx.write(move |tx| {
        Box::pin(async move {
            let handshake = Kept {
                nonce: &kept,
                directives: &lines,
                is_good_once,
                expire_at: act.now.plus_ms(HANDSHAKE_MS),
            };
            handshakes::insert(tx, &act.instance, &handshake, &act.master).await
        })
    })
    .await?;
    Ok(nonce)
}

async fn sign(cx: &Cx, visitor: &Visitor, lines: &[String]) -> Result<String> {
    let signer = cx.app.signer_at(&visitor.site, cx.now).await?;
    signer.sign(Category::Session, &json!({ "handshake": lines }))
}

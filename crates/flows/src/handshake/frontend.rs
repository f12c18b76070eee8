//! `GET /v1/client/handshake`

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::{Code, Error, Result, rng};
use latchkey_db::Tx;
use latchkey_door::client::{self, mint};
use latchkey_door::client_handle::ClientHandle;
use latchkey_door::cookies::{self, DEV_BROWSER, HANDSHAKE, HANDSHAKE_NONCE};
use latchkey_door::redirects::{self, Destination};
use latchkey_door::reply::add_cookie;
use latchkey_door::site::Site;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::keyring::Category;
use latchkey_kernel::limits::HANDSHAKE_MS;
use latchkey_kernel::{AppState, origins};
use latchkey_presence::handshakes::{self, StoredHandshake};
use latchkey_presence::sessions::working::{self, ChosenBy, OrganizationChoice};
use latchkey_presence::sessions::{renewals, store as sessions};
use latchkey_web::api::{Api, Operation};
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use latchkey_web::signature::Argument;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::rules::{self, Carrier, DevBrowserCookie, Presence, directives};
use super::satellites;
use crate::dev_browsers::frontend::introduce;
use crate::sync::rules::{DONE, SYNCED};

/// Parameters that an earlier redirect may have left in the URL. Backends read the first of two, so they must go. The
/// token of a developer's browser travels in a cookie of the application.
const LEFT_OVER: [&str; 4] = [HANDSHAKE, HANDSHAKE_NONCE, DEV_BROWSER, "__clerk_help"];

/// How the answer can travel; nothing said is the first.
const FORMATS: [&str; 3] = ["token", "nonce", ""];

pub fn routes(api: &mut Api<AppState>) {
    api.group("Client");
    api.get(satellites::PATH, "handshakeClient", handshake)
        .summary("Send the browser back to the app with fresh cookies")
        .redirects(307)
        .public();
}

/// What an app asks for.
#[derive(Deserialize, JsonSchema)]
pub(super) struct HandshakeRequest {
    /// Where to go back to.
    pub(super) redirect_url: Option<String>,
    /// `nonce` for something to fetch, `token` for a signed token.
    pub(super) format: Option<String>,
    /// Whether the app reads cookies with the suffix of its instance.
    pub(super) suffixed_cookies: Option<bool>,
    /// The Frontend API of the satellite domain that sends the browser to the primary one.
    pub(super) satellite_fapi: Option<String>,
    /// The host of the satellite domain that the primary one sends the browser to.
    pub(super) satellite_host: Option<String>,
    /// The organization to work for from now on, by its id or slug; empty for none. One that the user is not a member of
    /// changes nothing.
    pub(super) organization_id: Option<String>,
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

impl Argument for Caller {
    fn describe(row: &mut Operation) {
        Visitor::describe(row);
    }
}

async fn handshake(
    cx: Cx,
    Caller(visitor): Caller,
    headers: HeaderMap,
    Query(query): Query<HandshakeRequest>,
) -> Result<Response, Failure> {
    let asked = query.redirect_url.as_deref();
    let mut back = redirects::for_token(&visitor.site, asked)
        .map_err(|error| refused(&visitor.site, asked.unwrap_or_default(), error.code()))?
        .without(&LEFT_OVER);
    if query.format.as_deref().is_some_and(|format| !FORMATS.contains(&format)) {
        return Err(Error::param(Code::InvalidHandshake, "format").into());
    }
    if let Some(response) = satellites::detour(&cx, &visitor, &headers, &query, &back).await? {
        return Ok(response);
    }
    if visitor.site.satellite.is_some() && query.__clerk_synced == Some(true) {
        back = back.set(SYNCED, DONE);
    }
    let app = origins::canonical(back.as_str()).unwrap_or_default();
    let carrier = rules::carrier(&visitor.site, &app);
    let is_suffixed = query.suffixed_cookies.unwrap_or(false);
    work_for(&cx, &visitor, query.organization_id.as_deref()).await?;
    let lines = cookies_for(&cx, &visitor, &app, &carrier, is_suffixed).await?;
    let (name, value) = match query.format.as_deref() {
        Some("nonce") => (HANDSHAKE_NONCE, keep(&cx, &visitor, lines, &carrier).await?),
        _ => (HANDSHAKE, sign(&cx, &visitor, &lines).await?),
    };
    send_back(&cx, &visitor, &back, &carrier, (name, &value)).await
}

/// Makes the organization that the app asks for the active one of the session whose token it will get. What cannot be
/// changes nothing, as published. The client is locked first, as by all who change sessions.
async fn work_for(cx: &Cx, visitor: &Visitor, asked: Option<&str>) -> Result<()> {
    let asked = OrganizationChoice::read(asked, &visitor.site.settings);
    if asked == OrganizationChoice::Same || visitor.client().is_none() {
        return Ok(());
    }
    let (act, handle) = (visitor.act(cx), visitor.client_handle());
    let chosen = cx.write(move |tx| Box::pin(async move { work_for_in(tx, &act, &handle, &asked).await }));
    match chosen.await {
        Ok(()) => Ok(()),
        Err(error) => match error.code() {
            Code::OrganizationNotFoundOrUnauthorized | Code::SignedOut => Ok(()),
            _ => Err(error),
        },
    }
}

async fn work_for_in(
    tx: &mut Tx,
    act: &Act,
    handle: &ClientHandle,
    asked: &OrganizationChoice,
) -> Result<()> {
    let client = handle.lock(tx).await?;
    let live = sessions::live_of_client(tx, &act.instance, &client.id, &act.settings, act.now).await?;
    let active = client.last_active_session.as_ref();
    let named = live.iter().find(|present| Some(&present.session.id) == active).or(live.first());
    let Some(present) = named else { return Ok(()) };
    let choice = working::choose(tx, act, &present.session, (asked, ChosenBy::Link)).await?;
    let locked = sessions::lock(tx, &act.instance, &present.session.id, &act.settings).await?;
    match locked.filter(|session| session.is_live(act.now)) {
        Some(session) => working::save_chosen(tx, act, session, choice).await.map(|_| ()),
        None => Ok(()),
    }
}

/// Why a browser is not sent back to where its app asks for.
fn refused(site: &Site, url: &str, code: Code) -> Error {
    let error = Error::param(Code::InvalidHandshake, "redirect_url");
    match code {
        Code::RedirectUrlMismatch => error.saying(redirects::mismatch(site, url)),
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
        return Ok(visitor.redirect(cx, status, back.with(name, value).as_str()).await);
    };
    let mut response = visitor.redirect(cx, status, back.as_str()).await;
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
            None => introduce(cx, site, visitor.client_proof()).await?,
        }),
        false => None,
    };
    let is_known = visitor.shown_dev_browser.is_some();
    let dev_browser = dev_browser.as_deref().map(|token| DevBrowserCookie { token, is_known });
    let lines =
        |presence: Option<&Presence<'_>>| directives(site, app, carrier, presence, dev_browser, is_suffixed);
    let Some(shown_client) = client::load(cx, visitor).await? else { return Ok(lines(None)) };
    let active = shown_client.client().last_active_session.as_ref();
    let listed = shown_client.sessions();
    let chosen = listed.iter().find(|(present, _)| Some(&present.session.id) == active).or(listed.first());
    let Some((present, _)) = chosen else { return Ok(lines(None)) };
    let signer = site.signer(&cx.app, cx.now).await?;
    // The token is for the app, so it names the app's origin.
    let mut at_app = visitor.alone();
    at_app.origin = Some(app.to_owned());
    let token = mint(cx, &at_app, present, &signer).await?;
    let refresh = renewals::secret(&cx.app.master, &present.session, app);
    let changed_at = shown_client.client().changed_at(cx.now);
    Ok(lines(Some(&Presence { token: &token, refresh: refresh.expose(), changed_at })))
}

/// Keeps the directives for the backend. What stands in a URL, which is seen and copied, is good once; a cookie is
/// shown with all that a browser asks for until an answer takes it away, and again when that answer is lost.
async fn keep(cx: &Cx, visitor: &Visitor, lines: Vec<String>, carrier: &Carrier<'_>) -> Result<String> {
    let is_good_once = matches!(carrier, Carrier::Url);
    let nonce = URL_SAFE_NO_PAD.encode(rng::bytes::<24>(&*cx.app.rng));
    let (act, kept) = (visitor.act(cx), nonce.clone());
    cx.write(move |tx| Box::pin(async move { keep_in(tx, &act, &kept, &lines, is_good_once).await })).await?;
    Ok(nonce)
}

async fn keep_in(
    tx: &mut Tx,
    act: &Act,
    nonce: &str,
    directives: &[String],
    is_good_once: bool,
) -> Result<()> {
    let handshake =
        StoredHandshake { nonce, directives, is_good_once, expire_at: act.now.plus_ms(HANDSHAKE_MS) };
    handshakes::insert(tx, &act.instance, &handshake, &act.master).await
}

async fn sign(cx: &Cx, visitor: &Visitor, lines: &[String]) -> Result<String> {
    let signer = visitor.site.signer(&cx.app, cx.now).await?;
    signer.sign(Category::Session, &json!({ "handshake": lines }))
}

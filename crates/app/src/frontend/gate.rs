//! What every request of a browser passes first: which instance it is for, whether its origin may ask,
//! whether it asks too often; and the headers that let pages of other origins read the answer.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, CACHE_CONTROL,
    ORIGIN, VARY,
};
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use latchkey_base::{Code, Error, Result};
use latchkey_web::api::Operation;
use latchkey_web::edge::{Caused, OperationIndex};
use latchkey_web::query::pairs;
use latchkey_web::reply::Failure;
use tokio::time::{Instant, sleep_until};

use super::cookies;
use super::redirects;
use super::refusals::Asked;
use super::site::{self, Site};
use crate::cx::{Trust, client_ip};
use crate::resources::clients::token;
use crate::resources::domains::rules as domains;
use crate::{App, AppState};

/// What pages of other origins may read of an answer.
const EXPOSED: &str =
    "Authorization, Clerk-Db-Jwt, Clerk-Trace-Id, Latchkey-Event-Seq, Retry-After, X-Country";

/// What browsers ask for most. The client they show is read in the statement that finds the instance.
const READ_AHEAD: [&str; 2] = ["createSessionToken", "getClient"];

/// What begins a session, which only happens on the primary domain.
const ON_PRIMARY: [&str; 2] = ["/v1/client/sign_ins", "/v1/client/sign_ups"];

/// How long answers about accounts take where nobody is to learn which there are: longer than what is done for
/// those who have one.
const GUARDED: Duration = Duration::from_millis(100);

/// What makes a client, or opens a session by a link.
const ENTRANCES: [&str; 4] = ["acceptTicket", "postClient", "putClient", "verify"];

/// What is the same for every instance, and answers without one.
const FOR_ALL: [&str; 3] = ["/npm/", "/images/", "/healthz"];

/// Lets a request in, and its answer out.
pub async fn pass(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    if FOR_ALL.iter().any(|beginning| request.uri().path().starts_with(beginning)) {
        return next.run(request).await;
    }
    let AppState(app) = &state;
    let origin = request.headers().get(ORIGIN).cloned();
    let is_preflight = request.method() == Method::OPTIONS;
    let mut response = match admit(app, &mut request).await {
        Ok(()) if is_preflight => StatusCode::NO_CONTENT.into_response(),
        Ok(()) => answered(&state, request, next).await,
        // The page must be able to read why; the refusal itself tells nothing.
        Err(error) => Failure(error).into_response(),
    };
    let headers = response.headers_mut();
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if let Some(origin) = origin {
        allow(headers, origin, is_preflight);
    }
    response
}

/// The answer to a request that was let in. What is asked most often is not noted down for a refusal.
async fn answered(state: &AppState, mut request: Request, next: Next) -> Response {
    let is_read_ahead = operation(&state.0, &request).is_some_and(is_read_ahead);
    let asked = if is_read_ahead { None } else { Asked::note(&request) };
    let not_before = guard(&state.0, &mut request);
    let response = next.run(request).await;
    let response = match asked {
        Some(asked) => asked.complete(state, response).await,
        None => response,
    };
    if let Some(not_before) = not_before {
        sleep_until(not_before).await;
    }
    response
}

/// Where nobody is to learn who has an account: when the answer may go out. No answer tells the number of an event
/// there: a code is only sent to somebody, and who counts would see that.
fn guard(app: &App, request: &mut Request) -> Option<Instant> {
    let site = request.extensions().get::<Arc<Site>>()?;
    if !site.settings.attack_protection.enumeration_protection {
        return None;
    }
    request.extensions_mut().remove::<Caused>();
    operation(app, request).filter(|operation| signs_in(operation)).map(|_| Instant::now() + GUARDED)
}

/// The operation a request is, if it is one.
fn operation<'a>(app: &'a App, request: &Request) -> Option<&'a Operation> {
    let OperationIndex(index) = request.extensions().get::<OperationIndex>()?;
    app.frontend_operations.get(*index)
}

fn is_read_ahead(operation: &Operation) -> bool {
    READ_AHEAD.contains(&operation.id)
}

/// Whether it is a step towards a session.
fn signs_in(operation: &Operation) -> bool {
    operation.method != Method::GET
        && ON_PRIMARY.iter().any(|beginning| operation.path.starts_with(beginning))
}

async fn admit(app: &Arc<App>, request: &mut Request) -> Result<()> {
    let operation = operation(app, request);
    let shown = match operation.is_some_and(is_read_ahead) {
        true => cookies::read(request.headers(), cookies::CLIENT).and_then(token::read),
        false => None,
    };
    let client = shown.as_ref().map(|(id, _)| id);
    let (site, present) = site::find(app, &mut app.db.read().await?, request.headers(), client).await?;
    check_origin(&site, request.headers())?;
    if let Some(operation) = operation {
        check_domain(&site, operation, request.uri().query().unwrap_or_default())?;
        let ip = client_ip(request.headers(), request.extensions(), Trust::of(app, site.is_proxied));
        let who = (site.instance.as_str(), &*ip);
        app.rate_limits.check_visitor(&app.throttle, who, operation.id, app.clock.now()).await?;
    }
    request.extensions_mut().insert(Arc::new(site));
    if let Some(present) = present {
        request.extensions_mut().insert(present);
    }
    Ok(())
}

/// Counts a request that is for no instance by the address it comes from; an error when it is one too many. A
/// proxy of an application shows its key, and is not counted itself.
pub async fn count(app: &App, headers: &HeaderMap, extensions: &Extensions, operation: &str) -> Result<()> {
    let is_proxied = match headers.contains_key(site::SECRET_KEY) {
        true => site::find(app, &mut app.db.read().await?, headers, None).await?.0.is_proxied,
        false => false,
    };
    let ip = client_ip(headers, extensions, Trust::of(app, is_proxied));
    app.rate_limits.check_visitor(&app.throttle, ("", &*ip), operation, app.clock.now()).await
}

/// Development instances answer every page; production ones those of the application's own domains and
/// those the settings name.
fn check_origin(site: &Site, headers: &HeaderMap) -> Result<()> {
    let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    match site.is_development() || is_own(site, origin) {
        true => Ok(()),
        false => Err(Error::new(Code::OriginInvalid).saying(format!(
            "This origin may not use the Frontend API of the instance: pages of https://{} and the hosts below it may, \
             those of satellites, and those that the setting allowed_origins names.",
            domains::primary(&site.frontend_api)
        ))),
    }
}

/// Nobody signs in or up on a satellite, and no client begins there. Pages of satellites in development ask
/// the primary domain, and tell whose they are.
fn check_domain(site: &Site, operation: &Operation, query: &str) -> Result<()> {
    let signs_in = signs_in(operation);
    let is_satellite = match &site.seat {
        Some(_) => signs_in || ENTRANCES.contains(&operation.id),
        None => signs_in && site.is_development() && names_satellite(site, query)?,
    };
    match is_satellite {
        true => Err(Error::new(Code::OperationNotAllowedOnSatelliteDomain)),
        false => Ok(()),
    }
}

fn names_satellite(site: &Site, query: &str) -> Result<bool> {
    let satellites = &site.settings.satellites;
    let is_named = |(key, value): &(String, String)| {
        key == "__domain" && satellites.iter().any(|satellite| satellite.name == *value)
    };
    Ok(!satellites.is_empty() && pairs(query)?.iter().any(is_named))
}

/// Whether an origin belongs to the application.
pub fn is_own(site: &Site, origin: &str) -> bool {
    let settings = &site.settings;
    if settings.allowed_origins.iter().any(|allowed| allowed == origin) {
        return true;
    }
    let is_satellite = || settings.satellites.iter().any(|satellite| domains::owns(satellite, origin));
    redirects::origin(origin) == Some(origin)
        && (redirects::origin(&site.base_url) == Some(origin)
            || domains::is_primary(&site.frontend_api, origin)
            || is_satellite())
}

fn allow(headers: &mut HeaderMap, origin: HeaderValue, is_preflight: bool) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    headers.append(VARY, HeaderValue::from_static("Origin"));
    if is_preflight {
        let methods = HeaderValue::from_static("GET, POST, PATCH, PUT, DELETE, OPTIONS");
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
        headers.insert(
            ACCESS_CONTROL_ALLOW_HEADERS,
            HeaderValue::from_static("authorization, content-type, clerk-api-version"),
        );
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("7200"));
    }
}

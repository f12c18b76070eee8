//! What every request of a browser passes first: which instance it is for, whether its origin may ask,
//! whether it asks too often; and the headers that let pages of other origins read the answer.

use std::mem::take;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, CACHE_CONTROL,
    ORIGIN, VARY,
};
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use latchkey_base::kinds::InstanceId;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_db::CopiedRow;
use latchkey_kernel::callers::PROXY_KEY;
use latchkey_kernel::cx::{Encrypted, Proxied, Trust, client_network, is_from_private_network};
use latchkey_kernel::domains::rules as domains;
use latchkey_kernel::limits::{RateLimits, weight};
use latchkey_kernel::recent_answers::RequestWords;
use latchkey_kernel::{App, AppState, origins};
use latchkey_presence::sessions::store as sessions;
use latchkey_web::api::{Entrance, Operation};
use latchkey_web::bodies::BodyShare;
use latchkey_web::edge::{Caused, OperationIndex, WriteLimit};
use latchkey_web::network::Network;
use latchkey_web::query::pairs;
use latchkey_web::reply::Failure;
use latchkey_web::throttle::{Per, Rate};
use latchkey_web::unread::arrived;
use tokio::time::{Instant, sleep_until};

use super::counting;
use super::refusals::RequestHead;
use super::site::{self, Site};
use super::visitor::{self, Visitor};

/// What pages of other origins may read of an answer.
const EXPOSED: &str =
    "Authorization, Clerk-Db-Jwt, Clerk-Trace-Id, Latchkey-Event-Seq, Retry-After, X-Country";

/// How long answers about accounts take where nobody is to learn which there are, or a multiple of it: longer than
/// what is done for those who have one.
const GUARDED: Duration = Duration::from_millis(100);

/// Lets a request in, and its answer out.
pub async fn pass(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let AppState(app) = &state;
    let is_foreign = operation(app, &request).is_some_and(|operation| operation.from_other_sites);
    let origin = request.headers().get(ORIGIN).filter(|_| !is_foreign).cloned();
    let is_preflight = request.method() == Method::OPTIONS;
    // Where the client is read together with the instance, the body must be there before both.
    if operation(app, &request).is_some_and(|operation| operation.read_ahead && operation.body.is_some()) {
        request = arrived(request).await;
    }
    let is_only_looked_at = request.method() == Method::HEAD
        && operation(app, &request).is_some_and(|operation| !operation.only_reads);
    let mut response = match admit(&state, &mut request).await {
        // Programs that look at the links in a mail ask with `HEAD`: that must not use up what a link is good for.
        Ok(_) if is_preflight || is_only_looked_at => StatusCode::NO_CONTENT.into_response(),
        Ok(Admitted::Answered(response)) => response,
        Ok(Admitted::Repeatable(asked)) => asked.kept(app, answered(&state, request, next).await).await,
        Ok(Admitted::New) => answered(&state, request, next).await,
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
    let operation = operation(&state.0, &request).filter(|operation| !operation.read_ahead);
    let head = operation.and_then(|operation| RequestHead::note(operation, &request));
    let began = guard(&state.0, &mut request);
    if operation.is_some_and(|operation| operation.body.is_some()) {
        request = arrived(request).await;
    }
    let network = request.extensions().get::<Network>().copied();
    let mut response = next.run(request).await;
    if let Some(network) = network {
        // For the edge, which counts what its clients leave unread.
        response.extensions_mut().insert(network);
    }
    let response = match head {
        Some(head) => head.complete(state, response).await,
        None => response,
    };
    if let Some(began) = began {
        sleep_until(next_multiple(began, Instant::now(), GUARDED)).await;
    }
    response
}

/// The first moment from `done` on that is a whole number of steps after `began`, and at least one: who sees an answer
/// leave then learns nothing of how long it took, but the number of steps.
pub fn next_multiple(began: Instant, done: Instant, step: Duration) -> Instant {
    let steps = done.duration_since(began).as_nanos().div_ceil(step.as_nanos().max(1)).max(1);
    began + step * u32::try_from(steps).unwrap_or(u32::MAX)
}

/// Where nobody is to learn who has an account: when the request came, if its answer is guarded. No answer tells the
/// number of an event there: a code is only sent to somebody, and who counts would see that.
fn guard(app: &App, request: &mut Request) -> Option<Instant> {
    let site = request.extensions().get::<Arc<Site>>()?;
    if !site.settings.attack_protection.enumeration_protection {
        return None;
    }
    request.extensions_mut().remove::<Caused>();
    let entrance = operation(app, request)?.entrance;
    (entrance == Some(Entrance::Attempt)).then(Instant::now)
}

fn operation<'a>(app: &'a App, request: &Request) -> Option<&'a Operation> {
    let OperationIndex(index) = request.extensions().get::<OperationIndex>()?;
    app.product.frontend_operations.get(*index)
}

/// What becomes of a request that may come in.
enum Admitted {
    /// Its answer is to be made.
    New,
    /// The same, and whoever asks the same again may get the same answer.
    Repeatable(RepeatableRequest),
    /// The same was asked a moment ago, and nothing has changed.
    Answered(Response),
}

/// A request whose answer may be given again.
struct RepeatableRequest {
    words: RequestWords,
    rows: Vec<CopiedRow>,
    now: Time,
}

impl RepeatableRequest {
    /// Its answer, which is kept if it says that it may be.
    async fn kept(self, app: &App, response: Response) -> Response {
        let Some(good_until) = response.extensions().get().copied() else { return response };
        let (parts, body) = response.into_parts();
        match to_bytes(body, usize::MAX).await {
            Ok(body) => {
                let answer = (parts.status, parts.headers.clone(), body.clone());
                app.recent_answers.keep(self.words, self.rows, answer, (self.now, good_until));
                Response::from_parts(parts, body.into())
            }
            Err(error) => Failure(Error::internal(error)).into_response(),
        }
    }
}

async fn admit(state: &AppState, request: &mut Request) -> Result<Admitted> {
    let AppState(app) = state;
    let operation = operation(app, request);
    let client = match operation.is_some_and(|operation| operation.read_ahead) {
        true => visitor::named_client(request.headers()),
        false => None,
    };
    let is_encrypted = request.extensions().get::<Encrypted>().is_some();
    let mut tx = app.db.read().await?;
    let (site, rows) = site::find(app, &mut tx, request.headers(), is_encrypted, client.as_ref()).await?;
    // The proxy of an application has proven with the secret key whose visitors it brings.
    let is_from_internet = site.is_development()
        && !site.is_proxied
        && !is_from_private_network(app, request.headers(), request.extensions());
    if is_from_internet {
        site::check_private(&mut tx).await?;
    }
    drop(tx);
    if !operation.is_some_and(|operation| operation.from_other_sites) {
        check_origin(&site, request.headers())?;
    }
    let network = client_network(request.headers(), request.extensions(), Trust::of(app, site.proxied()));
    if let Some(limit) = request.extensions().get::<WriteLimit>() {
        limit.check(network)?;
    }
    if let Some(share) = request.extensions().get::<BodyShare>() {
        share.set_network(network);
        share.set_tenant(site.instance.as_str());
    }
    request.extensions_mut().insert(network);
    if let Some(instance) = site.proxied() {
        request.extensions_mut().insert(Proxied(instance.clone()));
    }
    let site = Arc::new(site);
    request.extensions_mut().insert(site.clone());
    if let Some(operation) = operation {
        check_domain(&site, operation, request.uri().query().unwrap_or_default())?;
        let who = (site.instance.as_str(), network);
        let what = (operation, request.uri().path());
        app.rate_limits.check_visitor(&app.throttle, who, what, app.clock.now()).await?;
        if operation.writes_for_anybody() && request.method() != Method::OPTIONS {
            count_writer(state, &site, request, network).await?;
        }
    }
    let Some(rows) = rows else { return Ok(Admitted::New) };
    let now = app.clock.now();
    let is_repeatable = request.method() == Method::GET && rows.are_comparable();
    let words = is_repeatable.then(|| app.recent_answers.words(request, is_encrypted));
    if let Some(mut response) =
        words.as_ref().and_then(|words| app.recent_answers.find(words, rows.rows(), now))
    {
        response.extensions_mut().insert(network);
        return Ok(Admitted::Answered(response));
    }
    if let Some(present) = sessions::read_present(&mut app.db.read().await?, &site.instance, &rows).await? {
        request.extensions_mut().insert(present);
    }
    Ok(match words {
        Some(words) => Admitted::Repeatable(RepeatableRequest { words, rows: rows.into_rows(), now }),
        None => Admitted::New,
    })
}

/// Counts a request that may write for anybody. How long a body of unknown length is, is known when it is there; whoever may
/// write nothing more is refused before that.
async fn count_writer(state: &AppState, site: &Site, request: &mut Request, network: Network) -> Result<()> {
    let AppState(app) = state;
    if app.rate_limits == RateLimits::Off {
        return Ok(());
    }
    let is_long =
        |request: &Request| !request.body().is_end_stream() && request.body().size_hint().exact().is_none();
    let (mut parts, body) = take(request).into_parts();
    let visitor = Visitor::read(&mut parts, state).await.ok();
    *request = Request::from_parts(parts, body);
    let count = async |weight| counting::count_writer(app, site, visitor.as_ref(), weight, network).await;
    if !is_long(request) {
        return count(counting::weight_of(request)).await;
    }
    let least = weight(Some(0));
    count(least).await?;
    *request = arrived(take(request)).await;
    match counting::weight_of(request).saturating_sub(least) {
        0 => Ok(()),
        more => count(more).await,
    }
}

/// Counts a request for what an instance shows everybody by the network it comes from, which it returns; an error when it
/// is one too many. A proxy of the application itself shows the key of the instance, and is not counted.
pub async fn count(
    app: &App,
    instance: &InstanceId,
    headers: &HeaderMap,
    extensions: &Extensions,
    rate: Rate,
) -> Result<Network> {
    let is_proxied = match headers.contains_key(PROXY_KEY) {
        true => {
            let (site, _) = site::find(app, &mut app.db.read().await?, headers, false, None).await?;
            site.proxied() == Some(instance)
        }
        false => false,
    };
    let network = client_network(headers, extensions, Trust::of(app, is_proxied.then_some(instance)));
    app.rate_limits.check_address(&app.throttle, network, rate, app.clock.now()).await?;
    Ok(network)
}

/// Counts requests of the Backend API to operations with a limit for each address. There a secret key is what else
/// is counted by, so it stands before the operations only where one does without.
pub async fn count_addresses(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let AppState(app) = &state;
    let index = request.extensions().get::<OperationIndex>();
    let operation = index.and_then(|OperationIndex(index)| app.product.operations.get(*index));
    let counted = match operation.and_then(address_rate) {
        Some(rate) => {
            let network = client_network(request.headers(), request.extensions(), Trust::of(app, None));
            app.rate_limits.check_address(&app.throttle, network, rate, app.clock.now()).await
        }
        None => Ok(()),
    };
    match counted {
        Ok(()) => next.run(request).await,
        Err(error) => Failure(error).into_response(),
    }
}

/// The limit of an operation for each address, if it has one.
pub fn address_rate(operation: &Operation) -> Option<Rate> {
    operation.rate.filter(|rate| rate.per == Per::Address)
}

/// Development instances answer every page, unless pages of strangers would show the client's cookie too: then those of
/// this machine, of private networks and of the origins that the settings name. Production instances answer pages of
/// the application's own domains and those the settings name.
fn check_origin(site: &Site, headers: &HeaderMap) -> Result<()> {
    let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    let is_open = match site.is_apart_from_apps() {
        true => origins::is_local(origin) || site.settings.development.any_origin,
        false => site.is_development(),
    };
    match is_open || is_own(site, origin) {
        true => Ok(()),
        false => Err(Error::new(Code::OriginInvalid).saying(refusal(site))),
    }
}

/// Which origins may ask.
fn refusal(site: &Site) -> String {
    match site.is_development() {
        true => format!(
            "This origin may not use the Frontend API of the development instance over HTTPS: pages of this machine and \
             of private networks may, and those that the setting allowed_origins names. To allow an origin, run \
             `latchkey settings set --instance {} 'allowed_origins=https://…'`.",
            site.instance
        ),
        false => format!(
            "This origin may not use the Frontend API of the instance: pages of https://{} and the hosts below it may, \
             those of satellites, and those that the setting allowed_origins names.",
            domains::primary(&site.frontend_api)
        ),
    }
}

/// Nobody signs in or up on a satellite, and no client begins there. Pages of satellites in development ask
/// the primary domain, and tell whose they are.
fn check_domain(site: &Site, operation: &Operation, query: &str) -> Result<()> {
    let is_satellite = match (&site.satellite, operation.entrance) {
        (Some(_), Some(_)) => true,
        (None, Some(Entrance::Attempt)) => site.is_development() && names_satellite(site, query)?,
        _ => false,
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
    origins::origin(origin) == Some(origin)
        && (origins::origin(&site.base_url) == Some(origin)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guarded_answers_leave_at_multiples_whatever_was_done() {
        let (began, step) = (Instant::now(), Duration::from_millis(500));
        for (done_ms, leaves_ms) in [(0, 500), (1, 500), (499, 500), (500, 500), (501, 1000), (1700, 2000)] {
            let leaves = next_multiple(began, began + Duration::from_millis(done_ms), step);
            assert_eq!(leaves - began, Duration::from_millis(leaves_ms), "{done_ms}");
        }
    }
}

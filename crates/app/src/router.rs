//! Puts the server together: the operations, what surrounds them, and the edge.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::HttpBody as _;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Uri};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error};
use latchkey_door::gate;
use latchkey_flows::pictures;
use latchkey_jose::digest::{constant_time_eq, sha256};
use latchkey_kernel::auth::bearer;
use latchkey_kernel::callers::Callers;
use latchkey_kernel::cx::{FromScripts, Trust, client_network};
use latchkey_kernel::group::Group;
use latchkey_kernel::limits::{
    BACKEND_ANSWERS_BYTES, DEFAULT_RATES, FRONTEND_ANSWERS_BYTES, LARGE_BODIES_BYTES, SMALL_BODIES_BYTES,
};
use latchkey_kernel::registry::Registry;
use latchkey_kernel::{App, AppParts, AppState, Product};
use latchkey_messaging::inbox;
use latchkey_web::api::{Api, Operation};
use latchkey_web::bodies::BodyBudget;
use latchkey_web::edge::Edge;
use latchkey_web::openapi::{self, About};
use latchkey_web::query::pairs;
use latchkey_web::reply::{Failure, body};
use latchkey_web::unsent::AnswerBudget;
use latchkey_web::version::Version;
use serde_json::Value;
use tower::ServiceExt;

use crate::jobs::JobCounts;
use crate::no_page::{self, ListenerPages};
use crate::reference;
use crate::security::{shown_by_applications, shown_by_browsers};
use crate::unbuilt::{self, Unbuilt};

/// Longest time for a request, from its head to its answer.
const TIMEOUT: Duration = Duration::from_secs(30);

const TITLE: &str = "Latchkey Backend API";
const DESCRIPTION: &str = "Users, sessions and tokens of an instance. Authenticate with a secret key: \
     `Authorization: Bearer sk_…`. Select a version with the header `Clerk-API-Version`.";
const FRONTEND_TITLE: &str = "Latchkey Frontend API";
const FRONTEND_DESCRIPTION: &str = "What browsers and devices of people talk to. The instance is found by \
     the host, the person by cookies.";

/// The groups of the reference of the Backend API, in the order of their reader.
const REFERENCE: &[&str] = &[
    "JWKS",
    "JWT Templates",
    "Redirect URLs",
    "Email & SMS Templates",
    "Miscellaneous",
    "Clients",
    "Sessions",
    "Sign-in Tokens",
    "Actor Tokens",
    "Sign Ups",
    "Testing Tokens",
    "Users",
    "Email Addresses",
    "Phone Numbers",
    "Invitations",
    "Allow-list / Block-list",
    "Waitlist Entries",
    "Organizations",
    "Organization Memberships",
    "Organization Invitations",
    "Organization Domains",
    "Organization Roles",
    "Organization Permissions",
    "Role Sets",
    "Admin Portal Link Tokens",
    "Instance Settings",
    "Domains",
    "Proxy Checks",
    "Beta Features",
    "Webhooks",
    "Webhook Endpoints",
    "Events",
    "Inbox",
];

/// The groups of the server, lowest first. Whoever adds one adds it here.
pub const GROUPS: &[Group] = &[
    latchkey_events::GROUP,
    latchkey_messaging::GROUP,
    latchkey_people::GROUP,
    latchkey_organizations::GROUP,
    latchkey_presence::GROUP,
    latchkey_flows::GROUP,
    latchkey_connections::GROUP,
];

/// The two faces of the server.
pub struct Routers {
    /// For backends, with secret keys.
    pub backend: Router,
    /// For browsers and devices.
    pub frontend: Router,
    /// The metrics alone, for a listener of their own.
    pub metrics: Router,
    /// What both of them serve.
    pub app: Arc<App>,
}

/// The whole server as routers.
pub fn routers(parts: AppParts, counts: &JobCounts, groups: &[Group]) -> Routers {
    let (backend, operations) = backend_api(groups).finish();
    let (frontend, frontend_operations) = frontend_api(groups).finish();
    let (operations, frontend_operations) = (Arc::new(operations), Arc::new(frontend_operations));
    let (rng, scripts_dir) = (parts.rng.clone(), parts.scripts_dir.clone());
    let product = Product {
        operations: operations.clone(),
        frontend_operations: frontend_operations.clone(),
        changes: groups.iter().flat_map(|group| group.changes).copied().collect(),
        registry: Arc::new(registry(groups)),
        document: OnceLock::new(),
    };
    let state = AppState(Arc::new(App::new(parts, product)));
    let backend = backend
        .route("/dev/inbox", get(inbox::dev::page_or_list))
        .route("/readyz", get(ready))
        .route("/openapi.json", get(written_document))
        .route("/reference", get(reference::page))
        .route("/webhooks/portal", get(latchkey_events::webhooks::page::show));
    let backend = Refusals::new(unbuilt::BACKEND, no_page::BACKEND).around(backend.merge(of_all_instances()));
    let backend = match operations.iter().any(|operation| gate::address_rate(operation).is_some()) {
        true => backend.layer(from_fn_with_state(state.clone(), gate::count_addresses)),
        false => backend,
    };
    let answers = AnswerBudget::new(BACKEND_ANSWERS_BYTES);
    let edge = Arc::new(Edge::new(operations, TIMEOUT, rng.clone(), answers.clone()));
    let watched = Router::new()
        .route("/metrics", get(metrics))
        .layer(Extension(counts.clone()))
        // The metrics show the counters of this edge.
        .layer(Extension(edge.clone()));
    let backend = match state.0.metrics.is_apart {
        true => backend,
        false => backend.merge(watched.clone()),
    };
    // One each, so that browsers cannot keep backends out.
    let (bodies, frontend_bodies) = (body_budget(), body_budget());
    let backend = edged(backend, edge, bodies.clone(), Callers::of_backend, state.clone());
    let alone = Arc::new(Edge::new(Arc::default(), TIMEOUT, rng.clone(), answers));
    let watched = watched.method_not_allowed_fallback(wrong_method).fallback(wrong_path);
    let metrics = edged(watched, alone, bodies, Callers::of_backend, state.clone());
    let refusals = Refusals::new(unbuilt::FRONTEND, no_page::FRONTEND);
    let pages = groups.iter().fold(frontend, |router, group| (group.pages)(router));
    let gated = refusals.around(pages).layer(from_fn_with_state(state.clone(), gate::pass));
    // What is the same for every instance answers without one.
    let open = refusals.of_methods(of_all_instances().merge(latchkey_flows::scripts(scripts_dir)));
    let frontend = gated.merge(open).layer(Extension(FromScripts));
    let answers = AnswerBudget::new(FRONTEND_ANSWERS_BYTES);
    let edge = Arc::new(Edge::new(frontend_operations, TIMEOUT, rng, answers).gated());
    let frontend =
        as_browsers_write(edged(frontend, edge, frontend_bodies, Callers::of_browser, state.clone()));
    Routers { backend, frontend, metrics, app: state.0 }
}

fn registry(groups: &[Group]) -> Registry {
    let mut registry = Registry::default();
    groups.iter().for_each(|group| (group.register)(&mut registry));
    registry
}

/// What either listener serves without asking which instance is meant.
fn of_all_instances() -> Router<AppState> {
    Router::new()
        .route("/images/avatar_placeholder/{owner_id}", get(pictures::drawn))
        // Its former address, which applications may have kept.
        .route("/images/default/{owner_id}", get(pictures::drawn))
        .route("/images/{instance_id}/{image_id}", get(pictures::uploaded))
        .route("/healthz", get(|| async { "ok" }))
}

/// The answers of a listener where none of its operations and pages is meant.
#[derive(Clone)]
struct Refusals {
    unbuilt: Arc<[Unbuilt]>,
    pages: ListenerPages,
}

impl Refusals {
    fn new(published: &'static str, pages: ListenerPages) -> Refusals {
        Refusals { unbuilt: unbuilt::read(published).into(), pages }
    }

    fn around(&self, router: Router<AppState>) -> Router<AppState> {
        let refusals = self.clone();
        self.of_methods(router).fallback(move |method: Method, uri: Uri, headers: HeaderMap| {
            let answer = match refusals.unbuilt(&method, &uri) {
                Some(error) => Err(error),
                None => refusals.pages.answer(&method, &uri, &headers),
            };
            std::future::ready(answer.map_err(Failure))
        })
    }

    /// For paths that are there, but not with every method.
    fn of_methods(&self, router: Router<AppState>) -> Router<AppState> {
        let refusals = self.clone();
        router.method_not_allowed_fallback(move |method: Method, uri: Uri| {
            let unbuilt = refusals.unbuilt(&method, &uri);
            std::future::ready(Failure(unbuilt.unwrap_or_else(|| Error::new(Code::MethodNotAllowed))))
        })
    }

    fn unbuilt(&self, method: &Method, uri: &Uri) -> Option<Error> {
        unbuilt::answer(&self.unbuilt, method, uri)
    }
}

/// The memory for the bodies of one face.
fn body_budget() -> Arc<BodyBudget> {
    BodyBudget::new(SMALL_BODIES_BYTES, LARGE_BODIES_BYTES)
}

/// The edge around everything.
fn edged(
    router: Router<AppState>,
    edge: Arc<Edge>,
    bodies: Arc<BodyBudget>,
    caller: CallerOf,
    state: AppState,
) -> Router {
    let app = state.0.clone();
    router
        .layer(from_fn(move |mut request: Request, next: Next| {
            let (edge, app, bodies) = (edge.clone(), app.clone(), bodies.clone());
            async move {
                let trust = Trust::of(&app, None);
                let network = client_network(request.headers(), request.extensions(), trust);
                request.extensions_mut().insert(network);
                if !request.body().is_end_stream() {
                    // Which tenant it is for is told when that is known.
                    request.extensions_mut().insert(bodies.share(network));
                }
                let caller = caller(&app.callers, request.headers());
                latchkey_db::for_caller(caller, edge.handle(request, next)).await
            }
        }))
        // Every body has a limit of its own (`web/input.rs`, `users/pictures.rs`).
        .layer(DefaultBodyLimit::disable())
        .with_state(state)
}

/// On whose behalf a request is handled.
type CallerOf = fn(&Callers, &HeaderMap) -> Arc<str>;

/// Scripts in pages only send `GET` and `POST`, name the method they mean in the query, and put a slash
/// behind some paths.
fn as_browsers_write(router: Router) -> Router {
    Router::new().fallback(move |mut request: Request| {
        let router = router.clone();
        async move {
            if request.method() == Method::POST
                && let Some(method) = overriding_method(request.uri().query().unwrap_or_default())
            {
                *request.method_mut() = method;
            }
            if let Some(uri) = without_slash(request.uri()) {
                *request.uri_mut() = uri;
            }
            router.oneshot(request).await
        }
    })
}

fn overriding_method(query: &str) -> Option<Method> {
    let pairs = pairs(query).ok()?;
    let (_, method) = pairs.iter().find(|(key, _)| key == "_method")?;
    [Method::PATCH, Method::PUT, Method::DELETE].into_iter().find(|known| known.as_str() == method)
}

fn without_slash(uri: &Uri) -> Option<Uri> {
    let path = uri.path().strip_suffix('/').filter(|path| path.starts_with("/v1/"))?;
    match uri.query() {
        Some(query) => format!("{path}?{query}").parse().ok(),
        None => path.parse().ok(),
    }
}

/// The OpenAPI document of the Backend API, without a running server.
pub fn document(api_url: &str, groups: &[Group]) -> Value {
    openapi::document(&operations(groups), &about(api_url))
}

/// The OpenAPI document of the Frontend API, without a running server.
pub fn frontend_document(frontend_url: &str, groups: &[Group]) -> Value {
    let about = About {
        title: FRONTEND_TITLE,
        version: Version::NEWEST.date(),
        description: FRONTEND_DESCRIPTION,
        server: frontend_url,
        groups: &[],
        security: shown_by_browsers(),
    };
    openapi::document(&frontend_operations(groups), &about)
}

fn about(api_url: &str) -> About<'_> {
    let security = shown_by_applications();
    // 2026-08-20 changes the Frontend API only.
    let version = Version::V2026_05_12.date();
    About { title: TITLE, version, description: DESCRIPTION, server: api_url, groups: REFERENCE, security }
}

/// Every operation of the Backend API.
pub fn operations(groups: &[Group]) -> Vec<Operation> {
    backend_api(groups).finish().1
}

/// Every operation of the Frontend API.
pub fn frontend_operations(groups: &[Group]) -> Vec<Operation> {
    frontend_api(groups).finish().1
}

fn backend_api(groups: &[Group]) -> Api<AppState> {
    let mut api = Api::new("/v1", DEFAULT_RATES);
    groups.iter().for_each(|group| (group.backend)(&mut api));
    api
}

fn frontend_api(groups: &[Group]) -> Api<AppState> {
    let mut api = Api::new("", DEFAULT_RATES);
    groups.iter().for_each(|group| (group.frontend)(&mut api));
    api
}

/// Written when it is first asked for, which most servers never are.
async fn written_document(State(AppState(app)): State<AppState>) -> Response {
    let write = || openapi::document(&app.product.operations, &about(&app.api_url)).to_string();
    body(axum::http::StatusCode::OK, app.product.document.get_or_init(write).clone().into_bytes())
}

async fn ready(State(AppState(app)): State<AppState>) -> Result<&'static str, Failure> {
    app.db.check_writes().await?;
    Ok("ready")
}

async fn metrics(
    State(AppState(app)): State<AppState>,
    parts: Parts,
    Extension(edge): Extension<Arc<Edge>>,
    Extension(counts): Extension<JobCounts>,
) -> Result<Response, Failure> {
    if let Some(token) = &app.metrics.token {
        check_token(token, &parts)?;
    }
    let mut text = edge.metrics();
    counts.render(&mut text, &mut app.db.read().await?).await?;
    let mut response = text.into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4"));
    Ok(response)
}

/// Digests are compared, so that neither the time nor the length tells anything.
fn check_token(token: &Secret, parts: &Parts) -> Result<(), Error> {
    let refused = |error: Error| error.saying("Send the header `Authorization: Bearer <metrics_token>`.");
    let shown = bearer(parts).map_err(refused)?;
    match constant_time_eq(&sha256(shown.as_bytes()), &sha256(token.expose().as_bytes())) {
        true => Ok(()),
        false => Err(refused(Error::new(Code::CouldNotAuthenticateRequest))),
    }
}

async fn wrong_path() -> Failure {
    Error::new(Code::RouteNotFound).into()
}

async fn wrong_method() -> Failure {
    Error::new(Code::MethodNotAllowed).into()
}

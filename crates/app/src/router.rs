//! Puts the server together: the operations, what surrounds them, and the edge.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Method, Uri};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use latchkey_base::rng::Rng;
use latchkey_base::{Code, Error};
use latchkey_web::api::{Api, Operation};
use latchkey_web::edge::Edge;
use latchkey_web::openapi;
use latchkey_web::query::pairs;
use latchkey_web::reply::{Failure, body};
use latchkey_web::shape::Shapes;
use latchkey_web::throttle::Throttle;
use serde_json::Value;
use tokio::sync::Semaphore;
use tower::ServiceExt;

use crate::flows;
use crate::frontend::gate;
use crate::keyring::Keyring;
use crate::limits::{FEED_WAITERS, INBOX_WAITERS};
use crate::resources::{self, images, inbox, webhooks};
use crate::settings::SettingsCache;
use crate::slow::SlowPool;
use crate::{App, AppState, Parts, reference};

/// Longest time for a request, from its head to its answer.
const TIMEOUT: Duration = Duration::from_secs(30);

const TITLE: &str = "Latchkey Backend API";
const DESCRIPTION: &str = "Users, sessions and tokens of an instance. Authenticate with a secret key: \
     `Authorization: Bearer sk_…`. Select a version with the header `Clerk-API-Version`.";
const FRONTEND_TITLE: &str = "Latchkey Frontend API";
const FRONTEND_DESCRIPTION: &str = "What browsers and devices of people talk to. The instance is found by \
     the host, the person by cookies.";

/// The two faces of the server.
pub struct Routers {
    /// For backends, with secret keys.
    pub backend: Router,
    /// For browsers and devices.
    pub frontend: Router,
}

/// The whole server as routers.
pub fn routers(parts: Parts) -> Routers {
    let (backend, operations) = operations();
    let (frontend, frontend_operations) = frontend_operations();
    let document = openapi::document(&operations, TITLE, DESCRIPTION, &parts.api_url).to_string();
    let (operations, frontend_operations) = (Arc::new(operations), Arc::new(frontend_operations));
    let app = App {
        db: parts.db,
        clock: parts.clock,
        rng: parts.rng.clone(),
        master: parts.master,
        api_url: parts.api_url.into(),
        scripts_dir: parts.scripts_dir.clone(),
        slow: SlowPool::new(parts.slow_slots),
        pictures: SlowPool::new(1),
        bell: parts.bell,
        outbound: parts.outbound,
        counts: parts.counts,
        inbox_places: Semaphore::new(INBOX_WAITERS),
        feed_places: Semaphore::new(FEED_WAITERS),
        operations: operations.clone(),
        frontend_operations: frontend_operations.clone(),
        frontend_url: parts.frontend_url,
        frontend_api: parts.frontend_api,
        keyring: Keyring::default(),
        rate_limits: parts.rate_limits,
        settings: SettingsCache::default(),
        shapes: Arc::new(Shapes::default()),
        throttle: Throttle::default(),
        trusted_proxies: parts.trusted_proxies,
    };
    let state = AppState(Arc::new(app));
    let backend = backend
        .route("/dev/inbox", get(inbox::dev::page_or_list))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route(
            "/openapi.json",
            get(move || async move { body(axum::http::StatusCode::OK, document.clone().into_bytes()) }),
        )
        .route("/reference", get(reference::page))
        .route("/webhooks/portal", get(webhooks::page::show));
    let backend = edged(surrounded(backend), operations, parts.rng.clone(), state.clone());
    let gated = surrounded(resources::pages(frontend, parts.scripts_dir.clone()))
        .layer(from_fn_with_state(state.clone(), gate::pass));
    let frontend = as_browsers_write(edged(gated, frontend_operations, parts.rng, state));
    Routers { backend, frontend }
}

/// What stands around the operations of either face.
fn surrounded(router: Router<AppState>) -> Router<AppState> {
    router
        .route("/images/default/{user_id}", get(images::public::drawn))
        .route("/images/{instance_id}/{image_id}", get(images::public::uploaded))
        .route("/healthz", get(|| async { "ok" }))
        .method_not_allowed_fallback(wrong_method)
        .fallback(wrong_path)
}

/// The edge around everything.
fn edged(
    router: Router<AppState>,
    operations: Arc<Vec<Operation>>,
    rng: Arc<dyn Rng>,
    state: AppState,
) -> Router {
    let edge = Arc::new(Edge::new(operations, TIMEOUT, rng));
    let guard = edge.clone();
    router
        .layer(from_fn(move |request: Request, next: Next| {
            let guard = guard.clone();
            async move { guard.handle(request, next).await }
        }))
        // Every body has a limit of its own (`web/input.rs`, `users/pictures.rs`).
        .layer(DefaultBodyLimit::disable())
        .layer(Extension(edge))
        .with_state(state)
}

/// Scripts in pages only send `GET` and `POST`, name the method they mean in the query, and put a slash
/// behind some paths.
fn as_browsers_write(router: Router) -> Router {
    Router::new().fallback(move |mut request: Request| {
        let router = router.clone();
        async move {
            if request.method() == Method::POST
                && let Some(method) = meant(request.uri().query().unwrap_or_default())
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

fn meant(query: &str) -> Option<Method> {
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
pub fn document(api_url: &str) -> Value {
    let (_, operations) = operations();
    openapi::document(&operations, TITLE, DESCRIPTION, api_url)
}

/// The OpenAPI document of the Frontend API, without a running server.
pub fn frontend_document(frontend_url: &str) -> Value {
    let (_, operations) = frontend_operations();
    openapi::document(&operations, FRONTEND_TITLE, FRONTEND_DESCRIPTION, frontend_url)
}

fn operations() -> (Router<AppState>, Vec<Operation>) {
    let mut api = Api::new("/v1");
    resources::routes(&mut api);
    api.finish()
}

fn frontend_operations() -> (Router<AppState>, Vec<Operation>) {
    let mut api = Api::new("");
    resources::frontend_routes(&mut api);
    flows::frontend_routes(&mut api);
    api.finish()
}

async fn ready(State(AppState(app)): State<AppState>) -> Result<&'static str, Failure> {
    let mut tx = app.db.read().await?;
    tx.maybe(&["SELECT id FROM instances LIMIT 1"], &[], |_| Ok(())).await?;
    Ok("ready")
}

async fn metrics(
    State(AppState(app)): State<AppState>,
    Extension(edge): Extension<Arc<Edge>>,
) -> Result<Response, Failure> {
    let mut text = edge.metrics();
    app.counts.render(&mut text, &mut app.db.read().await?).await?;
    let mut response = text.into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4"));
    Ok(response)
}

async fn wrong_path() -> Failure {
    Error::new(Code::RouteNotFound).into()
}

async fn wrong_method() -> Failure {
    Error::new(Code::MethodNotAllowed).into()
}

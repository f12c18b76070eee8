//! Puts the server together: the operations, what surrounds them, and the edge.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use latchkey_base::{Code, Error};
use latchkey_web::api::Api;
use latchkey_web::edge::Edge;
use latchkey_web::openapi;
use latchkey_web::reply::{Failure, body};
use latchkey_web::shape::Shapes;
use latchkey_web::throttle::Throttle;
use serde_json::Value;

use crate::resources::{self, images, inbox};
use crate::settings::SettingsCache;
use crate::slow::SlowPool;
use crate::{App, AppState, Parts, reference};

/// Longest time for a request, from its head to its answer.
const TIMEOUT: Duration = Duration::from_secs(30);

const TITLE: &str = "Latchkey Backend API";
const DESCRIPTION: &str = "Users, e-mail addresses and phone numbers of an instance. Authenticate with a secret key: \
     `Authorization: Bearer sk_…`. Select a version with the header `Clerk-API-Version`.";

/// The whole server as a router.
pub fn router(parts: Parts) -> Router {
    let (operations_router, operations) = operations();
    let operations = Arc::new(operations);
    let edge = Arc::new(Edge::new(operations.clone(), TIMEOUT, parts.rng.clone()));
    let document = openapi::document(&operations, TITLE, DESCRIPTION, &parts.api_url).to_string();
    let app = App {
        db: parts.db,
        clock: parts.clock,
        rng: parts.rng,
        master: parts.master,
        api_url: parts.api_url.into(),
        slow: SlowPool::new(parts.slow_slots),
        pictures: SlowPool::new(1),
        operations,
        rate_limits: parts.rate_limits,
        settings: SettingsCache::default(),
        shapes: Arc::new(Shapes::default()),
        throttle: Throttle::default(),
        trusted_proxies: parts.trusted_proxies,
    };
    let guard = edge.clone();
    operations_router
        .route("/dev/inbox", get(inbox::dev::list))
        .route("/images/default/{user_id}", get(images::public::drawn))
        .route("/images/{instance_id}/{image_id}", get(images::public::uploaded))
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route(
            "/openapi.json",
            get(move || async move { body(axum::http::StatusCode::OK, document.clone().into_bytes()) }),
        )
        .route("/reference", get(reference::page))
        .method_not_allowed_fallback(wrong_method)
        .fallback(wrong_path)
        .layer(from_fn(move |request: Request, next: Next| {
            let guard = guard.clone();
            async move { guard.handle(request, next).await }
        }))
        // Every body has a limit of its own (`web/input.rs`, `users/pictures.rs`).
        .layer(DefaultBodyLimit::disable())
        .layer(Extension(edge))
        .with_state(AppState(Arc::new(app)))
}

/// The OpenAPI document, without a running server.
pub fn document(api_url: &str) -> Value {
    let (_, operations) = operations();
    openapi::document(&operations, TITLE, DESCRIPTION, api_url)
}

fn operations() -> (Router<AppState>, Vec<latchkey_web::api::Operation>) {
    let mut api = Api::new("/v1");
    resources::routes(&mut api);
    api.finish()
}

async fn ready(State(AppState(app)): State<AppState>) -> Result<&'static str, Failure> {
    let mut tx = app.db.read().await?;
    tx.maybe(&["SELECT id FROM instances LIMIT 1"], &[], |_| Ok(())).await?;
    Ok("ready")
}

async fn metrics(Extension(edge): Extension<Arc<Edge>>) -> Response {
    let mut response = edge.metrics().into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4"));
    response
}

async fn wrong_path() -> Failure {
    Error::new(Code::RouteNotFound).into()
}

async fn wrong_method() -> Failure {
    Error::new(Code::MethodNotAllowed).into()
}

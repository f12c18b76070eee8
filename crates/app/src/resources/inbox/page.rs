//! The inbox as a page.

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use latchkey_base::rng;
use latchkey_base::{Error, Result};

use crate::AppState;

const HTML: &str = include_str!("page.html");

/// The page. It knows nothing of any instance.
pub(super) async fn page(State(AppState(app)): State<AppState>) -> Result<Response> {
    let nonce = STANDARD_NO_PAD.encode(rng::bytes::<16>(&*app.rng));
    // Messages are shown in frames without scripts, which have the policy of this page too: their inline
    // styles and the logo of an application must be allowed, and nothing else is.
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; connect-src 'self'; \
         img-src data: https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let mut response = Response::new(Body::from(HTML.replace("{{nonce}}", &nonce)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::try_from(policy).map_err(Error::internal)?);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    Ok(response)
}

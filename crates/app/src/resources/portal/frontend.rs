//! The answer with a hosted page.

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use latchkey_base::{Error, Result};

use super::model::{Page, Portal};
use super::view;

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// A page of an instance. `random` makes the nonce, and must be new for each answer.
pub fn page(portal: &Portal, page: Page, random: [u8; 16]) -> Result<Response> {
    let nonce = STANDARD_NO_PAD.encode(random);
    let policy = HeaderValue::try_from(view::policy(portal, &nonce)).map_err(Error::internal)?;
    let mut response = Response::new(Body::from(view::html(portal, page, &nonce)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    // A nonce is good for one answer; and addresses here may carry tickets, which are nobody else's.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("strict-origin-when-cross-origin"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(OPENER_POLICY, HeaderValue::from_static("same-origin-allow-popups"));
    Ok(response)
}

//! The answer with a hosted page.

use axum::http::HeaderValue;
use axum::http::header::REFERRER_POLICY;
use axum::response::Response;
use latchkey_base::Result;
use latchkey_kernel::page::{self, OPENER_POLICY};

use super::model::{Page, Portal};
use super::view;

/// A page of an instance. `random` makes the nonce, and must be new for each answer.
pub fn show(portal: &Portal, shown: Page, random: [u8; 16]) -> Result<Response> {
    let nonce = page::nonce(random);
    let mut response = page::page(view::html(portal, shown, &nonce), view::policy(portal, &nonce))?;
    let headers = response.headers_mut();
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("strict-origin-when-cross-origin"));
    headers.insert(OPENER_POLICY, HeaderValue::from_static("same-origin-allow-popups"));
    Ok(response)
}

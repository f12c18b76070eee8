//! The page where people manage webhooks. It knows nothing itself: the token in its address, which only
//! the browser sees, lets it call the operations.

use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::response::{Html, IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use latchkey_base::{Error, Result};
use latchkey_jose::digest::sha256;
use latchkey_web::reply::Failure;

const PAGE: &str = include_str!("page.html");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// `GET /webhooks/portal`
pub async fn show() -> Result<Response, Failure> {
    let policy = HeaderValue::try_from(policy(PAGE)).map_err(Error::internal)?;
    let mut response = Html(PAGE).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
    Ok(response)
}

/// Content-Security-Policy: the page's own script and style by their digests, requests to this server,
/// and nothing else.
fn policy(page: &str) -> String {
    let digest = |tag: &str| {
        let after = page.split_once(&format!("<{tag}>")).map_or("", |(_, rest)| rest);
        let inside = after.split_once(&format!("</{tag}>")).map_or("", |(text, _)| text);
        STANDARD.encode(sha256(inside.as_bytes()))
    };
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; \
         img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
        digest("script"),
        digest("style")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_names_the_script_and_the_style_of_the_page() {
        let policy = policy("<style>a</style><script>b</script>");
        // The digests of `b` and `a`.
        assert!(
            policy.contains("script-src 'sha256-PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0='"),
            "{policy}"
        );
        assert!(
            policy.contains("style-src 'sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs='"),
            "{policy}"
        );
    }

    #[test]
    fn page_needs_nothing_from_elsewhere() {
        for word in ["http://", "https://cdn", "src=", "href=\"http", "style=\"", "onclick=\"", "innerHTML"] {
            assert!(!PAGE.contains(word), "{word}");
        }
        assert_eq!((PAGE.matches("<script>").count(), PAGE.matches("<style>").count()), (1, 1));
    }
}

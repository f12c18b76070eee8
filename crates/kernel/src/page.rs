//! Pages that the server itself shows: the headers each of them has, and filling them safely.

use axum::body::Body;
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use latchkey_base::{Error, Result};
use latchkey_jose::digest::sha256;

/// Whether windows that a page opens, or that opened it, may reach it.
pub const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// A page for those who are told something; it follows the light or dark colours of the system.
const NOTICE: &str = include_str!("notice.html");

/// Whether whoever asks would rather see a page than read JSON: somebody with a browser.
pub fn is_wanted(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    accepted.flat_map(|line| line.split(',')).any(|kind| kind.trim().starts_with("text/html"))
}

/// A page under a policy of its own, which nobody keeps or frames, and whose address nobody is told.
pub fn page(html: impl Into<Body>, policy: String) -> Result<Response> {
    let mut response = Response::new(html.into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::try_from(policy).map_err(Error::internal)?);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    Ok(response)
}

/// A page on which secrets are used: it runs its own script, asks this server, and no other window reaches it.
pub fn closed_page(html: &'static str) -> Result<Response> {
    let mut response = page(html, own_script_policy(html))?;
    response.headers_mut().insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
    Ok(response)
}

/// A page that tells somebody something, and works without scripts. The title is text, the content HTML.
pub fn notice(status: StatusCode, title: &str, content: &str) -> Result<Response> {
    let html = fill(NOTICE, |gap| match gap {
        "content" => content.to_owned(),
        _ => in_text(title),
    });
    let policy = format!(
        "default-src 'none'; style-src '{}'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
        digest(NOTICE, "style")
    );
    let mut response = page(html, policy)?;
    *response.status_mut() = status;
    Ok(response)
}

/// Content-Security-Policy: the page's own script and style by their digests, requests to this server,
/// and nothing else.
fn own_script_policy(html: &str) -> String {
    format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; connect-src 'self'; \
         img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
        digest(html, "script"),
        digest(html, "style")
    )
}

/// What a policy lets in the script or the style of a page by.
fn digest(html: &str, tag: &str) -> String {
    let after = html.split_once(&format!("<{tag}>")).map_or("", |(_, rest)| rest);
    let inside = after.split_once(&format!("</{tag}>")).map_or("", |(text, _)| text);
    format!("sha256-{}", STANDARD.encode(sha256(inside.as_bytes())))
}

/// What a policy lets scripts or styles in by. `random` must be new for each answer.
pub fn nonce(random: [u8; 16]) -> String {
    STANDARD_NO_PAD.encode(random)
}

/// A template with its gaps, such as `{{nonce}}`, filled in one pass, so that nothing filled in is taken for a gap.
pub fn fill(template: &str, gap: impl Fn(&str) -> String) -> String {
    let mut parts = template.split("{{");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for (name, rest) in parts.filter_map(|part| part.split_once("}}")) {
        filled.push_str(&gap(name));
        filled.push_str(rest);
    }
    filled
}

/// JSON that cannot end the script element it stands in.
pub fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Text in an element or in a quoted attribute.
pub fn in_text(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_names_the_script_and_the_style_of_the_page() {
        let policy = own_script_policy("<style>a</style><script>b</script>");
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
    fn a_notice_shows_its_title_as_text_under_a_policy_that_names_its_style() {
        let response = notice(StatusCode::NOT_FOUND, "<b>", "<p>c</p>").unwrap();
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
        let policy = response.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap();
        let style = NOTICE.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
        assert!(policy.contains(&STANDARD.encode(sha256(style.as_bytes()))), "{policy}");
        assert!(!policy.contains("script-src") && style.contains("prefers-color-scheme"));
    }

    #[test]
    fn what_fills_a_gap_is_no_gap() {
        let filled = fill("a {{one}} b {{two}} c", |name| format!("<{name} {{{{two}}}}>"));
        assert_eq!(filled, "a <one {{two}}> b <two {{two}}> c");
    }
}

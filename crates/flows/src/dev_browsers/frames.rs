//! `GET /v1/dev_browser/init`: a page that scripts of apps put into a frame, and that tells them the token of the
//! developer's browser. Scripts before version 5 know no other way.

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use latchkey_base::{Code, Error, Result, rng};
use latchkey_door::site::RequestSite;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::origins::origin;
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::frontend::{DevBrowserView, introduce};

/// Query of `getDevBrowserInit`.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Init {
    /// The origin of the page the frame is in. Without it the token is the answer.
    origin: Option<String>,
}

/// The browser gets a token of its own, even one that shows a client: whoever is signed in here is not told to a
/// page that only names itself.
pub(super) async fn init(
    cx: Cx,
    RequestSite(site): RequestSite,
    Query(query): Query<Init>,
) -> Result<Response, Failure> {
    let origin = query.origin.as_deref().map(checked).transpose()?;
    let token = introduce(&cx, &site, None).await?;
    match origin {
        Some(origin) => Ok(page(origin, &token, rng::bytes(&*cx.app.rng))?),
        None => cx.reply_unversioned(&DevBrowserView::new(token)),
    }
}

/// An origin as browsers write it: what follows it must be empty, and what is in it can stand in a script and in a
/// header as it is.
fn checked(text: &str) -> Result<&str> {
    match origin(text) {
        Some(found) if found == text => Ok(found),
        _ => Err(Error::param(Code::OriginInvalid, "origin")),
    }
}

/// The page tells the token to the page around it, if that is of the origin it names, and to nobody else.
fn page(origin: &str, token: &str, random: [u8; 16]) -> Result<Response> {
    let nonce = STANDARD_NO_PAD.encode(random);
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors {origin}"
    );
    let html = format!(
        "<!doctype html>\n<title>Developer's browser</title>\n<script nonce=\"{nonce}\">\n\
         window.parent.postMessage({{ browserToken: \"{token}\" }}, \"{origin}\");\n</script>\n"
    );
    let mut response = Response::new(Body::from(html));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::try_from(policy).map_err(Error::internal)?);
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_origin_and_nothing_else_is_told() {
        assert_eq!(checked("http://localhost:3000").ok(), Some("http://localhost:3000"));
        for trick in [
            "",
            "*",
            "null",
            "http://localhost:3000/",
            "http://localhost:3000/page",
            "https://a.com\"+alert(1)+\"",
            "https://a.com;script-src *",
            "https://a.com </script>",
            "https://a@b.com",
            "javascript:alert(1)",
        ] {
            assert!(checked(trick).is_err(), "{trick}");
        }
    }
}

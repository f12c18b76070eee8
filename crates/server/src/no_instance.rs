//! What somebody with a browser is shown at a host of the Frontend API that belongs to no instance: the refusal as a page,
//! with what opens the host. Programs get it as it is.

use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::header::CONTENT_LENGTH;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use latchkey_base::Code;
use latchkey_kernel::page::{in_text, is_wanted, notice};
use serde_json::Value;

/// Far longer than a refusal is.
const REFUSAL_BYTES: u64 = 64 * 1024;
const TITLE: &str = "No instance answers at this host";

/// Shows the refusal of an unknown host as a page, where a page is wanted.
pub(crate) async fn show(request: Request, next: Next) -> Response {
    let is_visit = request.method() == Method::GET && is_wanted(request.headers());
    let response = next.run(request).await;
    let is_short = response.body().size_hint().upper().is_some_and(|bytes| bytes <= REFUSAL_BYTES);
    match is_visit && is_short && response.status() == StatusCode::BAD_REQUEST {
        true => as_page(response).await,
        false => response,
    }
}

async fn as_page(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    // The body is written already and short, so reading it cannot fail.
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let page = refusal(&body).and_then(|text| notice(StatusCode::BAD_REQUEST, TITLE, &content(&text)).ok());
    let Some(page) = page else { return Response::from_parts(parts, Body::from(body)) };
    let (of_page, page) = page.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    for (name, value) in &of_page.headers {
        parts.headers.insert(name, value.clone());
    }
    Response::from_parts(parts, page)
}

/// What the refusal of a host says; nothing if the body is another one.
fn refusal(body: &Bytes) -> Option<String> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let error = &answer["errors"][0];
    let is_about_host = error["code"] == Code::HostInvalid.spec().1;
    error["long_message"].as_str().filter(|_| is_about_host).map(str::to_owned)
}

/// The text with its commands, which stand between backticks there.
fn content(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(index, part)| match index % 2 {
        0 => in_text(part),
        _ => format!("<code>{}</code>", in_text(part)),
    });
    format!("<p>{}</p>", parts.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_marked_and_nothing_becomes_markup() {
        assert_eq!(content("a <b> `c & d` e"), "<p>a &lt;b&gt; <code>c &amp; d</code> e</p>");
    }

    #[test]
    fn only_the_refusal_of_a_host_becomes_a_page() {
        let body =
            |code: &str| Bytes::from(format!(r#"{{"errors":[{{"code":"{code}","long_message":"Why."}}]}}"#));
        assert_eq!(refusal(&body("host_invalid")), Some("Why.".to_owned()));
        assert_eq!((refusal(&body("origin_invalid")), refusal(&Bytes::from_static(b"Why."))), (None, None));
    }
}

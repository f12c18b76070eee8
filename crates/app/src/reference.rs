//! The API reference as a page for people, drawn from `/openapi.json` in the browser.

use axum::response::Html;

/// `GET /reference`
pub(crate) async fn page() -> Html<&'static str> {
    Html(include_str!("reference.html"))
}

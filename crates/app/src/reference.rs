//! The API reference as a page for people, drawn from `/openapi.json` in the browser: what there is, with examples, and
//! forms that call it with a secret key.

use axum::response::Response;
use latchkey_kernel::page::closed_page;
use latchkey_web::reply::Failure;

/// `GET /reference`
pub(crate) async fn page() -> Result<Response, Failure> {
    Ok(closed_page(include_str!("reference.html"))?)
}

//! The inbox as a page.

use axum::extract::State;
use axum::response::Response;
use latchkey_base::{Result, rng};
use latchkey_kernel::{AppState, page};

const HTML: &str = include_str!("page.html");

/// The page. It knows nothing of any instance.
pub(super) async fn show(State(AppState(app)): State<AppState>) -> Result<Response> {
    let nonce = page::nonce(rng::bytes(&*app.rng));
    // Messages are shown in frames without scripts, which have the policy of this page too: their inline
    // styles and the logo of an application must be allowed, and nothing else is.
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; connect-src 'self'; \
         img-src data: https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    page::page(HTML.replace("{{nonce}}", &nonce), policy)
}

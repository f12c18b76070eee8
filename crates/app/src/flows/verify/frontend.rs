//! `GET /v1/verify`

use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use latchkey_base::id::Id;
use latchkey_base::{Code, Error, Result};
use latchkey_web::api::Api;
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::AppState;
use crate::cx::Cx;
use crate::flows::verify::Verified;
use crate::flows::{me, sign_in, sign_up};
use crate::frontend::redirects;
use crate::frontend::visitor::Visitor;

/// Adds the operation.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Sign Ins");
    api.get("/v1/verify", "verify", verify)
        .summary("Open a link that was sent by e-mail")
        .query::<Verify>()
        .errors(&[403, 410])
        .redirects(303)
        .public();
}

#[derive(Deserialize, JsonSchema)]
struct Verify {
    token: Option<String>,
}

/// Proves an address, and sends the browser to where it was asked to come back to. Programs that look at
/// the links in a mail ask with `HEAD`; that must not use the link up.
async fn verify(
    cx: Cx,
    method: Method,
    mut visitor: Visitor,
    Query(query): Query<Verify>,
) -> Result<Response, Failure> {
    if method == Method::HEAD {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let verified = open(&cx, &mut visitor, query.token.as_deref().unwrap_or_default()).await?;
    let there = match redirects::checked(&visitor.site, Some(&verified.redirect_url)) {
        Ok(there) => there,
        Err(error) => return Ok(cx.refuse(&visitor, error).await),
    };
    let there = there.with("__clerk_status", verified.status);
    let there = match &verified.session {
        Some(session) => there.with("__clerk_created_session", session.as_str()),
        None => there,
    };
    Ok(cx.redirect(&visitor, StatusCode::SEE_OTHER, there.as_str()).await)
}

async fn open(cx: &Cx, visitor: &mut Visitor, token: &str) -> Result<Verified> {
    let owner = token.split_once('.').map_or("", |(owner, _)| owner);
    if let Some(id) = Id::parse(owner) {
        return sign_in::link::link_verified(cx, visitor, id, token).await;
    }
    if let Some(id) = Id::parse(owner) {
        return sign_up::link::link_verified(cx, visitor, id, token).await;
    }
    match Id::parse(owner) {
        Some(id) => me::links::link_verified(cx, visitor, id, token).await,
        None => Err(Error::new(Code::VerificationLinkTokenInvalid)),
    }
}

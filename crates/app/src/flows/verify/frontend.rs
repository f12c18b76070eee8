//! `GET /v1/verify`

use axum::http::header::{ACCEPT, SET_COOKIE};
use axum::http::{HeaderMap, Method, StatusCode};
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
use crate::frontend::redirects::{self, Destination};
use crate::frontend::visitor::Visitor;
use crate::resources::portal::model::Page;
use crate::resources::portal::pages;

/// Adds the operation.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Sign Ins");
    api.get("/v1/verify", "verify", verify)
        .summary("Open a link that was sent by e-mail")
        .query::<Verify>()
        .errors(&[403])
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
    headers: HeaderMap,
    mut visitor: Visitor,
    Query(query): Query<Verify>,
) -> Result<Response, Failure> {
    if method == Method::HEAD {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let token = query.token.as_deref().unwrap_or_default();
    let (verified, there) = match lead(&cx, &mut visitor, token).await {
        Ok(led) => led,
        Err(error) => return refused(&cx, &visitor, &headers, error).await,
    };
    let there = there.with("__clerk_status", verified.status);
    let there = match &verified.session {
        Some(session) => there.with("__clerk_created_session", session.as_str()),
        None => there,
    };
    Ok(cx.redirect(&visitor, StatusCode::SEE_OTHER, there.as_str()).await)
}

/// What came of a link, and where it leads.
async fn lead(cx: &Cx, visitor: &mut Visitor, token: &str) -> Result<(Verified, Destination)> {
    let verified = open(cx, visitor, token).await?;
    let there = redirects::checked(&visitor.site, Some(&verified.redirect_url))?;
    Ok((verified, there))
}

/// The answer where there is no page to go back to. Whoever opens a link in a mail sees it in a browser, and gets
/// words rather than JSON; the status is the same.
async fn refused(cx: &Cx, visitor: &Visitor, headers: &HeaderMap, error: Error) -> Result<Response, Failure> {
    let status = error.status();
    let refusal = cx.refuse(visitor, error).await;
    if status >= 500 || !wants_page(headers) {
        return Ok(refusal);
    }
    let mut response = pages::show(cx, &visitor.site, Page::InvalidLink)?;
    *response.status_mut() = StatusCode::from_u16(status).map_err(Error::internal)?;
    for cookie in refusal.headers().get_all(SET_COOKIE) {
        response.headers_mut().append(SET_COOKIE, cookie.clone());
    }
    Ok(response)
}

fn wants_page(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    accepted.flat_map(|line| line.split(',')).any(|kind| kind.trim().starts_with("text/html"))
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

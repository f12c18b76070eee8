//! `GET /v1/verify`

use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use latchkey_base::id::Id;
use latchkey_base::{Code, Error, Result};
use latchkey_door::cookies::{self, CookieScope};
use latchkey_door::redirects::{self, Destination};
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::hosts::is_for_dev_browsers;
use latchkey_kernel::{AppState, hosts, page};
use latchkey_web::api::{Api, Entrance};
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::portal::model::Page;
use crate::portal::pages;
use crate::verify::{CLIENT_MISMATCH, Verified, other_browser};
use crate::{me, sign_in, sign_up};

pub fn routes(api: &mut Api<AppState>) {
    api.group("Sign Ins");
    api.get("/v1/verify", "verify", verify)
        .summary("Open a link that was sent by e-mail")
        .errors(&[403])
        .entrance(Entrance::Opening)
        .redirects(303)
        .public();
}

#[derive(Deserialize, JsonSchema)]
struct Verify {
    /// What stands in the link. Without it, a page says that the link is wrong.
    #[schemars(extend("x-wanted" = true))]
    token: Option<String>,
    /// Whether the browser was sent to the app before, to learn which developer's browser it is.
    returned: Option<bool>,
}

/// Proves an address, and sends the browser to where it was asked to come back to.
async fn verify(
    cx: Cx,
    headers: HeaderMap,
    mut visitor: Visitor,
    Query(query): Query<Verify>,
) -> Result<Response, Failure> {
    let token = query.token.as_deref().unwrap_or_default();
    let (verified, there) = match lead(&cx, &mut visitor, token).await {
        Ok(led) => led,
        Err(error) => return refused(&cx, &visitor, &headers, error).await,
    };
    let is_elsewhere = verified.status == CLIENT_MISMATCH;
    if is_elsewhere && query.returned != Some(true) && is_identified_by_app(&visitor, &there) {
        let again = format!("{}/v1/verify?token={token}&returned=true", visitor.site.base_url);
        let app = there.set("redirect_url", &again);
        return Ok(visitor.redirect(&cx, StatusCode::SEE_OTHER, app.as_str()).await);
    }
    let there = there.with("__clerk_status", verified.status);
    let there = match &verified.session {
        Some(session) => there.with("__clerk_created_session", session.as_str()),
        None => there,
    };
    if is_elsewhere && page::is_wanted(&headers) {
        let name = visitor.site.settings.display.name();
        return Ok(other_browser::page(name, verified.code.as_ref(), &there)?);
    }
    let there = with_dev_browser(&visitor, there);
    Ok(visitor.redirect(&cx, StatusCode::SEE_OTHER, there.as_str()).await)
}

/// Whether only the app can tell which browser this is. Scripts of such hosts keep the token of a developer's browser
/// with the app; on a page with `redirect_url` set to this operation they come back here with the token. The page gets
/// the link itself, so it must be one that may have tokens: whoever asked for the link chose the page.
fn is_identified_by_app(visitor: &Visitor, page: &Destination) -> bool {
    let site = &visitor.site;
    let is_direct = hosts::authority(&site.base_url) == site.frontend_api;
    site.is_development()
        && visitor.client().is_none()
        && is_direct
        && is_for_dev_browsers(&site.frontend_api)
        && redirects::for_token(site, Some(page.as_str())).is_ok()
}

/// The page with the new token of a developer's browser, if it got one that it does not find in a cookie.
pub fn with_dev_browser(visitor: &Visitor, there: Destination) -> Destination {
    let Some(token) = visitor.new_dev_browser() else { return there };
    let bare = there.without(&[cookies::DEV_BROWSER]);
    let is_cookie_shared = CookieScope::host_of(&visitor.site.base_url).reaches(there.as_str());
    if visitor.is_dev_browser_in_cookie && is_cookie_shared {
        return bare;
    }
    let is_needed = bare != there || !visitor.is_dev_browser_in_cookie;
    match is_needed && redirects::for_token(&visitor.site, Some(there.as_str())).is_ok() {
        true => there.set(cookies::DEV_BROWSER, token),
        false => there,
    }
}

/// What came of a link, and where it leads.
async fn lead(cx: &Cx, visitor: &mut Visitor, token: &str) -> Result<(Verified, Destination)> {
    let verified = open(cx, visitor, token).await?;
    let there = redirects::allowed(cx, &visitor.site, Some(&verified.redirect_url)).await?;
    Ok((verified, there))
}

/// The answer where there is no page to go back to. Whoever opens a link in a mail sees it in a browser, and gets
/// words rather than JSON; the status is the same.
pub async fn refused(
    cx: &Cx,
    visitor: &Visitor,
    headers: &HeaderMap,
    error: Error,
) -> Result<Response, Failure> {
    let status = error.status();
    let refusal = visitor.refuse(cx, error).await;
    if status >= 500 || !page::is_wanted(headers) {
        return Ok(refusal);
    }
    let mut response = pages::show(cx, &visitor.site, Page::InvalidLink)?;
    *response.status_mut() = StatusCode::from_u16(status).map_err(Error::internal)?;
    for cookie in refusal.headers().get_all(SET_COOKIE) {
        response.headers_mut().append(SET_COOKIE, cookie.clone());
    }
    Ok(response)
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

//! `GET /v1/tickets/accept` and `GET /v1/redirect`

use axum::http::StatusCode;
use axum::response::Response;
use latchkey_base::{Code, Error, Result};
use latchkey_web::api::Api;
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::AppState;
use crate::cx::Cx;
use crate::frontend::redirects::{self, Destination};
use crate::frontend::site::Site;
use crate::frontend::visitor::Visitor;
use crate::resources::tickets::redeem::look;

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Redirect");
    api.get("/v1/tickets/accept", "acceptTicket", accept)
        .summary("Go to where a ticket can be used")
        .query::<Accept>()
        .errors(&[403, 404, 422])
        .redirects(303)
        .public();
    api.get("/v1/redirect", "redirectToUrl", redirect)
        .summary("Go to a page of the application")
        .query::<Redirect>()
        .redirects(307)
        .public();
}

#[derive(Deserialize, JsonSchema)]
struct Accept {
    ticket: Option<String>,
}

/// Only looks at the ticket: it is used up by signing in, not by following a link.
async fn accept(cx: Cx, visitor: Visitor, Query(query): Query<Accept>) -> Result<Response, Failure> {
    let ticket = query.ticket.ok_or_else(|| Error::param(Code::FormParamMissing, "ticket"))?;
    look(&mut cx.app.db.read().await?, &visitor.site.instance, &ticket, cx.now).await?;
    let page = page(&visitor.site, visitor.site.settings.display.sign_in_url.as_deref(), "/sign-in");
    let there = page.with("__clerk_ticket", &ticket).with("__clerk_status", "sign_in");
    Ok(cx.redirect(&visitor, StatusCode::SEE_OTHER, there.as_str()).await)
}

#[derive(Deserialize, JsonSchema)]
struct Redirect {
    redirect_url: Option<String>,
}

async fn redirect(cx: Cx, visitor: Visitor, Query(query): Query<Redirect>) -> Result<Response, Failure> {
    let there = match query.redirect_url.as_deref().filter(|url| !url.is_empty()) {
        Some(url) => redirects::checked(&visitor.site, Some(url))?,
        None => page(&visitor.site, visitor.site.settings.display.home_url.as_deref(), "/default-redirect"),
    };
    Ok(cx.redirect(&visitor, StatusCode::TEMPORARY_REDIRECT, there.as_str()).await)
}

/// A page the settings name, or the hosted one.
fn page(site: &Site, set: Option<&str>, hosted: &str) -> Destination {
    redirects::trusted(set.map_or_else(|| format!("{}{hosted}", site.portal_url()), str::to_owned))
}

//! Links people follow that lead somewhere else: tickets, and redirects that were checked.

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use latchkey_base::{Code, Error, Result};
use latchkey_door::redirects::{self, Destination};
use latchkey_door::site::Site;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::Cx;
use latchkey_people::tickets::redeem::find_valid;
use latchkey_web::api::{Api, Entrance};
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::invitations;
use crate::invited::{FollowedLink, NextStep};
use crate::organizations::tickets::open_link;
use crate::verify::frontend::refused;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Redirect");
    api.get("/v1/tickets/accept", "acceptTicket", accept)
        .summary("Go to where a ticket can be used")
        .errors(&[403, 404, 422])
        .entrance(Entrance::Opening)
        .redirects(303)
        .public();
    api.get("/v1/redirect", "redirectToUrl", redirect)
        .summary("Go to a page of the application")
        .redirects(307)
        .public()
        .only_reads();
}

#[derive(Deserialize, JsonSchema)]
struct Accept {
    /// The ticket of an invitation or a sign-in token. Without one, a page says that the link is wrong.
    #[schemars(extend("x-wanted" = true))]
    ticket: Option<String>,
}

/// Only looks at the ticket: it is used up by signing in or up, not by following a link. But whoever is invited and signed
/// in already has at once what they were invited to.
async fn accept(
    cx: Cx,
    headers: HeaderMap,
    visitor: Visitor,
    Query(query): Query<Accept>,
) -> Result<Response, Failure> {
    let ticket = query.ticket.ok_or_else(|| Error::param(Code::FormParamMissing, "ticket"))?;
    match lead(&cx, &visitor, &ticket).await {
        Ok(there) => Ok(visitor.redirect(&cx, StatusCode::SEE_OTHER, there.as_str()).await),
        Err(error) => refused(&cx, &visitor, &headers, error).await,
    }
}

/// Where a ticket can be used, or why it cannot.
async fn lead(cx: &Cx, visitor: &Visitor, ticket: &str) -> Result<Destination> {
    let followed = match invitations::open_link(cx, visitor, ticket).await? {
        Some(followed) => Some(followed),
        None => open_link(cx, visitor, ticket).await?,
    };
    let (there, status) = match followed {
        Some(followed) if matches!(followed.next, NextStep::SignUpWithoutTicket) => {
            return Ok(after_invitation(&visitor.site, followed).0);
        }
        Some(followed) => after_invitation(&visitor.site, followed),
        None => {
            find_valid(&mut cx.app.db.read().await?, &visitor.site.instance, ticket, cx.now).await?;
            (sign_in_page(&visitor.site), "sign_in")
        }
    };
    Ok(there.set("__clerk_ticket", ticket).set("__clerk_status", status))
}

/// Where the link of an invitation leads, and what is left to do there. Whoever made the invitation named the page; a
/// backend with a secret key did.
fn after_invitation(site: &Site, followed: FollowedLink) -> (Destination, &'static str) {
    let display = &site.settings.display;
    let (usual, status) = match followed.next {
        NextStep::SignIn => (sign_in_page(site), "sign_in"),
        NextStep::SignUp | NextStep::SignUpWithoutTicket => {
            (page(site, display.sign_up_url.as_deref(), "/sign-up"), "sign_up")
        }
        NextStep::Nothing => (page(site, display.home_url.as_deref(), "/default-redirect"), "complete"),
    };
    (followed.redirect_url.map_or(usual, redirects::trusted), status)
}

fn sign_in_page(site: &Site) -> Destination {
    page(site, site.settings.display.sign_in_url.as_deref(), "/sign-in")
}

#[derive(Deserialize, JsonSchema)]
struct Redirect {
    redirect_url: Option<String>,
}

async fn redirect(cx: Cx, visitor: Visitor, Query(query): Query<Redirect>) -> Result<Response, Failure> {
    let there = match query.redirect_url.as_deref().filter(|url| !url.is_empty()) {
        Some(url) => redirects::allowed(&cx, &visitor.site, Some(url)).await?,
        None => page(&visitor.site, visitor.site.settings.display.home_url.as_deref(), "/default-redirect"),
    };
    Ok(visitor.redirect(&cx, StatusCode::TEMPORARY_REDIRECT, there.as_str()).await)
}

/// A page the settings name, or the hosted one.
fn page(site: &Site, set: Option<&str>, hosted: &str) -> Destination {
    redirects::trusted(set.map_or_else(|| format!("{}{hosted}", site.portal_url()), str::to_owned))
}

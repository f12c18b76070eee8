//! The routes of the hosted pages.

use axum::Router;
use axum::extract::FromRequestParts;
use axum::http::header::HOST;
use axum::http::request::Parts;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use latchkey_base::Result;
use latchkey_base::rng;
use latchkey_web::query::pairs;
use latchkey_web::reply::Failure;

use super::frontend::page;
use super::model::{Page, Portal};
use super::rules;
use crate::AppState;
use crate::cx::Cx;
use crate::frontend::redirects::{self, Destination};
use crate::frontend::reply::away;
use crate::frontend::site::{Site, portal_of};
use crate::frontend::visitor::Visitor;
use crate::frontend::{cookies, hosts};
use crate::resources::clients::dev_browsers;
use crate::resources::domains::rules as domains;

/// What a satellite's backend calls the page to come back to.
const SATELLITE_ASKS: &str = "__clerk_redirect_url";

/// Adds the pages and everything below them. Who comes to the root has no place to go to either.
pub fn routes(router: Router<AppState>) -> Router<AppState> {
    let router = router.route("/", serving(Page::DefaultRedirect));
    Page::ALL.into_iter().fold(router, |router, page| {
        let below = format!("{}/{{*step}}", page.path());
        router.route(page.path(), serving(page)).route(&below, serving(page))
    })
}

fn serving(page: Page) -> MethodRouter<AppState> {
    get(move |cx: Cx, Guest(visitor): Guest, headers: HeaderMap, uri: Uri| async move {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        match elsewhere(&cx, &visitor, &host.to_ascii_lowercase(), &uri).await? {
            Some(there) => Ok(away(StatusCode::TEMPORARY_REDIRECT, there.as_str())?),
            None => show(&cx, &visitor.site, page),
        }
    })
}

/// Who looks at a page, by the cookies of this host.
struct Guest(Visitor);

impl FromRequestParts<AppState> for Guest {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Guest, Failure> {
        Ok(Guest(Visitor::by_cookies(parts, state).await?))
    }
}

/// Where a page is shown or answered instead. The pages of satellites are those of the primary domain, and SDKs
/// that are told no address of a sign-in page look for it at a host of its own. In development a satellite's
/// backend sends browsers here to learn who is signed in, and they go back with the token of a developer's browser.
async fn elsewhere(cx: &Cx, visitor: &Visitor, host: &str, uri: &Uri) -> Result<Option<Destination>> {
    let site = &*visitor.site;
    let is_portal = portal_of(hosts::name(host)).as_deref() == Some(hosts::name(&site.frontend_api));
    if site.seat.is_some() || is_portal {
        let rest = uri.path_and_query().map_or("/", PathAndQuery::as_str);
        return Ok(Some(redirects::trusted(format!("{}{rest}", site.portal_url()))));
    }
    if !site.is_development() || site.settings.satellites.is_empty() {
        return Ok(None);
    }
    let asked = pairs(uri.query().unwrap_or_default())?;
    let Some((_, url)) = asked.into_iter().find(|(name, _)| name == SATELLITE_ASKS) else { return Ok(None) };
    // The token says who is signed in, so it goes to nobody but the satellites.
    let back = redirects::to_satellite(site, &url)?;
    let token = match &visitor.shown_dev_browser {
        Some(token) => token.clone(),
        None => dev_browsers::introduce(cx, site, visitor.client.as_ref()).await?,
    };
    Ok(Some(back.set(cookies::DEV_BROWSER, &token).set("__clerk_synced", "true")))
}

/// A hosted page as an answer.
pub fn show(cx: &Cx, site: &Site, shown: Page) -> Result<Response, Failure> {
    let display = &site.settings.display;
    let satellites = site.settings.satellites.iter().flat_map(|satellite| domains::origins(&satellite.name));
    let others: Vec<String> = site.settings.allowed_origins.iter().cloned().chain(satellites).collect();
    let portal = Portal {
        publishable_key: site.publishable_key(),
        application_name: display.name().to_owned(),
        home_url: display.home_url.clone().unwrap_or_default(),
        sign_in_url: display
            .sign_in_url
            .clone()
            .unwrap_or_else(|| format!("{}{}", site.portal_url(), Page::SignIn.path())),
        is_development: site.is_development(),
        inbox_url: site.is_development().then(|| format!("{}/dev/inbox", cx.app.api_url)),
        redirect_origins: match site.is_development() {
            true => rules::origins_in_development(&site.base_url, &others),
            false => rules::origins_in_production(&site.frontend_api, &others),
        },
        image_origin: String::new(),
        has_own_scripts: cx.app.scripts_dir.is_some(),
    };
    Ok(page(&portal, shown, rng::bytes(&*cx.app.rng))?)
}

//! The routes of the hosted pages.

use axum::Router;
use axum::extract::FromRequestParts;
use axum::http::header::{HOST, REFERER};
use axum::http::request::Parts;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use latchkey_base::{Result, rng};
use latchkey_door::redirects::{self, Destination};
use latchkey_door::reply::away;
use latchkey_door::site::Site;
use latchkey_door::visitor::Visitor;
use latchkey_door::{cookies, counting};
use latchkey_kernel::cx::Cx;
use latchkey_kernel::domains::rules as domains;
use latchkey_kernel::origins::canonical;
use latchkey_kernel::settings::SignUpMode;
use latchkey_kernel::{AppState, hosts};
use latchkey_web::query::pairs;
use latchkey_web::reply::Failure;

use super::frontend;
use super::model::{Page, Portal};
use super::rules;
use crate::dev_browsers::frontend::introduce;
use crate::environment::frontend::{is_application, source};
use crate::environment::view::{EnvironmentSource, GivenRoles, Pages};

/// What a satellite's backend calls the page to come back to.
const SATELLITE_ASKS: &str = "__clerk_redirect_url";

/// Adds the pages and everything below them. At the root is the same page as for those who were sent to no page of the
/// application.
pub fn routes(router: Router<AppState>) -> Router<AppState> {
    let router = router.route("/", serving(Page::DefaultRedirect));
    Page::ALL.into_iter().fold(router, |router, page| {
        let below = format!("{}/{{*step}}", page.path());
        router.route(page.path(), serving(page)).route(&below, serving(page))
    })
}

fn serving(page: Page) -> MethodRouter<AppState> {
    get(move |cx: Cx, PageVisitor(visitor): PageVisitor, headers: HeaderMap, uri: Uri| async move {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        match elsewhere(&cx, &visitor, &host.to_ascii_lowercase(), &uri).await? {
            Some(there) => Ok(away(StatusCode::TEMPORARY_REDIRECT, there.as_str())?),
            None => show_after(&cx, &visitor.site, page, referrer(&headers)),
        }
    })
}

/// Who looks at a page, by the cookies of this host.
struct PageVisitor(Visitor);

impl FromRequestParts<AppState> for PageVisitor {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<PageVisitor, Failure> {
        Ok(PageVisitor(Visitor::by_cookies(parts, state).await?))
    }
}

/// Where a page is shown or answered instead. The pages of satellites are those of the primary domain, and SDKs
/// that are told no address of a sign-in page look for it at a host of its own. In development a satellite's
/// backend sends browsers here to learn who is signed in, and they go back with the token of a developer's browser.
async fn elsewhere(cx: &Cx, visitor: &Visitor, host: &str, uri: &Uri) -> Result<Option<Destination>> {
    let site = &*visitor.site;
    let is_portal = hosts::portal_of(hosts::name(host)).as_deref() == Some(hosts::name(&site.frontend_api));
    if site.satellite.is_some() || is_portal {
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
        None => {
            counting::count_page(&cx.app, visitor, cx.network).await?;
            introduce(cx, site, visitor.client_proof()).await?
        }
    };
    Ok(Some(back.set(cookies::DEV_BROWSER, &token).set("__clerk_synced", "true")))
}

/// The origin of a URL, whatever its path has in it.
fn origin_of(url: &str) -> Option<String> {
    let (scheme, _) = url.split_once("://")?;
    canonical(&format!("{scheme}://{}", hosts::authority(url)))
}

/// The origin of the page that a browser comes from.
fn referrer(headers: &HeaderMap) -> Option<String> {
    origin_of(headers.get(REFERER)?.to_str().ok()?)
}

/// A hosted page as an answer.
pub fn show(cx: &Cx, site: &Site, shown: Page) -> Result<Response, Failure> {
    show_after(cx, site, shown, None)
}

/// A hosted page for a browser that comes from a page at the origin `referrer`. From the pages of organizations, browsers
/// go back to the application that they come from. From other pages they do not: `/sign-in` is also opened by providers.
fn show_after(cx: &Cx, site: &Site, shown: Page, referrer: Option<String>) -> Result<Response, Failure> {
    let display = &site.settings.display;
    let roles = GivenRoles::default();
    let source = source(cx, site, &site.settings, &roles);
    let pages = Pages::of(source);
    let application_origin = referrer.as_deref().filter(|origin| {
        shown.is_of_organizations()
            && is_application(site, origin)
            && redirects::for_token(site, Some(origin)).is_ok()
    });
    let back = application_origin.map(|_| Pages::of(EnvironmentSource { application_origin, ..source }));
    let (after_create_organization_url, after_leave_organization_url) =
        back.map(|pages| (pages.after_create_organization, pages.after_leave_organization)).unzip();
    let satellites = site.settings.satellites.iter().flat_map(|satellite| domains::origins(&satellite.name));
    // Hosted pages are gone to without leaving the host, whose cookies the browser has.
    let here = |url: String| match url.strip_prefix(site.portal_url()) {
        Some(path) if path.starts_with('/') => path.to_owned(),
        _ => url,
    };
    let (after_sign_in_url, after_sign_up_url) = (here(pages.after_sign_in), here(pages.after_sign_up));
    // Even where the settings say, clerk-js sends people only if the origin is one of those it is given.
    let named = [&after_sign_in_url, &after_sign_up_url].into_iter().filter_map(|url| origin_of(url));
    let others: Vec<String> =
        site.settings.allowed_origins.iter().cloned().chain(satellites).chain(named).collect();
    let pictures = [&display.logo_image_url, &display.favicon_image_url].into_iter().flatten();
    let portal = Portal {
        publishable_key: site.publishable_key(),
        application_name: display.name().to_owned(),
        home_url: display.home_url.clone().unwrap_or_default(),
        has_organizations: site.settings.organizations.enabled,
        has_waitlist: site.settings.sign_up.mode == SignUpMode::Waitlist,
        is_single_session: site.settings.session.single_session,
        sign_in_url: pages.sign_in,
        after_sign_in_url,
        after_sign_up_url,
        after_sign_out_one_url: here(pages.after_sign_out_one),
        after_sign_out_all_url: here(pages.after_sign_out_all),
        after_create_organization_url: after_create_organization_url
            .or_else(|| display.after_create_organization_url.clone())
            .unwrap_or_default(),
        after_leave_organization_url: after_leave_organization_url.unwrap_or_default(),
        after_join_waitlist_url: display.after_join_waitlist_url.clone().unwrap_or_default(),
        help_url: display.help_url.clone().unwrap_or_default(),
        logo_link_url: display.logo_link_url.clone().unwrap_or_default(),
        favicon_url: display.favicon_image_url.clone().unwrap_or_default(),
        is_development: site.is_development(),
        inbox_url: site.is_development().then(|| format!("{}/dev/inbox", cx.app.api_url)),
        redirect_origins: match site.is_development() {
            true => rules::origins_in_development(&site.base_url, &others),
            false => rules::origins_in_production(&site.frontend_api, &others),
        },
        image_origins: pictures.filter_map(|url| canonical(url)).collect(),
        has_own_scripts: cx.app.scripts_dir.is_some(),
    };
    Ok(frontend::show(&portal, shown, rng::bytes(&*cx.app.rng))?)
}

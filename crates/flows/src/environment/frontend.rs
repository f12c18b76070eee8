//! What the script in a page must know about the instance before anybody does anything.

use axum::http::HeaderMap;
use axum::http::header::ORIGIN;
use axum::response::Response;
use latchkey_base::kinds::InstanceId;
use latchkey_base::{Code, Error, Result};
use latchkey_door::cookies;
use latchkey_door::reply::add_cookie;
use latchkey_door::site::{RequestSite, Site};
use latchkey_door::visitor::Visitor;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::origins::origin;
use latchkey_kernel::settings::Settings;
use latchkey_organizations::access::store as access;
use latchkey_web::api::Api;
use latchkey_web::reply::Failure;

use super::view::{self, AccountPortalView, EnvironmentSource, EnvironmentView, GivenRoles};
use crate::dev_browsers::frontend::introduce;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Environment");
    api.get("/v1/environment", "getEnvironment", get)
        .summary("Get the environment")
        .returns::<EnvironmentView<'_>>()
        .only_reads();
    api.patch("/v1/environment", "updateEnvironment", update)
        .summary("Get the environment, and the cookie of a developer's browser")
        .header(
            "Origin",
            true,
            "The origin of the page. Browsers send it by themselves, and apps on devices need not.",
        )
        .returns::<EnvironmentView<'_>>()
        .public()
        .quiet();
    api.get("/v1/account_portal", "getAccountPortal", account_portal)
        .summary("Get the settings of the hosted pages")
        .returns::<AccountPortalView>()
        .only_reads();
}

async fn get(cx: Cx, RequestSite(site): RequestSite, headers: HeaderMap) -> Result<Response, Failure> {
    let roles = given_roles(&cx, &site.instance).await?;
    let page_origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
    cx.reply_unversioned(&view::environment(source_for_page(&cx, &site, &roles, page_origin)))
}

/// Scripts of development instances ask this way. A browser that has no token of a developer's browser yet
/// gets one as a cookie: on a machine where app and server share a host name, the app finds it there. Pages of
/// another site would ask for one more with each load, and no browser keeps the cookie then.
async fn update(cx: Cx, visitor: Visitor) -> Result<Response, Failure> {
    // Apps on devices have no origin.
    if visitor.origin.is_none() && !visitor.is_native {
        return Err(Error::new(Code::OriginMissing).into());
    }
    let site = &*visitor.site;
    let roles = given_roles(&cx, &site.instance).await?;
    let source = source_for_page(&cx, site, &roles, visitor.origin.as_deref());
    let mut response = cx.reply_unversioned(&view::environment(source))?;
    let is_kept = !site.is_apart_from_apps() || visitor.origin.as_deref() == origin(&site.base_url);
    if site.is_development() && visitor.dev_browser.is_none() && !visitor.is_native && is_kept {
        let token = introduce(&cx, site, visitor.client_proof()).await?;
        let cookie = cookies::for_app(cookies::DEV_BROWSER, &token, &site.base_url);
        add_cookie(response.headers_mut(), &cookie)?;
    }
    Ok(response)
}

async fn account_portal(cx: Cx, RequestSite(site): RequestSite) -> Result<Response, Failure> {
    cx.reply_unversioned(&view::account_portal(source(&cx, &site, &site.settings, &GivenRoles::default())))
}

/// The roles that new organizations give.
pub async fn given_roles(cx: &Cx, instance: &InstanceId) -> Result<GivenRoles> {
    Ok(GivenRoles::of(&access::find(&mut cx.app.db.read().await?, instance).await?))
}

/// What the environment of an instance is derived from.
pub fn source<'a>(
    cx: &Cx,
    site: &'a Site,
    settings: &'a Settings,
    roles: &'a GivenRoles,
) -> EnvironmentSource<'a> {
    EnvironmentSource {
        instance: &site.instance,
        environment: site.environment,
        settings,
        roles,
        portal_url: site.portal_url(),
        application_origin: None,
        version: cx.version,
    }
}

/// What the environment is derived from for a page at `page_origin`.
fn source_for_page<'a>(
    cx: &Cx,
    site: &'a Site,
    roles: &'a GivenRoles,
    page_origin: Option<&'a str>,
) -> EnvironmentSource<'a> {
    let application_origin = page_origin.filter(|origin| is_application(site, origin));
    EnvironmentSource { application_origin, ..source(cx, site, &site.settings, roles) }
}

/// Returns whether pages of an origin belong to an application of a development instance. The origin of the hosted pages
/// belongs to an application only if the application is a proxy of the Frontend API.
pub fn is_application(site: &Site, page_origin: &str) -> bool {
    let is_hosted_page = !site.is_proxied && origin(site.portal_url()) == Some(page_origin);
    site.is_development() && !is_hosted_page && origin(page_origin) == Some(page_origin)
}

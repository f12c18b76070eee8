//! What the script in a page must know about the instance before anybody does anything.

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

async fn get(cx: Cx, RequestSite(site): RequestSite) -> Result<Response, Failure> {
    let roles = given_roles(&cx, &site.instance).await?;
    cx.reply_unversioned(&view::environment(source(&site, &site.settings, &roles)))
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
    let mut response = cx.reply_unversioned(&view::environment(source(site, &site.settings, &roles)))?;
    let is_kept = !site.is_apart_from_apps() || visitor.origin.as_deref() == origin(&site.base_url);
    if site.is_development() && visitor.dev_browser.is_none() && !visitor.is_native && is_kept {
        let token = introduce(&cx, site, visitor.client()).await?;
        let cookie = cookies::for_app(cookies::DEV_BROWSER, &token, &site.base_url);
        add_cookie(response.headers_mut(), &cookie)?;
    }
    Ok(response)
}

async fn account_portal(cx: Cx, RequestSite(site): RequestSite) -> Result<Response, Failure> {
    cx.reply_unversioned(&view::account_portal(source(&site, &site.settings, &GivenRoles::default())))
}

/// The roles that new organizations give.
pub async fn given_roles(cx: &Cx, instance: &InstanceId) -> Result<GivenRoles> {
    Ok(GivenRoles::of(&access::find(&mut cx.app.db.read().await?, instance).await?))
}

/// What the environment of an instance is derived from.
pub fn source<'a>(site: &'a Site, settings: &'a Settings, roles: &'a GivenRoles) -> EnvironmentSource<'a> {
    EnvironmentSource {
        instance: &site.instance,
        environment: site.environment,
        settings,
        roles,
        portal_url: site.portal_url(),
    }
}

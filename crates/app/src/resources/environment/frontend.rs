//! What the script in a page must know about the instance before anybody does anything.

use axum::response::Response;
use latchkey_base::Result;
use latchkey_web::api::Api;
use latchkey_web::reply::Failure;

use super::view::{self, AccountPortalView, EnvironmentView, Lens};
use crate::AppState;
use crate::cx::Cx;
use crate::frontend::cookies;
use crate::frontend::reply::add_cookie;
use crate::frontend::site::{At, Site};
use crate::frontend::visitor::Visitor;
use crate::resources::clients::dev_browsers;

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Environment");
    api.get("/v1/environment", "getEnvironment", get)
        .summary("Get the environment")
        .returns::<EnvironmentView<'_>>()
        .public();
    api.patch("/v1/environment", "updateEnvironment", update)
        .summary("Get the environment, and the cookie of a developer's browser")
        .returns::<EnvironmentView<'_>>()
        .public()
        .quiet();
    api.get("/v1/account_portal", "getAccountPortal", account_portal)
        .summary("Get the settings of the hosted pages")
        .returns::<AccountPortalView>()
        .public();
}

async fn get(cx: Cx, At(site): At) -> Result<Response, Failure> {
    cx.bare(&view::environment(lens(&site)))
}

/// Scripts of development instances ask this way. A browser that has no token of a developer's browser yet
/// gets one as a cookie: on a machine where app and server share a host name, the app finds it there.
async fn update(cx: Cx, visitor: Visitor) -> Result<Response, Failure> {
    let site = &*visitor.site;
    let mut response = cx.bare(&view::environment(lens(site)))?;
    if site.is_development() && visitor.dev_browser.is_none() && !visitor.is_native {
        let token = dev_browsers::introduce(&cx, site, visitor.client.as_ref()).await?;
        let cookie = cookies::for_app(cookies::DEV_BROWSER, &token, &site.base_url);
        add_cookie(response.headers_mut(), &cookie)?;
    }
    Ok(response)
}

async fn account_portal(cx: Cx, At(site): At) -> Result<Response, Failure> {
    cx.bare(&view::account_portal(lens(&site)))
}

fn lens(site: &Site) -> Lens<'_> {
    Lens {
        instance: &site.instance,
        environment: site.environment,
        settings: &site.settings,
        portal_url: site.portal_url(),
    }
}

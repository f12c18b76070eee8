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
use crate::resources::clients::{dev_browsers, store};

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Environment");
    api.get("/v1/environment", "getEnvironment", get)
        .summary("Get the environment")
        .returns::<EnvironmentView<'_>>()
        .public();
    api.patch("/v1/environment", "updateEnvironment", update)
        .summary("Get the environment, and tell where the app of a developer's browser lives")
        .returns::<EnvironmentView<'_>>()
        .public();
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
    match (visitor.dev_browser, &visitor.origin) {
        (Some(digest), Some(origin)) => set_home(&cx, site, digest, origin.clone()).await?,
        (None, _) if site.is_development() && !visitor.is_native => {
            let token = dev_browsers::introduce(&cx, site, visitor.client.as_ref()).await?;
            let cookie = cookies::for_app(cookies::DEV_BROWSER, &token, site.is_secure());
            add_cookie(response.headers_mut(), &cookie)?;
        }
        _ => (),
    }
    Ok(response)
}

async fn set_home(cx: &Cx, site: &Site, digest: [u8; 32], origin: String) -> Result<()> {
    let instance = site.instance.clone();
    cx.write(move |tx| Box::pin(async move { store::set_home_origin(tx, &instance, &digest, &origin).await }))
        .await
}

async fn account_portal(cx: Cx, At(site): At) -> Result<Response, Failure> {
    cx.bare(&view::account_portal(lens(&site)))
}

fn lens(site: &Site) -> Lens<'_> {
    Lens {
        instance: &site.instance,
        environment: site.environment,
        settings: &site.settings,
        portal_url: &site.base_url,
    }
}

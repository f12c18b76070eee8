//! The routes of the hosted pages.

use axum::Router;
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use latchkey_base::Result;
use latchkey_base::rng;
use latchkey_web::reply::Failure;

use super::frontend::page;
use super::model::{Page, Portal};
use super::rules;
use crate::AppState;
use crate::cx::Cx;
use crate::frontend::site::{At, Site};

/// Adds the pages and everything below them. Who comes to the root has no place to go to either.
pub fn routes(router: Router<AppState>) -> Router<AppState> {
    let router = router.route("/", serving(Page::DefaultRedirect));
    Page::ALL.into_iter().fold(router, |router, page| {
        let below = format!("{}/{{*step}}", page.path());
        router.route(page.path(), serving(page)).route(&below, serving(page))
    })
}

fn serving(page: Page) -> MethodRouter<AppState> {
    get(move |cx: Cx, At(site): At| async move { show(&cx, &site, page) })
}

fn show(cx: &Cx, site: &Site, shown: Page) -> Result<Response, Failure> {
    let display = &site.settings.display;
    let portal = Portal {
        publishable_key: site.publishable_key(),
        application_name: display.name().to_owned(),
        home_url: display.home_url.clone().unwrap_or_default(),
        is_development: site.is_development(),
        redirect_origins: match site.is_development() {
            true => rules::origins_in_development(&site.base_url, &site.settings.allowed_origins),
            false => rules::origins_in_production(&site.frontend_api, &site.settings.allowed_origins),
        },
        image_origin: String::new(),
        has_own_scripts: cx.app.scripts_dir.is_some(),
    };
    Ok(page(&portal, shown, rng::bytes(&*cx.app.rng))?)
}

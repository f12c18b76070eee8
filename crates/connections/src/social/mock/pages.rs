//! The route of the page.

use axum::Router;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use axum::routing::get;
use latchkey_base::{Code, Error, Result, rng};
use latchkey_door::reply::away;
use latchkey_door::site::{RequestSite, Site};
use latchkey_kernel::AppState;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::page;
use latchkey_kernel::settings::social::is_mock;
use latchkey_web::query::pairs;
use latchkey_web::reply::Failure;
use url::Url;

use super::rules::{self, Choice};
use super::{CALLBACK, PATH, code, view};

/// Adds the page. It answers on development instances that have the provider enabled.
pub fn routes(router: Router<AppState>) -> Router<AppState> {
    router.route(PATH, get(show))
}

async fn show(cx: Cx, RequestSite(site): RequestSite, uri: Uri) -> Result<Response, Failure> {
    if !is_enabled(&site) {
        return Err(Error::new(Code::ResourceNotFound).into());
    }
    let visit = rules::read(&pairs(uri.query().unwrap_or_default())?)?;
    let answer = match visit.choice {
        Choice::None => {
            let nonce = page::nonce(rng::bytes(&*cx.app.rng));
            let html = view::html(&visit, site.settings.display.name(), &nonce);
            return Ok(page::page(html, view::policy(&nonce))?);
        }
        Choice::Deny => ("error", "access_denied".to_owned()),
        Choice::Person(profile) => ("code", code(&cx.app.master, &visit.state, *profile, cx.now)?),
    };
    Ok(back(&site, &visit.state, answer)?)
}

fn is_enabled(site: &Site) -> bool {
    site.is_development() && site.settings.enabled_providers().any(|(key, _)| is_mock(key))
}

/// Back to the callback of this very server, and nowhere else.
fn back(site: &Site, state: &str, (name, value): (&str, String)) -> Result<Response> {
    let mut url = Url::parse(&format!("{}{CALLBACK}", site.base_url)).map_err(Error::internal)?;
    url.query_pairs_mut().append_pair("state", state).append_pair(name, &value);
    away(StatusCode::SEE_OTHER, url.as_str())
}

//! `/popup-callback`: where a window ends that an application opened for a provider. The page tells the window that opened it
//! what came of it, by what stands in its own address, and closes.

use axum::Router;
use axum::response::Response;
use axum::routing::get;
use latchkey_base::kinds::SessionId;
use latchkey_door::redirects::Destination;
use latchkey_kernel::page::{OPENER_POLICY, closed_page};
use latchkey_kernel::{AppState, origins};
use latchkey_web::query::pairs;
use latchkey_web::reply::Failure;

/// Its address.
const PATH: &str = "/popup-callback";

pub(super) fn routes(router: Router<AppState>) -> Router<AppState> {
    router.route(PATH, get(show))
}

async fn show() -> Result<Response, Failure> {
    let mut response = closed_page(include_str!("popup.html"))?;
    // The window that opened it must stay reachable.
    response.headers_mut().remove(OPENER_POLICY);
    Ok(response)
}

/// Where a browser goes that is done. A window of an application is told which session began, and whom to tell: the page that
/// the window would have gone back to otherwise names the origin.
pub(super) fn told(there: Destination, session: Option<&SessionId>, redirect_url: &str) -> Destination {
    let path = there.as_str().split(['?', '#']).next().unwrap_or_default();
    match session.filter(|_| path.ends_with(PATH)) {
        Some(session) => {
            let there = there.set("__clerk_created_session", session.as_str());
            match return_origin(redirect_url) {
                Some(origin) => there.set("return_origin", &origin),
                None => there,
            }
        }
        None => there,
    }
}

fn return_origin(redirect_url: &str) -> Option<String> {
    let query = redirect_url.split_once('?')?.1.split('#').next()?;
    let pairs = pairs(query).ok()?;
    let (_, url) = pairs.iter().find(|(name, _)| name == "return_url")?;
    origins::canonical(url)
}

//! Routes and handlers of the backend API.

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use latchkey_base::{Error, Result, rng};
use latchkey_web::api::Api;
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;

use super::rules::{self, Asked, Interstitial};
use super::view;
use crate::AppState;
use crate::cx::Cx;
use crate::frontend::cookies;
use crate::frontend::site::{Site, url_of};
use crate::resources::instances::store;

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Miscellaneous");
    api.get("/public/interstitial", "GetPublicInterstitial", page)
        .summary("A page that finds out whether somebody is signed in")
        .query::<Asked>()
        .public()
        .instead(&[(422, 400)]);
}

async fn page(cx: Cx, headers: HeaderMap, Query(asked): Query<Asked>) -> Result<Response, Failure> {
    let visits = rules::count_visit(cookies::read(&headers, rules::COOKIE))?;
    let site = site(&cx, &rules::asked_host(&asked)?).await?;
    Ok(answer(&rules::page(&site, asked)?, rng::bytes(&*cx.app.rng), visits)?)
}

/// The instance at a host.
async fn site(cx: &Cx, host: &str) -> Result<Site> {
    let mut tx = cx.app.db.read().await?;
    let place = store::find_by_frontend_api(&mut tx, host).await?.ok_or_else(rules::malformed)?;
    let settings = cx.app.settings_of(&mut tx, &place.holder).await?;
    Ok(Site {
        instance: place.holder.id,
        environment: place.holder.environment,
        settings,
        base_url: cx.app.public_url(host),
        issuer: url_of(host),
        is_proxied: false,
        frontend_api: place.frontend_api,
        signing_key: None,
    })
}

fn answer(page: &Interstitial, random: [u8; 16], visits: u32) -> Result<Response> {
    let nonce = STANDARD_NO_PAD.encode(random);
    let text = |text: String| HeaderValue::try_from(text).map_err(Error::internal);
    // Only as long as a page that reloads itself needs: whoever comes back later is not in a circle.
    let count = format!("{}={visits}; Path=/; Max-Age=10; HttpOnly; SameSite=Lax", rules::COOKIE);
    let mut response = Response::new(Body::from(view::html(page, &nonce)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, text(view::policy(&nonce))?);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("strict-origin-when-cross-origin"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(SET_COOKIE, text(count)?);
    Ok(response)
}

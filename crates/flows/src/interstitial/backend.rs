//! Routes and handlers of the backend API.

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use latchkey_base::{Error, Result, rng};
use latchkey_door::cookies;
use latchkey_door::site::Site;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::hosts::url_of;
use latchkey_kernel::instances::store;
use latchkey_web::api::Api;
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;

use super::rules::{self, Interstitial, InterstitialQuery};
use super::view;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Miscellaneous");
    api.get("/public/interstitial", "GetPublicInterstitial", page)
        .summary("A page that finds out whether somebody is signed in")
        .instead(&[(422, 400)])
        .only_reads();
}

async fn page(
    cx: Cx,
    headers: HeaderMap,
    Query(query): Query<InterstitialQuery>,
) -> Result<Response, Failure> {
    let visits = rules::count_visit(cookies::read(&headers, rules::COOKIE))?;
    let site = site(&cx, &rules::asked_host(&query)?).await?;
    Ok(answer(&rules::page(&site, query)?, rng::bytes(&*cx.app.rng), visits)?)
}

/// The instance at a host.
async fn site(cx: &Cx, host: &str) -> Result<Site> {
    let mut tx = cx.app.db.read().await?;
    let found = store::find_by_frontend_api(&mut tx, host).await?.ok_or_else(rules::malformed)?;
    let settings = cx.app.settings_of(&mut tx, &found.holder).await?;
    Ok(Site {
        instance: found.holder.id,
        environment: found.holder.environment,
        settings,
        base_url: cx.app.public_url(host),
        issuer: url_of(host),
        is_proxied: false,
        frontend_api: found.frontend_api,
        satellite: None,
        relying_party: String::new(),
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

//! Browsers of developers. Their apps and the Frontend API are different sites, between which cookies do
//! not travel; so the browser is given a token to show instead.

use axum::response::Response;
use latchkey_base::kinds::{ClientId, DevBrowserId};
use latchkey_base::{Code, Error, Result};
use latchkey_door::cookies;
use latchkey_door::reply::add_cookie;
use latchkey_door::site::{RequestSite, Site};
use latchkey_jose::digest::sha256;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::object;
use latchkey_presence::clients::store;
use latchkey_web::api::Api;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Serialize;

use crate::dev_browsers::frames;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Dev Browser");
    api.post("/v1/dev_browser", "createDevBrowser", create)
        .summary("Introduce a developer's browser")
        .returns::<DevBrowserView>();
    api.post("/v1/dev_browser/set_first_party_cookie", "postDevBrowserInitSetCookie", set_cookie)
        .summary("Introduce a developer's browser by a cookie")
        .returns::<DevBrowserView>();
    api.get("/v1/dev_browser/init", "getDevBrowserInit", frames::init)
        .summary("Introduce a developer's browser to the page around a frame")
        .instead(&[(422, 400)]);
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DevBrowser")]
pub(super) struct DevBrowserView {
    object: DevBrowserObject,
    id: String,
}

object!(DevBrowserObject, "dev_browser");

impl DevBrowserView {
    pub(super) fn new(id: String) -> DevBrowserView {
        DevBrowserView { object: DevBrowserObject::It, id }
    }
}

async fn create(cx: Cx, RequestSite(site): RequestSite) -> Result<Response, Failure> {
    let id = introduce(&cx, &site, None).await?;
    cx.reply_unversioned(&DevBrowserView::new(id))
}

async fn set_cookie(cx: Cx, RequestSite(site): RequestSite) -> Result<Response, Failure> {
    let id = introduce(&cx, &site, None).await?;
    let mut response = cx.reply_unversioned(&DevBrowserView::new(id.clone()))?;
    add_cookie(response.headers_mut(), &cookies::for_app(cookies::DEV_BROWSER, &id, &site.base_url))?;
    Ok(response)
}

/// Makes a token for a browser, which may have a client already. Only its digest is kept.
pub async fn introduce(cx: &Cx, site: &Site, client: Option<(ClientId, Vec<u8>)>) -> Result<String> {
    if !site.is_development() {
        return Err(Error::new(Code::UrlBasedSessionSyncingDisabled));
    }
    let id = DevBrowserId::new(cx.now, &*cx.app.rng).as_str().to_owned();
    let (instance, digest, now) = (site.instance.clone(), sha256(id.as_bytes()), cx.now);
    cx.write(move |tx| {
        Box::pin(async move {
            let client = client.as_ref().map(|(id, digest)| (id, &digest[..]));
            store::save_dev_browser(tx, &instance, &digest, client, now).await
        })
    })
    .await?;
    Ok(id)
}

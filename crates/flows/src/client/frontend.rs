//! Routes and handlers of the Frontend API about the client.

use axum::http::header::{AUTHORIZATION, ORIGIN, REFERER};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::client::{self, ClientView, ShownClient, view_context};
use latchkey_door::client_handle::{ClientHandle, ClientSessions};
use latchkey_door::reply::{Envelope, add_cookie};
use latchkey_door::site::{RequestSite, Site};
use latchkey_door::visitor::Visitor;
use latchkey_door::{cookies, counting, redirects};
use latchkey_kernel::AppState;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_presence::clients::model::Client;
use latchkey_presence::clients::store as clients;
use latchkey_presence::clients::token::{self, ClientProof};
use latchkey_presence::sessions::ending;
use latchkey_presence::sessions::model::SessionStatus;
use latchkey_web::api::{Api, Entrance};
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Client");
    api.get("/v1/client", "getClient", get)
        .summary("Get the client")
        .returns::<Envelope<'_, Option<ClientView<'_>>>>()
        .public()
        .read_ahead()
        .only_reads();
    api.post("/v1/client", "postClient", create)
        .summary("Create the client")
        .returns::<Envelope<'_, Option<ClientView<'_>>>>()
        .public()
        .entrance(Entrance::Opening)
        .errors(&[403]);
    api.put("/v1/client", "putClient", create)
        .summary("Create the client")
        .returns::<Envelope<'_, Option<ClientView<'_>>>>()
        .public()
        .entrance(Entrance::Opening)
        .errors(&[403]);
    api.delete("/v1/client", "deleteClientSessions", destroy)
        .summary("Sign out everybody, and forget the client")
        .returns::<Envelope<'_, Option<ClientView<'_>>>>()
        .public();
    api.delete("/v1/client/sessions", "removeClientSessionsAndRetainCookie", sign_out)
        .summary("Sign out everybody")
        .returns::<Envelope<'_, Option<ClientView<'_>>>>();
    api.get("/v1/client/touch", "touchClient", touch)
        .summary("Renew the cookie of the client on the way to a page")
        .redirects(307)
        .public();
    api.get("/v1/clear-site-data", "clearSiteData", clear_site_data)
        .summary("Make the browser forget everything of this host")
        .errors(&[403]);
}

/// The client, or null. A developer's browser always has one: scripts count on it. The row says that nothing is written,
/// so the one write there is, of a browser's first client, is counted here.
async fn get(cx: Cx, mut visitor: Visitor) -> Result<Response, Failure> {
    let mut shown_client = client::load_unchanged(&cx, &mut visitor).await?;
    let is_anonymous = visitor.client().is_none() && shown_client.is_none();
    if let Some(browser) = visitor.dev_browser.filter(|_| is_anonymous) {
        counting::count_dev_browser(&cx.app, &visitor.site, &browser, cx.network).await?;
        make(&cx, &mut visitor).await?;
        shown_client = client::load(&cx, &visitor).await?;
    }
    let good_until = shown_client.as_ref().and_then(|shown_client| shown_client.good_until);
    let mut response = tell(&cx, &visitor, shown_client).await?;
    if let (Some(good_until), None) = (good_until, &visitor.fresh) {
        response.extensions_mut().insert(good_until);
    }
    Ok(response)
}

async fn create(cx: Cx, mut visitor: Visitor) -> Result<Response, Failure> {
    // An earlier token that still shows sessions has a client.
    let is_earlier = visitor.client().is_none() && client::load(&cx, &visitor).await?.is_some();
    if !is_earlier {
        make(&cx, &mut visitor).await?;
    }
    show(&cx, &visitor).await
}

async fn make(cx: &Cx, visitor: &mut Visitor) -> Result<()> {
    let (handle, act) = (visitor.client_handle(), visitor.act(cx));
    let locked = cx.write(move |tx| Box::pin(async move { handle.lock_or_create(tx, &act).await })).await?;
    visitor.becomes(locked.client, locked.secret);
    Ok(())
}

/// Signs everybody out; the client and its id stay. An earlier token of the client ends the sessions that it shows.
async fn sign_out(cx: Cx, mut visitor: Visitor) -> Result<Response, Failure> {
    let (handle, act) = (visitor.client_handle(), visitor.act(&cx));
    if !visitor.has_client() {
        return Err(Error::new(Code::SignedOut).into());
    }
    let client = cx.write(move |tx| Box::pin(async move { sign_out_in(tx, &act, &handle).await }));
    visitor.becomes(client.await?, None);
    show(&cx, &visitor).await
}

async fn sign_out_in(tx: &mut Tx, act: &Act, handle: &ClientHandle) -> Result<Client> {
    let ClientSessions { mut client, live, is_newest } = handle.lock_sessions(tx, act).await?;
    if is_newest {
        client.last_active_session = None;
        client.sign_in = None;
        client.sign_up = None;
        client.updated_at = act.now;
    }
    match live.is_empty() {
        true => clients::save(tx, &client, act.now).await.map(|()| client),
        false => ending::end_all(tx, act, client, live, SessionStatus::Removed).await,
    }
}

/// Signs everybody out and forgets the client. The sessions stay for those who look them up.
async fn destroy(cx: Cx, visitor: Visitor) -> Result<Response, Failure> {
    let (handle, act) = (visitor.client_handle(), visitor.act(&cx));
    if visitor.has_client() {
        cx.write(move |tx| Box::pin(async move { destroy_in(tx, &act, &handle).await })).await?;
    }
    let mut response = cx.reply_unversioned(&Envelope::<Option<ClientView<'_>>>::alone(None))?;
    let mut nobody = visitor.alone();
    nobody.is_native = visitor.is_native;
    nobody.hand_out(&cx, None, response.headers_mut()).await?;
    match visitor.is_native {
        // Apps keep their token themselves; an empty one takes it away.
        true => _ = response.headers_mut().insert(AUTHORIZATION, HeaderValue::from_static("")),
        false => add_cookie(response.headers_mut(), &cookies::no_client(&visitor.site))?,
    }
    Ok(response)
}

async fn destroy_in(tx: &mut Tx, act: &Act, handle: &ClientHandle) -> Result<()> {
    let ClientSessions { client, live, is_newest } = handle.lock_sessions(tx, act).await?;
    let client = ending::end_all(tx, act, client, live, SessionStatus::Ended).await?;
    if !is_newest {
        return Ok(());
    }
    // Whoever still has the old secret finds nothing; a developer's browser starts anew.
    handle.forget(tx, &client, act).await
}

/// Where to go on.
#[derive(Deserialize, JsonSchema)]
struct Touch {
    redirect_url: Option<String>,
}

/// Browsers that shorten the life of cookies come by here to have theirs renewed.
async fn touch(
    cx: Cx,
    mut visitor: Visitor,
    headers: HeaderMap,
    Query(query): Query<Touch>,
) -> Result<Response, Failure> {
    let asked = query.redirect_url.as_deref();
    let allowed = redirects::for_token(&visitor.site, asked);
    let url = allowed.map_err(|error| match error.code() {
        Code::RedirectUrlMismatch => {
            error.saying(redirects::mismatch(&visitor.site, asked.unwrap_or_default()))
        }
        _ => error,
    })?;
    // What a cookie holds goes nowhere but into a cookie.
    if let Some(client) = visitor.client().filter(|_| !visitor.is_native).cloned() {
        let secret = shown_secret(&cx, &visitor.site, &client, &headers).await?;
        visitor.becomes(client, secret.map(ClientProof::from));
    }
    Ok(visitor.redirect(&cx, StatusCode::TEMPORARY_REDIRECT, url.as_str()).await)
}

/// The secret of a client among the cookies its browser shows.
async fn shown_secret(cx: &Cx, site: &Site, client: &Client, headers: &HeaderMap) -> Result<Option<Secret>> {
    let mut tx = cx.app.db.read().await?;
    let found = clients::find_with_digest(&mut tx, &site.instance, &client.id).await?;
    let Some((_, digest)) = found else { return Ok(None) };
    let mut shown = cookies::read_all(headers, cookies::CLIENT).filter_map(token::read);
    Ok(shown.find(|(id, secret)| site.is_proof(id, &digest, secret)).map(|(_, secret)| secret))
}

/// Signs everybody out and empties the browser's stores, so it must be what the person wants: pages of others could
/// put this address into a picture or a frame.
async fn clear_site_data(RequestSite(site): RequestSite, headers: HeaderMap) -> Result<Response, Failure> {
    match is_wanted(&site, &headers) {
        true => Ok((StatusCode::OK, [("clear-site-data", "\"*\"")]).into_response()),
        false => Err(Error::new(Code::CrossSiteRequestForbidden).into()),
    }
}

/// Whether the person or a page of the same site asks. Browsers say so (Fetch Metadata) wherever they obey the
/// answer, which is over TLS and on this machine; others are judged by the page they name.
fn is_wanted(site: &Site, headers: &HeaderMap) -> bool {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_followed = || {
        header("sec-fetch-mode") == Some("navigate")
            && header("sec-fetch-dest") == Some("document")
            && header("sec-fetch-user") == Some("?1")
    };
    match header("sec-fetch-site") {
        Some("same-origin" | "same-site" | "none") => true,
        Some(_) => is_followed(),
        None => {
            let mut pages = [ORIGIN, REFERER].into_iter().filter(|name| headers.contains_key(name));
            pages.all(|name| header(name.as_str()).is_some_and(|page| redirects::is_ours(site, page)))
        }
    }
}

/// Answers with the client as what was asked for; it is not told twice.
async fn show(cx: &Cx, visitor: &Visitor) -> Result<Response, Failure> {
    tell(cx, visitor, client::load(cx, visitor).await?).await
}

async fn tell(cx: &Cx, visitor: &Visitor, shown_client: Option<ShownClient>) -> Result<Response, Failure> {
    let view =
        shown_client.as_ref().map(|shown_client| shown_client.view(view_context(&visitor.site, cx.now)));
    let mut response = cx.reply_unversioned(&Envelope::alone(view))?;
    visitor.hand_out(cx, shown_client.as_ref(), response.headers_mut()).await?;
    Ok(response)
}

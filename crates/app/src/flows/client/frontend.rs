//! Routes and handlers of the Frontend API about the client.

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use latchkey_base::Result;
use latchkey_base::secret::Secret;
use latchkey_web::api::Api;
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::AppState;
use crate::cx::Cx;
use crate::frontend::client::{self, ClientView, Scenery, lens};
use crate::frontend::cookies;
use crate::frontend::redirects;
use crate::frontend::reply::{Envelope, add_cookie};
use crate::frontend::site::Site;
use crate::frontend::visitor::Visitor;
use crate::resources::clients::model::Client;
use crate::resources::clients::{store as clients, token};
use crate::resources::sessions::model::Status;
use crate::resources::sessions::{ending, store as sessions};

type Wrapped<'a> = Envelope<'a, Option<ClientView<'a>>>;

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Client");
    api.get("/v1/client", "getClient", get).summary("Get the client").returns::<Wrapped<'_>>();
    api.post("/v1/client", "postClient", create)
        .summary("Create the client")
        .returns::<Wrapped<'_>>()
        .errors(&[403]);
    api.put("/v1/client", "putClient", create)
        .summary("Create the client")
        .returns::<Wrapped<'_>>()
        .errors(&[403]);
    api.delete("/v1/client", "deleteClientSessions", destroy)
        .summary("Sign out everybody, and forget the client")
        .returns::<Wrapped<'_>>();
    api.delete("/v1/client/sessions", "removeClientSessionsAndRetainCookie", sign_out)
        .summary("Sign out everybody")
        .returns::<Wrapped<'_>>();
    api.get("/v1/client/touch", "touchClient", touch)
        .summary("Renew the cookie of the client on the way to a page")
        .query::<Touch>()
        .redirects(307);
    api.get("/v1/clear-site-data", "clearSiteData", clear_site_data)
        .summary("Make the browser forget everything of this host")
        .public();
}

/// The client, or null. A developer's browser always has one: scripts count on it.
async fn get(cx: Cx, mut visitor: Visitor) -> Result<Response, Failure> {
    if visitor.client.is_none() && visitor.dev_browser.is_some() {
        make(&cx, &mut visitor).await?;
    }
    let scenery = client::load_unchanged(&cx, &mut visitor).await?;
    tell(&cx, &visitor, scenery).await
}

async fn create(cx: Cx, mut visitor: Visitor) -> Result<Response, Failure> {
    make(&cx, &mut visitor).await?;
    show(&cx, &visitor).await
}

async fn make(cx: &Cx, visitor: &mut Visitor) -> Result<()> {
    let (hold, act) = (visitor.hold(), visitor.act(cx));
    let held = cx.write(move |tx| Box::pin(async move { hold.lock(tx, &act).await })).await?;
    visitor.becomes(held.client, held.secret);
    Ok(())
}

/// Signs everybody out; the client and its id stay.
async fn sign_out(cx: Cx, mut visitor: Visitor) -> Result<Response, Failure> {
    let (hold, act) = (visitor.hold(), visitor.act(&cx));
    visitor.known()?;
    let client = cx.write(move |tx| {
        Box::pin(async move {
            let mut client = hold.lock_known(tx).await?;
            client.last_active_session = None;
            client.sign_in = None;
            client.sign_up = None;
            client.updated_at = act.now;
            let live = sessions::lock_live_of_client(tx, &client, act.now).await?;
            match live.is_empty() {
                true => clients::save(tx, &client, act.now).await.map(|()| client),
                false => ending::end_all(tx, &act, client, live, Status::Removed).await,
            }
        })
    });
    visitor.becomes(client.await?, None);
    show(&cx, &visitor).await
}

/// Signs everybody out and forgets the client. The sessions stay for those who look them up.
async fn destroy(cx: Cx, visitor: Visitor) -> Result<Response, Failure> {
    let (hold, act) = (visitor.hold(), visitor.act(&cx));
    if visitor.client.is_some() {
        let done = cx.write(move |tx| {
            Box::pin(async move {
                let client = hold.lock_known(tx).await?;
                let live = sessions::lock_live_of_client(tx, &client, act.now).await?;
                let client = ending::end_all(tx, &act, client, live, Status::Ended).await?;
                // Whoever still has the old secret finds nothing; a developer's browser starts anew.
                hold.forget(tx, &client, &act).await
            })
        });
        done.await?;
    }
    let mut response = cx.bare(&Envelope::<Option<ClientView<'_>>>::alone(None))?;
    let nobody = Visitor { is_native: visitor.is_native, ..visitor.alone() };
    cx.hand_out(&nobody, None, response.headers_mut()).await?;
    match visitor.is_native {
        // Apps keep their token themselves; an empty one takes it away.
        true => _ = response.headers_mut().insert(AUTHORIZATION, HeaderValue::from_static("")),
        false => add_cookie(response.headers_mut(), &cookies::no_client(&visitor.site))?,
    }
    Ok(response)
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
    let url = redirects::checked(&visitor.site, query.redirect_url.as_deref())?;
    if let Some(client) = visitor.client.clone() {
        let secret = shown_secret(&cx, &visitor.site, &client, &headers).await?;
        visitor.becomes(client, secret);
    }
    Ok(cx.redirect(&visitor, StatusCode::TEMPORARY_REDIRECT, url.as_str()).await)
}

/// The secret of a client among the cookies its browser shows.
async fn shown_secret(cx: &Cx, site: &Site, client: &Client, headers: &HeaderMap) -> Result<Option<Secret>> {
    let mut tx = cx.app.db.read().await?;
    let found = clients::find_with_digest(&mut tx, &site.instance, &client.id).await?;
    let Some((_, digest)) = found else { return Ok(None) };
    let mut shown = cookies::read_all(headers, cookies::CLIENT).filter_map(token::read);
    Ok(shown.find(|(id, secret)| site.is_proof(id, &digest, secret)).map(|(_, secret)| secret))
}

async fn clear_site_data() -> Response {
    (StatusCode::OK, [("clear-site-data", "\"*\"")]).into_response()
}

/// Answers with the client as what was asked for; it is not told twice.
async fn show(cx: &Cx, visitor: &Visitor) -> Result<Response, Failure> {
    tell(cx, visitor, client::load(cx, visitor).await?).await
}

async fn tell(cx: &Cx, visitor: &Visitor, scenery: Option<Scenery>) -> Result<Response, Failure> {
    let view = scenery.as_ref().map(|scenery| scenery.view(lens(&visitor.site, cx.now)));
    let mut response = cx.bare(&Envelope::alone(view))?;
    cx.hand_out(visitor, scenery.as_ref(), response.headers_mut()).await?;
    Ok(response)
}

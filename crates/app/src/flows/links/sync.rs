//! How a second domain of an application learns who is signed in on the first: the browser carries the
//! client from one Frontend API host to the other, by a token that is good once and for a minute.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::rng;
use latchkey_base::{Code, Error, Result};
use latchkey_web::api::Api;
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::AppState;
use crate::cx::Cx;
use crate::frontend::reply::add_cookie;
use crate::frontend::site::{At, Site};
use crate::frontend::visitor::Visitor;
use crate::frontend::{cookies, redirects};
use crate::limits::HANDSHAKE_MS;
use crate::resources::handshakes::store;

/// Tells the app that the way there and back was gone.
const SYNCED: &str = "__clerk_synced";

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.get("/v1/client/sync", "syncClient", sync)
        .summary("Take the client to another domain of the application")
        .query::<Sync>()
        .errors(&[403])
        .redirects(307)
        .public();
    api.get("/v1/client/link", "linkClient", link)
        .summary("Bring the client to this domain of the application")
        .query::<Link>()
        .errors(&[403])
        .redirects(307)
        .public();
}

#[derive(Deserialize, JsonSchema)]
struct Sync {
    link_domain: Option<String>,
    redirect_url: Option<String>,
}

async fn sync(
    cx: Cx,
    visitor: Visitor,
    Query(query): Query<Sync>,
    request: Request,
) -> Result<Response, Failure> {
    let site = &*visitor.site;
    let back = redirects::checked(site, query.redirect_url.as_deref())?;
    let proof = cookies::read(request.headers(), cookies::CLIENT).filter(|_| visitor.client.is_some());
    let (Some(proof), Some(domain)) = (proof, query.link_domain.as_deref()) else {
        let there = back.with(SYNCED, "true");
        return Ok(cx.redirect(&visitor, StatusCode::TEMPORARY_REDIRECT, there.as_str()).await?);
    };
    if !is_own_domain(site, domain) {
        return Err(Error::param(Code::RedirectUrlMismatch, "link_domain").into());
    }
    let token = URL_SAFE_NO_PAD.encode(rng::bytes::<24>(&*cx.app.rng));
    let (act, kept) = (visitor.act(&cx), token.clone());
    let carried = vec![proof.to_owned(), back.as_str().to_owned()];
    cx.write(move |tx| {
        Box::pin(async move {
            let until = act.now.plus_ms(HANDSHAKE_MS);
            store::insert(tx, &act.instance, &kept, &carried, until, &act.master).await
        })
    })
    .await?;
    let there = redirects::trusted(format!("https://clerk.{domain}/v1/client/link"));
    let there = there.with("__clerk_token", &token);
    Ok(cx.redirect(&visitor, StatusCode::TEMPORARY_REDIRECT, there.as_str()).await?)
}

#[derive(Deserialize, JsonSchema)]
struct Link {
    __clerk_token: Option<String>,
}

async fn link(cx: Cx, At(site): At, visitor: Visitor, Query(query): Query<Link>) -> Result<Response, Failure> {
    let token = query.__clerk_token.ok_or_else(|| Error::param(Code::FormParamMissing, "__clerk_token"))?;
    let act = visitor.act(&cx);
    let taken = cx.write(move |tx| {
        Box::pin(async move { store::take(tx, &act.instance, &token, act.now, &act.master).await })
    });
    let carried = taken.await?.ok_or_else(|| Error::new(Code::SyncNonceAlreadyConsumed))?;
    let [proof, back] = <[String; 2]>::try_from(carried).map_err(|_| Error::new(Code::SyncNonceAlreadyConsumed))?;
    let there = redirects::trusted(back).with(SYNCED, "true");
    let mut response = cx.redirect(&visitor.alone(), StatusCode::TEMPORARY_REDIRECT, there.as_str()).await?;
    add_cookie(response.headers_mut(), &cookies::client(&site, &proof))?;
    Ok(response)
}

/// Whether the settings name a page on that domain as the application's.
fn is_own_domain(site: &Site, domain: &str) -> bool {
    site.settings.allowed_origins.iter().any(|origin| {
        let host = origin.strip_prefix("https://").unwrap_or_default();
        host == domain || host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
    })
}

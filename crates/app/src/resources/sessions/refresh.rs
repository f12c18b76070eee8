//! Renewing the expired token of a session for a backend, so that the browser need not be sent around.

use axum::response::Response;
use latchkey_base::{Code, Error, Id, Result};
use latchkey_db::Tx;
use latchkey_web::input::{Input, Path};
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;

use super::backend::{Issuer, minted};
use super::input::{Format, RefreshQuery, RefreshSession};
use super::model::Session;
use super::renewals::{self, Renewal, Request};
use super::{rules, store, view};
use crate::auth::SecretKey;
use crate::cx::Cx;
use crate::frontend::cookies::{self, SESSION};
use crate::keyring::public_keys;
use crate::resources::users::activity;
use crate::resources::users::model::User;
use crate::resources::users::store as users;

/// `RefreshSession`
pub async fn refresh(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<String>,
    Query(query): Query<RefreshQuery>,
    Input(input): Input<RefreshSession>,
) -> Result<Response, Failure> {
    let request =
        Request { session: &id, token: input.expired_token.expose(), origin: &input.request_origin };
    let mut tx = cx.app.db.read().await?;
    let keys = public_keys(&mut tx, &key.instance, cx.now).await?;
    let renewal = renewals::check(&request, &keys, cx.now)?;
    let (session, user) = found(&mut tx, &key, &id).await?;
    let issuer = Issuer::of(&cx, &mut tx, &key).await?.named(&renewal.issuer, &key);
    drop(tx);
    let secret = renewals::secret(&cx.app.master, &session, &input.request_origin);
    renewals::check_session(&session, &input.refresh_token, &secret, cx.now)?;
    use_up(&cx, &key, &session, renewal).await?;
    activity::note(&cx, &user).await;
    let origin = Some(input.request_origin.as_str());
    let jwt = minted(&cx, &key, &session, &user, &issuer, origin, None)?;
    match input.format.unwrap_or_default() {
        Format::Token => cx.reply(&view::token(&jwt)),
        Format::Cookie => {
            let names = cookies::names(SESSION, &issuer.publishable_key(&key), query.suffixed_cookies);
            let lines = names.iter().map(|name| cookies::for_app(name, &jwt, &input.request_origin));
            cx.reply(&view::cookies(lines.collect()))
        }
    }
}

async fn found(tx: &mut Tx, key: &SecretKey, id: &str) -> Result<(Session, User)> {
    let unknown = || Error::new(Code::SessionRefreshSessionNotFound);
    let id = Id::parse(id).ok_or_else(unknown)?;
    let session = store::find(tx, &key.instance, &id).await?.ok_or_else(unknown)?;
    let user = users::find(tx, &key.instance, &session.user).await?;
    Ok((session, user.ok_or_else(|| Error::new(Code::SessionRefreshUserNotFound))?))
}

/// Notes that the token was renewed, and that the session is in use: of several who try the same token at
/// once, one gets through.
async fn use_up(cx: &Cx, key: &SecretKey, session: &Session, renewal: Renewal) -> Result<()> {
    let (act, id) = (cx.act(key), session.id.clone());
    let used = cx.write(move |tx| {
        Box::pin(async move {
            let act = &act;
            let held = store::lock(tx, &act.instance, &id).await?;
            let live = held.filter(|session| session.is_live(act.now));
            let session = live.ok_or_else(|| Error::new(Code::SessionRefreshInactiveSession))?;
            if !store::renew(tx, &session, &renewal.digest, renewal.too_old_at).await? {
                return Err(Error::new(Code::SessionRefreshExpiredSessionTokenConsumed));
            }
            store::save(tx, &rules::used(session, &act.settings, act.now)).await
        })
    });
    used.await
}

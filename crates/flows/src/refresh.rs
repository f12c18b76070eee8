//! Renewing the expired token of a session for a backend, so that the browser need not be sent around.

use axum::response::Response;
use latchkey_base::kinds::SessionId;
use latchkey_base::{Code, Error, Id, Result};
use latchkey_db::Tx;
use latchkey_door::cookies::{self, SESSION};
use latchkey_kernel::AppState;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::keyring::public_keys;
use latchkey_people::users::activity;
use latchkey_presence::renewed_tokens;
use latchkey_presence::sessions::backend::{Issuer, minted};
use latchkey_presence::sessions::input::{Format, RefreshQuery, RefreshSession};
use latchkey_presence::sessions::model::Session;
use latchkey_presence::sessions::present::PresentSession;
use latchkey_presence::sessions::renewals::{self, Renewal, Request};
use latchkey_presence::sessions::view::{self, RefreshedView};
use latchkey_presence::sessions::{rules, store};
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Sessions");
    api.post("/sessions/{session_id}/refresh", "RefreshSession", refresh)
        .summary("Renew the expired token of a session")
        .returns::<RefreshedView>()
        .instead(&[(404, 401), (422, 401)]);
}

async fn refresh(
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
    let present = found(&mut tx, &key, &id).await?;
    let issuer = Issuer::of(&cx, &mut tx, &key).await?.named(&renewal.issuer, &cx.app, &key);
    drop(tx);
    let secret = renewals::secret(&cx.app.master, &present.session, &input.request_origin);
    renewals::check_session(&present.session, &input.refresh_token, &secret, cx.now)?;
    use_up(&cx, &key, &present.session, renewal).await?;
    activity::note(&cx, &present.user).await;
    let origin = Some(input.request_origin.as_str());
    let jwt = minted(&cx, &key, &present, &issuer, origin, None).await?;
    match input.format.unwrap_or_default() {
        Format::Token => cx.reply(&view::token(&jwt)),
        Format::Cookie => {
            let names = cookies::names(SESSION, &issuer.publishable_key(&key), query.suffixed_cookies);
            let lines = names.iter().map(|name| cookies::for_app(name, &jwt, &input.request_origin));
            cx.reply(&view::cookies(lines.collect()))
        }
    }
}

async fn found(tx: &mut Tx, key: &SecretKey, id: &str) -> Result<PresentSession> {
    let unknown = || Error::new(Code::SessionRefreshSessionNotFound);
    let id = Id::parse(id).ok_or_else(unknown)?;
    if let Some(present) = store::find_with_user(tx, &key.instance, &id, &key.settings).await? {
        return Ok(present);
    }
    match store::find(tx, &key.instance, &id, &key.settings).await? {
        Some(_) => Err(Error::new(Code::SessionRefreshUserNotFound)),
        None => Err(unknown()),
    }
}

/// Notes that the token was renewed, and that the session is in use: of several who try the same token at
/// once, one gets through.
async fn use_up(cx: &Cx, key: &SecretKey, session: &Session, renewal: Renewal) -> Result<()> {
    let (act, id) = (cx.act(key), session.id.clone());
    cx.write(move |tx| Box::pin(async move { use_up_in(tx, &act, &id, &renewal).await })).await
}

async fn use_up_in(tx: &mut Tx, act: &Act, id: &SessionId, renewal: &Renewal) -> Result<()> {
    let held = store::lock(tx, &act.instance, id, &act.settings).await?;
    let live = held.filter(|session| session.is_live(act.now));
    let session = live.ok_or_else(|| Error::new(Code::SessionRefreshInactiveSession))?;
    if !renewed_tokens::renew(tx, &session, &renewal.digest, renewal.too_old_at).await? {
        return Err(Error::new(Code::SessionRefreshExpiredSessionTokenConsumed));
    }
    store::save(tx, &rules::used(session, &act.settings, act.now)).await
}

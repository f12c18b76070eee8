//! Routes and handlers of the backend API.

use axum::response::Response;
use latchkey_base::kinds::{SessionId, UserId};
use latchkey_base::page::Paging;
use latchkey_base::{Code, Error, Id, Result};
use latchkey_db::Tx;
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;

use super::closing::Clients;
use super::input::{
    CreateSession, CreateSessionToken, ListSessions, RefreshQuery, RefreshSession, VerifySession,
};
use super::model::Session;
use super::rules::{self, Entry};
use super::store::{self, Filters};
use super::templated::{self, Order};
use super::tokens::{self, Minting};
use super::view::{self, RefreshedView, SessionView, TokenView};
use super::{activity, custom_claims, ending, refresh};
use crate::AppState;
use crate::auth::SecretKey;
use crate::cx::Cx;
use crate::frontend::site::url_of;
use crate::keyring::{Signer, public_keys};
use crate::resources::clients::model::Client;
use crate::resources::clients::{store as clients, token};
use crate::resources::instances::keys::publishable_key;
use crate::resources::instances::store as instances;
use crate::resources::users::change::Target;
use crate::resources::users::model::User;
use crate::resources::users::store as users;
use crate::resources::users::view::{ListView, MaybePaginated};

type Answer = Result<Response, Failure>;

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Sessions");
    api.get("/sessions", "GetSessionList", list)
        .summary("List sessions")
        .query::<ListSessions>()
        .returns::<MaybePaginated<SessionView>>();
    api.post("/sessions", "createSession", create)
        .summary("Create a session, on development instances")
        .body::<CreateSession>()
        .returns::<SessionView>()
        .errors(&[403, 404]);
    api.get("/sessions/{session_id}", "GetSession", get).summary("Get a session").returns::<SessionView>();
    api.post("/sessions/{session_id}/refresh", "RefreshSession", refresh::refresh)
        .summary("Renew the expired token of a session")
        .query::<RefreshQuery>()
        .body::<RefreshSession>()
        .returns::<RefreshedView>()
        .instead(&[(404, 401), (422, 401)]);
    api.post("/sessions/{session_id}/revoke", "RevokeSession", revoke)
        .summary("Revoke a session")
        .returns::<SessionView>();
    api.post("/sessions/{session_id}/tokens", "CreateSessionToken", create_token)
        .summary("Create a token of a session")
        .optional_body::<CreateSessionToken>()
        .returns::<TokenView>()
        .quiet();
    api.post(
        "/sessions/{session_id}/tokens/{template_name}",
        "CreateSessionTokenFromTemplate",
        create_template_token,
    )
    .summary("Create a token of a session from a template")
    .optional_body::<CreateSessionToken>()
    .returns::<TokenView>();
    api.post("/sessions/{session_id}/verify", "VerifySession", verify)
        .summary("Check a token of a session; superseded by checking its signature")
        .body::<VerifySession>()
        .returns::<SessionView>();
}

async fn list(cx: Cx, key: SecretKey, Query(query): Query<ListSessions>) -> Answer {
    let paging = Paging { limit: query.limit, offset: query.offset };
    let is_pending_active = view::is_pending_active(query.status, cx.version)?;
    let filters =
        Filters { client: query.client_id, user: query.user_id, status: query.status, is_pending_active };
    // Without a client or a user the list may be walked far before a page is full.
    let is_quick = filters.client.is_some() || filters.user.is_some();
    let mut tx = if is_quick { cx.app.db.read().await? } else { cx.app.db.read_long().await? };
    let sessions = store::list(&mut tx, &key.instance, filters.clone(), paging, cx.now).await?;
    let data: Vec<_> = sessions.iter().map(|session| view::session(session, cx.now)).collect();
    cx.reply(&match query.paginated {
        true => {
            let total_count = store::count(&mut tx, &key.instance, filters, cx.now).await?;
            MaybePaginated::Paginated(ListView { data, total_count })
        }
        false => MaybePaginated::Bare(data),
    })
}

/// Opens a session on a client of its own, whose secret nobody gets: it is there to mint tokens from.
async fn create(cx: Cx, key: SecretKey, Input(input): Input<CreateSession>) -> Answer {
    rules::check_creation(key.environment)?;
    let id: UserId = Id::parse(&input.user_id).ok_or_else(|| Error::not_found("user", &input.user_id))?;
    if let Some(organization) = &input.active_organization_id {
        return Err(Error::not_found("organization", organization).into());
    }
    let act = cx.act(&key);
    let session = cx
        .write(move |tx| {
            Box::pin(async move {
                let act = &act;
                let user = Target::User(id).lock(tx, act).await?;
                rules::check_enterable(&user, act.now)?;
                let mut client = Client::new(&act.instance, act.now, &*act.rng).knows(&user.id);
                clients::insert(tx, &client, &token::digest(&token::secret(&*act.rng))).await?;
                let entry = Entry { first_factor: true, ..Entry::default() };
                let seen = activity::seen(&act.user_agent, &act.client_ip, act.now, &*act.rng);
                let session = rules::begin(&user, &client.id, entry, seen, &act.settings, act.now, &*act.rng);
                store::insert(tx, &session).await?;
                client.last_active_session = Some(session.id.clone());
                clients::save(tx, &client, act.now).await?;
                let active = User { last_active_at: Some(act.now), ..user.clone() };
                users::save(tx, &user, &active).await?;
                ending::announce(tx, act, &session).await?;
                Ok(session)
            })
        })
        .await?;
    cx.reply(&view::session(&session, cx.now))
}

async fn get(cx: Cx, key: SecretKey, Path(id): Path<SessionId>) -> Answer {
    let mut tx = cx.app.db.read().await?;
    let found = store::find(&mut tx, &key.instance, &id).await?;
    cx.reply(&view::session(&found.ok_or_else(|| unknown(&id))?, cx.now))
}

/// Revokes a session. One that is over already becomes revoked too, as published.
async fn revoke(cx: Cx, key: SecretKey, Path(id): Path<SessionId>) -> Answer {
    let act = cx.act(&key);
    let session = cx
        .write(move |tx| {
            Box::pin(async move {
                let found = store::find(tx, &act.instance, &id).await?.ok_or_else(|| unknown(&id))?;
                // Whoever is signed in on the client changes it first, then the session.
                let mut clients = Clients::lock(tx, &act, &[&found.client]).await?;
                let found = store::lock(tx, &act.instance, &id).await?.ok_or_else(|| unknown(&id))?;
                ending::revoke(tx, &act, &mut clients, found).await
            })
        })
        .await?;
    cx.reply(&view::session(&session, cx.now))
}

async fn create_token(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<SessionId>,
    Input(input): Input<CreateSessionToken>,
) -> Answer {
    let mut tx = cx.app.db.read().await?;
    let (session, user) = live(&cx, &mut tx, &key, &id).await?;
    let issuer = Issuer::of(&cx, &mut tx, &key).await?;
    // Signing is slow compared to reading; nobody should wait for the connection meanwhile.
    drop(tx);
    let jwt = minted(&cx, &key, &session, &user, &issuer, None, input.expires_in_seconds)?;
    cx.reply(&view::token(&jwt))
}

async fn create_template_token(
    cx: Cx,
    key: SecretKey,
    Path((id, name)): Path<(SessionId, String)>,
    Input(input): Input<CreateSessionToken>,
) -> Answer {
    let mut tx = cx.app.db.read().await?;
    let (session, user) = live(&cx, &mut tx, &key, &id).await?;
    let issuer = Issuer::of(&cx, &mut tx, &key).await?;
    drop(tx);
    let order = Order {
        now: cx.now,
        issuer: &issuer.url,
        origin: None,
        api_url: &cx.app.api_url,
        lifetime_seconds: input.expires_in_seconds,
    };
    let jwt = templated::mint(&cx.app, &session, &user, &name, &order).await?;
    cx.reply(&view::token(&jwt))
}

/// Answers the session if the token is one of it and both are still good.
async fn verify(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<SessionId>,
    Input(input): Input<VerifySession>,
) -> Answer {
    let mut tx = cx.app.db.read().await?;
    let (session, _) = live(&cx, &mut tx, &key, &id).await?;
    let keys = public_keys(&mut tx, &key.instance, cx.now).await?;
    tokens::check(&session, input.token.expose(), &keys, cx.now)?;
    cx.reply(&view::session(&session, cx.now))
}

/// Who vouches for tokens of an instance.
pub struct Issuer {
    /// Its URL.
    pub url: String,
    host: String,
    signer: Signer,
}

impl Issuer {
    /// The issuer of the instance a key belongs to.
    pub async fn of(cx: &Cx, tx: &mut Tx, key: &SecretKey) -> Result<Issuer> {
        let host = instances::frontend_api(tx, &key.instance).await?.unwrap_or_default();
        let signer = cx.app.signer(tx, &key.instance, cx.now).await?;
        Ok(Issuer { url: url_of(&host), host, signer })
    }

    /// The same under the name of the satellite domain that vouched before, if it is one.
    pub fn named(self, before: &str, key: &SecretKey) -> Issuer {
        let mut names = key.settings.satellites.iter().map(|satellite| url_of(&satellite.host()));
        match names.find(|name| name == before) {
            Some(url) => Issuer { url, ..self },
            None => self,
        }
    }

    /// The key browsers carry.
    pub fn publishable_key(&self, key: &SecretKey) -> String {
        publishable_key(key.environment, &self.host)
    }
}

/// Mints a token of a session, for the app at `origin` if it is for one.
pub fn minted(
    cx: &Cx,
    key: &SecretKey,
    session: &Session,
    user: &User,
    issuer: &Issuer,
    origin: Option<&str>,
    lifetime_seconds: Option<i64>,
) -> Result<String> {
    let minting = Minting {
        now: cx.now,
        issuer: &issuer.url,
        origin,
        lifetime_seconds: lifetime_seconds.unwrap_or(key.settings.session.token_lifetime_seconds),
        version: cx.version,
        custom: custom_claims(&key.settings, session, user, &cx.app.api_url)?,
    };
    tokens::mint(session, &minting, &issuer.signer, &*cx.app.rng)
}

/// A session that still counts, with its user. One that does not gives no tokens, and to those who want
/// one it is not there.
async fn live(cx: &Cx, tx: &mut Tx, key: &SecretKey, id: &SessionId) -> Result<(Session, User)> {
    let found = store::find_with_user(tx, &key.instance, id).await?.ok_or_else(|| unknown(id))?;
    match found.0.is_live(cx.now) {
        true => Ok(found),
        false => Err(Error::new(Code::ResourceNotFound).saying(format!("The session {id} is over."))),
    }
}

fn unknown(id: &SessionId) -> Error {
    Error::not_found("session", id)
}

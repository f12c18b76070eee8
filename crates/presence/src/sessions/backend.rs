//! Routes and handlers of the backend API.

use latchkey_base::kinds::{SessionId, UserId};
use latchkey_base::{Code, Error, Id, Result};
use latchkey_db::Tx;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::hosts::{self, url_of};
use latchkey_kernel::instances::keys::publishable_key;
use latchkey_kernel::instances::store as instances;
use latchkey_kernel::keyring::{Signer, public_keys};
use latchkey_kernel::slow::WorkOwner;
use latchkey_kernel::wire::{ListView, MaybePaginated};
use latchkey_kernel::{App, AppState};
use latchkey_organizations::choices::{self, ChosenOrganization};
use latchkey_people::users::change::UserTarget;
use latchkey_people::users::model::User;
use latchkey_people::users::store as users;
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::query::Query;
use latchkey_web::reply::Reply;

use super::closing::Clients;
use super::input::{CreateSession, CreateSessionToken, ListSessions, VerifySession};
use super::model::Session;
use super::present::PresentSession;
use super::rules::{self, Entry};
use super::store::{self, SessionFilters};
use super::templated::{self, TokenRequest};
use super::tokens::{self, Minting};
use super::view::{self, SessionView, TokenView};
use super::working;
use crate::clients::model::Client;
use crate::clients::{store as clients, token};
use crate::sessions::{activity, custom_claims, ending};

pub fn routes(api: &mut Api<AppState>) {
    api.group("Sessions");
    api.get("/sessions", "GetSessionList", list)
        .summary("List sessions")
        .returns::<MaybePaginated<SessionView>>();
    api.post("/sessions", "createSession", create)
        .summary("Create a session, on development instances")
        .returns::<SessionView>()
        .errors(&[404])
        // No 403 is published. Users who are banned or locked are refused with one elsewhere.
        .instead(&[(403, 422)]);
    api.get("/sessions/{session_id}", "GetSession", get).summary("Get a session").returns::<SessionView>();
    api.post("/sessions/{session_id}/revoke", "RevokeSession", revoke)
        .summary("Revoke a session")
        .returns::<SessionView>();
    api.post("/sessions/{session_id}/tokens", "CreateSessionToken", create_token)
        .summary("Create a token of a session")
        .returns::<TokenView>()
        .quiet();
    api.post(
        "/sessions/{session_id}/tokens/{template_name}",
        "CreateSessionTokenFromTemplate",
        create_template_token,
    )
    .summary("Create a token of a session from a template")
    .returns::<TokenView>();
    api.post("/sessions/{session_id}/verify", "VerifySession", verify)
        .summary("Check a token of a session; superseded by checking its signature")
        .returns::<SessionView>();
}

async fn list(cx: Cx, key: SecretKey, Query(query): Query<ListSessions>) -> Reply {
    let is_pending_active = view::is_pending_active(query.status, cx.version)?;
    let filters = SessionFilters {
        client: query.client_id,
        user: query.user_id,
        status: query.status,
        is_pending_active,
    };
    // Without a client or a user the list may be walked far before a page is full.
    let is_indexed = filters.client.is_some() || filters.user.is_some();
    let (reads, paging) = (cx.backend_reads(&key.instance), query.page.paging);
    let mut tx = if is_indexed { reads.page(paging).await? } else { reads.long().await? };
    let sessions =
        store::list(&mut tx, &key.instance, filters.clone(), &key.settings, paging, cx.now).await?;
    let data: Vec<_> = sessions.iter().map(|session| view::session(session, cx.now)).collect();
    cx.reply(&match query.page.paginated {
        true => {
            let total_count = store::count(&mut tx, &key.instance, filters, &key.settings, cx.now).await?;
            MaybePaginated::Paginated(ListView { data, total_count })
        }
        false => MaybePaginated::Bare(data),
    })
}

/// Opens a session on a client of its own, whose secret nobody gets: it is there to mint tokens from.
async fn create(cx: Cx, key: SecretKey, Input(input): Input<CreateSession>) -> Reply {
    rules::check_creation(key.environment)?;
    let id: UserId = Id::parse(&input.user_id).ok_or_else(|| Error::not_found("user", &input.user_id))?;
    let act = cx.act(&key);
    let organization = input.active_organization_id;
    let created = cx.write(move |tx| Box::pin(async move { create_in(tx, &act, id, organization).await }));
    cx.reply(&view::session(&created.await?, cx.now))
}

async fn create_in(tx: &mut Tx, act: &Act, user: UserId, organization: Option<String>) -> Result<Session> {
    let user = UserTarget::User(user).lock(tx, act).await?;
    rules::check_enterable(&user, act.now)?;
    let active = beginning(tx, act, &user.id, organization).await?;
    let mut client = Client::new(&act.instance, act.now, &*act.rng).knows(&user.id);
    clients::insert(tx, &client, &token::digest(&token::secret(&*act.rng))).await?;
    ending::make_room_of_user(tx, act, &user.id).await?;
    let entry = Entry { first_factor: true, active, ..Entry::default() };
    let seen = activity::seen(&act.user_agent, &act.client_ip, act.now, &*act.rng);
    let session = rules::begin(&user, &client.id, entry, seen, &act.settings, act.now, &*act.rng);
    store::insert(tx, &session).await?;
    client.last_active_session = Some(session.id.clone());
    clients::save(tx, &client, act.now).await?;
    let active = User { last_active_at: Some(act.now), ..user.clone() };
    users::save(tx, &user, &active).await?;
    ending::announce(tx, act, &session).await?;
    Ok(session)
}

async fn get(cx: Cx, key: SecretKey, Path(id): Path<SessionId>) -> Reply {
    let mut tx = cx.app.db.read().await?;
    let found = store::find(&mut tx, &key.instance, &id, &key.settings).await?;
    cx.reply(&view::session(&found.ok_or_else(|| unknown(&id))?, cx.now))
}

/// Revokes a session. One that is over already becomes revoked too, as published.
async fn revoke(cx: Cx, key: SecretKey, Path(id): Path<SessionId>) -> Reply {
    let act = cx.act(&key);
    let revoked = cx.write(move |tx| Box::pin(async move { revoke_in(tx, &act, &id).await }));
    cx.reply(&view::session(&revoked.await?, cx.now))
}

async fn revoke_in(tx: &mut Tx, act: &Act, id: &SessionId) -> Result<Session> {
    let found = store::find(tx, &act.instance, id, &act.settings).await?;
    let found = found.ok_or_else(|| unknown(id))?;
    // Whoever is signed in on the client changes it first, then the session.
    let mut clients = Clients::lock(tx, act, &[&found.client]).await?;
    let found = store::lock(tx, &act.instance, id, &act.settings).await?;
    let found = found.ok_or_else(|| unknown(id))?;
    ending::revoke(tx, act, &mut clients, found).await
}

async fn create_token(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<SessionId>,
    Input(input): Input<CreateSessionToken>,
) -> Reply {
    let mut tx = cx.app.db.read().await?;
    let present = live(&cx, &mut tx, &key, &id).await?;
    let issuer = Issuer::of(&cx, &mut tx, &key).await?;
    // Signing is slow compared to reading; nobody should wait for the connection meanwhile.
    drop(tx);
    let jwt = minted(&cx, &key, &present, &issuer, None, input.expires_in_seconds).await?;
    cx.reply(&view::token(&jwt))
}

async fn create_template_token(
    cx: Cx,
    key: SecretKey,
    Path((id, name)): Path<(SessionId, String)>,
    Input(input): Input<CreateSessionToken>,
) -> Reply {
    let mut tx = cx.app.db.read().await?;
    let present = live(&cx, &mut tx, &key, &id).await?;
    let issuer = Issuer::of(&cx, &mut tx, &key).await?;
    drop(tx);
    let request = TokenRequest {
        now: cx.now,
        owner: WorkOwner::backend(&key.instance),
        issuer: &issuer.url,
        origin: None,
        api_url: &cx.app.api_url,
        lifetime_seconds: input.expires_in_seconds,
    };
    let jwt = templated::mint(&cx.app, &present, &name, &request).await?;
    cx.reply(&view::token(&jwt))
}

/// Answers the session if the token is one of it and both are still good.
async fn verify(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<SessionId>,
    Input(input): Input<VerifySession>,
) -> Reply {
    let mut tx = cx.app.db.read().await?;
    let PresentSession { session, .. } = live(&cx, &mut tx, &key, &id).await?;
    let keys = public_keys(&mut tx, &key.instance, cx.now).await?;
    tokens::check(&session, input.token.expose(), &keys, cx.now)?;
    cx.reply(&view::session(&session, cx.now))
}

/// Who vouches for tokens of an instance.
pub struct Issuer {
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

    /// The same under the name that vouched before, if it is that of a satellite domain or of the other host of the
    /// instance on this machine.
    pub fn named(self, before: &str, app: &App, key: &SecretKey) -> Issuer {
        if let Some(host) = app.local_host_of(&self.host).filter(|host| hosts::authority(before) == *host) {
            return Issuer { url: before.to_owned(), host: host.to_owned(), ..self };
        }
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
pub async fn minted(
    cx: &Cx,
    key: &SecretKey,
    present: &PresentSession,
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
        custom: custom_claims(&cx.app.db, &key.settings, present, None, &cx.app.api_url).await?,
        entitlements: &present.user.entitlements,
        active: present.active.as_ref(),
    };
    tokens::mint(&present.session, &minting, &issuer.signer, &*cx.app.rng)
}

/// The organization that a new session begins with: the one that was asked for, of which the user must be a member, or
/// the one they chose or joined last.
async fn beginning(
    tx: &mut Tx,
    act: &Act,
    user: &UserId,
    asked: Option<String>,
) -> Result<Option<ChosenOrganization>> {
    match asked.filter(|asked| !asked.is_empty()) {
        Some(asked) => {
            let found = working::required_choice(tx, act, user, &asked).await;
            // Opening one has no published 403.
            found.map(Some).map_err(|error| match error.code() {
                Code::NotAMemberInOrganization => {
                    Error::param(Code::FormResourceNotFound, "active_organization_id")
                        .saying("The user is not a member of that organization.")
                }
                _ => error,
            })
        }
        None => choices::next(tx, &act.instance, user, &act.settings.organizations).await,
    }
}

/// A session that still counts, with its user. One that does not gives no tokens, and to those who want
/// one it is not there.
async fn live(cx: &Cx, tx: &mut Tx, key: &SecretKey, id: &SessionId) -> Result<PresentSession> {
    let found = store::find_with_user(tx, &key.instance, id, &key.settings).await?;
    let found = found.ok_or_else(|| unknown(id))?;
    match found.session.is_live(cx.now) {
        true => Ok(found),
        false => Err(Error::new(Code::ResourceNotFound).saying(format!("The session {id} is over."))),
    }
}

fn unknown(id: &SessionId) -> Error {
    Error::not_found("session", id)
}

//! Routes and handlers of the Frontend API about one session of the client.

use axum::response::Response;
use latchkey_base::kinds::SessionId;
use latchkey_base::patch::Patch;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::client::{self, mint, view_context};
use latchkey_door::client_handle::{ClientHandle, ClientOfSession};
use latchkey_door::person::{Person, PersonInPath, SessionVisitor};
use latchkey_door::reply::Envelope;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::slow::WorkOwner;
use latchkey_kernel::{AppState, limits};
use latchkey_organizations::choices::ChosenOrganization;
use latchkey_organizations::memberships::store as memberships;
use latchkey_people::users::activity;
use latchkey_presence::clients::model::Client;
use latchkey_presence::clients::store as clients;
use latchkey_presence::sessions::closing::Clients;
use latchkey_presence::sessions::model::{Session, SessionStatus};
use latchkey_presence::sessions::present::PresentSession;
use latchkey_presence::sessions::templated::{self, TokenRequest};
use latchkey_presence::sessions::view::{self, FrontendSessionView, TokenView};
use latchkey_presence::sessions::working::{self, ChosenBy, OrganizationChoice};
use latchkey_presence::sessions::{ending, rules, store};
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use latchkey_web::input::Path;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Sessions");
    api.get("/v1/client/sessions/{session_id}", "getSession", get)
        .summary("Get a session of the client")
        .returns::<Envelope<'_, FrontendSessionView<'_>>>()
        .only_reads();
    api.post("/v1/client/sessions/{session_id}/touch", "touchSession", touch)
        .summary("Use a session, and make it the active one")
        .returns::<Envelope<'_, FrontendSessionView<'_>>>()
        .limited_by_person(&[limits::TOUCHES]);
    api.post("/v1/client/sessions/{session_id}/end", "endSession", end)
        .summary("Sign out of a session everywhere")
        .returns::<Envelope<'_, FrontendSessionView<'_>>>();
    api.post("/v1/client/sessions/{session_id}/remove", "removeSession", remove)
        .summary("Sign out of a session on this client")
        .returns::<Envelope<'_, FrontendSessionView<'_>>>();
    api.post("/v1/client/sessions/{session_id}/tokens", "createSessionToken", create_token)
        .summary("Get a token of a session")
        .returns::<TokenView<'_>>()
        .limited(limits::TOKENS_OF_ADDRESS)
        .limited_by_person(&[limits::TOKENS])
        .quiet()
        .read_ahead();
    api.post(
        "/v1/client/sessions/{session_id}/tokens/{template_name}",
        "createSessionTokenWithTemplate",
        create_template_token,
    )
    .summary("Get a token of a session from a template")
    .returns::<TokenView<'_>>()
    .limited(limits::TOKENS_OF_ADDRESS)
    .limited_by_person(&[limits::TOKENS]);
}

async fn get(cx: Cx, SessionVisitor(visitor): SessionVisitor, Path(id): Path<SessionId>) -> Response {
    let outcome = find(&cx, &visitor, &id).await;
    show(&cx, &visitor, outcome).await
}

/// What a session is used for.
#[derive(Deserialize, JsonSchema)]
struct Touch {
    /// The organization to work for from now on, by its id or slug; empty or null for none.
    #[serde(default)]
    active_organization_id: Patch<String>,
}

async fn touch(
    cx: Cx,
    SessionVisitor(mut visitor): SessionVisitor,
    Path(id): Path<SessionId>,
    Form(input): Form<Touch>,
) -> Result<Response, Failure> {
    let (handle, act) = (visitor.client_handle(), visitor.act(&cx));
    let organization = text(input.active_organization_id);
    let asked = OrganizationChoice::read(organization.as_deref(), &act.settings);
    let touched = cx.write(move |tx| Box::pin(async move { touch_in(tx, &act, &handle, &id, &asked).await }));
    let outcome = match touched.await {
        Ok((client, id)) => {
            visitor.becomes(client, None);
            let found = find(&cx, &visitor, &id).await;
            if let Ok(present) = &found {
                activity::note(&cx, &present.user).await;
            }
            found
        }
        Err(error) => Err(error),
    };
    Ok(show(&cx, &visitor, outcome).await)
}

async fn touch_in(
    tx: &mut Tx,
    act: &Act,
    handle: &ClientHandle,
    id: &SessionId,
    asked: &OrganizationChoice,
) -> Result<(Client, SessionId)> {
    let ClientOfSession { mut client, is_newest } = handle.lock_of(tx, id).await?;
    let session = find_live(tx, act, &client, id).await?;
    let choice = working::choose(tx, act, &session, (asked, ChosenBy::Themselves)).await?;
    let session = lock_live(tx, act, &client, id).await?;
    let session = rules::used(session, &act.settings, act.now);
    let session = working::save_chosen(tx, act, session, choice).await?;
    // Apps compare tokens with the time of the client's last change, so it only moves when
    // another session becomes the active one. An earlier token may be planted: it must not make the browser go on in
    // another account.
    if is_newest && client.last_active_session.as_ref() != Some(&session.id) {
        client.last_active_session = Some(session.id.clone());
        client.updated_at = act.now;
    }
    clients::save(tx, &client, act.now).await?;
    Ok((client, session.id))
}

async fn end(cx: Cx, SessionVisitor(visitor): SessionVisitor, Path(id): Path<SessionId>) -> Response {
    finish(cx, visitor, id, SessionStatus::Ended).await
}

async fn remove(cx: Cx, SessionVisitor(visitor): SessionVisitor, Path(id): Path<SessionId>) -> Response {
    finish(cx, visitor, id, SessionStatus::Removed).await
}

async fn finish(cx: Cx, mut visitor: Visitor, id: SessionId, status: SessionStatus) -> Response {
    let (handle, act) = (visitor.client_handle(), visitor.act(&cx));
    let finished =
        cx.write(move |tx| Box::pin(async move { finish_in(tx, &act, &handle, &id, status).await }));
    let outcome = match finished.await {
        Ok((client, id)) => {
            if let Some(client) = client {
                visitor.becomes(client, None);
            }
            find(&cx, &visitor, &id).await
        }
        Err(error) => Err(error),
    };
    show(&cx, &visitor, outcome).await
}

async fn finish_in(
    tx: &mut Tx,
    act: &Act,
    handle: &ClientHandle,
    id: &SessionId,
    status: SessionStatus,
) -> Result<(Option<Client>, SessionId)> {
    let ClientOfSession { client, .. } = handle.lock_of(tx, id).await?;
    let found = store::lock(tx, &act.instance, id, &act.settings).await?;
    let session = found.filter(|session| session.client == client.id).ok_or_else(|| unknown(id))?;
    let mut clients = Clients::of(vec![client]);
    let session = ending::end(tx, act, &mut clients, session, status).await?;
    Ok((clients.take(&session.client), session.id))
}

/// The name of an organization, as forms send it: empty rather than null.
fn text(organization: Patch<String>) -> Option<String> {
    organization.change().map(Option::unwrap_or_default)
}

/// What a token is for.
#[derive(Deserialize, JsonSchema)]
struct CreateToken {
    /// The organization it names, by its id or slug; empty or null for none.
    #[serde(default)]
    organization_id: Patch<String>,
}

/// The most frequent request of all: every open page renews its token each minute.
async fn create_token(
    cx: Cx,
    PersonInPath(person): PersonInPath,
    Form(input): Form<CreateToken>,
) -> Result<Response, Failure> {
    let Person { visitor, session, user, active } = person;
    let present = PresentSession { session, user, active };
    let present = for_organization(&cx, &visitor, present, text(input.organization_id).as_deref()).await?;
    let signer = visitor.site.signer(&cx.app, cx.now).await?;
    let jwt = mint(&cx, &visitor, &present, &signer).await?;
    note_use(&cx, &visitor, present).await?;
    cx.reply_unversioned(&view::token(&jwt))
}

/// The session as a token for another organization shows it. The session itself stays as it is: one that waits for the
/// choice of an organization goes on waiting, and the token says so.
async fn for_organization(
    cx: &Cx,
    visitor: &Visitor,
    present: PresentSession,
    asked: Option<&str>,
) -> Result<PresentSession> {
    let site = &visitor.site;
    let active = match OrganizationChoice::read(asked, &site.settings) {
        OrganizationChoice::Same => return Ok(present),
        OrganizationChoice::Oneself => None,
        OrganizationChoice::Organization(asked) if present.is_for(&asked) => return Ok(present),
        OrganizationChoice::Organization(_) if !site.settings.organizations.enabled => {
            return Err(working::not_a_member());
        }
        OrganizationChoice::Organization(asked) => {
            let mut tx = cx.app.db.read().await?;
            let found = memberships::find_active(&mut tx, &site.instance, &asked, &present.user.id).await?;
            Some(found.ok_or_else(working::not_a_member)?)
        }
    };
    let active_organization = active.as_ref().map(|active| ChosenOrganization::of(&active.membership));
    let session = Session { active_organization, ..present.session };
    Ok(PresentSession { session, active, ..present })
}

async fn create_template_token(
    cx: Cx,
    SessionVisitor(visitor): SessionVisitor,
    Path((id, name)): Path<(SessionId, String)>,
) -> Result<Response, Failure> {
    let present = live(&mut cx.app.db.read().await?, &cx, &visitor, &id).await?;
    let request = TokenRequest {
        now: cx.now,
        owner: WorkOwner::user(&present.user.instance, &present.user.id),
        issuer: &visitor.site.issuer,
        origin: visitor.origin.as_deref(),
        api_url: &visitor.site.base_url,
        lifetime_seconds: None,
    };
    let jwt = templated::mint(&cx.app, &present, &name, &request).await?;
    note_use(&cx, &visitor, present).await?;
    cx.reply_unversioned(&view::token(&jwt))
}

/// Notes now and then that a session is in use.
async fn note_use(cx: &Cx, visitor: &Visitor, present: PresentSession) -> Result<()> {
    let PresentSession { session, user, .. } = present;
    if !rules::is_worth_noting(&session, cx.now) {
        return Ok(());
    }
    let (act, id) = (visitor.act(cx), session.id);
    cx.write(move |tx| Box::pin(async move { note_use_in(tx, &act, &id).await })).await?;
    activity::note(cx, &user).await;
    Ok(())
}

async fn note_use_in(tx: &mut Tx, act: &Act, id: &SessionId) -> Result<()> {
    let found = store::lock(tx, &act.instance, id, &act.settings).await?;
    match found.filter(|session| session.is_live(act.now)) {
        Some(session) => {
            ending::save(tx, act, rules::used(session, &act.settings, act.now)).await.map(|_| ())
        }
        None => Ok(()),
    }
}

/// A session of the visitor's client, whatever became of it, with its user.
async fn find(cx: &Cx, visitor: &Visitor, id: &SessionId) -> Result<PresentSession> {
    let mut tx = cx.app.db.read().await?;
    find_mine(&mut tx, visitor, id).await
}

async fn find_mine(tx: &mut Tx, visitor: &Visitor, id: &SessionId) -> Result<PresentSession> {
    let client = visitor.require_client_of(id)?;
    let site = &visitor.site;
    let found = store::find_with_user(tx, &site.instance, id, &site.settings).await?;
    found.filter(|found| found.session.client == client.id).ok_or_else(|| unknown(id))
}

/// A session of the visitor's client that still counts, with its user.
async fn live(tx: &mut Tx, cx: &Cx, visitor: &Visitor, id: &SessionId) -> Result<PresentSession> {
    let mine = find_mine(tx, visitor, id).await?;
    match mine.session.is_live(cx.now) {
        true => Ok(mine),
        false => Err(Error::new(Code::SignedOut)),
    }
}

async fn find_live(tx: &mut Tx, act: &Act, client: &Client, id: &SessionId) -> Result<Session> {
    check_live(store::find(tx, &act.instance, id, &act.settings).await?, act, client, id)
}

async fn lock_live(tx: &mut Tx, act: &Act, client: &Client, id: &SessionId) -> Result<Session> {
    check_live(store::lock(tx, &act.instance, id, &act.settings).await?, act, client, id)
}

fn check_live(found: Option<Session>, act: &Act, client: &Client, id: &SessionId) -> Result<Session> {
    let session = found.filter(|session| session.client == client.id).ok_or_else(|| unknown(id))?;
    match session.is_live(act.now) {
        true => Ok(session),
        false => Err(Error::new(Code::SignedOut)),
    }
}

/// Answers with a session; one that counts has a fresh token.
async fn show(cx: &Cx, visitor: &Visitor, outcome: Result<PresentSession>) -> Response {
    let outcome = match outcome {
        Ok(present) => with_token(cx, visitor, present).await,
        Err(error) => Err(error),
    };
    match (client::load(cx, visitor).await, outcome) {
        (Ok(shown), Ok((PresentSession { session, user, .. }, token))) => {
            let context = view_context(&visitor.site, cx.now);
            let memberships = client::memberships(shown.as_ref());
            let view = view::frontend(&session, &user, token.as_deref(), memberships, context);
            visitor.answer_with(cx, shown.as_ref(), Ok(view)).await
        }
        (Ok(shown), Err(error)) => visitor.answer_with::<()>(cx, shown.as_ref(), Err(error)).await,
        (Err(error), _) => visitor.refuse(cx, error).await,
    }
}

async fn with_token(
    cx: &Cx,
    visitor: &Visitor,
    present: PresentSession,
) -> Result<(PresentSession, Option<String>)> {
    if !present.session.is_live(cx.now) {
        return Ok((present, None));
    }
    let signer = visitor.site.signer(&cx.app, cx.now).await?;
    let token = mint(cx, visitor, &present, &signer).await?;
    Ok((present, Some(token)))
}

fn unknown(id: &SessionId) -> Error {
    Error::not_found("session", id)
}

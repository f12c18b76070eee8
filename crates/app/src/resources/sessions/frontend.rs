//! Routes and handlers of the Frontend API about one session of the client.

use axum::response::Response;
use latchkey_base::kinds::SessionId;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_db::Tx;
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use latchkey_web::input::Path;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::closing::Clients;
use super::model::{Session, Status};
use super::templated::{self, Order};
use super::view::{self, FrontendSessionView, TokenView};
use super::{ending, rules, store};
use crate::AppState;
use crate::cx::{Act, Cx};
use crate::frontend::client::{lens, mint};
use crate::frontend::person::{InPath, Person};
use crate::frontend::reply::Envelope;
use crate::frontend::visitor::Visitor;
use crate::resources::clients::model::Client;
use crate::resources::clients::store as clients;
use crate::resources::users::activity;
use crate::resources::users::model::User;
use crate::resources::users::store as users;

type Wrapped<'a> = Envelope<'a, FrontendSessionView<'a>>;

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Sessions");
    api.get("/v1/client/sessions/{session_id}", "getSession", get)
        .summary("Get a session of the client")
        .returns::<Wrapped<'_>>();
    api.post("/v1/client/sessions/{session_id}/touch", "touchSession", touch)
        .summary("Use a session, and make it the active one")
        .form::<Touch>()
        .returns::<Wrapped<'_>>();
    api.post("/v1/client/sessions/{session_id}/end", "endSession", end)
        .summary("Sign out of a session everywhere")
        .returns::<Wrapped<'_>>();
    api.post("/v1/client/sessions/{session_id}/remove", "removeSession", remove)
        .summary("Sign out of a session on this client")
        .returns::<Wrapped<'_>>();
    api.post("/v1/client/sessions/{session_id}/tokens", "createSessionToken", create_token)
        .summary("Get a token of a session")
        .form::<CreateToken>()
        .returns::<TokenView<'_>>()
        .quiet();
    api.post(
        "/v1/client/sessions/{session_id}/tokens/{template_name}",
        "createSessionTokenWithTemplate",
        create_template_token,
    )
    .summary("Get a token of a session from a template")
    .returns::<TokenView<'_>>();
}

async fn get(cx: Cx, visitor: Visitor, Path(id): Path<SessionId>) -> Response {
    let outcome = find(&cx, &visitor, &id).await;
    show(&cx, &visitor, outcome).await
}

/// What a session is used for.
#[derive(Deserialize, JsonSchema)]
struct Touch {
    /// The organization to work for from now on; empty for none.
    active_organization_id: Option<String>,
}

async fn touch(
    cx: Cx,
    mut visitor: Visitor,
    Path(id): Path<SessionId>,
    Form(input): Form<Touch>,
) -> Result<Response, Failure> {
    check_organization(input.active_organization_id.as_deref())?;
    let (hold, act) = (visitor.hold(), visitor.act(&cx));
    let touched = cx.write(move |tx| {
        Box::pin(async move {
            let act = &act;
            let mut client = hold.lock_known(tx).await?;
            let session = lock_live(tx, &client, &id, act.now).await?;
            let session = settled(tx, act, rules::used(session, &act.settings, act.now)).await?;
            // Apps compare tokens with the time of the client's last change, so it only moves when
            // another session becomes the active one.
            if client.last_active_session.as_ref() != Some(&session.id) {
                client.last_active_session = Some(session.id.clone());
                client.updated_at = act.now;
            }
            clients::save(tx, &client, act.now).await?;
            Ok((client, session.id))
        })
    });
    let outcome = match touched.await {
        Ok((client, id)) => {
            visitor.becomes(client, None);
            let found = find(&cx, &visitor, &id).await;
            if let Ok((_, user)) = &found {
                activity::note(&cx, user).await;
            }
            found
        }
        Err(error) => Err(error),
    };
    Ok(show(&cx, &visitor, outcome).await)
}

/// Saves a session. One that waited for something nobody asks for any more counts from now on.
async fn settled(tx: &mut Tx, act: &Act, session: Session) -> Result<Session> {
    let user = match session.status {
        Status::Pending => users::find(tx, &act.instance, &session.user).await?,
        _ => None,
    };
    match user {
        Some(user) => ending::settle(tx, act, session, &user).await,
        None => store::save(tx, &session).await.map(|()| session),
    }
}

async fn end(cx: Cx, visitor: Visitor, Path(id): Path<SessionId>) -> Response {
    finish(cx, visitor, id, Status::Ended).await
}

async fn remove(cx: Cx, visitor: Visitor, Path(id): Path<SessionId>) -> Response {
    finish(cx, visitor, id, Status::Removed).await
}

async fn finish(cx: Cx, mut visitor: Visitor, id: SessionId, status: Status) -> Response {
    let (hold, act) = (visitor.hold(), visitor.act(&cx));
    let finished = cx.write(move |tx| {
        Box::pin(async move {
            let client = hold.lock_known(tx).await?;
            let found = store::lock(tx, &act.instance, &id).await?;
            let session = found.filter(|session| session.client == client.id).ok_or_else(|| unknown(&id))?;
            let mut clients = Clients::of(vec![client]);
            let session = ending::end(tx, &act, &mut clients, session, status).await?;
            Ok((clients.take(&session.client), session.id))
        })
    });
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

/// What a token is for.
#[derive(Deserialize, JsonSchema)]
struct CreateToken {
    /// The organization it names; empty for none.
    organization_id: Option<String>,
}

/// The most frequent request of all: every open page renews its token each minute.
async fn create_token(
    cx: Cx,
    InPath(person): InPath,
    Form(input): Form<CreateToken>,
) -> Result<Response, Failure> {
    check_organization(input.organization_id.as_deref())?;
    let Person { visitor, session, user } = person;
    let signer = cx.app.signer_at(&visitor.site, cx.now).await?;
    let jwt = mint(&cx, &visitor, &session, &user, &signer)?;
    note_use(&cx, &visitor, session, &user).await?;
    cx.bare(&view::token(&jwt))
}

async fn create_template_token(
    cx: Cx,
    visitor: Visitor,
    Path((id, name)): Path<(SessionId, String)>,
) -> Result<Response, Failure> {
    let (session, user) = live(&mut cx.app.db.read().await?, &cx, &visitor, &id).await?;
    let order = Order {
        now: cx.now,
        issuer: &visitor.site.issuer,
        origin: visitor.origin.as_deref(),
        api_url: &visitor.site.base_url,
        lifetime_seconds: None,
    };
    let jwt = templated::mint(&cx.app, &session, &user, &name, &order).await?;
    note_use(&cx, &visitor, session, &user).await?;
    cx.bare(&view::token(&jwt))
}

/// Notes now and then that a session is in use.
async fn note_use(cx: &Cx, visitor: &Visitor, session: Session, user: &User) -> Result<()> {
    if !rules::is_worth_noting(&session, cx.now) {
        return Ok(());
    }
    let (act, id) = (visitor.act(cx), session.id);
    let noted = cx.write(move |tx| {
        Box::pin(async move {
            let act = &act;
            let found = store::lock(tx, &act.instance, &id).await?;
            match found.filter(|session| session.is_live(act.now)) {
                Some(session) => store::save(tx, &rules::used(session, &act.settings, act.now)).await,
                None => Ok(()),
            }
        })
    });
    noted.await?;
    activity::note(cx, user).await;
    Ok(())
}

/// A session of the visitor's client, whatever became of it, with its user.
async fn find(cx: &Cx, visitor: &Visitor, id: &SessionId) -> Result<(Session, User)> {
    let mut tx = cx.app.db.read().await?;
    let found = store::find_with_user(&mut tx, &visitor.site.instance, id).await?;
    let client = visitor.known()?;
    found.filter(|(session, _)| session.client == client.id).ok_or_else(|| unknown(id))
}

/// A session of the visitor's client that still counts, with its user.
async fn live(tx: &mut Tx, cx: &Cx, visitor: &Visitor, id: &SessionId) -> Result<(Session, User)> {
    let client = visitor.known()?;
    let found = store::find_with_user(tx, &visitor.site.instance, id).await?;
    let mine = found.filter(|(session, _)| session.client == client.id).ok_or_else(|| unknown(id))?;
    match mine.0.is_live(cx.now) {
        true => Ok(mine),
        false => Err(Error::new(Code::SignedOut)),
    }
}

async fn lock_live(tx: &mut Tx, client: &Client, id: &SessionId, now: Time) -> Result<Session> {
    let found = store::lock(tx, &client.instance, id).await?;
    let session = found.filter(|session| session.client == client.id).ok_or_else(|| unknown(id))?;
    match session.is_live(now) {
        true => Ok(session),
        false => Err(Error::new(Code::SignedOut)),
    }
}

/// Answers with a session; one that counts has a fresh token.
async fn show(cx: &Cx, visitor: &Visitor, outcome: Result<(Session, User)>) -> Response {
    let outcome = match outcome {
        Ok((session, user)) => with_token(cx, visitor, session, user).await,
        Err(error) => Err(error),
    };
    match outcome {
        Ok((session, user, token)) => {
            let view = view::frontend(&session, &user, token.as_deref(), lens(&visitor.site, cx.now));
            cx.answer(visitor, Ok(view)).await
        }
        Err(error) => cx.answer::<()>(visitor, Err(error)).await,
    }
}

async fn with_token(
    cx: &Cx,
    visitor: &Visitor,
    session: Session,
    user: User,
) -> Result<(Session, User, Option<String>)> {
    if !session.is_live(cx.now) {
        return Ok((session, user, None));
    }
    let signer = cx.app.signer_at(&visitor.site, cx.now).await?;
    let token = mint(cx, visitor, &session, &user, &signer)?;
    Ok((session, user, Some(token)))
}

/// There are no organizations to work for yet.
fn check_organization(id: Option<&str>) -> Result<()> {
    match id.filter(|id| !id.is_empty()) {
        Some(_) => Err(Error::new(Code::OrganizationNotFoundOrUnauthorized)),
        None => Ok(()),
    }
}

fn unknown(id: &SessionId) -> Error {
    Error::not_found("session", id)
}

//! Where the current user is signed in.

use axum::response::Response;
use latchkey_base::kinds::{SessionId, UserId};
use latchkey_base::page::Paging;
use latchkey_base::{Error, Result};
use latchkey_db::Tx;
use latchkey_door::client::{self, view_context};
use latchkey_door::person::Person;
use latchkey_door::reply::Envelope;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_presence::sessions::closing::Clients;
use latchkey_presence::sessions::ending;
use latchkey_presence::sessions::model::{Session, SessionStatus};
use latchkey_presence::sessions::own_memberships::OwnMemberships;
use latchkey_presence::sessions::store::{self, SessionFilters};
use latchkey_presence::sessions::view::{self, ActiveSessionView, FrontendSessionView};
use latchkey_web::api::Api;
use latchkey_web::input::Path;
use latchkey_web::reply::Failure;

/// Sessions shown at most; more are not looked through by hand.
const SHOWN: i64 = 100;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Sessions");
    api.get("/v1/me/sessions", "getUsersSessions", list)
        .summary("List the sessions of the current user")
        .returns::<Vec<FrontendSessionView<'_>>>()
        .only_reads();
    api.get("/v1/me/sessions/active", "getSessions", active)
        .summary("List where the current user is signed in")
        .returns::<Vec<ActiveSessionView<'_>>>()
        .only_reads();
    api.post("/v1/me/sessions/{session_id}/revoke", "revokeSession", revoke)
        .summary("Sign out of a session of the current user")
        .returns::<Envelope<'_, FrontendSessionView<'_>>>()
        .errors(&[403]);
}

/// The memberships of the user are left out: a hundred sessions would each repeat a hundred of them.
async fn list(cx: Cx, person: Person) -> Result<Response, Failure> {
    let sessions = of(&cx, &person, None).await?;
    let context = view_context(&person.visitor.site, cx.now);
    let memberships = OwnMemberships::default();
    let views: Vec<_> = sessions
        .iter()
        .map(|session| view::frontend(session, &person.user, None, &memberships, context))
        .collect();
    cx.reply_unversioned(&views)
}

async fn active(cx: Cx, person: Person) -> Result<Response, Failure> {
    let mut sessions = of(&cx, &person, Some(SessionStatus::Active)).await?;
    sessions.extend(of(&cx, &person, Some(SessionStatus::Pending)).await?);
    cx.reply_unversioned(&sessions.iter().map(|session| view::active(session, cx.now)).collect::<Vec<_>>())
}

async fn of(cx: &Cx, person: &Person, status: Option<SessionStatus>) -> Result<Vec<Session>> {
    let filters =
        SessionFilters { user: Some(person.user.id.to_string()), status, ..SessionFilters::default() };
    let paging = Paging { limit: SHOWN, offset: 0 };
    let site = &person.visitor.site;
    let mut tx = person.reads(cx).short().await?;
    store::list(&mut tx, &site.instance, filters, &site.settings, paging, cx.now).await
}

async fn revoke(cx: Cx, person: Person, Path(id): Path<SessionId>) -> Response {
    let (outcome, visitor) = (revoked(&cx, &person, id).await, &person.visitor);
    match (client::load(&cx, visitor).await, outcome) {
        (Ok(shown), Ok(session)) => {
            let context = view_context(&visitor.site, cx.now);
            let memberships = client::memberships(shown.as_ref());
            let view = view::frontend(&session, &person.user, None, memberships, context);
            visitor.answer_with(&cx, shown.as_ref(), Ok(view)).await
        }
        (Ok(shown), Err(error)) => visitor.answer_with::<()>(&cx, shown.as_ref(), Err(error)).await,
        (Err(error), _) => visitor.refuse(&cx, error).await,
    }
}

/// Ending the session one is in is signing out, which needs no proof.
async fn revoked(cx: &Cx, person: &Person, id: SessionId) -> Result<Session> {
    if id != person.session.id {
        person.check_reverified(cx.now)?;
    }
    let (act, user) = (person.visitor.act(cx), person.user.id.clone());
    cx.write(move |tx| Box::pin(async move { revoke_in(tx, &act, &user, &id).await })).await
}

async fn revoke_in(tx: &mut Tx, act: &Act, user: &UserId, id: &SessionId) -> Result<Session> {
    let unknown = || Error::not_found("session", id);
    let is_mine = |session: &Session| &session.user == user;
    let found = store::find(tx, &act.instance, id, &act.settings).await?;
    let found = found.filter(is_mine).ok_or_else(unknown)?;
    let mut clients = Clients::lock(tx, act, &[&found.client]).await?;
    let session = store::lock(tx, &act.instance, id, &act.settings).await?.ok_or_else(unknown)?;
    ending::end(tx, act, &mut clients, session, SessionStatus::Revoked).await
}

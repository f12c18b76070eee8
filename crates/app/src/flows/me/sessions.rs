//! Where the current user is signed in.

use axum::response::Response;
use latchkey_base::kinds::SessionId;
use latchkey_base::page::Paging;
use latchkey_base::{Error, Result};
use latchkey_web::api::Api;
use latchkey_web::input::Path;
use latchkey_web::reply::Failure;

use crate::AppState;
use crate::cx::Cx;
use crate::frontend::client::lens;
use crate::frontend::person::Person;
use crate::frontend::reply::Envelope;
use crate::resources::sessions::closing::Clients;
use crate::resources::sessions::ending;
use crate::resources::sessions::model::{Session, Status};
use crate::resources::sessions::store::{self, Filters};
use crate::resources::sessions::view::{self, ActiveSessionView, FrontendSessionView};

/// Sessions shown at most; more are not looked through by hand.
const SHOWN: i64 = 100;

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Sessions");
    api.get("/v1/me/sessions", "getUsersSessions", list)
        .summary("List the sessions of the current user")
        .returns::<Vec<FrontendSessionView<'_>>>();
    api.get("/v1/me/sessions/active", "getSessions", active)
        .summary("List where the current user is signed in")
        .returns::<Vec<ActiveSessionView<'_>>>();
    api.post("/v1/me/sessions/{session_id}/revoke", "revokeSession", revoke)
        .summary("Sign out of a session of the current user")
        .returns::<Envelope<'_, FrontendSessionView<'_>>>()
        .errors(&[403]);
}

async fn list(cx: Cx, person: Person) -> Result<Response, Failure> {
    let sessions = of(&cx, &person, None).await?;
    let lens = lens(&person.visitor.site, cx.now);
    let views: Vec<_> =
        sessions.iter().map(|session| view::frontend(session, &person.user, None, lens)).collect();
    cx.bare(&views)
}

async fn active(cx: Cx, person: Person) -> Result<Response, Failure> {
    let mut sessions = of(&cx, &person, Some(Status::Active)).await?;
    sessions.extend(of(&cx, &person, Some(Status::Pending)).await?);
    cx.bare(&sessions.iter().map(|session| view::active(session, cx.now)).collect::<Vec<_>>())
}

async fn of(cx: &Cx, person: &Person, status: Option<Status>) -> Result<Vec<Session>> {
    let filters = Filters { user: Some(person.user.id.to_string()), status, ..Filters::default() };
    let paging = Paging { limit: SHOWN, offset: 0 };
    store::list(&mut cx.app.db.read().await?, &person.visitor.site.instance, filters, paging, cx.now).await
}

async fn revoke(cx: Cx, person: Person, Path(id): Path<SessionId>) -> Response {
    match revoked(&cx, &person, id).await {
        Ok(session) => {
            let lens = lens(&person.visitor.site, cx.now);
            let view = view::frontend(&session, &person.user, None, lens);
            cx.answer(&person.visitor, Ok(view)).await
        }
        Err(error) => cx.answer::<()>(&person.visitor, Err(error)).await,
    }
}

/// Ending the session one is in is signing out, which needs no proof.
async fn revoked(cx: &Cx, person: &Person, id: SessionId) -> Result<Session> {
    if id != person.session.id {
        person.check_reverified(cx.now)?;
    }
    let (act, user) = (person.visitor.act(cx), person.user.id.clone());
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let unknown = || Error::not_found("session", &id);
            let is_mine = |session: &Session| session.user == user;
            let found = store::find(tx, &act.instance, &id).await?.filter(is_mine).ok_or_else(unknown)?;
            let mut clients = Clients::lock(tx, &act, &[&found.client]).await?;
            let session = store::lock(tx, &act.instance, &id).await?.ok_or_else(unknown)?;
            ending::end(tx, &act, &mut clients, session, Status::Revoked).await
        })
    });
    written.await
}

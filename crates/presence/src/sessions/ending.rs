//! How sessions end: they are saved together with the clients they were on, and events say so.

use std::collections::HashMap;
use std::mem::replace;

use latchkey_base::Result;
use latchkey_base::kinds::{SessionId, UserId};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::events::Event;
use latchkey_kernel::limits::SESSIONS_OF_USER;
use latchkey_kernel::outbox;
use latchkey_people::users::model::User;
use latchkey_people::users::store as users;
use latchkey_people::users::view::ViewContext;

use super::closing::Clients;
use super::model::{Session, SessionStatus};
use super::{rules, store, view};
use crate::clients::model::Client;

/// Statements that travel together. A user may have thousands of sessions, and what is on its way lies in memory.
const AT_ONCE: usize = 500;

/// Ends a session, whose client must be among the locked ones. One that is over already stays as it is.
pub async fn end(
    tx: &mut Tx,
    act: &Act,
    clients: &mut Clients,
    session: Session,
    status: SessionStatus,
) -> Result<Session> {
    match session.is_live(act.now) {
        true => end_one(tx, act, clients, session, status).await,
        false => Ok(session),
    }
}

/// Revokes a session whatever became of it. One that is revoked already stays as it is.
pub async fn revoke(tx: &mut Tx, act: &Act, clients: &mut Clients, session: Session) -> Result<Session> {
    match session.status {
        SessionStatus::Revoked => Ok(session),
        _ => end_one(tx, act, clients, session, SessionStatus::Revoked).await,
    }
}

/// Revokes sessions that still count, whose clients are among the locked ones.
pub async fn revoke_all(tx: &mut Tx, act: &Act, clients: &mut Clients, live: Vec<Session>) -> Result<()> {
    close(tx, act, clients, live, SessionStatus::Revoked).await.map(|_| ())
}

/// Ends sessions of one client, which is saved with them.
pub async fn end_all(
    tx: &mut Tx,
    act: &Act,
    client: Client,
    sessions: Vec<Session>,
    status: SessionStatus,
) -> Result<Client> {
    let (mut clients, id) = (Clients::of(vec![client.clone()]), client.id.clone());
    close(tx, act, &mut clients, sessions, status).await?;
    Ok(clients.take(&id).unwrap_or(client))
}

/// Ends the oldest sessions of a user, who is locked, until they may have one more. Their clients are not locked, which come
/// before users: they keep the time of their last change.
pub async fn make_room_of_user(tx: &mut Tx, act: &Act, user: &UserId) -> Result<()> {
    let surplus = store::surplus_of_user(tx, &act.instance, user, SESSIONS_OF_USER - 1, act.now).await?;
    let ids: Vec<&SessionId> = surplus.iter().collect();
    let mut live = store::lock_some(tx, &act.instance, &ids, &act.settings).await?;
    live.retain(|session| session.is_live(act.now));
    close(tx, act, &mut Clients::default(), live, SessionStatus::Replaced).await.map(|_| ())
}

/// Ends all sessions of a user but one. The clients must be locked before the user, and the user before this.
pub async fn end_all_of_user(
    tx: &mut Tx,
    act: &Act,
    clients: &mut Clients,
    user: &UserId,
    except: Option<&SessionId>,
    status: SessionStatus,
) -> Result<()> {
    let mut live = store::lock_live_of_user(tx, &act.instance, user, &act.settings, act.now).await?;
    live.retain(|session| except != Some(&session.id));
    close(tx, act, clients, live, status).await.map(|_| ())
}

async fn end_one(
    tx: &mut Tx,
    act: &Act,
    clients: &mut Clients,
    session: Session,
    status: SessionStatus,
) -> Result<Session> {
    let over = close(tx, act, clients, vec![session.clone()], status).await?;
    Ok(over.into_iter().next().unwrap_or(session))
}

/// The one place where sessions become over. Few statements, however many sessions there are.
async fn close(
    tx: &mut Tx,
    act: &Act,
    clients: &mut Clients,
    sessions: Vec<Session>,
    status: SessionStatus,
) -> Result<Vec<Session>> {
    let mut people: HashMap<UserId, Option<User>> = HashMap::new();
    let mut over = Vec::with_capacity(sessions.len());
    for session in sessions {
        if !people.contains_key(&session.user) {
            people.insert(session.user.clone(), users::find(tx, &act.instance, &session.user).await?);
        }
        clients.note(&session, act.now);
        let session = rules::end(session, status, act.now);
        say(tx, act, &session, people.get(&session.user).and_then(Option::as_ref))?;
        over.push(session);
    }
    let mut statements = over.iter().map(store::saving).collect::<Result<Vec<_>>>()?;
    statements.extend(clients.saving(act.now)?);
    while !statements.is_empty() {
        let later = statements.split_off(statements.len().min(AT_ONCE));
        tx.run_many(replace(&mut statements, later)).await?;
    }
    Ok(over)
}

/// Saves a session whose user or settings may have changed. One that waited for nothing else counts from now on,
/// and that is said.
pub async fn settle(tx: &mut Tx, act: &Act, session: Session, user: &User) -> Result<Session> {
    save(tx, act, rules::settle(session, user, &act.settings, act.now)).await
}

/// Saves a session that goes on. Of one that counts for the first time, that is said: it may have waited for something
/// the user has done, or that nobody asks for any more.
pub async fn save(tx: &mut Tx, act: &Act, session: Session) -> Result<Session> {
    if !session.is_to_announce() {
        store::save(tx, &session).await?;
        return Ok(session);
    }
    let session = Session { announced: Some(true), ..session };
    store::save(tx, &session).await?;
    announce(tx, act, &session).await?;
    Ok(session)
}

/// Records what a session has become.
pub async fn announce(tx: &mut Tx, act: &Act, session: &Session) -> Result<()> {
    let user = users::find(tx, &act.instance, &session.user).await?;
    say(tx, act, session, user.as_ref())
}

fn say(tx: &mut Tx, act: &Act, session: &Session, user: Option<&User>) -> Result<()> {
    let event = match session.status {
        SessionStatus::Active => Event::SessionCreated,
        SessionStatus::Pending => Event::SessionPending,
        SessionStatus::Removed => Event::SessionRemoved,
        SessionStatus::Revoked => Event::SessionRevoked,
        SessionStatus::Ended
        | SessionStatus::Replaced
        | SessionStatus::Expired
        | SessionStatus::Abandoned => Event::SessionEnded,
    };
    let shown = view::session_event(session, user, ViewContext::of(act));
    // Of one user, so that nobody hears of a session before its user.
    outbox::emit(tx, act, event, session.user.as_str(), &shown)
}

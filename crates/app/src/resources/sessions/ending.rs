//! Saving what became of sessions, with the events about it.

use latchkey_base::Result;
use latchkey_base::kinds::{SessionId, UserId};
use latchkey_db::Tx;

use super::model::{Session, Status};
use super::{rules, store, view};
use crate::cx::Act;
use crate::events::Event;
use crate::outbox;
use crate::resources::users::model::User;
use crate::resources::users::store as users;
use crate::resources::users::view::Lens;

/// Ends a session, and says so. One that is over already stays as it is.
pub async fn end(tx: &mut Tx, act: &Act, session: Session, status: Status) -> Result<Session> {
    match session.is_live(act.now) {
        true => become_over(tx, act, session, status).await,
        false => Ok(session),
    }
}

/// Revokes a session whatever became of it, and says so. One that is revoked already stays as it is.
pub async fn revoke(tx: &mut Tx, act: &Act, session: Session) -> Result<Session> {
    match session.status {
        Status::Revoked => Ok(session),
        _ => become_over(tx, act, session, Status::Revoked).await,
    }
}

async fn become_over(tx: &mut Tx, act: &Act, session: Session, status: Status) -> Result<Session> {
    let session = rules::end(session, status, act.now);
    store::save(tx, &session).await?;
    announce(tx, act, &session).await?;
    Ok(session)
}

/// Saves a session whose user or settings may have changed. One that waited for nothing else counts from now on,
/// and that is said.
pub async fn settle(tx: &mut Tx, act: &Act, session: Session, user: &User) -> Result<Session> {
    let was_pending = session.status == Status::Pending;
    let session = rules::settle(session, user, &act.settings, act.now);
    store::save(tx, &session).await?;
    if was_pending && session.status == Status::Active {
        announce(tx, act, &session).await?;
    }
    Ok(session)
}

/// Ends all sessions of a user but one. The user must be locked.
pub async fn end_all_of_user(
    tx: &mut Tx,
    act: &Act,
    user: &UserId,
    except: Option<&SessionId>,
    status: Status,
) -> Result<()> {
    for session in store::lock_live_of_user(tx, &act.instance, user, act.now).await? {
        if except != Some(&session.id) {
            end(tx, act, session, status).await?;
        }
    }
    Ok(())
}

/// Records what a session has become.
pub async fn announce(tx: &mut Tx, act: &Act, session: &Session) -> Result<()> {
    let event = match session.status {
        Status::Active => Event::SessionCreated,
        Status::Pending => Event::SessionPending,
        Status::Removed => Event::SessionRemoved,
        Status::Revoked => Event::SessionRevoked,
        Status::Ended | Status::Replaced | Status::Expired | Status::Abandoned => Event::SessionEnded,
    };
    let user = users::find(tx, &act.instance, &session.user).await?;
    let shown = view::session_event(session, user.as_ref(), Lens::of(act));
    // Of one user, so that nobody hears of a session before its user.
    outbox::emit(tx, act, event, session.user.as_str(), &shown)
}

//! The one way to change a user: load, decide, save and emit, in one transaction.

use latchkey_base::kinds::{IdentificationId, UserId};
use latchkey_base::{Error, Result, Time};
use latchkey_db::Tx;

use super::credentials::{self, Credentials};
use super::model::{Kind, User};
use super::{store, view};
use crate::cx::{Act, Cx};
use crate::events::Event;
use crate::outbox;
use crate::resources::sessions::closing::Clients;
use crate::resources::sessions::ending;
use crate::resources::sessions::model::Status;

/// How to find the user to change.
pub enum Target {
    /// By id.
    User(UserId),
    /// By one of their identifications.
    Identification(Kind, IdentificationId),
}

impl Target {
    /// Loads the user to change them.
    pub async fn lock(&self, tx: &mut Tx, act: &Act) -> Result<User> {
        match self {
            Target::User(id) => {
                store::lock(tx, &act.instance, id).await?.ok_or_else(|| Error::not_found("user", id))
            }
            Target::Identification(kind, id) => {
                let found = store::lock_by_identification(tx, &act.instance, *kind, id).await?;
                found.ok_or_else(|| Error::not_found(&kind.name().replace('_', " "), id))
            }
        }
    }
}

/// What an act means for users.
impl Act {
    /// How users are shown.
    pub fn lens(&self) -> view::Lens<'_> {
        view::Lens::of(self)
    }

    /// Saves a changed user and records the event; nothing when nothing changed.
    pub async fn save_user(&self, tx: &mut Tx, before: &User, after: User) -> Result<User> {
        let after = settle(before, after, self.now);
        match store::document(before)? == store::document(&after)? {
            true => Ok(after),
            false => self.write_user(tx, before, after).await,
        }
    }

    /// Saves a user whose secrets were changed: one in place of another does not show in the document.
    pub async fn save_user_with_secrets(&self, tx: &mut Tx, before: &User, after: User) -> Result<User> {
        self.write_user(tx, before, settle(before, after, self.now)).await
    }

    async fn write_user(&self, tx: &mut Tx, before: &User, after: User) -> Result<User> {
        let after = User { updated_at: self.now, ..after };
        store::save(tx, before, &after).await?;
        self.emit_user(tx, Event::UserUpdated, &after)?;
        Ok(after)
    }

    /// Records an event about a user.
    pub fn emit_user(&self, tx: &mut Tx, event: Event, user: &User) -> Result<()> {
        outbox::emit(tx, self, event, user.id.as_str(), &view::user(user, self.lens()))
    }
}

/// Changes a user by a pure rule.
pub async fn change<R>(cx: &Cx, act: Act, target: Target, rule: R) -> Result<User>
where
    R: FnOnce(User, &Act) -> Result<User> + Send + 'static,
{
    cx.write(move |tx| Box::pin(async move { changed(tx, &act, &target, rule).await })).await
}

async fn changed<R>(tx: &mut Tx, act: &Act, target: &Target, rule: R) -> Result<User>
where
    R: FnOnce(User, &Act) -> Result<User>,
{
    let before = target.lock(tx, act).await?;
    let after = rule(before.clone(), act)?;
    act.save_user(tx, &before, after).await
}

/// What a change of a user means for their sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sessions {
    /// They go on.
    Stay,
    /// They are revoked.
    End,
}

impl Sessions {
    /// They end if `wanted`.
    pub fn end_if(wanted: bool) -> Sessions {
        if wanted { Sessions::End } else { Sessions::Stay }
    }

    /// Locks the clients it takes, before any of the users is locked.
    pub async fn lock(self, tx: &mut Tx, act: &Act, users: &[&UserId]) -> Result<Settling> {
        match self {
            Sessions::Stay => Ok(Settling(None)),
            Sessions::End => Ok(Settling(Some(Clients::lock_of_users(tx, act, users, None).await?))),
        }
    }
}

/// What is to become of sessions, with the clients it takes locked.
pub struct Settling(Option<Clients>);

impl Settling {
    /// Does it to the sessions of a user. They must be locked, and every other user that will be.
    pub async fn settle(&mut self, tx: &mut Tx, act: &Act, user: &UserId) -> Result<()> {
        match &mut self.0 {
            None => Ok(()),
            Some(clients) => ending::end_all_of_user(tx, act, clients, user, None, Status::Revoked).await,
        }
    }
}

/// Changes a user by a pure rule, and their sessions with them.
pub async fn change_and<R>(cx: &Cx, act: Act, id: UserId, rule: R, sessions: Sessions) -> Result<User>
where
    R: FnOnce(User, &Act) -> Result<User> + Send + 'static,
{
    let outcome = cx.write(move |tx| {
        Box::pin(async move {
            let mut settling = sessions.lock(tx, &act, &[&id]).await?;
            let after = changed(tx, &act, &Target::User(id), rule).await?;
            settling.settle(tx, &act, &after.id).await?;
            Ok(after)
        })
    });
    outcome.await
}

/// Changes a user together with their credentials, by a rule that also says what to tell.
pub async fn with_secrets<R, T>(tx: &mut Tx, act: &Act, target: &Target, rule: R) -> Result<(User, T)>
where
    R: FnOnce(User, Credentials) -> Result<(User, Credentials, T)>,
{
    let before = target.lock(tx, act).await?;
    let held = credentials::lock(tx, &act.instance, &before.id, &act.master).await?;
    let (after, left, told) = rule(before.clone(), held.clone())?;
    if left == held {
        return Ok((act.save_user(tx, &before, after).await?, told));
    }
    let (sql, params) = credentials::save(&act.instance, &before.id, &left, &act.master)?;
    tx.run(&[sql], &params).await?;
    Ok((act.save_user_with_secrets(tx, &before, after).await?, told))
}

/// Deletes a user with all that belongs to them.
pub async fn delete(tx: &mut Tx, act: &Act, id: UserId) -> Result<()> {
    let mut settling = Sessions::End.lock(tx, act, &[&id]).await?;
    let user = Target::User(id).lock(tx, act).await?;
    settling.settle(tx, act, &user.id).await?;
    store::delete(tx, &act.instance, &user.id).await?;
    let event = view::DeletedView { external_id: user.external_id, ..view::deleted("user", &user.id) };
    outbox::emit(tx, act, Event::UserDeleted, user.id.as_str(), &event)
}

/// What follows from a change: when second factors came or went.
fn settle(before: &User, mut after: User, now: Time) -> User {
    match (before.has_second_factor(), after.has_second_factor()) {
        (false, true) => after.mfa_enabled_at = Some(now),
        (true, false) => after.mfa_disabled_at = Some(now),
        _ => (),
    }
    after
}

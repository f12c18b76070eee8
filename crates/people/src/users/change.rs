//! The one way to change a user: lock the row, decide by a pure rule, save the user and record the event, in one
//! transaction.

use latchkey_base::kinds::{IdentificationId, UserId};
use latchkey_base::{Error, Result, Time};
use latchkey_db::Tx;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::events::Event;
use latchkey_kernel::{document, outbox};

use super::arrivals;
use super::credentials::{self, Credentials};
use super::model::{ContactKind, User};
use super::store;
use super::view::{self, ViewContext};

/// Which user to change.
pub enum UserTarget {
    /// The user of this id.
    User(UserId),
    /// The user with this e-mail address, phone number or wallet, by its id.
    Identification(ContactKind, IdentificationId),
}

impl UserTarget {
    /// Locks the user. Refuses as not found if there is none.
    pub async fn lock(&self, tx: &mut Tx, act: &Act) -> Result<User> {
        match self {
            UserTarget::User(id) => {
                store::lock(tx, &act.instance, id).await?.ok_or_else(|| Error::not_found("user", id))
            }
            UserTarget::Identification(kind, id) => {
                let found = store::lock_by_identification(tx, &act.instance, *kind, id).await?;
                found.ok_or_else(|| Error::not_found(&kind.name().replace('_', " "), id))
            }
        }
    }
}

/// Saves a user and records `user.updated`. A user who is as before is not saved, and no event is recorded.
pub async fn save_user(tx: &mut Tx, act: &Act, before: &User, after: User) -> Result<User> {
    let after = note_second_factor(before, after, act.now);
    match document::write(before)? == document::write(&after)? {
        true => Ok(after),
        false => write_user(tx, act, before, after).await,
    }
}

/// Saves a user whose credentials were changed, and records `user.updated` in any case: credentials are not part of
/// the user's document, so a password in place of another cannot be seen by comparing documents.
pub async fn save_user_with_secrets(tx: &mut Tx, act: &Act, before: &User, after: User) -> Result<User> {
    write_user(tx, act, before, note_second_factor(before, after, act.now)).await
}

async fn write_user(tx: &mut Tx, act: &Act, before: &User, after: User) -> Result<User> {
    let after = User { updated_at: act.now, ..after };
    store::save(tx, before, &after).await?;
    emit_user(tx, act, Event::UserUpdated, &after)?;
    arrivals::changed(tx, act, before, &after).await?;
    Ok(after)
}

/// Records an event about a user.
pub fn emit_user(tx: &mut Tx, act: &Act, event: Event, user: &User) -> Result<()> {
    outbox::emit(tx, act, event, user.id.as_str(), &view::user(user, ViewContext::of(act)))
}

/// Changes a user by a pure rule, in a transaction of its own.
pub async fn change<R>(cx: &Cx, act: Act, target: UserTarget, rule: R) -> Result<User>
where
    R: FnOnce(User, &Act) -> Result<User> + Send + 'static,
{
    cx.write(move |tx| Box::pin(async move { changed(tx, &act, &target, rule).await })).await
}

/// The same inside a transaction that is open already.
pub async fn changed<R>(tx: &mut Tx, act: &Act, target: &UserTarget, rule: R) -> Result<User>
where
    R: FnOnce(User, &Act) -> Result<User>,
{
    let before = target.lock(tx, act).await?;
    let after = rule(before.clone(), act)?;
    save_user(tx, act, &before, after).await
}

/// Changes a user together with their credentials, inside a transaction. What the rule returns besides (`T`) is
/// handed to the caller.
pub async fn with_secrets<R, T>(tx: &mut Tx, act: &Act, target: &UserTarget, rule: R) -> Result<(User, T)>
where
    R: FnOnce(User, Credentials) -> Result<(User, Credentials, T)>,
{
    let before = target.lock(tx, act).await?;
    let credentials_before = credentials::lock(tx, &act.instance, &before.id, &act.master).await?;
    let (after, credentials_after, outcome) = rule(before.clone(), credentials_before.clone())?;
    if credentials_after == credentials_before {
        return Ok((save_user(tx, act, &before, after).await?, outcome));
    }
    let (sql, params) = credentials::save(&act.instance, &before.id, &credentials_after, &act.master)?;
    tx.run(&[sql], &params).await?;
    Ok((save_user_with_secrets(tx, act, &before, after).await?, outcome))
}

/// Changes a user together with their password and second factors, by a rule that refuses nothing.
pub async fn change_secrets(
    tx: &mut Tx,
    act: &Act,
    target: &UserTarget,
    rule: fn(User, Credentials) -> (User, Credentials),
) -> Result<User> {
    let rule = |user, held| {
        let (user, left) = rule(user, held);
        Ok((user, left, ()))
    };
    Ok(with_secrets(tx, act, target, rule).await?.0)
}

/// Notes when the user got their first second factor, or lost the last one.
fn note_second_factor(before: &User, mut after: User, now: Time) -> User {
    match (before.has_second_factor(), after.has_second_factor()) {
        (false, true) => after.mfa_enabled_at = Some(now),
        (true, false) => after.mfa_disabled_at = Some(now),
        _ => (),
    }
    after
}

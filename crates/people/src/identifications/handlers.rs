//! What the operations on addresses and numbers do; the two resources only differ in their input and
//! their look.

use latchkey_base::kinds::{IdentificationId, UserId, VerificationId};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Id, Result};
use latchkey_db::{Tx, unique_violation};
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::limits::PHONE_CODE_PAUSE_MS;
use latchkey_kernel::settings::Settings;
use latchkey_messaging::messages::{rules as messages, sending};

use super::codes::{self, CodeStatus};
use super::input::NewContactStatus;
use super::rules::{self, ContactChanges};
use super::store;
use crate::notices::primary_address_changed;
use crate::recipients::recipient;
use crate::restrictions::check::check_added;
use crate::users::change::{UserTarget, change, save_user};
use crate::users::model::{Contact, ContactKind, User, Verification};
use crate::users::rules::disabled;
use crate::users::store as users;

/// One address or number.
pub async fn find(cx: &Cx, key: &SecretKey, kind: ContactKind, id: &IdentificationId) -> Result<Contact> {
    let user = users::find_by_identification(&mut cx.app.db.read().await?, &key.instance, kind, id).await?;
    user.map_or_else(
        || Err(Error::not_found(&kind.name().replace('_', " "), id)),
        |user| picked(&user, kind, id),
    )
}

/// A new address or number.
pub struct New {
    pub user_id: String,
    /// The text as given.
    pub value: String,
    pub changes: ContactChanges,
    /// Whether the previous primary address is told.
    pub notify: bool,
    /// Whether it may be somebody else's as long as it is not proven: where answers must not tell who has an account.
    pub may_be_taken: bool,
}

/// Adds an address or number to a user, if `check` lets them have another.
pub async fn add<C>(cx: &Cx, act: Act, kind: ContactKind, new: New, check: C) -> Result<Contact>
where
    C: FnOnce(&User, &Settings) -> Result<()> + Send + 'static,
{
    let user_id: UserId = Id::parse(&new.user_id).ok_or_else(|| Error::not_found("user", &new.user_id))?;
    check_enabled(&act.settings, kind)?;
    let value = rules::checked(kind, &new.value)?;
    let added =
        cx.write(move |tx| Box::pin(async move { add_in(tx, &act, kind, user_id, value, new, check).await }));
    added.await.map_err(|error| explain(error, rules::taken(kind)))
}

async fn add_in<C>(
    tx: &mut Tx,
    act: &Act,
    kind: ContactKind,
    user_id: UserId,
    value: String,
    new: New,
    check: C,
) -> Result<Contact>
where
    C: FnOnce(&User, &Settings) -> Result<()> + Send + 'static,
{
    let before = UserTarget::User(user_id).lock(tx, act).await?;
    check(&before, &act.settings)?;
    check_added(tx, act, &before, (kind, &value), new.may_be_taken).await?;
    if !new.may_be_taken {
        check_free(tx, &before, kind, &value).await?;
    }
    let (after, id) = rules::add(before.clone(), kind, value, new.changes, act.now, &*act.rng)?;
    if new.notify {
        primary_address_changed(tx, act, &before, &after).await?;
    }
    let user = save_user(tx, act, &before, after).await?;
    picked(&user, kind, &id)
}

/// A change of an address or number.
pub struct ContactUpdate {
    pub changes: ContactChanges,
    /// Whether the previous primary address is told.
    pub notify: bool,
}

/// Changes an address or number.
pub async fn update(
    cx: &Cx,
    key: &SecretKey,
    kind: ContactKind,
    id: IdentificationId,
    change: ContactUpdate,
) -> Result<Contact> {
    let act = cx.act(key);
    let changed = cx.write(move |tx| Box::pin(async move { update_in(tx, &act, kind, &id, change).await }));
    changed.await.map_err(|error| explain(error, claimed(kind)))
}

async fn update_in(
    tx: &mut Tx,
    act: &Act,
    kind: ContactKind,
    id: &IdentificationId,
    change: ContactUpdate,
) -> Result<Contact> {
    let before = UserTarget::Identification(kind, id.clone()).lock(tx, act).await?;
    let unverified = Code::IdentificationUpdateSecondFactorUnverified;
    let after = rules::update(before.clone(), kind, id, change.changes, act.now, unverified)?;
    if change.notify {
        primary_address_changed(tx, act, &before, &after).await?;
    }
    let user = save_user(tx, act, &before, after).await?;
    picked(&user, kind, id)
}

/// Takes an address or number away.
pub async fn remove(cx: &Cx, key: &SecretKey, kind: ContactKind, id: IdentificationId) -> Result<()> {
    let target = UserTarget::Identification(kind, id.clone());
    let rule = move |user, act: &Act| rules::remove(user, kind, &id, &act.settings);
    change(cx, cx.act(key), target, rule).await?;
    Ok(())
}

/// The address or number that replaces all others.
pub struct Replacement {
    /// The text as given.
    pub value: String,
    pub status: NewContactStatus,
    /// Whether the previous primary address is told.
    pub notify: bool,
}

/// Replaces all addresses or numbers of a user by one.
pub async fn replace(
    cx: &Cx,
    key: &SecretKey,
    kind: ContactKind,
    user_id: UserId,
    new: Replacement,
) -> Result<Contact> {
    check_enabled(&key.settings, kind)?;
    let value = rules::checked(kind, &new.value)?;
    let act = cx.act(key);
    let replaced =
        cx.write(move |tx| Box::pin(async move { replace_in(tx, &act, kind, user_id, value, new).await }));
    replaced.await.map_err(|error| explain(error, rules::taken(kind)))
}

async fn replace_in(
    tx: &mut Tx,
    act: &Act,
    kind: ContactKind,
    user_id: UserId,
    value: String,
    new: Replacement,
) -> Result<Contact> {
    let before = UserTarget::User(user_id).lock(tx, act).await?;
    check_added(tx, act, &before, (kind, &value), false).await?;
    check_free(tx, &before, kind, &value).await?;
    let (after, id) = rules::replace(before.clone(), kind, value, new.status, act.now, &*act.rng)?;
    if new.notify {
        primary_address_changed(tx, act, &before, &after).await?;
    }
    let user = save_user(tx, act, &before, after).await?;
    picked(&user, kind, &id)
}

/// Sends a code to an address or number.
pub async fn prepare(
    cx: &Cx,
    key: &SecretKey,
    kind: ContactKind,
    id: IdentificationId,
) -> Result<codes::Code> {
    let act = cx.act(key);
    cx.write(move |tx| Box::pin(async move { prepare_in(tx, &act, kind, &id).await })).await
}

async fn prepare_in(tx: &mut Tx, act: &Act, kind: ContactKind, id: &IdentificationId) -> Result<codes::Code> {
    let user = UserTarget::Identification(kind, id.clone()).lock(tx, act).await?;
    let contact = picked(&user, kind, id)?;
    let is_test = act.test_mode && codes::is_for_tests(kind, &contact.value);
    if kind == ContactKind::Phone && !is_test {
        check_pause(tx, act, id).await?;
    }
    let code = codes::create(&user.id, id, kind, is_test, act.now, &*act.rng);
    store::insert(tx, &act.instance, &code, &act.master).await?;
    if !is_test {
        let to = recipient(&user, kind, &contact);
        sending::send(tx, act, messages::code(act, to, &code.digits)).await?;
    }
    Ok(code)
}

/// Checks a code. The right one also marks the address or number as verified.
pub async fn attempt(
    cx: &Cx,
    key: &SecretKey,
    kind: ContactKind,
    id: IdentificationId,
    verification: &str,
    digits: Secret,
) -> Result<codes::Code> {
    let verification: VerificationId = Id::parse(verification).ok_or_else(unknown_verification)?;
    let act = cx.act(key);
    let tried = cx.write(move |tx| {
        Box::pin(async move { attempt_in(tx, &act, kind, &id, &verification, &digits).await })
    });
    tried.await.map_err(|error| explain(error, claimed(kind)))
}

async fn attempt_in(
    tx: &mut Tx,
    act: &Act,
    kind: ContactKind,
    id: &IdentificationId,
    verification: &VerificationId,
    digits: &Secret,
) -> Result<codes::Code> {
    let before = UserTarget::Identification(kind, id.clone()).lock(tx, act).await?;
    picked(&before, kind, id)?;
    let code = store::lock(tx, &act.instance, id, verification, &act.master).await?;
    let code = codes::attempt(code.ok_or_else(unknown_verification)?, digits, act.now)?;
    store::save(tx, &act.instance, &code).await?;
    if code.status(act.now) == CodeStatus::Verified {
        let proof = Verification {
            strategy: code.strategy,
            attempts: Some(code.attempts),
            expire_at: Some(code.expire_at),
        };
        let after = rules::verified(before.clone(), kind, id, proof, act.now);
        save_user(tx, act, &before, after).await?;
    }
    Ok(code)
}

fn unknown_verification() -> Error {
    Error::new(Code::ResourceNotFound).saying("No such verification exists for this address or number.")
}

async fn check_pause(tx: &mut Tx, act: &Act, id: &IdentificationId) -> Result<()> {
    let Some(last) = store::last_sent(tx, &act.instance, id).await? else { return Ok(()) };
    let left_ms = PHONE_CODE_PAUSE_MS - (act.now.ms() - last.ms());
    // More than the whole pause means that the clock was set back.
    match (1..=PHONE_CODE_PAUSE_MS).contains(&left_ms) {
        true => Err(Error::new(Code::VerificationCodeTooManyRequests).retry_after((left_ms + 999) / 1000)),
        false => Ok(()),
    }
}

fn check_enabled(settings: &Settings, kind: ContactKind) -> Result<()> {
    match rules::attribute(kind, settings).enabled {
        true => Ok(()),
        false => Err(disabled(kind.name()).into()),
    }
}

/// The index keeps verified and reserved identifiers apart; an unverified one it lets in beside them.
/// That is right for one that was there before, but nobody gets a new one of what is somebody else's.
async fn check_free(tx: &mut Tx, user: &User, kind: ContactKind, value: &str) -> Result<()> {
    match users::is_taken(tx, user, kind, value).await? {
        true => Err(rules::taken(kind)),
        false => Ok(()),
    }
}

/// A contact of a user.
pub fn picked(user: &User, kind: ContactKind, id: &IdentificationId) -> Result<Contact> {
    user.contacts(kind).find(id).cloned().ok_or_else(|| Error::not_found(&kind.name().replace('_', " "), id))
}

/// Somebody else holds it by now.
pub fn claimed(kind: ContactKind) -> Error {
    Error::param(Code::IdentificationClaimed, kind.name())
}

/// Says that an identifier was taken, when that is why a user could not be written.
pub fn explain(error: Error, taken: Error) -> Error {
    match unique_violation(&error).is_some_and(|column| column.starts_with("identifications.")) {
        true => taken,
        false => error,
    }
}

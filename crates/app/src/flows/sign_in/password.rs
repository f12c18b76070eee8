//! Choosing a new password in the course of signing in.

use latchkey_base::kinds::{SignInId, UserId};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;

use super::attempt::{self, Attempt, Stage};
use super::{finish, rules};
use crate::cx::{Act, Cx};
use crate::frontend::visitor::Visitor;
use crate::resources::messages::notices;
use crate::resources::sessions::closing::Clients;
use crate::resources::sessions::ending;
use crate::resources::sessions::model::Status;
use crate::resources::sign_ins::store;
use crate::resources::users::create::identifiers;
use crate::resources::users::credentials::{self, Change, Given};
use crate::resources::users::factors::password_fits;
use crate::resources::users::model::{Strategy, User};

/// Checks and hashes a new password, before the transaction. One that others know must not be chosen again.
pub async fn choose(cx: &Cx, visitor: &Visitor, user: &User, password: &Secret) -> Result<Change> {
    let change = hashed(cx, visitor, user, password).await?;
    let is_known = user.password.as_ref().is_some_and(|password| password.compromised);
    match is_known && is_current(cx, user, password).await? {
        true => Err(Error::param(Code::FormNewPasswordMatchesCurrent, "password")),
        false => Ok(change),
    }
}

/// Checks a new password against the policy, and hashes it.
pub async fn hashed(cx: &Cx, visitor: &Visitor, user: &User, password: &Secret) -> Result<Change> {
    let settings = &visitor.site.settings;
    let given = Given {
        password: Some(password),
        skip_password_checks: false,
        password_digest: None,
        password_hasher: None,
        totp_secret: None,
        backup_codes: None,
    };
    let mut problems = Vec::new();
    let change = credentials::read(given, &settings.attributes, &mut problems);
    let policy = settings.password.policy();
    change.hashed(&cx.app.slow, policy, identifiers(user), &*cx.app.rng, problems).await
}

/// Whether a user has this password already.
pub async fn is_current(cx: &Cx, user: &User, password: &Secret) -> Result<bool> {
    let mut tx = cx.app.db.read().await?;
    let stored = credentials::find(&mut tx, &user.instance, &user.id, &cx.app.master).await?.password;
    drop(tx);
    let password = password.clone();
    let work = move || stored.is_some_and(|stored| password_fits(&stored, &password));
    cx.app.slow.run(work).await
}

/// Gives a user, who must be locked, a new password.
pub async fn set(tx: &mut Tx, act: &Act, user: User, change: Change) -> Result<User> {
    let after = change.mark(user.clone(), act.now);
    let held = credentials::lock(tx, &act.instance, &user.id, &act.master).await?;
    let (sql, params) = credentials::save(&act.instance, &user.id, &change.apply(held), &act.master)?;
    tx.run(&[sql], &params).await?;
    let user = act.save_user_with_secrets(tx, &user, after).await?;
    notices::password_changed(tx, act, &user).await?;
    Ok(user)
}

/// Sets the new password of an attempt that waits for it, and goes on. `sign_out` names its user if their sessions
/// are to end.
pub async fn reset(
    tx: &mut Tx,
    stage: Stage,
    id: SignInId,
    change: Change,
    sign_out: Option<UserId>,
) -> Result<Attempt> {
    let is_sign_out = sign_out.is_some();
    let mut clients = match sign_out {
        Some(user) => Clients::lock_of_users(tx, &stage.act, &[&user], stage.hold.client()).await?,
        None => Clients::default(),
    };
    let mut attempt = attempt::lock(tx, &stage, &id).await?;
    rules::expects_new_password(&attempt.sign_in)?;
    let user = attempt.user.take().ok_or_else(|| Error::new(Code::ClientStateInvalid))?;
    if is_sign_out {
        ending::end_all_of_user(tx, &stage.act, &mut clients, &user.id, None, Status::Revoked).await?;
        attempt.client = clients.take(&attempt.client.id).unwrap_or(attempt.client);
    }
    let proven = attempt.sign_in.first_factor.as_ref().map(|challenge| challenge.strategy);
    let strategy = proven.unwrap_or(Strategy::ResetPasswordEmailCode);
    let attempt = finish::after_first(tx, &stage, attempt, user, strategy, Some(change)).await?;
    store::save(tx, &attempt.sign_in).await?;
    Ok(attempt)
}

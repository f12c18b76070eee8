//! Choosing a new password in the course of signing in.

use latchkey_base::kinds::{SignInId, UserId};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::slow::WorkOwner;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::notices;
use latchkey_people::users::change::save_user_with_secrets;
use latchkey_people::users::create::identifiers;
use latchkey_people::users::credentials::{self, CredentialFields, CredentialsChange, StoredPassword};
use latchkey_people::users::factors::password_fits;
use latchkey_people::users::model::User;
use latchkey_presence::sessions::closing::Clients;
use latchkey_presence::sign_ins::model::ChosenPassword;
use latchkey_presence::sign_ins::store;

use super::attempt::{self, SignInAttempt, SignInContext};
use super::{finish, rules};

/// Checks and hashes a new password, before the transaction. One that others know must not be chosen again.
pub async fn choose(cx: &Cx, visitor: &Visitor, user: &User, password: &Secret) -> Result<CredentialsChange> {
    let change = hashed(cx, visitor, user, password).await?;
    let is_known = user.password.as_ref().is_some_and(|password| password.compromised);
    match is_known && is_current(cx, user, password).await? {
        true => Err(Error::param(Code::FormNewPasswordMatchesCurrent, "password")),
        false => Ok(change),
    }
}

/// Checks a new password against the policy, and hashes it.
pub async fn hashed(cx: &Cx, visitor: &Visitor, user: &User, password: &Secret) -> Result<CredentialsChange> {
    let settings = &visitor.site.settings;
    let given = CredentialFields {
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
    let owner = WorkOwner::user(&user.instance, &user.id);
    change.hashed(cx, &owner, policy, identifiers(user), problems).await
}

/// Whether a user has this password already.
pub async fn is_current(cx: &Cx, user: &User, password: &Secret) -> Result<bool> {
    let mut tx = cx.app.db.read().await?;
    let stored = credentials::find(&mut tx, &user.instance, &user.id, &cx.app.master).await?.password;
    drop(tx);
    let password = password.clone();
    let work = move || stored.is_some_and(|stored| password_fits(&stored, &password));
    cx.app.hashing.run(&WorkOwner::user(&user.instance, &user.id), work).await
}

/// Gives a user, who must be locked, a new password.
pub async fn set(tx: &mut Tx, act: &Act, user: User, change: CredentialsChange) -> Result<User> {
    let after = change.mark(user.clone(), act.now);
    let held = credentials::lock(tx, &act.instance, &user.id, &act.master).await?;
    let (sql, params) = credentials::save(&act.instance, &user.id, &change.apply(held), &act.master)?;
    tx.run(&[sql], &params).await?;
    let user = save_user_with_secrets(tx, act, &user, after).await?;
    notices::password_changed(tx, act, &user).await?;
    Ok(user)
}

/// Locks the clients on which sessions of a user end in this step, before anything else is locked.
pub async fn lock_clients(tx: &mut Tx, context: &SignInContext, sign_out: Option<UserId>) -> Result<Clients> {
    match sign_out {
        Some(user) => Clients::lock_of_users(tx, &context.act, &[&user], context.client.id()).await,
        None => Ok(Clients::default()),
    }
}

/// Takes the new password of an attempt that waits for it, and goes on. `sign_out` names its user if their sessions
/// are to end.
pub async fn reset(
    tx: &mut Tx,
    context: SignInContext,
    id: SignInId,
    change: CredentialsChange,
    sign_out: Option<UserId>,
) -> Result<SignInAttempt> {
    let ends_sessions = sign_out.is_some();
    let clients = lock_clients(tx, &context, sign_out).await?;
    let mut attempt = attempt::lock(tx, &context, &id).await?;
    rules::expects_new_password(&attempt.sign_in)?;
    let user = attempt.user.take().ok_or_else(|| Error::new(Code::ClientStateInvalid))?;
    attempt.clients = clients;
    let StoredPassword { digest, hasher } =
        change.into_password().ok_or_else(|| Error::internal("the password is not hashed"))?;
    let chosen = ChosenPassword { digest, hasher, ends_sessions };
    let proven = attempt.sign_in.first_factor.as_ref().map(|challenge| challenge.strategy);
    let strategy = proven.unwrap_or(Strategy::ResetPasswordEmailCode);
    let attempt = finish::after_first(tx, &context, attempt, user, strategy, Some(chosen)).await?;
    store::save(tx, &attempt.sign_in).await?;
    Ok(attempt)
}
